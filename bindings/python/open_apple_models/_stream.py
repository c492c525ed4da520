"""Answers as asynchronous iterators."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Generic, Optional, TypeVar, cast

from ._dispatch import Dispatcher, Pending, call_on, is_current
from ._types import EventHandler, Object

Result = TypeVar("Result")
Begin = Callable[[EventHandler], Pending]
Read = Callable[[Object], Optional[str]]


class Stream(Generic[Result]):
    """A turn that begins with the first `async for` over it. Afterwards `result` is what the turn gave; an error of
    the turn is raised in the loop. A stream that is left early, or closed, cancels its turn.
    """

    def __init__(self, dispatcher: Dispatcher, begin: Begin, read: Read) -> None:
        self._dispatcher = dispatcher
        self._begin = begin
        self._read = read
        self._items: asyncio.Queue[str | None] = asyncio.Queue()
        self._turn: Pending | None = None

    @property
    def result(self) -> Result:
        """Raises `RuntimeError` as long as the turn is not over, and the turn's error if it failed."""
        if self._turn is None or not self._turn.future.done():
            raise RuntimeError("The stream is not over: its result comes last.")
        return cast(Result, self._turn.future.result())

    def __aiter__(self) -> Stream[Result]:
        return self

    async def __anext__(self) -> str:
        if self._turn is None:
            # The items do not know the stream, so that it can be dropped while the turn runs.
            self._turn = self._begin(_feeder(self._items, self._read))
            self._turn.future.add_done_callback(_ender(self._items))
        future = self._turn.future
        try:
            item = None if future.done() and self._items.empty() else await self._items.get()
        except asyncio.CancelledError:
            # Whoever holds the task holds the stream, so the turn may not wait for it to be dropped.
            await self.aclose()
            raise
        if item is not None:
            return item
        self._items.put_nowait(None)  # For another task that waits for an item.
        if not future.cancelled():
            await future
        raise StopAsyncIteration

    async def aclose(self) -> None:
        """Cancels the turn if it still runs."""
        if self._turn is not None and not self._turn.future.done():
            self._dispatcher.give_up(self._turn)

    async def __aenter__(self) -> Stream[Result]:
        return self

    async def __aexit__(self, *_: Any) -> None:
        await self.aclose()

    def __del__(self) -> None:
        turn = self._turn
        if turn is None or turn.future.done():
            return
        loop = turn.future.get_loop()
        if is_current(loop):
            # At once: what is sent next to the same session is not to wait for this turn.
            self._dispatcher.give_up(turn)
        else:
            give_up = self._dispatcher.give_up
            call_on(loop, lambda: give_up(turn))


def _feeder(items: asyncio.Queue[str | None], read: Read) -> EventHandler:
    def on_event(event: Object) -> None:
        item = read(event)
        if item is not None:
            items.put_nowait(item)

    return on_event


def _ender(items: asyncio.Queue[str | None]) -> Callable[[Any], None]:
    return lambda _: items.put_nowait(None)


def text_so_far(event: Object) -> str | None:
    """The whole text of a session so far, if the event has changed it."""
    return str(event["text"]) if event.get("type") == "text" else None


class LineReader:
    """The line of an NPC, as its events make it grow."""

    def __init__(self) -> None:
        self._line = ""

    def __call__(self, event: Object) -> str | None:
        """The whole line so far, if the event has changed it."""
        kind = event.get("type")
        if kind == "lineDelta":
            self._line += str(event.get("delta", ""))
        elif kind == "lineReset":
            self._line = str(event.get("line", ""))
        else:
            return None
        return self._line
