/** Items that wait until one loop reads them. */
export class EventQueue<Item> {
  #waiting: Item[] = [];
  #end: { error: unknown } | undefined;
  #wake: (() => void) | undefined;

  push(item: Item): void {
    this.#waiting.push(item);
    this.#wake?.();
  }

  /** Nothing comes after what waits; the loop then throws the error, if there is one. */
  end(error?: unknown): void {
    this.#end ??= { error };
    this.#wake?.();
  }

  get hasEnded(): boolean {
    return this.#end !== undefined;
  }

  async *read(): AsyncGenerator<Item, void, undefined> {
    for (;;) {
      const items = this.#waiting;
      this.#waiting = [];
      yield* items;
      if (this.#waiting.length > 0) continue;
      if (this.#end) break;
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
    if (this.#end.error !== undefined) throw this.#end.error;
  }
}
