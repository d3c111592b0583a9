"""Drive sessions from a Python program: a client of the HTTP API, with typed events.

    async with Client.connect("http://127.0.0.1:2468", token="fp_...") as client:
        session = await client.create_session("claude", cwd="/srv/app")
        turn = await session.prompt("run the tests")
        print(turn.answer)

`Client.start()` runs a service of its own instead. `footplate.sdk.blocking` is the same without `await`;
`footplate.sdk.acp` speaks the Agent Client Protocol and nothing else. What is named here is imported on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from footplate.events.requests import Allow, Answer, Choose, Decline, Deny, Reply
    from footplate.events.view import SessionView, TurnView
    from footplate.sdk.client import Client
    from footplate.sdk.session import Session
    from footplate.sdk.shapes import RequestInfo, SessionInfo
    from footplate.sdk.turns import TurnRun

__all__ = [
    "Allow",
    "Answer",
    "Choose",
    "Client",
    "Decline",
    "Deny",
    "Reply",
    "RequestInfo",
    "Session",
    "SessionInfo",
    "SessionView",
    "TurnRun",
    "TurnView",
]

_HOMES = {
    **dict.fromkeys(("Allow", "Answer", "Choose", "Decline", "Deny", "Reply"), "footplate.events.requests"),
    **dict.fromkeys(("SessionView", "TurnView"), "footplate.events.view"),
    **dict.fromkeys(("RequestInfo", "SessionInfo"), "footplate.sdk.shapes"),
    "Client": "footplate.sdk.client",
    "Session": "footplate.sdk.session",
    "TurnRun": "footplate.sdk.turns",
}


def __getattr__(name: str) -> object:
    try:
        home = _HOMES[name]
    except KeyError:
        raise AttributeError(f"module 'footplate.sdk' has no attribute {name!r}") from None
    return getattr(import_module(home), name)
