import type { Connection } from "./connection.js";
import type { JsonObject } from "./protocol/json.js";
import type { RequestId } from "./protocol/methods.js";
import type { AnyToolDefinition, ToolCallOwner, ToolCallParams, ToolDefinition } from "./protocol/tools.js";

/** What a tool knows of the call that it carries out. */
export interface ToolContext extends ToolCallOwner {
  /** The same in events and records. */
  readonly callId: string;
  readonly name: string;
  /** Aborts when the answer is no longer wanted: out of time, cancelled, closed. Its reason says why. */
  readonly signal: AbortSignal;
}

/**
 * Carries a tool call out. What it returns (text or JSON, or a promise of either; `null` and `undefined` are empty text) is what
 * the model sees; what it throws, too, as an error: the model reads the error's message and may try something else.
 */
export type ToolHandler<Arguments = JsonObject> = (args: Arguments, context: ToolContext) => unknown;

/** A tool: the name of a registered one, or a definition. */
export type ToolReference = string | AnyToolDefinition;

/** Params in which tools may be given by name. */
export type WithTools<Params> = Omit<Params, "tools"> & { tools?: readonly ToolReference[] | null };

interface RunningCall {
  readonly controller: AbortController;
  readonly requestId: RequestId | null;
}

/** The tools of a bridge, and the calls that are being carried out. */
export class Toolbox {
  readonly #tools = new Map<string, { definition: ToolDefinition; handler: ToolHandler<never> }>();
  readonly #running = new Map<string, RunningCall>();
  readonly #onBusy: () => void;

  constructor(onBusy: () => void) {
    this.#onBusy = onBusy;
  }

  get isRunning(): boolean {
    return this.#running.size > 0;
  }

  register(definition: ToolDefinition, handler: ToolHandler<never>): ToolDefinition {
    if (typeof definition?.name !== "string") throw new TypeError("A tool's definition has a 'name' that is text");
    if (typeof handler !== "function") throw new TypeError(`The handler of the tool '${definition.name}' is a function, not ${String(handler)}`);
    const kept = Object.freeze({ ...definition });
    this.#tools.set(kept.name, { definition: kept, handler });
    return kept;
  }

  definitions(references: readonly ToolReference[]): AnyToolDefinition[] {
    if (!Array.isArray(references)) throw new TypeError("'tools' is an array of names and definitions");
    return references.map((tool) => (typeof tool === "string" ? this.#definition(tool) : tool));
  }

  all(): ToolDefinition[] {
    return [...this.#tools.values()].map(({ definition }) => definition);
  }

  /** Params with definitions in the place of names. */
  resolve<Params extends { tools?: readonly ToolReference[] | null }>(
    params: Params,
  ): Omit<Params, "tools"> & { tools?: AnyToolDefinition[] | null } {
    const { tools, ...others } = params;
    if (tools === undefined) return others;
    return { ...others, tools: tools === null ? null : this.definitions(tools) };
  }

  /** Carries a call out and answers it. */
  async run(connection: Connection, id: string, params: ToolCallParams): Promise<void> {
    const { call, ...owner } = params;
    const tool = this.#tools.get(call.name);
    if (!tool) {
      connection.refuse(id, `No tool '${call.name}' is registered.`);
      return;
    }
    if (connection.isAbandoned(owner.requestId)) {
      connection.answer(id, "Nobody waits for the outcome any more.", true);
      return;
    }
    const running = { controller: new AbortController(), requestId: owner.requestId };
    this.#running.set(id, running);
    this.#onBusy();
    const { signal } = running.controller;
    const context: ToolContext = { ...owner, callId: call.id, name: call.name, signal };
    let answer: () => void;
    try {
      const output = (await tool.handler(call.arguments as never, context)) ?? "";
      answer = () => connection.answer(id, output, false);
    } catch (error) {
      answer = () => connection.answer(id, errorText(error), true);
    }
    if (this.#running.get(id) === running) {
      this.#running.delete(id);
      this.#answer(connection, id, answer);
      this.#onBusy();
    }
  }

  /** The answer to a call is no longer wanted. */
  cancel(id: string, reason: string): void {
    const running = this.#running.get(id);
    this.#running.delete(id);
    running?.controller.abort(new DOMException(reason, "AbortError"));
    this.#onBusy();
  }

  /** Stops the calls of a request that nobody waits for, but that goes on: the model is told. */
  abandon(connection: Connection, requestId: RequestId): void {
    for (const [id, running] of this.#running) {
      if (running.requestId !== requestId) continue;
      this.cancel(id, "The request was given up.");
      connection.answer(id, "Nobody waits for the outcome any more.", true);
    }
  }

  cancelAll(reason: string): void {
    for (const id of [...this.#running.keys()]) this.cancel(id, reason);
  }

  #definition(name: string): ToolDefinition {
    const tool = this.#tools.get(name);
    if (tool) return tool.definition;
    const known = [...this.#tools.keys()].join(", ") || "none";
    throw new RangeError(`No tool '${name}' is registered (registered: ${known}). Register it with bridge.tool() first.`);
  }

  #answer(connection: Connection, id: string, answer: () => void): void {
    try {
      answer();
    } catch (error) {
      connection.answer(id, `The tool's output is no JSON: ${errorText(error)}`, true);
    }
  }
}

function errorText(error: unknown): string {
  const text = error instanceof Error ? error.message || error.name : String(error);
  // Half of a surrogate pair would make the message itself unreadable.
  return Buffer.from(text, "utf8").toString("utf8");
}
