import assert from "node:assert/strict";
import test from "node:test";
import { startBridge } from "./support.js";

const loop: { self?: unknown } = {};
loop.self = loop;
let deep: unknown = "bottom";
for (let level = 0; level < 120; level++) deep = [deep];

const refused: [what: string, state: object, message: RegExp][] = [
  ["NaN", { hero: { hp: NaN } }, /^params\.state\.hero\.hp is NaN/],
  ["an infinity", { list: [1, -Infinity] }, /^params\.state\.list\[1\] is -Infinity/],
  ["undefined in an array", { list: [undefined] }, /^params\.state\.list\[0\] is undefined/],
  ["a bigint", { gold: 1n }, /^params\.state\.gold is a bigint/],
  ["a function", { "on hit": () => {} }, /^params\.state\["on hit"\] is a function/],
  ["a symbol", { kind: Symbol("x") }, /^params\.state\.kind is a symbol/],
  ["a Map", { bag: new Map() }, /^params\.state\.bag is a Map: pass Object\.fromEntries/],
  ["a Set", { bag: new Set() }, /^params\.state\.bag is a Set: pass \[\.\.\./],
  ["a typed array", { bag: new Float32Array(1) }, /^params\.state\.bag is a Float32Array/],
  ["a cycle", loop, /^params\.state\.self contains itself/],
  ["100 levels", { deep }, /is nested more than 100 deep/],
  ["half of a surrogate pair", { name: "\ud83d" }, /^params\.state\.name has half of a surrogate pair/],
  ["half of a pair in a key", { "\udde1": 1 }, /^params\.state has a key with half of a surrogate pair/],
];

for (const [what, state, message] of refused) {
  test(`${what} is refused before anything is sent`, async (context) => {
    const bridge = await startBridge(context);
    await assert.rejects(bridge.createWorld({ world: "w", state }), (error) => {
      assert.ok(error instanceof TypeError);
      assert.match(error.message, message);
      return true;
    });
    assert.throws(() => void bridge.notify("world/create", { world: "w", state }), TypeError);
    assert.deepEqual(await bridge.listWorlds(), []);
  });
}

test("what JSON can carry arrives as it is", async (context) => {
  const bridge = await startBridge(context);
  class Sword {
    damage = 3;
    owner = undefined;
  }
  const shared = { a: 1 };
  const world = await bridge.createWorld({
    state: {
      text: "ü 🗡️ \u2028 \u0000 \"",
      when: new Date(0),
      sword: new Sword(),
      twice: [shared, shared],
      boxed: Object("text"),
      ["__proto__"]: { polluted: true },
      nothing: null,
      left: undefined,
    },
  });
  const state = await world.snapshot();
  assert.deepEqual(Object.entries(state), [
    ["text", "ü 🗡️ \u2028 \u0000 \""],
    ["when", "1970-01-01T00:00:00.000Z"],
    ["sword", { damage: 3 }],
    ["twice", [{ a: 1 }, { a: 1 }]],
    ["boxed", "text"],
    ["__proto__", { polluted: true }],
    ["nothing", null],
  ]);
  assert.equal(({} as { polluted?: boolean }).polluted, undefined);
});

test("a method that is no text of JSON is refused before anything is sent", async (context) => {
  const bridge = await startBridge(context);
  await assert.rejects(bridge.request("ping\ud83d" as "ping"), /message\.method has half of a surrogate pair/);
});

test("members that are undefined count as absent", async (context) => {
  const bridge = await startBridge(context);
  const session = await bridge.createSession({ instructions: undefined, model: "scripted", options: { temperature: undefined } as object });
  assert.deepEqual(session.warnings, []);
});

test("more than oam takes is refused, and a large message is not", async (context) => {
  const bridge = await startBridge(context);
  const mebibytes = (count: number) => "x".repeat(count * 1024 * 1024);
  await assert.rejects(bridge.createWorld({ state: { text: mebibytes(65) } }), RangeError);
  const world = await bridge.createWorld({ state: { text: mebibytes(4) } });
  assert.equal((await world.get<string>("text"))?.length, 4 * 1024 * 1024);
});
