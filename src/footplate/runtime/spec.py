"""How a session was opened: stored beside its log, so that it can be opened again."""

from __future__ import annotations

import msgspec

from footplate.engines.tuning import Extras
from footplate.events.ids import SessionId
from footplate.runtime.folder_config import McpConfig
from footplate.runtime.limits import Limits
from footplate.store.base import Store

SPECS = "sessions"
"""The documents that say how each session was opened."""


class SessionSpec(msgspec.Struct, frozen=True, kw_only=True):
    """What was asked for when the session was made; model, mode and title go on in its log."""

    engine: str
    cwd: str
    model: str = ""
    mode: str = ""
    effort: str = ""
    fork: bool = False
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


async def keep_spec(store: Store, session: SessionId, spec: SessionSpec) -> None:
    """Have it hold from now on, also when the session is opened again."""
    await store.documents(SPECS).put(session, msgspec.json.encode(spec))
