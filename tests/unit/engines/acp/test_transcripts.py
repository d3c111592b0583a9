"""What real agents said: every recorded conversation, cut at every message, is closed in order."""

from __future__ import annotations

import pytest

from footplate.events.model import (
    Event,
    Message,
    PlanChanged,
    RequestApplied,
    RequestOpened,
    Thought,
    ToolEnded,
    ToolStarted,
    TurnEnded,
    Unparsed,
)
from footplate.events.tools import CommandDetail, FileChangeDetail
from footplate.testing.invariants import check_invariants
from tests.unit.engines.acp.playing import TRANSCRIPTS, replay, transcript

NAMES = sorted(path.stem for path in TRANSCRIPTS.glob("*.jsonl"))
AGENTS = ("claude_bash_allow", "copilot", "gemini", "opencode", "qwen")


def of(kind: type[Event], events: list[Event]) -> list[Event]:
    return [event for event in events if isinstance(event, kind)]


@pytest.mark.parametrize("name", NAMES)
def test_every_beginning_of_a_conversation_is_closed_in_order(name: str) -> None:
    records = transcript(name)
    for end in range(len(records) + 1):
        assert check_invariants(replay(records[:end]), finished=True) == []


@pytest.mark.parametrize("name", NAMES)
def test_nothing_but_extensions_goes_unread(name: str) -> None:
    reasons = {event.reason for event in replay(transcript(name)) if isinstance(event, Unparsed)}
    assert reasons <= {"an unknown notification: _auth/status_update"}


@pytest.mark.parametrize("name", AGENTS)
def test_a_command_with_its_permission_reads_alike_from_every_agent(name: str) -> None:
    events = replay(transcript(name))
    [started] = of(ToolStarted, events)
    [opened] = of(RequestOpened, events)
    [ended] = of(ToolEnded, events)
    assert isinstance(started, ToolStarted)
    assert isinstance(opened, RequestOpened)
    assert isinstance(ended, ToolEnded)
    assert (started.kind, opened.request.kind, opened.request.call) == ("command", "permission", started.call)
    assert {option.kind for option in opened.request.options} == {"allow_once", "allow_always", "deny"}
    assert isinstance(ended.detail, CommandDetail)
    assert ended.detail.command.startswith(("echo hi > out.txt; cat out.txt", "write and show"))


def test_a_rejected_command_is_denied_and_listed_at_the_end() -> None:
    events = replay(transcript("claude_bash_reject"))
    assert [(e.outcome, e.ok) for e in of(ToolEnded, events) if isinstance(e, ToolEnded)] == [("denied", False)]
    first = of(TurnEnded, events)[0]
    assert isinstance(first, TurnEnded)
    assert [denial.tool for denial in first.denials] == ["Bash"]


def test_an_edit_ends_with_the_change_it_made() -> None:
    changes = [
        change
        for event in replay(transcript("claude_edit_diff"))
        if isinstance(event, ToolEnded) and isinstance(event.detail, FileChangeDetail)
        for change in event.detail.changes
    ]
    assert [(change.path, change.kind) for change in changes] == [("/workspace/edit_diff/e.txt", "update")]


def test_a_plan_is_asked_for_with_its_text() -> None:
    [opened] = of(RequestOpened, replay(transcript("claude_plan_exit_accept")))
    assert isinstance(opened, RequestOpened)
    assert (opened.request.kind, opened.request.plan) == ("plan", "# Plan\n1. Do it")


def test_a_question_is_asked_and_its_answer_kept() -> None:
    events = replay(transcript("claude_ask_user_question"))
    opened = of(RequestOpened, events)[0]
    assert isinstance(opened, RequestOpened)
    assert [choice.label for choice in opened.request.questions[0].choices] == ["Red", "Blue"]
    assert len(of(RequestApplied, events)) == len(of(RequestOpened, events))


def test_an_interrupted_turn_keeps_its_text_and_the_next_one_goes_on() -> None:
    turns = [e for e in replay(transcript("claude_cancel_mid_turn")) if isinstance(e, TurnEnded)]
    assert [(turn.stop_reason, turn.ok) for turn in turns] == [("interrupted", False), ("end_turn", True)]
    assert turns[0].answer == "w0 w1 w2 "


def test_an_error_of_the_provider_fails_the_turn() -> None:
    turn = next(e for e in replay(transcript("claude_api_error")) if isinstance(e, TurnEnded))
    assert (turn.ok, turn.stop_reason) == (False, "error")
    assert "API Error: 400" in turn.error


def test_thoughts_and_plans_are_events_of_their_own() -> None:
    assert of(Thought, replay(transcript("claude_thought_chunk")))
    assert of(Message, replay(transcript("claude_thought_chunk")))
    assert of(PlanChanged, replay(transcript("claude_todo_plan")))
