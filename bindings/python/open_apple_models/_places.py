"""Where this package is, and what was built beside it."""

from __future__ import annotations

import pathlib

PACKAGE = pathlib.Path(__file__).resolve().parent


def build_folders() -> list[pathlib.Path]:
    """Where cargo builds, if the package is used from a checkout."""
    root = PACKAGE.parents[2]
    in_checkout = PACKAGE == root / "bindings" / "python" / PACKAGE.name
    return [root / "target" / profile for profile in ("release", "debug")] if in_checkout else []
