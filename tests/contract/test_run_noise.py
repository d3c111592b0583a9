"""Promises 7 and 9 of a run: noise on the wire, and lines after the result."""

from __future__ import annotations

from pathlib import Path

import pytest

from footplate.events.runs import Action, Completed, RunEvent
from footplate.testing.invariants import check_run
from tests.contract.subjects import AcpSubject, CodexSubject, MockSubject, RecordedClaude, watch


def _warnings(events: list[RunEvent]) -> list[Action]:
    return [event for event in events if isinstance(event, Action) and event.kind == "warning"]


@pytest.mark.parametrize("name", ["mock-in-process", "mock-stdio", "acp", "codex", "claude"])
async def test_7_a_line_that_is_not_json_is_one_warning_and_the_run_goes_on(name: str, tmp_path: Path) -> None:
    run = {
        "mock-in-process": lambda: MockSubject(tmp_path, "in_process").garbage(),
        "mock-stdio": lambda: MockSubject(tmp_path, "stdio").garbage(),
        "acp": lambda: AcpSubject(tmp_path).garbage(),
        "codex": lambda: CodexSubject(tmp_path).garbage(),
        "claude": lambda: RecordedClaude(tmp_path).garbage(),
    }[name]()
    events = await watch(run)
    noise = [action for action in _warnings(events) if "JSON" in action.title + action.message + str(action.detail)]
    assert len(noise) == 1
    assert isinstance(events[-1], Completed)
    assert events[-1].ok
    assert not check_run(events)


async def test_9_a_turn_that_the_agent_starts_by_itself_is_not_a_second_completion(tmp_path: Path) -> None:
    events = await watch(RecordedClaude(tmp_path).late())
    assert [type(event) for event in events].count(Completed) == 1
    assert isinstance(events[-1], Completed)
    assert not check_run(events)
