"""Answers as asynchronous iterators."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any, Callable, Generic, Optional, TypeVar, Union

from ._types import EventHandler, Object

Result = TypeVar("Result")
Start = Callable[[EventHandler], Awaitable[Result]]
Read = Callable[[Object], Optional[str]]


class Stream(Generic[Result]):
    """A turn that begins with the first `async for` over it. Afterwards `result` is what the turn gave; an error of the turn
    is raised in the loop. A stream that is left early, or closed, cancels its turn.
    """

    def __init__(self, start: Start[Result], read: Read) -> None:
        self._start = start
        self._read = read
        self._items: asyncio.Queue[str | None] = asyncio.Queue()
        self._turn: asyncio.Task[Result] | None = None

    @property
    def result(self) -> Result:
        """Raises `RuntimeError` as long as the turn is not over, and the turn's error if it failed."""
        if self._turn is None or not self._turn.done():
            raise RuntimeError("The stream is not over: its result comes last.")
        return self._turn.result()

    def __aiter__(self) -> Stream[Result]:
        return self

    async def __anext__(self) -> str:
        if self._turn is None:
            self._turn = asyncio.ensure_future(_run(self._start, self._read, self._items))
        item = await self._next(self._turn)
        if item is not None:
            return item
        if not self._turn.cancelled():
            await self._turn
        raise StopAsyncIteration

    async def _next(self, turn: asyncio.Task[Result]) -> str | None:
        if turn.done() and self._items.empty():
            return None
        try:
            return await self._items.get()
        except asyncio.CancelledError:
            turn.cancel()
            raise

    async def aclose(self) -> None:
        """Cancels the turn if it still runs."""
        if self._turn is not None and not self._turn.done():
            self._turn.cancel()
            await asyncio.wait([self._turn])

    async def __aenter__(self) -> Stream[Result]:
        return self

    async def __aexit__(self, *_: Any) -> None:
        await self.aclose()

    def __del__(self) -> None:
        if self._turn is not None and not self._turn.done():
            try:
                self._turn.get_loop().call_soon_threadsafe(self._turn.cancel)
            except RuntimeError:
                pass  # The loop is closed, and with it the turn.


async def _run(start: Start[Result], read: Read, items: asyncio.Queue[str | None]) -> Result:
    """Does not know the stream, which can so be dropped while this runs."""

    def on_event(event: Object) -> None:
        item = read(event)
        if item is not None:
            items.put_nowait(item)

    try:
        return await start(on_event)
    finally:
        items.put_nowait(None)


def text_of(event: Object) -> str | None:
    """What a session says more; all of it if it started over."""
    return str(event.get("delta", "")) if event.get("type") == "text" else None


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
