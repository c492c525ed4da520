import { Connection, type CallOptions, type RequestOptions } from "./connection.js";
import { OamError, shutDownError, type ProcessExit } from "./error.js";
import { Npc } from "./npc.js";
import { describeExit, OamProcess } from "./process.js";
import type { DecideManyParams, DecideParams, Decision, DecisionRequest, FailedDecision, GenerateParams } from "./protocol/decisions.js";
import type { JsonInput, JsonObject, JsonValue } from "./protocol/json.js";
import type { Method, MethodParams, MethodResult, NotificationMethod, NotificationParams } from "./protocol/methods.js";
import type { ModelAvailability } from "./protocol/model.js";
import type { NpcCreateParams, NpcRestoreParams, NpcState, NpcSummary } from "./protocol/npcs.js";
import type { Capabilities, InitializeResult } from "./protocol/server.js";
import type { SessionCreateParams, SessionSummary } from "./protocol/sessions.js";
import type { AnyToolDefinition, ToolDefinition } from "./protocol/tools.js";
import type { WorldCreateParams, WorldSummary } from "./protocol/worlds.js";
import { Session } from "./session.js";
import { Subscriptions } from "./subscriptions.js";
import { afterTime, checkTime } from "./timers.js";
import { Toolbox, type ToolHandler, type ToolReference, type WithTools } from "./tools.js";
import { World } from "./world.js";

export interface BridgeOptions {
  /** The program; else `OAM_BIN` of the environment, else `oam` in PATH. */
  program?: string;
  /** Arguments of `oam stdio`, for instance `["--workers", "2"]`. */
  args?: readonly string[];
  /** Added to the environment of this process. */
  env?: Readonly<Record<string, string | undefined>>;
  cwd?: string;
  /** Who you are, for the log. */
  client?: { name: string; version?: string; [member: string]: JsonInput | undefined };
  /** Ask for `supervisor/event`s. */
  workerEvents?: boolean;
  /** Time for the program to answer for the first time, in milliseconds; default 10,000. */
  startTimeout?: number;
  /** Gets each line of the program's log; by default they go to standard error. */
  onLog?: (line: string) => void;
  /** Gets what event handlers throw, and messages that make no sense; by default they go to `console.error`. */
  onError?: (error: unknown) => void;
}

/** Optional params may be left away. */
type RequestArguments<M extends Method> =
  {} extends MethodParams<M>
    ? [params?: MethodParams<M>, options?: RequestOptions<M>]
    : [params: MethodParams<M>, options?: RequestOptions<M>];

type DecisionRequestWithTools = WithTools<DecisionRequest>;

/**
 * A running `oam stdio`. It keeps this process running only while an answer is due or a tool is at work, and ends with it in
 * any case.
 */
export class Bridge implements AsyncDisposable {
  readonly #process: OamProcess;
  readonly #connection: Connection;
  readonly #toolbox: Toolbox;
  #closing: Promise<void> | undefined;
  #initialized: InitializeResult | undefined;

  /** @internal For handles. */
  readonly subscriptions: Subscriptions;

  /** How the program ended, whether it was asked to or not. Never rejects. */
  readonly exited: Promise<ProcessExit>;

  private constructor(process: OamProcess, connection: Connection, toolbox: Toolbox) {
    this.#process = process;
    this.#connection = connection;
    this.#toolbox = toolbox;
    this.subscriptions = new Subscriptions(connection);
    connection.onNotification("tool/cancel", ({ id, reason }) => toolbox.cancel(id, reason));
    connection.onAbandon((requestId) => toolbox.abandon(connection, requestId));
    this.exited = process.exited.then((exit) => this.#ended(exit));
  }

  /**
   * Starts the program and says hello. Fails with `spawn_failed` if it cannot be started, `process_exited` if it ends at once
   * (its last words are in the message), `timeout` if it says nothing.
   */
  static async start(options: BridgeOptions = {}): Promise<Bridge> {
    checkTime(options.startTimeout, "startTimeout");
    const onError = withoutThrowing(options.onError ?? ((error: unknown) => console.error("open-apple-models:", error)));
    const onLog = options.onLog ?? ((line: string) => process.stderr.write(`${line}\n`));
    const wire = { send: (line: string) => child.send(line), onBusy: () => updateBusy(), onError };
    const toolbox = new Toolbox(() => updateBusy());
    const connection = new Connection(wire, (id, params) => void toolbox.run(connection, id, params).catch(onError));
    const updateBusy = () => child.keepAlive(connection.hasPending || toolbox.isRunning);
    const child = await OamProcess.start({
      program: options.program ?? (process.env["OAM_BIN"] || "oam"),
      args: ["stdio", ...(options.args ?? [])],
      env: { ...process.env, ...options.env },
      cwd: options.cwd,
      onLine: (line) => connection.receive(line),
      onLog: (line) => connection.guard(() => onLog(line)),
    });
    const bridge = new Bridge(child, connection, toolbox);
    await bridge.#initialize(options);
    return bridge;
  }

  /** Version of oam. */
  get version(): string {
    return this.#initialized!.server.version;
  }

  /** What this build of oam serves. */
  get capabilities(): Capabilities {
    return this.#initialized!.capabilities;
  }

  /** The process id of oam. */
  get pid(): number {
    return this.#process.pid;
  }

  /**
   * Sends a request of the protocol and returns its result. Rejects with an {@link OamError}, the signal's reason, or a TypeError
   * that names what is no JSON.
   */
  request<M extends Method>(method: M, ...[params, options]: RequestArguments<M>): Promise<MethodResult<M>> {
    const onResult =
      method === "world/delete" ? (result: unknown) => this.subscriptions.endWorld((result as { world: string }).world) : undefined;
    return this.#connection.request(method, params, onResult ? { ...options, onResult } : options);
  }

  /**
   * Sends a request that nobody wants an answer to. Throws at once if it cannot be sent; the promise resolves when oam can take
   * more, and need not be awaited.
   */
  notify<M extends Method>(method: M, ...[params]: RequestArguments<M>): Promise<void> {
    this.#connection.notify(method, params);
    return this.#process.drained();
  }

  /** Handles all notifications of a method, until the returned function is called. */
  onNotification<M extends NotificationMethod>(method: M, handler: (params: NotificationParams<M>) => void): () => void {
    return this.#connection.onNotification(method, handler);
  }

  /**
   * Registers a tool and returns its definition. Sessions, NPCs, decisions and content may then name it in `tools`.
   *
   * ```js
   * bridge.tool({ name: "open_gate", description: "Opens the gate." }, async (args, { signal }) => gate.open({ signal }));
   * ```
   */
  tool<Arguments = JsonObject>(definition: ToolDefinition, handler: ToolHandler<Arguments>): ToolDefinition {
    return this.#toolbox.register(definition, handler);
  }

  /** Definitions of the registered tools, or of these. Throws a RangeError for a name that is not registered. */
  toolDefinitions(references?: readonly ToolReference[]): AnyToolDefinition[] {
    return references === undefined ? this.#toolbox.all() : this.#toolbox.definitions(references);
  }

  /** @internal For handles. */
  resolveTools<Params extends { tools?: readonly ToolReference[] | null }>(
    params: Params,
  ): Omit<Params, "tools"> & { tools?: AnyToolDefinition[] | null } {
    return this.#toolbox.resolve(params);
  }

  /** @internal For handles: calls what the user gave, and tells `onError` if it fails. */
  guard(callback: () => unknown): void {
    this.#connection.guard(callback);
  }

  async createSession(params: WithTools<SessionCreateParams> = {}): Promise<Session> {
    const { session, warnings } = await this.request("session/create", this.resolveTools(params));
    return new Session(this, session, warnings);
  }

  /** A handle; nothing is sent. */
  session(id: string): Session {
    return new Session(this, id);
  }

  async listSessions(): Promise<SessionSummary[]> {
    return (await this.request("session/list")).sessions;
  }

  async createNpc(params: WithTools<NpcCreateParams>): Promise<Npc> {
    const { npc, tools, warnings } = await this.request("npc/create", this.resolveTools(params));
    return new Npc(this, npc, tools, warnings);
  }

  /** Makes an NPC of a saved state. What is given in `changes`, also as null, wins over what is saved. */
  async restoreNpc(state: NpcState, changes: WithTools<Omit<NpcRestoreParams, "state">> = {}): Promise<Npc> {
    const { npc, tools, warnings } = await this.request("npc/restore", { state, ...this.resolveTools(changes) });
    return new Npc(this, npc, tools, warnings);
  }

  /** A handle; nothing is sent. */
  npc(id: string): Npc {
    return new Npc(this, id);
  }

  async listNpcs(): Promise<NpcSummary[]> {
    return (await this.request("npc/list")).npcs;
  }

  async createWorld(params: WorldCreateParams = {}): Promise<World> {
    return new World(this, (await this.request("world/create", params)).world);
  }

  /** A handle; nothing is sent. */
  world(id: string): World {
    return new World(this, id);
  }

  async listWorlds(): Promise<WorldSummary[]> {
    return (await this.request("world/list")).worlds;
  }

  /** Picks one of the options; `optionID` is typed by their ids. */
  decide<const Id extends string>(
    params: WithTools<DecideParams & DecisionRequest<Id>>,
    options: CallOptions = {},
  ): Promise<Decision<Id>> {
    const resolved = this.resolveTools(params) as DecideParams;
    return this.request("decision/decide", resolved, options) as Promise<Decision<Id>>;
  }

  /** Decisions of a crowd, in the order of `requests`; one that failed is `{ error }`. */
  async decideMany(
    params: Omit<DecideManyParams, "requests"> & { requests: readonly DecisionRequestWithTools[] },
    options: CallOptions = {},
  ): Promise<(Decision | FailedDecision)[]> {
    const requests = params.requests.map((request) => this.resolveTools(request) as DecisionRequest);
    return (await this.request("decision/decideMany", { ...params, requests }, options)).results;
  }

  /** Writes one thing in the form of a schema. */
  async generate<Content = JsonValue>(params: WithTools<GenerateParams>, options: CallOptions = {}): Promise<Content> {
    const resolved = this.resolveTools(params) as GenerateParams;
    return (await this.request("content/generate", resolved, options)).content as Content;
  }

  /** Whether the system's model can be asked. */
  modelAvailability(): Promise<ModelAvailability> {
    return this.request("model/availability");
  }

  /**
   * Ends the program, within seconds. Pending requests reject with `shut_down`, tools that are at work are aborted. Harmless when
   * called again, or when the program has ended.
   */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    const line = JSON.stringify({ jsonrpc: "2.0", method: "shutdown" });
    this.#process.send(line);
    this.#abandonAll(shutDownError());
    await this.#process.close();
  }

  async #initialize(options: BridgeOptions): Promise<void> {
    const { startTimeout = 10_000 } = options;
    const client = { name: "node", ...options.client, ...(options.workerEvents ? { workerEvents: true } : {}) };
    const timeout = new OamError("timeout", `oam said nothing for ${startTimeout} ms.`, { code: "timeout" });
    const timer = afterTime(startTimeout, () => {
      this.#process.kill();
      this.#connection.fail(timeout);
    });
    try {
      this.#initialized = await this.request("initialize", { client, protocolVersion: "1.0" });
    } catch (error) {
      await this.close();
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  #ended(exit: ProcessExit): ProcessExit {
    const data = { code: "process_exited", ...exit } as const;
    this.#abandonAll(new OamError("process_exited", describeExit(exit), data));
    return exit;
  }

  #abandonAll(error: Error): void {
    this.#connection.fail(error);
    this.#toolbox.cancelAll(error.message);
    this.subscriptions.endAll(error);
  }
}

/** What `onError` throws is nobody's but the host's; it must not take the messages behind it with it. */
function withoutThrowing(onError: (error: unknown) => void): (error: unknown) => void {
  return (error) => {
    try {
      onError(error);
    } catch (problem) {
      queueMicrotask(() => {
        throw problem;
      });
    }
  };
}
