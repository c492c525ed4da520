import type { Bridge } from "./bridge.js";
import type { CallOptions, RequestOptions } from "./connection.js";
import type { JsonInput } from "./protocol/json.js";
import type { MethodParams } from "./protocol/methods.js";
import type { Emotion, NpcEvent, NpcState, NpcTalkResult, NpcUpdateParams } from "./protocol/npcs.js";
import type { ToolChoice } from "./protocol/tools.js";
import type { WithTools } from "./tools.js";
import { lineGrower, NpcTurn } from "./turn.js";

/** What a turn may be given beside the player's line. */
export interface SayOptions extends CallOptions {
  /** What is happening right now, for this turn alone. */
  context?: JsonInput | undefined;
  toolChoice?: ToolChoice | undefined;
}

/** Callbacks of a turn; any of them makes it stream. */
export interface TalkOptions extends SayOptions {
  /** The whole line so far, each time that it changes. */
  onLine?: ((line: string) => void) | undefined;
  /** The emotion, as soon as it is known. */
  onEmotion?: ((emotion: Emotion) => void) | undefined;
  onEvent?: ((event: NpcEvent) => void) | undefined;
}

/** A character of the game. */
export class Npc {
  readonly #bridge: Bridge;

  /** Made by `Bridge.createNpc`, `Bridge.restoreNpc` and `Bridge.npc`. */
  constructor(
    bridge: Bridge,
    readonly id: string,
    /** All tools that the model sees. */
    readonly tools: readonly string[] = [],
    /** What oam had to say about the params. */
    readonly warnings: readonly string[] = [],
  ) {
    this.#bridge = bridge;
  }

  /** Says `line` to the character and returns its reply. An empty line lets it speak first. */
  talk(line: string, options: TalkOptions = {}): Promise<NpcTalkResult> {
    const { onLine, onEmotion, onEvent, ...say } = options;
    const grow = lineGrower();
    const handle = (event: NpcEvent) => {
      const shown = grow(event);
      this.#bridge.guard(() => onEvent?.(event));
      if (shown !== undefined) this.#bridge.guard(() => onLine?.(shown));
      if (event.type === "emotion") this.#bridge.guard(() => onEmotion?.(event.emotion));
    };
    const streams = onLine !== undefined || onEmotion !== undefined || onEvent !== undefined;
    return this.#talk(line, say, streams ? handle : undefined);
  }

  /** The same, with events that are read by `for await`. */
  stream(line: string, options: SayOptions = {}): NpcTurn {
    return new NpcTurn((onEvent, signal) => this.#talk(line, { ...options, signal }, onEvent), options.signal);
  }

  /** A short line in passing. */
  async bark(situation?: JsonInput, call: CallOptions = {}): Promise<string> {
    const params = { npc: this.id, ...(situation === undefined ? {} : { situation }) };
    return (await this.#bridge.request("npc/bark", params, call)).line;
  }

  /** The character, to be saved; `bridge.restoreNpc` makes it again. */
  async state(options: { settle?: boolean } = {}): Promise<NpcState> {
    return (await this.#bridge.request("npc/state", { npc: this.id, ...options })).state;
  }

  /** Changes what is given, from the next turn on; null resets a member to its default. Returns warnings. */
  async update(changes: WithTools<Omit<NpcUpdateParams, "npc">>): Promise<string[]> {
    const params = this.#bridge.resolveTools(changes);
    return (await this.#bridge.request("npc/update", { npc: this.id, ...params })).warnings;
  }

  /** Forgets the conversation, with `clearMemory` the memory, too. */
  async reset(options: { clearMemory?: boolean } = {}): Promise<void> {
    await this.#bridge.request("npc/reset", { npc: this.id, ...options });
  }

  /** Cancels what runs and what waits; returns how many. */
  async cancel(): Promise<number> {
    return (await this.#bridge.request("npc/cancel", { npc: this.id })).cancelled;
  }

  async delete(): Promise<void> {
    await this.#bridge.request("npc/delete", { npc: this.id });
  }

  #talk(line: string, options: SayOptions, onEvent: RequestOptions<"npc/talk">["onEvent"]): Promise<NpcTalkResult> {
    const { signal, timeout, ...scene } = options;
    const stream = onEvent === undefined ? {} : { stream: true };
    const params = { npc: this.id, line, ...scene, ...stream } as MethodParams<"npc/talk">;
    return this.#bridge.request("npc/talk", params, { signal, timeout, onEvent });
  }
}
