"""Requests to a client's person: permissions, plans, questions by form or by options, and what the answers mean."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from footplate.acp.encode_requests import IN_CHAT, SESSION_RULE, SKIP, Asked, Unanswered, ask, take
from footplate.acp.encode_tools import ToolEncoder
from footplate.acp.profile import Profile
from footplate.events.ids import RequestId, SessionId, ToolCallId
from footplate.events.model import ToolStarted
from footplate.events.requests import Allow, Choose, Decline, Deny, Reply, Request, RequestOption
from footplate.events.tools import Choice, CommandDetail, Question
from tests.acp_schema import check_sent

SESSION = SessionId("s")
ALLOW = RequestOption(id="allow", label="Allow once", kind="allow_once")
DENY = RequestOption(id="deny", label="Deny", kind="deny")
STOP = RequestOption(id="stop", label="Deny and stop", kind="deny_and_stop")
ALWAYS = RequestOption(id="suggestion:0", label="Always", kind="allow_always")
COLOUR = Question(text="Which colour?", header="Colour", choices=(Choice(label="Red"), Choice(label="Blue")))
SIZES = Question(text="Which sizes?", header="Sizes", choices=(Choice(label="S"), Choice(label="L")), multiple=True)
FORMS, PLAIN = Profile(forms=True), Profile()


def put(request: Request, profile: Profile = PLAIN, tools: ToolEncoder | None = None) -> tuple[Asked, Any]:
    asked = ask(SESSION, request, profile, tools or ToolEncoder(profile))
    params = json.loads(msgspec.json.encode(asked.params))
    check_sent(asked.method, params)
    return asked, params


def back(asked: Asked, result: object) -> object:
    return take(SESSION, asked, msgspec.Raw(msgspec.json.encode(result)), ToolEncoder(PLAIN))


def chosen(option: str) -> object:
    return {"outcome": {"outcome": "selected", "optionId": option}}


def permission(*options: RequestOption) -> Request:
    return Request(
        id=RequestId("r"), kind="permission", title="touch f", tool="Bash", call=ToolCallId("c"), options=options
    )


def questions(*asked: Question) -> Request:
    return Request(id=RequestId("r"), kind="question", title="Questions", call=ToolCallId("c"), questions=asked)


def test_a_permission_carries_the_whole_call() -> None:
    tools = ToolEncoder(PLAIN)
    given = msgspec.Raw(b'{"command":"touch f"}')
    detail = CommandDetail(command="touch f", description="Makes f")
    tools.started(
        ToolStarted(call=ToolCallId("c"), name="Bash", kind="command", title="touch f", input=given, detail=detail)
    )
    _, params = put(permission(ALLOW, ALWAYS, DENY, STOP), tools=tools)
    call = params["toolCall"]
    assert (call["toolCallId"], call["kind"], call["status"]) == ("c", "execute", "pending")
    assert call["rawInput"] == {"command": "touch f"}
    assert call["content"][0]["content"]["text"] == "Makes f"
    assert [each["kind"] for each in params["options"]] == ["allow_once", "allow_always", "reject_once"]


def test_there_is_an_always_even_where_the_engine_has_none() -> None:
    asked, params = put(permission(ALLOW, DENY))
    assert [each["optionId"] for each in params["options"]] == ["allow", SESSION_RULE, "deny"]
    assert back(asked, chosen(SESSION_RULE)) == Allow(scope="session")
    assert back(asked, chosen("allow")) == Choose(option="allow")


def test_words_beside_a_no_reach_the_agent() -> None:
    asked, _ = put(permission(ALLOW, DENY))
    result = {"outcome": {"outcome": "selected", "optionId": "deny"}, "_meta": {"footplate": {"message": "use git"}}}
    assert back(asked, result) == Deny(message="use git")


def test_a_plan_is_inside_of_its_request() -> None:
    plan = Request(id=RequestId("r"), kind="plan", title="Approve", plan="# Plan\n1. Do it", options=(ALLOW, DENY))
    _, params = put(plan)
    assert params["toolCall"]["kind"] == "switch_mode"
    assert params["toolCall"]["content"][0]["content"]["text"] == "# Plan\n1. Do it"
    assert [each["optionId"] for each in params["options"]] == ["allow", "deny"]


def test_cancelled_is_no_answer() -> None:
    asked, _ = put(permission(ALLOW, DENY))
    assert isinstance(back(asked, {"outcome": {"outcome": "cancelled"}}), Unanswered)
    form, _ = put(questions(COLOUR), FORMS)
    assert isinstance(back(form, {"action": "cancel"}), Unanswered)


def test_an_answer_that_is_not_acp_is_refused() -> None:
    asked, _ = put(permission(ALLOW, DENY))
    with pytest.raises(msgspec.ValidationError):
        back(asked, {"outcome": 5})


def test_questions_are_one_form() -> None:
    asked, params = put(questions(COLOUR, SIZES), FORMS)
    fields = params["requestedSchema"]["properties"]
    assert list(fields) == ["question_0", "question_0_custom", "question_1", "question_1_custom"]
    assert [each["title"] for each in fields["question_1"]["items"]["anyOf"]] == ["S", "L"]
    content = {"question_0": "Red", "question_1": ["S", "L"]}
    assert back(asked, {"action": "accept", "content": content}) == Reply(
        answers={"Which colour?": "Red", "Which sizes?": ["S", "L"]}
    )
    own = {"question_0": "Red", "question_0_custom": "Green, please"}
    assert back(asked, {"action": "accept", "content": own}) == Reply(answers={"Which colour?": "Green, please"})
    assert back(asked, {"action": "decline"}) == Decline()
    assert back(asked, {"action": "accept"}) == Decline()


def test_without_forms_questions_are_asked_one_after_the_other() -> None:
    first, params = put(questions(COLOUR, SIZES))
    assert params["toolCall"]["title"] == "Which colour?"
    second = back(first, chosen("choice-1"))
    assert isinstance(second, Asked)
    check_sent(second.method, json.loads(msgspec.json.encode(second.params)))
    assert back(second, chosen("choice-0")) == Reply(answers={"Which colour?": "Blue", "Which sizes?": "S"})
    assert back(second, chosen(SKIP)) == Reply(answers={"Which colour?": "Blue"})


def test_a_question_may_be_skipped_or_answered_in_the_chat() -> None:
    asked, _ = put(questions(COLOUR))
    assert back(asked, chosen(SKIP)) == Decline()
    later = back(asked, chosen(IN_CHAT))
    assert isinstance(later, Decline)
    assert "next message" in later.message
