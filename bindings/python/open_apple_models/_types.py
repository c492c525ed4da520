"""The shapes of what requests take and give. Members that a type does not know may be there, too."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from typing import Any, Callable, Optional, TypedDict, Union

Json = Any
Object = dict[str, Any]

EventHandler = Callable[[Object], Any]
"""Gets an event or the params of a notification. May be a coroutine function; exceptions are logged."""

Tools = Sequence[Union[str, Mapping[str, Any]]]
"""Names of registered tools, and definitions of tools as the protocol has them."""


class Usage(TypedDict):
    inputTokens: int
    cachedInputTokens: int
    outputTokens: int
    totalTokens: int


class ToolCall(TypedDict):
    id: str
    name: str
    arguments: Object


class ToolRecord(TypedDict):
    call: ToolCall
    output: Json
    isError: bool
    durationSeconds: float


class Step(TypedDict):
    index: int
    completedToolRounds: int
    toolCallingMode: str
    enabledTools: list[str]
    trimmedEntries: int


class _TurnMembers(TypedDict):
    session: str
    text: str
    toolCalls: list[ToolRecord]
    usage: Usage
    steps: list[Step]


class Turn(_TurnMembers, total=False):
    """The result of `Session.respond`. `structured` is there if a schema was given."""

    structured: Json
    warnings: list[str]


class _ReplyMembers(TypedDict):
    npc: str
    line: str
    emotion: str
    playerOptions: list[str]
    endsConversation: bool
    toolCalls: list[ToolRecord]
    relationship: int
    isFallback: bool
    usage: Usage


class Reply(_ReplyMembers, total=False):
    """The result of `NPC.talk`."""

    warnings: list[str]


class _DecisionMembers(TypedDict):
    optionID: str
    reasoning: str
    confidence: int
    toolCalls: list[ToolRecord]
    usage: Usage
    isFallback: bool


class Decision(_DecisionMembers, total=False):
    """The result of `Bridge.decide`. Those of `decide_many` that failed have `error` alone."""

    warnings: list[str]
    error: Object


Cancel = Callable[[], None]
AnyHandler = Callable[..., Union[Any, Awaitable[Any]]]
OptionalObject = Optional[Mapping[str, Any]]
