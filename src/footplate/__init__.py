"""Footplate runs coding agents and lets people and programs drive them from anywhere.

    async for event in footplate.run("claude", "fix the tests"):
        ...

What is re-exported here is imported when it is first used: `import footplate` itself costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from footplate.version import __version__

if TYPE_CHECKING:
    from footplate.errors import FootplateError
    from footplate.events.base import ResumeToken
    from footplate.events.runs import Action, Completed, RunEvent, Started
    from footplate.runtime.run import run

__all__ = ["Action", "Completed", "FootplateError", "ResumeToken", "RunEvent", "Started", "__version__", "run"]

_HOMES = {
    "Action": "footplate.events.runs",
    "Completed": "footplate.events.runs",
    "FootplateError": "footplate.errors",
    "ResumeToken": "footplate.events.base",
    "RunEvent": "footplate.events.runs",
    "Started": "footplate.events.runs",
    "run": "footplate.runtime.run",
}


def __getattr__(name: str) -> object:
    try:
        home = _HOMES[name]
    except KeyError:
        raise AttributeError(f"module 'footplate' has no attribute {name!r}") from None
    return getattr(import_module(home), name)
