"""What carries messages between a program and `oam`: the library in this process, or a process of its own.

Both are behind one interface. A transport hands each message that comes to `received`, one at a time and in order, on
a thread of its own, and tells `ended` once if it can carry no more.
"""

from __future__ import annotations

import abc
import contextlib
import dataclasses
import logging
import math
import threading
from collections.abc import Mapping
from typing import Any, Callable

from . import _json
from ._errors import METHOD_NOT_FOUND, BridgeError
from ._types import Object

log = logging.getLogger("open_apple_models")

Received = Callable[[Object], None]
Ended = Callable[[BridgeError], None]

SHUTDOWN = b'{"jsonrpc":"2.0","method":"shutdown"}'

_QUEUED = {
    "session": {"respond", "reset", "compact", "setInstructions", "setContextNote", "setTools"},
    "npc": {"talk", "state", "update", "reset"},
}


@dataclasses.dataclass(frozen=True)
class Request:
    """A request and the line that carries it."""

    id: str
    method: str
    params: Mapping[str, Any]
    line: bytes

    @classmethod
    def of(cls, id: str, method: str, params: Mapping[str, Any] | None) -> Request:
        """Raises what `encode` raises, so that nothing is sent of what cannot be."""
        params = {} if params is None else params
        line = _json.encode({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
        return cls(id, method, params, line)

    @property
    def runs_on(self) -> tuple[str, str] | None:
        """The session or NPC in whose queue the request stands: `("session", id)` or `("npc", id)`."""
        kind, _, action = self.method.partition("/")
        owner = self.params.get(kind) if action in _QUEUED.get(kind, ()) else None
        return (kind, owner) if isinstance(owner, str) else None

    def cancellation(self) -> bytes | None:
        """The notification that ends the request if it still runs, and whatever else stands in the same queue: the
        protocol has none for a single request. None where nothing but `shutdown` ends it.
        """
        if self.runs_on is None:
            return None
        kind, owner = self.runs_on
        return notification(f"{kind}/cancel", {kind: owner})


def time_limit(seconds: float | None) -> float | None:
    """How long a blocking call waits; None is for ever. Raises `ValueError` for what is no time."""
    if seconds is None or seconds <= 0:
        return None
    if math.isnan(seconds):
        raise ValueError("'timeout' is NaN: give seconds, or None to wait for ever.")
    return seconds if seconds <= threading.TIMEOUT_MAX else None


def notification(method: str, params: Mapping[str, Any] | None) -> bytes:
    return _json.encode({"jsonrpc": "2.0", "method": method, "params": {} if params is None else params})


def response(id: Any, result: Any) -> bytes:
    return _json.encode({"jsonrpc": "2.0", "id": id, "result": result})


def refusal(id: Any, message: str) -> bytes:
    return _json.encode({"jsonrpc": "2.0", "id": id, "error": {"code": METHOD_NOT_FOUND, "message": message}})


class Transport(abc.ABC):
    """Everything but `forget` may be called from any thread."""

    @property
    @abc.abstractmethod
    def version(self) -> str:
        """The version of `oam`."""

    @abc.abstractmethod
    def send(self, line: bytes) -> None:
        """Accepts the line and returns at once. Raises `shut_down` once the transport is closed, `process_exited`
        once `oam` has ended by itself."""

    @abc.abstractmethod
    def call(self, request: Request, seconds: float | None) -> Object:
        """Waits for the request's response, which is not handed to `received`. Raises `timeout`, or what `send`
        raises."""

    def give_up(self, request: Request) -> None:
        """Cancels a request whose response nobody awaits any more, as far as that can be done."""
        cancellation = request.cancellation()
        if cancellation is not None:
            with contextlib.suppress(BridgeError):
                self.send(cancellation)

    @abc.abstractmethod
    def is_receiving(self) -> bool:
        """Whether this thread is the one that calls `received`; it can wait for nothing that has yet to be
        received."""

    @abc.abstractmethod
    def close(self) -> None:
        """Ends calls of other threads as `cancelled`, frees everything and returns in a few seconds at the most. May
        be called again.
        """

    @abc.abstractmethod
    def forget(self, error: BridgeError) -> None:
        """Gives everything up in a child that was forked: what it holds belongs to the parent."""
