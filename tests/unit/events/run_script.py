"""Runs written by hand: the usual events, and `run`, which folds them and judges the outcome."""

from __future__ import annotations

from typing import get_args

from footplate.events.base import ResumeToken
from footplate.events.ids import EngineSessionId, MessageId, ToolCallId, TurnId
from footplate.events.model import (
    EngineAttached,
    Event,
    Message,
    ToolStarted,
    TurnEnded,
    TurnStarted,
)
from footplate.events.runs import Completed, RunEvent, RunFold, Started
from footplate.events.tools import CommandDetail
from footplate.testing.invariants import check_run

EVENTS: tuple[type, ...] = get_args(Event)
E1, E2 = EngineSessionId("e1"), EngineSessionId("e2")
TOKEN, OTHER = ResumeToken(engine="claude", value=E1), ResumeToken(engine="claude", value=E2)
T1, T2 = TurnId("t1"), TurnId("t2")
ATTACHED = EngineAttached(engine="claude", engine_session_id=E1)
STARTED = Started(engine="claude", resume=TOKEN, title="claude")
BEGIN = (ATTACHED, TurnStarted(turn=T1))
ENDED = TurnEnded(turn=T1, ok=True, answer="done", resume=TOKEN)
COMPLETED = Completed(ok=True, answer="done", resume=TOKEN)
BASH = ToolStarted(call=ToolCallId("c1"), name="Bash", kind="command", title="Bash", detail=CommandDetail(command="ls"))


def text(words: str) -> Message:
    return Message(message=MessageId("m"), part=0, text=words)


def run(*events: Event, fold: RunFold | None = None, finish: bool = True) -> list[RunEvent]:
    """What the fold gives out for the events, judged against the promises when it is finished."""
    fold = fold or RunFold()
    shown = [given for event in events for given in fold.feed(event)]
    if finish:
        shown.extend(fold.finish())
        assert check_run(shown) == []
    return shown
