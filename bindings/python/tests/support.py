"""What the tests share: bridges over either transport, scripted models, limits for waits."""

from __future__ import annotations

import asyncio
import os
import pathlib
import sys
import unittest
from collections.abc import Awaitable, Mapping
from typing import Any, TypeVar

from open_apple_models import Bridge, find_library, find_program
from open_apple_models._bridge import _live_bridges

ROOT = pathlib.Path(__file__).resolve().parents[3]
PATIENCE = 20.0

Case = TypeVar("Case", bound=type)
Value = TypeVar("Value")


def scripted(*steps: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "scripted", "steps": list(steps)}


def calls(name: str, **arguments: Any) -> dict[str, Any]:
    """A step of a script that calls a tool."""
    return {"toolCalls": [{"name": name, "arguments": arguments}]}


async def soon(work: Awaitable[Value]) -> Value:
    """Awaits what must happen, so that a test fails where it would hang."""
    return await asyncio.wait_for(work, PATIENCE)


class BridgeCase(unittest.IsolatedAsyncioTestCase):
    """A test with a bridge of its own, `self.bridge`, over the transport of its class."""

    transport = "process"

    def open_bridge(self, **options: Any) -> Bridge:
        bridge = self.new_bridge(**options)
        self.addCleanup(bridge.close)
        return bridge

    def new_bridge(self, **options: Any) -> Bridge:
        """One that nobody else holds."""
        if self.transport == "library":
            options["library"] = find_library()
        else:
            options["command"] = find_program()
        return Bridge(**options)

    def setUp(self) -> None:
        self.bridge = self.open_bridge()

    def tearDown(self) -> None:
        self.bridge.close()
        self.assertNotIn(id(self.bridge), _live_bridges)


class WaitingTool:
    """A tool that answers only when it is cancelled, and tells when it was called and when it was cancelled."""

    def __init__(self, bridge: Bridge, name: str = "wait", timeout: float | None = None) -> None:
        self.started = asyncio.Event()
        self.cancelled = asyncio.Event()
        bridge.register_tool(name, "Waits.", None, self._wait, timeout)

    async def _wait(self, _: Any) -> None:
        self.started.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.cancelled.set()


def over_both_transports(case: Case) -> Case:
    """The decorated class is run over the process, and a subclass of it over the library."""
    name = f"{case.__name__}OverLibrary"
    members = {"transport": "library", "__module__": case.__module__, "__qualname__": name}
    setattr(sys.modules[case.__module__], name, type(name, (case,), members))
    return case


def environment_of_tests() -> dict[str, str]:
    """For programs that a test starts: they import the package that is tested."""
    return {**os.environ, "PYTHONPATH": str(ROOT / "bindings" / "python")}
