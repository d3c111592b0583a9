"""A conversation: commands become frames, lines become events, and nothing is left hanging."""

from __future__ import annotations

import json

import pytest

from footplate.engines.base import Exit, Options
from footplate.engines.claude.conversation import ClaudeConversation
from footplate.engines.claude.prompts import clears
from footplate.errors import InvalidValue, UnsupportedOption
from footplate.events import commands as c
from footplate.events.commands import Command
from footplate.events.content import TextBlock
from footplate.events.ids import EngineSessionId, MessageId, PromptId, RequestId, TurnId
from footplate.events.model import (
    EngineDetached,
    Notice,
    RequestApplied,
    RequestOpened,
    RequestWithdrawn,
    ToolEnded,
    TurnEnded,
    TurnStarted,
    Unparsed,
)
from footplate.events.requests import Allow, Deny
from footplate.host.lines import Block, Oversize
from tests.unit.engines.claude.playing import recording

PROMPT = PromptId("3f1f1f3e-0000-4000-8000-000000000001")
LIVE = Options(cwd="/workspace", asks=True)


def request_of(command: Command) -> object:
    [frame] = ClaudeConversation(LIVE, version="2.1.325").command(command).frames
    return json.loads(frame)["request"]


@pytest.mark.parametrize(
    ("command", "request_"),
    [
        (c.Interrupt(key="k"), {"subtype": "interrupt"}),
        (c.Interrupt(key="k", withdraw_queued=True), {"subtype": "interrupt", "cancel_queued": True}),
        (c.SetEffort(key="k", effort="low"), {"subtype": "apply_flag_settings", "settings": {"effortLevel": "low"}}),
        (c.SetEffort(key="k", effort="0"), {"subtype": "set_max_thinking_tokens", "max_thinking_tokens": 0}),
        (
            c.Rewind(key="k", message=MessageId(PROMPT)),
            {"subtype": "rewind_files", "user_message_id": PROMPT, "dry_run": True},
        ),
        (c.WithdrawPrompt(key="k", prompt=PROMPT), {"subtype": "cancel_async_message", "message_uuid": PROMPT}),
        (c.SetMode(key="k", mode="manual"), {"subtype": "set_permission_mode", "mode": "default"}),
        (c.SetModel(key="k", model=""), {"subtype": "set_model"}),
        (c.Rename(key="k", title="T"), {"subtype": "rename_session", "title": "T"}),
        (c.CloseSession(key="k"), {"subtype": "end_session"}),
    ],
)
def test_a_command_is_one_control_request(command: Command, request_: object) -> None:
    assert request_of(command) == request_


def test_a_live_conversation_begins_with_initialize_and_a_one_shot_with_nothing() -> None:
    [frame] = ClaudeConversation(LIVE).begin().frames
    assert json.loads(frame)["request"] == {"subtype": "initialize"}
    assert ClaudeConversation(Options(cwd="/", one_shot=True, prompt="hi")).begin().frames == ()


def test_an_answer_goes_out_once_and_its_effect_is_seen_in_the_result() -> None:
    recorded = recording("2.1.325", "perm_allow_input")
    conversation = ClaudeConversation(LIVE)
    [request] = recorded.answers
    seen = []
    for line in recorded.lines:
        seen += conversation.feed(Block(line)).events
        if b"can_use_tool" in line:
            answered = conversation.command(c.AnswerRequest(key="k", request=RequestId(request), answer=Allow()))
            response = json.loads(answered.frames[0])["response"]
            assert response["response"] == {
                "behavior": "allow",
                "updatedInput": {"command": "touch q && echo made", "description": "run"},
            }
    assert RequestApplied(request=RequestId(request)) in seen
    with pytest.raises(InvalidValue, match="a request that is open"):
        conversation.command(c.AnswerRequest(key="k", request=RequestId(request), answer=Allow()))


def test_after_a_no_an_older_cli_s_error_is_known_as_a_denial() -> None:
    recorded = recording("2.1.197", "perm_deny")
    conversation = ClaudeConversation(LIVE)
    seen = []
    for line in recorded.lines:
        seen += conversation.feed(Block(line)).events
        if b"can_use_tool" in line:
            request = RequestId(next(iter(recorded.answers)))
            conversation.command(c.AnswerRequest(key="k", request=request, answer=Deny(message="user says no")))
    assert [event.outcome for event in seen if isinstance(event, ToolEnded)] == ["denied"]


def test_a_call_that_runs_without_our_answer_withdraws_the_request() -> None:
    conversation = ClaudeConversation(LIVE)
    seen = [
        event
        for line in recording("2.1.325", "perm_allow_input").lines
        for event in conversation.feed(Block(line)).events
    ]
    [withdrawn] = [event for event in seen if isinstance(event, RequestWithdrawn)]
    assert withdrawn.reason == "the agent went on without an answer"


def test_a_control_request_that_nobody_serves_is_refused_so_that_the_turn_goes_on() -> None:
    asked = b'{"type":"control_request","request_id":"r","request":{"subtype":"request_user_dialog"}}\n'
    reaction = ClaudeConversation(LIVE).feed(Block(asked))
    assert [type(event) for event in reaction.events] == [Notice]
    [frame] = reaction.frames
    assert json.loads(frame)["response"] == {
        "subtype": "error",
        "request_id": "r",
        "error": "Unsupported control request subtype: request_user_dialog",
    }


ASKED = b'{"type":"control_request","request_id":"r","request":%s}'
DEEP = b'{"subtype":"can_use_tool","tool_name":"Bash","input":%s}' % (b"[" * 3000 + b"]" * 3000)


@pytest.mark.parametrize(
    "block",
    [
        Block(ASKED % DEEP + b"\n"),
        Block(ASKED % b'{"subtype":"can_use_tool","tool_name":"\\ud800"}' + b"\n"),
        Block(ASKED % b'"can_use_tool"' + b"\n"),
        Block(b"", (Oversize(10**8, ASKED % b'{"subtype":"can_use_tool","input":{"a":"xxx'),)),
    ],
    ids=["deep", "lone surrogate", "no object", "too long"],
)
def test_a_control_request_that_cannot_be_read_is_refused_so_that_the_turn_goes_on(block: Block) -> None:
    reaction = ClaudeConversation(LIVE).feed(block)
    assert [type(event) for event in reaction.events] == [Notice if block.oversize else Unparsed]
    [frame] = reaction.frames
    assert json.loads(frame)["response"] == {
        "subtype": "error",
        "request_id": "r",
        "error": "The control request cannot be read",
    }


def test_an_input_that_is_not_utf_8_is_asked_about_and_answered_as_it_is_shown() -> None:
    given = b'{"subtype":"can_use_tool","tool_name":"Bash","tool_use_id":"t","input":{"command":"ls \xff"}}'
    conversation = ClaudeConversation(LIVE)
    events = conversation.feed(Block(ASKED % given + b"\n")).events
    [opened] = [event for event in events if isinstance(event, RequestOpened)]
    assert opened.request.title == "ls \N{REPLACEMENT CHARACTER}"
    answer = c.AnswerRequest(key="k", request=opened.request.id, answer=Allow())
    [frame] = conversation.command(answer).frames
    allowed = json.loads(frame)["response"]["response"]
    assert allowed["updatedInput"] == {"command": "ls \N{REPLACEMENT CHARACTER}"}


def test_a_prompt_that_no_turn_took_up_is_lost_with_the_process() -> None:
    conversation = ClaudeConversation(LIVE)
    conversation.command(c.SendPrompt(key="k", prompt=PROMPT, content=(TextBlock(text="hi"),)))
    _, ended, detached = conversation.finish(Exit(code=1, stderr="bad key")).events
    assert isinstance(ended, TurnEnded)
    assert ended.prompts == (PROMPT,)
    assert ended.error == "claude exited with code 1 before the turn ended: bad key"
    assert isinstance(detached, EngineDetached)


@pytest.mark.parametrize(
    ("options", "command"),
    [
        (LIVE, c.RunCommand(key="k", command="ls")),
        (Options(cwd="/", one_shot=True, prompt="hi"), c.Interrupt(key="k")),
    ],
)
def test_what_cannot_be_done_is_refused_by_name(options: Options, command: Command) -> None:
    with pytest.raises(UnsupportedOption, match=type(command).__name__):
        ClaudeConversation(options).command(command)


def test_turns_are_numbered_from_where_the_session_stands() -> None:
    conversation = ClaudeConversation(Options(cwd="/", first_turn=5))
    init = b'{"type":"system","subtype":"init","session_id":"s"}\n'
    assert conversation.feed(Block(init)).events[1] == TurnStarted(turn=TurnId("turn-5"))


@pytest.mark.parametrize(
    ("prompt", "new"), [("/clear", True), (" /clear now", True), ("/clearly", False), ("clear", False), ("", False)]
)
def test_only_the_command_itself_clears(prompt: str, new: bool) -> None:
    assert clears(prompt) is new


def test_a_prompt_that_clears_makes_the_new_session_expected() -> None:
    conversation = ClaudeConversation(Options(cwd="/", resume=EngineSessionId("old")))
    conversation.command(c.SendPrompt(key="k", prompt=PROMPT, content=(TextBlock(text="/clear"),)))
    init = b'{"type":"system","subtype":"init","session_id":"new"}\n'
    assert not [event for event in conversation.feed(Block(init)).events if isinstance(event, Notice)]
