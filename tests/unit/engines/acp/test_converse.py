"""The conversation from `initialize` to the death of the agent, played by hand."""

from __future__ import annotations

import json

import pytest

from footplate.engines.base import Exit, Options
from footplate.errors import EngineGone, InvalidValue, UnsupportedOption
from footplate.events.base import ResumeToken
from footplate.events.commands import Interrupt, Rename, SendPrompt, SetEffort, SetMode, SetModel, WithdrawPrompt
from footplate.events.content import TextBlock
from footplate.events.ids import EngineSessionId, MessageId, PromptId, ToolCallId, TurnId
from footplate.events.model import (
    CommandsChanged,
    ConfigChanged,
    ConfigOption,
    ConfigValue,
    EngineAttached,
    EngineDetached,
    Event,
    Message,
    MessageDelta,
    ModeChanged,
    ModelChanged,
    Notice,
    PromptWithdrawn,
    SlashCommand,
    ToolEnded,
    TurnEnded,
    TurnStarted,
    Unparsed,
    UserMessage,
)
from footplate.events.tools import OtherDetail
from footplate.host.lines import Block, Oversize
from tests.unit.engines.acp.playing import AGENT, OPTIONS, SESSION, Json, Play, assert_clean, call, say, text

TOKEN = ResumeToken(engine="acp", value=SESSION)
MODES: Json = {
    "currentModeId": "default",
    "availableModes": [{"id": "default", "name": "Default"}, {"id": "plan", "name": "Plan"}],
}


def modes_are(value: str) -> ConfigChanged:
    """Modes that the agent tells outside of the options stand among them for everybody else."""
    values = (ConfigValue(value="default", label="Default"), ConfigValue(value="plan", label="Plan"))
    option = ConfigOption(id="modes", label="Mode", category="mode", value=value, values=values)
    return ConfigChanged(options=(option,))


def select(option: str, category: str, value: str, *values: str) -> Json:
    choices = [{"value": each, "name": each.title()} for each in (value, *values)]
    return {
        "id": option,
        "name": option,
        "category": category,
        "type": "select",
        "currentValue": value,
        "options": choices,
    }


def started(number: int = 1, words: str = "do it") -> list[Event]:
    turn = TurnId(f"turn-{number}")
    return [
        TurnStarted(turn=turn, prompts=(PromptId(f"p{number}"),), origin="prompt"),
        UserMessage(
            message=MessageId(f"turn-{number}.user"),
            content=(TextBlock(text=words),),
            prompt=PromptId(f"p{number}"),
        ),
    ]


def ended(number: int = 1, *, ok: bool = True, **more: object) -> TurnEnded:
    fields = {"turn": f"turn-{number}", "ok": ok, "resume": TOKEN, "origin": "prompt", "prompts": (f"p{number}",)}
    return TurnEnded(**{**fields, **more})  # type: ignore[arg-type]


# ------------------------------------------------------------------------------------------------ starting


def test_it_introduces_itself_opens_a_session_and_sends_the_prompt_that_waited() -> None:
    play = Play()
    play.prompt()
    play.begin()
    play.answer("initialize", AGENT)
    events = play.answer("session/new", {"sessionId": SESSION, "modes": MODES})
    assert events == [
        EngineAttached(engine="acp", engine_session_id=SESSION, version="9", mode="default", cwd="/project"),
        modes_are("default"),
        *started(),
    ]
    assert [(frame["method"], frame["params"]) for frame in play.frames[1:]] == [
        ("session/new", {"cwd": "/project", "mcpServers": []}),
        ("session/prompt", {"sessionId": SESSION, "prompt": [text("do it")]}),
    ]
    offered = play.frames[0]["params"]
    assert isinstance(offered, dict)
    assert offered["clientCapabilities"] == {"elicitation": {"form": {}}, "session": {"notices": {}}}


def test_an_old_session_is_loaded_and_what_is_told_again_is_passed_over() -> None:
    play = Play(Options(cwd="/project", resume=SESSION))
    play.begin()
    play.answer("initialize", AGENT)
    assert play.frames[-1]["method"] == "session/load"
    assert play.update(say("old words"), {"sessionUpdate": "user_message_chunk", "content": text("old prompt")}) == []
    assert play.answer("session/load", {}) == [
        EngineAttached(engine="acp", engine_session_id=SESSION, reason="resumed", version="9", cwd="/project")
    ]


def test_an_agent_that_can_resume_is_not_made_to_tell_everything_again() -> None:
    agent: Json = {**AGENT, "agentCapabilities": {"loadSession": True, "sessionCapabilities": {"resume": {}}}}
    play = Play(Options(cwd="/project", resume=SESSION), agent=agent)
    play.begin()
    play.answer("initialize", agent)
    assert play.frames[-1]["method"] == "session/resume"


@pytest.mark.parametrize(
    ("capabilities", "resumable"),
    [({}, False), ({"loadSession": True}, True), ({"sessionCapabilities": {"resume": {}}}, True)],
)
def test_an_agent_that_can_neither_load_nor_resume_says_so_with_its_session(
    capabilities: Json, resumable: bool
) -> None:
    agent: Json = {**AGENT, "agentCapabilities": capabilities}
    play = Play(agent=agent)
    play.begin()
    play.answer("initialize", agent)
    (attached,) = play.answer("session/new", {"sessionId": SESSION})
    assert isinstance(attached, EngineAttached)
    assert attached.resumable is resumable


def test_what_is_told_of_a_session_before_it_exists_comes_after_it() -> None:
    play = Play()
    play.begin()
    play.answer("initialize", AGENT)
    commands: Json = {
        "sessionUpdate": "available_commands_update",
        "availableCommands": [{"name": "go", "description": "Go", "input": {"hint": "where"}}],
    }
    assert play.update(commands) == []
    assert play.answer("session/new", {"sessionId": SESSION})[1:] == [
        CommandsChanged(commands=(SlashCommand(name="go", description="Go", argument_hint="where"),))
    ]


def test_options_are_set_one_after_another_before_the_first_prompt() -> None:
    play = Play(Options(cwd="/project", model="big", mode="plan"))
    play.prompt()
    play.open(modes=MODES, configOptions=[select("m", "model", "small", "big")])
    assert play.frames[-1]["params"] == {"sessionId": SESSION, "configId": "m", "value": "big"}
    options: Json = {"configOptions": [select("m", "model", "big", "small")]}
    assert play.answer("session/set_config_option", options) == [], "there is no session to speak of yet"
    assert play.frames[-1]["params"] == {"sessionId": SESSION, "modeId": "plan"}
    attached, config, *rest = play.answer("session/set_mode", {})
    assert isinstance(attached, EngineAttached)
    assert (attached.model, attached.mode) == ("big", "plan")
    assert isinstance(config, ConfigChanged)
    assert [(option.category, option.value) for option in config.options] == [("model", "big"), ("mode", "plan")]
    assert rest == started()


@pytest.mark.parametrize(
    ("options", "error"),
    [
        (Options(cwd="/project", mode="fast"), "mode: 'fast' cannot be used; expected one of default, plan"),
        (Options(cwd="/project", model="big"), "acp does not support a choice of model; leave it out"),
    ],
)
def test_an_option_that_cannot_be_set_fails_the_prompt_instead_of_being_forgotten(options: Options, error: str) -> None:
    play = Play(options)
    play.prompt()
    play.open(modes=MODES)
    failed = ended(ok=False, error=error, error_kind="start", stop_reason="error", resume=None)
    assert play.events[-4:] == [modes_are("default"), *started(), failed]
    assert EngineAttached not in map(type, play.events), "nothing was said there: the next process begins anew"


def test_an_option_that_the_agent_refuses_fails_the_prompt() -> None:
    play = Play(Options(cwd="/project", mode="plan"))
    play.prompt()
    play.open(modes=MODES)
    assert play.fail("session/set_mode", -32603, "not today")[-1] == ended(
        ok=False, error="mode 'plan': not today", error_kind="start", stop_reason="error", resume=None
    )


EFFORTS = select("e", "thought_level", "low", "high")


def test_a_start_that_failed_at_an_option_goes_on_with_another_choice() -> None:
    play = Play(Options(cwd="/project", effort="ultra", choices={"b": "x"}))
    play.prompt()
    play.open(configOptions=[EFFORTS, select("b", "other", "w", "x")])
    assert isinstance(play.events[-1], TurnEnded)
    assert not play.events[-1].ok
    play.command(SetEffort(key="1", effort="extreme"))
    assert isinstance(play.events[-1], Notice)
    assert play.events[-1].level == "error"
    play.command(SetEffort(key="2", effort="high"))
    assert play.frames[-1]["params"] == {"sessionId": SESSION, "configId": "e", "value": "high"}
    play.prompt("again")
    assert play.frames[-1]["method"] == "session/set_config_option", "it waits for the session"
    high = select("e", "thought_level", "high", "low")
    play.answer("session/set_config_option", {"configOptions": [high, select("b", "other", "w", "x")]})
    assert play.frames[-1]["params"] == {"sessionId": SESSION, "configId": "b", "value": "x"}
    events = play.answer("session/set_config_option", {"configOptions": [high, select("b", "other", "x", "w")]})
    assert [type(event) for event in events] == [EngineAttached, ConfigChanged, TurnStarted, UserMessage]
    play.answer("session/prompt", {"stopReason": "end_turn"})
    assert play.events[-1] == ended(2)
    play.finish()
    assert_clean(play.events)


def test_another_choice_of_a_refused_option_leaves_the_others_as_they_were() -> None:
    play = Play(Options(cwd="/project", mode="plan", effort="high"))
    play.open(modes=MODES, configOptions=[EFFORTS])
    play.fail("session/set_mode", -32603, "not today")
    play.command(SetEffort(key="1", effort="low"))
    assert play.frames[-1]["params"] == {"sessionId": SESSION, "modeId": "plan"}, "it may be had by now"
    play.fail("session/set_mode", -32603, "nor now")
    assert play.events[-1] == Notice(level="error", text="mode 'plan': nor now", code="start")
    assert play.command(SetMode(key="2", mode="default"))[:2] == [
        ModeChanged(mode="default"),
        EngineAttached(engine="acp", engine_session_id=SESSION, version="9", mode="default", cwd="/project"),
    ]


def test_a_choice_that_was_replaced_while_it_starts_does_not_fail_the_start() -> None:
    play = Play(Options(cwd="/project", mode="plan"))
    play.open(modes=MODES)
    play.command(SetMode(key="1", mode="default"))
    (attached, *_) = play.fail("session/set_mode", -32603, "not today")
    assert isinstance(attached, EngineAttached)
    assert attached.mode == "default"


def test_without_a_session_every_prompt_fails_with_the_reason() -> None:
    play = Play(Options(cwd="/project", resume=EngineSessionId("gone")))
    play.prompt()
    play.begin()
    play.answer("initialize", AGENT)
    failed = ended(ok=False, error="no such session: gone", error_kind="start", stop_reason="error", resume=None)
    assert play.fail("session/load", -32002, "no such session: gone") == [*started(), failed]
    assert play.prompt("again")[-1] == ended(
        2, ok=False, error="no such session: gone", error_kind="start", stop_reason="error", resume=None
    )
    play.finish()
    assert_clean(play.events)


@pytest.mark.parametrize("result", [None, {"protocolVersion": "one"}, []])
def test_an_answer_that_is_not_acp_fails_the_start(result: object) -> None:
    play = Play()
    play.begin()
    [notice] = play.answer("initialize", result)
    assert isinstance(notice, Notice)
    assert notice.text.startswith("the agent answered with something that is not ACP: ")


def test_an_agent_that_cannot_load_is_not_asked_to() -> None:
    play = Play(Options(cwd="/project", resume=SESSION))
    play.begin()
    assert play.answer("initialize", {"protocolVersion": 1}) == [
        Notice(level="error", text="acp does not support resuming a session; start a new one", code="start")
    ]


# --------------------------------------------------------------------------------------------------- turns


def test_a_turn_from_prompt_to_answer() -> None:
    play = Play()
    play.open()
    assert play.prompt() == started()
    assert play.update(say("Hel"), say("lo")) == [
        MessageDelta(message=MessageId("turn-1.m1"), part=0, text="Hel"),
        MessageDelta(message=MessageId("turn-1.m1"), part=0, text="lo"),
    ]
    assert play.answer("session/prompt", {"stopReason": "end_turn"}) == [
        Message(message=MessageId("turn-1.m1"), part=0, text="Hello"),
        ended(answer="Hello"),
    ]
    play.finish()
    assert_clean(play.events)


@pytest.mark.parametrize(
    ("stop", "expected"),
    [
        (
            "max_tokens",
            ended(ok=False, stop_reason="max_tokens", error="the answer was cut off at the limit of tokens"),
        ),
        (
            "max_turn_requests",
            ended(
                ok=False,
                stop_reason="max_turns",
                error="the agent reached its limit of model requests in one turn",
            ),
        ),
        ("refusal", ended(ok=False, stop_reason="refusal", error="the agent refused to go on")),
        ("cancelled", ended(ok=False, stop_reason="interrupted", error="interrupted")),
        ("a_new_one", ended(stop_reason="other")),
    ],
)
def test_stop_reasons_are_verdicts(stop: str, expected: TurnEnded) -> None:
    play = Play()
    play.open()
    play.prompt()
    assert play.answer("session/prompt", {"stopReason": stop}) == [expected]


def test_an_error_fails_the_turn_in_the_agents_words() -> None:
    play = Play()
    play.open()
    play.prompt()
    assert play.fail("session/prompt", -32603, "Internal error", detail="requested") == [
        ended(ok=False, stop_reason="error", error="Internal error: requested", error_kind="-32603")
    ]


def test_prompts_go_out_one_at_a_time() -> None:
    play = Play()
    play.open()
    play.prompt("one")
    assert play.prompt("two") == []
    assert play.answer("session/prompt", {"stopReason": "end_turn"}) == [ended(), *started(2, "two")]


def test_a_waiting_prompt_can_be_withdrawn() -> None:
    play = Play()
    play.open()
    play.prompt("one")
    play.prompt("two")
    assert play.command(WithdrawPrompt(key="w", prompt=PromptId("p2"))) == [
        PromptWithdrawn(prompt=PromptId("p2"), reason="withdrawn")
    ]
    assert play.answer("session/prompt", {"stopReason": "end_turn"}) == [ended()]


def test_a_prompt_for_now_cuts_the_running_turn_short_and_goes_first() -> None:
    play = Play()
    play.open()
    play.prompt("one")
    play.prompt("two")
    now = SendPrompt(key="n", prompt=PromptId("p3"), content=(TextBlock(text="three"),), when="now")
    assert play.command(now) == []
    assert play.frames[-1] == {"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": SESSION}}
    events = play.answer("session/prompt", {"stopReason": "cancelled"})
    assert [event.prompts for event in events if isinstance(event, TurnStarted)] == [(PromptId("p3"),)]


def test_a_turn_cannot_be_steered() -> None:
    play = Play()
    play.open()
    play.prompt()
    steer = SendPrompt(key="s", prompt=PromptId("p9"), content=(), when="steer")
    with pytest.raises(UnsupportedOption, match="acp does not support steering a turn"):
        play.command(steer)


def test_an_interrupt_cancels_the_turn_and_its_open_calls() -> None:
    play = Play()
    play.open()
    play.prompt()
    play.prompt("two")
    play.update(call(status="in_progress"))
    assert play.command(Interrupt(key="i", withdraw_queued=True)) == [
        PromptWithdrawn(prompt=PromptId("p2"), reason="interrupted")
    ]
    assert play.frames[-1]["method"] == "session/cancel"
    assert play.answer("session/prompt", {"stopReason": "cancelled"}) == [
        ToolEnded(call=ToolCallId("c1"), ok=False, outcome="cancelled", detail=OtherDetail()),
        ended(ok=False, stop_reason="interrupted", error="interrupted"),
    ]


def test_an_interrupt_before_the_session_is_ready_ends_the_prompt_that_waits_for_it() -> None:
    play = Play()
    play.prompt()
    play.begin()
    assert play.command(Interrupt(key="i")) == [
        *started(),
        ended(ok=False, stop_reason="interrupted", error="interrupted", resume=None),
    ]
    play.answer("initialize", AGENT)
    play.answer("session/new", {"sessionId": SESSION})
    play.finish()
    assert_clean(play.events)
    assert [frame["method"] for frame in play.frames] == ["initialize", "session/new"]


def test_an_interrupt_without_a_turn_is_nothing() -> None:
    play = Play()
    play.open()
    written = len(play.frames)
    assert play.command(Interrupt(key="i")) == []
    assert len(play.frames) == written


def test_a_call_that_the_agent_forgot_is_lost_when_the_turn_ends() -> None:
    play = Play()
    play.open()
    play.prompt()
    play.update(call(status="in_progress"))
    assert play.answer("session/prompt", {"stopReason": "end_turn"})[0] == ToolEnded(
        call=ToolCallId("c1"),
        ok=False,
        outcome="lost",
        detail=OtherDetail(),
        note="the turn ended before the call",
    )


# ------------------------------------------------------------------------------------------------ settings


def test_mode_model_and_effort_are_set_while_it_runs() -> None:
    play = Play()
    options = [select("m", "model", "small", "big"), select("e", "thought_level", "low", "high")]
    play.open(modes=MODES, configOptions=options)
    play.command(SetModel(key="1", model="big"))
    assert play.frames[-1]["params"] == {"sessionId": SESSION, "configId": "m", "value": "big"}
    play.command(SetEffort(key="2", effort="high"))
    assert play.frames[-1]["params"] == {"sessionId": SESSION, "configId": "e", "value": "high"}
    play.command(SetMode(key="3", mode="plan"))
    assert play.answer("session/set_mode", {})[0] == ModeChanged(mode="plan")


def test_a_mode_that_is_set_while_it_starts_is_known_at_once_and_set_later() -> None:
    play = Play()
    play.begin()
    assert play.command(SetMode(key="1", mode="plan")) == [ModeChanged(mode="plan")], "should it end before it is ready"
    assert play.command(SetModel(key="2", model="big")) == [ModelChanged(model="big")]
    play.answer("initialize", {"protocolVersion": 1, "agentCapabilities": {}})
    options = [select("m", "model", "small", "big")]
    play.answer("session/new", {"sessionId": SESSION, "modes": MODES, "configOptions": options})
    assert play.frames[-1]["params"] == {"sessionId": SESSION, "modeId": "plan"}
    play.answer("session/set_mode", {})
    attached, *_ = play.answer("session/set_config_option", {"configOptions": [select("m", "model", "big", "small")]})
    assert isinstance(attached, EngineAttached)
    assert (attached.mode, attached.model) == ("plan", "big")


def test_a_mode_that_is_set_after_the_start_has_failed_is_kept_for_the_next_process() -> None:
    play = Play(Options(cwd="/project", resume=EngineSessionId("gone")))
    play.begin()
    play.answer("initialize", AGENT)
    play.fail("session/load", -32002, "no such session: gone")
    assert play.command(SetMode(key="1", mode="plan")) == [ModeChanged(mode="plan")]


def test_a_mode_that_was_told_already_is_not_told_again() -> None:
    play = Play()
    play.open(modes=MODES)
    play.command(SetMode(key="1", mode="plan"))
    told = play.update({"sessionUpdate": "current_mode_update", "currentModeId": "plan"})
    assert told == [ModeChanged(mode="plan"), modes_are("plan")]
    assert play.answer("session/set_mode", {}) == []


def test_a_setting_that_the_agent_refuses_is_told() -> None:
    play = Play()
    play.open(modes=MODES)
    play.command(SetMode(key="1", mode="plan"))
    assert play.fail("session/set_mode", -32602, "no") == [
        Notice(level="error", text="the agent did not set mode to 'plan': no", code="set_mode")
    ]


def test_a_setting_that_cannot_be_is_refused_at_once() -> None:
    play = Play()
    play.open(modes=MODES)
    with pytest.raises(InvalidValue):
        play.command(SetMode(key="1", mode="fast"))
    with pytest.raises(UnsupportedOption):
        play.command(SetModel(key="2", model="big"))
    with pytest.raises(UnsupportedOption, match="acp does not support Rename"):
        play.command(Rename(key="3", title="x"))


def test_a_setting_waits_for_the_session() -> None:
    play = Play()
    play.command(SetMode(key="1", mode="plan"))
    play.open(modes=MODES)
    assert play.frames[-1]["params"] == {"sessionId": SESSION, "modeId": "plan"}


# ------------------------------------------------------------------------------------------------- the end


def test_when_the_agent_dies_everything_it_had_open_is_closed() -> None:
    play = Play()
    play.open()
    play.prompt()
    play.prompt("two")
    play.update(say("half a"), call(status="in_progress"), say("nd then"))
    assert play.finish(Exit(code=3, stderr="oh no\n", reason="it exited")) == [
        Message(message=MessageId("turn-1.m2"), part=0, text="nd then"),
        ToolEnded(call=ToolCallId("c1"), ok=False, outcome="lost", detail=OtherDetail(), note="the agent is gone"),
        ended(
            ok=False,
            answer="nd then",
            error="the agent ended without a result (it exited, exit code 3): oh no",
            error_kind="lost",
            stop_reason="lost",
        ),
        PromptWithdrawn(prompt=PromptId("p2"), reason="the agent is gone"),
        EngineDetached(reason="it exited", exit_code=3, stderr="oh no\n"),
    ]
    assert_clean(play.events)


def test_an_agent_that_ends_while_it_starts_fails_what_waits_with_its_last_words() -> None:
    play = Play()
    play.prompt()
    play.begin()
    events = play.finish(Exit(code=1, reason="exit code 1", stderr="please log in\n"))
    error = "the agent ended without a result (exit code 1): please log in"
    assert [type(event) for event in events] == [TurnStarted, UserMessage, TurnEnded, EngineDetached]
    assert events[2] == ended(ok=False, answer="", error=error, error_kind="start", stop_reason="error", resume=None)
    assert_clean(play.events)


def test_nothing_can_be_asked_of_an_agent_that_is_gone() -> None:
    play = Play()
    play.open()
    play.finish()
    with pytest.raises(EngineGone):
        play.prompt()


# -------------------------------------------------------------------------------------- lines we do not know


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"trouble", "JSON is malformed: invalid character (byte 4)"),
        (b'{"hello": "world"}', "not a JSON-RPC message"),
        (b'{"id":99,"result":{}}', "an answer to nothing that was asked"),
        (b'{"method":"_x/y","params":{}}', "an unknown notification: _x/y"),
        (
            b'{"method":"session/update","params":{"sessionId":"s-1","update":{"sessionUpdate":"new"}}}',
            "an unknown update: new",
        ),
        (
            b'{"method":"session/update","params":{"sessionId":"s-2","update":{"sessionUpdate":"plan","entries":[]}}}',
            "an update of another session",
        ),
        (
            b'{"method":"session/update","params":{"sessionId":"s-1","update":{"sessionUpdate":"plan","entries":[]}}}',
            "the agent spoke outside of a turn",
        ),
        (
            b'{"method":"session/update","params":{}}',
            "not as ACP says: Object missing required field `sessionId`",
        ),
    ],
)
def test_a_line_without_a_meaning_is_kept_as_it_came(line: bytes, reason: str) -> None:
    play = Play()
    play.open()
    assert play.raw(b"\n" + line + b"\n") == [Unparsed(raw=line.decode(), reason=reason, size=len(line))]


def test_a_picture_in_a_message_is_kept_as_it_came() -> None:
    play = Play()
    play.open()
    play.prompt()
    image = {"type": "image", "data": "AA==", "mimeType": "image/png"}
    [kept] = play.update({"sessionUpdate": "agent_message_chunk", "content": image})
    assert isinstance(kept, Unparsed)
    assert kept.reason == "a message can hold text only"


def test_a_line_that_is_too_long_is_named() -> None:
    play = Play()
    play.open()
    block = Block(b"", (Oversize(size=10**8, head=b"begin"),))
    assert play.do(play.conversation.feed(block)) == [
        Notice(
            level="warning",
            text="a line of 100000000 bytes is above the limit of 67108864 and was left out",
            code="oversize_line",
            detail="begin",
        )
    ]


@pytest.mark.parametrize("result", [b"[" * 3000 + b"]" * 3000, b'{"stopReason":"\xff"}'], ids=["deep", "not utf-8"])
def test_a_response_that_cannot_be_decoded_ends_what_waits_for_it(result: bytes) -> None:
    play = Play()
    play.open()
    play.prompt()
    number = json.dumps(play.last("session/prompt")["id"]).encode()
    kept, ended = play.raw(b'{"jsonrpc":"2.0","id":' + number + b',"result":' + result + b"}\n")
    assert isinstance(kept, Unparsed)
    assert isinstance(ended, TurnEnded)
    assert (ended.ok, ended.error) == (False, f"Parse error: {kept.reason}")


def test_what_we_do_not_offer_is_refused_and_told() -> None:
    play = Play()
    play.open()
    [kept] = play.request(7, "fs/read_text_file", path="/etc/passwd")
    assert isinstance(kept, Unparsed)
    assert kept.reason == "the agent asked for what we do not offer: fs/read_text_file"
    assert play.frames[-1] == {
        "jsonrpc": "2.0",
        "id": 7,
        "error": {"code": -32601, "message": "Method not found: fs/read_text_file"},
    }


def test_turn_ids_can_be_given_a_prefix_of_their_own() -> None:
    play = Play()
    conversation = type(play.conversation)("acp", OPTIONS, turn_prefix="run-7.", first_turn=4)
    play.conversation = conversation
    play.open()
    [begun, _] = play.prompt()
    assert begun == TurnStarted(turn=TurnId("run-7.4"), prompts=(PromptId("p1"),), origin="prompt")
