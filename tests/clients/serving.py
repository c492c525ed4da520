"""A server for OpenAI's Python client. OAM_BIN names the program."""

import json
import os
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path

import openai


def call(name, **arguments):
    """A tool call of a script."""
    return {"name": name, "arguments": arguments}


@contextmanager
def serving(steps, *arguments, **options):
    """A client of a server that plays these steps, or without steps asks what the arguments name."""
    with tempfile.TemporaryDirectory() as folder:
        environment = dict(os.environ)
        if steps is not None:
            script = Path(folder, "script.json")
            script.write_text(json.dumps(steps))
            environment["OAM_SCRIPT"] = str(script)
        command = [os.environ["OAM_BIN"], "serve", "--port", "0", "--log-level", "error", *arguments]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as server:
            try:
                url = server.stdout.readline().split()[4]
                with openai.OpenAI(base_url=url, **{"api_key": "any", "max_retries": 0, **options}) as client:
                    yield client
            finally:
                server.terminate()
                server.communicate(timeout=30)
        assert server.returncode == 0, server.returncode
