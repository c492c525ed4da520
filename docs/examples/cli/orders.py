#!/usr/bin/env python3
"""Asks a model that may call a tool of this program: the loop around exit code 10. `oam` is the one in PATH."""

import json
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ORDERS = {"A17": {"state": "shipped", "days": 2}}


def oam(*arguments):
    run = subprocess.run(
        ["oam", "respond", "--json", "--no-stdin", *sys.argv[1:], *arguments], stdout=subprocess.PIPE, text=True
    )
    if run.returncode not in (0, 10):
        raise SystemExit(run.returncode)
    return json.loads(run.stdout)


def output(call):
    order = call["arguments"]["order_id"]
    if order in ORDERS:
        return f"--tool-output={call['id']}={json.dumps(ORDERS[order])}"
    return f"--tool-error={call['id']}=there is no order {order}"


with tempfile.TemporaryDirectory() as folder:
    talk = f"--save-transcript={folder}/talk.json"
    result = oam(talk, f"--tools={HERE}/tools.json", "Where is order A17?")
    while result["status"] == "tool_calls":
        result = oam(talk, f"--resume={folder}/talk.json", *map(output, result["calls"]))
    print(result["text"])
