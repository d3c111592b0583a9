"""Updates of a turn as events: text and its boundaries, calls of every kind, plans, figures."""

from __future__ import annotations

import msgspec
import pytest

from footplate.events.content import DiffBlock, ImageBlock, OtherBlock, TerminalBlock, TextBlock
from footplate.events.ids import MessageId, ToolCallId
from footplate.events.model import (
    ConfigChanged,
    ConfigOption,
    ConfigValue,
    Message,
    MessageDelta,
    ModeChanged,
    ModelChanged,
    Notice,
    PlanChanged,
    Thought,
    ThoughtDelta,
    TitleChanged,
    ToolEnded,
    ToolStarted,
    ToolUpdated,
    TurnEnded,
    Unparsed,
    UsageReported,
    UserMessage,
)
from footplate.events.tools import (
    CommandDetail,
    FileChange,
    FileChangeDetail,
    McpDetail,
    OtherDetail,
    PlanDetail,
    PlanEntry,
    QuestionDetail,
    ReadDetail,
    SearchDetail,
    SubagentDetail,
    TodoDetail,
    ToolDetail,
    WebDetail,
)
from footplate.events.usage import Usage
from tests.unit.engines.acp.playing import AGENT, OPTIONS, SESSION, Json, Play, assert_clean, call, progress, say, text

C1 = ToolCallId("c1")


@pytest.fixture
def play() -> Play:
    play = Play()
    play.open()
    play.prompt()
    return play


def think(words: str, **more: object) -> Json:
    return {"sessionUpdate": "agent_thought_chunk", "content": text(words), **more}


def end(play: Play, **more: object) -> TurnEnded:
    ended = play.answer("session/prompt", {"stopReason": "end_turn", **more})[-1]
    assert isinstance(ended, TurnEnded)
    return ended


# ---------------------------------------------------------------------------------------------------- text


def test_a_thought_ends_where_the_answer_begins(play: Play) -> None:
    assert play.update(think("hm"), say("so")) == [
        ThoughtDelta(message=MessageId("turn-1.m1"), part=0, text="hm"),
        Thought(message=MessageId("turn-1.m1"), part=0, text="hm"),
        MessageDelta(message=MessageId("turn-1.m2"), part=0, text="so"),
    ]


def test_a_message_ends_where_another_one_begins(play: Play) -> None:
    assert play.update(say("a", messageId="x"), say("b", messageId="y")) == [
        MessageDelta(message=MessageId("x"), part=0, text="a"),
        Message(message=MessageId("x"), part=0, text="a"),
        MessageDelta(message=MessageId("y"), part=0, text="b"),
    ]


def test_a_message_that_goes_on_behind_a_call_has_a_second_part(play: Play) -> None:
    events = play.update(say("a", messageId="x"), call(status="completed"), say("b", messageId="x"))
    assert [event for event in events if isinstance(event, Message | MessageDelta)] == [
        MessageDelta(message=MessageId("x"), part=0, text="a"),
        Message(message=MessageId("x"), part=0, text="a"),
        MessageDelta(message=MessageId("x"), part=1, text="b"),
    ]
    assert end(play).answer == "b"
    play.finish()
    assert_clean(play.events)


def test_empty_chunks_are_nothing(play: Play) -> None:
    assert play.update(say("")) == []
    assert end(play).answer == ""


def test_links_and_embedded_text_are_text_of_a_message(play: Play) -> None:
    link: Json = {"sessionUpdate": "agent_message_chunk", "content": {"type": "resource_link", "uri": "u", "name": "n"}}
    held = {"type": "resource", "resource": {"uri": "u", "text": "inside"}}
    play.update(link, {"sessionUpdate": "agent_message_chunk", "content": held})
    assert end(play).answer == "[n](u)inside"


def test_an_echo_of_the_user_is_a_synthetic_message(play: Play) -> None:
    play.update({"sessionUpdate": "user_message_chunk", "content": text("/go")})
    assert play.update(say("ok"))[0] == UserMessage(
        message=MessageId("turn-1.m1"), content=(TextBlock(text="/go"),), synthetic=True
    )


def test_words_of_a_sub_agent_carry_its_call_and_are_not_the_answer(play: Play) -> None:
    inside = {"footplate": {"parentToolCallId": "c1"}}
    events = play.update(
        say("mine"), call(status="in_progress"), say("its", _meta=inside), progress(status="completed")
    )
    assert events[-2:] == [
        Message(message=MessageId("turn-1.m2"), part=0, text="its", parent=C1),
        ToolEnded(call=C1, ok=True, outcome="completed", detail=OtherDetail()),
    ]
    assert end(play).answer == "mine"
    play.finish()
    assert_clean(play.events)


# --------------------------------------------------------------------------------------------------- calls

CALLS: list[tuple[Json, str, ToolDetail]] = [
    (
        {"kind": "execute", "title": "ls", "rawInput": {"command": "ls -l", "cwd": "/w", "description": "List"}},
        "command",
        CommandDetail(command="ls -l", cwd="/w", description="List"),
    ),
    (
        {"kind": "execute", "rawInput": {"command": ["git", "status"]}},
        "command",
        CommandDetail(command="git status"),
    ),
    ({"kind": "execute", "title": "make"}, "command", CommandDetail(command="make")),
    ({"kind": "execute", "title": "make", "rawInput": {"command": 5}}, "command", CommandDetail(command="make")),
    (
        {"kind": "edit", "content": [{"type": "diff", "path": "/a", "newText": "n"}]},
        "file_change",
        FileChangeDetail(changes=(FileChange(path="/a", kind="add", new_text="n"),)),
    ),
    (
        {"kind": "edit", "content": [{"type": "diff", "path": "/a", "oldText": "o", "newText": "n"}]},
        "file_change",
        FileChangeDetail(changes=(FileChange(path="/a", kind="update", old_text="o", new_text="n"),)),
    ),
    (
        {"kind": "delete", "locations": [{"path": "/a"}, {"path": "/b"}]},
        "file_change",
        FileChangeDetail(changes=(FileChange(path="/a", kind="delete"), FileChange(path="/b", kind="delete"))),
    ),
    (
        {"kind": "move", "rawInput": {"path": "/a"}},
        "file_change",
        FileChangeDetail(changes=(FileChange(path="/a", kind="move"),)),
    ),
    ({"kind": "edit"}, "file_change", FileChangeDetail()),
    (
        {"kind": "read", "rawInput": {"file_path": "/a", "offset": 3, "limit": 9}},
        "read",
        ReadDetail(path="/a", offset=3, limit=9),
    ),
    ({"kind": "read", "locations": [{"path": "/a", "line": 1}]}, "read", ReadDetail(path="/a")),
    ({"kind": "search", "rawInput": {"pattern": "x", "path": "/w"}}, "search", SearchDetail(pattern="x", path="/w")),
    ({"kind": "fetch", "rawInput": {"url": "http://x"}}, "web", WebDetail(url="http://x")),
    ({"kind": "fetch", "title": "weather"}, "web", WebDetail(query="weather")),
    (
        {"kind": "think", "name": "Task", "rawInput": {"prompt": "p", "subagent_type": "s"}},
        "subagent",
        SubagentDetail(description="a call", prompt="p", agent_type="s"),
    ),
    ({"kind": "think"}, "other", OtherDetail()),
    ({"kind": "switch_mode", "rawInput": {"plan": "1. go"}}, "plan", PlanDetail(plan="1. go")),
    ({"kind": "other", "name": "AskUserQuestion"}, "question", QuestionDetail()),
    ({"kind": "other", "_meta": {"claudeCode": {"toolName": "TodoWrite"}}}, "todo", TodoDetail()),
    ({"name": "mcp__git__log__all"}, "mcp", McpDetail(server="git", tool="log__all")),
    ({"name": "mcp__"}, "other", OtherDetail()),
    ({"kind": "invented"}, "other", OtherDetail()),
    ({}, "other", OtherDetail()),
]


@pytest.mark.parametrize(("fields", "kind", "detail"), CALLS)
def test_every_kind_of_call_has_its_detail(play: Play, fields: Json, kind: str, detail: ToolDetail) -> None:
    [started] = play.update(call(**fields))
    assert isinstance(started, ToolStarted)
    assert (started.kind, started.detail) == (kind, detail)


def test_a_call_is_named_by_its_tool_else_by_its_kind(play: Play) -> None:
    events = play.update(call("c1", name="Bash"), call("c2", kind="execute"), call("c3"))
    assert [event.name for event in events if isinstance(event, ToolStarted)] == ["Bash", "execute", "tool"]


def test_a_call_whose_input_is_yet_to_come_has_no_detail_until_then(play: Play) -> None:
    given = {"command": "ls"}
    assert play.update(call(kind="execute", title="Terminal", status="pending", rawInput={})) == [
        ToolStarted(call=C1, name="execute", kind="command", title="Terminal", pending=True)
    ]
    assert play.update(progress(title="ls", rawInput=given)) == [
        ToolUpdated(call=C1, title="ls", input=msgspec.Raw(b'{"command": "ls"}'), detail=CommandDetail(command="ls"))
    ]
    assert play.update(progress(title="ls", rawInput=given)) == []


def shown(words: str) -> list[Json]:
    return [{"type": "content", "content": text(words)}]


def test_output_of_a_running_command_is_told_as_it_grows(play: Play) -> None:
    play.update(call(kind="execute", title="ls", status="in_progress"))
    assert play.update(progress(content=shown("a\n"))) == [ToolUpdated(call=C1, output_delta="a\n")]
    assert play.update(progress(content=shown("a\nb\n"))) == [ToolUpdated(call=C1, output_delta="b\n")]
    assert play.update(progress(status="completed", rawOutput={"exitCode": 2})) == [
        ToolEnded(
            call=C1,
            ok=True,
            outcome="completed",
            content=(TextBlock(text="a\nb\n"),),
            detail=CommandDetail(command="ls", exit_code=2, output="a\nb\n"),
        )
    ]


@pytest.mark.parametrize(
    "output", [{"exit_code": 4}, {"exitCode": 4}, {"metadata": {"exit": 4}, "output": "x"}, {"exit_code": 4, "x": []}]
)
def test_the_exit_code_is_found_under_every_name_it_has(play: Play, output: Json) -> None:
    [_, ended] = play.update(call(kind="execute", title="ls", status="failed", rawOutput=output))
    assert ended == ToolEnded(call=C1, ok=False, outcome="failed", detail=CommandDetail(command="ls", exit_code=4))


def test_long_output_is_cut_in_the_detail_and_whole_in_the_content(play: Play) -> None:
    [_, ended] = play.update(call(kind="execute", status="completed", content=shown("x" * 5000)))
    assert isinstance(ended, ToolEnded)
    assert isinstance(ended.detail, CommandDetail)
    assert (len(ended.detail.output), ended.detail.truncated) == (4096, True)
    assert ended.content == (TextBlock(text="x" * 5000),)


def test_every_block_of_a_call_is_kept_also_those_we_do_not_know(play: Play) -> None:
    blocks: list[Json] = [
        *shown("t"),
        {"type": "content", "content": {"type": "image", "data": "AA==", "mimeType": "image/png"}},
        {"type": "diff", "path": "/a", "oldText": None, "newText": "n"},
        {"type": "terminal", "terminalId": "t1"},
        {"type": "hologram"},
    ]
    [_, ended] = play.update(call(status="completed", content=blocks))
    assert isinstance(ended, ToolEnded)
    assert ended.content == (
        TextBlock(text="t"),
        ImageBlock(media_type="image/png", data="AA=="),
        DiffBlock(path="/a", new_text="n"),
        TerminalBlock(output="", terminal="t1"),
        OtherBlock(kind="hologram", raw=msgspec.Raw(b'{"type": "hologram"}')),
    )


def test_a_call_may_first_be_seen_in_an_update(play: Play) -> None:
    assert play.update(progress(title="ls", kind="execute", status="completed")) == [
        ToolStarted(call=C1, name="execute", kind="command", title="ls", detail=CommandDetail(command="ls")),
        ToolEnded(call=C1, ok=True, outcome="completed", detail=CommandDetail(command="ls")),
    ]


def test_more_of_a_call_that_is_over_is_kept_as_it_came(play: Play) -> None:
    play.update(call(status="completed"))
    [kept] = play.update(progress(title="late"))
    assert isinstance(kept, Unparsed)
    assert kept.reason == "more of a call that was over"


def test_a_call_with_an_id_that_was_used_before_gets_one_of_its_own(play: Play) -> None:
    play.update(call(status="completed"))
    events = play.update(call(status="in_progress"), progress(status="completed"))
    assert [event.call for event in events if isinstance(event, ToolStarted | ToolEnded)] == ["c1#2", "c1#2"]
    play.finish()
    assert_clean(play.events)


def test_a_parent_that_nobody_saw_is_left_out(play: Play) -> None:
    [started] = play.update(call(_meta={"footplate": {"parentToolCallId": "nobody"}}))
    assert isinstance(started, ToolStarted)
    assert started.parent is None


# ---------------------------------------------------------------------------------------- plans and session


def test_a_plan_replaces_the_one_before(play: Play) -> None:
    entries = [
        {"content": "a", "status": "completed", "priority": "high"},
        {"content": "b", "status": "in_progress", "priority": "odd"},
        {"content": "c", "status": "odd", "priority": "low"},
    ]
    assert play.update({"sessionUpdate": "plan", "entries": entries}) == [
        PlanChanged(
            entries=(
                PlanEntry(content="a", status="completed", priority="high"),
                PlanEntry(content="b", status="in_progress"),
                PlanEntry(content="c", priority="low"),
            )
        )
    ]


def test_updates_of_the_session_may_come_at_any_time() -> None:
    play = Play()
    play.open()
    grouped = {
        "id": "m",
        "name": "Model",
        "category": "model",
        "type": "select",
        "currentValue": "big",
        "options": [{"group": "g", "name": "G", "options": [{"value": "big", "name": "Big", "description": "d"}]}],
    }
    switch = {"id": "f", "name": "Fast", "type": "boolean", "currentValue": True}
    assert play.update(
        {"sessionUpdate": "current_mode_update", "currentModeId": "plan"},
        {"sessionUpdate": "config_option_update", "configOptions": [grouped, switch]},
        {"sessionUpdate": "session_info_update", "title": "A title"},
        {"sessionUpdate": "session_info_update", "updatedAt": "now"},
        {"sessionUpdate": "usage_update", "used": 5, "size": 10},
        {"sessionUpdate": "notice", "severity": "warning", "title": "Careful", "description": "very"},
        {"sessionUpdate": "notice", "severity": "_odd", "title": "Hm"},
    ) == [
        ModeChanged(mode="plan"),
        ConfigChanged(
            options=(
                ConfigOption(
                    id="m",
                    label="Model",
                    category="model",
                    value="big",
                    values=(ConfigValue(value="big", label="Big", description="d"),),
                ),
                ConfigOption(
                    id="f", label="Fast", value="true", values=(ConfigValue(value="true"), ConfigValue(value="false"))
                ),
            )
        ),
        ModelChanged(model="big"),
        TitleChanged(title="A title"),
        UsageReported(context_used=5, context_size=10, model="big"),
        Notice(level="warning", text="Careful", code="agent", detail="very"),
        Notice(level="info", text="Hm", code="agent"),
    ]


def cost(amount: float, currency: str = "USD") -> Json:
    return {"sessionUpdate": "usage_update", "used": 1, "size": 2, "cost": {"amount": amount, "currency": currency}}


def test_money_of_a_turn_is_what_the_session_cost_more_than_before(play: Play) -> None:
    play.update(cost(0.5))
    assert end(play).usage == Usage(cost_usd=0.5, total_cost_usd=0.5)
    play.prompt("two")
    play.update(cost(0.75), cost(7.0, "EUR"))
    assert end(play).usage == Usage(cost_usd=0.25, total_cost_usd=0.75)
    play.prompt("three")
    assert end(play).usage is None


@pytest.mark.parametrize(
    ("before", "total", "turn"),
    [
        pytest.param(0.5, 0.75, 0.25, id="the total goes on"),
        pytest.param(0.5, 0.25, 0.25, id="the total began at zero again"),
        pytest.param(None, 0.75, None, id="nobody knows what it was"),
    ],
)
def test_the_first_turn_after_a_resume_costs_what_comes_on_top_of_the_total_before(
    before: float | None, total: float, turn: float | None
) -> None:
    play = Play(msgspec.structs.replace(OPTIONS, resume=SESSION, reported_cost_usd=before))
    play.begin()
    play.answer("initialize", AGENT)
    play.answer("session/load", {})
    play.prompt()
    play.update(cost(total))
    assert end(play).usage == Usage(cost_usd=turn, total_cost_usd=total)


def test_tokens_of_a_turn_are_those_the_agent_reports(play: Play) -> None:
    figures = {"totalTokens": 9, "inputTokens": 3, "outputTokens": 2, "thoughtTokens": 1, "cachedReadTokens": 3}
    usage = end(play, usage=figures).usage
    assert usage is not None
    assert usage.reported is not None
    assert msgspec.json.decode(usage.reported) == figures
    assert msgspec.structs.replace(usage, reported=None) == Usage(
        input_tokens=3, output_tokens=2, reasoning_tokens=1, cache_read_tokens=3
    )


def test_figures_that_we_cannot_read_are_kept_and_not_guessed(play: Play) -> None:
    assert end(play, usage=["odd"]).usage == Usage(reported=msgspec.Raw(b'["odd"]'))
