/** The types against what oam really says: messages are written into a program, and the compiler judges it. */
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline";
import test from "node:test";
import { errorNumbers } from "open-apple-models";
import { oam, packageFolder, readProjectFile } from "./support.js";

interface Message {
  id?: string | number | null;
  method?: string;
  params?: unknown;
  result?: { warnings?: string[]; capabilities?: { methods: string[]; notifications: string[] } };
  error?: { code: number; data?: { code?: string } };
}

/** Compiles a program that imports everything; the compiler's complaints. */
function compile(statements: string[]): string {
  const folder = `${packageFolder}build/generated`;
  mkdirSync(folder, { recursive: true });
  const source = `import type * as oam from "open-apple-models";\n${statements.join("\n")}\n`;
  const program = `${folder}/messages.ts`;
  writeFileSync(program, source);
  const options = ["--strict", "--noEmit", "--skipLibCheck", "--module", "nodenext", "--target", "es2022"];
  return spawnSync(process.execPath, ["node_modules/typescript/bin/tsc", ...options, program], {
    cwd: packageFolder,
    encoding: "utf8",
  }).stdout;
}

/** Exchanges of a document: lines to send, and ids of messages that must have come before the next is sent. */
function exchanges(document: string): { args: string[]; lines: string[] }[] {
  return [...readProjectFile(document).matchAll(/^```jsonl(.*)\n([^]*?)^```/gm)].map(([, args, body]) => ({
    args: args!.trim().split(" ").slice(2),
    lines: body!.replace(/\n {3}/g, "").split("\n").filter((line) => /^[→←]/.test(line)),
  }));
}

/** Plays an exchange with a fresh oam; all messages of both sides. */
async function play(args: string[], lines: string[]): Promise<{ sent: Message[]; received: Message[] }> {
  const child = spawn(oam, ["stdio", ...args], { stdio: ["pipe", "pipe", "ignore"] });
  const sent: Message[] = [];
  const received: Message[] = [];
  const messages = createInterface(child.stdout)[Symbol.asyncIterator]();
  const receiveUntil = async (id: unknown) => {
    while (!received.some((message) => message.id === id)) {
      const next = await messages.next();
      if (next.done) return;
      received.push(JSON.parse(next.value) as Message);
    }
  };
  for (const line of lines) {
    const text = line.slice(2);
    if (line.startsWith("→")) {
      child.stdin.write(`${text}\n`);
      if (/"jsonrpc":"2\.0"/.test(text) && !text.endsWith(",}") && text.startsWith("{")) sent.push(JSON.parse(text) as Message);
    } else {
      const id = /^\{"jsonrpc":"2\.0","id":("[^"]*"|\d+)/.exec(text)?.[1];
      if (id !== undefined) await receiveUntil(JSON.parse(id));
    }
  }
  child.stdin.end();
  await receiveUntil(undefined);
  for await (const line of messages) received.push(JSON.parse(line) as Message);
  return { sent, received };
}

/** Requests, each sent when the one before is answered. */
function exchange(...requests: Message[]): string[] {
  return requests.flatMap((request, index) => [
    `→ ${JSON.stringify({ jsonrpc: "2.0", id: index, ...request })}`,
    `← {"jsonrpc":"2.0","id":${index},`,
  ]);
}

const hello = { method: "initialize", params: { client: { workerEvents: true } } };
const session = { session: "s" };

/** A worker that dies of each step. */
const deaths = {
  args: ["--worker", `${oam} worker scripted --fault abort:step=1`],
  lines: exchange(
    hello,
    { method: "session/create", params: session },
    { method: "session/respond", params: { ...session, prompt: "Hello", stream: true } },
    { method: "supervisor/status" },
  ),
};

/** A reply that breaks off, and another. */
const rewording = [{ text: '{"emotion":"happy","line":"Well met"', chunks: 2 }, { json: { emotion: "sad", line: "Alas." } }];

/** What no example has. */
const more = {
  args: [],
  lines: exchange(
    { method: "npc/create", params: { npc: "gorm", persona: { name: "Gorm" }, model: { type: "scripted", steps: rewording } } },
    { method: "npc/talk", params: { npc: "gorm", line: "War!", stream: true } },
    { method: "npc/cancel", params: { npc: "gorm" } },
    { method: "npc/reset", params: { npc: "gorm", clearMemory: true } },
    { method: "session/create", params: { ...session, model: "scripted" } },
    { method: "session/reset", params: session },
    { method: "session/setInstructions", params: { ...session, instructions: null } },
    { method: "session/setTools", params: { ...session, tools: [{ type: "function", function: { name: "ring" } }] } },
    { method: "world/create", params: { world: "w" } },
    { method: "world/subscribe", params: { world: "w" } },
    { method: "world/unsubscribe", params: { subscription: "sub1" } },
    { method: "world/snapshot", params: { world: "w" } },
  ),
};

test("every method, notification and error is in the types, and what oam says and takes in every example fits them", async () => {
  const plain = await play([], exchange(hello));
  const workers = await play(deaths.args, exchange(hello));
  const capabilities = [plain, workers].map(({ received }) => received[0]!.result!.capabilities!);
  const names = (list: "methods" | "notifications") => [...new Set(capabilities.flatMap((each) => each[list]))].sort();
  const record = (list: string[]) => JSON.stringify(Object.fromEntries(list.map((name) => [name, true])));

  const statements: string[] = [];
  const seen = { results: new Set<string>(), events: new Set<string>() };
  const state = (type: string, value: unknown) => statements.push(`export const m${statements.length}: ${type} = ${JSON.stringify(value)};`);
  const all = [...exchanges("docs/PROTOCOL.md"), ...exchanges("docs/GAMES.md"), deaths, more];
  assert.ok(all.length > 40);
  for (const { args, lines } of all) {
    const { sent, received } = await play(args, lines);
    const methods = new Map(sent.filter(({ method }) => method !== undefined).map(({ id, method, params }) => [id, { method, params }]));
    for (const { id, method, params, result, error } of received) {
      const request = methods.get(id);
      if (method === "tool/call") {
        state(`oam.ClientRequests["tool/call"]["params"]`, params);
      } else if (method !== undefined) {
        seen.events.add((params as { event?: { type: string } }).event?.type ?? method);
        state(`oam.NotificationParams<"${method}">`, params);
      } else if (error) {
        state("oam.ErrorObject", error);
        if (error.data) state("oam.ErrorData", error.data);
      } else if (request) {
        seen.results.add(request.method!);
        state(`oam.MethodResult<"${request.method}">`, result);
        if (request.params && !result?.warnings?.some((warning) => warning.startsWith("Unknown parameter"))) {
          state(`oam.MethodParams<"${request.method}">`, request.params);
        }
      }
    }
  }
  assert.deepEqual([...seen.results].sort(), names("methods"));
  const eventsOfTurns = ["emotion", "lineDelta", "lineReset", "modelStep", "partial", "text", "toolCallCompleted", "toolCallStarted"];
  const others = ["stepQuarantined", "stepReplayed", "tool/cancel", "workerDied", "world/changed"];
  assert.deepEqual([...seen.events].sort(), [...eventsOfTurns, ...others].sort());

  const complaints = compile([
    `export const methods: Record<oam.Method, true> = ${record(names("methods"))};`,
    `export const notifications: Record<oam.NotificationMethod, true> = ${record(names("notifications"))};`,
    ...statements,
    // A message that does not fit is noticed.
    "// @ts-expect-error",
    `export const missing: oam.MethodResult<"session/cancel"> = {"session":"s"};`,
    "// @ts-expect-error",
    `export const unknown: oam.MethodResult<"session/cancel"> = {"session":"s","cancelled":1,"more":2};`,
    "// @ts-expect-error",
    `export const wrong: oam.NotificationParams<"npc/event"> = {"npc":"n","requestId":1,"event":{"type":"emotion","emotion":"grumpy"}};`,
  ]);
  assert.equal(complaints, "");
});

test("every error of the documents is in the table of errors, and none besides", () => {
  const table = readProjectFile("docs/PROTOCOL.md").matchAll(/^\| −(32\d{3}) \| `(\w+)` \|/gm);
  const documented = Object.fromEntries([...table].map(([, number, code]) => [code!, -Number(number)]));
  assert.deepEqual(documented, Object.fromEntries(Object.entries(errorNumbers).filter(([code]) => code !== "timeout")));
});
