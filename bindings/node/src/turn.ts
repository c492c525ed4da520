import type { NpcEvent, NpcTalkResult } from "./protocol/npcs.js";
import type { SessionEvent, SessionRespondResult } from "./protocol/sessions.js";

/** Starts a request whose events go to `onEvent`, and which `signal` cancels. */
type Start<Event, Result> = (onEvent: (event: Event) => void, signal: AbortSignal) => Promise<Result>;

/**
 * A turn whose events are read one by one:
 *
 * ```js
 * for await (const event of turn) …
 * const result = await turn.result;
 * ```
 *
 * Events wait until they are read, by one loop. A turn that fails throws at the end of the loop. Leaving the loop early cancels
 * the turn.
 */
export class Turn<Event, Result> implements AsyncIterable<Event> {
  /** The result of the turn, or why there is none; both also without reading events. */
  readonly result: Promise<Result>;

  readonly #canceller = new AbortController();
  #events: Event[] = [];
  #over = false;
  #waiting: (() => void)[] = [];

  constructor(start: Start<Event, Result>, signal?: AbortSignal) {
    const abort = () => this.#canceller.abort(signal!.reason);
    if (signal?.aborted) abort();
    else signal?.addEventListener("abort", abort, { once: true });
    this.result = start((event) => this.#push(event), this.#canceller.signal).finally(() => {
      signal?.removeEventListener("abort", abort);
      this.#over = true;
      this.#wake();
    });
    // Whoever reads the events gets the failure there.
    this.result.catch(() => {});
  }

  /** Cancels the turn, and all else in the queue of its session or NPC; `result` rejects with an AbortError. */
  cancel(): void {
    this.#canceller.abort();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Event, void, undefined> {
    try {
      for (;;) {
        const events = this.#events;
        this.#events = [];
        yield* events;
        if (this.#events.length > 0) continue;
        if (this.#over) break;
        await new Promise<void>((resolve) => this.#waiting.push(resolve));
      }
      await this.result;
    } finally {
      if (!this.#over) this.cancel();
    }
  }

  #push(event: Event): void {
    this.#events.push(event);
    this.#wake();
  }

  #wake(): void {
    for (const wake of this.#waiting.splice(0)) wake();
  }
}

/** A turn of a session that is read event by event. */
export class SessionTurn<Result = SessionRespondResult> extends Turn<SessionEvent, Result> {
  /** The text so far, each time that it changes, in the place of events. */
  async *text(): AsyncGenerator<string, void, undefined> {
    for await (const event of this) {
      if (event.type === "text") yield event.text;
    }
  }
}

/** A turn of an NPC that is read event by event. */
export class NpcTurn extends Turn<NpcEvent, NpcTalkResult> {
  /** The line so far, each time that it changes, in the place of events. */
  async *line(): AsyncGenerator<string, void, undefined> {
    const grow = lineGrower();
    for await (const event of this) {
      const line = grow(event);
      if (line !== undefined) yield line;
    }
  }
}

/** Tells the whole line after each event that changes it. */
export function lineGrower(): (event: NpcEvent) => string | undefined {
  let line = "";
  return (event) => {
    if (event.type === "lineDelta") return (line += event.delta);
    if (event.type === "lineReset") return (line = event.line);
    return undefined;
  };
}
