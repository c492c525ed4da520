"""Chat completions as OpenAI's Python client sees them."""

import json
import os
import tempfile
import unittest

import httpx2
import openai
from pydantic import BaseModel
from serving import call, serving

QUESTION = [{"role": "user", "content": "How is the weather in Paris?"}]


class Person(BaseModel):
    name: str
    born: int


def function(name):
    parameters = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    return {"type": "function", "function": {"name": name, "description": "Tells it.", "parameters": parameters}}


class Answers(unittest.TestCase):
    def test_an_answer(self):
        with serving([{"text": "Light rain, and 14 °C."}], "--model-alias", "gpt-4o-mini=system") as client:
            self.assertEqual([model.id for model in client.models.list()], ["system", "gpt-4o-mini"])
            answer = client.chat.completions.create(model="gpt-4o-mini", messages=QUESTION)
        self.assertEqual(answer.choices[0].message.content, "Light rain, and 14 °C.")
        self.assertEqual((answer.choices[0].finish_reason, answer.model), ("stop", "system"))
        self.assertGreater(answer.usage.total_tokens, 0)

    def test_an_answer_through_a_socket(self):
        with tempfile.TemporaryDirectory() as folder:
            socket = os.path.join(folder, "oam.sock")
            with (
                serving([{"text": "Light rain."}], "--socket", socket) as client,
                httpx2.Client(transport=httpx2.HTTPTransport(uds=socket)) as http_client,
            ):
                through_socket = client.with_options(base_url="http://localhost/v1", http_client=http_client)
                answer = through_socket.chat.completions.create(model="system", messages=QUESTION)
        self.assertEqual(answer.choices[0].message.content, "Light rain.")

    def test_a_stream(self):
        with serving([{"text": "Light rain, and 14 °C.", "chunks": 5}]) as client:
            stream = client.chat.completions.create(
                model="system", messages=QUESTION, stream=True, stream_options={"include_usage": True}
            )
            chunks = list(stream)
        pieces = [chunk.choices[0].delta.content for chunk in chunks if chunk.choices]
        self.assertEqual("".join(piece or "" for piece in pieces), "Light rain, and 14 °C.")
        self.assertGreater(len(pieces), 3)
        self.assertGreater(chunks[-1].usage.total_tokens, 0)

    def test_a_stream_that_the_client_puts_together(self):
        with serving([{"text": "Light rain, and 14 °C.", "chunks": 5}]) as client:
            with client.chat.completions.stream(model="system", messages=QUESTION) as stream:
                deltas = [event.delta for event in stream if event.type == "content.delta"]
                answer = stream.get_final_completion()
        self.assertEqual("".join(deltas), answer.choices[0].message.content)
        self.assertEqual(answer.choices[0].finish_reason, "stop")

    def test_an_answer_of_a_given_form(self):
        with serving([{"json": {"name": "Ada Lovelace", "born": 1815}}]) as client:
            answer = client.chat.completions.parse(model="system", messages=QUESTION, response_format=Person)
        self.assertEqual(answer.choices[0].message.parsed, Person(name="Ada Lovelace", born=1815))

    def test_a_client_that_waits_for_a_pause_gets_its_answer(self):
        steps = [{"error": "rate_limited"}, {"error": "rate_limited"}, {"text": "Now."}]
        with serving(steps, max_retries=2) as client:
            answer = client.chat.completions.create(model="system", messages=QUESTION)
        self.assertEqual(answer.choices[0].message.content, "Now.")


class Tools(unittest.TestCase):
    STEPS = [
        {"toolCalls": [call("get_weather", city="Paris"), call("get_time", city="Paris")]},
        {"template": "{toolOutputs}"},
    ]
    TOOLS = [function("get_weather"), function("get_time")]

    def outputs(self, message):
        return [
            {"role": "tool", "tool_call_id": call.id, "content": f"{call.function.name} of {json.loads(call.function.arguments)['city']}"}
            for call in message.tool_calls
        ]

    def test_a_loop_with_calls_side_by_side(self):
        with serving(self.STEPS) as client:
            first = client.chat.completions.create(model="system", messages=QUESTION, tools=self.TOOLS)
            self.assertEqual(first.choices[0].finish_reason, "tool_calls")
            message = first.choices[0].message
            messages = [*QUESTION, message, *self.outputs(message)]
            answer = client.chat.completions.create(model="system", messages=messages, tools=self.TOOLS)
        self.assertEqual(answer.choices[0].message.content, "get_weather of Paris\nget_time of Paris")

    def test_the_same_loop_streamed(self):
        with serving(self.STEPS) as client:
            ask = {"model": "system", "tools": self.TOOLS}
            with client.chat.completions.stream(messages=QUESTION, **ask) as stream:
                message = stream.get_final_completion().choices[0].message
            self.assertEqual([call.function.name for call in message.tool_calls], ["get_weather", "get_time"])
            said = {
                "role": "assistant",
                "content": message.content,
                "tool_calls": [
                    {"id": call.id, "type": "function", "function": {"name": call.function.name, "arguments": call.function.arguments}}
                    for call in message.tool_calls
                ],
            }
            with client.chat.completions.stream(messages=[*QUESTION, said, *self.outputs(message)], **ask) as stream:
                answer = stream.get_final_completion()
        self.assertEqual(answer.choices[0].message.content, "get_weather of Paris\nget_time of Paris")

    def test_a_client_that_wants_one_call_gets_one(self):
        with serving(self.STEPS) as client:
            answer = client.chat.completions.create(
                model="system", messages=QUESTION, tools=self.TOOLS, parallel_tool_calls=False, tool_choice="required"
            )
        self.assertEqual(len(answer.choices[0].message.tool_calls), 1)


class Errors(unittest.TestCase):
    def fails(self, expected, code, steps, *arguments, messages=QUESTION, model="system", **options):
        with serving(steps, *arguments, **options) as client, self.assertRaises(expected) as caught:
            client.chat.completions.create(model=model, messages=messages)
        self.assertIs(type(caught.exception), expected)
        self.assertEqual(caught.exception.code, code)
        return caught.exception

    def test_each_has_its_class(self):
        text = [{"text": "Hello."}]
        self.fails(openai.AuthenticationError, "invalid_api_key", text, "--api-key", "moon", api_key="sun")
        self.fails(openai.NotFoundError, "model_not_found", text, model="gpt-9")
        self.fails(openai.RateLimitError, "rate_limited", [{"error": "rate_limited"}] * 2)
        self.fails(openai.BadRequestError, "content_filter", [{"error": "guardrail_violation"}])
        self.fails(openai.BadRequestError, "context_length_exceeded", [{"error": "context_size_exceeded"}])
        self.fails(openai.InternalServerError, "timeout", [{"text": "late", "delayMs": 60_000}], "--timeout", "0.2")
        error = self.fails(openai.BadRequestError, "invalid_value", text, messages=[])
        self.assertEqual((error.param, error.type), ("messages", "invalid_request_error"))

    def test_one_in_a_stream(self):
        worker = f"{os.environ['OAM_BIN']} worker scripted --fault abort:at=middle"
        flags = ["--worker", worker, "--streaming", "always", "--max-step-crashes", "1"]
        with serving(None, *flags) as client:
            stream = client.chat.completions.create(model="system", messages=QUESTION, stream=True)
            with self.assertRaises(openai.APIError):
                list(stream)


if __name__ == "__main__":
    unittest.main()
