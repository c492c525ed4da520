import assert from "node:assert/strict";
import test from "node:test";
import { OamError, type Bridge, type ScriptStep, type Session, type SessionEvent, type WorldChange } from "open-apple-models";
import { deferred, startBridge } from "./support.js";

const slow: ScriptStep = { text: "Let me think.", delayMs: 60_000 };

function sessionThat(bridge: Bridge, ...steps: ScriptStep[]): Promise<Session> {
  return bridge.createSession({ session: "s", model: { type: "scripted", steps } });
}

function npcThat(bridge: Bridge, ...steps: ScriptStep[]) {
  return bridge.createNpc({ npc: "gorm", persona: { name: "Gorm" }, options: { replyFormat: "text" }, model: { type: "scripted", steps } });
}

test("events of a turn are read one by one, and then its result", async (context) => {
  const bridge = await startBridge(context);
  const session = await sessionThat(bridge, { text: "Good evening, traveller.", chunks: 4 });
  const turn = session.stream("Hello!");
  let deltas = "";
  const types = new Set<string>();
  for await (const event of turn) {
    types.add(event.type);
    if (event.type === "text") deltas += event.delta;
  }
  assert.equal(deltas, "Good evening, traveller.");
  assert.deepEqual([...types], ["modelStep", "text"]);
  assert.equal((await turn.result).text, deltas);
});

test("two loops that read one turn both end with it", async (context) => {
  const bridge = await startBridge(context);
  const session = await sessionThat(bridge, { text: "Good evening, traveller.", chunks: 4, delayMs: 50 });
  const turn = session.stream("Hello!");
  let deltas = 0;
  const read = async () => {
    for await (const event of turn) deltas += event.type === "text" ? 1 : 0;
  };
  await Promise.all([read(), read(), read()]);
  assert.equal(deltas, 4);
});

test("texts and lines grow to the result", async (context) => {
  const bridge = await startBridge(context);
  const session = await sessionThat(bridge, { text: "Good evening.", chunks: 3 });
  const turn = session.stream("Hello!");
  const texts = [];
  for await (const text of turn.text()) texts.push(text);
  assert.equal(texts.at(-1), "Good evening.");
  assert.ok(texts.length > 1);

  const npc = await npcThat(bridge, { text: "[happy] Well met, traveller!", chunks: 4 });
  const said = npc.stream("Hello!");
  const lines = [];
  for await (const line of said.line()) lines.push(line);
  assert.equal(lines.at(-1), (await said.result).line);
  assert.ok(lines.length > 1);
});

test("the result is there without reading events, and events wait for a late reader", async (context) => {
  const bridge = await startBridge(context);
  const session = await sessionThat(bridge, { text: "Aye." });
  const turn = session.stream("Hello!");
  assert.equal((await turn.result).text, "Aye.");
  const events: SessionEvent[] = [];
  for await (const event of turn) events.push(event);
  assert.ok(events.some((event) => event.type === "text"));
});

test("a turn that fails throws at the end of its events", async (context) => {
  const bridge = await startBridge(context);
  const session = await sessionThat(bridge, { error: "refusal" });
  const types: string[] = [];
  await assert.rejects(
    async () => {
      for await (const event of session.stream("Hello!")) types.push(event.type);
    },
    (error) => OamError.is(error, "refusal"),
  );
  assert.deepEqual(types, ["modelStep"]);
});

test("leaving the loop cancels the turn, and the session can be used on", async (context) => {
  const bridge = await startBridge(context);
  const session = await sessionThat(bridge, slow, { text: "Yes?" });
  const turn = session.stream("Hello!");
  for await (const event of turn) {
    assert.equal(event.type, "modelStep");
    break;
  }
  await assert.rejects(turn.result, { name: "AbortError" });
  assert.equal((await session.respond("Hello?")).text, "Yes?");
});

test("a signal cancels a turn and gives its reason", async (context) => {
  const bridge = await startBridge(context);
  const session = await sessionThat(bridge, slow, slow, { text: "Yes?" });
  const npc = await npcThat(bridge, slow, { text: "[happy] Yes?" });
  const reason = new Error("The player walked away.");
  const begin: ((signal: AbortSignal, started: () => void) => Promise<unknown>)[] = [
    (signal, onEvent) => session.respond("Hello!", { signal, onEvent }),
    (signal, onEvent) => bridge.request("session/respond", { session: "s", prompt: "?", stream: true }, { signal, onEvent }),
    (signal, started) => {
      const talk = npc.stream("Hello!", { signal }).result;
      void npc.state({ settle: false }).then(started);
      return talk;
    },
  ];
  for (const start of begin) {
    const canceller = new AbortController();
    const started = deferred();
    const turn = start(canceller.signal, () => started.resolve());
    await started.promise;
    canceller.abort(reason);
    await assert.rejects(turn, reason);
  }
  assert.equal((await session.respond("Hello?")).text, "Yes?");
  assert.equal((await npc.talk("Hello?")).line, "Yes?");
});

test("giving a request up leaves alone what else waits for the same session", async (context) => {
  const bridge = await startBridge(context);
  const called = deferred();
  const aborted = deferred();
  bridge.tool({ name: "ring", description: "Rings." }, (_args, { signal }) => {
    signal.addEventListener("abort", () => aborted.resolve());
    called.resolve();
    return new Promise(() => {});
  });
  const session = await bridge.createSession({
    tools: ["ring"],
    model: { type: "scripted", steps: [{ toolCalls: [{ name: "ring" }] }, { text: "Unheard." }, { text: "Yes?" }] },
  });
  const canceller = new AbortController();
  const first = session.respond("Ring!", { signal: canceller.signal });
  const second = session.respond("Hello?");
  await called.promise;
  canceller.abort();
  await assert.rejects(first, { name: "AbortError" });
  await aborted.promise;
  assert.equal((await second).text, "Yes?");
});

test("giving up what waits for no turn cancels none", async (context) => {
  const bridge = await startBridge(context);
  const session = await sessionThat(bridge, { text: "Yes?", delayMs: 100 });
  void bridge.notify("session/respond", { session: session.id, prompt: "Hello?" });
  const canceller = new AbortController();
  const read = bridge.request("session/transcript", { session: session.id }, { signal: canceller.signal });
  canceller.abort();
  await assert.rejects(read, { name: "AbortError" });
  await session.setContextNote(null);
  assert.equal((await session.transcript()).transcript.entries.length, 2);
});

test("a signal that is aborted already sends nothing", async (context) => {
  const bridge = await startBridge(context);
  const session = await sessionThat(bridge, { text: "Yes?" });
  const signal = AbortSignal.abort();
  await assert.rejects(session.respond("Hello!", { signal }), { name: "AbortError" });
  await assert.rejects(session.stream("Hello!", { signal }).result, { name: "AbortError" });
  assert.equal((await session.respond("Hello?")).text, "Yes?");
});

test("a request that takes too long fails with timeout and leaves no trace", async (context) => {
  const bridge = await startBridge(context);
  const session = await sessionThat(bridge, slow, { text: "Yes?" });
  await assert.rejects(session.respond("Hello!", { timeout: 50 }), (error) => OamError.is(error, "timeout"));
  assert.equal((await session.respond("Hello?", { timeout: 60_000 })).text, "Yes?");
  assert.equal((await session.transcript()).transcript.entries.length, 2);
});

test("events come before the result of their turn, turns in their order", async (context) => {
  const bridge = await startBridge(context);
  const session = await sessionThat(bridge, { text: "One." }, { text: "Two." }, { text: "Three." });
  const order: string[] = [];
  await Promise.all(
    ["1", "2", "3"].map((prompt) =>
      session.respond(prompt, { onText: (delta) => order.push(delta) }).then(({ text }) => order.push(`= ${text}`)),
    ),
  );
  assert.equal(order.filter((entry) => entry.startsWith("=")).join(), "= One.,= Two.,= Three.");
  assert.equal(order.filter((entry) => !entry.startsWith("=")).join(""), "One.Two.Three.");
});

test("what a callback throws or rejects with goes to onError and breaks nothing", async (context) => {
  const errors: unknown[] = [];
  const bridge = await startBridge(context, { onError: (error) => errors.push(error) });
  const session = await sessionThat(bridge, { text: "Yes?", chunks: 1 });
  const reply = await session.respond("Hello!", {
    onText: () => { throw new Error("thrown"); },
    onEvent: () => Promise.reject(new Error("rejected")),
  });
  assert.equal(reply.text, "Yes?");
  assert.ok(errors.some((error) => String(error).includes("thrown")));
  assert.ok(errors.some((error) => String(error).includes("rejected")));
});

test("changes of a world are read one by one, from the very first", async (context) => {
  const bridge = await startBridge(context);
  const world = await bridge.createWorld({ world: "village", state: { gold: 60 } });
  const changes = world.changes("gold");
  const first = changes.next();
  // Sent behind the subscription: the change comes in the same breath as its response.
  await Promise.all([world.set("gold", 45), world.set("other", 1), world.remove("gold")]);
  assert.deepEqual(pick((await first).value!), { path: "gold", oldValue: 60, newValue: 45 });
  assert.deepEqual(pick((await changes.next()).value!), { path: "gold", oldValue: 45, newValue: undefined });
  await changes.return();
  assert.deepEqual((await bridge.listWorlds())[0]?.subscriptions, []);
});

test("changes end with their world, with their signal, and with the bridge", async (context) => {
  const bridge = await startBridge(context);
  const begin = async (id: string, signal?: AbortSignal) => {
    const world = await bridge.createWorld({ world: id, state: { gold: 1 } });
    const changes = world.changes("", signal ? { signal } : {});
    const first = changes.next();
    await world.set("gold", 2);
    await first;
    return { world, next: changes.next() };
  };
  const deleted = await begin("deleted");
  await deleted.world.delete();
  assert.deepEqual(await deleted.next, { value: undefined, done: true });

  const canceller = new AbortController();
  const aborted = await begin("aborted", canceller.signal);
  canceller.abort();
  await assert.rejects(aborted.next, { name: "AbortError" });

  const closed = await begin("closed");
  await Promise.all([bridge.close(), assert.rejects(closed.next, (error) => OamError.is(error, "shut_down"))]);
});

function pick({ path, oldValue, newValue }: WorldChange) {
  return { path, oldValue, newValue };
}
