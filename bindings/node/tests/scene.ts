/** Plays a scene of bindings/testdata through the public API. */
import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { OamError, type Bridge, type Npc, type Session, type Subscription, type ToolDefinition, type World } from "open-apple-models";
import { assertMatches } from "./compare.js";
import { deferred, startBridge } from "./support.js";

export interface Scene {
  name: string;
  tools?: (ToolDefinition & { answer: ToolAnswer; registered?: boolean })[];
  steps: SceneStep[];
}

type ToolAnswer = { output: unknown } | { failure: string } | { never: true };

interface SceneStep {
  do: string;
  arguments?: Record<string, unknown>;
  method?: string;
  params?: Record<string, unknown>;
  timeoutSeconds?: number;
  session?: string;
  npc?: string;
  world?: string;
  what?: string;
  tool?: string;
  count?: number;
  as?: string;
  calls?: unknown[];
  wait?: boolean;
  changes?: unknown[];
  result?: unknown;
  error?: { code?: number; name?: string; message?: unknown };
  stream?: boolean;
  shown?: string;
  emotions?: string[];
  events?: string[];
  start?: string;
  save?: string;
}

/** What a step came to: its result or its error, and what its callbacks got. */
interface Outcome {
  result?: unknown;
  error?: unknown;
  streamed: Streamed;
}

interface Streamed {
  shown: string;
  emotions: string[];
  events: string[];
}

interface HandledCall {
  tool: string;
  arguments: unknown;
  session?: string | undefined;
  npc?: string | undefined;
}

/** Params as scenes have them; that they fit the types is not the scenes' business. */
type Loose = never;

export async function playScene(test: TestContext, scene: Scene): Promise<void> {
  const player = new Player(await startBridge(test), scene);
  for (const [index, step] of scene.steps.entries()) {
    await player.play(step, `step ${index + 1} (${step.do})`);
  }
}

class Player {
  readonly #handled: HandledCall[] = [];
  readonly #cancelled: string[] = [];
  readonly #news = new Set<() => void>();
  readonly #unregistered = new Map<string, ToolDefinition>();
  readonly #started = new Map<string, Promise<Outcome>>();
  readonly #saved = new Map<string, unknown>();
  readonly #changes = new Map<string, unknown[]>();
  readonly #subscriptions = new Map<string, Subscription>();

  constructor(
    private readonly bridge: Bridge,
    scene: Scene,
  ) {
    for (const { answer, registered = true, ...definition } of scene.tools ?? []) {
      if (registered) bridge.tool(definition, (args, context) => this.#handle(answer, args, context));
      else this.#unregistered.set(definition.name, definition);
    }
  }

  async play(step: SceneStep, place: string): Promise<void> {
    if (step.do === "finish") {
      this.#check(step, await this.#started.get(step.what!)!, place);
      return;
    }
    const outcome = this.#run(step);
    if (step.start === undefined) this.#check(step, await outcome, place);
    else this.#started.set(step.start, outcome);
  }

  #check(step: SceneStep, outcome: Outcome, place: string): void {
    if (step.error) {
      const { error } = outcome;
      assert.ok(error instanceof OamError, `${place}: ${String(error ?? JSON.stringify(outcome.result))} is no error`);
      assertMatches(step.error, { code: error.number, name: error.code, message: error.message }, place);
      return;
    }
    if (outcome.error !== undefined) throw outcome.error;
    if (step.result !== undefined) assertMatches(step.result, outcome.result, place);
    if (step.shown !== undefined) assert.equal(outcome.streamed.shown, step.shown, place);
    if (step.emotions !== undefined) assert.deepEqual(outcome.streamed.emotions, step.emotions, place);
    const types = outcome.streamed.events.values();
    for (const type of step.events ?? []) {
      assert.ok([...takeUntil(types, type)].includes(type), `${place}: no event ${type}`);
    }
    if (step.save !== undefined) this.#saved.set(step.save, outcome.result);
  }

  async #run(step: SceneStep): Promise<Outcome> {
    const streamed: Streamed = { shown: "", emotions: [], events: [] };
    try {
      return { result: await this.#do(step, streamed), streamed };
    } catch (error) {
      return { error, streamed };
    }
  }

  async #do(step: SceneStep, streamed: Streamed): Promise<unknown> {
    const { bridge } = this;
    const args = this.#resolve(step.arguments ?? {}) as Record<string, Loose>;
    switch (step.do) {
      case "request":
        return bridge.request(step.method as Loose, this.#resolve(step.params) as Loose);
      case "callBlocking": {
        const timeout = step.timeoutSeconds! * 1000;
        return bridge.request(step.method as Loose, this.#resolve(step.params) as Loose, { timeout });
      }
      case "createSession": {
        const session = await bridge.createSession(args);
        return { session: session.id, warnings: session.warnings };
      }
      case "createNpc":
        return describeNpc(await bridge.createNpc(args as Loose));
      case "restoreNpc": {
        const { state, ...changes } = args;
        return describeNpc(await bridge.restoreNpc(state!, changes));
      }
      case "createWorld":
        return { world: (await bridge.createWorld(args)).id };
      case "decide":
        return bridge.decide(args as Loose);
      case "decideMany":
        return bridge.decideMany(args as Loose);
      case "generate":
        return bridge.generate(args as Loose);
      case "handled":
        await this.#until(() => !step.wait || this.#handled.length >= step.calls!.length);
        assertMatches(step.calls, this.#handled, "calls");
        return undefined;
      case "cancelled":
        return this.#until(() => this.#cancelled.filter((tool) => tool === step.tool).length >= step.count!);
      case "changes":
        assertMatches(step.changes, this.#changes.get(step.as!), "changes");
        return undefined;
    }
    if (step.session !== undefined) return doWithSession(bridge.session(step.session), step, args, streamed);
    if (step.npc !== undefined) return doWithNpc(bridge.npc(step.npc), step, args, streamed);
    if (step.world !== undefined) return this.#doWithWorld(bridge.world(step.world), step, args);
    throw new Error(`'${step.do}' is unknown`);
  }

  async #doWithWorld(world: World, step: SceneStep, args: Record<string, Loose>): Promise<unknown> {
    switch (step.do) {
      case "get":
        return (await world.get(args["path"])) ?? null;
      case "remove":
        return (await world.remove(args["path"]!)) ?? null;
      case "set":
        return world.set(args["path"]!, args["value"]!);
      case "merge":
        return world.merge(args["patch"]!, args["path"]);
      case "snapshot":
        return world.snapshot();
      case "subscribe": {
        const changes: unknown[] = [];
        this.#changes.set(step.as!, changes);
        this.#subscriptions.set(step.as!, await world.subscribe((change) => changes.push(change), args["path"]));
        return undefined;
      }
      case "unsubscribe":
        return this.#subscriptions.get(step.as!)!.unsubscribe();
      case "deleteWorld":
        return world.delete();
    }
    throw new Error(`'${step.do}' is unknown`);
  }

  async #handle(answer: ToolAnswer, args: unknown, context: { name: string; session?: string; npc?: string; signal: AbortSignal }) {
    const { name: tool, session, npc, signal } = context;
    this.#handled.push({ tool, arguments: args, session, npc });
    signal.addEventListener("abort", () => {
      this.#cancelled.push(tool);
      this.#tell();
    });
    this.#tell();
    if ("failure" in answer) throw new Error(answer.failure);
    if ("never" in answer) return new Promise<never>(() => {});
    return answer.output;
  }

  #tell(): void {
    for (const hear of this.#news) hear();
  }

  async #until(holds: () => boolean): Promise<void> {
    while (!holds()) {
      const { promise, resolve } = deferred();
      this.#news.add(resolve);
      await promise;
      this.#news.delete(resolve);
    }
  }

  /** Arguments with what was saved, and definitions in the place of names of tools that have no handler. */
  #resolve(value: unknown): unknown {
    if (Array.isArray(value)) {
      return value.map((item) => (typeof item === "string" && this.#unregistered.get(item)) || this.#resolve(item));
    }
    if (typeof value !== "object" || value === null) return value;
    if ("$saved" in value) return this.#saved.get(value.$saved as string);
    return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, this.#resolve(member)]));
  }
}

async function doWithSession(session: Session, step: SceneStep, args: Record<string, Loose>, streamed: Streamed): Promise<unknown> {
  switch (step.do) {
    case "respond": {
      const { prompt, ...options } = args;
      const callbacks = {
        onText: (delta: string, event: { isReset: boolean }) => {
          streamed.shown = event.isReset ? delta : streamed.shown + delta;
        },
        onEvent: (event: { type: string }) => void streamed.events.push(event.type),
      };
      return session.respond(prompt!, { ...options, ...(step.stream ? callbacks : {}) });
    }
    case "transcript":
      return session.transcript();
    case "resetSession":
      return session.reset();
    case "deleteSession":
      return session.delete();
    case "setInstructions":
      return session.setInstructions(args["instructions"]!);
    case "setContextNote":
      return session.setContextNote(args["note"]!);
    case "setTools":
      return session.setTools(args["tools"]!);
    case "cancelSession":
      return session.cancel();
    case "compact":
      return session.compact(args);
  }
  throw new Error(`'${step.do}' is unknown`);
}

async function doWithNpc(npc: Npc, step: SceneStep, args: Record<string, Loose>, streamed: Streamed): Promise<unknown> {
  switch (step.do) {
    case "talk": {
      const { line, ...options } = args;
      const callbacks = {
        onLine: (line: string) => (streamed.shown = line),
        onEmotion: (emotion: string) => void streamed.emotions.push(emotion),
        onEvent: (event: { type: string }) => void streamed.events.push(event.type),
      };
      return npc.talk(line!, { ...options, ...(step.stream ? callbacks : {}) });
    }
    case "bark":
      return npc.bark(args["situation"]);
    case "npcState":
      return npc.state(args);
    case "updateNpc":
      return npc.update(args);
    case "resetNpc":
      return npc.reset(args);
    case "deleteNpc":
      return npc.delete();
    case "cancelNpc":
      return npc.cancel();
  }
  throw new Error(`'${step.do}' is unknown`);
}

function describeNpc(npc: Npc): unknown {
  return { npc: npc.id, tools: npc.tools, warnings: npc.warnings };
}

/** Takes items up to the first that is `last`. */
function* takeUntil<Item>(items: IterableIterator<Item>, last: Item): Generator<Item> {
  for (let next = items.next(); !next.done; next = items.next()) {
    yield next.value;
    if (next.value === last) return;
  }
}
