"""Tool-calling agents and game characters on on-device language models.

>>> async with Bridge() as bridge:
...     session = await bridge.create_session("You are a smith.")
...     print((await session.respond("Got any swords?"))["text"])
"""

from ._bridge import Bridge
from ._bridge import _live_bridges as _live_bridges
from ._errors import BridgeError
from ._library import find_library, load_library
from ._npc import NPC
from ._process import find_program
from ._session import Session
from ._settings import Settings
from ._stream import Stream
from ._tools import ToolContext, ToolError
from ._types import Decision, Reply, Step, ToolCall, ToolRecord, Turn, Usage
from ._world import World

__version__ = "0.1.0"

__all__ = [
    "NPC",
    "Bridge",
    "BridgeError",
    "Decision",
    "Reply",
    "Session",
    "Settings",
    "Step",
    "Stream",
    "ToolCall",
    "ToolContext",
    "ToolError",
    "ToolRecord",
    "Turn",
    "Usage",
    "World",
    "find_library",
    "find_program",
    "load_library",
]
