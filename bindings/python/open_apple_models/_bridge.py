"""The bridge: one `oam`, with its sessions, characters and worlds."""

from __future__ import annotations

import asyncio
import atexit
import os
import threading
from collections.abc import Mapping, Sequence
from typing import Any, Callable, TypeVar, cast, overload

from . import _json
from ._dispatch import Dispatcher
from ._errors import BridgeError, shut_down
from ._library import LibraryTransport, Path, find_library, places_of_library
from ._npc import NPC
from ._params import DECIDE, GENERATE, Unset, camel_case, given
from ._process import Command, ProcessTransport, command_line, find_program, places_of_program
from ._session import Session
from ._settings import Settings
from ._transport import Request, Transport, notification, time_limit
from ._types import AnyHandler, Decision, EventHandler, Json, Object, OptionalObject, Tools
from ._world import World

Handler = TypeVar("Handler", bound=AnyHandler)

_UNSET = Unset.UNSET

_live_bridges: dict[int, Bridge] = {}
"""Open bridges by `id()`: a bridge must not be collected while messages may still come for it."""


class Bridge:
    """A connection to an `oam` of its own: the library in this process, or a process that is started.

    What is named beats what is found: `library`, `command` (or `environment`, which is for a process), `OAM_LIBRARY`,
    `OAM_BIN`, then the first library or program that is there. Raises `OSError` if there is neither, and says where it
    looked.

    * `library`: the path of `libOpenAppleModelsFFI`.
    * `loop`: the event loop on which everything happens. Otherwise that of the first request. A bridge can move to
      another loop when the old one has stopped and nothing is pending.
    * `command`: the path of an `oam`, or the command line of an `oam stdio`, as text or as a list.
    * `environment`: variables for the process, besides this program's.
    * `settings`: how `oam` runs its workers.

    Without a running event loop use `call_blocking`; tools and handlers of notifications then run on other threads.

    Close a bridge, best by `with` or `async with`. In a child made by `os.fork` the parent's bridges are closed: make
    a new one there.
    """

    @overload
    def __init__(
        self,
        library: Path | None = None,
        loop: asyncio.AbstractEventLoop | None = None,
        *,
        settings: Settings | None = None,
    ) -> None: ...

    @overload
    def __init__(
        self,
        library: None = None,
        loop: asyncio.AbstractEventLoop | None = None,
        *,
        command: Command | None = None,
        environment: Mapping[str, str] | None = None,
        settings: Settings | None = None,
    ) -> None: ...

    def __init__(
        self,
        library: Path | None = None,
        loop: asyncio.AbstractEventLoop | None = None,
        *,
        command: Command | None = None,
        environment: Mapping[str, str] | None = None,
        settings: Settings | None = None,
    ) -> None:
        if loop is not None and not isinstance(loop, asyncio.AbstractEventLoop):
            raise TypeError("'loop' is an event loop of asyncio.")
        if library is not None and (command is not None or environment is not None):
            raise ValueError("'library' runs oam in this process; 'command' and 'environment' are for one of its own.")
        self._dispatcher = Dispatcher(loop)
        self._is_open = True
        self._transport = self._connect(library, command, environment, settings or {})
        self._dispatcher.attach(self._transport)
        _live_bridges[id(self)] = self

    def _connect(
        self,
        library: Path | None,
        command: Command | None,
        environment: Mapping[str, str] | None,
        settings: Settings,
    ) -> Transport:
        received = self._dispatcher.received
        if command is None and environment is None:
            library = library or _library_to_use()
            if library is not None:
                return LibraryTransport(library, settings, received)
        return ProcessTransport(command_line(command, settings), environment, received, received)

    # The connection

    @property
    def version(self) -> str:
        """The version of `oam`."""
        return self._transport.version

    @property
    def is_open(self) -> bool:
        """False once the bridge is closed. A process that has died is told by the error of the next request."""
        return self._is_open

    def close(self) -> None:
        """Ends `oam`. Pending requests fail with `shut_down`, blocking calls of other threads with `cancelled`;
        running tools are cancelled. May be called from any thread, and again.
        """
        self._is_open = False
        self._dispatcher.close(shut_down())
        if self._transport.is_receiving():
            # A handler closes the bridge on whose thread it runs; that thread cannot wait for its own end.
            threading.Thread(target=self._transport.close, name="oam-close").start()
        else:
            self._transport.close()
        _live_bridges.pop(id(self), None)

    def __repr__(self) -> str:
        return f"<Bridge over {self._transport}{'' if self._is_open else ', closed'}>"

    def __enter__(self) -> Bridge:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    async def __aenter__(self) -> Bridge:
        return self

    async def __aexit__(self, *_: Any) -> None:
        # The loop goes on while oam ends.
        await asyncio.to_thread(self.close)

    def _forget(self) -> None:
        error = shut_down("The bridge belongs to the process that this one was forked from; make a new Bridge.")
        self._is_open = False
        self._dispatcher.abandon()
        self._transport.forget(error)

    # Messages

    def send_message(self, message: Mapping[str, Any]) -> None:
        """Sends one message of the protocol as it is. The response to a request's `id` of your own goes nowhere."""
        self._transport.send(_json.encode({"jsonrpc": "2.0", **message}))

    def notify(self, method: str, params: OptionalObject = None) -> None:
        """Has a method carried out without a response."""
        self._transport.send(notification(method, params))

    async def request(self, method: str, params: OptionalObject = None, on_event: EventHandler | None = None) -> Json:
        """A method's result, or its `BridgeError`. `on_event` gets the params of every notification that belongs to
        the request. Raises `ValueError` or `TypeError`, before anything is sent, for params that are not JSON.

        If the task that waits is cancelled and nothing else is pending on the same session or NPC, what runs there is
        cancelled.
        """
        return await self._dispatcher.request(method, params, on_event)

    def call_blocking(self, method: str, params: OptionalObject = None, timeout: float | None = 30.0) -> Json:
        """A method's result, awaited on this thread for at most `timeout` seconds (None, 0 or less: for ever).

        After that it raises `timeout` and the request is cancelled; over a process with it everything else that waits
        in the queue of the same session or NPC. Methods without a queue (decisions, content, barks) then go on there,
        unheard. On the event loop's own thread tools cannot run meanwhile.
        """
        request: Request = self._dispatcher.make_request(method, params)
        if self._transport.is_receiving():
            raise RuntimeError("This thread brings the bridge's messages, so it cannot wait for one.")
        self._dispatcher.leave_stopped_loop()
        response = self._transport.call(request, time_limit(timeout))
        if "error" in response:
            raise BridgeError.from_json(response["error"])
        return response.get("result")

    def on_notification(self, method: str, handler: EventHandler) -> None:
        """The handler gets the params of all notifications of a method, such as `supervisor/event`. There may be
        several."""
        if not callable(handler):
            raise TypeError(f"The handler of '{method}' is a function, not {handler!r}.")
        self._dispatcher.on_notification(method, handler)

    async def initialize(self, client_name: str = "python", worker_events: bool = False) -> Object:
        """Versions, capabilities and whether the model is available. Optional. With `worker_events` notifications
        `supervisor/event` tell what happens to workers.
        """
        client = {"name": client_name, **given(workerEvents=worker_events or None)}
        params = {"client": client, "protocolVersion": "1.0"}
        return cast(Object, await self.request("initialize", params))

    async def model_availability(self) -> Object:
        """Whether the system's model can be asked (`available`), and if not, why (`reason`)."""
        return cast(Object, await self.request("model/availability"))

    # Tools

    def tool(
        self,
        name: str,
        description: str,
        parameters: OptionalObject = None,
        timeout: float | None = None,
    ) -> Callable[[Handler], Handler]:
        """Makes the decorated function a tool; see `register_tool`."""

        def decorate(handler: Handler) -> Handler:
            self.register_tool(name, description, parameters, handler, timeout)
            return handler

        return decorate

    def register_tool(
        self,
        name: str,
        description: str,
        parameters: OptionalObject,
        handler: AnyHandler,
        timeout: float | None = None,
    ) -> None:
        """The handler gets the arguments, and a `ToolContext` if it has a second parameter. It returns text or any
        JSON value; what it raises is told to the model. It may be a coroutine function, which is cancelled when nobody
        waits for it any more, for instance after `timeout` seconds. `parameters` is the JSON Schema of the arguments.
        """
        self._dispatcher.tools.register(name, description, parameters, handler, timeout)

    def tool_definitions(self, names: Tools | None = None) -> list[Object]:
        """The definitions of all registered tools, or those named. Raises `KeyError` for a name that is not
        registered."""
        return self._dispatcher.tools.definitions(names)

    def _definitions(self, tools: Tools | None) -> list[Object] | None:
        return None if tools is None else self.tool_definitions(tools)

    # Sessions

    async def create_session(
        self,
        instructions: str | None = None,
        tools: Tools | None = None,
        options: OptionalObject = None,
        model: Json = None,
        history: OptionalObject = None,
        session: str | None = None,
    ) -> Session:
        """An agent. `tools` are names of registered tools, or definitions; `history` is a saved transcript to go on
        from."""
        params = given(
            instructions=instructions,
            tools=self._definitions(tools),
            options=options,
            model=model,
            history=history,
            session=session,
        )
        result = await self.request("session/create", params)
        return Session(self, result["session"], result["warnings"])

    def session(self, id: str) -> Session:
        """A handle on a session that exists. Nothing is sent."""
        return Session(self, id)

    async def list_sessions(self) -> list[Object]:
        return list((await self.request("session/list"))["sessions"])

    # Characters

    async def create_npc(
        self,
        persona: Mapping[str, Any],
        tools: Tools | None = None,
        world: str | World | None = None,
        options: OptionalObject = None,
        memory: OptionalObject = None,
        model: Json = None,
        npc: str | None = None,
    ) -> NPC:
        """A character. `world` is the world it lives in."""
        params = given(
            persona=persona,
            tools=self._definitions(tools),
            world=_world_id(world),
            options=options,
            memory=memory,
            model=model,
            npc=npc,
        )
        return self._made_npc(await self.request("npc/create", params))

    async def restore_npc(
        self,
        state: Mapping[str, Any],
        npc: str | None = None,
        tools: Tools | Unset | None = _UNSET,
        options: OptionalObject | Unset = _UNSET,
        world: str | World | Unset | None = _UNSET,
        model: Json = None,
    ) -> NPC:
        """A character from what `NPC.state` gave. Of `tools`, `options` and `world` those that are left out are as
        they were saved; None is none.
        """
        params = {"state": state, **given(npc=npc, model=model)}
        if not isinstance(tools, Unset):
            params["tools"] = self._definitions(tools)
        if not isinstance(options, Unset):
            params["options"] = options
        if not isinstance(world, Unset):
            params["world"] = _world_id(world)
        return self._made_npc(await self.request("npc/restore", params))

    def _made_npc(self, result: Object) -> NPC:
        return NPC(self, result["npc"], result["tools"], result["warnings"])

    def npc(self, id: str) -> NPC:
        """A handle on a character that exists. Nothing is sent."""
        return NPC(self, id)

    async def list_npcs(self) -> list[Object]:
        return list((await self.request("npc/list"))["npcs"])

    # Decisions and content

    async def decide(
        self,
        situation: Json,
        options: Sequence[str | Mapping[str, Any]],
        actor: str | Mapping[str, Any] | NPC | None = None,
        context: Json = None,
        tools: Tools | None = None,
        tool_choice: Json = None,
        fallback: str | None = None,
        **settings: Any,
    ) -> Decision:
        """Has a character choose one of the options. `fallback`, the protocol's `fallbackOptionID`, is chosen where the
        model may not answer. `settings` are `instructions`, `temperature`, `max_tool_rounds`, `tool_timeout_seconds`,
        `model`.
        """
        params = given(
            situation=situation,
            options=options,
            actor=actor.id if isinstance(actor, NPC) else actor,
            context=context,
            tools=self._definitions(tools),
            toolChoice=tool_choice,
            fallbackOptionID=fallback,
            **camel_case(settings, DECIDE),
        )
        return cast(Decision, await self.request("decision/decide", params))

    async def decide_many(
        self, requests: Sequence[Mapping[str, Any]], max_concurrency: int | None = None, **settings: Any
    ) -> list[Decision]:
        """Decisions of a crowd, in the order of `requests`, each of which has the params of `decision/decide`. One
        that failed is `{"error": …}`. `settings` hold for all.
        """
        resolved = [{**request, **given(tools=self._definitions(request.get("tools")))} for request in requests]
        params = given(requests=resolved, maxConcurrency=max_concurrency, **camel_case(settings, DECIDE))
        return list((await self.request("decision/decideMany", params))["results"])

    async def generate(
        self,
        prompt: str,
        schema: Mapping[str, Any],
        instructions: str | None = None,
        context: Json = None,
        tools: Tools | None = None,
        **settings: Any,
    ) -> Json:
        """One thing in the form of a JSON Schema. `settings` are `temperature`, `tool_timeout_seconds`, `model`."""
        params = given(
            prompt=prompt,
            schema=schema,
            instructions=instructions,
            context=context,
            tools=self._definitions(tools),
            **camel_case(settings, GENERATE),
        )
        return (await self.request("content/generate", params))["content"]

    # Worlds

    async def create_world(self, state: OptionalObject = None, world: str | None = None) -> World:
        return World(self, (await self.request("world/create", given(state=state, world=world)))["world"])

    def world(self, id: str) -> World:
        """A handle on a world that exists. Nothing is sent."""
        return World(self, id)

    async def list_worlds(self) -> list[Object]:
        return list((await self.request("world/list"))["worlds"])


def _world_id(world: str | World | None) -> str | None:
    return world.id if isinstance(world, World) else world


def _library_to_use() -> str | None:
    """None where a program is to be started: `OAM_BIN` is set and `OAM_LIBRARY` is not, or there is no library."""
    if os.environ.get("OAM_BIN") and not os.environ.get("OAM_LIBRARY"):
        return None
    try:
        return find_library()
    except OSError:
        if os.environ.get("OAM_LIBRARY"):
            raise
    if find_program() is None:
        raise OSError(
            f"There is no oam. Looked for {places_of_library()}; and for {places_of_program()}. "
            "Install it, or name it: Bridge(library=…) or Bridge(command=…)."
        )
    return None


def _close_all() -> None:
    for bridge in list(_live_bridges.values()):
        bridge.close()


def _forget_all() -> None:
    for bridge in list(_live_bridges.values()):
        bridge._forget()
    _live_bridges.clear()


atexit.register(_close_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)
