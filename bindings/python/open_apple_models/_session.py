"""Agents: instructions, tools and one conversation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Callable, Optional, cast

from ._dispatch import Pending
from ._params import RESPOND, camel_case, given
from ._stream import Stream, text_so_far
from ._types import EventHandler, Object, Tools, Turn

if TYPE_CHECKING:
    from ._bridge import Bridge


class Session:
    """A session of the bridge. `warnings` is what `session/create` warned about."""

    def __init__(self, bridge: Bridge, id: str, warnings: Sequence[str] = ()) -> None:
        self.bridge = bridge
        self.id = id
        self.warnings: list[str] = list(warnings)

    def __repr__(self) -> str:
        return f"<Session {self.id!r}>"

    async def respond(
        self,
        prompt: str,
        schema: Mapping[str, Any] | None = None,
        on_text: Callable[[str], Any] | None = None,
        on_event: EventHandler | None = None,
        **policy: Any,
    ) -> Turn:
        """Runs a turn. With a `schema` the answer is `result["structured"]`.

        `on_text` gets the text as it comes, or all of it if the model started over; `on_event` gets every event.
        `policy` stands in place of the session's options: `tool_choice`, `max_tool_rounds`, `max_tool_calls`,
        `enabled_tools`.

        If the task that waits is cancelled, the turn is cancelled too.
        """
        call = self.bridge._dispatcher.call

        def on_both(event: Object) -> None:
            if on_event is not None:
                call(on_event, event)
            if on_text is not None and event.get("type") == "text":
                call(on_text, event["delta"])

        streams = on_text is not None or on_event is not None
        turn = self._begin_turn(prompt, schema, on_both if streams else None, policy)
        return cast(Turn, await self.bridge._dispatcher.finish(turn))

    def stream(self, prompt: str, schema: Mapping[str, Any] | None = None, **policy: Any) -> Stream[Turn]:
        """A turn to be iterated over: each item is the whole text so far."""
        dispatcher = self.bridge._dispatcher
        return Stream(dispatcher, lambda on_event: self._begin_turn(prompt, schema, on_event, policy), text_so_far)

    def _begin_turn(
        self, prompt: str, schema: Mapping[str, Any] | None, on_event: EventHandler | None, policy: Mapping[str, Any]
    ) -> Pending:
        params = given(prompt=prompt, schema=schema, stream=on_event and True, **camel_case(policy, RESPOND))
        return self.bridge._dispatcher.begin_turn("session/respond", {"session": self.id, **params}, on_event)

    async def cancel(self) -> int:
        """Cancels the running turn and all that wait. Tells how many."""
        return int((await self._request("cancel"))["cancelled"])

    async def reset(self) -> None:
        """Forgets the conversation and the context note."""
        await self._request("reset")

    async def delete(self) -> None:
        await self._request("delete")

    async def transcript(self) -> Object:
        """The conversation, to be saved and given to `Bridge.create_session` as `history`."""
        return cast(Object, (await self._request("transcript"))["transcript"])

    async def set_instructions(self, text: str | None) -> None:
        """From the next turn on; None is no instructions."""
        await self._request("setInstructions", {"instructions": text})

    async def set_context_note(self, note: str | None) -> None:
        """What the model should know right now, from the next turn on; None is no note."""
        await self._request("setContextNote", {"note": note})

    async def set_tools(self, tools: Tools) -> list[str]:
        """Replaces all tools from the next turn on. Gives warnings."""
        definitions = self.bridge.tool_definitions(tools)
        return list((await self._request("setTools", {"tools": definitions}))["warnings"])

    async def compact(self, keep_recent_turns: int = 2) -> str | None:
        """Has all turns but the last summarized into the context note. The summary; None if there was nothing to
        do."""
        result = await self._request("compact", {"keepRecentTurns": keep_recent_turns})
        return cast(Optional[str], result["summary"])

    async def _request(self, action: str, params: Mapping[str, Any] | None = None) -> Object:
        return cast(Object, await self.bridge.request(f"session/{action}", {"session": self.id, **(params or {})}))
