"""How `oam` runs: the same settings for the library, as options, and for a process, as flags."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from typing import TypedDict


class Settings(TypedDict, total=False):
    """How `oam` runs its workers, and its limits. What is left out has `oam`'s default.

    `worker` is the worker program and its arguments, `workers` how many play steps at the same time, `spare` whether
    one more stands ready, `streaming` `"auto"`, `"always"` or `"never"`, `scriptedModels` whether requests may bring
    scripted models.
    """

    worker: Sequence[str]
    workers: int
    spare: bool
    streaming: str
    stepTimeoutSeconds: float
    maxStepCrashes: int
    maxSessions: int
    toolTimeoutSeconds: float
    scriptedModels: bool


_FLAGS = {
    "workers": "--workers",
    "streaming": "--streaming",
    "stepTimeoutSeconds": "--step-timeout",
    "maxStepCrashes": "--max-step-crashes",
    "maxSessions": "--max-sessions",
    "toolTimeoutSeconds": "--tool-timeout",
}


def as_options(settings: Settings) -> str:
    """For the library. Raises `ValueError` for a name that is no setting."""
    _check(settings)
    return json.dumps(settings, default=list)


def as_flags(settings: Settings) -> list[str]:
    """For `oam stdio`. Raises `ValueError` for a name that is no setting."""
    _check(settings)
    flags: list[str] = []
    for name, value in settings.items():
        if name in _FLAGS:
            flags += [_FLAGS[name], str(value)]
    if "worker" in settings:
        flags += ["--worker", shlex.join(settings["worker"])]
    if "spare" in settings:
        flags.append("--spare" if settings["spare"] else "--no-spare")
    if not settings.get("scriptedModels", True):
        flags.append("--no-scripted-models")
    return flags


def _check(settings: Settings) -> None:
    for name in settings:
        if name not in Settings.__annotations__:
            raise ValueError(f"'settings' has no member '{name}'. It may have: {', '.join(Settings.__annotations__)}.")
    worker = settings.get("worker", [])
    if isinstance(worker, (str, bytes)) or not all(isinstance(word, str) for word in worker):
        raise ValueError("'settings.worker' is a list of texts: the program and its arguments.")
