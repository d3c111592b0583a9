"""Which session it is: attached, cleared, forked, or not the one that was asked for; its mode, model, state, limits."""

from __future__ import annotations

import pytest

from footplate.engines.base import Exit
from footplate.engines.claude.translate import Translator
from footplate.engines.standing import Standing
from footplate.events.base import ResumeToken
from footplate.events.ids import EngineSessionId, PromptId, ToolCallId, TurnId
from footplate.events.model import (
    CommandsChanged,
    CompactionEnded,
    CompactionStarted,
    EngineAttached,
    EngineDetached,
    Event,
    LimitReached,
    McpServerStatus,
    Message,
    ModeChanged,
    ModelChanged,
    Notice,
    PromptWithdrawn,
    SlashCommand,
    StateChanged,
    TitleChanged,
    TurnEnded,
    TurnStarted,
)
from footplate.events.reduce import fold
from footplate.events.view import NoticeItem, ToolItem
from tests.unit.engines.claude.playing import VERSIONS, feed, play, recording
from tests.unit.events.log import Log

OLD, NEW = EngineSessionId("old"), EngineSessionId("new")
INIT: dict[str, object] = {
    "type": "system",
    "subtype": "init",
    "session_id": OLD,
    "cwd": "/project",
    "model": "opus",
    "permissionMode": "default",
    "claude_code_version": "2.1.325",
    "output_style": "default",
    "apiKeySource": "none",
    "tools": ["Bash"],
    "slash_commands": ["compact"],
    "agents": ["Explore"],
    "mcp_servers": [{"name": "lab", "status": "connected"}],
}
RESULT: dict[str, object] = {
    "type": "result",
    "subtype": "success",
    "is_error": False,
    "result": "ok",
    "session_id": OLD,
}
SAID: dict[str, object] = {
    "type": "assistant",
    "session_id": OLD,
    "message": {"id": "m1", "model": "opus", "content": [{"type": "text", "text": "words"}]},
}


def system(subtype: str, **fields: object) -> dict[str, object]:
    return {"type": "system", "subtype": subtype, "session_id": OLD, **fields}


def test_the_first_init_tells_everything_and_starts_a_turn() -> None:
    assert feed(Translator(), INIT) == [
        EngineAttached(
            engine="claude",
            engine_session_id=OLD,
            version="2.1.325",
            model="opus",
            mode="default",
            cwd="/project",
            tools=("Bash",),
            mcp_servers=(McpServerStatus(name="lab", status="connected"),),
            commands=("compact",),
            agents=("Explore",),
            output_style="default",
            credentials="none",
        ),
        TurnStarted(turn=TurnId("turn-1")),
    ]


def test_a_later_init_tells_what_changed() -> None:
    translator = Translator(turn_prefix="t", first_turn=7)
    feed(translator, INIT, RESULT)
    assert feed(translator, {**INIT, "model": "sonnet", "permissionMode": "plan"}) == [
        ModeChanged(mode="plan"),
        ModelChanged(model="sonnet"),
        TurnStarted(turn=TurnId("t8")),
    ]


@pytest.mark.parametrize("reset", [[{"type": "conversation_reset", "new_conversation_id": "x"}], []])
def test_after_a_clear_the_new_session_is_followed_and_announced(reset: list[object]) -> None:
    translator = Translator(resume=OLD)
    feed(translator, INIT, RESULT)
    translator.sent(PromptId("p"), clears=True)
    events = feed(translator, *reset, {**INIT, "session_id": NEW}, {**RESULT, "session_id": NEW})
    attached, turn, ended = events
    assert isinstance(attached, EngineAttached)
    assert (attached.engine_session_id, attached.reason) == (NEW, "cleared")
    assert isinstance(turn, TurnStarted)
    assert isinstance(ended, TurnEnded)
    assert (ended.ok, ended.resume) == (True, ResumeToken(engine="claude", value=NEW))


def test_a_resumed_session_that_is_cleared_at_once_is_no_mismatch() -> None:
    translator = Translator(resume=OLD, clears=True)
    attached = feed(translator, {**INIT, "session_id": NEW})[0]
    assert isinstance(attached, EngineAttached)
    assert attached.reason == "cleared"


@pytest.mark.parametrize(("fork", "reason", "session"), [(False, "resumed", OLD), (True, "forked", NEW)])
def test_what_was_asked_for_is_the_reason(fork: bool, reason: str, session: str) -> None:
    attached = feed(Translator(resume=OLD, fork=fork), {**INIT, "session_id": session})[0]
    assert isinstance(attached, EngineAttached)
    assert (attached.reason, attached.engine_session_id) == (reason, session)


def test_another_session_than_the_one_asked_for_fails_the_turn_and_names_both() -> None:
    text = "asked to resume session wanted, but the agent answers as session old"
    translator = Translator(resume=EngineSessionId("wanted"))
    assert feed(translator, INIT, SAID, RESULT) == [
        Notice(level="error", text=text, code="session_id_mismatch"),
        TurnStarted(turn=TurnId("turn-1")),
    ]
    assert translator.mismatch == text
    assert translator.finish(Exit(signal=9)) == [
        TurnEnded(turn=TurnId("turn-1"), ok=False, error=text, error_kind="session_id_mismatch", stop_reason="lost"),
        EngineDetached(reason=text, signal=9),
    ]


MOVED = "asked to resume session old, but the agent answers as session new"


@pytest.mark.parametrize("line", ["init", "assistant", "result"])
def test_a_resumed_session_that_becomes_another_one_without_a_clear_is_a_mismatch(line: str) -> None:
    translator = Translator(resume=OLD)
    lines = {"init": INIT, "assistant": SAID, "result": RESULT}
    feed(translator, INIT, RESULT, INIT)
    events = feed(translator, {**lines[line], "session_id": NEW}, SAID, RESULT)
    assert events[0] == Notice(level="error", text=MOVED, code="session_id_mismatch")
    events += translator.finish(Exit(signal=9))
    (ended,) = [event for event in events if isinstance(event, TurnEnded)]
    assert (ended.ok, ended.error, ended.error_kind) == (False, MOVED, "session_id_mismatch")
    assert ended.resume == ResumeToken(engine="claude", value=OLD)
    assert not [event for event in events if isinstance(event, EngineAttached | Message)]


def test_a_new_session_that_becomes_another_one_without_a_clear_is_a_mismatch() -> None:
    translator = Translator()
    feed(translator, INIT, RESULT)
    (notice, _) = feed(translator, {**INIT, "session_id": NEW})
    assert isinstance(notice, Notice)
    assert notice.text == "the conversation is session old, but the agent answers as session new"


def test_an_error_keeps_its_words_whatever_session_its_result_names() -> None:
    translator = Translator(resume=OLD)
    feed(translator, INIT)
    failed = {**RESULT, "session_id": NEW, "is_error": True, "result": "No conversation found"}
    ended = feed(translator, failed)[-1]
    assert isinstance(ended, TurnEnded)
    assert (ended.error, translator.mismatch) == ("No conversation found", "")


def test_a_clear_that_was_sent_before_the_service_was_killed_is_no_mismatch() -> None:
    translator = Translator(resume=OLD)
    translator.take_over(Standing(living=True, waiting=(PromptId("p"),), commands=("/clear",)))
    attached = feed(translator, {**INIT, "session_id": NEW})[0]
    assert isinstance(attached, EngineAttached)
    assert (attached.engine_session_id, attached.reason) == (NEW, "cleared")


def test_a_clear_that_did_nothing_excuses_no_later_change_of_the_session() -> None:
    translator = Translator(resume=OLD)
    feed(translator, INIT, RESULT)
    translator.sent(PromptId("p"), clears=True)
    feed(translator, INIT, SAID, RESULT)
    notice = feed(translator, {**INIT, "session_id": NEW})[0]
    assert notice == Notice(level="error", text=MOVED, code="session_id_mismatch")


def test_a_clear_that_waits_for_the_end_of_a_turn_is_followed() -> None:
    translator = Translator(resume=OLD)
    translator.sent(PromptId("p"))
    feed(translator, INIT)
    translator.sent(PromptId("q"), clears=True)
    feed(translator, SAID, RESULT)
    attached = feed(translator, {**INIT, "session_id": NEW})[0]
    assert isinstance(attached, EngineAttached)
    assert (attached.engine_session_id, attached.reason) == (NEW, "cleared")


def test_a_turn_that_was_promised_and_never_came_is_told_as_lost() -> None:
    error = "claude exited with code 1 before the turn ended: unknown option"
    assert Translator(prompted=True).finish(Exit(code=1, stderr="unknown option\n")) == [
        TurnStarted(turn=TurnId("turn-1")),
        TurnEnded(turn=TurnId("turn-1"), ok=False, error=error, error_kind="lost", stop_reason="lost"),
        EngineDetached(reason="exited with code 1", exit_code=1, stderr="unknown option"),
    ]


def test_an_idle_process_that_ends_only_detaches_and_does_so_once() -> None:
    translator = Translator()
    assert translator.finish(Exit(code=0)) == [EngineDetached(reason="exited with code 0", exit_code=0)]
    assert translator.finish(Exit(code=0)) == []


def test_a_reason_from_outside_is_told_with_the_exit_code() -> None:
    translator = Translator()
    feed(translator, INIT)
    lost = translator.finish(Exit(code=143, reason="the memory limit was reached"))[0]
    assert isinstance(lost, TurnEnded)
    assert lost.error == "claude ended before the turn did: the memory limit was reached (exit code 143)"


@pytest.mark.parametrize(
    ("ending", "error"),
    [
        (Exit(code=3, reason="exit code 3"), "claude ended before the turn did: exit code 3"),
        (Exit(signal=9, reason="killed by SIGKILL"), "claude ended before the turn did: killed by SIGKILL"),
        (Exit(signal=9, reason="out of memory"), "claude ended before the turn did: out of memory (signal 9)"),
    ],
)
def test_an_exit_status_that_the_reason_contains_is_not_repeated(ending: Exit, error: str) -> None:
    translator = Translator()
    feed(translator, INIT)
    lost = translator.finish(ending)[0]
    assert isinstance(lost, TurnEnded)
    assert lost.error == error


def test_a_prompt_that_is_cancelled_while_it_waits_is_withdrawn() -> None:
    translator = Translator()
    prompt = PromptId("3f1f1f3e-0000-4000-8000-000000000001")
    translator.sent(prompt)
    life = {"type": "command_lifecycle", "command_uuid": prompt, "session_id": OLD}
    assert feed(translator, {**life, "state": "queued"}) == []
    assert feed(translator, {**life, "state": "cancelled"}) == [PromptWithdrawn(prompt=prompt, reason="cancelled")]
    assert feed(translator, {**life, "state": "cancelled"}) == []


def test_a_prompt_that_a_cli_had_just_started_with_when_it_died_is_lost_once() -> None:
    translator = Translator()
    prompt = PromptId("3f1f1f3e-0000-4000-8000-000000000001")
    translator.sent(prompt)
    feed(translator, {"type": "command_lifecycle", "command_uuid": prompt, "session_id": OLD, "state": "started"})
    started, ended, _ = translator.finish(Exit(signal=9))
    assert started == TurnStarted(turn=TurnId("turn-1"), prompts=(prompt,), origin="prompt")
    assert isinstance(ended, TurnEnded)
    assert ended.prompts == (prompt,)


def test_an_older_cli_names_no_prompt_so_the_oldest_that_waits_is_the_one() -> None:
    translator = Translator()
    for name in ("first", "second"):
        translator.sent(PromptId(name))
    for name in ("first", "second"):
        started, *_, ended = feed(translator, INIT, RESULT)[-2:]
        assert isinstance(started, TurnStarted)
        assert isinstance(ended, TurnEnded)
        assert started.prompts == ended.prompts == (PromptId(name),)


def test_limits_are_told_when_they_come_near_and_when_they_are_clear_again() -> None:
    def limit(status: str) -> dict[str, object]:
        info = {"status": status, "resetsAt": 17, "rateLimitType": "five_hour", "utilization": 0.9}
        return {"type": "rate_limit_event", "rate_limit_info": info}

    translator = Translator()
    told = feed(translator, *map(limit, ("allowed", "allowed_warning", "rejected", "allowed", "allowed")))
    assert told == [
        LimitReached(kind="usage", status="warning", resets_at=17, utilization=0.9, name="five_hour"),
        LimitReached(kind="usage", status="reached", resets_at=17, utilization=0.9, name="five_hour"),
        LimitReached(kind="usage", status="clear", resets_at=17, utilization=0.9, name="five_hour"),
    ]
    assert translator.ignored["rate_limit_event"] == 2


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (system("session_state_changed", state="requires_action"), StateChanged(state="waiting", waiting_for="you")),
        (system("session_state_changed", state="idle"), StateChanged(state="idle")),
        (system("session_title_changed", title="New"), TitleChanged(title="New")),
        (system("status", status=None, permissionMode="plan"), ModeChanged(mode="plan")),
        (
            system("commands_changed", commands=[{"name": "a", "description": "b", "argumentHint": "c"}]),
            CommandsChanged(commands=(SlashCommand(name="a", description="b", argument_hint="c"),)),
        ),
        (
            system("api_retry", attempt=2, max_retries=4, retry_delay_ms=1500, error_status=None, error="connection"),
            Notice(
                level="warning",
                text="the model's API failed (no answer, connection); try 2 of 4 again in 1.5s",
                code="api_retry",
            ),
        ),
        (
            system("hook_response", hook_name="Stop", outcome="error", stderr="no", exit_code=1),
            Notice(level="warning", text="hook Stop: error", code="hook", detail="no"),
        ),
        (
            system("permission_denied", tool_name="Bash", tool_use_id="gone", message="No."),
            Notice(level="warning", text="No.", code="permission_denied"),
        ),
        (
            {"type": "tool_use_summary", "summary": "Listed files"},
            Notice(level="info", text="Listed files", code="tool_use_summary"),
        ),
    ],
)
def test_remarks_are_told_as_what_they_are(line: dict[str, object], told: Event) -> None:
    assert feed(Translator(), line) == [told]


@pytest.mark.parametrize(
    ("fields", "calls"),
    [
        ({"preceding_tool_use_ids": ["a", "b", "a"]}, ("a", "b")),
        ({"preceding_tool_use_ids": ["of an earlier process"]}, ("of an earlier process",)),
        ({}, ("b",)),
        ({"preceding_tool_use_ids": []}, ("b",)),
        ({"preceding_tool_use_ids": [7]}, ("b",)),
    ],
)
def test_a_summary_is_about_the_calls_it_names_else_about_the_latest(
    fields: dict[str, object], calls: tuple[str, ...]
) -> None:
    tools = [{"type": "tool_use", "id": name, "name": "Bash", "input": {"command": "ls"}} for name in ("a", "b")]
    begun = {"type": "assistant", "session_id": OLD, "message": {"id": "m", "content": tools}}
    ended = {"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "b", "content": "x"}]}}
    summary = {"type": "tool_use_summary", "summary": "Listed files", **fields}
    told = feed(Translator(), INIT, begun, ended, summary)[-1]
    named = tuple(map(ToolCallId, calls))
    assert told == Notice(level="info", text="Listed files", code="tool_use_summary", calls=named)


@pytest.mark.parametrize("version", VERSIONS)
def test_recorded_summaries_are_the_notes_of_their_calls(version: str) -> None:
    view = fold(Log(play(Translator(), recording(version, "tool_use_summary"))).envelopes)
    assert {item.note for item in view.items if isinstance(item, ToolItem)} == {"ok"}
    assert not any(isinstance(item, NoticeItem) for item in view.items)


def test_a_remark_without_a_shape_of_its_own_is_a_notice_with_the_whole_line() -> None:
    [notice] = feed(Translator(), system("informational", content="Model declined", level="warning"))
    assert isinstance(notice, Notice)
    assert (notice.level, notice.text, notice.code) == ("warning", "Model declined", "informational")
    assert '"content":"Model declined"' in notice.detail


def test_a_compaction_that_fails_says_why() -> None:
    translator = Translator()
    events = feed(
        translator,
        system("status", status="compacting"),
        system("status", status="compacting"),
        system("status", status=None, compact_result="failed", compact_error="too little to shorten"),
    )
    assert events == [CompactionStarted(), CompactionEnded(ok=False, error="too little to shorten")]


def test_a_boundary_alone_is_a_whole_compaction() -> None:
    figures = {"trigger": "auto", "pre_tokens": 9, "post_tokens": 3}
    assert feed(Translator(), system("compact_boundary", compact_metadata=figures)) == [
        CompactionStarted(trigger="auto"),
        CompactionEnded(ok=True, trigger="auto", tokens_before=9, tokens_after=3),
    ]


def test_a_request_of_a_resumed_session_may_come_before_any_init() -> None:
    asked = {"subtype": "can_use_tool", "tool_name": "Bash", "tool_use_id": "t", "input": {"command": "ls"}}
    events = feed(Translator(resume=OLD), {"type": "control_request", "request_id": "r", "request": asked})
    assert events[:2] == [
        EngineAttached(engine="claude", engine_session_id=OLD, reason="resumed"),
        TurnStarted(turn=TurnId("turn-1")),
    ]
    assert getattr(events[2], "request", None) is not None


def test_the_figures_of_a_turn_are_its_own_and_the_report_is_untouched() -> None:
    translator = Translator()
    model = {"inputTokens": 10, "outputTokens": 4, "costUSD": 0.5, "contextWindow": 200}
    more = {"inputTokens": 16, "outputTokens": 5, "costUSD": 0.75, "contextWindow": 200}
    first = {**RESULT, "usage": {"input_tokens": 10}, "modelUsage": {"opus": model}, "total_cost_usd": 0.5}
    second = {**RESULT, "usage": {"input_tokens": 6}, "modelUsage": {"opus": more}, "total_cost_usd": 0.75}
    feed(translator, INIT, first)
    ended = feed(translator, INIT, {**second, "duration_ms": 7, "duration_api_ms": 5, "num_turns": 3})[-1]
    assert isinstance(ended, TurnEnded)
    usage = ended.usage
    assert usage is not None
    assert (usage.input_tokens, usage.cost_usd, usage.total_cost_usd) == (6, 0.25, 0.75)
    assert [(share.input_tokens, share.output_tokens, share.cost_usd) for share in usage.models] == [(6, 1, 0.25)]
    assert bytes(usage.reported or b"") == (
        b'{"usage":{"input_tokens":6},"modelUsage":{"opus":{"inputTokens":16,"outputTokens":5,"costUSD":0.75,'
        b'"contextWindow":200}},"total_cost_usd":0.75,"duration_ms":7,"duration_api_ms":5,"num_turns":3}'
    )


def test_a_resumed_conversation_whose_totals_continue_is_not_counted_again() -> None:
    total = {"opus": {"inputTokens": 30, "outputTokens": 24, "costUSD": 0.75, "contextWindow": 200}}
    since = {"opus": {"inputTokens": 10, "outputTokens": 8, "costUSD": 0.25, "contextWindow": 200}}
    result = {**RESULT, "modelUsage": total, "total_cost_usd": 0.75, "model_usage_since_last_result": since}
    ended = feed(Translator(), INIT, result)[-1]
    assert isinstance(ended, TurnEnded)
    assert ended.usage is not None
    assert (ended.usage.cost_usd, ended.usage.total_cost_usd) == (0.25, 0.75)
    (share,) = ended.usage.models
    assert (share.input_tokens, share.output_tokens, share.cost_usd) == (10, 8, 0.25)


def test_a_turn_that_used_no_model_costs_nothing_in_a_resumed_conversation() -> None:
    total = {"opus": {"inputTokens": 30, "outputTokens": 24, "costUSD": 0.75}}
    result = {**RESULT, "modelUsage": total, "total_cost_usd": 0.75, "model_usage_since_last_result": {}}
    ended = feed(Translator(), INIT, result)[-1]
    assert isinstance(ended, TurnEnded)
    assert ended.usage is not None
    assert (ended.usage.cost_usd, ended.usage.models) == (0.0, ())


def test_the_answer_is_the_result_also_where_the_last_message_continues_after_it() -> None:
    words = [{"type": "text", "text": text} for text in ("One. ", "Two.")]
    lines = [{"type": "assistant", "session_id": OLD, "message": {"id": "m", "content": [each]}} for each in words]
    ended = feed(Translator(), INIT, *lines, {**RESULT, "result": "One. "})[-1]
    assert isinstance(ended, TurnEnded)
    assert ended.answer == "One. "


def test_without_a_result_text_the_answer_is_the_whole_last_message() -> None:
    words = [{"type": "text", "text": text} for text in ("One. ", "Two.")]
    lines = [{"type": "assistant", "session_id": OLD, "message": {"id": "m", "content": [each]}} for each in words]
    ended = feed(Translator(), INIT, *lines, {**RESULT, "result": ""})[-1]
    assert isinstance(ended, TurnEnded)
    assert ended.answer == "One. Two."


@pytest.mark.parametrize(
    ("fields", "stop", "error"),
    [
        ({"subtype": "error_max_turns", "errors": ["Reached 1"]}, "max_turns", "Reached 1"),
        ({"subtype": "error", "error": "Credit balance is too low"}, "error", "Credit balance is too low"),
        ({"subtype": "error", "error": "No key.", "result": "Partial."}, "error", "No key."),
        ({"subtype": "error", "errors": ["No key."], "error": "No key."}, "error", "No key."),
        ({"subtype": "error", "errors": ["No key."], "error": "Bad host."}, "error", "No key.; Bad host."),
        ({"subtype": "error", "error": "[ede_diagnostic] y", "result": "Partial."}, "error", "Partial."),
        ({"subtype": "error", "error": {"odd": 1}, "result": "Partial."}, "error", "Partial."),
        ({"subtype": "error_during_execution", "terminal_reason": "aborted_tools"}, "interrupted", "interrupted"),
        ({"subtype": "success", "result": "Refused.", "stop_reason": "refusal"}, "refusal", "Refused."),
        ({"subtype": "success", "stop_reason": "max_tokens", "result": "Cut."}, "max_tokens", "Cut."),
        (
            {"subtype": "x", "errors": ["[ede_diagnostic] y"], "permission_denials": [{"tool_name": "Bash"}]},
            "error",
            "permission denied: Bash",
        ),
        ({"subtype": "weird"}, "error", "the agent ended the turn with an error (weird)"),
    ],
)
def test_an_error_is_told_in_words_for_people(fields: dict[str, object], stop: str, error: str) -> None:
    ended = feed(Translator(), INIT, {"type": "result", "is_error": True, "session_id": OLD, **fields})[-1]
    assert isinstance(ended, TurnEnded)
    assert (ended.ok, ended.stop_reason, ended.error) == (False, stop, error)


def test_a_wrapped_line_of_a_sub_agent_is_what_it_would_be_without_the_wrapping() -> None:
    def wrapped(role: str, block: dict[str, object]) -> dict[str, object]:
        message = {"type": role, "message": {"id": "m", "role": role, "content": [block]}, "uuid": "u"}
        data = {"type": "agent_progress", "message": message, "agentId": "a"}
        return {"type": "progress", "data": data, "toolUseID": "x", "parentToolUseID": "agent-1", "session_id": OLD}

    events = feed(
        Translator(),
        wrapped("assistant", {"type": "tool_use", "id": "c", "name": "Bash", "input": {"command": "ls"}}),
        wrapped("user", {"type": "tool_result", "tool_use_id": "c", "content": "a"}),
        {"type": "progress", "data": {"type": "hook_progress", "hookName": "Stop"}},
    )
    assert [type(event).__name__ for event in events] == ["EngineAttached", "ToolStarted", "ToolEnded", "Notice"]
    assert getattr(events[1], "parent", None) == "agent-1"


def test_a_task_that_was_told_to_end_but_never_notified_ends_with_the_process() -> None:
    translator = Translator()
    started = system("task_started", task_id="b1", tool_use_id="c", task_type="local_bash", is_backgrounded=True)
    feed(translator, INIT, started, system("task_updated", task_id="b1", patch={"status": "killed"}), RESULT)
    ended = translator.finish(Exit(code=0))[0]
    assert (getattr(ended, "status", ""), getattr(ended, "call", "")) == ("stopped", ToolCallId("c"))
