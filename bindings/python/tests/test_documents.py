"""What the documents show is run."""

from __future__ import annotations

import re
import subprocess
import sys
import unittest
from pathlib import Path

import open_apple_models
from open_apple_models import find_library, find_program

from .support import PATIENCE, ROOT, environment_of_tests

PACKAGE = ROOT / "bindings" / "python"
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def section(document: Path, heading: str) -> str:
    parts = re.split(r"^## ", document.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return next(part for part in parts if part.startswith(f"{heading}\n"))


def run(*arguments: str, **environment: str) -> str:
    """What the program prints; it has to end well, and to print nothing of errors."""
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env={**environment_of_tests(), "PYTHONIOENCODING": "utf-8", **environment},
        capture_output=True,
        encoding="utf-8",
        timeout=PATIENCE,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout


class Documents(unittest.TestCase):
    def each_transport(self) -> list[dict[str, str]]:
        program, library = str(find_program()), find_library()
        return [{"OAM_LIBRARY": library, "OAM_BIN": ""}, {"OAM_LIBRARY": "", "OAM_BIN": program}]

    def test_the_example_tells_its_story(self) -> None:
        for transport in self.each_transport():
            with self.subTest(transport):
                said = run(str(PACKAGE / "example.py"), **transport)
                self.assertIn("Three swords are left, 45 gold each.", said)
                self.assertIn("error: There is no bow.", said)
                self.assertIn("Gorm decides: trust", said)
                self.assertTrue(said.endswith("As expected: session_not_found\n"), said)

    def test_ten_lines_make_a_smith(self) -> None:
        (block,) = BLOCK.findall(section(ROOT / "bindings" / "README.md", "Python"))
        for transport in self.each_transport():
            with self.subTest(transport):
                self.assertIn("Three swords, lad.", run("-c", block, **transport))

    def test_every_block_of_the_readme_runs(self) -> None:
        blocks = BLOCK.findall((PACKAGE / "README.md").read_text(encoding="utf-8"))
        self.assertTrue(blocks)
        for number, block in enumerate(blocks, 1):
            with self.subTest(block=number):
                run("-c", block)

    def test_the_module_tells_what_it_found(self) -> None:
        self.assertRegex(run("-m", "open_apple_models"), r"oam \d+\.\d+\.\d+, .*\nThe model is ")

    def test_the_readme_names_all_that_is_public(self) -> None:
        text = (PACKAGE / "README.md").read_text(encoding="utf-8")
        names = [name for name in open_apple_models.__all__ if not name.startswith("_")]
        self.assertEqual([name for name in names if f"`{name}" not in text], [])

    def test_the_package_has_the_version_and_the_licence_of_the_project(self) -> None:
        cargo = (ROOT / "Cargo.toml").read_text(encoding="utf-8")
        (version,) = re.findall(r'^\[workspace\.package\]\nversion = "(.*)"', cargo, flags=re.MULTILINE)
        self.assertEqual(open_apple_models.__version__, version)
        self.assertEqual((PACKAGE / "LICENSE").read_bytes(), (ROOT / "LICENSE").read_bytes())
