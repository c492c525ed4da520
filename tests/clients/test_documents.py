"""The examples for Python in the document of the server."""

import re
import subprocess
import sys
import unittest
from pathlib import Path

from serving import call, serving

DOCUMENT = Path(__file__).parents[2].joinpath("docs", "SERVER.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```python\n(.*?)^```$", DOCUMENT, re.DOTALL | re.MULTILINE)
# What the model does in each, and what is printed.
PLAYS = [
    ([{"text": "Amber, crimson and gold."}], "Amber, crimson and gold.\n"),
    ([{"toolCalls": [call("get_weather", city="Paris")]}, {"template": "It is {toolOutput}."}], "It is sunny.\n"),
]


class Documents(unittest.TestCase):
    def test_every_example_prints_what_it_should(self):
        self.assertEqual(len(EXAMPLES), len(PLAYS))
        for example, (steps, printed) in zip(EXAMPLES, PLAYS):
            with self.subTest(example), serving(steps) as client:
                code = example.replace("http://127.0.0.1:1976/v1", str(client.base_url).rstrip("/"))
                run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
                self.assertEqual((run.stdout, run.stderr), (printed, ""))


if __name__ == "__main__":
    unittest.main()
