"""Plays `bindings/testdata/scenes.json`; the README beside it tells what the steps mean."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable
from typing import Any

from open_apple_models import NPC, Bridge, BridgeError, Session, ToolContext, ToolError, World

from .support import ROOT, BridgeCase, over_both_transports, soon

SCENES = json.loads((ROOT / "bindings" / "testdata" / "scenes.json").read_text(encoding="utf-8"))["scenes"]


def difference(expected: Any, actual: Any, where: str = "it") -> str | None:
    """What of `expected` does not hold for `actual`, None if all of it does."""
    if isinstance(expected, dict) and "$contains" in expected:
        holds = isinstance(actual, str) and expected["$contains"].lower() in actual.lower()
        return None if holds else f"{where} is {actual!r} and does not contain {expected['$contains']!r}"
    if isinstance(expected, dict) and "$keys" in expected:
        holds = isinstance(actual, dict) and list(actual) == expected["$keys"]
        return None if holds else f"{where} is {actual!r} and has not the keys {expected['$keys']!r}"
    if isinstance(expected, dict):
        if not isinstance(actual, dict):
            return f"{where} is {actual!r} and no object"
        return first(member(expected[name], actual, name, where) for name in expected)
    if isinstance(expected, list):
        if not isinstance(actual, list) or len(actual) != len(expected):
            return f"{where} is {actual!r} and has not {len(expected)} items"
        return first(difference(e, a, f"{where}[{n}]") for n, (e, a) in enumerate(zip(expected, actual)))
    same = expected == actual and isinstance(expected, bool) == isinstance(actual, bool)
    return None if same else f"{where} is {actual!r} and not {expected!r}"


def member(expected: Any, actual: dict[str, Any], name: str, where: str) -> str | None:
    if expected == {"$absent": True}:
        return f"{where} has {name}" if name in actual else None
    return difference(expected, actual[name], f"{where}.{name}") if name in actual else f"{where} has no {name}"


def first(differences: Any) -> str | None:
    return next((each for each in differences if each is not None), None)


def snake_case(arguments: dict[str, Any]) -> dict[str, Any]:
    return {
        re.sub("([A-Z])", lambda capital: f"_{capital[1].lower()}", name): value for name, value in arguments.items()
    }


class Shown:
    """What the callbacks of a streamed turn got."""

    def __init__(self) -> None:
        self.text = ""
        self.emotions: list[str] = []
        self.events: list[str] = []

    def of_session(self) -> dict[str, Any]:
        return {"on_text": self._add_text, "on_event": self._add_event}

    def of_npc(self) -> dict[str, Any]:
        return {"on_line": self._set_line, "on_emotion": self.emotions.append, "on_event": self._add_event}

    def _add_text(self, text: str) -> None:
        self.text += text

    def _set_line(self, line: str) -> None:
        self.text = line

    def _add_event(self, event: dict[str, Any]) -> None:
        self.events.append(event["type"])
        if event.get("isReset"):
            self.text = ""


class Player:
    """Plays one scene on a bridge."""

    def __init__(self, bridge: Bridge, scene: dict[str, Any]) -> None:
        self.bridge = bridge
        self.saved: dict[str, Any] = {}
        self.started: dict[str, tuple[asyncio.Task[Any], Shown]] = {}
        self.changes: dict[str, list[Any]] = {}
        self.subscriptions: dict[str, str] = {}
        self.handled: list[dict[str, Any]] = []
        self.cancelled: list[str] = []
        self.news = asyncio.Condition()
        self.raw_tools: dict[str, dict[str, Any]] = {}
        for tool in scene.get("tools", []):
            self.add_tool(tool)

    def add_tool(self, tool: dict[str, Any]) -> None:
        if not tool.get("registered", True):
            self.raw_tools[tool["name"]] = {name: tool[name] for name in ("name", "description", "parameters")}
            return

        async def handler(arguments: dict[str, Any], context: ToolContext) -> Any:
            owner = {"session": context.session, "npc": context.npc}
            await self.tell(self.handled, {"tool": context.name, "arguments": arguments, **owner})
            if "failure" in tool["answer"]:
                raise ToolError(tool["answer"]["failure"])
            if "never" in tool["answer"]:
                try:
                    await asyncio.Event().wait()
                finally:
                    await self.tell(self.cancelled, context.name)
            return tool["answer"]["output"]

        self.bridge.register_tool(
            tool["name"], tool["description"], tool["parameters"], handler, timeout=tool.get("timeoutSeconds")
        )

    async def tell(self, of: list[Any], what: Any) -> None:
        of.append(what)
        async with self.news:
            self.news.notify_all()

    async def wait_until(self, holds: Callable[[], bool]) -> None:
        async with self.news:
            await self.news.wait_for(holds)

    def filled_in(self, value: Any) -> Any:
        if isinstance(value, dict):
            saved = value.get("$saved")
            return self.saved[saved] if saved else {name: self.filled_in(each) for name, each in value.items()}
        return [self.filled_in(each) for each in value] if isinstance(value, list) else value

    def arguments(self, step: dict[str, Any]) -> dict[str, Any]:
        arguments = snake_case(self.filled_in(step.get("arguments", {})))
        if "tools" in arguments:
            arguments["tools"] = [self.raw_tools.get(name, name) for name in arguments["tools"]]
        if "fallback_option_i_d" in arguments:
            arguments["fallback"] = arguments.pop("fallback_option_i_d")
        return arguments

    async def play(self, step: dict[str, Any]) -> str | None:
        """What went otherwise than expected."""
        shown = Shown()
        if "start" in step:
            task = asyncio.ensure_future(self.perform(step, shown))
            self.started[step["start"]] = task, shown
            await asyncio.sleep(0)  # The request is sent now.
            return None
        work: Awaitable[Any]
        if step["do"] == "finish":
            work, shown = self.started.pop(step["what"])
        else:
            work = self.perform(step, shown)
        try:
            result = await soon(work)
        except BridgeError as error:
            actual = {"code": error.code, "name": error.name, "message": error.message}
            return difference(step.get("error"), actual, "the error")
        if "error" in step:
            return f"it gave {result!r} and no error"
        if "save" in step:
            self.saved[step["save"]] = result
        problem = difference(step["result"], result) if "result" in step else None
        return problem or difference_shown(step, shown)

    async def perform(self, step: dict[str, Any], shown: Shown) -> Any:
        do, arguments = step["do"], self.arguments(step)
        streams = bool(step.get("stream"))
        if do in BRIDGE_STEPS:
            return described(await getattr(self.bridge, BRIDGE_STEPS[do])(**arguments))
        if do in SESSION_STEPS:
            session = self.bridge.session(step["session"])
            callbacks = shown.of_session() if streams else {}
            if "instructions" in arguments:
                arguments["text"] = arguments.pop("instructions")
            return await getattr(session, SESSION_STEPS[do])(**arguments, **callbacks)
        if do in NPC_STEPS:
            callbacks = shown.of_npc() if streams else {}
            return await getattr(self.bridge.npc(step["npc"]), NPC_STEPS[do])(**arguments, **callbacks)
        if do in WORLD_STEPS:
            return await getattr(self.bridge.world(step["world"]), WORLD_STEPS[do])(**arguments)
        return await getattr(self, f"do_{do}")(step, arguments)

    async def do_request(self, step: dict[str, Any], _: Any) -> Any:
        return await self.bridge.request(step["method"], self.filled_in(step.get("params")))

    async def do_callBlocking(self, step: dict[str, Any], _: Any) -> Any:
        params = self.filled_in(step.get("params"))
        return await asyncio.get_running_loop().run_in_executor(
            None, self.bridge.call_blocking, step["method"], params, step["timeoutSeconds"]
        )

    async def do_subscribe(self, step: dict[str, Any], arguments: dict[str, Any]) -> None:
        name = step["as"]
        changes = self.changes[name] = []
        self.subscriptions[name] = await self.bridge.world(step["world"]).subscribe(changes.append, **arguments)

    async def do_unsubscribe(self, step: dict[str, Any], _: Any) -> None:
        await self.bridge.world(step["world"]).unsubscribe(self.subscriptions[step["as"]])

    async def do_changes(self, step: dict[str, Any], _: Any) -> None:
        problem = difference(step["changes"], self.changes[step["as"]], "changes")
        assert problem is None, problem

    async def do_handled(self, step: dict[str, Any], _: Any) -> None:
        if step.get("wait"):
            await self.wait_until(lambda: len(self.handled) >= len(step["calls"]))
        problem = difference(step["calls"], self.handled, "handled")
        assert problem is None, problem

    async def do_cancelled(self, step: dict[str, Any], _: Any) -> None:
        await self.wait_until(lambda: self.cancelled.count(step["tool"]) >= step["count"])
        assert self.cancelled.count(step["tool"]) == step["count"], self.cancelled


def difference_shown(step: dict[str, Any], shown: Shown) -> str | None:
    for name, actual in (("shown", shown.text), ("emotions", shown.emotions)):
        problem = difference(step[name], actual, name) if name in step else None
        if problem is not None:
            return problem
    remaining = iter(shown.events)
    missing = [event for event in step.get("events", []) if event not in remaining]
    return f"events are {shown.events!r}, without {missing!r} in their order" if missing else None


def described(made: Any) -> Any:
    """The properties of a handle, by the names of the protocol."""
    if isinstance(made, Session):
        return {"session": made.id, "warnings": made.warnings}
    if isinstance(made, NPC):
        return {"npc": made.id, "tools": made.tools, "warnings": made.warnings}
    if isinstance(made, World):
        return {"world": made.id}
    return made


BRIDGE_STEPS = {
    "createSession": "create_session",
    "createNpc": "create_npc",
    "createWorld": "create_world",
    "restoreNpc": "restore_npc",
    "decide": "decide",
    "decideMany": "decide_many",
    "generate": "generate",
}
SESSION_STEPS = {
    "respond": "respond",
    "transcript": "transcript",
    "resetSession": "reset",
    "deleteSession": "delete",
    "setInstructions": "set_instructions",
    "setContextNote": "set_context_note",
    "setTools": "set_tools",
    "cancelSession": "cancel",
    "compact": "compact",
}
NPC_STEPS = {
    "talk": "talk",
    "bark": "bark",
    "npcState": "state",
    "updateNpc": "update",
    "resetNpc": "reset",
    "deleteNpc": "delete",
    "cancelNpc": "cancel",
}
WORLD_STEPS = {
    "get": "get",
    "set": "set",
    "merge": "merge",
    "remove": "remove",
    "snapshot": "snapshot",
    "deleteWorld": "delete",
}


@over_both_transports
class Scenes(BridgeCase):
    async def test_every_scene_plays_as_it_is_written(self) -> None:
        for scene in SCENES:
            with self.subTest(scene["name"]), self.open_bridge() as bridge:
                player = Player(bridge, scene)
                for number, step in enumerate(scene["steps"], 1):
                    problem = await player.play(step)
                    self.assertIsNone(problem, f"step {number}, {step['do']}")
