import assert from "node:assert/strict";
import test from "node:test";
import { OamError, type Bridge, type ScriptStep, type Session, type ToolHandler } from "open-apple-models";
import { deferred, startBridge } from "./support.js";

const callRing: ScriptStep = { toolCalls: [{ name: "ring", arguments: { times: 3 } }] };
const sayOutput: ScriptStep = { template: "{toolOutput}" };
const parameters = { type: "object", properties: { times: { type: "integer" } }, required: ["times"] };

/** A handler that answers never, and tells when it is called and when it is aborted. */
function waitingHandler() {
  const called = deferred();
  const aborted = deferred();
  const handler: ToolHandler<{ times: number }> = (_args, { signal }) => {
    signal.addEventListener("abort", () => aborted.resolve());
    called.resolve();
    return new Promise(() => {});
  };
  return { handler, called: called.promise, aborted: aborted.promise };
}

async function sessionWithRing(bridge: Bridge, handler: ToolHandler<{ times: number }>, timeoutSeconds = 60): Promise<Session> {
  const ring = bridge.tool({ name: "ring", description: "Rings.", parameters, timeoutSeconds }, handler);
  return bridge.createSession({ session: "guard", tools: [ring], model: { type: "scripted", steps: [callRing, sayOutput] } });
}

test("a handler gets arguments and context, and answers at once or later", async (context) => {
  const bridge = await startBridge(context);
  for (const later of [false, true]) {
    const session = await sessionWithRing(bridge, ({ times }, { name, session: id, callId, requestId, signal }) => {
      assert.deepEqual({ times, name, id, aborted: signal.aborted }, { times: 3, name: "ring", id: "guard", aborted: false });
      assert.match(callId, /^call_/);
      assert.equal(typeof requestId, "string");
      return later ? Promise.resolve({ rung: times }) : { rung: times };
    });
    assert.equal((await session.respond("Ring!")).text, '{"rung":3}');
    await session.delete();
  }
});

const failures: [what: string, handler: ToolHandler<{ times: number }>, text: RegExp][] = [
  ["an error", () => { throw new Error("Torn."); }, /^Error: Torn\.$/],
  ["an error without a message", async () => { throw new RangeError(); }, /^Error: RangeError$/],
  ["something that is no error", () => Promise.reject("no rope"), /^Error: no rope$/],
  ["half of a surrogate pair", () => { throw new Error("\ud83d"); }, /^Error: \ufffd$/],
  ["an output that is no JSON", () => ({ loud: NaN }), /^Error: The tool's output is no JSON: result\.output\.loud is NaN/],
];

for (const [what, handler, text] of failures) {
  test(`${what} is told to the model, and the turn goes on`, async (context) => {
    const bridge = await startBridge(context);
    const session = await sessionWithRing(bridge, handler);
    const reply = await session.respond("Ring!");
    assert.match(reply.text, text);
    assert.equal(reply.toolCalls[0]?.isError, true);
  });
}

test("a handler is aborted when its time is over; what it answers then is ignored", async (context) => {
  const bridge = await startBridge(context);
  const reason = deferred<unknown>();
  const session = await sessionWithRing(bridge, (_args, { signal }) =>
    new Promise((resolve) => signal.addEventListener("abort", () => {
      reason.resolve(signal.reason);
      resolve("late");
    })), 0.05);
  assert.match((await session.respond("Ring!")).text, /timed out/);
  assert.match(String(await reason.promise), /AbortError.*timed out/);
  assert.deepEqual(await bridge.request("ping"), {});
});

test("a handler is aborted when its turn is cancelled", async (context) => {
  const bridge = await startBridge(context);
  const { handler, called, aborted } = waitingHandler();
  const session = await sessionWithRing(bridge, handler);
  const turn = session.respond("Ring!");
  await called;
  assert.equal(await session.cancel(), 1);
  await assert.rejects(turn, (error) => OamError.is(error, "cancelled"));
  await aborted;
});

test("a handler is aborted when the bridge is closed", async (context) => {
  const bridge = await startBridge(context);
  const { handler, called, aborted } = waitingHandler();
  const session = await sessionWithRing(bridge, handler);
  const turn = session.respond("Ring!");
  await called;
  await Promise.all([bridge.close(), assert.rejects(turn, (error) => OamError.is(error, "shut_down")), aborted]);
});

test("a decision that is given up aborts its handlers, and the model hears of it", async (context) => {
  const bridge = await startBridge(context);
  const { handler, called, aborted } = waitingHandler();
  bridge.tool({ name: "ring", description: "Rings.", parameters }, handler);
  const canceller = new AbortController();
  const decision = bridge.decide(
    { situation: "?", options: ["yes", "no"], tools: ["ring"], model: { type: "scripted", steps: [callRing, callRing, { json: { choice: "yes" } }] } },
    { signal: canceller.signal },
  );
  await called;
  canceller.abort();
  await assert.rejects(decision, { name: "AbortError" });
  await aborted;
  assert.deepEqual(await bridge.request("ping"), {});
});

test("what is no tool is refused at once", async (context) => {
  const bridge = await startBridge(context);
  for (const handler of [undefined, null, "ring", {}]) {
    assert.throws(() => bridge.tool({ name: "ring" }, handler as unknown as ToolHandler), /handler of the tool 'ring' is a function/);
    assert.throws(() => bridge.onNotification("world/changed", handler as unknown as () => void), /'world\/changed' is a function/);
  }
  for (const definition of [undefined, null, {}, { name: 5 }]) {
    assert.throws(() => bridge.tool(definition as unknown as { name: string }, () => "dong"), /has a 'name' that is text/);
  }
  await assert.rejects(bridge.createSession({ tools: "ring" as unknown as string[] }), /'tools' is an array/);
});

test("a tool that is not registered is named in the error, with those that are", async (context) => {
  const bridge = await startBridge(context);
  bridge.tool({ name: "ring" }, () => "dong");
  await assert.rejects(bridge.createSession({ tools: ["wave"] }), /No tool 'wave' is registered \(registered: ring\)/);
  assert.deepEqual(bridge.toolDefinitions(), [{ name: "ring" }]);
});
