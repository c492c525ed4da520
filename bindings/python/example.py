"""A tour of the package: agents with tools, structured answers, and a smith in his village.

    python example.py [--live]

Answers come from scripts, so they are the same each time; with --live they come from the system's model.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any

from open_apple_models import Bridge, BridgeError, ToolContext, ToolError

LIVE = "--live" in sys.argv[1:]

STOCK = {"sword": {"count": 3, "price": 45}, "shield": {"count": 1, "price": 60}}
ITEM = {"type": "object", "properties": {"item": {"type": "string", "description": "singular"}}, "required": ["item"]}
CHOICE = {
    "type": "object",
    "properties": {"reasoning": {"type": "string"}, "choice": {"enum": ["sell", "refuse"]}},
    "required": ["reasoning", "choice"],
}


def model(*steps: dict[str, Any]) -> dict[str, Any] | None:
    return None if LIVE else {"type": "scripted", "steps": list(steps)}


def calls(tool: str, **arguments: Any) -> dict[str, Any]:
    return {"toolCalls": [{"name": tool, "arguments": arguments}]}


def register_tools(bridge: Bridge) -> None:
    @bridge.tool("check_inventory", "Says how many of an item are in stock, and what one costs.", ITEM)
    async def check_inventory(arguments: dict[str, Any], context: ToolContext) -> dict[str, int]:
        item = arguments["item"].lower()
        print(f"  [{context.npc or context.session} looks for {item}]")
        await asyncio.sleep(0.01)  # Where a game would walk to the shelf.
        item = item if item in STOCK else item.rstrip("s")
        if item not in STOCK:
            raise ToolError(f"There is no {item}. There are: {', '.join(STOCK)}.")
        return STOCK[item]

    @bridge.tool("wave", "Waves at the player.")
    def wave(_: dict[str, Any]) -> None:
        print("  [waves]")


def show(text: str) -> None:
    print(text, end="", flush=True)


async def talk_to_an_agent(bridge: Bridge) -> None:
    script = model(
        calls("check_inventory", item="swords"),
        {"text": "Three swords are left, 45 gold each."},
        calls("check_inventory", item="bow"),
        {"text": "No bows here, friend. A sword, perhaps?"},
        {"json": {"choice": "sell", "reasoning": "The price is fair."}},
    )
    smith = await bridge.create_session(
        "You are Gorm, a blacksmith. Answer in a sentence or two.", tools=["check_inventory", "wave"], model=script
    )

    print("> Any swords?")
    turn = await smith.respond("Any swords?", on_text=show, tool_choice={"tool": "check_inventory"})
    print(f"\n  tools: {[record['output'] for record in turn['toolCalls']]}")

    print("> And a bow?")
    turn = await smith.respond("And a bow?", on_text=show, tool_choice={"tool": "check_inventory"})
    print(f"\n  error: {turn['toolCalls'][0]['output']}")

    turn = await smith.respond("I offer 45 gold for a sword.", schema=CHOICE, tool_choice="none")
    print(f"> 45 gold? {turn['structured']['choice']}: {turn['structured']['reasoning']}")

    saved = await smith.transcript()
    again = await bridge.create_session(history=saved, model=model({"text": "Swords, a bow, and a price."}))
    print("> What did we talk about?")
    async for text in again.stream("What did we talk about?"):
        show(f"\r{text}")
    print()


async def visit_the_village(bridge: Bridge) -> None:
    village = await bridge.create_world({"player": {"name": "Aria", "gold": 60}, "weather": "rain"}, world="village")
    await village.subscribe(lambda change: print(f"  [{change['path']} is {change.get('newValue')}]"), "player")
    gorm = await bridge.create_npc(
        {"name": "Gorm", "role": "the village blacksmith", "personality": "Gruff, but fair."},
        tools=["check_inventory"],
        world=village,
        options={"groundingTool": "check_inventory", "worldReadable": [], "worldContextPaths": ["player"]},
        model=model(
            calls("check_inventory", item="sword"),
            {
                "json": {
                    "emotion": "proud",
                    "line": "Three swords, lass. 45 gold each.",
                    "player_options": ["I take one."],
                }
            },
            calls("check_inventory", item="shield"),
            {"json": {"emotion": "happy", "line": "One shield left.", "player_options": []}},
        ),
        npc="gorm",
    )
    for line in ("Got any swords?", "I take one. And a shield?"):
        print(f"> {line}")
        reply = await gorm.talk(line, on_emotion=lambda emotion: show(f"Gorm ({emotion}): "))
        print(f"{reply['line']} {reply['playerOptions']}")
        await village.set("player.gold", await village.get("player.gold") - 15)

    decision = await bridge.decide(
        "Aria is short of gold and asks for credit.",
        [{"id": "trust", "description": "Let her pay later"}, {"id": "refuse", "description": "No gold, no steel"}],
        actor=gorm,
        context=await village.snapshot(),
        fallback="refuse",
        model=model({"json": {"reasoning": "She came back twice.", "choice": "trust", "confidence": 70}}),
    )
    print(f"Gorm decides: {decision['optionID']} ({decision['reasoning']})")
    state = await gorm.state()
    print(f"Saved: {state['npc']} of {state['world']}, {len(state['transcript']['transcript']['entries'])} entries")


async def main() -> None:
    async with Bridge() as bridge:
        info = await bridge.initialize("example")
        print(f"oam {info['server']['version']}; model available: {info['model']['available']}")
        bridge.call_blocking("ping")
        register_tools(bridge)
        await talk_to_an_agent(bridge)
        await visit_the_village(bridge)
        try:
            await bridge.request("session/respond", {"session": "nobody", "prompt": "Hello?"})
        except BridgeError as error:
            print(f"As expected: {error.name}")


if __name__ == "__main__":
    asyncio.run(main())
