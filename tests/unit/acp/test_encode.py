"""Events as ACP updates: exact text, tools, plans, figures; and every recorded stream of the real CLI as valid ACP."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from footplate.acp.encode import Encoder, coalesce
from footplate.acp.encode_turn import answer_prompt
from footplate.acp.profile import Profile, read_profile
from footplate.acp.reports import BACKGROUND, clean_report
from footplate.acp.schema.sessions import PromptResponse
from footplate.acp.schema.start import ClientCapabilities
from footplate.acp.schema.updates import SessionUpdate
from footplate.engines.claude.translate import Translator
from footplate.events import model as m
from footplate.events import tools as t
from footplate.events.content import TextBlock
from footplate.events.ids import MessageId, PromptId, TaskId, ToolCallId, TurnId
from footplate.events.usage import ModelUsage, Usage
from tests.acp_schema import check
from tests.unit.engines.claude.playing import VERSIONS, play, recording, scenarios

PLAIN = Profile()
RICH = Profile(
    forms=True, notices=True, compaction=True, booleans=True, terminals=True, subagent_text=True, claude_code=True
)
CALL = ToolCallId("c1")
MESSAGE = MessageId("m1")
Json = dict[str, Any]


def tell(encoder: Encoder, *events: m.Event) -> list[Json]:
    """The updates of events as JSON, each judged by the published schema."""
    return [shown(update) for event in events for update in encoder.encode(event, 1.5)]


def shown(update: SessionUpdate) -> Json:
    value: Json = json.loads(msgspec.json.encode(update))
    check("SessionUpdate", value)
    return value


def text(updates: list[Json], kind: str = "agent_message_chunk") -> str:
    return "".join(each["content"]["text"] for each in updates if each["sessionUpdate"] == kind)


# ------------------------------------------------------------------------------------------------ text


def delta(words: str, *, reset: bool = False, part: int = 0) -> m.MessageDelta:
    return m.MessageDelta(message=MESSAGE, part=part, text=words, reset=reset)


def whole(words: str, *, part: int = 0) -> m.Message:
    return m.Message(message=MESSAGE, part=part, text=words)


@pytest.mark.parametrize(
    "events",
    [
        (whole("Hello you"),),
        (delta("Hello"), delta(" you"), whole("Hello you")),
        (delta("Hello"), whole("Hello you")),
        (delta("Hello"), delta("Hello you", reset=True), whole("Hello you")),
        (delta("Hello you", reset=True), whole("Hello you")),
    ],
)
def test_a_text_is_told_once_and_whole(events: tuple[m.Event, ...]) -> None:
    updates = tell(Encoder(PLAIN), *events)
    assert text(updates) == "Hello you"
    assert {each["messageId"] for each in updates} == {"m1"}


def test_thoughts_are_thoughts() -> None:
    thought = m.Thought(message=MESSAGE, part=0, text="hm")
    assert text(tell(Encoder(PLAIN), thought), "agent_thought_chunk") == "hm"


def test_coalescing_keeps_the_text_exact() -> None:
    encoder = Encoder(PLAIN)
    updates = [update for piece in "abc" for update in encoder.encode(delta(piece))]
    updates += encoder.encode(m.ThoughtDelta(message=MESSAGE, part=1, text="t"))
    updates += encoder.encode(delta("d", part=2))
    assert [shown(each)["content"]["text"] for each in coalesce(updates)] == ["abc", "t", "d"]


def test_a_sub_agents_words_are_only_for_clients_that_can_tell_them_apart() -> None:
    said = m.Message(message=MESSAGE, part=0, text="inner", parent=CALL)
    assert tell(Encoder(PLAIN), said) == []
    (told,) = tell(Encoder(RICH), said)
    assert told["_meta"]["footplate"] == {"parentToolCallId": "c1"}
    assert told["_meta"]["claudeCode"] == {"parentToolUseId": "c1"}


def test_a_prompt_of_somebody_else_is_told_when_its_turn_begins() -> None:
    def queued(name: str) -> m.PromptQueued:
        return m.PromptQueued(prompt=PromptId(name), content=(TextBlock(text=name),))

    encoder = Encoder(PLAIN)
    encoder.own(PromptId("mine"))
    started = m.TurnStarted(turn=TurnId("t"), prompts=(PromptId("mine"), PromptId("theirs")))
    updates = tell(encoder, queued("mine"), queued("theirs"), started)
    assert text(updates, "user_message_chunk") == "theirs"


# ------------------------------------------------------------------------------------------------ tools


def started(kind: t.ToolKind, detail: t.ToolDetail | None, **more: Any) -> m.ToolStarted:
    return m.ToolStarted(
        call=CALL, name="Tool", kind=kind, title="A title", detail=detail, input=msgspec.Raw(b'{"a":1}'), **more
    )


def ended(words: str = "", *, ok: bool = True, detail: t.ToolDetail | None = None) -> m.ToolEnded:
    content = (TextBlock(text=words),) if words else ()
    return m.ToolEnded(call=CALL, ok=ok, outcome="completed" if ok else "failed", content=content, detail=detail)


def test_a_command_is_fenced_at_its_end() -> None:
    call, end = tell(Encoder(PLAIN), started("command", t.CommandDetail(command="ls")), ended("a ``` b"))
    assert (call["kind"], call["status"], call["rawInput"]) == ("execute", "in_progress", {"a": 1})
    assert end["status"] == "completed"
    assert end["content"][0]["content"]["text"] == "````console\na ``` b\n````"


def test_a_command_has_a_live_terminal_where_the_client_shows_one() -> None:
    detail = t.CommandDetail(command="ls", cwd="/x", exit_code=3)
    updates = tell(
        Encoder(RICH),
        started("command", detail),
        m.ToolUpdated(call=CALL, output_delta="one\n"),
        m.ToolUpdated(call=CALL, output_delta="two\n"),
        ended("one\ntwo\n", ok=False, detail=detail),
    )
    metas = [each["_meta"] for each in updates]
    assert updates[0]["content"] == [{"type": "terminal", "terminalId": "c1"}]
    assert metas[0]["terminal_info"] == {"terminal_id": "c1", "cwd": "/x"}
    assert [meta["terminal_output"]["data"] for meta in metas if "terminal_output" in meta] == ["one\n", "two\n"]
    assert metas[-1]["terminal_exit"] == {"terminal_id": "c1", "exit_code": 3, "signal": None}


def test_an_edit_shows_its_diffs_and_where() -> None:
    hunk = t.Hunk(old_start=7, old_lines=2, new_start=7, new_lines=2, lines=(" same", "-old", "+new"))
    done = t.FileChangeDetail(changes=(t.FileChange(path="/f", hunks=(hunk,)),))
    meant = t.FileChangeDetail(changes=(t.FileChange(path="/f", old_text="old", new_text="new"),))
    call, end = tell(Encoder(PLAIN), started("file_change", meant), ended("ok", detail=done))
    assert (call["kind"], call["locations"]) == ("edit", [{"path": "/f"}])
    assert call["content"] == [{"type": "diff", "path": "/f", "oldText": "old", "newText": "new"}]
    assert end["content"] == [{"type": "diff", "path": "/f", "oldText": "same\nold", "newText": "same\nnew"}]
    assert end["locations"] == [{"path": "/f", "line": 7}]


@pytest.mark.parametrize(("change", "kind"), [("delete", "delete"), ("move", "move"), ("add", "edit")])
def test_files_that_go_or_move_have_their_own_kinds(change: t.ChangeKind, kind: str) -> None:
    detail = t.FileChangeDetail(changes=(t.FileChange(path="/f", kind=change, moved_to="/g"),))
    assert tell(Encoder(PLAIN), started("file_change", detail))[0]["kind"] == kind


def test_a_call_that_waits_is_pending_and_runs_when_it_shows_signs() -> None:
    waiting = started("command", t.CommandDetail(command="make"), pending=True)
    call, runs = tell(Encoder(PLAIN), waiting, m.ToolUpdated(call=CALL, elapsed_s=2.0))
    assert (call["status"], runs["status"]) == ("pending", "in_progress")
    assert runs["_meta"]["footplate"]["elapsedS"] == 2.0


def test_a_to_do_list_is_a_plan_and_no_call() -> None:
    entries = (t.PlanEntry(content="Do", status="in_progress", active_form="Doing"), t.PlanEntry(content="Then"))
    updates = tell(
        Encoder(PLAIN), started("todo", t.TodoDetail(entries=entries)), m.PlanChanged(entries=entries), ended("ok")
    )
    assert updates == [
        {
            "sessionUpdate": "plan",
            "entries": [
                {"content": "Doing", "priority": "medium", "status": "in_progress"},
                {"content": "Then", "priority": "medium", "status": "pending"},
            ],
        }
    ]


def test_work_behind_a_call_is_told_by_the_id_that_stops_it() -> None:
    started = m.TaskStarted(task=TaskId("k"), call=CALL, background=True)
    loose = m.TaskStarted(task=TaskId("l"))
    updates = tell(Encoder(PLAIN), started, loose, m.TaskEnded(task=TaskId("k"), status="lost"))
    assert [(each["toolCallId"], each["_meta"]["footplate"]["task"]) for each in updates] == [
        (CALL, {"id": "k", "status": "running"}),
        (CALL, {"id": "k", "status": "lost"}),
    ]


def test_words_for_the_model_are_not_shown_to_people() -> None:
    launched = "Async agent launched successfully. (internal metadata - never quote)\nagentId: a1 (internal ID)"
    assert clean_report(launched) == BACKGROUND
    frame = "[Subagent hand-back] The text below is the final report. The report follows:\n  it says\n    hi\n"
    trailer = "agentId: a1 (use SendMessage with to: 'a1')\n<usage>subagent_tokens: 1\ntool_uses: 0</usage>"
    assert clean_report(frame + trailer) == "it says\n  hi"
    assert clean_report("plain words") == "plain words"


# ------------------------------------------------------------------------------------------------ state


def test_cost_stands_in_every_usage_update_once_it_is_known() -> None:
    end = m.TurnEnded(turn=TurnId("t"), ok=True, usage=Usage(cost_usd=0.5))
    report = m.UsageReported(context_used=10, context_size=100)
    updates = tell(Encoder(PLAIN), report, end, report, end)
    assert [each.get("cost", {}).get("amount") for each in updates] == [None, 0.5, 0.5, 1.0]


def test_the_cost_of_a_session_is_the_sum_of_its_turns_whatever_total_its_engine_reports() -> None:
    report = m.UsageReported(context_used=10, context_size=100, cost_usd=0.9)
    end = m.TurnEnded(turn=TurnId("t"), ok=True, usage=Usage(cost_usd=0.5, total_cost_usd=1.4))
    updates = tell(Encoder(PLAIN), report, end, m.UsageReported(cost_usd=0.1), end)
    assert [each.get("cost", {}).get("amount") for each in updates] == [0.9, 0.5, 0.5, 1.0]


def test_editors_of_claude_hear_the_model_the_limits_and_the_tokens_by_models() -> None:
    figures = m.UsageReported(context_used=10, context_size=100, model="opus")
    limits = (
        m.LimitReached(kind="usage", status="warning", name="five_hour", utilization=0.9),
        m.LimitReached(kind="usage", status="clear", name="five_hour"),
    )
    told = [each for each in tell(Encoder(RICH), figures, *limits) if each["sessionUpdate"] == "usage_update"]
    assert [each["_meta"].get("_claude/rateLimit") for each in told] == [
        None,
        {"status": "allowed_warning", "rateLimitType": "five_hour", "utilization": 0.9},
        {"status": "allowed", "rateLimitType": "five_hour"},
    ]
    assert {each["_meta"]["_claude/model"] for each in told} == {"opus"}
    plain = tell(Encoder(PLAIN), figures, *limits)
    assert [each["sessionUpdate"] for each in plain] == ["usage_update", "agent_thought_chunk"]
    assert "_meta" not in plain[0]
    share = ModelUsage(model="opus", input_tokens=3, output_tokens=4)
    usage = Usage(input_tokens=3, output_tokens=4, reasoning_tokens=1, models=(share,))
    ended = m.TurnEnded(turn=TurnId("t"), ok=True, stop_reason="end_turn", usage=usage)
    answer = answer_prompt(ended, cancelled=False, quota=True)
    assert isinstance(answer, PromptResponse)
    quota = json.loads(bytes(answer.meta or b"null"))["quota"]
    assert (quota["token_count"]["totalTokens"], quota["token_count"]["reasoningOutputTokens"]) == (7, 1)
    assert [(each["model"], each["token_count"]["inputTokens"]) for each in quota["model_usage"]] == [("opus", 3)]


def test_a_compaction_is_told_once_each_way() -> None:
    events = (m.CompactionStarted(), m.CompactionStarted(), m.CompactionEnded(ok=True), m.CompactionEnded(ok=True))
    assert [each["status"] for each in tell(Encoder(RICH), *events)] == ["in_progress", "completed"]
    plain = tell(Encoder(PLAIN), *events)
    assert [(each["sessionUpdate"], each["status"]) for each in plain] == [
        ("tool_call", "in_progress"),
        ("tool_call_update", "completed"),
    ]


def test_a_warning_is_a_notice_or_a_thought_and_never_the_answer() -> None:
    warning = m.Notice(level="warning", text="retrying")
    assert tell(Encoder(RICH), warning)[0]["sessionUpdate"] == "notice"
    assert tell(Encoder(PLAIN), warning)[0]["sessionUpdate"] == "agent_thought_chunk"
    assert tell(Encoder(PLAIN), m.Notice(level="info", text="x"), m.Notice(level="debug", text="x")) == []


def test_files_that_were_put_back_are_counted_in_words() -> None:
    for files, words in ((("a",), "'1 file put back'"), (("a", "b"), "'2 files put back'")):
        (told,) = tell(Encoder(RICH), m.FilesRewound(message=MESSAGE, files=files))
        assert words in str(told)


def test_a_mode_changes_the_option_of_it_too() -> None:
    values = (m.ConfigValue(value="default"), m.ConfigValue(value="plan"))
    options = (m.ConfigOption(id="mode", category="mode", value="default", values=values),)
    updates = tell(Encoder(PLAIN), m.ConfigChanged(options=options), m.ModeChanged(mode="plan"))
    assert [each["sessionUpdate"] for each in updates] == [
        "config_option_update",
        "current_mode_update",
        "config_option_update",
    ]
    assert updates[-1]["configOptions"][0]["currentValue"] == "plan"


@pytest.mark.parametrize(("yes", "no"), [("true", "false"), ("on", "off")])
def test_a_switch_is_a_boolean_to_clients_that_know_them(yes: str, no: str) -> None:
    values = (m.ConfigValue(value=yes), m.ConfigValue(value=no))
    option = m.ConfigOption(id="fast", description="Faster", category="model_config", value=yes, values=values)
    told = {}
    for profile in (PLAIN, RICH):
        encoder = Encoder(profile)
        [update] = tell(encoder, m.ConfigChanged(options=(option,)))
        [told[profile.booleans]] = update["configOptions"]
        assert [encoder.choices.word("fast", truth=truth) for truth in (True, False)] == [yes, no]
        assert encoder.choices.word("nothing", truth=True) == "true"
    assert (told[False]["type"], told[False]["currentValue"], told[False]["description"]) == ("select", yes, "Faster")
    assert (told[True]["type"], told[True]["currentValue"], told[True]["description"]) == ("boolean", True, "Faster")


def test_the_profile_is_what_the_client_declares() -> None:
    declared = b"""{"elicitation":{"form":{}},"session":{"notices":{},"compaction":{},"configOptions":{"boolean":{}}},
        "_meta":{"terminal_output":true,"footplate":{"coalesce":true,"subagentText":true}}}"""
    profile = read_profile(msgspec.json.decode(declared, type=ClientCapabilities))
    assert profile == Profile(
        forms=True, notices=True, compaction=True, booleans=True, terminals=True, coalesce=True, subagent_text=True
    )
    odd = msgspec.json.decode(b'{"_meta":{"terminal_output":"yes"}}', type=ClientCapabilities)
    assert read_profile(odd) == PLAIN


# ------------------------------------------------------------------------------------------ recordings


TELLING = ("sessionUpdate", "type", "status", "kind", "priority", "severity")


def outline(value: object, name: str = "") -> object:
    """The value without its texts and numbers: two of one outline are both valid, or neither is."""
    if isinstance(value, dict):
        return {key: "raw" if key.startswith("raw") else outline(each, key) for key, each in value.items()}
    if isinstance(value, list):
        return [outline(each) for each in value[:2]]
    return value if name in TELLING else type(value).__name__


@pytest.mark.parametrize("profile", [PLAIN, RICH], ids=["plain", "rich"])
@pytest.mark.parametrize("version", VERSIONS)
def test_every_recorded_stream_is_valid_and_leaks_no_internal_words(version: str, profile: Profile) -> None:
    kinds = set()
    seen: set[str] = set()
    for scenario in scenarios(version):
        encoder = Encoder(profile)
        for event in play(Translator(), recording(version, scenario)):
            for update in encoder.encode(event):
                body = msgspec.json.encode(update)
                kinds.add(type(update).__name__)
                value = json.loads(body)
                shape = json.dumps(outline(value))
                if shape not in seen:
                    seen.add(shape)
                    check("SessionUpdate", value)
                if not isinstance(event, m.Message | m.MessageDelta):
                    assert b"never quote" not in body, (scenario, body)
    assert {"AgentMessageChunk", "ToolCall", "ToolCallChange", "UsageUpdate"} <= kinds
