/**
 * JSON-RPC over a running oam: gives each request its response, each event its handler, each tool call to whoever answers it.
 * Messages are handled in the order in which they come, each to its end.
 */
import { OamError } from "./error.js";
import type { JsonObject } from "./protocol/json.js";
import type {
  EventOf,
  Method,
  MethodParams,
  MethodResult,
  NotificationMethod,
  NotificationParams,
  RequestId,
} from "./protocol/methods.js";
import type { ToolCallParams } from "./protocol/tools.js";
import { encodeJson } from "./strict-json.js";
import { afterTime, checkTime } from "./timers.js";

/** Lines that oam takes. */
const MAX_LINE_BYTES = 64 * 1024 * 1024;

/** Where messages go to, and what is done when nobody else can be told of a failure. */
export interface Wire {
  send(line: string): void;
  /** Told whenever it changes: whether an answer is due. */
  onBusy(busy: boolean): void;
  /** Never throws. */
  onError(error: unknown): void;
}

/**
 * When a request is given up: its promise rejects at once. The protocol cancels the whole queue of a session or an NPC, so what runs
 * there is cancelled if nothing else of yours waits in it; anything else runs to its end unheard.
 */
export interface CallOptions {
  /** Rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
  /** In milliseconds; rejects with an {@link OamError} `timeout`. Default: none. */
  timeout?: number | undefined;
}

export interface RequestOptions<M extends Method> extends CallOptions {
  /** Gets the events of a request that streams. */
  onEvent?: ((event: EventOf<M>) => void) | undefined;
}

/** A session or an NPC that does one thing after the other. */
interface Queue {
  readonly kind: "session" | "npc";
  readonly id: string;
}

interface Pending {
  /** Where it waits for its turn; undefined where it does not. */
  readonly queue: Queue | undefined;
  resolve(result: unknown): void;
  reject(error: unknown): void;
  onEvent: ((event: never) => void) | undefined;
  /** Called before the next message is looked at. */
  onResult: ((result: never) => void) | undefined;
  /** It cannot be given up any more. */
  forget(): void;
}

/** Answers a `tool/call`, once. */
export type ToolCallHandler = (id: string, params: ToolCallParams) => void;

type Handler<M extends NotificationMethod> = (params: NotificationParams<M>) => void;

/** A message, as far as it has been looked at. */
interface Message {
  id?: RequestId | null;
  method?: string;
  params?: unknown;
  result?: unknown;
  error?: JsonObject;
}

export class Connection {
  readonly #wire: Wire;
  readonly #onToolCall: ToolCallHandler;
  readonly #pending = new Map<RequestId, Pending>();
  readonly #abandoned = new Set<RequestId>();
  readonly #handlers = new Map<string, Set<(params: never) => void>>();
  readonly #abandonHandlers = new Set<(id: RequestId) => void>();
  #lastId = 0;
  #failure: Error | undefined;

  constructor(wire: Wire, onToolCall: ToolCallHandler) {
    this.#wire = wire;
    this.#onToolCall = onToolCall;
  }

  /** Sends a request. Rejects with an {@link OamError}, the signal's reason, or a TypeError for params that are no JSON. */
  request<M extends Method>(
    method: M,
    params: MethodParams<M> | undefined,
    options: RequestOptions<M> & { onResult?: (result: MethodResult<M>) => void } = {},
  ): Promise<MethodResult<M>> {
    return new Promise((resolve, reject) => {
      const { signal, timeout, onEvent, onResult } = options;
      signal?.throwIfAborted();
      const id = `js-${++this.#lastId}`;
      const line = this.#encode({ id, method }, "params", params);
      if (this.#failure) throw this.#failure;
      const giveUp = (reason: unknown) => this.#abandon(id, reason);
      this.#pending.set(id, {
        queue: queueOf(method, params),
        resolve: resolve as (result: unknown) => void,
        reject,
        onEvent,
        onResult,
        forget: giveUpWhen(giveUp, method, signal, timeout),
      });
      this.#wire.onBusy(true);
      this.#wire.send(line);
    });
  }

  /** Sends a notification. Throws what `request` rejects with. */
  notify<M extends Method>(method: M, params?: MethodParams<M>): void {
    const line = this.#encode({ method }, "params", params);
    if (this.#failure) throw this.#failure;
    this.#wire.send(line);
  }

  /** Answers a `tool/call` with an output. Throws a TypeError for one that is no JSON. */
  answer(id: string, output: unknown, isError: boolean): void {
    const line = this.#encode({ id }, "result", isError ? { output, isError } : { output });
    if (!this.#failure) this.#wire.send(line);
  }

  /** Answers a request of oam that cannot be carried out. */
  refuse(id: RequestId, message: string): void {
    if (!this.#failure) this.#wire.send(this.#encode({ id }, "error", { code: -32601, message }));
  }

  /** Handles all notifications of a method, until the returned function is called. */
  onNotification<M extends NotificationMethod>(method: M, handler: Handler<M>): () => void {
    if (typeof handler !== "function") throw new TypeError(`The handler of '${method}' is a function, not ${String(handler)}`);
    const handlers = this.#handlers.get(method) ?? new Set();
    this.#handlers.set(method, handlers);
    handlers.add(handler);
    return () => handlers.delete(handler);
  }

  /** Hears of requests that were given up but go on. */
  onAbandon(handler: (id: RequestId) => void): void {
    this.#abandonHandlers.add(handler);
  }

  get hasPending(): boolean {
    return this.#pending.size > 0;
  }

  /** Whether the request was given up by its caller, but is not over. */
  isAbandoned(id: RequestId | null): boolean {
    return id !== null && this.#abandoned.has(id);
  }

  /** Fails all pending requests, and all later ones, with `error`. */
  fail(error: Error): void {
    this.#failure ??= error;
    for (const pending of this.#take()) pending.reject(error);
  }

  /** Handles a line from oam. */
  receive(line: string): void {
    if (this.#failure) return;
    let message: Message | null;
    try {
      message = JSON.parse(line) as Message | null;
    } catch {
      this.#wire.onError(new Error(`A line from the program is no JSON. Is it oam? ${line.slice(0, 200)}`));
      return;
    }
    try {
      this.#dispatch(message);
    } catch (error) {
      this.#wire.onError(new Error(`A line from the program is no message. Is it oam? ${line.slice(0, 200)}`, { cause: error }));
    }
  }

  #dispatch(message: Message | null): void {
    if (message === null || typeof message !== "object") throw new TypeError("It is no object.");
    if (message.method === undefined) this.#settle(message);
    else if (message.id === undefined || message.id === null) this.#notified(message.method, message.params);
    else if (message.method === "tool/call") this.#onToolCall(String(message.id), message.params as ToolCallParams);
    else this.refuse(message.id, `The client does not serve '${message.method}'.`);
  }

  /** Calls a handler that must not break anything else, whether it throws or rejects. */
  guard(handler: () => unknown): void {
    try {
      const outcome = handler();
      if (isThenable(outcome)) outcome.then(undefined, this.#wire.onError);
    } catch (error) {
      this.#wire.onError(error);
    }
  }

  #settle(message: Message): void {
    const id = message.id ?? null;
    if (id === null) {
      this.#wire.onError(OamError.fromObject(message.error ?? {}));
      return;
    }
    this.#abandoned.delete(id);
    const pending = this.#pending.get(id);
    if (!pending) return;
    this.#pending.delete(id);
    pending.forget();
    this.#wire.onBusy(this.hasPending);
    if (message.error) {
      pending.reject(OamError.fromObject(message.error));
      return;
    }
    try {
      pending.onResult?.(message.result as never);
    } catch (error) {
      pending.reject(error);
      throw error;
    }
    pending.resolve(message.result);
  }

  #notified(method: string, params: unknown): void {
    if (method === "session/event" || method === "npc/event") {
      const { requestId, event } = params as { requestId: RequestId | null; event: never };
      const onEvent = requestId === null ? undefined : this.#pending.get(requestId)?.onEvent;
      if (onEvent) this.guard(() => onEvent(event));
    }
    for (const handler of this.#handlers.get(method) ?? []) this.guard(() => handler(params as never));
  }

  #abandon(id: string, reason: unknown): void {
    const pending = this.#pending.get(id);
    if (!pending) return;
    this.#pending.delete(id);
    pending.forget();
    this.#abandoned.add(id);
    const { queue } = pending;
    if (queue && !this.#isWaitedFor(queue)) {
      if (queue.kind === "session") this.notify("session/cancel", { session: queue.id });
      else this.notify("npc/cancel", { npc: queue.id });
    } else {
      for (const handler of this.#abandonHandlers) handler(id);
    }
    pending.reject(reason);
    this.#wire.onBusy(this.hasPending);
  }

  #isWaitedFor({ kind, id }: Queue): boolean {
    return [...this.#pending.values()].some(({ queue }) => queue?.kind === kind && queue.id === id);
  }

  #take(): Pending[] {
    const pending = [...this.#pending.values()];
    this.#pending.clear();
    this.#abandoned.clear();
    for (const { forget } of pending) forget();
    this.#wire.onBusy(false);
    return pending;
  }

  #encode(head: JsonObject, name: string, value: unknown): string {
    const body = value === undefined ? "" : `,"${name}":${encodeJson(value, name)}`;
    const line = `{"jsonrpc":"2.0",${encodeJson(head, "message").slice(1, -1)}${body}}`;
    if (line.length > MAX_LINE_BYTES / 3 && Buffer.byteLength(line) > MAX_LINE_BYTES) {
      throw new RangeError(`${name} is more than 64 MiB of JSON, which oam does not take`);
    }
    return line;
  }
}

const queued: ReadonlySet<Method> = new Set<Method>([
  "session/respond",
  "session/reset",
  "session/compact",
  "session/setInstructions",
  "session/setContextNote",
  "session/setTools",
  "npc/talk",
  "npc/state",
  "npc/update",
  "npc/reset",
]);

function queueOf(method: Method, params: unknown): Queue | undefined {
  if (!queued.has(method)) return undefined;
  const { session, npc } = (params ?? {}) as { session?: unknown; npc?: unknown };
  const [kind, id] = method.startsWith("npc/") ? (["npc", npc] as const) : (["session", session] as const);
  return typeof id === "string" ? { kind, id } : undefined;
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}

/** Calls `giveUp` on the signal or when the time is over, until the returned function is called. */
function giveUpWhen(
  giveUp: (reason: unknown) => void,
  method: string,
  signal: AbortSignal | undefined,
  timeout: number | undefined,
): () => void {
  checkTime(timeout, "timeout");
  const abort = () => giveUp(signal!.reason);
  signal?.addEventListener("abort", abort, { once: true });
  const expire = () => giveUp(new OamError("timeout", `'${method}' took longer than ${timeout} ms.`, { code: "timeout" }));
  const timer = afterTime(timeout, expire);
  return () => {
    signal?.removeEventListener("abort", abort);
    clearTimeout(timer);
  };
}
