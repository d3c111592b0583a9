"""The options of a session's next process."""

from __future__ import annotations

from footplate.config.settings import Settings
from footplate.engines.base import Installed, Options
from footplate.events.base import ResumeToken
from footplate.events.ids import EngineSessionId, SessionId, TurnId
from footplate.events.model import EngineAttached, Event, SessionOpened, TurnEnded, TurnStarted
from footplate.events.reduce import SessionReducer
from footplate.events.usage import Usage
from footplate.events.view import SessionView
from footplate.runtime.limits import Spent
from footplate.runtime.rejoining import AgentRecord, rejoining_options
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
    options = starting_options(spec, view_of(*events), Settings(), Spent())
    return options.resume, options.fork


def view_of(*events: Event) -> SessionView:
    reducer = SessionReducer()
    for envelope in Log((OPENED, *events)):
        reducer.apply(envelope)
    return reducer.view()


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


def test_a_process_is_started_and_reattached_with_the_last_total_that_the_agent_reported() -> None:
    view = view_of(ended(0.5), ended(0.75), ended(None))
    spec = SessionSpec(engine="acp", cwd="/w")
    assert starting_options(spec, view, Settings(), Spent()).reported_cost_usd == 0.75
    assert rejoining_options(view, record(Options(cwd="/w"))).reported_cost_usd == 0.75


def test_without_a_reported_total_only_the_process_that_began_the_conversation_starts_at_zero() -> None:
    view = view_of(ended(None))
    assert starting_options(SessionSpec(engine="acp", cwd="/w"), view, Settings(), Spent()).reported_cost_usd is None
    assert rejoining_options(view, record(Options(cwd="/w"))).reported_cost_usd == 0.0
    resumed = record(Options(cwd="/w", resume=EngineSessionId("parent")))
    assert rejoining_options(view, resumed).reported_cost_usd is None


def ended(total: float | None) -> TurnEnded:
    return TurnEnded(turn=TurnId(f"turn of {total}"), ok=True, usage=Usage(total_cost_usd=total))


def record(options: Options) -> AgentRecord:
    installed = Installed(engine="acp")
    return AgentRecord(session=SessionId("s"), engine="acp", agent="a1", installed=installed, options=options)
