"""Python values as strict JSON, in one line of UTF-8."""

from __future__ import annotations

import datetime
import decimal
import enum
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

MAX_BYTES = 64 * 1024 * 1024
MAX_NESTING = 100

_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_BRACKET = re.compile(r"[\[\]{}]")


def encode(value: Any) -> bytes:
    """The value as JSON.

    Sets, `Decimal`, enums, dates, bytes, numpy's arrays and scalars, mappings and iterables are converted. Raises
    `ValueError` for what JSON cannot say (NaN, infinities, lone surrogates, circles) and for what `oam` would not read
    (more than 64 MiB, more than 100 arrays and objects inside each other), and `TypeError` for other types.
    """
    try:
        text = json.dumps(value, allow_nan=False, ensure_ascii=False, separators=(",", ":"), default=_convert)
    except RecursionError:
        raise ValueError(f"The value is nested too deep for JSON; the limit is {MAX_NESTING}.") from None
    if _nesting_may_exceed(text) and _nesting(text) > MAX_NESTING:
        raise ValueError(
            f"The value is nested too deep; the limit is {MAX_NESTING} arrays and objects inside each other."
        )
    try:
        line = text.encode("utf-8")
    except UnicodeEncodeError:
        raise ValueError("The value holds a lone surrogate, which is no character of JSON.") from None
    if len(line) > MAX_BYTES:
        raise ValueError(f"The value is {len(line)} bytes long as JSON; the limit is {MAX_BYTES}.")
    return line


def _convert(value: Any) -> Any:
    if isinstance(value, decimal.Decimal):
        return _number(value)
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value).decode("utf-8")
    # Asked of the type: mocks and proxies have every attribute.
    if callable(getattr(type(value), "tolist", None)):
        return value.tolist()
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Iterable):
        return list(value)
    raise TypeError(f"A value of type {type(value).__name__} cannot be written as JSON.")


def _number(value: decimal.Decimal) -> Any:
    if not value.is_finite() or value.adjusted() > 308:
        raise ValueError(f"Decimal('{value}') is no number of JSON.")
    return int(value) if value == value.to_integral_value() else float(value)


def _nesting_may_exceed(text: str) -> bool:
    return text.count("[") + text.count("{") > MAX_NESTING


def _nesting(text: str) -> int:
    depth = deepest = 0
    for bracket in _BRACKET.finditer(_STRING.sub("", text)):
        depth += 1 if bracket.group() in "[{" else -1
        deepest = max(deepest, depth)
    return deepest
