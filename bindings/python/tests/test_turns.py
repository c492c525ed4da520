"""Sessions: streaming, tools, concurrency, cancelling."""

from __future__ import annotations

import asyncio
from typing import Any

from open_apple_models import BridgeError, ToolContext, ToolError

from .support import BridgeCase, WaitingTool, calls, over_both_transports, scripted, soon


@over_both_transports
class Turns(BridgeCase):
    async def test_a_text_comes_in_pieces(self) -> None:
        session = await self.bridge.create_session(model=scripted({"text": "Well met, traveller!", "chunks": 5}))
        deltas: list[str] = []
        turn = await soon(session.respond("Hello!", on_text=deltas.append))
        self.assertGreater(len(deltas), 1)
        self.assertEqual("".join(deltas), turn["text"])

    async def test_callbacks_may_be_coroutine_functions(self) -> None:
        session = await self.bridge.create_session(model=scripted({"text": "Hello there.", "chunks": 3}))
        heard: list[str] = []

        async def hear(text: str) -> None:
            heard.append(text)

        await soon(session.respond("Hi", on_text=hear))
        await asyncio.sleep(0)
        self.assertEqual("".join(heard), "Hello there.")

    async def test_a_callback_that_fails_breaks_nothing(self) -> None:
        session = await self.bridge.create_session(model=scripted({"text": "Hello there.", "chunks": 3}))
        events: list[dict[str, Any]] = []
        with self.assertLogs("open_apple_models", "ERROR"):
            turn = await soon(session.respond("Hi", on_text=lambda _: 1 / 0, on_event=events.append))
        self.assertEqual(turn["text"], "Hello there.")
        self.assertIn("text", [event["type"] for event in events])

    async def test_the_model_hears_why_a_tool_failed(self) -> None:
        def jam(_: Any) -> None:
            raise ToolError("The chain is jammed.")

        def nameless(_: Any) -> None:
            raise LookupError

        self.bridge.register_tool("jam", "Jams.", None, jam)
        self.bridge.register_tool("nameless", "Fails.", None, nameless)
        model = scripted(calls("jam"), {"template": "{toolOutput}"}, calls("nameless"), {"template": "{toolOutput}"})
        session = await self.bridge.create_session(tools=["jam", "nameless"], model=model)
        turn = await soon(session.respond("?"))
        self.assertEqual(turn["text"], "Error: The chain is jammed.")
        self.assertTrue(turn["toolCalls"][0]["isError"])
        self.assertEqual((await soon(session.respond("?")))["text"], "Error: LookupError")

    async def test_a_handler_whose_own_work_was_cancelled_still_answers(self) -> None:
        async def give_up(_: Any) -> None:
            work = asyncio.ensure_future(asyncio.sleep(60))
            work.cancel()
            await work

        self.bridge.register_tool("give_up", "Gives up.", None, give_up)
        model = scripted(calls("give_up"), {"template": "{toolOutput}"})
        session = await self.bridge.create_session(tools=["give_up"], model=model)
        self.assertEqual((await soon(session.respond("?")))["text"], "Error: The tool was cancelled.")

    async def test_a_tool_that_takes_too_long_is_cancelled(self) -> None:
        dig = WaitingTool(self.bridge, "dig", timeout=0.2)
        model = scripted(calls("dig"), {"template": "{toolOutput}"})
        session = await self.bridge.create_session(tools=["dig"], model=model)
        turn = await soon(session.respond("Dig!"))
        self.assertTrue(turn["toolCalls"][0]["isError"])
        self.assertIn("timed out", turn["text"])
        await soon(dig.cancelled.wait())

    async def test_sessions_answer_side_by_side(self) -> None:
        arrived: list[str | None] = []
        all_arrived = asyncio.Event()

        @self.bridge.tool("meet", "Waits for the others.")
        async def meet(_: Any, context: ToolContext) -> str | None:
            arrived.append(context.session)
            if len(arrived) == 3:
                all_arrived.set()
            await all_arrived.wait()
            return context.session

        model = scripted(calls("meet"), {"template": "{toolOutput}"})
        sessions = [await self.bridge.create_session(tools=["meet"], model=model) for _ in range(3)]
        turns = await soon(asyncio.gather(*(session.respond("?") for session in sessions)))
        self.assertEqual([turn["text"] for turn in turns], [session.id for session in sessions])

    async def test_a_turn_is_cancelled_and_a_models_error_arrives(self) -> None:
        wait = WaitingTool(self.bridge)
        model = scripted(calls("wait"), {"error": "guardrail_violation"})
        session = await self.bridge.create_session(tools=["wait"], model=model)
        turn = asyncio.ensure_future(session.respond("Slowly."))
        await soon(wait.started.wait())
        self.assertEqual(await soon(session.cancel()), 1)
        with self.assertRaises(BridgeError) as cancelled:
            await soon(turn)
        self.assertEqual(cancelled.exception.name, "cancelled")
        with self.assertRaises(BridgeError) as blocked:
            await soon(session.respond("War!"))
        self.assertEqual((blocked.exception.code, blocked.exception.name), (-32002, "guardrail_violation"))

    async def test_a_turn_that_nobody_waits_for_any_more_is_cancelled(self) -> None:
        wait = WaitingTool(self.bridge)
        session = await self.bridge.create_session(tools=["wait"], model=scripted(calls("wait"), {"text": "At once."}))
        turn = asyncio.ensure_future(session.respond("Slowly."))
        await soon(wait.started.wait())
        turn.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await turn
        self.assertEqual((await soon(session.respond("Now!")))["text"], "At once.")
        entries = (await session.transcript())["transcript"]["entries"]
        self.assertEqual([entry["role"] for entry in entries], ["instructions", "user", "response"])

    async def test_a_task_that_is_cancelled_in_a_stream_cancels_the_turn_while_somebody_holds_it(self) -> None:
        wait = WaitingTool(self.bridge)
        session = await self.bridge.create_session(tools=["wait"], model=scripted(calls("wait"), {"text": "At once."}))
        stream = session.stream("Slowly.")
        reader = asyncio.ensure_future(stream.__anext__())
        await soon(wait.started.wait())
        reader.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await reader
        self.assertEqual((await soon(session.respond("Now!")))["text"], "At once.")
        await stream.aclose()

    async def test_all_tasks_that_wait_for_a_stream_hear_of_its_end(self) -> None:
        session = await self.bridge.create_session(model=scripted({"text": "", "delayMs": 50}))
        stream = session.stream("?")

        async def read() -> list[str]:
            return [text async for text in stream]

        self.assertEqual(await soon(asyncio.gather(read(), read(), read())), [[], [], []])

    async def test_giving_up_on_one_turn_leaves_the_others_of_its_session_alone(self) -> None:
        model = scripted({"text": "First.", "delayMs": 200}, {"text": "Second."})
        session = await self.bridge.create_session(model=model)
        first, second = (asyncio.ensure_future(session.respond("?")) for _ in range(2))
        await asyncio.sleep(0)
        first.cancel()
        self.assertEqual((await soon(second))["text"], "Second.")

    async def test_policies_are_written_as_python_or_as_the_protocol_does(self) -> None:
        self.bridge.register_tool("ring", "Rings.", None, lambda _: "dong")
        session = await self.bridge.create_session(tools=["ring"], model=scripted(calls("ring"), {"text": "Rung."}))
        turn = await soon(session.respond("Ring!", tool_choice={"tool": "ring"}, maxToolCalls=1))
        self.assertEqual([step["toolCallingMode"] for step in turn["steps"]], ["required", "disallowed"])
        self.assertNotIn("warnings", turn)

    async def test_an_argument_that_nobody_knows_is_refused(self) -> None:
        session = await self.bridge.create_session(model=scripted({"text": "Hello."}))
        schema = {"type": "string"}
        for call in (
            lambda: session.respond("Hello!", tool_choise="none"),
            lambda: self.bridge.decide("War!", ["fight", "flee"], fallback_option_id="flee"),
            lambda: self.bridge.decide_many([], fallback="flee"),
            lambda: self.bridge.generate("A sword.", schema, max_tool_rounds=1),
        ):
            with self.assertRaisesRegex(TypeError, "There is no argument '[a-z_]+' here; there are also: "):
                await soon(call())

    async def test_a_large_message_arrives_in_both_directions(self) -> None:
        prompt = "ü" * 300_000
        session = await self.bridge.create_session(model=scripted({"template": "{prompt}", "chunks": 1}))
        self.assertEqual((await soon(session.respond(prompt)))["text"], prompt)


@over_both_transports
class Streams(BridgeCase):
    async def test_a_text_grows(self) -> None:
        session = await self.bridge.create_session(model=scripted({"text": "Well met, traveller!", "chunks": 5}))
        stream = session.stream("Hello!")
        with self.assertRaises(RuntimeError):
            _ = stream.result
        texts = [text async for text in stream]
        self.assertGreater(len(texts), 1)
        self.assertEqual(texts[-1], "Well met, traveller!")
        self.assertTrue(all(after.startswith(before) for before, after in zip(texts, texts[1:])), texts)
        self.assertEqual(stream.result["text"], "Well met, traveller!")

    async def test_the_line_of_an_npc_grows(self) -> None:
        npc = await self.bridge.create_npc(
            {"name": "Gorm"},
            options={"replyFormat": "text"},
            model=scripted({"text": "[happy] Well met!", "chunks": 3}),
        )
        stream = npc.stream("Hello!")
        lines = [line async for line in stream]
        self.assertEqual(lines[-1], "Well met!")
        self.assertEqual(stream.result["emotion"], "happy")
        self.assertTrue(all(after.startswith(before) for before, after in zip(lines, lines[1:])), lines)

    async def test_an_error_of_the_turn_is_raised_in_the_loop(self) -> None:
        session = await self.bridge.create_session(model=scripted({"error": "refusal"}))
        with self.assertRaises(BridgeError) as refused:
            async for _ in session.stream("?"):
                self.fail("nothing was said")
        self.assertEqual(refused.exception.name, "refusal")

    async def test_leaving_a_stream_cancels_its_turn(self) -> None:
        for leave in ("drop", "close"):
            with self.subTest(leave):
                wait = WaitingTool(self.bridge)
                model = scripted(calls("wait"), {"json": {"line": "Next."}})
                npc = await self.bridge.create_npc({"name": "Gorm"}, tools=["wait"], model=model)
                stream = npc.stream("Wait!")
                first = asyncio.ensure_future(stream.__anext__())
                await soon(wait.started.wait())
                first.cancel()
                await asyncio.wait([first])
                if leave == "close":
                    await stream.aclose()
                del stream, first
                self.assertEqual((await soon(npc.talk("!")))["line"], "Next.")

    async def test_a_loop_that_is_left_by_break_cancels_its_turn(self) -> None:
        steps: list[dict[str, Any]] = [{"text": "[happy] Well met, traveller!", "chunks": 4}, {"text": "[happy] Next."}]
        npc = await self.bridge.create_npc({"name": "Gorm"}, options={"replyFormat": "text"}, model=scripted(*steps))
        async for _ in npc.stream("Hello!"):
            break
        self.assertIn((await soon(npc.talk("!")))["line"], ("Next.", "Well met, traveller!"))
