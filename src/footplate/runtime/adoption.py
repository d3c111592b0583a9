"""Adoption: a session of an engine that was started elsewhere becomes a session of ours, with its past in the log.

The past is taken in whole or not at all, under the times at which it happened. The session is then one like any other:
`Hub.get` opens it, and its next prompt resumes the engine's own session. Nothing is started here.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Final, Protocol

import msgspec

from footplate.engines.claude.history import History, HistoryEntry
from footplate.errors import InvalidValue
from footplate.events import model as m
from footplate.events.base import ResumeToken
from footplate.events.codec import encode
from footplate.events.ids import SessionId, TurnId
from footplate.events.model import SCHEMA_VERSION, Envelope, Event, is_ephemeral
from footplate.host.locks import SessionLock
from footplate.runtime.spec import SPECS, SessionSpec
from footplate.store.base import Store
from footplate.store.transfer import write_line, write_title
from footplate.store.values import SessionFilter, Stored
from footplate.ulid import new_ulid

CHUNK: Final = 200
"""How many events are read from the past at a time, beside the event loop."""


class Told(Protocol):
    """An event of the past, and when it happened."""

    @property
    def time(self) -> float:
        """Seconds since 1970."""
        ...

    @property
    def event(self) -> Event:
        """What happened."""
        ...


async def find_adopted(store: Store, token: ResumeToken) -> SessionId | None:
    """The session of ours that continues the engine's session, if there is one."""
    found = await store.projections.sessions(SessionFilter(engine=token.engine, engine_session=token.value))
    return next((row.session for row in found.items if row.state != "closed"), None)


async def adopt(
    store: Store,
    spec: SessionSpec,
    token: ResumeToken,
    tell: Callable[[], Iterator[Told]],
    *,
    title: str = "",
    now: Callable[[], float] = time.time,
) -> SessionId:
    """Open a session of ours on the engine's session. `tell` gives its past, closed at its end, each time anew.

    Raises `InvalidValue` when it is ours already. That nobody else writes it is for the caller to see to.
    """
    known = await find_adopted(store, token)
    if known is not None:
        raise InvalidValue("session", token.value, f"a session that is not ours yet; it is {known}")
    session = SessionId(new_ulid())
    log = _Log(session, spec, token, title)
    events = await asyncio.to_thread(lambda: sum(1 for _ in log.envelopes(tell(), now())))
    documents = store.documents(SPECS)
    await documents.put(session, msgspec.json.encode(spec), expect=0)
    try:
        await store.import_(_lines(session, events, log.envelopes(tell(), now())))
    except BaseException:
        await documents.delete(session)
        raise
    return session


async def adopt_past(store: Store, history: History, entry: HistoryEntry, locks: Path) -> SessionId:
    """The session of ours that goes on with a session of Claude Code's: the one there is, else a new one.

    Raises `SessionBusy` or `LockHeld` while another process has it, `InvalidValue` when its folder is gone.
    """
    if not await asyncio.to_thread(Path(entry.cwd).is_dir):
        raise InvalidValue("cwd", entry.cwd, "a folder that exists: the session works there")
    known = await find_adopted(store, entry.token)
    if known is not None:
        return known
    lock = SessionLock(locks, f"{entry.token.engine}:{entry.session}", what="footplate history adopt")
    await lock.acquire()
    try:
        await asyncio.to_thread(history.require_unused, entry)
        spec = SessionSpec(engine=entry.token.engine, cwd=entry.cwd)
        return await adopt(store, spec, entry.token, lambda: history.tell(entry), title=entry.title)
    finally:
        lock.release()


class _Log:
    """The whole log of an adopted session, numbered."""

    def __init__(self, session: SessionId, spec: SessionSpec, token: ResumeToken, title: str) -> None:
        self._session = session
        self._token = token
        self._opened = m.SessionOpened(
            engine=spec.engine, cwd=spec.cwd, title=title, model=spec.model, mode=spec.mode, resumed=token
        )

    def envelopes(self, past: Iterator[Told], now: float) -> Iterator[Envelope]:
        """The first event, the past, and the word that it was adopted."""
        turn: TurnId | None = None
        for seq, (at, event) in enumerate(self._events(past, now), 1):
            if isinstance(event, m.TurnStarted):
                turn = event.turn
            source = "engine" if turn is not None else "bridge"
            yield Envelope(
                seq=seq,
                time=at,
                session=self._session,
                turn=turn,
                source=source,  # type: ignore[arg-type]
                event=event,
            )
            if isinstance(event, m.TurnEnded):
                turn = None

    def _events(self, past: Iterator[Told], now: float) -> Iterator[tuple[float, Event]]:
        opened = False
        for told in past:
            if not opened:
                opened = True
                yield told.time, self._opened
            if not is_ephemeral(told.event):
                yield told.time, told.event
        if not opened:
            yield now, self._opened
        text = f"adopted from {self._token.engine}, where it was session {self._token.value}"
        yield now, m.Notice(level="info", text=text, code="adopted")
        yield now, m.StateChanged(state="idle")


async def _lines(session: SessionId, events: int, envelopes: Iterator[Envelope]) -> AsyncGenerator[bytes, None]:
    yield write_title(session, events)
    while chunk := await asyncio.to_thread(lambda: [*islice(envelopes, CHUNK)]):
        for envelope in chunk:
            yield write_line(Stored(session, envelope.seq, SCHEMA_VERSION, encode(envelope)))
