"""Results of tools: what they add to the detail, and how the call ended."""

from __future__ import annotations

import pytest

from footplate.engines.claude.outcomes import OUTPUT_LIMIT, Ending, complete_detail, judge, read_ending
from footplate.engines.claude.todos import Todos
from footplate.engines.claude.wire import Block
from footplate.events.content import ImageBlock, TextBlock
from footplate.events.diffs import count_changes, diff_lines
from footplate.events.tools import (
    CommandDetail,
    FileChange,
    FileChangeDetail,
    Hunk,
    PlanDetail,
    PlanEntry,
    QuestionDetail,
    SubagentDetail,
    TodoDetail,
    ToolDetail,
)
from tests.unit.engines.claude.playing import raw

LS = CommandDetail(command="ls")
HUNK = {"oldStart": 1, "oldLines": 1, "newStart": 1, "newLines": 2, "lines": [" a", "+b"]}


def ending(content: object = "", result: object = None, *, error: bool = False, meta: object = None) -> Ending:
    block = Block(type="tool_result", tool_use_id="t", content=raw(content), is_error=error)
    return read_ending(block, None if result is None else raw(result), None if meta is None else raw(meta))


@pytest.mark.parametrize(
    ("before", "ended", "after"),
    [
        (LS, ending("a\nb", {"stdout": "a\nb"}), CommandDetail(command="ls", exit_code=0, output="a\nb")),
        (LS, ending("Exit code 3\nbad", error=True), CommandDetail(command="ls", exit_code=3, output="bad")),
        (LS, ending("Exit code 137", error=True), CommandDetail(command="ls", exit_code=137)),
        (LS, ending("no such tool", error=True), CommandDetail(command="ls", output="no such tool")),
        (
            LS,
            ending("running", {"backgroundTaskId": "b1"}),
            CommandDetail(command="ls", background=True, output="running"),
        ),
        (
            FileChangeDetail(changes=(FileChange(path="a", new_text="x"),)),
            ending("ok", {"type": "create", "filePath": "/a", "structuredPatch": []}),
            FileChangeDetail(changes=(FileChange(path="/a", kind="add", new_text="x"),)),
        ),
        (
            FileChangeDetail(changes=(FileChange(path="/a", old_text="x", new_text="y"),)),
            ending("ok", {"filePath": "/a", "structuredPatch": [HUNK]}),
            FileChangeDetail(
                changes=(
                    FileChange(
                        path="/a",
                        old_text="x",
                        new_text="y",
                        hunks=(Hunk(old_start=1, old_lines=1, new_start=1, new_lines=2, lines=(" a", "+b")),),
                    ),
                )
            ),
        ),
        (
            FileChangeDetail(changes=(FileChange(path="/a"),)),
            ending("no", "Error: no", error=True),
            FileChangeDetail(changes=(FileChange(path="/a"),)),
        ),
        (QuestionDetail(), ending("ok", {"answers": {"Q": "A"}}), QuestionDetail(answers={"Q": "A"})),
        (PlanDetail(), ending("ok", {"plan": "P", "filePath": "/p"}), PlanDetail(plan="P", plan_file="/p")),
        (TodoDetail(), ending("ok", {"newTodos": [{"content": "A"}]}), TodoDetail(entries=(PlanEntry(content="A"),))),
        (SubagentDetail(), ending("ok", {"isAsync": True, "agentId": "a"}), SubagentDetail(background=True)),
        (None, ending("ok", [{"type": "text"}]), None),
    ],
)
def test_a_result_completes_the_detail(before: ToolDetail | None, ended: Ending, after: ToolDetail | None) -> None:
    assert complete_detail(before, ended) == after


def test_a_long_output_is_summed_up_by_its_head_and_tail_and_stands_whole_in_the_content() -> None:
    text = "a" * 500_000 + "the end"
    ended = ending(text)
    detail = complete_detail(LS, ended)
    assert isinstance(detail, CommandDetail)
    assert (detail.truncated, detail.output.endswith("the end"), len(detail.output)) == (True, True, OUTPUT_LIMIT + 3)
    assert ended.content == (TextBlock(text=text),)


def test_the_patch_of_a_change_is_whole_and_counts_every_line() -> None:
    hunks = [
        {**HUNK, "oldStart": at * 100, "newStart": at * 100, "lines": ["-" + "o" * 900, *["+" + "n" * 900] * 3]}
        for at in range(1, 60)
    ]
    before = FileChangeDetail(changes=(FileChange(path="/a"),))
    after = complete_detail(before, ending("ok", {"filePath": "/a", "structuredPatch": hunks}))
    assert isinstance(after, FileChangeDetail)
    assert count_changes(diff_lines(after.changes[0])) == (3 * 59, 59)


def test_pictures_are_content() -> None:
    source = {"type": "base64", "media_type": "image/png", "data": "aGk="}
    assert ending([{"type": "image", "source": source}]).content == (ImageBlock(media_type="image/png", data="aGk="),)


REJECTED = [{"id": "t", "permission_decision": {"decision": "reject", "source": "config"}}]
STOPPED = "The user doesn't want to proceed with this tool use. The tool use was rejected"


@pytest.mark.parametrize(
    ("ended", "denied", "asked", "outcome"),
    [
        (ending("ok"), False, False, "completed"),
        (ending("half", {"interrupted": True}), False, False, "cancelled"),
        (ending("Exit code 1", error=True), False, False, "failed"),
        (ending("no", error=True, meta=REJECTED), False, False, "denied"),
        (ending("no", error=True, meta=[{**REJECTED[0], "id": "other"}]), False, False, "failed"),
        (ending("This command requires approval", error=True), False, False, "denied"),
        (ending("user says no", error=True), True, True, "denied"),
        (ending("requires approval", error=True), False, True, "failed"),
        (ending("Tool permission request failed: ZodError", error=True), False, True, "denied"),
        (ending(STOPPED, "User rejected tool use", error=True), False, False, "cancelled"),
        (ending(STOPPED, "User rejected tool use", error=True), True, True, "denied"),
    ],
)
def test_how_a_call_ended_is_read_from_all_that_is_known(
    ended: Ending, denied: bool, asked: bool, outcome: str
) -> None:
    assert judge(ended, denied=denied, asked=asked) == outcome


def test_the_list_of_tasks_follows_the_tools_that_change_it() -> None:
    todos = Todos()
    steps = [
        {"task": {"id": "1", "subject": "A"}},
        {"task": {"id": "2", "subject": "B"}},
        {"taskId": "1", "statusChange": {"from": "pending", "to": "in_progress"}},
        {"tasks": [{"id": "1", "subject": "A", "status": "in_progress"}, {"id": "2", "subject": "B"}]},
        {"taskId": "2", "statusChange": {"to": "deleted"}},
        {"taskId": "9", "statusChange": {"to": "completed"}},
        {"success": False},
    ]
    a, b = PlanEntry(content="A"), PlanEntry(content="B")
    running = PlanEntry(content="A", status="in_progress")
    assert [todos.after(ending("", step).outcome, None) for step in steps] == [
        (a,),
        (a, b),
        (running, b),
        None,
        (running,),
        None,
        None,
    ]
