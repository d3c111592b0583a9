"""How a session was opened: stored beside its log, so that it can be opened again."""

from __future__ import annotations

import msgspec

from footplate.engines.base import Engine
from footplate.engines.tuning import Extras
from footplate.errors import InvalidValue
from footplate.events.ids import SessionId
from footplate.runtime.folder_config import McpConfig
from footplate.runtime.limits import Limits
from footplate.store.base import Store

SPECS = "sessions"
"""The documents that say how each session was opened."""


class SessionSpec(msgspec.Struct, frozen=True, kw_only=True):
    """What was asked for when the session was made; model, mode, effort and title go on in its log."""

    engine: str
    cwd: str
    model: str = ""
    mode: str = ""
    effort: str = ""
    fork: bool = False
    fork_of: str = ""
    """The conversation that is forked: the session leaves it with the first process that attaches."""

    limits: Limits = Limits()
    steps: Limits | None = None
    """The limits as they were set, once answers have raised them: by so much a further answer raises them again."""

    choices: dict[str, str] = {}
    """Options of the engine's own that somebody set, by their ids."""

    mcp: dict[str, McpConfig] = {}
    """MCP servers that a client brought along, beside those of the folder."""

    extras: Extras = Extras()
    env: dict[str, str] = {}
    profile: str = ""
    output_schema: str = ""
    """A JSON schema (as JSON) that each turn's structured output has to fit."""


def check_effort(engine: Engine, effort: str) -> None:
    """Raise `InvalidValue` for an effort that the engine does not have; some would ignore it without a word."""
    can = engine.capabilities()
    if not effort or not can.efforts or effort in can.efforts or (can.effort_tokens and effort.isdecimal()):
        return
    tokens = ", or a number of tokens to think with" if can.effort_tokens else ""
    raise InvalidValue("effort", effort, f"one of {', '.join(can.efforts)}{tokens}")


async def keep_spec(store: Store, session: SessionId, spec: SessionSpec) -> None:
    """Have it hold from now on, also when the session is opened again."""
    await store.documents(SPECS).put(session, msgspec.json.encode(spec))
