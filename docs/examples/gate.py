#!/usr/bin/env python3
"""A game in a few lines: a guard who is asked to open a gate. Starts the `oam` that OAM_BIN names, or the one in
PATH, or builds it with cargo.

The model is scripted, so the conversation is the same each time. All else is what a game does: it sends requests,
shows the text as it comes, carries out the tool calls, and uses the structured answer.
"""

import json
import os
import pathlib
import shutil
import subprocess

CARGO = ["cargo", "run", "--release", "--package", "oam", "--"]
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FOUND = os.environ.get("OAM_BIN") or shutil.which("oam")
PROGRAM = [FOUND] if FOUND else CARGO

oam = subprocess.Popen(
    PROGRAM + ["stdio"], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8", bufsize=1
)


def send(**message):
    oam.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")


def call(method, **params):
    """Sends a request and serves `oam` until its response is there."""
    send(id=method, method=method, params=params)
    for line in oam.stdout:
        message = json.loads(line)
        if message.get("method") == "tool/call":
            answer_tool(message)
        elif message.get("method") == "session/event":
            show(message["params"]["event"])
        elif message.get("id") == method:
            if "error" in message:
                raise SystemExit(message["error"]["message"])
            return message["result"]
    raise SystemExit("oam has ended")


def answer_tool(message):
    """Here a game would play the animation, and answer when it is over."""
    asked = message["params"]["call"]
    output = {"opened": False, "reason": "the chain is jammed"}
    print(f"  game   {asked['name']} {json.dumps(asked['arguments'])} -> {json.dumps(output)}")
    send(id=message["id"], result={"output": output})


def show(event):
    if event["type"] == "text":
        print(event["delta"], end="", flush=True)


def say(line, **params):
    print(f"  player {line}")
    return call("session/respond", session="guard", prompt=line, stream=True, **params)


call(
    "session/create",
    session="guard",
    instructions="You are a castle guard. Use tools to act. Answer in one sentence.",
    tools=[{
        "name": "open_gate",
        "description": "Opens a gate of the castle. Returns whether it opened.",
        "parameters": {"type": "object", "properties": {"gate": {"enum": ["north", "south"]}}, "required": ["gate"]},
    }],
    model={"type": "scripted", "steps": [
        {"toolCalls": [{"name": "open_gate", "arguments": {"gate": "north"}}]},
        {"text": "\n  guard  The north gate stays shut: its chain is jammed.\n\n"},
        {"json": {"reason": "A jammed chain needs a smith.", "choice": "fetch_smith"}},
    ]},
)
say("Open the north gate, please.", toolChoice={"tool": "open_gate"})
decision = say("What will you do about it?", toolChoice="none", schema={
    "type": "object",
    "properties": {"reason": {"type": "string"}, "choice": {"enum": ["fetch_smith", "keep_watch", "use_force"]}},
    "required": ["reason", "choice"],
})["structured"]
print(f"  game   the guard decides: {decision['choice']} ({decision['reason']})")
call("shutdown")
