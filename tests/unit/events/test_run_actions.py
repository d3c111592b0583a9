"""Tool calls and words as actions: kinds, titles, details, and what is cut."""

from __future__ import annotations

import msgspec
import pytest

from footplate.events.content import ImageBlock, TextBlock
from footplate.events.ids import EngineSessionId, MessageId, ToolCallId, TurnId
from footplate.events.model import (
    CompactionEnded,
    Denial,
    EngineAttached,
    Event,
    LimitReached,
    McpServerStatus,
    ModelChanged,
    Notice,
    Parked,
    PlanChanged,
    Thought,
    ToolEnded,
    ToolStarted,
    ToolUpdated,
    TurnEnded,
)
from footplate.events.run_events import (
    ActionDetail,
    Change,
    CommandAction,
    DenialWarning,
    EngineNote,
    FileChangeAction,
    PlanNote,
    QuestionNote,
    SubagentAction,
    Summary,
    TextNote,
    ThoughtNote,
    TodoNote,
    ToolAction,
    WebAction,
)
from footplate.events.runs import Action, RunFold
from footplate.events.tools import (
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
    ToolKind,
    WebDetail,
)

C1 = ToolCallId("c1")
ATTACHED = EngineAttached(engine="claude", engine_session_id=EngineSessionId("e1"), cwd="/project")
ENTRY = PlanEntry(content="write tests")
QUESTION = Question(text="which?")


def actions(*events: Event) -> list[Action]:
    fold = RunFold()
    fold.feed(ATTACHED)
    return [shown for event in events for shown in fold.feed(event) if isinstance(shown, Action)]


def call(kind: ToolKind, detail: ToolDetail | None, *, name: str = "Tool", title: str = "") -> ToolStarted:
    return ToolStarted(call=C1, name=name, kind=kind, title=title, detail=detail)


@pytest.mark.parametrize(
    ("kind", "detail", "shown_kind", "title", "facts"),
    [
        (
            "command",
            CommandDetail(command="ls -l", cwd="/x"),
            "command",
            "ls -l",
            CommandAction(tool="Tool", command="ls -l", cwd="/x"),
        ),
        (
            "file_change",
            FileChangeDetail(changes=(FileChange(path="/project/a/b.py", kind="add", new_text="x"),)),
            "file_change",
            "a/b.py",
            FileChangeAction(tool="Tool", changes=(Change(path="/project/a/b.py", kind="add"),)),
        ),
        (
            "file_change",
            FileChangeDetail(changes=(FileChange(path="/project/a"), FileChange(path="/b"), FileChange(path="/c"))),
            "file_change",
            "a and 2 more",
            FileChangeAction(
                tool="Tool", changes=tuple(Change(path=path, kind="update") for path in ("/project/a", "/b", "/c"))
            ),
        ),
        ("read", ReadDetail(path="/project/a.py"), "tool", "Read a.py", ToolAction(tool="Tool")),
        ("search", SearchDetail(pattern="*.py"), "tool", "*.py", ToolAction(tool="Tool")),
        ("mcp", McpDetail(server="git", tool="log"), "tool", "Tool", ToolAction(tool="Tool")),
        ("other", OtherDetail(summary="hm"), "tool", "Tool", ToolAction(tool="Tool")),
        ("web", WebDetail(query="cats"), "web_search", "cats", WebAction(tool="Tool", query="cats")),
        ("web", WebDetail(url="http://x"), "web_search", "http://x", WebAction(tool="Tool", url="http://x")),
        ("todo", TodoDetail(entries=(ENTRY,)), "note", "update todos", TodoNote(tool="Tool", entries=(ENTRY,))),
        (
            "question",
            QuestionDetail(questions=(QUESTION,)),
            "note",
            "ask user",
            QuestionNote(tool="Tool", questions=(QUESTION,)),
        ),
        ("plan", PlanDetail(plan="# do"), "note", "present plan", PlanNote(tool="Tool", plan="# do")),
        (
            "subagent",
            SubagentDetail(description="look", prompt="look well", agent_type="scout"),
            "subagent",
            "look",
            SubagentAction(tool="Tool", description="look", prompt="look well", agent_type="scout"),
        ),
        (
            "subagent",
            SubagentDetail(prompt="look well"),
            "subagent",
            "look well",
            SubagentAction(tool="Tool", prompt="look well"),
        ),
    ],
)
def test_a_call_is_shown_by_its_kind(
    kind: ToolKind, detail: ToolDetail, shown_kind: str, title: str, facts: ActionDetail
) -> None:
    (action,) = actions(call(kind, detail))
    assert (action.kind, action.title, action.phase, action.ok, action.detail) == (
        shown_kind,
        title,
        "started",
        None,
        facts,
    )


def test_a_call_tells_its_input_its_message_and_its_parent() -> None:
    started = ToolStarted(
        call=C1,
        name="Read",
        kind="read",
        title="",
        message=MessageId("m1"),
        parent=ToolCallId("c0"),
        input=msgspec.Raw(b'{"file_path": "/project/a"}'),
        detail=ReadDetail(path="/project/a"),
    )
    (action,) = actions(started)
    assert action.detail == ToolAction(
        tool="Read",
        input=msgspec.Raw(b'{"file_path": "/project/a"}'),
        message_id=MessageId("m1"),
        parent_id=ToolCallId("c0"),
    )


def test_a_command_ends_with_exit_code_output_and_the_title_it_started_with() -> None:
    ended = ToolEnded(
        call=C1,
        ok=False,
        outcome="failed",
        content=(TextBlock(text="Exit code 2\nno such file"),),
        detail=CommandDetail(command="ls  -l", exit_code=2, output="no such file"),
    )
    started, completed = actions(call("command", CommandDetail(command="ls -l")), ended)
    assert completed == Action(
        id="c1",
        kind="command",
        title=started.title,
        phase="completed",
        ok=False,
        level="error",
        message="Exit code 2",
        detail=CommandAction(
            tool="Tool",
            command="ls  -l",
            exit_code=2,
            output=Summary(chars=12, first_line="no such file", truncated=False),
            result=Summary(chars=24, first_line="Exit code 2", truncated=True),
        ),
    )


def test_a_call_that_is_denied_or_cancelled_is_a_warning_with_words() -> None:
    for outcome in ("denied", "cancelled"):
        ended = ToolEnded(call=C1, ok=False, outcome=outcome)
        (_, completed) = actions(call("other", OtherDetail()), ended)
        assert (completed.level, completed.message) == ("warning", outcome)


def test_a_call_whose_input_still_streams_is_shown_when_it_is_known() -> None:
    started = call("command", None, name="Bash")
    assert actions(started, ToolUpdated(call=C1, input_delta="{")) == []
    (action,) = actions(started, ToolUpdated(call=C1, detail=CommandDetail(command="ls")))
    assert (action.phase, action.title) == ("started", "ls")


def test_a_call_that_ends_before_it_is_known_is_shown_started_and_completed() -> None:
    ended = ToolEnded(call=C1, ok=True, outcome="completed", detail=CommandDetail(command="ls"))
    shown = actions(call("command", None, name="Bash"), ended)
    assert [(action.phase, action.title) for action in shown] == [("started", "ls"), ("completed", "ls")]


def test_a_call_without_a_detail_goes_by_the_engines_title_or_its_name() -> None:
    ended = ToolEnded(call=C1, ok=True, outcome="completed")
    assert actions(call("command", None, name="Bash", title="list"), ended)[0].title == "list"
    assert actions(call("command", None, name="Bash"), ended)[0].title == "Bash"
    assert actions(call("other", None, name="Odd", title="list"), ended)[0].title == "Odd"


def test_a_call_is_updated_when_something_new_is_told_and_only_then() -> None:
    detail = CommandDetail(command="ls")
    shown = actions(
        call("command", detail),
        ToolUpdated(call=C1, detail=detail),
        ToolUpdated(call=C1, elapsed_s=3.0),
        ToolUpdated(call=C1, output_delta="a"),
        ToolUpdated(call=C1, note="half way"),
        ToolUpdated(call=C1, detail=CommandDetail(command="ls", background=True, cwd="/x")),
    )
    assert [(action.phase, action.message) for action in shown] == [
        ("started", ""),
        ("updated", "half way"),
        ("updated", ""),
    ]


# ---------------------------------------------------------------------------------------------------- words


@pytest.mark.parametrize(
    ("event", "title", "level", "detail"),
    [
        (
            Notice(level="warning", text="slow", code="retry", detail="529", call=C1),
            "slow",
            "warning",
            TextNote(text="529", code="retry", call_id=C1),
        ),
        (Notice(level="error", text="bad"), "bad", "error", TextNote()),
        (Notice(level="info", text="Listed files", calls=(C1,)), "Listed files", "info", TextNote(call_ids=(C1,))),
        (Notice(level="info", text="a hook ran"), "a hook ran", "info", TextNote()),
        (
            LimitReached(kind="usage", status="reached", name="5h"),
            "limit reached: 5h",
            "warning",
            TextNote(code="limit"),
        ),
        (LimitReached(kind="rate", status="warning"), "limit is near: rate", "warning", TextNote(code="limit")),
        (LimitReached(kind="rate", status="clear"), "limit is clear again: rate", "info", TextNote(code="limit")),
        (
            LimitReached(kind="usage", status="reached", text="wait until 5pm"),
            "wait until 5pm",
            "warning",
            TextNote(text="wait until 5pm", code="limit"),
        ),
        (
            CompactionEnded(ok=True, tokens_before=900, tokens_after=100),
            "context compacted: 900 to 100 tokens",
            "info",
            TextNote(text="900 to 100 tokens", code="compaction"),
        ),
        (CompactionEnded(ok=True), "context compacted", "info", TextNote(code="compaction")),
        (
            CompactionEnded(ok=False, error="too small"),
            "the context could not be compacted",
            "warning",
            TextNote(text="too small", code="compaction"),
        ),
        (
            ModelChanged(model="haiku", fallback_from="opus"),
            "model opus was replaced by haiku",
            "warning",
            TextNote(text="haiku", code="model_fallback"),
        ),
        (Parked(reason="limit"), "parked: limit", "info", TextNote(text="limit", code="parked")),
        (
            Thought(message=MessageId("m"), part=0, text="\n let me see\nmore", parent=C1),
            "let me see",
            "info",
            ThoughtNote(text="\n let me see\nmore", message_id=MessageId("m"), parent_id=C1),
        ),
        (
            Thought(message=MessageId("m"), part=0, text="", redacted=True),
            "thinking",
            "info",
            ThoughtNote(text="", message_id=MessageId("m"), redacted=True),
        ),
        (PlanChanged(entries=(ENTRY,)), "update todos", "info", TodoNote(tool="", entries=(ENTRY,))),
    ],
)
def test_what_is_told_in_words_is_one_completed_note_or_warning(
    event: Event, title: str, level: str, detail: ActionDetail
) -> None:
    (action,) = actions(event)
    kind = "warning" if level in ("warning", "error") else "note"
    assert (action.id, action.kind, action.title, action.phase) == (f"{kind}-1", kind, title, "completed")
    assert (action.ok, action.level, action.detail) == (kind == "note", level, detail)


@pytest.mark.parametrize("event", [Notice(level="debug", text="noise"), ModelChanged(model="opus")])
def test_what_nobody_needs_to_hear_is_not_told(event: Event) -> None:
    assert actions(event) == []


def test_a_plan_that_a_to_do_call_tells_is_not_told_twice() -> None:
    shown = actions(call("todo", TodoDetail(entries=(ENTRY,))), PlanChanged(entries=(ENTRY,)))
    assert [action.id for action in shown] == ["c1"]


def test_each_denial_of_the_result_is_a_warning() -> None:
    denials = (Denial(tool="Bash", call=C1, input=msgspec.Raw(b'{"command":"rm"}')), Denial(tool="Edit"))
    shown = actions(TurnEnded(turn=TurnId("t"), ok=True, denials=denials))
    assert [(action.id, action.title, action.ok, action.level, action.detail) for action in shown] == [
        (
            "warning-1",
            "permission denied: Bash",
            False,
            "warning",
            DenialWarning(tool="Bash", call_id=C1, input=msgspec.Raw(b'{"command":"rm"}')),
        ),
        ("warning-2", "permission denied: Edit", False, "warning", DenialWarning(tool="Edit")),
    ]


def test_tools_and_servers_are_counted() -> None:
    servers = (McpServerStatus(name="git", status="connected"),)
    attached = msgspec.structs.replace(ATTACHED, tools=("Bash",), mcp_servers=servers)
    (action,) = actions(attached)
    assert (action.title, action.level, action.detail) == (
        "1 tool, 1 MCP server",
        "debug",
        EngineNote(tools=("Bash",), mcp_servers=servers),
    )


def test_a_result_without_text_has_an_empty_summary() -> None:
    ended = ToolEnded(call=C1, ok=True, outcome="completed", content=(ImageBlock(media_type="image/png"),))
    (_, completed) = actions(call("other", OtherDetail()), ended)
    assert completed.detail == ToolAction(tool="Tool", result=Summary(chars=0, first_line="", truncated=False))
