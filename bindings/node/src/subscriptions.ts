import type { Connection } from "./connection.js";
import { EventQueue } from "./event-queue.js";
import type { WorldChange } from "./protocol/worlds.js";
import type { Subscription } from "./world.js";

interface Subscriber {
  readonly world: string;
  readonly onChange: (change: WorldChange) => void;
  /** There will be no more changes; with an error if not by choice. */
  readonly onEnd: ((error?: Error) => void) | undefined;
}

/** Who hears of which changes of worlds. */
export class Subscriptions {
  readonly #connection: Connection;
  readonly #subscribers = new Map<string, Subscriber>();

  constructor(connection: Connection) {
    this.#connection = connection;
    connection.onNotification("world/changed", (change) => this.#subscribers.get(change.subscription)?.onChange(change));
  }

  async subscribe(
    world: string,
    path: string,
    onChange: (change: WorldChange) => void,
    onEnd?: (error?: Error) => void,
  ): Promise<Subscription> {
    const { subscription: id } = await this.#connection.request(
      "world/subscribe",
      { world, path },
      // The first change may be the very next message.
      { onResult: ({ subscription }) => void this.#subscribers.set(subscription, { world, onChange, onEnd }) },
    );
    const unsubscribe = async () => {
      if (!this.#subscribers.has(id)) return;
      await this.#connection.request("world/unsubscribe", { subscription: id }, { onResult: () => this.#end(id) });
    };
    return { id, unsubscribe, [Symbol.asyncDispose]: unsubscribe };
  }

  async *changes(world: string, path: string, signal?: AbortSignal): AsyncGenerator<WorldChange, void, undefined> {
    signal?.throwIfAborted();
    const changes = new EventQueue<WorldChange>();
    const abort = () => changes.end(signal!.reason);
    signal?.addEventListener("abort", abort, { once: true });
    let subscription: Subscription | undefined;
    try {
      subscription = await this.subscribe(
        world,
        path,
        (change) => changes.push(change),
        (error) => changes.end(error),
      );
      yield* changes.read();
    } finally {
      signal?.removeEventListener("abort", abort);
      // A bridge that has ended has ended it already.
      await subscription?.unsubscribe().catch(() => {});
    }
  }

  /** A world is gone, and so are its subscriptions. */
  endWorld(world: string): void {
    for (const [id, subscriber] of this.#subscribers) {
      if (subscriber.world === world) this.#end(id);
    }
  }

  /** The bridge has ended. */
  endAll(error: Error): void {
    for (const id of [...this.#subscribers.keys()]) this.#end(id, error);
  }

  #end(id: string, error?: Error): void {
    const subscriber = this.#subscribers.get(id);
    this.#subscribers.delete(id);
    subscriber?.onEnd?.(error);
  }
}
