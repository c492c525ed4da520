"""Responses as OpenAI's Python client sees them."""

import json
import unittest

import openai
from openai.types.responses import Response, ResponseStreamEvent
from pydantic import BaseModel, TypeAdapter
from serving import call, serving

TOOLS = [
    {
        "type": "function",
        "name": name,
        "description": "Tells.",
        "strict": True,
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}},
            "required": ["city"],
            "additionalProperties": False,
        },
    }
    for name in ("get_weather", "get_time")
]
OUTPUTS = {"get_weather": "sunny", "get_time": "noon"}
GREETING = {"fallback": {"text": "Hello there, traveller.", "chunks": 4}}
PERSON = {"fallback": {"json": {"name": "Ada", "born": 1815}}}
REFUSAL = {"fallback": {"error": "refusal", "message": "I would rather not."}}
GUARDED = {"fallback": {"error": "guardrail_violation", "message": "Not this."}}


class Person(BaseModel):
    name: str
    born: int


def outputs_of(response):
    return [
        {"type": "function_call_output", "call_id": call.call_id, "output": OUTPUTS[call.name]}
        for call in response.output
        if call.type == "function_call"
    ]


class Responses(unittest.TestCase):
    """The client builds its objects without looking; here it has to look."""

    def assertValid(self, response):
        Response.model_validate(response.to_dict(), strict=False)

    def assertValidEvents(self, events):
        adapter = TypeAdapter(ResponseStreamEvent)
        for number, event in enumerate(events):
            adapter.validate_python(event.to_dict())
            self.assertEqual(event.sequence_number, number)

    def test_an_answer(self):
        with serving(GREETING) as client:
            response = client.responses.create(
                model="system",
                instructions="Be kind.",
                input="Hi",
                metadata={"scene": "inn"},
                tools=TOOLS,
                text={"format": {"type": "text"}},
                store=False,
                include=["reasoning.encrypted_content"],
                truncation="auto",
            )
        self.assertValid(response)
        self.assertEqual(response.output_text, "Hello there, traveller.")
        self.assertEqual((response.status, response.model), ("completed", "system"))
        self.assertEqual((response.instructions, response.metadata), ("Be kind.", {"scene": "inn"}))
        self.assertEqual(response.usage.total_tokens, response.usage.input_tokens + response.usage.output_tokens)

    def test_a_stream(self):
        with serving(GREETING) as client:
            events = list(client.responses.create(model="system", input="Hi", stream=True))
            with client.responses.stream(model="system", input="Hi") as stream:
                snapshots = [event.snapshot for event in stream if event.type == "response.output_text.delta"]
                final = stream.get_final_response()
        self.assertValidEvents(events)
        deltas = [event.delta for event in events if event.type == "response.output_text.delta"]
        self.assertEqual("".join(deltas), "Hello there, traveller.")
        self.assertGreater(len(deltas), 1)
        self.assertEqual((events[0].type, events[-1].type), ("response.created", "response.completed"))
        self.assertEqual((snapshots[-1], final.output_text), ("Hello there, traveller.", "Hello there, traveller."))

    def test_a_cut_answer(self):
        with serving(GREETING) as client:
            response = client.responses.create(model="system", input="Hi", max_output_tokens=1)
        self.assertValid(response)
        self.assertEqual((response.status, response.max_output_tokens), ("incomplete", 1))
        self.assertEqual(response.incomplete_details.reason, "max_output_tokens")

    def test_a_tool_loop(self):
        steps = [
            {"toolCalls": [call("get_weather", city="Paris"), call("get_time", city="Paris")]},
            {"template": "{toolOutputs}"},
        ]
        conversation = [{"role": "user", "content": "How is Paris?"}]
        with serving(steps) as client:
            response = client.responses.create(model="system", input=conversation, tools=TOOLS)
            self.assertValid(response)
            self.assertEqual([call.name for call in response.output], ["get_weather", "get_time"])
            self.assertEqual(json.loads(response.output[0].arguments), {"city": "Paris"})
            conversation += response.output + outputs_of(response)
            answer = client.responses.create(model="system", input=conversation, tools=TOOLS)
        self.assertEqual(answer.output_text, "sunny\nnoon")

    def test_the_same_loop_streamed(self):
        steps = [{"toolCalls": [call("get_weather", city="Oslo")]}, {"template": "It is {toolOutput}."}]
        conversation = [{"role": "user", "content": "And Oslo?"}]
        with serving(steps) as client:
            with client.responses.stream(model="system", input=conversation, tools=TOOLS) as stream:
                events = list(stream)
                response = stream.get_final_response()
            arguments = [
                event.snapshot for event in events if event.type == "response.function_call_arguments.delta"
            ]
            self.assertEqual(arguments, ['{"city":"Oslo"}'])
            self.assertValidEvents(events)
            conversation += [{"type": "function_call", **item.to_dict(exclude_unset=True)} for item in response.output]
            conversation += outputs_of(response)
            with client.responses.stream(model="system", input=conversation, tools=TOOLS) as stream:
                answer = stream.get_final_response()
        self.assertEqual(answer.output_text, "It is sunny.")

    def test_an_answer_of_a_given_form(self):
        ada = Person(name="Ada", born=1815)
        with serving(PERSON) as client:
            response = client.responses.parse(model="system", input="Who?", text_format=Person)
            self.assertEqual(response.output_parsed, ada)
            with client.responses.stream(model="system", input="Who?", text_format=Person) as stream:
                self.assertEqual(stream.get_final_response().output_parsed, ada)

    def test_a_refusal(self):
        with serving(REFUSAL) as client:
            response = client.responses.create(model="system", input="Hi")
            events = list(client.responses.create(model="system", input="Hi", stream=True))
        self.assertValid(response)
        self.assertEqual(response.output[0].content[0].refusal, "I would rather not.")
        self.assertValidEvents(events)
        self.assertIn("response.refusal.done", [event.type for event in events])

    def test_each_error_has_its_class(self):
        invalid = openai.BadRequestError
        with serving(GUARDED) as client:
            for error, code, param, request in [
                (openai.NotFoundError, "model_not_found", "model", {"model": "nope"}),
                (invalid, "content_filter", "input", {}),
                (invalid, "content_filter", "input", {"stream": True}),
                (invalid, "invalid_value", "background", {"background": True}),
                (invalid, "invalid_value", "previous_response_id", {"previous_response_id": "resp_1"}),
                (invalid, "invalid_value", "conversation", {"conversation": "conv_1"}),
                (invalid, "invalid_value", "tools[0].type", {"tools": [{"type": "web_search"}]}),
            ]:
                with self.subTest(request), self.assertRaises(error) as raised:
                    client.responses.create(input="Hi", **request)
                self.assertEqual((raised.exception.code, raised.exception.param), (code, param))


if __name__ == "__main__":
    unittest.main()
