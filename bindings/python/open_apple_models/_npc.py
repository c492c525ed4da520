"""Characters of the game: a persona, a memory, a conversation, perhaps a world."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Callable, cast

from ._dispatch import Pending
from ._params import given
from ._stream import LineReader, Stream
from ._types import EventHandler, Json, Object, OptionalObject, Reply, Tools

if TYPE_CHECKING:
    from ._bridge import Bridge


class NPC:
    """A character of the bridge. `tools` are the names of all tools that its model sees, `warnings` what `npc/create`
    warned about.
    """

    def __init__(self, bridge: Bridge, id: str, tools: Sequence[str] = (), warnings: Sequence[str] = ()) -> None:
        self.bridge = bridge
        self.id = id
        self.tools: list[str] = list(tools)
        self.warnings: list[str] = list(warnings)

    def __repr__(self) -> str:
        return f"<NPC {self.id!r}>"

    async def talk(
        self,
        line: str,
        context: Json = None,
        on_line: Callable[[str], Any] | None = None,
        on_emotion: Callable[[str], Any] | None = None,
        on_event: EventHandler | None = None,
        tool_choice: Json = None,
    ) -> Reply:
        """Runs a turn of dialogue; `line` is what the player says, `context` what is happening right now.

        `on_line` gets the whole line so far whenever it changes, `on_emotion` the emotion as soon as it is known,
        `on_event` every event. If the task that waits is cancelled, the turn is cancelled too.
        """
        call = self.bridge._dispatcher.call
        read_line = LineReader()

        def on_all(event: Object) -> None:
            if on_event is not None:
                call(on_event, event)
            shown = read_line(event)
            if on_line is not None and shown is not None:
                call(on_line, shown)
            if on_emotion is not None and event.get("type") == "emotion":
                call(on_emotion, event["emotion"])

        streams = not (on_line is None and on_emotion is None and on_event is None)
        turn = self._begin_turn(line, context, tool_choice, on_all if streams else None)
        return cast(Reply, await self.bridge._dispatcher.finish(turn))

    def stream(self, line: str, context: Json = None, tool_choice: Json = None) -> Stream[Reply]:
        """A turn of dialogue to be iterated over: each item is the whole line so far."""
        dispatcher = self.bridge._dispatcher
        return Stream(dispatcher, lambda on_event: self._begin_turn(line, context, tool_choice, on_event), LineReader())

    def _begin_turn(self, line: str, context: Json, tool_choice: Json, on_event: EventHandler | None) -> Pending:
        params = given(line=line, context=context, toolChoice=tool_choice, stream=on_event and True)
        return self.bridge._dispatcher.begin_turn("npc/talk", {"npc": self.id, **params}, on_event)

    async def bark(self, situation: Json = None) -> str:
        """A short line in passing, which is no part of the conversation."""
        return str((await self._request("bark", given(situation=situation)))["line"])

    async def state(self, settle: bool = True) -> Object:
        """The character as it is saved, for `Bridge.restore_npc`. With `settle` all that is under way ends first."""
        return cast(Object, (await self._request("state", {"settle": settle}))["state"])

    async def update(
        self,
        persona: OptionalObject = None,
        options: OptionalObject = None,
        memory: OptionalObject = None,
        tools: Tools | None = None,
    ) -> list[str]:
        """Changes what is named, from the next turn on; a member that is None goes back to its default. Gives
        warnings."""
        definitions = None if tools is None else self.bridge.tool_definitions(tools)
        params = given(persona=persona, options=options, memory=memory, tools=definitions)
        return list((await self._request("update", params))["warnings"])

    async def reset(self, clear_memory: bool = False) -> None:
        """Forgets the conversation, and with `clear_memory` the memory."""
        await self._request("reset", {"clearMemory": clear_memory})

    async def cancel(self) -> int:
        """Cancels the running turn and all that wait, barks excepted. Tells how many."""
        return int((await self._request("cancel"))["cancelled"])

    async def delete(self) -> None:
        await self._request("delete")

    async def _request(self, action: str, params: Mapping[str, Any] | None = None) -> Object:
        return cast(Object, await self.bridge.request(f"npc/{action}", {"npc": self.id, **(params or {})}))
