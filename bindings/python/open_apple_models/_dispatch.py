"""Where messages go: responses to those who wait for them, events to handlers, tool calls to tools.

All of it runs on one event loop, that of the program. Messages that come when there is none (a program without
asyncio, which uses `call_blocking`) are handled right on the transport's thread, and tools run on threads of their
own.
"""

from __future__ import annotations

import asyncio
import collections
import contextlib
import dataclasses
import inspect
import itertools
import threading
from collections.abc import Coroutine, Mapping
from typing import Any, Callable

from ._errors import BridgeError, shut_down
from ._tools import Toolbox
from ._transport import Request, Transport, log, refusal
from ._types import Cancel, EventHandler, Object

OnResult = Callable[[Object], None]


@dataclasses.dataclass
class Pending:
    """A request whose response has yet to come, on the loop of `future`."""

    request: Request
    future: asyncio.Future[Any]
    on_event: EventHandler | None
    on_result: OnResult | None


class Dispatcher:
    def __init__(self, loop: asyncio.AbstractEventLoop | None) -> None:
        self._loop = self._given_loop = loop
        self._transport: Transport | None = None
        self._lock = threading.Lock()
        self._draining = threading.RLock()
        self._inbox: collections.deque[Object | BridgeError] = collections.deque()
        self._pending: dict[str, Pending] = {}
        self._handlers: dict[str, list[EventHandler]] = collections.defaultdict(list)
        self._subscriptions: dict[str, EventHandler] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._ids = itertools.count(1)
        self._closed = False
        self.tools = Toolbox(self._spawn, self._answer)

    def attach(self, transport: Transport) -> None:
        self._transport = transport

    @property
    def transport(self) -> Transport:
        if self._transport is None:
            raise shut_down()
        return self._transport

    # Requests of the program

    async def request(
        self,
        method: str,
        params: Mapping[str, Any] | None,
        on_event: EventHandler | None = None,
        on_result: OnResult | None = None,
    ) -> Any:
        return await self.finish(self.begin(method, params, on_event, on_result))

    def begin(
        self,
        method: str,
        params: Mapping[str, Any] | None,
        on_event: EventHandler | None = None,
        on_result: OnResult | None = None,
    ) -> Pending:
        """Sends a request. `on_result` runs before any message that comes behind the response."""
        request = self.make_request(method, params)
        pending = Pending(request, self._bind().create_future(), on_event, on_result)
        self._pending[request.id] = pending
        try:
            if self._closed:
                raise shut_down()
            self.transport.send(request.line)
        except BridgeError:
            self._pending.pop(request.id, None)
            raise
        return pending

    def begin_turn(self, method: str, params: Mapping[str, Any], on_event: EventHandler | None) -> Pending:
        """Like `begin`, but the handler gets the events themselves."""

        def on_params(params: Object) -> None:
            event = params.get("event")
            if on_event is not None and isinstance(event, dict):
                on_event(event)

        return self.begin(method, params, on_params)

    async def finish(self, pending: Pending) -> Any:
        try:
            return await pending.future
        except asyncio.CancelledError:
            self.give_up(pending)
            raise

    def give_up(self, pending: Pending) -> None:
        """Nobody waits any more, so the model need not go on; but nothing else may be cancelled with it."""
        pending.future.cancel()
        if self._pending.pop(pending.request.id, None) is None:
            return
        owner = pending.request.runs_on
        if all(other.request.runs_on != owner for other in self._pending.values()):
            self.transport.give_up(pending.request)

    def make_request(self, method: str, params: Mapping[str, Any] | None) -> Request:
        return Request.of(f"py-{next(self._ids)}", method, params)

    def _bind(self) -> asyncio.AbstractEventLoop:
        running = asyncio.get_running_loop()
        with self._lock:
            current = self._loop
            if current is running:
                return running
            if current is not None:
                if current.is_running():
                    raise RuntimeError(
                        "This bridge serves another event loop, which is running. Make a bridge for each."
                    )
                if current.is_closed():
                    self._pending.clear()
                if self._pending:
                    raise RuntimeError("Requests of this bridge are still pending on another event loop.")
            self._loop = running
        running.call_soon(self._drain)
        return running

    def leave_stopped_loop(self) -> None:
        """Has handlers and tools run on threads until the next request on a loop, if nothing else runs them."""
        with self._lock:
            loop = self._loop
            if loop is not None and loop is not self._given_loop and not loop.is_running() and not self._pending:
                self._loop = None

    # Messages of the bridge

    def received(self, item: Object | BridgeError) -> None:
        """Takes a message, or the transport's end, on the transport's thread."""
        if self._closed:
            return
        self._inbox.append(item)
        loop = self._loop
        try:
            if loop is not None:
                loop.call_soon_threadsafe(self._drain_on, loop)
                return
        except RuntimeError:
            pass  # The loop is closed.
        self._drain()

    def _is_on_loop(self) -> bool:
        return self._loop is not None and is_current(self._loop)

    def _drain_on(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._loop is loop:
            self._drain()

    def _drain(self) -> None:
        with self._draining:
            while self._inbox and not self._closed:
                item = self._inbox.popleft()
                try:
                    self._handle(item)
                except Exception:
                    log.exception("A message of the bridge was not handled: %.200r", item)

    def _handle(self, message: Object | BridgeError) -> None:
        if isinstance(message, BridgeError):
            self._fail_all(message)
            return
        id, method = message.get("id"), message.get("method")
        params = message.get("params")
        params = params if isinstance(params, dict) else {}
        if method is None:
            self._handle_response(id, message)
        elif id is None:
            self._handle_notification(str(method), params)
        elif method == "tool/call":
            self.tools.start(id, params)
        else:
            self._answer(refusal(id, f"This client has no method '{method}'."))

    def _handle_response(self, id: Any, message: Object) -> None:
        pending = self._pending.pop(id, None) if isinstance(id, str) else None
        if pending is None:
            if id is None:
                log.error("The bridge could not read a message: %s", message.get("error"))
            return
        if pending.future.done() or pending.future.get_loop().is_closed():
            return
        if "error" in message:
            pending.future.set_exception(BridgeError.from_json(message["error"]))
            return
        result = message.get("result")
        if pending.on_result is not None:
            pending.on_result(result if isinstance(result, dict) else {})
        pending.future.set_result(result)

    def _handle_notification(self, method: str, params: Object) -> None:
        if method == "tool/cancel":
            self.tools.cancel(str(params.get("id")))
        request_id = params.get("requestId")
        pending = self._pending.get(request_id) if isinstance(request_id, str) else None
        if pending is not None and pending.on_event is not None:
            self.call(pending.on_event, params)
        if method == "world/changed":
            subscriber = self._subscriptions.get(str(params.get("subscription")))
            if subscriber is not None:
                self.call(subscriber, params)
        for handler in list(self._handlers.get(method, ())):
            self.call(handler, params)

    def on_notification(self, method: str, handler: EventHandler) -> None:
        self._handlers[method].append(handler)

    def subscribe(self, subscription: str, handler: EventHandler) -> None:
        self._subscriptions[subscription] = handler

    def unsubscribe(self, subscription: str) -> None:
        self._subscriptions.pop(subscription, None)

    def call(self, handler: Callable[[Any], Any], argument: Any) -> None:
        """Runs a handler of the program. What it raises is logged: nobody here can do more about it. Only an event loop
        ends by what ends programs; the transport's thread has to go on.
        """
        try:
            result = handler(argument)
        except BaseException as error:
            if isinstance(error, (KeyboardInterrupt, SystemExit)) and self._is_on_loop():
                raise
            log.exception("An event handler failed")
            return
        if inspect.isawaitable(result):
            self._spawn(_logged(result))

    def _answer(self, line: bytes) -> None:
        """Sends what nobody waits for. That the bridge has ended is told elsewhere."""
        with contextlib.suppress(BridgeError):
            self.transport.send(line)

    # Work of the program

    def _spawn(self, work: Coroutine[Any, Any, None]) -> Cancel:
        """Begins the work on the loop, or on a thread if there is none that runs."""
        loop = self._loop
        if loop is not None and not loop.is_closed():
            task = loop.create_task(work)
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            return lambda: call_on(loop, task.cancel)
        return _spawn_thread(work)

    # The end

    def close(self, error: BridgeError) -> None:
        """Fails what is pending and cancels tools. Nothing that comes later is handled. Any thread."""
        self._closed = True
        loop = self._loop
        if loop is None or loop.is_closed() or is_current(loop):
            self._fail_all(error)
        else:
            call_on(loop, lambda: self._fail_all(error))

    def abandon(self) -> None:
        """Gives everything up in a child that was forked, where no other thread lives."""
        self._closed = True
        self._lock = threading.Lock()
        self._draining = threading.RLock()
        self._pending.clear()

    def _fail_all(self, error: BridgeError) -> None:
        self.tools.cancel_all()
        while self._pending:
            _, pending = self._pending.popitem()
            if not pending.future.done() and not pending.future.get_loop().is_closed():
                pending.future.set_exception(error.copy())


async def _logged(awaitable: Any) -> None:
    try:
        await awaitable
    except Exception:
        log.exception("An event handler failed")


def _spawn_thread(work: Coroutine[Any, Any, None]) -> Cancel:
    loop = asyncio.new_event_loop()
    task = loop.create_task(work)

    def run() -> None:
        try:
            loop.run_until_complete(task)
        except asyncio.CancelledError:
            pass
        finally:
            loop.close()

    threading.Thread(target=run, name="oam-tool", daemon=True).start()
    return lambda: call_on(loop, task.cancel)


def call_on(loop: asyncio.AbstractEventLoop, call: Callable[[], Any]) -> None:
    with contextlib.suppress(RuntimeError):  # The loop is closed, and with it whatever ran there.
        loop.call_soon_threadsafe(call)


def is_current(loop: asyncio.AbstractEventLoop) -> bool:
    try:
        return asyncio.get_running_loop() is loop
    except RuntimeError:
        return False
