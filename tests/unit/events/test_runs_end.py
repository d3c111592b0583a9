"""The run view after the result: one completion, background work, figures, and whatever else may come."""

from __future__ import annotations

from typing import cast

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from footplate.events.base import ResumeToken
from footplate.events.ids import TaskId
from footplate.events.model import (
    EngineDetached,
    Event,
    StateChanged,
    TaskEnded,
    TaskStarted,
    TurnEnded,
    TurnStarted,
)
from footplate.events.run_events import EngineNote, TasksWarning
from footplate.events.runs import Action, Completed, RunEvent, RunFold
from footplate.events.usage import Usage
from tests.unit.events.examples import examples, structs
from tests.unit.events.run_script import (
    ATTACHED,
    BASH,
    BEGIN,
    COMPLETED,
    ENDED,
    EVENTS,
    STARTED,
    T1,
    T2,
    TOKEN,
    run,
    text,
)

TASK = TaskStarted(task=TaskId("k1"), title="build")
AGAIN = TurnStarted(turn=T2, origin="task")


# ------------------------------------------------------------------------------------------ 9: one completion


def test_9_nothing_follows_the_completion() -> None:
    assert run(*BEGIN, ENDED, TurnStarted(turn=T2), BASH, msgspec.structs.replace(ENDED, turn=T2)) == [
        STARTED,
        COMPLETED,
    ]


def test_9_a_turn_that_the_agent_started_by_itself_does_not_complete_the_run() -> None:
    own = TurnEnded(turn=T2, ok=True, answer="background", resume=TOKEN)
    assert run(ATTACHED, AGAIN, own, TurnStarted(turn=T1), ENDED) == [STARTED, COMPLETED]


def test_9_tasks_still_running_are_named_in_a_warning() -> None:
    fold = RunFold()
    second = TaskStarted(task=TaskId("k2"))
    shown = run(*BEGIN, TASK, second, ENDED, fold=fold)
    assert shown == [
        STARTED,
        Action(
            id="warning-1",
            kind="warning",
            title="still running at the end of the run: build, k2",
            phase="completed",
            ok=False,
            level="warning",
            detail=TasksWarning(tasks=(TaskId("k1"), TaskId("k2"))),
        ),
        COMPLETED,
    ]
    assert [task.task for task in fold.running_tasks] == ["k1", "k2"]
    assert fold.feed(TaskEnded(task=TaskId("k1"), status="stopped")) == ()
    assert [task.task for task in fold.running_tasks] == ["k2"]


def test_9_a_task_that_ended_in_time_is_not_mentioned() -> None:
    assert run(*BEGIN, TASK, TaskEnded(task=TASK.task, status="completed"), ENDED) == [STARTED, COMPLETED]


def test_9_waiting_for_background_work_adds_its_report_to_the_answer() -> None:
    fold = RunFold(wait_background=True)
    assert run(*BEGIN, TASK, ENDED, TaskEnded(task=TASK.task, status="completed"), fold=fold, finish=False) == [STARTED]
    own = TurnEnded(turn=T2, ok=True, answer="it is built", resume=TOKEN)
    assert run(AGAIN, text("it is built"), own, fold=fold, finish=False) == [
        msgspec.structs.replace(COMPLETED, answer="done\n\nit is built")
    ]


@pytest.mark.parametrize(
    "last", [TaskEnded(task=TASK.task, status="stopped"), TaskEnded(task=TASK.task, status="lost")]
)
def test_9_a_task_that_was_stopped_needs_no_report(last: TaskEnded) -> None:
    assert run(*BEGIN, TASK, ENDED, last, fold=RunFold(wait_background=True), finish=False) == [STARTED, COMPLETED]


def test_9_an_idle_session_has_nothing_left_to_report() -> None:
    ended = TaskEnded(task=TASK.task, status="completed")
    shown = run(
        *BEGIN, TASK, ENDED, ended, StateChanged(state="idle"), fold=RunFold(wait_background=True), finish=False
    )
    assert shown == [STARTED, COMPLETED]


def test_9_a_result_that_waits_stands_when_the_agent_goes() -> None:
    shown = run(*BEGIN, TASK, ENDED, EngineDetached(reason="exited"), fold=RunFold(wait_background=True))
    assert shown[-1] == COMPLETED


def test_9_a_result_that_waits_is_cut_short_by_a_timeout() -> None:
    fold = RunFold(wait_background=True)
    run(*BEGIN, TASK, ENDED, fold=fold, finish=False)
    (*_, completed) = fold.finish(error="timed out after 5 s")
    assert completed == Completed(ok=False, answer="done", error="timed out after 5 s", resume=TOKEN)


# --------------------------------------------------------------------------------------- 11: could not start


def test_11_an_agent_that_could_not_start_gives_one_completion() -> None:
    assert RunFold().finish(error="claude: not found", resume=TOKEN) == (
        Completed(ok=False, error="claude: not found", resume=TOKEN),
    )


# -------------------------------------------------------------------------------------------------- figures


def test_the_engines_own_figures_are_passed_on_untouched() -> None:
    reported = msgspec.Raw(b'{"usage": {"x": 1},  "total_cost_usd": 0.10}')
    ended = msgspec.structs.replace(
        ENDED, usage=Usage(output_tokens=5, reported=reported), structured_output=msgspec.Raw(b'{"n": 1}')
    )
    (*_, completed) = run(*BEGIN, ended)
    assert completed == msgspec.structs.replace(COMPLETED, usage=reported, structured_output=msgspec.Raw(b'{"n": 1}'))


def test_without_figures_of_the_engine_ours_are_given() -> None:
    (*_, completed) = run(*BEGIN, msgspec.structs.replace(ENDED, usage=Usage(output_tokens=5)))
    assert completed == msgspec.structs.replace(COMPLETED, usage=msgspec.Raw(b'{"output_tokens":5}'))


def test_a_run_costs_what_all_of_its_turns_cost_and_not_what_the_conversation_cost() -> None:
    first = msgspec.structs.replace(ENDED, usage=Usage(cost_usd=0.25, total_cost_usd=9.25))
    report = TurnEnded(turn=T2, ok=True, resume=TOKEN, usage=Usage(cost_usd=0.5, total_cost_usd=9.75))
    over = TaskEnded(task=TASK.task, status="completed")
    (*_, completed) = run(*BEGIN, TASK, first, over, AGAIN, report, fold=RunFold(wait_background=True), finish=False)
    assert isinstance(completed, Completed)
    assert completed.cost_usd == 0.75


def test_a_run_on_the_wire_is_flat_and_complete() -> None:
    assert [msgspec.json.decode(msgspec.json.encode(event)) for event in run(*BEGIN, BASH, ENDED)[:2]] == [
        {
            "type": "started",
            "engine": "claude",
            "resume": {"engine": "claude", "value": "e1"},
            "title": "claude",
            "meta": {
                "cwd": "",
                "tools": [],
                "permission_mode": "",
                "output_style": "",
                "model": "",
                "version": "",
                "billing": "",
            },
        },
        {
            "type": "action",
            "id": "c1",
            "kind": "command",
            "title": "ls",
            "phase": "started",
            "ok": None,
            "level": "info",
            "message": "",
            "detail": {
                "type": "command",
                "tool": "Bash",
                "input": None,
                "message_id": None,
                "parent_id": None,
                "result": None,
                "command": "ls",
                "cwd": "",
                "exit_code": None,
                "output": None,
            },
        },
    ]
    assert msgspec.json.decode(msgspec.json.encode(COMPLETED)) == {
        "type": "completed",
        "ok": True,
        "answer": "done",
        "error": "",
        "resume": {"engine": "claude", "value": "e1"},
        "usage": None,
        "cost_usd": None,
        "structured_output": None,
    }


def test_tools_and_servers_at_the_start_are_one_note_at_level_debug() -> None:
    attached = msgspec.structs.replace(ATTACHED, tools=("Bash", "Read"))
    shown = run(ATTACHED, attached, attached, finish=False)
    assert shown[1:] == [
        Action(
            id="note-1",
            kind="note",
            title="2 tools",
            phase="completed",
            ok=True,
            level="debug",
            detail=EngineNote(tools=("Bash", "Read")),
        )
    ]


# ------------------------------------------------------------------------------------------- whatever comes


@settings(max_examples=80, deadline=None, database=None, derandomize=True)
@given(
    st.lists(st.one_of([structs(kind) for kind in EVENTS]), max_size=30), st.booleans(), st.sampled_from((None, TOKEN))
)
def test_the_promises_hold_whatever_the_events_are(
    events: list[object], wait: bool, resume: ResumeToken | None
) -> None:
    shown = run(*cast("list[Event]", events), fold=RunFold(wait_background=wait, resume=resume))
    for event in shown:
        assert msgspec.json.decode(msgspec.json.encode(event), type=RunEvent) == event


@pytest.mark.parametrize("kind", EVENTS)
def test_every_event_is_taken_in(kind: type) -> None:
    for example in examples(kind):
        run(*BEGIN, cast("Event", example))
