"""Footplate runs coding agents and lets people and programs drive them from anywhere.

    async for event in footplate.run("claude", "fix the tests"):
        ...

    async with footplate.Client.connect("http://127.0.0.1:2468", token=token) as client:
        session = await client.create_session("claude", cwd="/srv/app")

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
    from footplate.sdk.client import Client
    from footplate.sdk.session import Session

__all__ = [
    "Action",
    "Client",
    "Completed",
    "FootplateError",
    "ResumeToken",
    "RunEvent",
    "Session",
    "Started",
    "__version__",
    "run",
]

_HOMES = {
    "Action": "footplate.events.runs",
    "Client": "footplate.sdk.client",
    "Completed": "footplate.events.runs",
    "FootplateError": "footplate.errors",
    "ResumeToken": "footplate.events.base",
    "RunEvent": "footplate.events.runs",
    "Session": "footplate.sdk.session",
    "Started": "footplate.events.runs",
    "run": "footplate.runtime.run",
}


def __getattr__(name: str) -> object:
    try:
        home = _HOMES[name]
    except KeyError:
        raise AttributeError(f"module 'footplate' has no attribute {name!r}") from None
    return getattr(import_module(home), name)
