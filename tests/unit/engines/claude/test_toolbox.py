"""The table of tools: kind, title and detail of each, whatever the input looks like."""

from __future__ import annotations

import pytest
from msgspec import Raw

from footplate.engines.claude.toolbox import TITLE_LIMIT, describe_call, relative_to
from footplate.events.tools import (
    Choice,
    CommandDetail,
    FileChange,
    FileChangeDetail,
    McpDetail,
    OtherDetail,
    PlanDetail,
    PlanEntry,
    Question,
    QuestionDetail,
    ReadDetail,
    SearchDetail,
    SubagentDetail,
    TodoDetail,
    ToolDetail,
    WebDetail,
)
from tests.unit.engines.claude.playing import raw

CWD = "/project"


@pytest.mark.parametrize(
    ("name", "given", "kind", "title", "detail"),
    [
        (
            "Bash",
            {"command": "ls -l", "description": "list", "run_in_background": True},
            "command",
            "ls -l",
            CommandDetail(command="ls -l", cwd=CWD, description="list", background=True),
        ),
        ("SHELL", {"command": "ls"}, "command", "ls", CommandDetail(command="ls", cwd=CWD)),
        ("KillShell", {"shell_id": "b1"}, "command", "stop b1", CommandDetail(command="", cwd=CWD)),
        (
            "Write",
            {"file_path": "/project/a/b.txt", "content": "x"},
            "file_change",
            "a/b.txt",
            FileChangeDetail(changes=(FileChange(path="/project/a/b.txt", new_text="x"),)),
        ),
        (
            "edit",
            {"path": "/else/b.txt", "old_string": "1", "new_string": "2"},
            "file_change",
            "/else/b.txt",
            FileChangeDetail(changes=(FileChange(path="/else/b.txt", old_text="1", new_text="2"),)),
        ),
        (
            "MultiEdit",
            {"file_path": "a", "edits": [{"old_string": "1", "new_string": "2"}, {"old_string": "3"}]},
            "file_change",
            "a",
            FileChangeDetail(
                changes=(FileChange(path="a", old_text="1", new_text="2"), FileChange(path="a", old_text="3"))
            ),
        ),
        (
            "NotebookEdit",
            {"notebook_path": "/project/n.ipynb", "new_source": "1"},
            "file_change",
            "n.ipynb",
            FileChangeDetail(changes=(FileChange(path="/project/n.ipynb", new_text="1"),)),
        ),
        (
            "Read",
            {"file_path": "/project/a", "offset": 3, "limit": 4},
            "read",
            "Read a",
            ReadDetail(path="/project/a", offset=3, limit=4),
        ),
        (
            "Glob",
            {"pattern": "*.py", "path": "/project"},
            "search",
            "*.py",
            SearchDetail(pattern="*.py", path="/project"),
        ),
        ("Grep", {"pattern": "def "}, "search", "def", SearchDetail(pattern="def ")),
        ("WebSearch", {"query": "cats"}, "web", "cats", WebDetail(query="cats")),
        ("WebFetch", {"url": "http://a", "prompt": "what"}, "web", "http://a", WebDetail(url="http://a")),
        (
            "TodoWrite",
            {"todos": [{"content": "A", "status": "in_progress", "activeForm": "Doing A", "priority": "high"}]},
            "todo",
            "update todos",
            TodoDetail(entries=(PlanEntry(content="A", status="in_progress", active_form="Doing A", priority="high"),)),
        ),
        (
            "TaskCreate",
            {"subject": "B", "activeForm": "Doing B"},
            "todo",
            "update todos",
            TodoDetail(entries=(PlanEntry(content="B", active_form="Doing B"),)),
        ),
        ("TaskList", {}, "todo", "update todos", TodoDetail()),
        (
            "AskUserQuestion",
            {"questions": [{"question": "Q?", "header": "H", "multiSelect": True, "options": [{"label": "L"}]}]},
            "question",
            "ask user",
            QuestionDetail(questions=(Question(text="Q?", header="H", multiple=True, choices=(Choice(label="L"),)),)),
        ),
        (
            "ExitPlanMode",
            {"plan": "# P", "planFilePath": "/p.md"},
            "plan",
            "plan",
            PlanDetail(plan="# P", plan_file="/p.md"),
        ),
        (
            "Agent",
            {"prompt": "do", "subagent_type": "Explore"},
            "subagent",
            "do",
            SubagentDetail(prompt="do", agent_type="Explore"),
        ),
        ("Task", {"description": "job"}, "subagent", "job", SubagentDetail(description="job")),
        ("mcp__lab__echo", {"text": "x"}, "mcp", "lab echo", McpDetail(server="lab", tool="echo")),
        ("Workflow", {"description": "flow"}, "other", "Workflow", OtherDetail(summary="flow")),
    ],
)
def test_each_tool_has_its_kind_title_and_detail(
    name: str, given: dict[str, object], kind: str, title: str, detail: ToolDetail
) -> None:
    described = describe_call(name, raw(given), CWD)
    assert (described.kind, described.title, described.detail) == (kind, title, detail)


@pytest.mark.parametrize("given", [None, Raw(b"null"), Raw(b"[]"), Raw(b'"text"'), Raw(b"{}"), Raw(b"{")])
def test_without_an_input_the_title_is_the_name(given: Raw | None) -> None:
    assert describe_call("Bash", given, CWD).title == "Bash"


def test_a_field_of_the_wrong_type_costs_only_itself() -> None:
    described = describe_call("Read", raw({"file_path": "/project/a", "offset": "three"}), CWD)
    assert described.detail == ReadDetail(path="/project/a")


def test_long_titles_are_bounded() -> None:
    assert len(describe_call("Bash", raw({"command": "x" * 9999}), CWD).title) == TITLE_LIMIT


def test_the_texts_of_a_change_are_whole_however_long() -> None:
    old, new = "o" * 40_000, "n" * 5_000_000
    written = describe_call("Write", raw({"file_path": "a", "content": new}), CWD)
    assert written.detail == FileChangeDetail(changes=(FileChange(path="a", new_text=new),))
    edited = describe_call("Edit", raw({"file_path": "a", "old_string": old, "new_string": new}), CWD)
    assert edited.detail == FileChangeDetail(changes=(FileChange(path="a", old_text=old, new_text=new),))


@pytest.mark.parametrize(
    ("path", "cwd", "shown"),
    [
        ("/project/a", "/project", "a"),
        ("/project/a", "/project/", "a"),
        ("/workshop/a", "/project", "/workshop/a"),
        ("/project", "/project", "/project"),
        ("/a", "", "/a"),
        ("/a", "/", "a"),
    ],
)
def test_a_path_is_shown_as_seen_from_the_folder(path: str, cwd: str, shown: str) -> None:
    assert relative_to(path, cwd) == shown
