"""The shapes of sessions on the wire of the native API: a line in a list, and the whole view."""

from __future__ import annotations

from typing import Final

import msgspec

from footplate.events.ids import EngineSessionId, SessionId, TurnId
from footplate.events.model import ConfigOption, SessionState, WaitingFor
from footplate.events.view import SessionView
from footplate.runtime.limits import Limits
from footplate.runtime.session import Session
from footplate.store.projection import SessionRow


class SessionInfo(msgspec.Struct, frozen=True, kw_only=True):
    """One session in a list. `engine_session_id` is what the engine itself calls it, once it does."""

    id: SessionId
    engine: str
    state: SessionState
    cwd: str
    engine_session_id: EngineSessionId | None = None
    waiting_for: WaitingFor = ""
    until: float | None = None
    title: str = ""
    model: str = ""
    mode: str = ""
    effort: str = ""
    created_at: float | None = None
    updated_at: float = 0.0
    last_seq: int = 0
    attached: bool = False
    turn: TurnId | None = None
    turns: int = 0
    failed: bool = False
    cost_usd: float | None = None
    open_requests: int = 0
    forked_from: SessionId | None = None
    closed_reason: str = ""
    archived: bool = False

    @classmethod
    def of(cls, row: SessionRow) -> SessionInfo:
        """From the store's index."""
        return cls(id=row.session, **{name: getattr(row, name) for name in _SHARED})


# To look up the fields of a struct takes longer than to make one.
_SHARED: Final = tuple(field.name for field in msgspec.structs.fields(SessionInfo) if field.name != "id")


class SessionList(msgspec.Struct, frozen=True, kw_only=True):
    """Some of the sessions, the latest active first. `after` is where the next page begins, if there is one."""

    sessions: tuple[SessionInfo, ...]
    after: str | None = None


class SessionDetail(SessionView, frozen=True, kw_only=True):
    """The whole session as it stands after `last_seq`, with how it was opened and what may be chosen in it."""

    id: SessionId
    engine_session_id: EngineSessionId | None = None
    session_limits: Limits = Limits()
    modes: tuple[str, ...] = ()
    efforts: tuple[str, ...] = ()
    choices: tuple[ConfigOption, ...] = ()
    """`options` once the agent has told them; before that, what is known of its engine."""
    resume_line: str = ""
    archived: bool = False

    @classmethod
    def of(cls, session: Session, **more: object) -> SessionDetail:
        """From a live session."""
        view = session.view()
        shared = {field.name: getattr(view, field.name) for field in msgspec.structs.fields(SessionView)}
        shared["effort"] = session.spec.effort  # older logs do not have the one that the session was opened with
        return cls(
            id=session.id,
            engine_session_id=view.resume.value if view.resume is not None else None,
            session_limits=session.spec.limits,
            **shared,
            **more,  # type: ignore[arg-type]
        )
