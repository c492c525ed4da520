import type { Bridge } from "./bridge.js";
import type { CallOptions, RequestOptions } from "./connection.js";
import type { JsonSchema, JsonValue } from "./protocol/json.js";
import type { MethodParams, MethodResult } from "./protocol/methods.js";
import type {
  SessionCompactParams,
  SessionEvent,
  SessionRespondResult,
  TextEvent,
  TurnPolicy,
} from "./protocol/sessions.js";
import type { Transcript } from "./protocol/transcripts.js";
import type { ToolReference } from "./tools.js";
import { SessionTurn } from "./turn.js";

/** What a turn may be given beside its prompt. */
export interface TurnOptions extends TurnPolicy, CallOptions {
  /** Of the answer, which is then JSON: `structured` of the result. */
  schema?: JsonSchema | undefined;
}

/** Callbacks of a turn; any of them makes it stream. */
export interface RespondOptions extends TurnOptions {
  /** Each piece of the answer. With `event.isReset`, it replaces all that came before. */
  onText?: ((delta: string, event: TextEvent) => void) | undefined;
  onEvent?: ((event: SessionEvent) => void) | undefined;
}

/** The result of a turn; with a schema, `structured` holds what the schema describes. */
export type Reply<Structured> = Omit<SessionRespondResult, "structured"> & { structured?: Structured };

type SessionMethod = "session/cancel" | "session/reset" | "session/delete" | "session/transcript";

/** A conversation with a model. What is asked of it runs one after another. */
export class Session {
  readonly #bridge: Bridge;

  /** Made by `Bridge.createSession` and `Bridge.session`. */
  constructor(
    bridge: Bridge,
    readonly id: string,
    /** What oam had to say about the params. */
    readonly warnings: readonly string[] = [],
  ) {
    this.#bridge = bridge;
  }

  /** Runs one turn. */
  respond<Structured = JsonValue>(prompt: string, options: RespondOptions = {}): Promise<Reply<Structured>> {
    const { onText, onEvent, ...turn } = options;
    const handle = (event: SessionEvent) => {
      this.#bridge.guard(() => onEvent?.(event));
      if (event.type === "text") this.#bridge.guard(() => onText?.(event.delta, event));
    };
    const streams = onText !== undefined || onEvent !== undefined;
    return this.#respond(prompt, turn, streams ? handle : undefined);
  }

  /** Runs one turn whose events are read by `for await`. */
  stream<Structured = JsonValue>(prompt: string, options: TurnOptions = {}): SessionTurn<Reply<Structured>> {
    return new SessionTurn<Reply<Structured>>(
      (onEvent, signal) => this.#respond(prompt, { ...options, signal }, onEvent),
      options.signal,
    );
  }

  /** Cancels what runs and what waits; returns how many. */
  async cancel(): Promise<number> {
    return (await this.#request("session/cancel")).cancelled;
  }

  /** Forgets the conversation and the context note. */
  async reset(): Promise<void> {
    await this.#request("session/reset");
  }

  async delete(): Promise<void> {
    await this.#request("session/delete");
  }

  /** The conversation, to be saved; `createSession({ history })` goes on from it. */
  async transcript(): Promise<Transcript> {
    return (await this.#request("session/transcript")).transcript;
  }

  async setInstructions(instructions: string | null): Promise<void> {
    await this.#bridge.request("session/setInstructions", { session: this.id, instructions });
  }

  /** What the model should know right now; null clears it. */
  async setContextNote(note: string | null): Promise<void> {
    await this.#bridge.request("session/setContextNote", { session: this.id, note });
  }

  /** Replaces the tools; returns warnings. */
  async setTools(tools: readonly ToolReference[]): Promise<string[]> {
    const definitions = this.#bridge.toolDefinitions(tools);
    return (await this.#bridge.request("session/setTools", { session: this.id, tools: definitions })).warnings;
  }

  /** Summarizes all turns but the latest; returns the summary, or null if there was nothing to do. */
  async compact(
    options: Omit<SessionCompactParams, "session"> = {},
    call: CallOptions = {},
  ): Promise<string | null> {
    return (await this.#bridge.request("session/compact", { session: this.id, ...options }, call)).summary;
  }

  #respond<Structured>(
    prompt: string,
    options: TurnOptions,
    onEvent: RequestOptions<"session/respond">["onEvent"],
  ): Promise<Reply<Structured>> {
    const { signal, timeout, ...policy } = options;
    const stream = onEvent === undefined ? {} : { stream: true };
    const params = { session: this.id, prompt, ...policy, ...stream } as MethodParams<"session/respond">;
    const reply = this.#bridge.request("session/respond", params, { signal, timeout, onEvent });
    return reply as Promise<Reply<Structured>>;
  }

  #request<M extends SessionMethod>(method: M): Promise<MethodResult<M>> {
    return this.#bridge.request<SessionMethod>(method, { session: this.id }) as Promise<MethodResult<M>>;
  }
}
