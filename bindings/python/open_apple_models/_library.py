"""`libOpenAppleModelsFFI`, which runs `oam` in this process."""

from __future__ import annotations

import concurrent.futures
import contextlib
import ctypes
import ctypes.util
import json
import os
import sys
import threading
from collections.abc import Iterator
from typing import Any, Union

from ._errors import BridgeError, shut_down
from ._places import PACKAGE, build_folders, installed
from ._settings import Settings, as_options
from ._transport import SHUTDOWN, Received, Request, Transport, log
from ._types import Object

Path = Union[str, "os.PathLike[str]"]

_NAME = {
    "darwin": "libOpenAppleModelsFFI.dylib",
    "win32": "OpenAppleModelsFFI.dll",
}.get(sys.platform, "libOpenAppleModelsFFI.so")

_GIVEN_UP = -3
_LONGEST_MS = 2**31 - 1

CLOSING_SECONDS = 5.0
"""How long closing waits for blocking calls and for a handler that runs on the library's thread."""

_Callback = ctypes.CFUNCTYPE(None, ctypes.c_char_p, ctypes.c_void_p)

_loaded: dict[str, ctypes.CDLL] = {}
_loading = threading.Lock()


def find_library(library: Path | None = None) -> str:
    """The path of the library: the argument, `OAM_LIBRARY`, the one in this package, the one built in this checkout
    (release, then debug), or the system's. Raises `OSError` if there is none.
    """
    for name, path in (("'library'", library), ("OAM_LIBRARY", os.environ.get("OAM_LIBRARY"))):
        if path:
            if not os.path.isfile(path):
                raise OSError(f"{name} names '{os.fspath(path)}', where there is no file.")
            return os.path.abspath(path)
    for folder in [PACKAGE, *build_folders()]:
        if (folder / _NAME).is_file():
            return str(folder / _NAME)
    found = ctypes.util.find_library("OpenAppleModelsFFI")
    if found is None:
        raise OSError(f"There is no {_NAME}. Looked for {places_of_library()}. Name it with 'library' or OAM_LIBRARY.")
    return found


def places_of_library() -> str:
    return f"the library: OAM_LIBRARY, {_NAME} in this package, and the system's libraries"


def load_library(library: Path | None = None) -> ctypes.CDLL:
    """The library with its functions declared, loaded once for each path. Raises `OSError`."""
    path = find_library(library)
    with _loading:
        if path not in _loaded:
            _loaded[path] = _declared(ctypes.CDLL(path))
        return _loaded[path]


def _declared(library: ctypes.CDLL) -> ctypes.CDLL:
    handle, text = ctypes.c_void_p, ctypes.c_char_p
    functions: dict[str, Any] = {
        "oam_bridge_create": (handle, [_Callback, ctypes.c_void_p]),
        "oam_bridge_create_with_options": (handle, [_Callback, ctypes.c_void_p, text]),
        "oam_bridge_send": (ctypes.c_int, [handle, text]),
        "oam_bridge_destroy": (None, [handle]),
        "oam_version": (text, []),
        # A plain pointer: as text ctypes would copy it and lose what has to be freed.
        "oam_call_blocking": (ctypes.c_void_p, [handle, text, ctypes.c_int]),
        "oam_string_free": (None, [ctypes.c_void_p]),
    }
    for name, (result, arguments) in functions.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


def _with_worker(settings: Settings) -> Settings:
    """The library looks for a worker beside itself, but an installed one is where programs are."""
    workers = installed("oam-worker-swift")
    if "worker" in settings or os.environ.get("OAM_WORKER") or not workers:
        return settings
    return {**settings, "worker": [str(workers[0])]}


class LibraryTransport(Transport):
    def __init__(self, library: Path | None, settings: Settings, received: Received) -> None:
        self._library = load_library(library)
        self._received = received
        self._receiving: int | None = None
        self._idle = threading.Condition()
        self._calls = 0
        self._blocking = 0
        self._end: BridgeError | None = None
        # Held as long as the bridge is: the library calls it from its own thread.
        self._callback = _Callback(self._take)
        self._handle = self._create(settings)
        self._destroyed = False

    def _create(self, settings: Settings) -> Any:
        options = as_options(_with_worker(settings)).encode()
        handle = self._library.oam_bridge_create_with_options(self._callback, None, options)
        if not handle:
            raise OSError("The library cannot make a bridge. OAM_BRIDGE_LOG=error may tell why.")
        return handle

    def __str__(self) -> str:
        return f"the library {self._library._name}"

    @property
    def version(self) -> str:
        version: bytes = self._library.oam_version()
        return version.decode()

    def send(self, line: bytes) -> None:
        with self._call(blocking=False):
            if self._library.oam_bridge_send(self._handle, line) == _GIVEN_UP:
                raise shut_down("The bridge was given up: its handlers did not take messages. Make a new Bridge.")

    def call(self, request: Request, seconds: float | None) -> Object:
        milliseconds = 0 if seconds is None else max(1, min(round(seconds * 1000), _LONGEST_MS))
        if threading.current_thread() is not threading.main_thread():
            return self._call_blocking(request, milliseconds)
        # The main thread hears of Ctrl-C only while it runs Python, so the library blocks another one.
        answer: concurrent.futures.Future[Object] = concurrent.futures.Future()

        def work() -> None:
            try:
                answer.set_result(self._call_blocking(request, milliseconds))
            except BaseException as error:
                answer.set_exception(error)

        threading.Thread(target=work, name=f"oam-{request.id}", daemon=True).start()
        try:
            return answer.result()
        except KeyboardInterrupt:
            self.give_up(request)
            raise

    def _call_blocking(self, request: Request, milliseconds: int) -> Object:
        with self._call(blocking=True):
            pointer = self._library.oam_call_blocking(self._handle, request.line, milliseconds)
            try:
                line = ctypes.string_at(pointer)
            finally:
                self._library.oam_string_free(pointer)
        message: Object = json.loads(line)
        return message

    @contextlib.contextmanager
    def _call(self, blocking: bool) -> Iterator[None]:
        """Holds off `close`: the handle must not be destroyed under a call."""
        with self._idle:
            if self._end is not None:
                raise self._end.copy()
            self._calls += 1
            self._blocking += blocking
        try:
            yield
        finally:
            with self._idle:
                self._calls -= 1
                self._blocking -= blocking
                self._idle.notify_all()

    def _take(self, line: bytes, _user_data: Any) -> None:
        self._receiving = threading.get_ident()
        try:
            self._received(json.loads(line))
        finally:
            self._receiving = None
            if self._end is not None:
                with self._idle:
                    self._idle.notify_all()

    def is_receiving(self) -> bool:
        return self._receiving == threading.get_ident()

    def close(self) -> None:
        with self._idle:
            self._end = self._end or shut_down()
            if self._blocking and not self._destroyed:
                self._library.oam_bridge_send(self._handle, SHUTDOWN)
            is_quiet = self._idle.wait_for(self._is_quiet, CLOSING_SECONDS)
            if self._destroyed:
                return
            self._destroyed = True
        if is_quiet:
            self._library.oam_bridge_destroy(self._handle)
        else:
            log.warning("A handler does not return; its bridge ends when it does.")
            with contextlib.suppress(RuntimeError):  # The program ends, and with it everything.
                threading.Thread(target=self._destroy_once_quiet, name="oam-close", daemon=True).start()

    def _is_quiet(self) -> bool:
        return self._calls == 0 and self._receiving is None

    def _destroy_once_quiet(self) -> None:
        with self._idle:
            self._idle.wait_for(self._is_quiet)
        self._library.oam_bridge_destroy(self._handle)

    def forget(self, error: BridgeError) -> None:
        # Another thread may have held the old one when the process was forked.
        self._idle = threading.Condition()
        self._end = error
        self._destroyed = True
