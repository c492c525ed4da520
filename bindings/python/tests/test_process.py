"""What only a process does: it is found and started, it logs, and it may die."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from unittest import mock

from open_apple_models import Bridge, BridgeError, find_program
from open_apple_models._process import ProcessTransport, command_line

from .support import PATIENCE, BridgeCase, environment_of_tests, scripted, soon

PRINTS = "import sys; sys.stderr.write('no such model\\n'); sys.exit(3)"


def process_of(bridge: Bridge) -> subprocess.Popen[bytes]:
    transport = bridge._transport
    assert isinstance(transport, ProcessTransport)
    return transport._process


def runs(pid: int) -> bool:
    """Whether there is such a process that has not ended; init may take its time to reap one that has."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


class Dying(BridgeCase):
    async def test_all_that_is_pending_fails_when_the_process_dies(self) -> None:
        session = await self.bridge.create_session(model=scripted({"text": "Late.", "delayMs": 60_000}))
        turn = asyncio.ensure_future(session.respond("?"))
        await asyncio.sleep(0)
        call = asyncio.get_running_loop().run_in_executor(
            None, self.bridge.call_blocking, "session/reset", {"session": session.id}, PATIENCE
        )
        await soon(self.bridge.request("ping"))
        process_of(self.bridge).kill()
        for pending in (turn, call, self.bridge.request("ping")):
            with self.assertRaises(BridgeError) as died:
                await soon(pending)
            self.assertEqual((died.exception.code, died.exception.name), (0, "process_exited"))
        if os.name == "posix":
            self.assertIn("SIGKILL", died.exception.message)
            self.assertEqual((died.exception.data["exitCode"], died.exception.data["signal"]), (None, "SIGKILL"))
        self.assertIsNotNone(process_of(self.bridge).returncode, "it is a zombie")

    def test_a_process_that_ends_before_the_threads_begin_fails_what_is_pending(self) -> None:
        start = threading.Thread.start

        def start_slowly(thread: threading.Thread) -> None:
            start(thread)
            time.sleep(0.05)

        with mock.patch.object(threading.Thread, "start", start_slowly):
            bridge = Bridge(command=[sys.executable, "-S", "-c", "import os; os._exit(3)"])
        self.addCleanup(bridge.close)
        with self.assertRaisesRegex(BridgeError, "exited with code 3"):
            bridge.call_blocking("ping", timeout=PATIENCE)

    def test_a_program_that_cannot_run_says_why(self) -> None:
        with self.assertLogs("open_apple_models"):
            bridge = Bridge(command=[sys.executable, "-c", PRINTS])
            self.addCleanup(bridge.close)
            with self.assertRaises(BridgeError) as ended:
                bridge.call_blocking("ping", timeout=PATIENCE)
        self.assertRegex(str(ended.exception), "exited with code 3.*no such model")
        self.assertEqual((ended.exception.data["exitCode"], ended.exception.data["stderr"]), (3, ["no such model"]))

    def test_a_program_that_says_nonsense_is_told_of(self) -> None:
        source = "import sys; print('Welcome!', flush=True); sys.stdin.read()"
        with self.assertLogs("open_apple_models", "WARNING") as logged:
            bridge = Bridge(command=[sys.executable, "-c", source])
            with self.assertRaises(BridgeError):
                bridge.call_blocking("ping", timeout=0.5)
            bridge.close()
        self.assertIn("Welcome!", logged.output[0])

    @unittest.skipUnless(hasattr(signal, "SIGSTOP"), "there is no SIGSTOP here")
    def test_a_process_that_hangs_is_killed(self) -> None:
        self.bridge.call_blocking("ping")
        process = process_of(self.bridge)
        with mock.patch("open_apple_models._process.CLOSING_SECONDS", (0.1, 0.1)):
            os.kill(process.pid, signal.SIGSTOP)
            self.bridge.close()
        self.assertEqual(process.returncode, -signal.SIGKILL)

    @unittest.skipUnless(os.path.isdir("/proc/self"), "processes are not listed here")
    def test_a_program_that_is_killed_leaves_no_process(self) -> None:
        source = (
            "import open_apple_models, time\n"
            f"bridge = open_apple_models.Bridge(command={find_program()!r})\n"
            "late = {'type': 'scripted', 'steps': [{'text': '', 'delayMs': 60000}]}\n"
            "session = bridge.call_blocking('session/create', {'model': late})['session']\n"
            "bridge.notify('session/respond', {'session': session, 'prompt': '?'})\n"
            "bridge.call_blocking('ping')\n"
            "print(bridge._transport.pid, flush=True)\n"
            "time.sleep(60)\n"
        )
        program = subprocess.Popen([sys.executable, "-c", source], env=environment_of_tests(), stdout=subprocess.PIPE)
        with program:
            assert program.stdout is not None
            pid = int(program.stdout.readline())
            self.assertTrue(runs(pid))
            program.kill()
        patience = time.monotonic() + PATIENCE
        while runs(pid) and time.monotonic() < patience:
            time.sleep(0.01)
        self.assertFalse(runs(pid))

    @unittest.skipUnless(hasattr(signal, "SIGSTOP"), "there is no SIGSTOP here")
    def test_sending_never_waits_for_the_process(self) -> None:
        process = process_of(self.bridge)
        os.kill(process.pid, signal.SIGSTOP)
        for _ in range(20):
            self.bridge.notify("ping", {"padding": "x" * 100_000})
        os.kill(process.pid, signal.SIGCONT)
        self.assertEqual(self.bridge.call_blocking("ping", timeout=PATIENCE), {})


class Starting(unittest.TestCase):
    def test_a_command_is_a_path_a_line_or_a_list(self) -> None:
        for command, words in (
            ("oam", ["oam", "stdio"]),
            (["oam"], ["oam", "stdio"]),
            (Path("bin") / "oam", [os.path.join("bin", "oam"), "stdio"]),
            ("oam stdio --max-sessions 2", ["oam", "stdio", "--max-sessions", "2"]),
            (["ssh", "mac", "oam", "stdio"], ["ssh", "mac", "oam", "stdio"]),
        ):
            with self.subTest(command), mock.patch.dict(os.environ):
                os.environ.pop("OAM_BRIDGE_LOG", None)
                self.assertEqual(command_line(command, {}), words)

    def test_a_path_may_contain_spaces(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "my oam"
            path.touch()
            self.assertEqual(command_line(str(path), {})[0], str(path))

    def test_settings_become_flags(self) -> None:
        settings = {
            "worker": ["my worker", "-v"],
            "workers": 2,
            "spare": False,
            "stepTimeoutSeconds": 5,
            "scriptedModels": False,
        }
        flags = command_line(["oam", "stdio"], settings)[2:]  # type: ignore[arg-type]
        self.assertEqual(
            flags,
            [
                "--workers",
                "2",
                "--step-timeout",
                "5",
                "--worker",
                "'my worker' -v",
                "--no-spare",
                "--no-scripted-models",
            ],
        )
        with self.assertRaisesRegex(ValueError, "colour.*workers"):
            command_line("oam", {"colour": "red"})  # type: ignore[typeddict-unknown-key]

    def test_a_program_that_is_not_there_is_named(self) -> None:
        with self.assertRaisesRegex(FileNotFoundError, "no-such-oam.*OAM_BIN"):
            Bridge(command="no-such-oam")
        with (
            mock.patch.dict(os.environ, OAM_BIN="/no/such/oam"),
            self.assertRaisesRegex(OSError, "OAM_BIN.*/no/such/oam"),
        ):
            find_program()

    def test_a_library_and_a_command_exclude_each_other(self) -> None:
        with self.assertRaises(ValueError):
            Bridge(library="x", command="oam")  # type: ignore[call-overload]

    def test_without_anything_to_use_the_error_says_where_it_was_looked_for(self) -> None:
        places: dict[str, list[Path]] = {
            "_places.build_folders": [],
            "_process.build_folders": [],
            "_library.build_folders": [],
            "_process.installed": [],
        }
        with mock.patch.dict(os.environ, {"PATH": "", "OAM_BIN": "", "OAM_LIBRARY": ""}):
            for place, found in places.items():
                patch = mock.patch(f"open_apple_models.{place}", return_value=found)
                patch.start()
                self.addCleanup(patch.stop)
            with self.assertRaisesRegex(OSError, "OAM_LIBRARY.*OAM_BIN.*PATH.*Bridge"):
                Bridge()

    def test_what_is_named_beats_what_is_found(self) -> None:
        with mock.patch.dict(os.environ, OAM_BIN=str(find_program()), OAM_LIBRARY=""), Bridge() as bridge:
            self.assertIn("process", repr(bridge))
        with (
            mock.patch.dict(os.environ, OAM_LIBRARY="/no/such/library"),
            self.assertRaisesRegex(OSError, "OAM_LIBRARY"),
        ):
            Bridge()

    def test_its_environment_is_added_to_this_programs(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            script = Path(folder) / "script.json"
            script.write_text('[{"text": "From a script."}]')
            with Bridge(command=find_program(), environment={"OAM_SCRIPT": str(script)}) as bridge:
                session = bridge.call_blocking("session/create")["session"]
                turn = bridge.call_blocking("session/respond", {"session": session, "prompt": "?"})
        self.assertEqual(turn["text"], "From a script.")

    def test_its_log_goes_to_pythons(self) -> None:
        log = logging.getLogger("open_apple_models")
        source = "import sys; sys.stderr.write('[oam stdio] error: workers keep dying\\n'); sys.stdin.read()"
        with self.assertLogs(log, "DEBUG") as logged:
            Bridge(command=[sys.executable, "-c", source]).close()
        self.assertEqual(logged.output, ["ERROR:open_apple_models:[oam stdio] error: workers keep dying"])


class ManyAtOnce(BridgeCase):
    def test_bridges_are_made_and_closed_from_many_threads(self) -> None:
        def once(_: int) -> object:
            with self.open_bridge() as bridge:
                return bridge.call_blocking("ping")

        with ThreadPoolExecutor(6) as threads:
            self.assertEqual(list(threads.map(once, range(12))), [{}] * 12)
