// Responses as OpenAI's JavaScript client sees them.

import assert from "node:assert/strict";
import { test } from "node:test";

import { fails, OpenAI, require, serving, z } from "./serving.mjs";

const { zodTextFormat } = require("openai/helpers/zod");

const ask = { model: "system", input: "How is Paris?" };
const parameters = {
  type: "object",
  properties: { city: { type: "string" } },
  required: ["city"],
  additionalProperties: false,
};
const tools = ["get_weather", "get_time"].map((name) => ({
  type: "function",
  name,
  description: "Tells it.",
  strict: true,
  parameters,
}));
const toolSteps = [
  { toolCalls: tools.map((tool) => ({ name: tool.name, arguments: { city: "Paris" } })) },
  { template: "{toolOutputs}" },
];

/** The input of the next request: all that was said, and the outputs of the calls. */
function answered(response) {
  const calls = response.output.filter((item) => item.type === "function_call");
  const outputs = calls.map((call) => ({
    type: "function_call_output",
    call_id: call.call_id,
    output: `${call.name} of ${JSON.parse(call.arguments).city}`,
  }));
  return [{ role: "user", content: ask.input }, ...response.output, ...outputs];
}

test("an answer", () =>
  serving([{ text: "Light rain, and 14 °C." }], async (client) => {
    const response = await client.responses.create({ ...ask, metadata: { scene: "inn" } });
    assert.equal(response.output_text, "Light rain, and 14 °C.");
    assert.equal(response.status, "completed");
    assert.deepEqual(response.metadata, { scene: "inn" });
    assert.ok(response.usage.total_tokens > 0);
  }));

test("a stream", () =>
  serving([{ text: "Light rain, and 14 °C.", chunks: 5 }], async (client) => {
    const types = [];
    let text = "";
    for await (const event of await client.responses.create({ ...ask, stream: true })) {
      types.push(event.type);
      if (event.type === "response.output_text.delta") text += event.delta;
    }
    assert.equal(text, "Light rain, and 14 °C.");
    assert.equal(types[0], "response.created");
    assert.equal(types.at(-1), "response.completed");
  }));

test("a tool loop with calls side by side", () =>
  serving(toolSteps, async (client) => {
    const first = await client.responses.create({ ...ask, tools });
    assert.deepEqual(first.output.map((item) => item.name), ["get_weather", "get_time"]);
    const next = await client.responses.create({ ...ask, input: answered(first), tools });
    assert.equal(next.output_text, "get_weather of Paris\nget_time of Paris");
  }));

test("the same loop streamed", () =>
  serving(toolSteps, async (client) => {
    const first = await client.responses.stream({ ...ask, tools }).finalResponse();
    const next = await client.responses.stream({ ...ask, input: answered(first), tools }).finalResponse();
    assert.equal(next.output_text, "get_weather of Paris\nget_time of Paris");
  }));

test("a client that wants one call gets one", () =>
  serving(toolSteps, async (client) => {
    const options = { tools, tool_choice: "required", parallel_tool_calls: false };
    const response = await client.responses.create({ ...ask, ...options });
    assert.deepEqual(response.output.map((item) => item.name), ["get_weather"]);
  }));

test("an answer of a given form", () => {
  const Person = z.object({ name: z.string(), born: z.number().int() });
  const ada = { name: "Ada Lovelace", born: 1815 };
  return serving({ fallback: { json: ada } }, async (client) => {
    const text = { format: zodTextFormat(Person, "person") };
    const whole = await client.responses.parse({ ...ask, text });
    const streamed = await client.responses.stream({ ...ask, text }).finalResponse();
    assert.deepEqual([whole.output_parsed, streamed.output_parsed], [ada, ada]);
  });
});

test("each error has its class", async () => {
  const respond = (members) => (client) => client.responses.create({ ...ask, ...members });
  const guarded = [{ error: "guardrail_violation" }];
  await fails(OpenAI.NotFoundError, "model_not_found", [], respond({ model: "gpt-9" }));
  await fails(OpenAI.BadRequestError, "invalid_value", [], respond({ previous_response_id: "resp_1" }));
  await fails(OpenAI.BadRequestError, "content_filter", guarded, respond({}));
  await fails(OpenAI.BadRequestError, "content_filter", guarded, respond({ stream: true }));
});
