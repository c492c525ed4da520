"""The Responses API as OpenAI's own client sees it."""

import json
import os
import subprocess
from pathlib import Path

import openai
import pytest
from openai.types.responses import Response, ResponseStreamEvent
from pydantic import BaseModel, TypeAdapter

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


class Person(BaseModel):
    name: str
    born: int


@pytest.fixture(scope="module")
def client():
    program = os.environ["OAM_SCRIPTED_SERVER"]
    scripts = Path(__file__).with_name("scripts.json")
    with subprocess.Popen(
        [program, scripts], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:
        with openai.OpenAI(
            base_url=server.stdout.readline().strip(), api_key="unused", max_retries=0
        ) as client:
            yield client
        server.stdin.close()
        assert server.wait(timeout=20) == 0


def assert_valid(response):
    """The client builds its objects without looking; here it has to look."""
    Response.model_validate(response.to_dict(), strict=False)


def outputs_of(response):
    return [
        {
            "type": "function_call_output",
            "call_id": call.call_id,
            "output": OUTPUTS[call.name],
        }
        for call in response.output
        if call.type == "function_call"
    ]


def test_create(client):
    response = client.responses.create(
        model="plain",
        instructions="Be kind.",
        input="Hi",
        metadata={"scene": "inn"},
        tools=TOOLS,
        text={"format": {"type": "text"}},
        store=False,
        include=["reasoning.encrypted_content"],
        truncation="auto",
    )
    assert_valid(response)
    assert response.output_text == "Hello there, traveller."
    assert (response.status, response.model) == ("completed", "plain")
    assert (response.instructions, response.metadata) == ("Be kind.", {"scene": "inn"})
    assert (
        response.usage.total_tokens
        == response.usage.input_tokens + response.usage.output_tokens
    )


def test_raw_stream(client):
    adapter = TypeAdapter(ResponseStreamEvent)
    events = list(client.responses.create(model="plain", input="Hi", stream=True))
    for number, event in enumerate(events):
        adapter.validate_python(event.to_dict())
        assert event.sequence_number == number
    deltas = [event.delta for event in events if event.type == "response.output_text.delta"]
    assert "".join(deltas) == "Hello there, traveller." and len(deltas) > 1
    assert (events[0].type, events[-1].type) == ("response.created", "response.completed")


def test_stream(client):
    with client.responses.stream(model="plain", input="Hi") as stream:
        snapshots = [
            event.snapshot for event in stream if event.type == "response.output_text.delta"
        ]
        final = stream.get_final_response()
    assert snapshots[-1] == final.output_text == "Hello there, traveller."


def test_a_cut_answer(client):
    response = client.responses.create(model="cut", input="Hi", max_output_tokens=1)
    assert_valid(response)
    assert response.status == "incomplete"
    assert response.incomplete_details.reason == "max_output_tokens"
    assert response.max_output_tokens == 1


def test_tools_loop(client):
    conversation = [{"role": "user", "content": "How is Paris?"}]
    response = client.responses.create(model="weather", input=conversation, tools=TOOLS)
    assert_valid(response)
    assert [call.name for call in response.output] == ["get_weather", "get_time"]
    assert json.loads(response.output[0].arguments) == {"city": "Paris"}
    conversation += response.output + outputs_of(response)
    answer = client.responses.create(model="weather", input=conversation, tools=TOOLS)
    assert answer.output_text in ("It is sunny.", "It is noon.")

    conversation += answer.output + [{"role": "user", "content": "And Oslo?"}]
    adapter = TypeAdapter(ResponseStreamEvent)
    with client.responses.stream(model="weather", input=conversation, tools=TOOLS) as stream:
        for event in stream:
            if event.type == "response.function_call_arguments.delta":
                assert event.snapshot == '{"city":"Oslo"}'
            adapter.validate_python(event.to_dict())
        response = stream.get_final_response()
    assert [call.name for call in response.output] == ["get_weather"]
    conversation += [
        {"type": "function_call", **item.to_dict(exclude_unset=True)} for item in response.output
    ]
    conversation += outputs_of(response)
    answer = client.responses.create(model="weather", input=conversation, tools=TOOLS)
    assert answer.output_text == "It is sunny."


def test_parse(client):
    response = client.responses.parse(model="person", input="Who?", text_format=Person)
    assert response.output_parsed == Person(name="Ada", born=1815)
    with client.responses.stream(model="person", input="Who?", text_format=Person) as stream:
        stream.until_done()
        assert stream.get_final_response().output_parsed == Person(name="Ada", born=1815)


def test_refusal(client):
    response = client.responses.create(model="refusing", input="Hi")
    assert_valid(response)
    assert response.output[0].content[0].refusal == "I would rather not."
    adapter = TypeAdapter(ResponseStreamEvent)
    events = list(client.responses.create(model="refusing", input="Hi", stream=True))
    for event in events:
        adapter.validate_python(event.to_dict())
    assert "response.refusal.done" in [event.type for event in events]


@pytest.mark.parametrize(
    ("error", "code", "param", "request_"),
    [
        (openai.NotFoundError, "model_not_found", "model", {"model": "nope", "input": "Hi"}),
        (openai.BadRequestError, "content_filter", "input", {"model": "guarded", "input": "Hi"}),
        (openai.BadRequestError, "content_filter", "input", {"model": "guarded", "input": "Hi", "stream": True}),
        (openai.BadRequestError, "invalid_value", "background", {"input": "Hi", "background": True}),
        (openai.BadRequestError, "invalid_value", "previous_response_id", {"input": "Hi", "previous_response_id": "resp_1"}),
        (openai.BadRequestError, "invalid_value", "conversation", {"input": "Hi", "conversation": "conv_1"}),
        (openai.BadRequestError, "invalid_value", "tools[0].type", {"input": "Hi", "tools": [{"type": "web_search"}]}),
    ],
)
def test_errors(client, error, code, param, request_):
    with pytest.raises(error) as raised:
        client.responses.create(**request_)
    assert (raised.value.code, raised.value.param) == (code, param)
