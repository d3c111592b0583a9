"""The options of a session's next process."""

from __future__ import annotations

from footplate.config.settings import Settings
from footplate.events.base import ResumeToken
from footplate.events.ids import EngineSessionId, TurnId
from footplate.events.model import EngineAttached, Event, SessionOpened, TurnEnded, TurnStarted
from footplate.events.reduce import SessionReducer
from footplate.runtime.limits import Spent
from footplate.runtime.spec import SessionSpec
from footplate.runtime.starting import starting_options
from tests.unit.events.log import Log

PARENT = ResumeToken(engine="claude", value=EngineSessionId("parent"))
OPENED = SessionOpened(engine="claude", cwd="/w", resumed=PARENT)
FAILED = (
    TurnStarted(turn=TurnId("t1")),
    TurnEnded(turn=TurnId("t1"), ok=False, error="cannot be started", stop_reason="error", resume=PARENT),
)
OWN = EngineAttached(engine="claude", engine_session_id=EngineSessionId("own"), reason="forked")
FORK = SessionSpec(engine="claude", cwd="/w", fork=True, fork_of="parent")


def forks(spec: SessionSpec, *events: Event) -> tuple[str | None, bool]:
    reducer = SessionReducer()
    for envelope in Log((OPENED, *events)):
        reducer.apply(envelope)
    options = starting_options(spec, reducer.view(), Settings(), Spent())
    return options.resume, options.fork


def test_a_fork_leaves_the_conversation_of_the_other_with_its_first_process_that_attaches() -> None:
    assert forks(FORK) == ("parent", True)
    assert forks(FORK, *FAILED) == ("parent", True), "else it would write into the conversation of the other"
    assert forks(FORK, *FAILED, OWN) == ("own", False)


def test_a_fork_that_an_older_version_stored_is_forked_for_its_first_turn() -> None:
    older = SessionSpec(engine="claude", cwd="/w", fork=True)
    assert forks(older) == ("parent", True)
    assert forks(older, OWN, *FAILED) == ("parent", False)


def test_a_session_that_resumes_a_conversation_does_not_fork_it() -> None:
    assert forks(SessionSpec(engine="claude", cwd="/w")) == ("parent", False)
