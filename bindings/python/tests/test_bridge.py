"""The bridge itself: blocking calls, event loops, closing, what is left behind."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import math
import os
import signal
import subprocess
import sys
import threading
import time
import unittest
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from unittest import mock

from open_apple_models import BridgeError, ToolContext, find_library, find_program
from open_apple_models._bridge import _live_bridges
from open_apple_models._library import LibraryTransport

from .support import (
    PATIENCE,
    BridgeCase,
    WaitingTool,
    calls,
    environment_of_tests,
    over_both_transports,
    scripted,
    soon,
)


@over_both_transports
class BlockingCalls(BridgeCase):
    def test_version_and_ping(self) -> None:
        self.assertRegex(self.bridge.version, r"^\d+\.\d+\.\d+$")
        self.assertEqual(self.bridge.call_blocking("ping"), {})

    def test_errors_have_a_code_and_a_name(self) -> None:
        with self.assertRaises(BridgeError) as failed:
            self.bridge.call_blocking("no/such")
        self.assertEqual((failed.exception.code, failed.exception.name), (-32601, "method_not_found"))
        self.assertIn("method_not_found", str(failed.exception))

    def test_a_call_ends_at_its_time_limit_and_leaves_no_trace(self) -> None:
        model = scripted({"text": "Late.", "delayMs": 60_000}, {"text": "In time."})
        session = self.bridge.call_blocking("session/create", {"model": model})["session"]
        begun = time.monotonic()
        with self.assertRaises(BridgeError) as late:
            self.bridge.call_blocking("session/respond", {"session": session, "prompt": "?"}, timeout=0.2)
        self.assertLess(time.monotonic() - begun, 2)
        self.assertEqual((late.exception.code, late.exception.name), (-32024, "timeout"))
        self.assertIn("session/respond", late.exception.message)
        turn = self.bridge.call_blocking("session/respond", {"session": session, "prompt": "!"})
        self.assertEqual(turn["text"], "In time.")

    def test_a_call_has_no_time_limit_if_it_wants_none(self) -> None:
        for unlimited in (None, 0, -1, math.inf, 1e300):
            self.assertEqual(self.bridge.call_blocking("ping", timeout=unlimited), {})
        with self.assertRaisesRegex(ValueError, "'timeout' is NaN"):
            self.bridge.call_blocking("ping", timeout=math.nan)

    def test_a_call_after_close_is_refused(self) -> None:
        self.bridge.close()
        with self.assertRaises(BridgeError) as closed:
            self.bridge.call_blocking("ping")
        self.assertEqual(closed.exception.name, "shut_down")

    def test_events_of_a_call_belong_to_it(self) -> None:
        events: list[dict[str, Any]] = []
        self.bridge.on_notification("session/event", events.append)
        session = self.bridge.call_blocking("session/create", {"model": scripted({"text": "Aye, lad.", "chunks": 4})})
        params = {"session": session["session"], "prompt": "?", "stream": True}
        self.assertEqual(self.bridge.call_blocking("session/respond", params)["text"], "Aye, lad.")
        self.assertGreater(len(events), 1)
        (request_id,) = {event["requestId"] for event in events}
        self.assertTrue(request_id.startswith("py-"))

    def test_tools_run_without_an_event_loop(self) -> None:
        async def count(arguments: dict[str, Any], context: ToolContext) -> int:
            await asyncio.sleep(0)
            return len(context.name) + int(arguments["more"])

        self.bridge.register_tool(
            "count", "Counts.", {"type": "object", "properties": {"more": {"type": "integer"}}}, count
        )
        model = scripted(calls("count", more=2), {"template": "{toolOutput}"})
        params = {"model": model, "tools": self.bridge.tool_definitions()}
        session = self.bridge.call_blocking("session/create", params)["session"]
        turn = self.bridge.call_blocking("session/respond", {"session": session, "prompt": "?"})
        self.assertEqual(turn["text"], "7")

    def test_tools_run_on_threads_when_the_event_loop_has_stopped(self) -> None:
        loop = asyncio.new_event_loop()
        self.addCleanup(loop.close)
        self.bridge.register_tool("ring", "Rings.", None, lambda _: "dong")
        model = scripted(calls("ring"), {"template": "{toolOutput}"}, calls("ring"), {"template": "{toolOutput}"})
        session = loop.run_until_complete(soon(self.bridge.create_session(tools=["ring"], model=model)))
        params = {"session": session.id, "prompt": "?"}
        self.assertEqual(self.bridge.call_blocking("session/respond", params, timeout=PATIENCE)["text"], "dong")
        self.assertEqual(loop.run_until_complete(soon(session.respond("!")))["text"], "dong")

    def test_a_handler_that_raises_what_ends_threads_ends_nothing(self) -> None:
        class EndOfThread(BaseException):
            pass

        for error in (EndOfThread, SystemExit, KeyboardInterrupt, asyncio.CancelledError):
            with self.subTest(error), self.assertLogs("open_apple_models", "ERROR"):

                def fail(_: Any, error: type[BaseException] = error) -> None:
                    raise error

                self.bridge.on_notification("session/event", fail)
                session = self.bridge.call_blocking("session/create", {"model": scripted({"text": "Aye."})})["session"]
                params = {"session": session, "prompt": "?", "stream": True}
                turn = self.bridge.call_blocking("session/respond", params, timeout=PATIENCE)
                self.assertEqual(turn["text"], "Aye.")

    def test_a_handler_that_would_wait_for_itself_is_told_so(self) -> None:
        raised: list[Exception] = []

        def handler(_: Any) -> None:
            try:
                self.bridge.call_blocking("ping")
            except Exception as error:
                raised.append(error)

        self.bridge.on_notification("world/changed", handler)
        self.bridge.call_blocking("world/create", {"world": "w"})
        self.bridge.call_blocking("world/subscribe", {"world": "w"})
        self.bridge.call_blocking("world/set", {"world": "w", "path": "a", "value": 1})
        self.assertIsInstance(raised[0], RuntimeError)

    @unittest.skipUnless(hasattr(signal, "pthread_kill"), "a test cannot press Ctrl-C here")
    def test_ctrl_c_ends_the_wait(self) -> None:
        # What a shell starts in the background ignores it.
        self.addCleanup(signal.signal, signal.SIGINT, signal.signal(signal.SIGINT, signal.default_int_handler))
        model = scripted({"text": "Late.", "delayMs": 60_000})
        session = self.bridge.call_blocking("session/create", {"model": model})["session"]
        params = {"session": session, "prompt": "?", "stream": True}
        self.bridge.on_notification("session/event", lambda _: os.kill(os.getpid(), signal.SIGINT))
        with self.assertRaises(KeyboardInterrupt):
            self.bridge.call_blocking("session/respond", params)

    def test_many_threads_call_at_once(self) -> None:
        with ThreadPoolExecutor(8) as threads:
            worlds = list(
                threads.map(lambda n: self.bridge.call_blocking("world/create", {"world": f"w{n}"}), range(40))
            )
        self.assertEqual([world["world"] for world in worlds], [f"w{n}" for n in range(40)])


class Mistakes(BridgeCase):
    def test_what_is_no_function_is_refused_at_once(self) -> None:
        mistakes: list[Any] = [None, "ring", {}]
        for mistake in mistakes:
            with self.assertRaisesRegex(TypeError, "'ring' is a function"):
                self.bridge.register_tool("ring", "Rings.", None, mistake)
            with self.assertRaisesRegex(TypeError, "'world/changed' is a function"):
                self.bridge.on_notification("world/changed", mistake)

    def test_names_of_tools_are_text(self) -> None:
        names: list[Any] = [None, 5, []]
        for name in names:
            with self.assertRaisesRegex(TypeError, "The name of a tool is text"):
                self.bridge.register_tool(name, "Rings.", None, len)
            with self.assertRaisesRegex(KeyError, "Registered: none"):
                self.bridge.tool_definitions([name])
        with self.assertRaisesRegex(TypeError, "'tools' is a list"):
            self.bridge.tool_definitions(5)  # type: ignore[arg-type]

    def test_a_loop_is_one(self) -> None:
        with self.assertRaisesRegex(TypeError, "'loop'"):
            self.open_bridge(loop="uvloop")


@over_both_transports
class SettingsOfABridge(BridgeCase):
    def test_settings_hold(self) -> None:
        bridge = self.open_bridge(settings={"maxSessions": 1, "scriptedModels": False})
        with self.assertRaises(BridgeError) as refused:
            bridge.call_blocking("session/create", {"model": "scripted"})
        self.assertEqual(refused.exception.name, "invalid_params")
        bridge.call_blocking("session/create")
        with self.assertRaises(BridgeError) as too_many:
            bridge.call_blocking("session/create")
        self.assertEqual(too_many.exception.name, "session_limit")

    def test_a_name_that_is_no_setting_is_refused(self) -> None:
        with self.assertRaisesRegex(ValueError, "colour.*workers"):
            self.open_bridge(settings={"colour": "red"})

    def test_a_setting_that_cannot_be_used_is_told_by_the_first_request(self) -> None:
        log = contextlib.nullcontext() if self.transport == "library" else self.assertLogs("open_apple_models")
        with log, self.assertRaisesRegex(BridgeError, "workers"):
            self.open_bridge(settings={"workers": "many"}).call_blocking("ping")

    def test_a_worker_that_is_no_list_of_texts_is_refused(self) -> None:
        for worker in ("oam worker", b"oam", [5]):
            with self.assertRaisesRegex(ValueError, "'settings.worker' is a list of texts"):
                self.open_bridge(settings={"worker": worker})

    def test_a_worker_process_is_named(self) -> None:
        bridge = self.open_bridge(settings={"worker": [str(find_program()), "worker", "scripted"], "spare": False})
        self.assertEqual(bridge.call_blocking("supervisor/status")["workers"][0]["worker"], "w1")


@over_both_transports
class Loops(BridgeCase):
    def test_a_bridge_serves_one_loop_after_the_other(self) -> None:
        for _ in range(2):
            self.assertEqual(asyncio.run(soon(self.bridge.request("ping"))), {})

    async def test_a_second_running_loop_is_refused(self) -> None:
        await soon(self.bridge.request("ping"))
        other = asyncio.get_running_loop().run_in_executor(None, asyncio.run, self.bridge.request("ping"))
        with self.assertRaises(RuntimeError):
            await soon(other)

    def test_another_loop_has_to_wait_for_what_is_pending(self) -> None:
        loop = asyncio.new_event_loop()
        self.addCleanup(loop.close)
        session = loop.run_until_complete(self.bridge.create_session(model=scripted({"text": "A", "delayMs": 100})))
        turn = loop.create_task(session.respond("?"))
        loop.run_until_complete(asyncio.sleep(0))
        with self.assertRaises(RuntimeError):
            asyncio.run(self.bridge.request("ping"))
        self.assertEqual(loop.run_until_complete(soon(turn))["text"], "A")
        self.assertEqual(asyncio.run(soon(self.bridge.request("ping"))), {})

    def test_tools_that_a_loop_leaves_behind_hold_up_no_turn(self) -> None:
        async def begin() -> None:
            wait = WaitingTool(self.bridge)
            model = {**scripted(calls("wait")), "fallback": {"text": "Next."}}
            session = await self.bridge.create_session(session="s", tools=["wait"], model=model)
            turn = asyncio.ensure_future(session.respond("?"))
            await soon(wait.started.wait())
            self.assertFalse(turn.done())

        asyncio.run(begin())
        turn = self.bridge.call_blocking("session/respond", {"session": "s", "prompt": "!"}, timeout=PATIENCE)
        self.assertEqual(turn["text"], "Next.")


@over_both_transports
class Closing(BridgeCase):
    def test_a_blocking_call_in_flight_is_cancelled(self) -> None:
        session = self.bridge.call_blocking("session/create", {"model": scripted({"text": "Late.", "delayMs": 5000})})
        params = {"session": session["session"], "prompt": "?", "stream": True}
        started = threading.Event()
        self.bridge.on_notification("session/event", lambda _: started.set())
        with ThreadPoolExecutor(1) as thread:
            call = thread.submit(self.bridge.call_blocking, "session/respond", params, 20)
            self.assertTrue(started.wait(PATIENCE))
            begun = time.monotonic()
            self.bridge.close()
            with self.assertRaises(BridgeError) as cancelled:
                call.result(PATIENCE)
            self.assertLess(time.monotonic() - begun, 2)
        self.assertEqual(cancelled.exception.name, "cancelled")

    async def test_what_is_pending_fails_and_nothing_is_taken_afterwards(self) -> None:
        session = await self.bridge.create_session(model=scripted({"text": "Late.", "delayMs": 60_000}))
        turn = asyncio.ensure_future(session.respond("?"))
        await asyncio.sleep(0)
        self.bridge.close()
        with self.assertRaises(BridgeError) as closed:
            await soon(turn)
        self.assertEqual((closed.exception.code, closed.exception.name), (-32023, "shut_down"))
        for late in (self.bridge.request("ping"), session.cancel()):
            with self.assertRaises(BridgeError):
                await soon(late)
        with self.assertRaises(BridgeError):
            self.bridge.notify("ping")
        self.assertFalse(self.bridge.is_open)

    async def test_tools_that_run_are_cancelled(self) -> None:
        wait = WaitingTool(self.bridge)
        session = await self.bridge.create_session(tools=["wait"], model=scripted(calls("wait")))
        turn = asyncio.ensure_future(session.respond("?"))
        await soon(wait.started.wait())
        async with self.bridge:
            pass
        await soon(wait.cancelled.wait())
        with self.assertRaises(BridgeError):
            await soon(turn)

    async def test_a_handler_may_close_the_bridge(self) -> None:
        self.bridge.on_notification("world/changed", lambda _: self.bridge.close())
        world = await self.bridge.create_world()
        await world.subscribe(lambda _: None)
        with self.assertRaises(BridgeError):
            await soon(world.set("a", 1))

    def test_a_handler_may_close_the_bridge_without_a_loop(self) -> None:
        self.bridge.on_notification("world/changed", lambda _: self.bridge.close())
        self.bridge.call_blocking("world/create", {"world": "w"})
        self.bridge.call_blocking("world/subscribe", {"world": "w"})
        try:
            self.bridge.call_blocking("world/set", {"world": "w", "path": "a", "value": 1}, timeout=PATIENCE)
        except BridgeError as error:
            self.assertIn(error.name, ("shut_down", "cancelled"))
        self.assertFalse(self.bridge.is_open)

    async def test_a_request_while_another_thread_closes_is_refused(self) -> None:
        close, closing, may_close = self.bridge._transport.close, threading.Event(), threading.Event()

        def close_slowly() -> None:
            closing.set()
            may_close.wait(PATIENCE)
            close()

        with mock.patch.object(self.bridge._transport, "close", close_slowly), ThreadPoolExecutor(1) as thread:
            closed = thread.submit(self.bridge.close)
            self.assertTrue(closing.wait(PATIENCE))
            with self.assertRaises(BridgeError) as refused:
                await soon(self.bridge.request("ping"))
            may_close.set()
            closed.result(PATIENCE)
        self.assertEqual(refused.exception.name, "shut_down")

    def test_a_handler_that_does_not_return_holds_up_closing_for_a_time_only(self) -> None:
        entered, may_return = threading.Event(), threading.Event()
        self.addCleanup(may_return.set)

        def wait(_: Any) -> None:
            entered.set()
            may_return.wait(PATIENCE * 2)

        self.bridge.on_notification("world/changed", wait)
        self.bridge.call_blocking("world/create", {"world": "w"})
        self.bridge.call_blocking("world/subscribe", {"world": "w"})
        self.bridge.notify("world/set", {"world": "w", "path": "a", "value": 1})
        self.assertTrue(entered.wait(PATIENCE))
        with (
            mock.patch("open_apple_models._library.CLOSING_SECONDS", 0.1),
            mock.patch("open_apple_models._process.CLOSING_SECONDS", (0.1, 0.1)),
            ThreadPoolExecutor(1) as thread,
        ):
            thread.submit(self.bridge.close).result(PATIENCE)
        self.assertFalse(self.bridge.is_open)
        may_return.set()

    def test_a_bridge_that_the_library_gave_up_says_so(self) -> None:
        transport = self.bridge._transport
        if not isinstance(transport, LibraryTransport):
            self.skipTest("a process is told by its end")
        with (
            mock.patch.object(transport._library, "oam_bridge_send", return_value=-3),
            self.assertRaisesRegex(BridgeError, "given up.*Make a new Bridge"),
        ):
            self.bridge.notify("ping")

    def test_closing_twice_is_fine(self) -> None:
        self.bridge.close()
        self.bridge.close()

    def test_an_unclosed_bridge_outlives_its_last_reference(self) -> None:
        bridge = self.new_bridge()
        session = bridge.call_blocking("session/create", {"model": scripted({"text": "Late.", "delayMs": 100})})
        answered = threading.Event()
        bridge.on_notification("session/event", lambda _: answered.set())
        bridge.notify("session/respond", {"session": session["session"], "prompt": "?", "stream": True})
        key = id(bridge)
        del bridge
        gc.collect()
        self.assertTrue(answered.wait(PATIENCE))
        self.assertIn(key, _live_bridges)
        _live_bridges[key].close()
        self.assertNotIn(key, _live_bridges)

    def test_many_bridges_leave_no_threads_and_no_descriptors(self) -> None:
        def resources() -> dict[str, int]:
            return {kind: len(os.listdir(f"/proc/self/{kind}")) for kind in ("task", "fd")}

        def grown(before: dict[str, int], after: dict[str, int]) -> dict[str, int]:
            return {kind: after[kind] - before[kind] for kind in after if after[kind] > before[kind]}

        if not os.path.isdir("/proc/self/task"):
            self.skipTest("threads and descriptors are not listed here")
        self.bridge.call_blocking("ping")
        before = resources()
        for _ in range(20):
            with self.new_bridge() as bridge:
                bridge.call_blocking("ping")
        patience = time.monotonic() + PATIENCE
        while grown(before, resources()) and time.monotonic() < patience:
            time.sleep(0.01)  # A thread is listed for a moment after it was joined.
        self.assertEqual(grown(before, resources()), {})

    def test_a_program_ends_with_open_bridges(self) -> None:
        source = (
            "import asyncio, open_apple_models\n"
            "async def main():\n"
            "    global bridge\n"
            f"    bridge = open_apple_models.Bridge({self._named()})\n"
            "    late = {'type': 'scripted', 'steps': [{'text': '', 'delayMs': 60000}]}\n"
            "    session = await bridge.create_session(model=late)\n"
            "    asyncio.ensure_future(session.respond('?'))\n"
            "    await bridge.request('ping')\n"
            "asyncio.run(main())\n"
            "bridge.notify('ping')\n"
            "print('end')\n"
        )
        self.assert_prints("end\n", "-X", "dev", "-c", source)

    def test_a_fork_does_not_touch_its_parents_bridge(self) -> None:
        if not hasattr(os, "fork"):
            self.skipTest("there is no fork here")
        source = (
            "import os, open_apple_models\n"
            f"bridge = open_apple_models.Bridge({self._named()})\n"
            "bridge.call_blocking('ping')\n"
            "child = os.fork()\n"
            "if child == 0:\n"
            "    try:\n"
            "        bridge.call_blocking('ping')\n"
            "    except open_apple_models.BridgeError as error:\n"
            "        print(error.name, flush=True)\n"
            "    bridge.close()\n"
            "else:\n"
            "    print(os.waitpid(child, 0)[1], bridge.call_blocking('ping'))\n"
        )
        self.assert_prints("shut_down\n0 {}\n", "-W", "ignore::DeprecationWarning", "-c", source)

    def assert_prints(self, output: str, *arguments: str) -> None:
        """Python with these arguments prints just the output, and ends well."""
        program = [sys.executable, *arguments]
        done = subprocess.run(program, env=environment_of_tests(), capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, output, ""))

    def _named(self) -> str:
        return f"library={find_library()!r}" if self.transport == "library" else f"command={find_program()!r}"
