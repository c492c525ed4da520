/** Items that wait until they are read, each by one loop. */
export class EventQueue<Item> {
  #items: Item[] = [];
  #end: { error: unknown } | undefined;
  #readers: (() => void)[] = [];

  push(item: Item): void {
    this.#items.push(item);
    this.#wake();
  }

  /** Nothing comes after what waits; the loop then throws the error, if there is one. */
  end(error?: unknown): void {
    this.#end ??= { error };
    this.#wake();
  }

  get hasEnded(): boolean {
    return this.#end !== undefined;
  }

  async *read(): AsyncGenerator<Item, void, undefined> {
    for (;;) {
      const items = this.#items;
      this.#items = [];
      yield* items;
      if (this.#items.length > 0) continue;
      if (this.#end) break;
      await new Promise<void>((resolve) => this.#readers.push(resolve));
    }
    if (this.#end.error !== undefined) throw this.#end.error;
  }

  #wake(): void {
    for (const wake of this.#readers.splice(0)) wake();
  }
}
