"""The promises of a run (`docs/reference/runs.md`), on every engine: the same tests, whoever the agent is."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from footplate.events.runs import Action, Completed, RunEvent, Started
from footplate.testing.agents import ClaudeVersion
from footplate.testing.invariants import check_run
from footplate.testing.messages import ScriptedMessages
from tests.contract.subjects import (
    AcpSubject,
    CodexServerSubject,
    CodexSubject,
    MockSubject,
    RealClaude,
    RecordedClaude,
    Subject,
    TallySubject,
    watch,
)
from tests.e2e.world import World

pytestmark = pytest.mark.timeout(120)

OFFLINE: dict[str, Callable[[Path], Subject]] = {
    "mock-in-process": lambda folder: MockSubject(folder, "in_process"),
    "mock-stdio": lambda folder: MockSubject(folder, "stdio"),
    "acp-stdio": AcpSubject,
    "codex-exec-recorded": CodexSubject,
    "codex-recorded": CodexServerSubject,
    "claude-recorded": RecordedClaude,
}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "subject" in metafunc.fixturenames:
        real = [pytest.param(f"claude-{version}", marks=pytest.mark.e2e) for version in ("new", "old")]
        metafunc.parametrize(
            "subject", [*OFFLINE, pytest.param("tally-plugin", marks=pytest.mark.e2e), *real], indirect=True
        )


@pytest.fixture
def subject(request: pytest.FixtureRequest, tmp_path: Path) -> Subject:
    """One engine in surroundings of its own."""
    name: str = request.param
    if name in OFFLINE:
        return OFFLINE[name](tmp_path)
    if name == "tally-plugin":
        return TallySubject(tmp_path)
    messages: ScriptedMessages = request.getfixturevalue("messages")
    version: ClaudeVersion = "new" if name.endswith("new") else "old"
    return RealClaude(World(tmp_path, messages, request.node.name.replace("[", "-").strip("]"), version))


def _end(events: list[RunEvent]) -> Completed:
    assert isinstance(events[-1], Completed)
    return events[-1]


def _of(kind: type[Started] | type[Completed], events: list[RunEvent]) -> list[RunEvent]:
    return [event for event in events if isinstance(event, kind)]


async def test_1_a_run_starts_once_and_completes_once_and_last(subject: Subject) -> None:
    events = await watch(subject.answer())
    (started,) = _of(Started, events)
    assert isinstance(started, Started)
    assert _of(Completed, events) == [events[-1]]
    assert _end(events).ok
    assert _end(events).answer
    assert _end(events).resume == started.resume
    assert not check_run(events)


async def test_2_an_action_keeps_its_id_and_its_title_and_is_completed(subject: Subject) -> None:
    events = await watch(subject.tool())
    started = {event.id: event.title for event in events if isinstance(event, Action) and event.phase == "started"}
    done = {event.id: event.title for event in events if isinstance(event, Action) and event.phase == "completed"}
    assert started
    assert started.items() <= done.items()
    assert _end(events).ok
    assert not check_run(events)


async def test_2_a_started_action_is_completed_also_when_the_agent_dies(subject: Subject) -> None:
    events = await watch(subject.death())
    started = {event.id for event in events if isinstance(event, Action) and event.phase == "started"}
    done = {event.id for event in events if isinstance(event, Action) and event.phase == "completed"}
    assert started <= done
    assert not check_run(events)


async def test_3_only_warnings_come_before_started(subject: Subject) -> None:
    events = await watch(subject.tool())
    first = next(index for index, event in enumerate(events) if isinstance(event, Started))
    assert all(isinstance(event, Action) and event.kind == "warning" for event in events[:first])


async def test_4_a_resumed_run_goes_on_under_the_same_id(subject: Subject) -> None:
    resume = _end(await watch(subject.answer())).resume
    assert resume is not None
    events = await watch(subject.resumed(resume.value))
    assert _end(events).ok, _end(events).error
    assert _end(events).resume == resume


async def test_5_closing_a_run_in_the_middle_leaves_nothing(subject: Subject) -> None:
    events = subject.hang().events()
    async for event in events:
        if isinstance(event, Started):
            break
    await events.aclose()  # what is left would be found by the leak check


async def test_5_cancelling_a_run_leaves_nothing(subject: Subject) -> None:
    begun = asyncio.Event()

    async def follow() -> None:
        async for event in subject.hang().events():
            if isinstance(event, Started):
                begun.set()

    task = asyncio.create_task(follow())
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_5_an_interrupted_run_completes_and_says_so(subject: Subject) -> None:
    run = subject.hang()
    events: list[RunEvent] = []
    stop: asyncio.Task[None] | None = None
    async for event in run.events():
        events.append(event)
        if isinstance(event, Started) and stop is None:
            stop = asyncio.create_task(run.interrupt())
    assert stop is not None
    await stop
    assert (_end(events).ok, _end(events).error) == (False, "interrupted")
    assert _end(events).resume is not None
    assert not check_run(events)


async def test_8_an_agent_that_dies_is_told_with_how_and_its_last_words(subject: Subject) -> None:
    end = _end(await watch(subject.death()))
    assert not end.ok
    assert {word: end.error.count(word) for word in subject.death_words} == dict.fromkeys(subject.death_words, 1)
    assert end.resume is not None


async def test_8_a_failure_is_the_engines_own_verdict(subject: Subject) -> None:
    events = await watch(subject.failure())
    assert not _end(events).ok
    assert _end(events).error
    assert not check_run(events)


async def test_10_a_timeout_is_told_as_one(subject: Subject) -> None:
    events = await watch(subject.hang(timeout_s=subject.patience_s))
    assert (_end(events).ok, _end(events).error) == (False, f"timed out after {subject.patience_s:g} s")
    assert _end(events).resume is not None
    assert not check_run(events)


async def test_11_an_agent_that_cannot_start_is_one_completion_that_says_what_to_do(subject: Subject) -> None:
    events = await watch(subject.missing())
    assert not _of(Started, events)
    assert not _end(events).ok
    assert len(_end(events).error) > 20
    assert not check_run(events)
