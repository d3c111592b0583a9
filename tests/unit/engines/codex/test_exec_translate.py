"""The stream of `codex exec --json` as events; the traps of `engines.md` stand in the names of their tests."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from footplate.engines.base import Exit
from footplate.engines.codex.exec_translate import Translator
from footplate.events.base import ResumeToken
from footplate.events.content import OtherBlock, TextBlock
from footplate.events.ids import EngineSessionId, MessageId, ToolCallId, TurnId
from footplate.events.model import (
    EngineAttached,
    EngineDetached,
    Event,
    Message,
    Notice,
    PlanChanged,
    Thought,
    ToolEnded,
    ToolStarted,
    ToolUpdated,
    TurnEnded,
    TurnStarted,
    Unparsed,
)
from footplate.events.runs import Completed, RunFold
from footplate.events.tools import CommandDetail, FileChange, FileChangeDetail, McpDetail, PlanEntry, WebDetail
from footplate.events.usage import Usage
from footplate.host.lines import Block, Oversize
from footplate.testing.invariants import check_invariants, check_run

FIXTURES = Path(__file__).parents[3] / "fixtures" / "codex"
NAMES = sorted(path.stem for path in FIXTURES.glob("exec-*.jsonl"))
DONE = Exit(code=0, reason="exit code 0")
GONE = EngineDetached(reason="exit code 0", exit_code=0)
BEGIN = b'{"type":"thread.started","thread_id":"t"}\n{"type":"turn.started"}\n'
TOKEN = ResumeToken(engine="codex", value=EngineSessionId("t"))
WARNING = Notice(
    level="warning",
    text="Model metadata for `fake-1` not found. Defaulting to fallback metadata; this can degrade performance and "
    "cause issues.",
    code="codex",
)


def lines(name: str) -> list[bytes]:
    return (FIXTURES / f"{name}.jsonl").read_bytes().splitlines(keepends=True)


def play(*chunks: bytes, resumed: bool = False, ending: Exit = DONE) -> list[Event]:
    translator = Translator(resumed=resumed)
    events = [event for chunk in chunks for event in translator.feed(Block(chunk))]
    return events + translator.finish(ending)


def attached(thread: str, **more: object) -> EngineAttached:
    return EngineAttached(engine="codex", engine_session_id=EngineSessionId(thread), **more)  # type: ignore[arg-type]


def ended(thread: str = "t", *, ok: bool = True, **more: object) -> TurnEnded:
    token = ResumeToken(engine="codex", value=EngineSessionId(thread))
    return TurnEnded(turn=TurnId("turn-1"), ok=ok, resume=token, origin="prompt", **more)  # type: ignore[arg-type]


STARTED = TurnStarted(turn=TurnId("turn-1"), origin="prompt")


@pytest.mark.parametrize("name", NAMES)
def test_every_beginning_of_a_stream_is_closed_in_order(name: str) -> None:
    whole = lines(name)
    for end in range(len(whole) + 1):
        events = play(*whole[:end])
        assert check_invariants(events, finished=True) == []
        fold = RunFold()
        shown = [each for event in events for each in fold.feed(event)] + list(fold.finish())
        assert check_run(shown) == []
        assert len([each for each in shown if isinstance(each, Completed)]) == 1


@pytest.mark.parametrize("name", NAMES)
def test_any_chunking_of_a_stream_gives_the_same_events(name: str) -> None:
    assert play(*lines(name)) == play(b"".join(lines(name)))


@pytest.mark.parametrize("name", NAMES)
def test_nothing_goes_unread(name: str) -> None:
    assert not [event for event in play(*lines(name)) if isinstance(event, Unparsed)]


def test_a_command_from_beginning_to_end() -> None:
    thread = "01a1e1a6-96b2-7582-9ad1-8eb0b7d35d48"
    command = "/bin/bash -lc 'echo hi > out.txt; cat out.txt'"
    call = ToolCallId("turn-1.item_2")
    figures = (
        b'{"input_tokens":200,"cached_input_tokens":40,"cache_write_input_tokens":0,"output_tokens":20,'
        b'"reasoning_output_tokens":4}'
    )
    assert play(*lines("exec-bash")) == [
        attached(thread),
        WARNING,
        STARTED,
        Thought(message=MessageId("turn-1.item_1"), part=0, text="**Thinking** about it."),
        ToolStarted(call=call, name="shell", kind="command", title=command, detail=CommandDetail(command=command)),
        ToolEnded(
            call=call,
            ok=True,
            outcome="completed",
            content=(TextBlock(text="hi\n"),),
            detail=CommandDetail(command=command, exit_code=0, output="hi\n"),
        ),
        Thought(message=MessageId("turn-1.item_3"), part=0, text="**Thinking** about it."),
        Message(message=MessageId("turn-1.item_4"), part=0, text="All done. tools=1"),
        ended(
            thread,
            answer="All done. tools=1",
            usage=Usage(
                input_tokens=160,
                output_tokens=20,
                cache_read_tokens=40,
                reasoning_tokens=4,
                reported=msgspec.Raw(figures),
            ),
        ),
        GONE,
    ]


# --------------------------------------------------------------------------------------------------- traps


def usage_line(count: int) -> bytes:
    return b'{"type":"turn.completed","usage":{"input_tokens":%d,"output_tokens":%d}}\n' % (count, count // 10)


def test_trap_1_usage_is_that_of_the_thread_so_that_what_was_reported_before_is_taken_off() -> None:
    events = play(BEGIN, usage_line(100), b'{"type":"turn.started"}\n', usage_line(250))
    figures = [event.usage for event in events if isinstance(event, TurnEnded)]
    assert [(usage.input_tokens, usage.output_tokens) for usage in figures if usage] == [(100, 10), (150, 15)]


def test_trap_1_usage_of_a_resumed_thread_is_handed_on_and_not_passed_off_as_the_turns() -> None:
    events = play(*lines("exec-resume"), resumed=True)
    turn = next(event for event in events if isinstance(event, TurnEnded))
    assert turn.usage is not None
    assert turn.usage.reported is not None
    assert msgspec.structs.replace(turn.usage, reported=None) == Usage()
    assert msgspec.json.decode(turn.usage.reported, type=dict[str, int])["input_tokens"] == 200
    assert [event.code for event in events if isinstance(event, Notice)] == ["codex", "usage_of_thread"]
    assert events[0] == attached("01a1e1a6-9560-7ad1-81e1-e9bd291b1abe", reason="resumed")


def test_trap_2_an_error_item_before_the_turn_is_a_warning_and_the_run_succeeds() -> None:
    events = play(*lines("exec-simple"))
    assert events.index(WARNING) < events.index(STARTED)
    assert [event.ok for event in events if isinstance(event, TurnEnded)] == [True]


def test_trap_3_a_failure_that_is_told_twice_ends_the_turn_once() -> None:
    thread = "01a1e1a6-9c28-76b1-b42c-4bf6dbf39b5c"
    assert play(*lines("exec-fail"), ending=Exit(code=1)) == [
        attached(thread),
        WARNING,
        STARTED,
        Notice(level="error", text="fake failure", code="codex"),
        ended(thread, ok=False, error="fake failure", stop_reason="error"),
        EngineDetached(reason="the agent ended", exit_code=1),
    ]


def test_trap_3_an_error_without_the_end_of_the_turn_fails_it_when_codex_is_gone() -> None:
    assert play(BEGIN, b'{"type":"error","message":"no network"}\n', ending=Exit(code=1))[-2:] == [
        ended(ok=False, error="no network", stop_reason="error"),
        EngineDetached(reason="the agent ended", exit_code=1),
    ]


def test_trap_3_an_error_before_any_turn_is_a_turn_that_failed() -> None:
    assert play(b'{"type":"error","message":"no login"}\n', ending=Exit(code=1)) == [
        Notice(level="error", text="no login", code="codex"),
        STARTED,
        TurnEnded(turn=TurnId("turn-1"), ok=False, error="no login", stop_reason="error", origin="prompt"),
        EngineDetached(reason="the agent ended", exit_code=1),
    ]


def test_trap_7_a_patch_is_a_change_of_files_whatever_tool_brought_it() -> None:
    events = play(*lines("exec-edit"))
    detail = FileChangeDetail(changes=(FileChange(path="/workspace/hello.txt", kind="add"),))
    assert [event for event in events if isinstance(event, ToolStarted | ToolEnded)] == [
        ToolStarted(
            call=ToolCallId("turn-1.item_1"),
            name="apply_patch",
            kind="file_change",
            title="/workspace/hello.txt",
            detail=detail,
        ),
        ToolEnded(call=ToolCallId("turn-1.item_1"), ok=True, outcome="completed", detail=detail),
    ]


# ----------------------------------------------------------------------------------------------- other items


def item(kind: str, body: str) -> bytes:
    return f'{{"type":"item.{kind}","item":{{"id":"i",{body}}}}}\n'.encode()


def test_a_tool_of_an_mcp_server() -> None:
    body = '"type":"mcp_tool_call","server":"git","tool":"log","arguments":{"n":1}'
    call = ToolCallId("turn-1.i")
    detail = McpDetail(server="git", tool="log")
    assert play(BEGIN, item("started", body), item("completed", body + ',"result":{"ok":true},"status":"completed"'))[
        2:4
    ] == [
        ToolStarted(
            call=call,
            name="mcp__git__log",
            kind="mcp",
            title="git: log",
            input=msgspec.Raw(b'{"n":1}'),
            detail=detail,
        ),
        ToolEnded(
            call=call,
            ok=True,
            outcome="completed",
            content=(OtherBlock(kind="mcp_result", raw=msgspec.Raw(b'{"ok":true}')),),
            detail=detail,
        ),
    ]
    failed = play(BEGIN, item("completed", body + ',"error":{"message":"no"},"status":"failed"'))[3]
    assert failed == ToolEnded(call=call, ok=False, outcome="failed", content=(TextBlock(text="no"),), detail=detail)


def test_a_search_on_the_web_may_come_only_at_its_end() -> None:
    assert play(BEGIN, item("completed", '"type":"web_search","query":"weather"'))[2:4] == [
        ToolStarted(
            call=ToolCallId("turn-1.i"),
            name="web_search",
            kind="web",
            title="weather",
            detail=WebDetail(query="weather"),
        ),
        ToolEnded(call=ToolCallId("turn-1.i"), ok=True, outcome="completed", detail=WebDetail(query="weather")),
    ]


def test_a_to_do_list_is_a_plan() -> None:
    body = '"type":"todo_list","items":[{"text":"a","completed":true},{"text":"b","completed":false}]'
    assert play(BEGIN, item("updated", body))[2] == PlanChanged(
        entries=(PlanEntry(content="a", status="completed"), PlanEntry(content="b"))
    )


@pytest.mark.parametrize(
    ("body", "outcome"),
    [
        ('"exit_code":1,"status":"failed"', "failed"),
        ('"exit_code":1', "failed"),
        ('"exit_code":null,"status":"declined"', "denied"),
    ],
)
def test_a_command_that_did_not_work(body: str, outcome: str) -> None:
    ends = play(BEGIN, item("completed", f'"type":"command_execution","command":"x",{body}'))
    assert [(event.ok, event.outcome) for event in ends if isinstance(event, ToolEnded)] == [(False, outcome)]


def test_output_of_a_running_command_is_an_update() -> None:
    body = '"type":"command_execution","command":"x","aggregated_output":'
    events = play(BEGIN, item("started", body + '""'), item("updated", body + '"out"'))
    assert events[3] == ToolUpdated(call=ToolCallId("turn-1.i"), detail=CommandDetail(command="x", output="out"))


def test_a_death_in_the_middle_keeps_the_text_and_says_why() -> None:
    started = item("started", '"type":"command_execution","command":"x"')
    said = b'{"type":"item.completed","item":{"id":"m","type":"agent_message","text":"first"}}\n'
    ending = Exit(code=None, signal=9, reason="killed", stderr="last words\n")
    assert play(BEGIN, said, started, ending=ending)[-3:] == [
        ToolEnded(call=ToolCallId("turn-1.i"), ok=False, outcome="lost", detail=CommandDetail(command="x")),
        ended(
            ok=False,
            answer="first",
            error="the agent ended without a result (killed, signal 9): last words",
            stop_reason="lost",
        ),
        EngineDetached(reason="killed", signal=9, stderr="last words\n"),
    ]


def test_an_agent_that_never_spoke_leaves_only_its_end() -> None:
    assert play(ending=Exit(code=1, stderr="no rollout found")) == [
        EngineDetached(reason="the agent ended", exit_code=1, stderr="no rollout found")
    ]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"WARNING: not JSON", "JSON is malformed: invalid character (byte 0)"),
        (b'{"type":"thread.dreamt","x":1}', "an unknown line: thread.dreamt"),
        (b'{"type":"thread.started"}', "an unknown line: thread.started"),
        (b'{"type":"item.completed","item":{"id":"i","type":"dream"}}', "an unknown line: item.completed"),
    ],
)
def test_a_line_without_a_meaning_is_kept_as_it_came(line: bytes, reason: str) -> None:
    assert play(line + b"\n")[0] == Unparsed(raw=line.decode(), reason=reason, size=len(line))


def test_a_line_that_is_too_long_is_named() -> None:
    assert Translator().feed(Block(b"", (Oversize(size=10**8, head=b"begin"),))) == [
        Notice(
            level="warning",
            text="a line of 100000000 bytes is above the limit of 67108864 and was left out",
            code="oversize_line",
            detail="begin",
        )
    ]


def test_more_of_a_call_that_is_over_is_kept() -> None:
    body = '"type":"web_search","query":"weather"'
    kept = play(BEGIN, item("completed", body), item("completed", body))[4]
    assert isinstance(kept, Unparsed)
    assert kept.reason == "more of a call that was over"


def test_words_without_a_turn_start_one() -> None:
    said = b'{"type":"item.completed","item":{"id":"m","type":"agent_message","text":"hi"}}\n'
    assert play(b'{"type":"thread.started","thread_id":"t"}\n', said)[1:3] == [
        STARTED,
        Message(message=MessageId("turn-1.m"), part=0, text="hi"),
    ]
