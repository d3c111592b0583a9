"""What the conformance tests share: a clock, a log to write, and how to expect a refusal."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TypeVar

from footplate.events import model as m
from footplate.events.ids import EngineSessionId, PromptId, RequestId, SessionId, TurnId
from footplate.events.requests import Allow, Request
from footplate.store.base import Store
from footplate.store.values import Lease

T = TypeVar("T")
E = TypeVar("E", bound=Exception)

DEADLINE_S = 10.0
SESSION = SessionId("01J0SESSION")
OTHER = SessionId("01J0OTHER")


class ManualClock:
    """A clock that stands still until it is told the time."""

    def __init__(self, now: float = 1_000_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        """What time it is."""
        return self.now


class Scene:
    """Base of all parts of the suite."""

    def make_store(self, clock: ManualClock) -> AbstractAsyncContextManager[Store]:
        """An empty store that is closed when the context ends. To be overridden."""
        raise NotImplementedError


def envelope(seq: int, event: m.Event, *, session: SessionId = SESSION, epoch: int = 1) -> m.Envelope:
    """An event of a session at that place, at a time that tells the place."""
    return m.Envelope(seq=seq, time=1_000.0 + seq, session=session, epoch=epoch, event=event)


def notices(start: int, count: int, *, session: SessionId = SESSION, epoch: int = 1) -> list[m.Envelope]:
    """So many plain events, the first at that place."""
    return [
        envelope(seq, m.Notice(level="info", text=f"notice {seq}"), session=session, epoch=epoch)
        for seq in range(start, start + count)
    ]


def story(session: SessionId = SESSION, epoch: int = 1) -> list[m.Envelope]:
    """A short session in which two requests are opened: the first is answered and applied, the second waits."""
    first, second, turn = RequestId("r1"), RequestId("r2"), TurnId("t1")
    events: Sequence[m.Event] = (
        m.SessionOpened(engine="claude", cwd="/project", title="a title"),
        m.EngineAttached(engine="claude", engine_session_id=EngineSessionId("e1"), model="opus"),
        m.StateChanged(state="running", waiting_for="model"),
        m.TurnStarted(turn=turn, prompts=(PromptId("p1"),)),
        m.RequestOpened(request=Request(id=first, kind="permission", title="may I?", tool="Bash")),
        m.RequestAnswered(request=first, answer=Allow(), by="ann", surface="web"),
        m.RequestApplied(request=first),
        m.RequestOpened(request=Request(id=second, kind="question", title="which one?")),
        m.StateChanged(state="waiting", waiting_for="you"),
    )
    return [envelope(seq, event, session=session, epoch=epoch) for seq, event in enumerate(events, 1)]


async def begin(store: Store, count: int = 0, *, session: SessionId = SESSION) -> Lease:
    """Claim a session and give it so many events."""
    lease = await store.claim(session)
    if count:
        await store.append(session, lease.epoch, 0, notices(1, count, session=session, epoch=lease.epoch))
    return lease


async def refused(kind: type[E], call: Awaitable[object]) -> E:
    """The error of that kind that the call raises; anything else is a failure of the test."""
    try:
        found = await call
    except kind as error:
        return error
    raise AssertionError(f"expected {kind.__name__}, and it gave {found!r}")


async def within(call: Awaitable[T]) -> T:
    """The result, if it comes before the deadline."""
    return await asyncio.wait_for(call, DEADLINE_S)


async def take(source: AsyncIterator[T], count: int) -> list[T]:
    """The next so many."""
    return [await within(anext(source)) for _ in range(count)]
