import { EventQueue } from "./event-queue.js";
import type { NpcEvent, NpcTalkResult } from "./protocol/npcs.js";
import type { SessionEvent, SessionRespondResult } from "./protocol/sessions.js";

/** Starts a request whose events go to `onEvent`, and which `signal` gives up. */
type Start<Event, Result> = (onEvent: (event: Event) => void, signal: AbortSignal) => Promise<Result>;

/**
 * A turn whose events are read one by one:
 *
 * ```js
 * for await (const event of turn) …
 * const result = await turn.result;
 * ```
 *
 * Events wait until they are read, by one loop. A turn that fails throws at the end of the loop. Leaving the loop early gives the
 * turn up.
 */
export class Turn<Event, Result> implements AsyncIterable<Event> {
  /** The result of the turn, or why there is none; both also without reading events. */
  readonly result: Promise<Result>;

  readonly #canceller = new AbortController();
  readonly #events = new EventQueue<Event>();

  constructor(start: Start<Event, Result>, signal?: AbortSignal) {
    const abort = () => this.#canceller.abort(signal!.reason);
    if (signal?.aborted) abort();
    else signal?.addEventListener("abort", abort, { once: true });
    this.result = start((event) => this.#events.push(event), this.#canceller.signal).finally(() => {
      signal?.removeEventListener("abort", abort);
    });
    this.result.then(
      () => this.#events.end(),
      (error) => this.#events.end(error),
    );
  }

  /** Gives the turn up; `result` rejects with an AbortError. */
  cancel(): void {
    this.#canceller.abort();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Event, void, undefined> {
    try {
      yield* this.#events.read();
    } finally {
      if (!this.#events.hasEnded) this.cancel();
    }
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
