"""Tools: functions of the program that a model may ask for."""

from __future__ import annotations

import asyncio
import dataclasses
import inspect
from collections.abc import Coroutine, Iterable, Mapping
from typing import Any, Callable

from ._transport import log, refusal, response
from ._types import AnyHandler, Cancel, Object, Tools

Spawn = Callable[[Coroutine[Any, Any, None]], Cancel]
Send = Callable[[bytes], None]

_NO_ARGUMENTS: Mapping[str, Any] = {"type": "object", "properties": {}}


class ToolError(Exception):
    """Raised by a tool's handler to tell the model why it failed."""


@dataclasses.dataclass(frozen=True)
class ToolContext:
    """What a handler may know of its call: who asked (`session` or `npc`; neither for decisions and content), and for
    which request.
    """

    call_id: str
    name: str
    arguments: Object
    session: str | None
    npc: str | None
    request_id: Any
    params: Object

    @classmethod
    def of(cls, params: Object) -> ToolContext:
        call = params.get("call") or {}
        return cls(
            call_id=call.get("id", ""),
            name=call.get("name", ""),
            arguments=call.get("arguments") or {},
            session=params.get("session"),
            npc=params.get("npc"),
            request_id=params.get("requestId"),
            params=params,
        )


@dataclasses.dataclass(frozen=True)
class _Tool:
    definition: Object
    handler: AnyHandler
    takes_context: bool

    async def run(self, context: ToolContext) -> Any:
        result = self.handler(context.arguments, context) if self.takes_context else self.handler(context.arguments)
        return await result if inspect.isawaitable(result) else result


@dataclasses.dataclass
class _Call:
    cancel: Cancel | None = None
    is_cancelled: bool = False


class Toolbox:
    """The registered tools, and the calls of them that run."""

    def __init__(self, spawn: Spawn, send: Send) -> None:
        self._spawn = spawn
        self._send = send
        self._tools: dict[str, _Tool] = {}
        self._running: dict[str, _Call] = {}

    def register(
        self,
        name: str,
        description: str,
        parameters: Mapping[str, Any] | None,
        handler: AnyHandler,
        timeout: float | None,
    ) -> None:
        if not isinstance(name, str):
            raise TypeError(f"The name of a tool is text, not {name!r}.")
        if not callable(handler):
            raise TypeError(f"The handler of the tool '{name}' is a function, not {handler!r}.")
        definition: Object = {"name": name, "description": description, "parameters": parameters or _NO_ARGUMENTS}
        if timeout is not None:
            definition["timeoutSeconds"] = timeout
        self._tools[name] = _Tool(definition, handler, _takes_context(handler))

    def definitions(self, tools: Tools | None) -> list[Object]:
        if isinstance(tools, (str, Mapping)) or not (tools is None or isinstance(tools, Iterable)):
            raise TypeError("'tools' is a list of names and definitions.")
        wanted: Tools = list(self._tools) if tools is None else tools
        return [dict(tool) if isinstance(tool, Mapping) else dict(self._named(tool).definition) for tool in wanted]

    def _named(self, name: str) -> _Tool:
        tool = self._tools.get(name) if isinstance(name, str) else None
        if tool is None:
            known = ", ".join(self._tools) or "none"
            raise KeyError(f"No tool '{name}' is registered. Registered: {known}.")
        return tool

    def start(self, id: str, params: Object) -> None:
        """Begins a call; its answer is sent when the handler is done."""
        context = ToolContext.of(params)
        tool = self._tools.get(context.name)
        if tool is None:
            self._send(refusal(id, f"No tool '{context.name}' is registered."))
            return
        call = self._running[id] = _Call()
        call.cancel = self._spawn(self._answer(id, tool, context))
        if call.is_cancelled:
            call.cancel()

    def cancel(self, id: str) -> None:
        """Cancels the handler's task. Nothing is answered."""
        call = self._running.pop(id, None)
        if call is None:
            return
        call.is_cancelled = True
        if call.cancel is not None:
            call.cancel()

    def cancel_all(self) -> None:
        for id in list(self._running):
            self.cancel(id)

    async def _answer(self, id: str, tool: _Tool, context: ToolContext) -> None:
        try:
            line = _output(id, context.name, await tool.run(context))
        except asyncio.CancelledError:
            self._finish(id, _failure(id, "The tool was cancelled."))
            raise
        except ToolError as error:
            line = _failure(id, str(error) or "ToolError")
        except Exception as error:
            log.info("Tool '%s' failed", context.name, exc_info=True)
            line = _failure(id, str(error) or type(error).__name__)
        except BaseException:
            self._finish(id, _failure(id, "The program is about to end."))
            raise
        self._finish(id, line)

    def _finish(self, id: str, line: bytes) -> None:
        """Answers, unless the call was cancelled meanwhile."""
        if self._running.pop(id, None) is not None:
            self._send(line)


def _output(id: str, name: str, value: Any) -> bytes:
    try:
        return response(id, {"output": "" if value is None else value})
    except (TypeError, ValueError) as error:
        return _failure(id, f"The result of '{name}' is not valid JSON: {error}")


def _failure(id: str, message: str) -> bytes:
    readable = message.encode("utf-8", "replace").decode("utf-8")
    return response(id, {"output": readable, "isError": True})


def _takes_context(handler: AnyHandler) -> bool:
    """Whether the handler has a second parameter. One with a default is the handler's own, unless it is called
    `context`."""
    try:
        parameters = list(inspect.signature(handler).parameters.values())
    except (TypeError, ValueError):
        return False
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return len(positional) > 1 and (positional[1].default is inspect.Parameter.empty or positional[1].name == "context")
