"""A JSON object that the game and its characters share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from ._types import EventHandler, Json, Object

if TYPE_CHECKING:
    from ._bridge import Bridge


class World:
    """A world of the bridge. Paths are keys and list positions joined by dots, `party.0.name`; `""` is all of it."""

    def __init__(self, bridge: Bridge, id: str) -> None:
        self.bridge = bridge
        self.id = id
        self._subscriptions: set[str] = set()

    def __repr__(self) -> str:
        return f"<World {self.id!r}>"

    async def get(self, path: str = "", default: Json = None) -> Json:
        """What is at the path, `default` if there is nothing."""
        result = await self._request("get", path=path)
        return result["value"] if result["exists"] else default

    async def set(self, path: str, value: Json) -> int:
        """Gives the world's version, which counts changes."""
        return int((await self._request("set", path=path, value=value))["version"])

    async def merge(self, patch: Mapping[str, Any], path: str = "") -> int:
        """Merges objects, deletes what is None, replaces all else. Gives the world's version."""
        return int((await self._request("merge", path=path, patch=patch))["version"])

    async def remove(self, path: str) -> Json:
        """Gives the value that was there, None if there was none."""
        return (await self._request("remove", path=path)).get("oldValue")

    async def snapshot(self) -> Object:
        """All of it."""
        return cast(Object, (await self._request("snapshot"))["state"])

    async def subscribe(self, handler: EventHandler, path: str = "") -> str:
        """From now on the handler gets each change at, inside or above the path: `path`, `oldValue` where there was a
        value, `newValue` where there still is one. Gives the subscription's id.
        """

        def begin(result: Object) -> None:
            self.bridge._dispatcher.subscribe(result["subscription"], handler)
            self._subscriptions.add(result["subscription"])

        params = {"world": self.id, "path": path}
        result = await self.bridge._dispatcher.request("world/subscribe", params, on_result=begin)
        return str(result["subscription"])

    async def unsubscribe(self, subscription: str) -> None:
        await self.bridge.request("world/unsubscribe", {"subscription": subscription})
        self._forget(subscription)

    async def delete(self) -> None:
        """Ends the subscriptions, too."""
        await self._request("delete")
        for subscription in list(self._subscriptions):
            self._forget(subscription)

    def _forget(self, subscription: str) -> None:
        self._subscriptions.discard(subscription)
        self.bridge._dispatcher.unsubscribe(subscription)

    async def _request(self, action: str, **params: Any) -> Object:
        return cast(Object, await self.bridge.request(f"world/{action}", {"world": self.id, **params}))
