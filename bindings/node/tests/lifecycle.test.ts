import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import test, { type TestContext } from "node:test";
import { Bridge, OamError } from "open-apple-models";
import { isAlive, packageFolder, startBridge, untilGone } from "./support.js";

const slowSession = { session: "s", model: { type: "scripted", steps: [{ text: "…", delayMs: 60_000 }] } } as const;

/** A program in the place of oam: a script of the shell. */
function programThat(context: TestContext, script: string): string {
  const folder = mkdtempSync(join(tmpdir(), "oam-node-"));
  context.after(() => rmSync(folder, { recursive: true }));
  const program = join(folder, "oam");
  writeFileSync(program, `#!/bin/sh\n${script}\n`);
  chmodSync(program, 0o755);
  return program;
}

/** Runs a program of Node with this package; its first line of output is the process id of its oam. */
function runHost(script: string): { host: ReturnType<typeof spawn>; oam: Promise<number>; exit: Promise<number | string> } {
  const source = `import { Bridge } from "open-apple-models";
    const bridge = await Bridge.start(); console.log(bridge.pid); ${script}`;
  const host = spawn(process.execPath, ["--input-type=module", "--eval", source], {
    cwd: packageFolder,
    stdio: ["ignore", "pipe", "ignore"],
  });
  const oam = new Promise<number>((resolve) => createInterface(host.stdout!).once("line", (line) => resolve(Number(line))));
  const exit = new Promise<number | string>((resolve) => host.once("exit", (code, signal) => resolve(code ?? signal!)));
  return { host, oam, exit };
}

test("a program that is not there is told with what to do", async () => {
  await assert.rejects(Bridge.start({ program: "/no/such/oam" }), (error) => {
    assert.ok(OamError.is(error, "spawn_failed"));
    assert.match(error.message, /'\/no\/such\/oam' was not found.*option 'program'.*OAM_BIN/s);
    assert.equal(error.data.program, "/no/such/oam");
    return true;
  });
  await assert.rejects(Bridge.start({ cwd: "/no/such/folder" }), /'\/no\/such\/folder' \(option 'cwd'\) does not exist/);
  await assert.rejects(Bridge.start({ program: "/etc/passwd" }), /cannot be executed/);
});

test("a program that ends at once is told with its last words", async () => {
  const onLog = () => {};
  await assert.rejects(Bridge.start({ args: ["--no-such-option"], onLog }), (error) => {
    assert.ok(OamError.is(error, "process_exited"));
    assert.equal(error.data.exitCode, 2);
    assert.match(error.message, /exited with code 2; its last words: .*--no-such-option/s);
    return true;
  });
});

test("a program that says nothing is given up", async (context) => {
  const program = programThat(context, "exec sleep 60");
  await assert.rejects(Bridge.start({ program, startTimeout: 200 }), (error) => OamError.is(error, "timeout"));
});

test("a program that is not oam is told", async (context) => {
  const errors: unknown[] = [];
  const program = programThat(context, "echo Hello; cat >/dev/null");
  await assert.rejects(Bridge.start({ program, startTimeout: 500, onError: (error) => errors.push(error) }));
  assert.match(String(errors[0]), /no JSON. Is it oam\? Hello/);
});

/** Answers the greeting, and then each request as `answer` of the shell says: `$1` is its id. */
function fakeOam(context: TestContext, answer: string): string {
  const greeting = '{"protocolVersion":"1.0","server":{"name":"oam","version":"0"},"capabilities":{},"model":{}}';
  return programThat(
    context,
    `answer() { ${answer}; }
     read line; echo '{"jsonrpc":"2.0","id":"js-1","result":${greeting}}'
     count=1; while read line; do count=$((count + 1)); answer js-$count; done`,
  );
}

const nonsense = [
  "null", "5", "[]", "{}", "oops", '{"jsonrpc":"2.0","method":"session/event"}', '{"jsonrpc":"2.0","method":"npc/event","params":null}',
  '{"jsonrpc":"2.0","method":"world/changed"}', '{"jsonrpc":"2.0","method":"tool/cancel"}', '{"jsonrpc":"2.0","id":"t-1","method":"tool/call"}',
  '{"jsonrpc":"2.0","id":null,"error":"?"}', '{"jsonrpc":"2.0","id":[],"method":"?"}', '{"jsonrpc":"2.0","id":"js-99","result":1}',
];

test("lines that make no sense are told, and the messages behind them arrive", async (context) => {
  const lines = nonsense.map((line) => `echo '${line}'`).join("; ");
  const errors: unknown[] = [];
  const program = fakeOam(context, `${lines}; printf '{"jsonrpc":"2.0","id":"%s","result":{}}\\n' $1`);
  const bridge = await Bridge.start({ program, onError: (error) => errors.push(error) });
  context.after(() => bridge.close());
  assert.deepEqual(await bridge.request("ping"), {});
  assert.match(String(errors[0]), /is no message. Is it oam\? null/);
  assert.ok(errors.length >= 8);
});

test("a result that makes no sense fails its request alone", async (context) => {
  const program = fakeOam(context, `printf '{"jsonrpc":"2.0","id":"%s","result":null}\\n' $1`);
  const bridge = await Bridge.start({ program, onError: () => {} });
  context.after(() => bridge.close());
  await assert.rejects(bridge.request("world/delete", { world: "w" }), TypeError);
  assert.equal(await bridge.request("ping"), null);
});

test("a program that closes its output but stays is ended", async (context) => {
  const program = fakeOam(context, "exec >&-; sleep 60");
  const bridge = await Bridge.start({ program });
  context.after(() => bridge.close());
  await assert.rejects(bridge.request("ping"), (error) => OamError.is(error, "process_exited") && error.data.signal === "SIGKILL");
});

test("times are numbers of milliseconds, and may be endless", async (context) => {
  const bridge = await startBridge(context, { startTimeout: Infinity });
  for (const timeout of [Infinity, 2 ** 40, undefined]) assert.deepEqual(await bridge.request("ping", {}, { timeout }), {});
  for (const timeout of [NaN, -1]) {
    await assert.rejects(bridge.request("ping", {}, { timeout }), /'timeout' is a number of milliseconds/);
    await assert.rejects(Bridge.start({ startTimeout: timeout }), /'startTimeout' is a number of milliseconds/);
  }
});

test("when the program dies, all that waits fails, and so does what comes later", async (context) => {
  const bridge = await startBridge(context);
  const session = await bridge.createSession(slowSession);
  const waiting = [session.respond("Hello!"), session.stream("Hello?").result, bridge.request("session/reset", { session: "s" })];
  process.kill(bridge.pid, "SIGKILL");
  for (const request of waiting) {
    await assert.rejects(request, (error) => {
      assert.ok(OamError.is(error, "process_exited"));
      assert.equal(error.data.signal, "SIGKILL");
      assert.match(error.message, /^oam was killed by SIGKILL/);
      return true;
    });
  }
  assert.equal((await bridge.exited).signal, "SIGKILL");
  await assert.rejects(bridge.request("ping"), (error) => OamError.is(error, "process_exited"));
  assert.throws(() => void bridge.notify("ping"), (error) => OamError.is(error, "process_exited"));
  await bridge.close();
});

test("closing fails what waits with shut_down, ends the program, and may be repeated", async (context) => {
  const bridge = await startBridge(context);
  const session = await bridge.createSession(slowSession);
  const turn = session.respond("Hello!");
  const closed = bridge.close();
  assert.equal(bridge.close(), closed);
  await assert.rejects(turn, (error) => OamError.is(error, "shut_down") && error.number === -32023);
  await closed;
  await untilGone(bridge.pid);
  assert.deepEqual(await bridge.exited, { exitCode: 0, signal: null, stderr: [] });
  await assert.rejects(bridge.request("ping"), (error) => OamError.is(error, "shut_down"));
  await assert.rejects(bridge.createSession({ tools: [] }), (error) => OamError.is(error, "shut_down"));
});

test("await using closes", async (context) => {
  const bridge = await startBridge(context);
  await bridge[Symbol.asyncDispose]();
  assert.equal(isAlive(bridge.pid), false);
});

test("a program that does not want to end is killed", async (context) => {
  const reply = '{"jsonrpc":"2.0","id":"js-1","result":{"protocolVersion":"1.0","server":{"name":"oam","version":"0"},"capabilities":{},"model":{}}}';
  const program = programThat(context, `trap '' TERM; read line; echo '${reply}'; while :; do sleep 1; done`);
  const bridge = await Bridge.start({ program });
  await bridge.close();
  assert.equal((await bridge.exited).signal, "SIGKILL");
});

test("the log goes to onLog, line by line", async (context) => {
  const lines: string[] = [];
  const bridge = await startBridge(context, { args: ["--log-level", "debug"], onLog: (line) => lines.push(line) });
  await bridge.close();
  assert.ok(lines.length > 0);
  assert.ok(lines.every((line) => !line.includes("\n")));
});

test("a reader that is slow slows the writer down and loses nothing", async (context) => {
  const bridge = await startBridge(context);
  process.kill(bridge.pid, "SIGSTOP");
  const world = { world: "w", state: { text: "x".repeat(1024) } };
  const waits = Array.from({ length: 2000 }, (_, index) => bridge.notify("world/create", { ...world, world: `w${index % 60}` }));
  let drained = false;
  void waits.at(-1)!.then(() => (drained = true));
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(drained, false);
  process.kill(bridge.pid, "SIGCONT");
  await Promise.all(waits);
  assert.equal((await bridge.listWorlds()).length, 60);
});

test("many bridges side by side leave nothing behind", async () => {
  const listeners = process.listenerCount("exit");
  for (let round = 0; round < 3; round++) {
    const bridges = await Promise.all(Array.from({ length: 12 }, () => Bridge.start()));
    await Promise.all(bridges.map((bridge) => bridge.request("ping")));
    await Promise.all(bridges.map((bridge) => bridge.close()));
    for (const bridge of bridges) assert.equal(isAlive(bridge.pid), false);
  }
  assert.equal(process.listenerCount("exit"), listeners);
});

const slowTurn = `await bridge.createSession(${JSON.stringify(slowSession)}); const turn = bridge.session("s").respond("?");`;
const ends: [what: string, script: string, exit: number | string][] = [
  ["closes its bridge", "await bridge.close();", 0],
  ["closes its bridge with a turn on its way", `${slowTurn} turn.catch(() => {}); await bridge.close();`, 0],
  ["forgets to close its bridge", "", 0],
  ["exits with a turn on its way", `${slowTurn} process.exit(7);`, 7],
  ["throws what nobody catches", `${slowTurn} setImmediate(() => { throw new Error("!"); });`, 1],
  ["kills itself", `${slowTurn} process.kill(process.pid, "SIGKILL");`, "SIGKILL"],
];
for (const [what, script, exitCode] of ends) {
  test(`a host that ${what} ends, and oam with it`, async () => {
    const { oam, exit } = runHost(script);
    const pid = await oam;
    assert.equal(await exit, exitCode);
    await untilGone(pid);
  });
}

test("an onError that throws is the host's affair, and takes no message with it", async () => {
  const { exit } = runHost(
    `let uncaught = 0; process.on("uncaughtException", () => uncaught++);
     const touchy = await Bridge.start({ onError: (error) => { throw error; } });
     const session = await touchy.createSession({ model: { type: "scripted", steps: [{ text: "Aye.", chunks: 2 }] } });
     const { text } = await session.respond("?", { onText: () => { throw new Error("Torn."); } });
     process.exitCode = text === "Aye." && uncaught > 0 ? 42 : 1;`,
  );
  assert.equal(await exit, 42);
});

test("a host is kept running while an answer is due", async () => {
  const { exit } = runHost(
    `const session = await bridge.createSession({ model: { type: "scripted", steps: [{ text: "Aye.", delayMs: 300 }] } });
     process.exitCode = (await session.respond("?")).text === "Aye." ? 42 : 1;`,
  );
  assert.equal(await exit, 42);
});
