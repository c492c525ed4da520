import type { Bridge } from "./bridge.js";
import type { JsonInput, JsonObject, JsonValue } from "./protocol/json.js";
import type { WorldChange } from "./protocol/worlds.js";

/** Changes of a world are told until it is ended. */
export interface Subscription extends AsyncDisposable {
  readonly id: string;
  unsubscribe(): Promise<void>;
}

/** A JSON object that the game and its NPCs share. Places in it are paths: keys and list positions joined by dots. */
export class World {
  readonly #bridge: Bridge;

  /** Made by `Bridge.createWorld` and `Bridge.world`. */
  constructor(
    bridge: Bridge,
    readonly id: string,
  ) {
    this.#bridge = bridge;
  }

  /** What is at `path`; `undefined` where there is nothing. */
  async get<Value = JsonValue>(path = ""): Promise<Value | undefined> {
    const { exists, value } = await this.#bridge.request("world/get", { world: this.id, path });
    return exists ? (value as Value) : undefined;
  }

  /** Writes `value` at `path`; returns the world's version. */
  async set(path: string, value: JsonInput): Promise<number> {
    return (await this.#bridge.request("world/set", { world: this.id, path, value })).version;
  }

  /** Merges a patch (objects merge, null deletes, all else replaces); returns the world's version. */
  async merge(patch: JsonInput, path = ""): Promise<number> {
    return (await this.#bridge.request("world/merge", { world: this.id, path, patch })).version;
  }

  /** Removes what is at `path` and returns it; `undefined` where there was nothing. */
  async remove<Value = JsonValue>(path: string): Promise<Value | undefined> {
    const { removed, oldValue } = await this.#bridge.request("world/remove", { world: this.id, path });
    return removed ? (oldValue as Value) : undefined;
  }

  /** The whole world, to be saved; `bridge.createWorld` makes it again. */
  async snapshot<State = JsonObject>(): Promise<State> {
    return (await this.#bridge.request("world/snapshot", { world: this.id })).state as State;
  }

  /** Tells of each change at, inside or above `path`. */
  subscribe(handler: (change: WorldChange) => void, path = ""): Promise<Subscription> {
    return this.#bridge.subscriptions.subscribe(this.id, path, handler);
  }

  /**
   * Changes, to be read by `for await`. The subscription begins with the loop and ends with it, with the world, or with the
   * signal; a bridge that ends throws.
   */
  changes(path = "", options: { signal?: AbortSignal } = {}): AsyncGenerator<WorldChange, void, undefined> {
    return this.#bridge.subscriptions.changes(this.id, path, options.signal);
  }

  async delete(): Promise<void> {
    await this.#bridge.request("world/delete", { world: this.id });
  }
}
