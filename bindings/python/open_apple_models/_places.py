"""Where this package is, and what was installed with it or built beside it."""

from __future__ import annotations

import importlib.metadata
import pathlib

PACKAGE = pathlib.Path(__file__).resolve().parent


def installed(name: str) -> list[pathlib.Path]:
    """The program of that name that came with this package, if one did."""
    try:
        files = importlib.metadata.files("open-apple-models") or []
    except importlib.metadata.PackageNotFoundError:
        return []
    return [pathlib.Path(str(file.locate())).resolve() for file in files if file.name == name]


def build_folders() -> list[pathlib.Path]:
    """Where cargo builds, if the package is used from a checkout."""
    root = PACKAGE.parents[2]
    in_checkout = root / "bindings" / "python" / PACKAGE.name == PACKAGE
    return [root / "target" / profile for profile in ("release", "debug")] if in_checkout else []
