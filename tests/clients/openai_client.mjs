// OpenAI's JavaScript client against `oam serve`. OAM_BIN names the program, OPENAI_FOLDER where `openai` and `zod` are installed;
// scripts/test-clients runs this.

import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { promisify } from "node:util";

const require = createRequire(path.join(process.env.OPENAI_FOLDER, "index.js"));
const { default: OpenAI } = require("openai");
const { zodResponseFormat } = require("openai/helpers/zod");
const { z } = require("zod");

const messages = [{ role: "user", content: "How is the weather in Paris?" }];
const ask = { model: "system", messages };

/** Calls `use` with a client of a server that plays these steps. */
async function serving(steps, use, { flags = [], ...options } = {}) {
  const folder = await mkdtemp(path.join(tmpdir(), "oam-"));
  const script = path.join(folder, "script.json");
  await writeFile(script, JSON.stringify(steps));
  const server = spawn(process.env.OAM_BIN, ["serve", "--port", "0", "--log-level", "error", ...flags], {
    env: { ...process.env, OAM_SCRIPT: script },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exit = once(server, "exit");
  try {
    const [line] = await once(createInterface({ input: server.stdout }), "line");
    const baseURL = line.split(" ")[4];
    await use(new OpenAI({ baseURL, apiKey: "any", maxRetries: 0, ...options }));
  } finally {
    server.kill("SIGTERM");
    const [code] = await exit;
    await rm(folder, { recursive: true });
    assert.equal(code, 0);
  }
}

test("an answer", () =>
  serving([{ text: "Light rain, and 14 °C." }], async (client) => {
    const answer = await client.chat.completions.create(ask);
    assert.equal(answer.choices[0].message.content, "Light rain, and 14 °C.");
    assert.equal(answer.choices[0].finish_reason, "stop");
    assert.ok(answer.usage.total_tokens > 0);
    const models = [];
    for await (const model of client.models.list()) models.push(model.id);
    assert.deepEqual(models, ["system"]);
  }));

test("a stream", () =>
  serving([{ text: "Light rain, and 14 °C.", chunks: 5 }], async (client) => {
    const stream = await client.chat.completions.create({ ...ask, stream: true, stream_options: { include_usage: true } });
    const chunks = [];
    for await (const chunk of stream) chunks.push(chunk);
    const pieces = chunks.map((chunk) => chunk.choices[0]?.delta.content ?? "");
    assert.equal(pieces.join(""), "Light rain, and 14 °C.");
    assert.ok(chunks.at(-1).usage.total_tokens > 0);
  }));

test("a stream that the client leaves", () =>
  serving([{ text: "Once upon a time", chunks: 4 }, { text: "Again." }], async (client) => {
    const stream = await client.chat.completions.create({ ...ask, stream: true });
    for await (const chunk of stream) if (chunk.choices[0].delta.content) break;
    const answer = await client.chat.completions.create(ask);
    assert.equal(answer.choices[0].message.content, "Again.");
  }));

test("an answer of a given form", () => {
  const Person = z.object({ name: z.string(), born: z.number().int() });
  return serving([{ json: { name: "Ada Lovelace", born: 1815 } }], async (client) => {
    const answer = await client.chat.completions.parse({ ...ask, response_format: zodResponseFormat(Person, "person") });
    assert.deepEqual(answer.choices[0].message.parsed, { name: "Ada Lovelace", born: 1815 });
  });
});

test("the example in the document", async () => {
  const document = await readFile(new URL("../../docs/SERVER.md", import.meta.url), "utf8");
  const examples = [...document.matchAll(/^```js\n(.*?)^```$/gms)].map(([, example]) => example);
  assert.notEqual(examples.length, 0);
  for (const example of examples) {
    await serving([{ text: "Amber, crimson and gold." }], async (client) => {
      const code = example.replace("http://127.0.0.1:1976/v1", client.baseURL);
      const file = path.join(process.env.OPENAI_FOLDER, "example.mjs");
      await writeFile(file, code);
      const { stdout } = await promisify(execFile)(process.execPath, [file], { timeout: 60_000 });
      assert.equal(stdout, "Amber, crimson and gold.");
    });
  }
});

const parameters = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
const tools = ["get_weather", "get_time"].map((name) => ({
  type: "function",
  function: { name, description: "Tells it.", parameters },
}));
const toolSteps = [
  { toolCalls: tools.map((tool) => ({ name: tool.function.name, arguments: { city: "Paris" } })) },
  { template: "{toolOutputs}" },
];

test("a tool loop with calls side by side", () =>
  serving(toolSteps, async (client) => {
    const first = await client.chat.completions.create({ ...ask, tools });
    const [{ message, finish_reason }] = first.choices;
    assert.equal(finish_reason, "tool_calls");
    const outputs = message.tool_calls.map((call) => ({
      role: "tool",
      tool_call_id: call.id,
      content: `${call.function.name} of ${JSON.parse(call.function.arguments).city}`,
    }));
    const next = await client.chat.completions.create({ ...ask, messages: [...messages, message, ...outputs], tools });
    assert.equal(next.choices[0].message.content, "get_weather of Paris\nget_time of Paris");
  }));

test("a streamed tool loop that the client runs", () =>
  serving(toolSteps, async (client) => {
    const runnable = tools.map((tool) => ({
      type: "function",
      function: { ...tool.function, parse: JSON.parse, function: ({ city }) => `${tool.function.name} of ${city}` },
    }));
    const runner = client.chat.completions.runTools({ ...ask, tools: runnable, stream: true });
    assert.equal(await runner.finalContent(), "get_weather of Paris\nget_time of Paris");
  }));

test("each error has its class", async () => {
  const fails = (expected, code, steps, options, request = ask) =>
    serving(
      steps,
      (client) =>
        assert.rejects(client.chat.completions.create(request), (error) => {
          assert.equal(error.constructor, expected);
          assert.equal(error.code, code);
          return true;
        }),
      options,
    );
  const text = [{ text: "Hello." }];
  await fails(OpenAI.AuthenticationError, "invalid_api_key", text, { flags: ["--api-key", "moon"], apiKey: "sun" });
  await fails(OpenAI.NotFoundError, "model_not_found", text, {}, { ...ask, model: "gpt-9" });
  await fails(OpenAI.BadRequestError, "invalid_value", text, {}, { ...ask, messages: [] });
  await fails(OpenAI.BadRequestError, "content_filter", [{ error: "guardrail_violation" }]);
  await fails(OpenAI.RateLimitError, "rate_limited", [{ error: "rate_limited" }, { error: "rate_limited" }]);
  const late = [{ text: "late", delayMs: 60_000 }];
  await fails(OpenAI.InternalServerError, "timeout", late, { flags: ["--timeout", "0.2"] });
});
