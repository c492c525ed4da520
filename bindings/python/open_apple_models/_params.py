"""Python's arguments as the protocol's params."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from typing import Any

from ._types import Object


class Unset(enum.Enum):
    """In place of an argument that was not given, where `None` means something."""

    UNSET = enum.auto()


RESPOND = ("tool_choice", "max_tool_rounds", "max_tool_calls", "enabled_tools")
DECIDE = ("instructions", "temperature", "max_tool_rounds", "tool_timeout_seconds", "model")
GENERATE = ("temperature", "tool_timeout_seconds", "model")


def camel_case(given: Mapping[str, Any], names: Sequence[str]) -> Object:
    """Python's `max_tool_rounds` is the protocol's `maxToolRounds`; both are taken. The protocol ignores what it does
    not know, so what is not among `names` is a `TypeError` here."""
    known = {_camel(name) for name in names}
    for name in given:
        if _camel(name) not in known:
            raise TypeError(f"There is no argument '{name}' here; there are also: {', '.join(names)}.")
    return {_camel(name): value for name, value in given.items()}


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(other[:1].upper() + other[1:] for other in others)


def given(**params: Any) -> Object:
    """The params that are not None: to the protocol an absent member and a null one are the same, mostly."""
    return {name: value for name, value in params.items() if value is not None}
