// Chat completions as OpenAI's JavaScript client sees them.

import assert from "node:assert/strict";
import { test } from "node:test";

import { fails, OpenAI, require, serving, z } from "./serving.mjs";

const { zodResponseFormat } = require("openai/helpers/zod");

const messages = [{ role: "user", content: "How is the weather in Paris?" }];
const ask = { model: "system", messages };

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

test("a client that wants one call gets one", () =>
  serving(toolSteps, async (client) => {
    const options = { tools, tool_choice: "required", parallel_tool_calls: false };
    const answer = await client.chat.completions.create({ ...ask, ...options });
    assert.equal(answer.choices[0].message.tool_calls.length, 1);
  }));

test("a client that waits for a pause gets its answer", () =>
  serving(
    [{ error: "rate_limited" }, { error: "rate_limited" }, { text: "Now." }],
    async (client) => {
      const answer = await client.chat.completions.create(ask);
      assert.equal(answer.choices[0].message.content, "Now.");
    },
    { maxRetries: 2 },
  ));

test("each error has its class", async () => {
  const complete = (members) => (client) => client.chat.completions.create({ ...ask, ...members });
  const text = [{ text: "Hello." }];
  const locked = { flags: ["--api-key", "moon"], apiKey: "sun" };
  await fails(OpenAI.AuthenticationError, "invalid_api_key", text, complete({}), locked);
  await fails(OpenAI.NotFoundError, "model_not_found", text, complete({ model: "gpt-9" }));
  await fails(OpenAI.BadRequestError, "invalid_value", text, complete({ messages: [] }));
  await fails(OpenAI.BadRequestError, "content_filter", [{ error: "guardrail_violation" }], complete({}));
  const limited = [{ error: "rate_limited" }, { error: "rate_limited" }];
  await fails(OpenAI.RateLimitError, "rate_limited", limited, complete({}));
  const late = [{ text: "late", delayMs: 60_000 }];
  await fails(OpenAI.InternalServerError, "timeout", late, complete({}), { flags: ["--timeout", "0.2"] });
});
