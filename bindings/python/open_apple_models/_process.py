"""`oam stdio` as a process of its own, one message a line over its standard input and output."""

from __future__ import annotations

import collections
import concurrent.futures
import io
import json
import logging
import os
import queue
import shlex
import shutil
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from typing import Any, Union

from ._errors import BridgeError, process_exited, shut_down, timed_out
from ._places import build_folders, installed
from ._settings import Settings, as_flags
from ._transport import SHUTDOWN, Ended, Received, Request, Transport, log
from ._types import Object

Command = Union[str, "os.PathLike[str]", Sequence[str]]

_NAME = "oam.exe" if os.name == "nt" else "oam"
_GREETING_SECONDS = 30.0
_LAST_LINES = 10

CLOSING_SECONDS = (5.0, 2.0)
"""How long a process may take to end after `shutdown`, where its turns have 2 s and its workers 2 s more, and after a
signal.
"""
_LOG_LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}


def find_program() -> str | None:
    """The `oam` to spawn: `OAM_BIN`, the one that was installed with this package, the one built in this checkout, or
    the one in `PATH`. None if there is none; `OSError` if `OAM_BIN` names a file that is not there.
    """
    named = os.environ.get("OAM_BIN")
    if named:
        found = shutil.which(named)
        if found is None:
            raise OSError(f"OAM_BIN names '{named}', which is not there or cannot be executed.")
        return found
    for path in [*installed(_NAME), *(folder / _NAME for folder in build_folders())]:
        if os.access(path, os.X_OK):
            return str(path)
    return shutil.which("oam")


def places_of_program() -> str:
    return f"the program: OAM_BIN, {_NAME} beside this package, and oam in PATH"


def command_line(command: Command | None, settings: Settings) -> list[str]:
    """What to run. A string is the path of an `oam`, or a command line quoted as for a shell; a sequence is program
    and arguments. What has no arguments is run with `stdio`.
    """
    if command is None:
        program = find_program()
        if program is None:
            raise OSError(
                f"There is no oam to start. Looked for {places_of_program()}. Install it, or name it with 'command'."
            )
        words = [program]
    elif isinstance(command, os.PathLike):
        words = [os.fspath(command)]
    elif isinstance(command, str):
        words = [command] if os.path.isfile(command) else shlex.split(command, posix=os.name != "nt")
    else:
        words = [os.fspath(word) for word in command]
    if not words or not words[0]:
        raise ValueError("'command' names no program.")
    return words + (_stdio() if len(words) == 1 else []) + as_flags(settings)


def _stdio() -> list[str]:
    level = os.environ.get("OAM_BRIDGE_LOG", "").lower()
    return ["stdio", "--log-level", level] if level in _LOG_LEVELS else ["stdio"]


class ProcessTransport(Transport):
    """Three threads serve the process: one writes, so that `send` never waits; one reads, reaps the process and tells
    its end; one takes what it logs.
    """

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str] | None,
        received: Received,
        ended: Ended,
    ) -> None:
        self._received = received
        self._tell_end = ended
        self._lock = threading.Lock()
        self._closing = False
        self._end: BridgeError | None = None
        self._waiting: dict[str, concurrent.futures.Future[Object]] = {}
        self._outgoing: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._last_lines: collections.deque[str] = collections.deque(maxlen=_LAST_LINES)
        self._program = command[0]
        self._process = _spawn(command, environment)
        self._threads = [
            threading.Thread(target=work, name=f"oam-{work.__name__.strip('_')}-{self._process.pid}", daemon=True)
            for work in (self._read, self._write, self._read_log)
        ]
        self._reader, self._writer, self._logger = self._threads
        # Before anybody can notice that the process has ended: requests tell that, not the constructor.
        self._greeting = self._begin_call(Request.of("hello", "initialize", {"client": {"name": "python"}}))
        # The reader last: it waits for the end of the log, and a process may have ended by now.
        for thread in reversed(self._threads):
            thread.start()

    def __str__(self) -> str:
        return f"the process {self._process.pid} of {self._program}"

    @property
    def version(self) -> str:
        """As `oam` tells it; waits for it to be ready."""
        try:
            answer = self._greeting.result(_GREETING_SECONDS)
        except concurrent.futures.TimeoutError:
            raise timed_out("initialize", _GREETING_SECONDS) from None
        return str(answer.get("result", {}).get("server", {}).get("version", ""))

    @property
    def pid(self) -> int:
        return self._process.pid

    def send(self, line: bytes) -> None:
        with self._lock:
            if self._end is not None:
                raise self._end.copy()
            if self._closing:
                raise shut_down()
            self._outgoing.put(line)

    def call(self, request: Request, seconds: float | None) -> Object:
        answer = self._begin_call(request)
        try:
            return answer.result(seconds)
        except concurrent.futures.TimeoutError:
            if self._waiting.pop(request.id, None) is None:
                return answer.result()
            self.give_up(request)
            raise timed_out(request.method, seconds or 0) from None
        except KeyboardInterrupt:
            self.give_up(request)
            raise
        finally:
            self._waiting.pop(request.id, None)

    def _begin_call(self, request: Request) -> concurrent.futures.Future[Object]:
        answer: concurrent.futures.Future[Object] = concurrent.futures.Future()
        self._waiting[request.id] = answer
        try:
            self.send(request.line)
        except BridgeError:
            self._waiting.pop(request.id, None)
            raise
        return answer

    def is_receiving(self) -> bool:
        return threading.current_thread() is self._reader

    def close(self) -> None:
        with self._lock:
            if not self._closing:
                self._closing = True
                self._outgoing.put(SHUTDOWN)
                self._outgoing.put(None)
        self._reader.join(CLOSING_SECONDS[0])
        if self._reader.is_alive():
            self._process.terminate()
            self._reader.join(CLOSING_SECONDS[1])
        if self._reader.is_alive():
            self._kill()
            self._reader.join(CLOSING_SECONDS[1])
        self._writer.join(1.0)
        self._logger.join(1.0)

    def forget(self, error: BridgeError) -> None:
        # Other threads may have held the old ones when the process was forked. The pipes must go: while anybody holds
        # them, `oam` does not notice that the parent is gone.
        self._lock = threading.Lock()
        self._end = error
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe is not None:
                pipe.close()
        self._process.returncode = 0

    def _write(self) -> None:
        pipe = self._process.stdin
        assert pipe is not None
        try:
            with pipe:
                for line in iter(self._outgoing.get, None):
                    _write_all(pipe, line + b"\n")
        except OSError:
            pass  # The reader notices that the process is gone, and tells.

    def _read(self) -> None:
        assert self._process.stdout is not None
        try:
            with io.BufferedReader(self._process.stdout, 1 << 16) as lines:  # type: ignore[type-var]
                for line in lines:
                    self._take(line)
        except OSError as error:
            log.error("Cannot read from %s: %s", self._program, error)
        self._tell(self._reap())

    def _take(self, line: bytes) -> None:
        try:
            message = json.loads(line)
        except ValueError:
            message = None
        if not isinstance(message, dict):
            log.warning("What %s printed is no message: %r", self._program, line[:200])
            return
        id = message.get("id")
        waiting = self._waiting.pop(id, None) if "method" not in message and isinstance(id, str) else None
        if waiting is not None:
            waiting.set_result(message)
        else:
            self._received(message)

    def _read_log(self) -> None:
        assert self._process.stderr is not None
        try:
            with io.BufferedReader(self._process.stderr, 1 << 13) as lines:  # type: ignore[type-var]
                for line in lines:
                    text = line.decode("utf-8", "replace").rstrip()
                    self._last_lines.append(text)
                    log.log(_level(text), "%s", text)
        except OSError:
            pass

    def _reap(self) -> int:
        """The exit code. A process that has closed its output but does not exit can do nothing for us."""
        try:
            return self._process.wait(5.0)
        except subprocess.TimeoutExpired:
            self._kill()
            return self._process.wait()

    def _tell(self, code: int) -> None:
        self._logger.join(1.0)
        with self._lock:
            self._end = shut_down() if self._closing else self._died(code)
            self._outgoing.put(None)
            waiting, self._waiting = self._waiting, {}
        for answer in list(waiting.values()):
            answer.set_exception(self._end.copy())
        self._tell_end(self._end)

    def _died(self, code: int) -> BridgeError:
        lines = list(self._last_lines)
        words = f" Its last words: {' / '.join(lines)}" if lines else ""
        killed_by = _signal_name(-code) if code < 0 else None
        how = f"was killed by {killed_by}" if killed_by else f"exited with code {code}"
        message = f"{self._program} {how}; make a new Bridge.{words}"
        return process_exited(message, None if killed_by else code, killed_by, lines)

    def _kill(self) -> None:
        """Ends the process and what it started."""
        try:
            if os.name == "posix":
                os.killpg(self._process.pid, signal.SIGKILL)
            else:
                self._process.kill()
        except OSError:
            pass


def _spawn(command: Sequence[str], environment: Mapping[str, str] | None) -> subprocess.Popen[bytes]:
    options: dict[str, Any] = {}
    if os.name == "nt":
        options["creationflags"] = subprocess.CREATE_NO_WINDOW | subprocess.CREATE_NEW_PROCESS_GROUP  # type: ignore
    else:
        # Ctrl-C is for the program, which then closes its bridge in good order.
        options["start_new_session"] = True
    try:
        return subprocess.Popen(
            list(command),
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=None if environment is None else {**os.environ, **environment},
            **options,
        )
    except OSError as error:
        reason = error.strerror or str(error)
        raise type(error)(
            error.errno, f"Cannot start '{command[0]}': {reason}. Name an oam with 'command' or OAM_BIN."
        ) from None


def _write_all(pipe: Any, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[pipe.write(rest) :]


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _level(text: str) -> int:
    """`[oam stdio] LEVEL: …`, as Python's logging counts."""
    word = text.partition("] ")[2].partition(":")[0]
    return _LOG_LEVELS.get(word, logging.WARNING)
