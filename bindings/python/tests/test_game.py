"""Characters, decisions, content and worlds, where the scenes do not tell it."""

from __future__ import annotations

import asyncio
from typing import Any
from unittest import mock

from open_apple_models import BridgeError

from .support import BridgeCase, calls, over_both_transports, scripted, soon


@over_both_transports
class Characters(BridgeCase):
    async def test_decisions_of_a_crowd_may_name_tools(self) -> None:
        self.bridge.register_tool("look", "Looks.", None, lambda _: "a wolf")
        model = scripted(calls("look"), {"json": {"choice": "flee"}})
        request = {"situation": "?", "options": ["stay", "flee"], "tools": ["look"]}
        (decision,) = await soon(self.bridge.decide_many([request], model=model))
        self.assertEqual(decision["toolCalls"][0]["output"], "a wolf")

    async def test_restoring_keeps_what_is_not_named_and_drops_what_is_none(self) -> None:
        self.bridge.register_tool("ring", "Rings.", None, lambda _: "dong")
        world = await self.bridge.create_world(world="village")
        model = scripted()
        npc = await self.bridge.create_npc({"name": "Gorm"}, tools=["ring"], world=world, model=model, npc="gorm")
        state = await soon(npc.state())
        kept = await self.bridge.restore_npc(state, npc="kept", model=model)
        self.assertIn("ring", kept.tools)
        self.assertEqual((await kept.state())["world"], "village")
        bare = await self.bridge.restore_npc(state, npc="bare", tools=None, world=None, options=None, model=model)
        self.assertEqual(bare.tools, [])
        self.assertIsNone((await bare.state())["world"])

    async def test_a_handle_names_what_may_not_be_there(self) -> None:
        with self.assertRaises(BridgeError) as nobody:
            await soon(self.bridge.npc("nobody").talk("Hello?"))
        self.assertEqual(nobody.exception.name, "npc_not_found")
        with self.assertRaises(BridgeError) as nowhere:
            await soon(self.bridge.world("nowhere").get())
        self.assertEqual(nowhere.exception.name, "world_not_found")

    async def test_handles_lists_and_the_model_are_to_be_had(self) -> None:
        await self.bridge.create_session(session="guard", model=scripted({"text": "Who goes there?"}))
        await self.bridge.create_npc({"name": "Gorm"}, npc="gorm", model=scripted())
        self.assertEqual((await soon(self.bridge.session("guard").respond("Hello?")))["text"], "Who goes there?")
        self.assertEqual([each["session"] for each in await self.bridge.list_sessions()], ["guard"])
        self.assertEqual([each["npc"] for each in await self.bridge.list_npcs()], ["gorm"])
        self.assertIsInstance((await self.bridge.model_availability())["available"], bool)

    async def test_an_npc_decides(self) -> None:
        npc = await self.bridge.create_npc({"name": "Snik"}, model=scripted())
        choice = {"json": {"reasoning": "Timid.", "choice": "flee", "confidence": 80}}
        decision = await soon(self.bridge.decide("A knight!", ["fight", "flee"], actor=npc, model=scripted(choice)))
        self.assertEqual((decision["optionID"], decision["confidence"], decision["isFallback"]), ("flee", 80, False))


@over_both_transports
class Worlds(BridgeCase):
    async def test_get_gives_a_default_where_nothing_is(self) -> None:
        world = await self.bridge.create_world({"nothing": None})
        self.assertIsNone(await world.get("absent"))
        self.assertEqual(await world.get("absent", default=5), 5)
        self.assertIsNone(await world.get("nothing", default=5))

    async def test_a_change_reaches_its_subscriber_before_the_response_of_the_change(self) -> None:
        world = await self.bridge.create_world()
        changes: list[Any] = []
        subscription = await world.subscribe(changes.append, "gold")
        await world.set("gold", 1)
        self.assertEqual([change["newValue"] for change in changes], [1])
        await world.unsubscribe(subscription)
        await world.set("gold", 2)
        self.assertEqual(len(changes), 1)

    async def test_a_change_right_behind_the_subscription_is_not_lost(self) -> None:
        world = await self.bridge.create_world()
        changes: list[Any] = []
        subscribing = world.subscribe(changes.append)
        await soon(asyncio.gather(subscribing, world.set("a", 1)))
        self.assertEqual(len(changes), 1)

    async def test_worlds_are_listed(self) -> None:
        await self.bridge.create_world(world="village")
        self.assertEqual([world["world"] for world in await self.bridge.list_worlds()], ["village"])


@over_both_transports
class Tools(BridgeCase):
    async def test_names_and_definitions_may_be_mixed(self) -> None:
        self.bridge.register_tool("ring", "Rings.", None, lambda _: "dong", timeout=5)
        raw = {"name": "raw", "description": "As it is."}
        expected = {
            "name": "ring",
            "description": "Rings.",
            "parameters": {"type": "object", "properties": {}},
            "timeoutSeconds": 5,
        }
        self.assertEqual(self.bridge.tool_definitions(["ring", raw]), [expected, raw])
        self.assertEqual(self.bridge.tool_definitions(), [expected])
        with self.assertRaisesRegex(KeyError, "unknown.*ring"):
            self.bridge.tool_definitions(["unknown"])
        with self.assertRaises(TypeError):
            self.bridge.tool_definitions("ring")

    async def test_a_second_parameter_gets_the_context(self) -> None:
        handlers: dict[str, Any] = {
            "one": lambda arguments: "arguments",
            "two": lambda arguments, about: about.name,
            "own": lambda arguments, mine="mine": mine,
            "optional": lambda arguments, context=None: context.name,
        }
        for name, handler in handlers.items():
            self.bridge.register_tool(name, "Tells.", None, handler)
        model = scripted(*(calls(name) for name in handlers), {"template": "{toolOutputs}"})
        session = await self.bridge.create_session(tools=list(handlers), options={"maxToolRounds": 4}, model=model)
        self.assertEqual((await soon(session.respond("?")))["text"], "arguments\ntwo\nmine\noptional")

    async def test_a_request_that_is_no_tool_call_is_refused(self) -> None:
        refused: list[bytes] = []
        with mock.patch.object(self.bridge._transport, "send", refused.append):
            self.bridge._dispatcher.received({"jsonrpc": "2.0", "id": "t-9", "method": "game/pause"})
        self.assertIn(b'"code":-32601', refused[0])
