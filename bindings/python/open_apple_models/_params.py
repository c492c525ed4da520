"""Python's arguments as the protocol's params."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Any

from ._types import Object


class Unset(enum.Enum):
    """In place of an argument that was not given, where `None` means something."""

    UNSET = enum.auto()


def camel_case(names: Mapping[str, Any]) -> Object:
    """Python's `max_tool_rounds` is the protocol's `maxToolRounds`; names without `_` stay as they are."""
    return {_camel(name): value for name, value in names.items()}


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(other[:1].upper() + other[1:] for other in others)


def given(**params: Any) -> Object:
    """The params that are not None: to the protocol an absent member and a null one are the same, mostly."""
    return {name: value for name, value in params.items() if value is not None}
