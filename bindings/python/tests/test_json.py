"""What Python values are as JSON, and which are refused."""

from __future__ import annotations

import collections
import datetime
import decimal
import enum
import importlib
import importlib.util
import types
import unittest
from typing import Any

from open_apple_models import _json

from .support import BridgeCase, over_both_transports, scripted, soon


class Metal(enum.Enum):
    IRON = "iron"


class Rank(enum.IntEnum):
    MASTER = 3


CONVERTED: list[tuple[Any, str]] = [
    ({"iron"}, '["iron"]'),
    (frozenset({1}), "[1]"),
    (decimal.Decimal("1.5"), "1.5"),
    (decimal.Decimal("3.00"), "3"),
    (Metal.IRON, '"iron"'),
    (Rank.MASTER, "3"),
    (datetime.date(2027, 1, 2), '"2027-01-02"'),
    (datetime.datetime(2027, 1, 2, 3, 4, 5), '"2027-01-02T03:04:05"'),
    (datetime.time(3, 4), '"03:04:00"'),
    (b"gr\xc3\xbcn", '"grün"'),
    (bytearray(b"x"), '"x"'),
    (types.MappingProxyType({"a": 1}), '{"a":1}'),
    (collections.deque([1, 2]), "[1,2]"),
    ((n for n in range(3)), "[0,1,2]"),
    ((1, None, True), "[1,null,true]"),
    ({1: "one"}, '{"1":"one"}'),
    ("\u2028\x00", '"\u2028\\u0000"'),
]

REFUSED: list[tuple[Any, type[Exception]]] = [
    (float("nan"), ValueError),
    (float("inf"), ValueError),
    ([{"deep": float("-inf")}], ValueError),
    (decimal.Decimal("NaN"), ValueError),
    (decimal.Decimal("1e400"), ValueError),
    ("\ud800", ValueError),
    (b"\xff", ValueError),
    (object(), TypeError),
    ({"set": {object()}}, TypeError),
    ({(1, 2): 3}, TypeError),
]


def nested(levels: int) -> Any:
    value: Any = "]"
    for _ in range(levels):
        value = [value]
    return value


class Encoding(unittest.TestCase):
    def test_values_are_converted(self) -> None:
        for value, text in CONVERTED:
            with self.subTest(text):
                self.assertEqual(_json.encode(value).decode(), text)

    def test_what_json_cannot_say_is_refused(self) -> None:
        for value, error in REFUSED:
            with self.subTest(repr(value)), self.assertRaises(error):
                _json.encode(value)

    def test_what_would_not_be_read_is_refused(self) -> None:
        circle: list[Any] = []
        circle.append(circle)
        for name, value in (
            ("circle", circle),
            ("nesting", nested(101)),
            ("depths", nested(100_000)),
            ("length", "x" * 2**26),
        ):
            with self.subTest(name), self.assertRaises(ValueError):
                _json.encode(value)
        self.assertEqual(_json.encode(nested(100)), b"[" * 100 + b'"]"' + b"]" * 100)
        self.assertEqual(_json.encode([["[{"] * 99]).count(b"[{"), 99)


@over_both_transports
class Values(BridgeCase):
    async def test_a_tool_may_return_more_than_json(self) -> None:
        values: dict[str, Any] = {
            "stock": {"metals": {"iron"}, "price": decimal.Decimal("1.5"), "count": decimal.Decimal(3)},
            "broken": float("nan"),
            "thing": object(),
            "items": (n for n in range(2)),
            "nothing": None,
        }
        for name, value in values.items():
            self.bridge.register_tool(name, "Gives.", None, lambda _, value=value: value)
        model = scripted({"toolCalls": [{"name": name} for name in values]}, {"text": "Done."})
        session = await self.bridge.create_session(tools=list(values), options={"maxToolCalls": 9}, model=model)
        records = (await soon(session.respond("?")))["toolCalls"]
        outputs = {record["call"]["name"]: (record["output"], record["isError"]) for record in records}
        self.assertEqual(outputs["stock"], ({"metals": ["iron"], "price": 1.5, "count": 3}, False))
        self.assertEqual(outputs["items"], ([0, 1], False))
        self.assertEqual(outputs["nothing"], ("", False))
        for name in ("broken", "thing"):
            text, is_error = outputs[name]
            self.assertTrue(is_error)
            self.assertIn("JSON", text)

    async def test_params_that_are_not_json_are_refused_before_anything_is_sent(self) -> None:
        for value, error in ((float("inf"), ValueError), (object(), TypeError), (nested(101), ValueError)):
            with self.assertRaises(error):
                await self.bridge.request("ping", {"value": value})
            with self.assertRaises(error):
                self.bridge.call_blocking("ping", {"value": value})
            with self.assertRaises(error):
                self.bridge.notify("ping", {"value": value})
        self.assertEqual(self.bridge._dispatcher._pending, {})
        self.assertEqual(await soon(self.bridge.request("ping")), {})

    @unittest.skipUnless(importlib.util.find_spec("numpy"), "numpy is not installed")
    async def test_numbers_of_numpy_arrive_as_numbers(self) -> None:
        numpy = importlib.import_module("numpy")
        state = {"count": numpy.int64(7), "list": numpy.arange(3), "half": numpy.float32(0.5), "yes": numpy.bool_(True)}
        world = await self.bridge.create_world(state)
        self.assertEqual(await world.snapshot(), {"count": 7, "list": [0, 1, 2], "half": 0.5, "yes": True})
