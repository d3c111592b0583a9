"""Frames to the CLI: prompts, requests of ours, answers to its requests; and what its requests look like to people."""

from __future__ import annotations

import json

import msgspec
import pytest

from footplate.engines.claude.asking import ASKED, read_request
from footplate.engines.claude.control import Requests, answer_frame, chosen, denies, prompt_frame, refusal_frame
from footplate.engines.claude.prompts import prompt_uuid
from footplate.errors import InvalidValue
from footplate.events.content import ImageBlock, OtherBlock, ResourceBlock, TextBlock
from footplate.events.ids import PromptId, RequestId, ToolCallId
from footplate.events.requests import (
    Allow,
    Answer,
    Choose,
    Decline,
    Deny,
    Reply,
    Request,
    RequestOption,
    Suggestion,
)
from footplate.events.tools import CommandDetail
from tests.unit.engines.claude.playing import raw

PROMPT = PromptId("3f1f1f3e-0000-4000-8000-000000000001")
INPUT = {"command": "touch q"}
RULE = {
    "type": "addRules",
    "rules": [{"toolName": "Bash", "ruleContent": "touch q *"}],
    "behavior": "allow",
    "destination": "localSettings",
}
MODE = {"type": "setMode", "mode": "acceptEdits", "destination": "session"}
REQUEST = read_request(
    "r-1",
    ASKED.decode(
        msgspec.json.encode(
            {"tool_name": "Bash", "tool_use_id": "t-1", "input": INPUT, "permission_suggestions": [RULE, MODE]}
        )
    ),
    "/project",
)
QUESTION = Request(id=RequestId("r-2"), kind="question", title="ask user", input=raw({"questions": [1]}))


def test_a_permission_shows_what_runs_and_every_way_to_answer() -> None:
    assert (
        Request(
            id=RequestId("r-1"),
            kind="permission",
            title="touch q",
            tool="Bash",
            call=ToolCallId("t-1"),
            input=raw(INPUT),
            detail=CommandDetail(command="touch q", cwd="/project"),
            options=(
                RequestOption(id="allow", label="Allow once", kind="allow_once", means=Allow()),
                RequestOption(
                    id="suggestion:0",
                    label="Allow Bash(touch q *) always (local settings)",
                    kind="allow_always",
                    means=Allow(scope="always", suggestion=0),
                ),
                RequestOption(
                    id="suggestion:1",
                    label="Switch to mode acceptEdits for this session",
                    kind="allow_session",
                    means=Allow(scope="session", suggestion=1),
                ),
                RequestOption(id="deny", label="Deny", kind="deny", means=Deny()),
                RequestOption(
                    id="deny_and_stop", label="Deny and stop", kind="deny_and_stop", means=Deny(interrupt=True)
                ),
            ),
            suggestions=(
                Suggestion(
                    label="Allow Bash(touch q *) always (local settings)",
                    destination="local",
                    raw=raw(RULE),
                    allows="Allow Bash(touch q *)",
                ),
                Suggestion(label="Switch to mode acceptEdits for this session", destination="session", raw=raw(MODE)),
            ),
        )
        == REQUEST
    )


@pytest.mark.parametrize(
    ("request_", "answer", "response"),
    [
        (REQUEST, Allow(), {"behavior": "allow", "updatedInput": INPUT}),
        (
            REQUEST,
            Allow(updated_input=raw({"command": "ls"})),
            {"behavior": "allow", "updatedInput": {"command": "ls"}},
        ),
        (REQUEST, Choose(option="allow"), {"behavior": "allow", "updatedInput": INPUT}),
        (
            REQUEST,
            Choose(option="suggestion:0"),
            {
                "behavior": "allow",
                "updatedInput": INPUT,
                "updatedPermissions": [RULE],
            },
        ),
        (
            REQUEST,
            Allow(scope="session"),
            {"behavior": "allow", "updatedInput": INPUT},
        ),
        (
            REQUEST,
            Allow(scope="session", suggestion=1),
            {"behavior": "allow", "updatedInput": INPUT, "updatedPermissions": [MODE]},
        ),
        (REQUEST, Allow(scope="exact"), {"behavior": "allow", "updatedInput": INPUT}),
        (
            REQUEST,
            Allow(scope="always", suggestion=1),
            {"behavior": "allow", "updatedInput": INPUT, "updatedPermissions": [MODE]},
        ),
        (
            REQUEST,
            Allow(mode="acceptEdits"),
            {"behavior": "allow", "updatedInput": INPUT, "updatedPermissions": [MODE]},
        ),
        (REQUEST, Deny(message="no"), {"behavior": "deny", "message": "no"}),
        (REQUEST, Deny(), {"behavior": "deny", "message": "The user does not want this to be done."}),
        (
            REQUEST,
            Choose(option="deny_and_stop"),
            {"behavior": "deny", "message": "The user does not want this to be done.", "interrupt": True},
        ),
        (
            QUESTION,
            Reply(answers={"Which?": "A", "Sizes?": ["S", "L"]}),
            {"behavior": "allow", "updatedInput": {"questions": [1], "answers": {"Which?": "A", "Sizes?": "S, L"}}},
        ),
        (
            QUESTION,
            Decline(),
            {"behavior": "deny", "message": "The user does not want to answer these questions."},
        ),
        (
            Request(id=RequestId("r-3"), kind="permission", title="x"),
            Allow(scope="session"),
            {"behavior": "allow", "updatedInput": {}},
        ),
    ],
)
def test_an_answer_becomes_what_both_versions_take(request_: Request, answer: Answer, response: object) -> None:
    frame = answer_frame(request_, answer)
    assert frame.endswith(b"\n")
    assert json.loads(frame) == {
        "type": "control_response",
        "response": {"subtype": "success", "request_id": request_.id, "response": response},
    }


def test_an_option_or_a_suggestion_that_does_not_exist_is_refused() -> None:
    with pytest.raises(InvalidValue, match="one of allow, deny"):
        chosen(REQUEST, Choose(option="maybe"))
    with pytest.raises(InvalidValue, match="below 2"):
        answer_frame(REQUEST, Allow(scope="always", suggestion=2))


@pytest.mark.parametrize(
    ("answer", "no"),
    [(Allow(), False), (Deny(), True), (Decline(), True), (Choose(option="deny"), True), (Reply(answers={}), False)],
)
def test_a_no_is_known_as_one(answer: Answer, no: bool) -> None:
    assert denies(REQUEST, answer) is no


def test_a_prompt_of_one_text_is_a_string_so_that_commands_are_seen() -> None:
    assert json.loads(prompt_frame(PROMPT, (TextBlock(text="/compact"),))) == {
        "type": "user",
        "message": {"role": "user", "content": "/compact"},
        "parent_tool_use_id": None,
        "uuid": PROMPT,
    }


def test_a_prompt_with_pictures_and_files_is_blocks_and_may_be_urgent() -> None:
    content = (
        TextBlock(text="look"),
        ImageBlock(media_type="image/png", data="aGk="),
        ImageBlock(media_type="", uri="http://a/b.png"),
        ResourceBlock(uri="file:///a/b.txt", text="body"),
        ResourceBlock(uri="http://a/b"),
        ResourceBlock(uri="zed://x/plan", media_type="application/pdf", data="aGk="),
        ResourceBlock(uri="file:///p", media_type="image/JPG; q=1", data="aGk="),
        ResourceBlock(uri="file:///j", media_type="application/json", data="aGk="),
        ResourceBlock(uri="file:///z", media_type="application/zip", data="aGk="),
        OtherBlock(kind="audio", raw=msgspec.Raw(b"{}")),
    )
    frame = json.loads(prompt_frame(PROMPT, content, now=True))
    assert frame["priority"] == "now"
    assert frame["message"]["content"] == [
        {"type": "text", "text": "look"},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}},
        {"type": "image", "source": {"type": "url", "url": "http://a/b.png"}},
        {"type": "text", "text": "[@b.txt](file:///a/b.txt)"},
        {"type": "text", "text": "http://a/b"},
        {"type": "text", "text": "[@plan](zed://x/plan)"},
        {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "aGk="}},
        {"type": "text", "text": "[@p](file:///p)"},
        {"type": "image", "source": {"type": "base64", "media_type": "image/jpeg", "data": "aGk="}},
        {"type": "text", "text": "[@j](file:///j)"},
        {"type": "text", "text": "[@z](file:///z)"},
        {"type": "text", "text": '\n<context ref="file:///a/b.txt">\nbody\n</context>'},
        {"type": "text", "text": '\n<context ref="file:///j">\nhi\n</context>'},
    ]


def test_a_prompt_id_that_is_no_uuid_gets_one_that_is_always_the_same() -> None:
    assert prompt_uuid(PROMPT) == PROMPT
    assert prompt_uuid(PromptId("01J")) == prompt_uuid(PromptId("01J")) != prompt_uuid(PromptId("01K"))


def test_requests_of_ours_are_numbered_and_leave_out_what_is_not_given() -> None:
    requests = Requests()
    named = [requests.named("interrupt", cancel_queued=None), requests.named("set_model", model="opus")]
    assert [name for name, _ in named] == ["footplate-1", "footplate-2"]
    assert [json.loads(frame) for _, frame in named] == [
        {"type": "control_request", "request_id": "footplate-1", "request": {"subtype": "interrupt"}},
        {"type": "control_request", "request_id": "footplate-2", "request": {"subtype": "set_model", "model": "opus"}},
    ]


def test_what_we_do_not_serve_is_refused_by_name() -> None:
    assert json.loads(refusal_frame("r", "no")) == {
        "type": "control_response",
        "response": {"subtype": "error", "request_id": "r", "error": "no"},
    }
