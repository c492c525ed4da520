"""What can go wrong between a program and its bridge."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

CANCELLED = -32009
METHOD_NOT_FOUND = -32601
SHUT_DOWN = -32023
TIMEOUT = -32024


class BridgeError(Exception):
    """A request that failed.

    Decide by `name`, which is stable (`session_not_found`, `guardrail_violation`, `cancelled`, …; None where the error
    has none). `code` is JSON-RPC's number of it, 0 for errors of this package; `message` is a sentence for people;
    `data` is what else the error says.
    """

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(code, message, data)
        self.code = code
        self.message = message
        self.data = data

    @classmethod
    def from_json(cls, error: Any) -> BridgeError:
        """The error that a response's member `error` tells of. What is missing there has a default."""
        members = error if isinstance(error, Mapping) else {}
        code = members.get("code", -32603)
        message = members.get("message", "Unknown error")
        return cls(code if isinstance(code, int) else -32603, str(message), members.get("data"))

    def copy(self) -> BridgeError:
        """The same error anew. One that is raised again and again would collect tracebacks."""
        return BridgeError(self.code, self.message, self.data)

    @property
    def name(self) -> str | None:
        """`data["code"]`: what happened, in a word."""
        name = self.data.get("code") if isinstance(self.data, Mapping) else None
        return name if isinstance(name, str) else None

    def __str__(self) -> str:
        return f"{self.message} ({self.name}, {self.code})" if self.name else f"{self.message} ({self.code})"


def shut_down(message: str = "The bridge is closed.") -> BridgeError:
    return BridgeError(SHUT_DOWN, message, {"code": "shut_down"})


def process_exited(message: str, exit_code: int | None, signal: str | None, stderr: list[str]) -> BridgeError:
    data = {"code": "process_exited", "exitCode": exit_code, "signal": signal, "stderr": stderr}
    return BridgeError(0, message, data)


def timed_out(method: str, seconds: float) -> BridgeError:
    message = f"'{method}' did not answer within {round(seconds * 1000)} ms and was cancelled."
    return BridgeError(TIMEOUT, message, {"code": "timeout"})
