"""How a session was opened: stored beside its log, so that it can be opened again."""

from __future__ import annotations

import msgspec

from footplate.runtime.limits import Limits


class SessionSpec(msgspec.Struct, frozen=True, kw_only=True):
    """What was asked for when the session was made; model, mode and title go on in its log."""

    engine: str
    cwd: str
    model: str = ""
    mode: str = ""
    effort: str = ""
    fork: bool = False
    limits: Limits = Limits()
    env: dict[str, str] = {}
    profile: str = ""
