"""What the test of the wheel runs where it is installed: a smith who looks into his stock, over both transports."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from open_apple_models import Bridge, find_library, find_program


async def talk(bridge: Bridge, model: Any) -> str:
    async with bridge:
        looked: list[str] = []

        def check_inventory(arguments: dict[str, Any]) -> dict[str, int]:
            looked.append(arguments["item"])
            return {"count": 3, "price": 45}

        parameters = {"type": "object", "properties": {"item": {"type": "string"}}, "required": ["item"]}
        bridge.register_tool("check_inventory", "Counts an item in stock.", parameters, check_inventory)
        gorm = await bridge.create_npc({"name": "Gorm", "role": "the smith"}, tools=["check_inventory"], model=model)
        reply = await gorm.talk("Got any swords?")
        return f"{bridge}: {looked} {reply['emotion']}, {reply['line']}"


with open("smith.json", encoding="utf-8") as file:
    script = json.load(file)
for options in ({"library": find_library()}, {"command": find_program()}):
    said = asyncio.run(talk(Bridge(**options), script))
    print(said)
    assert "['sword'] proud, Three swords, lad." in said
