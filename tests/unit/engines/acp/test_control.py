"""What the agent asks of a person: requests, answers, and what is answered when nobody can be asked."""

from __future__ import annotations

import msgspec
import pytest
from msgspec.structs import replace

from footplate.engines.base import Options
from footplate.errors import InvalidValue, UnsupportedOption
from footplate.events.commands import AnswerRequest, Interrupt
from footplate.events.ids import RequestId, ToolCallId
from footplate.events.inputs import split_input
from footplate.events.model import (
    Denial,
    Notice,
    RequestApplied,
    RequestOpened,
    RequestWithdrawn,
    ToolEnded,
    ToolStarted,
    TurnEnded,
    Unparsed,
)
from footplate.events.requests import Allow, Answer, Choose, Decline, Deny, Reply, Request, RequestOption
from footplate.events.tools import Choice, CommandDetail, FileChange, FileChangeDetail, Question, QuestionDetail
from footplate.host.lines import Block, Oversize
from tests.unit.engines.acp.playing import Json, Play, assert_clean, call, progress, say

R1 = RequestId("turn-1.r1:5")
Q1 = RequestId("turn-1.r1:6")
C1 = ToolCallId("c1")
OFFERED = [
    {"optionId": "forever", "name": "Always", "kind": "allow_always"},
    {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
    {"optionId": "no", "name": "No", "kind": "reject_once"},
    {"optionId": "odd", "name": "Odd", "kind": "_odd"},
]
BASH: Json = {"toolCallId": "c1", "title": "ls", "name": "Bash", "kind": "execute"}
REQUEST = Request(
    id=R1,
    kind="permission",
    title="ls",
    tool="Bash",
    call=C1,
    detail=CommandDetail(command="ls"),
    options=(
        RequestOption(id="forever", label="Always", kind="allow_always"),
        RequestOption(id="yes", label="Yes", kind="allow_once"),
        RequestOption(id="no", label="No", kind="deny"),
        RequestOption(id="odd", label="Odd", kind="other"),
    ),
)


def in_turn(options: Options | None = None) -> Play:
    play = Play(options or Options(cwd="/project", asks=True))
    play.open()
    play.prompt()
    return play


def ask(play: Play, offered: list[Json] | None = None, **fields: object) -> None:
    play.request(5, "session/request_permission", toolCall={**BASH, **fields}, options=offered or OFFERED)


def selected(option: str) -> Json:
    return {"jsonrpc": "2.0", "id": 5, "result": {"outcome": {"outcome": "selected", "optionId": option}}}


CANCELLED: Json = {"jsonrpc": "2.0", "id": 5, "result": {"outcome": {"outcome": "cancelled"}}}


# --------------------------------------------------------------------------------------------- permissions


def test_a_permission_may_be_the_first_sight_of_its_call() -> None:
    play = in_turn()
    ask(play)
    assert play.events[-2:] == [
        ToolStarted(call=C1, name="Bash", kind="command", title="ls", detail=CommandDetail(command="ls")),
        RequestOpened(request=REQUEST),
    ]


def test_a_permission_carries_what_the_agent_shows_only_as_content() -> None:
    play = in_turn()
    long = "x = 1\n" * 9000
    diff = {"type": "diff", "path": "/w/a", "oldText": None, "newText": long}
    words = {"type": "content", "content": {"type": "text", "text": "It replaces the settings."}}
    ask(play, kind="other", title="Update", content=[diff, words])
    opened = play.events[-1]
    assert isinstance(opened, RequestOpened)
    assert opened.request.detail == FileChangeDetail(changes=(FileChange(path="/w/a", kind="add", new_text=long),))
    assert opened.request.description == "It replaces the settings."
    assert opened.request.input is None


LINK: Json = {"type": "resource_link", "uri": "file:///etc/shadow", "name": "notes.txt"}
FILE: Json = {"type": "resource", "resource": {"uri": "file:///w/a", "text": "rm -rf /"}}
PICTURE: Json = {"type": "image", "mimeType": "image/png", "data": "AAAA"}
NEW: Json = {"type": "_new", "danger": True}


@pytest.mark.parametrize("kind", ["other", "execute", "edit"])
def test_a_permission_carries_links_pictures_files_and_unknown_content(kind: str) -> None:
    play = in_turn()
    blocks = [{"type": "content", "content": block} for block in (LINK, FILE, PICTURE, NEW)]
    words = {"type": "content", "content": {"type": "text", "text": "in production"}}
    ask(play, kind=kind, title="Update", content=[words, *blocks, {"type": "_odd", "n": 1}])
    opened = play.events[-1]
    assert isinstance(opened, RequestOpened)
    assert opened.request.description == "in production"
    assert [(field.name, field.text) for field in split_input(opened.request).fields] == [
        ("link", "notes.txt\nfile:///etc/shadow"),
        ("file", "file:///w/a\nrm -rf /"),
        ("picture", "image/png\n3 B"),
        ("content", '{\n  "type": "content",\n  "content": {\n    "type": "_new",\n    "danger": true\n  }\n}'),
        ("_odd", '{\n  "type": "_odd",\n  "n": 1\n}'),
    ]


def test_a_plan_shows_what_stands_beside_its_text() -> None:
    play = in_turn()
    words = {"type": "content", "content": {"type": "text", "text": "1. Do it"}}
    ask(play, kind="switch_mode", title="Plan", content=[words, {"type": "content", "content": LINK}])
    opened = play.events[-1]
    assert isinstance(opened, RequestOpened)
    assert (opened.request.kind, opened.request.plan) == ("plan", "1. Do it\n\nlink:\nnotes.txt\nfile:///etc/shadow")


def test_a_permission_names_the_files_that_only_its_locations_name() -> None:
    play = in_turn()
    places = [{"path": "/etc/shadow", "line": 3}, {"path": "/w/a"}]
    ask(play, kind="read", title="Read a file", rawInput={"path": "/w/a"}, locations=places)
    opened = play.events[-1]
    assert isinstance(opened, RequestOpened)
    assert opened.request.description == "file: /etc/shadow"


def test_a_permission_under_a_title_of_the_model_carries_the_command() -> None:
    play = in_turn()
    ask(play, title="List files", rawInput={"command": "touch x && echo gone"})
    opened = play.events[-1]
    assert isinstance(opened, RequestOpened)
    assert (opened.request.title, split_input(opened.request).command) == ("List files", "touch x && echo gone")


def test_an_answer_goes_to_the_agent_and_is_applied_when_the_call_goes_on() -> None:
    play = in_turn()
    play.update({**BASH, "sessionUpdate": "tool_call"})
    ask(play)
    assert play.reply(R1, Allow()) == []
    assert play.frames[-1] == selected("yes")
    assert play.update(say("meanwhile"))[0] != RequestApplied(request=R1)
    assert RequestApplied(request=R1) in play.update(progress(status="completed"))
    play.answer("session/prompt", {"stopReason": "end_turn"})
    play.finish()
    assert_clean(play.events)


@pytest.mark.parametrize(
    ("answer", "option"),
    [
        (Allow(), "yes"),
        (Allow(scope="session"), "yes"),
        (Allow(scope="always"), "forever"),
        (Choose(option="odd"), "odd"),
        (Deny(), "no"),
        (Choose(option="no"), "no"),
    ],
)
def test_answers_are_chosen_by_kind_whatever_the_agent_calls_them(answer: Answer, option: str) -> None:
    play = in_turn()
    ask(play)
    play.reply(R1, answer)
    assert play.frames[-1] == selected(option)


def test_words_of_a_denial_go_beside_it() -> None:
    play = in_turn()
    ask(play)
    play.reply(R1, Deny(message="use git"))
    result = play.frames[-1]["result"]
    assert isinstance(result, dict)
    assert result["_meta"] == {"footplate": {"message": "use git"}}


def test_a_denied_call_ends_as_denied_and_is_listed() -> None:
    play = in_turn()
    ask(play)
    play.reply(R1, Deny())
    assert play.update(progress(status="failed")) == [
        RequestApplied(request=R1),
        ToolEnded(call=C1, ok=False, outcome="denied", detail=CommandDetail(command="ls")),
    ]
    ended = play.answer("session/prompt", {"stopReason": "end_turn"})[-1]
    assert isinstance(ended, TurnEnded)
    assert (ended.ok, ended.denials) == (True, (Denial(tool="Bash", call=C1),))


def test_a_denial_that_the_agent_never_speaks_of_again_is_applied_at_the_end() -> None:
    play = in_turn()
    ask(play)
    play.reply(R1, Deny())
    assert play.answer("session/prompt", {"stopReason": "end_turn"})[:2] == [
        RequestApplied(request=R1),
        ToolEnded(call=C1, ok=False, outcome="denied", detail=CommandDetail(command="ls")),
    ]


def test_a_denial_that_stops_cancels_the_turn() -> None:
    play = in_turn()
    ask(play)
    play.reply(R1, Deny(interrupt=True))
    assert play.frames[-2:] == [
        selected("no"),
        {"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": "s-1"}},
    ]


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (Choose(option="maybe"), "option: 'maybe' cannot be used; expected one of forever, yes, no, odd"),
        (Reply(answers={}), "answer: 'Reply' cannot be used; expected one of forever, yes, no, odd"),
        (Decline(), "answer: 'Decline' cannot be used; expected one of forever, yes, no, odd"),
    ],
)
def test_an_answer_that_does_not_fit_is_refused_and_the_request_stays_open(answer: Answer, message: str) -> None:
    play = in_turn()
    ask(play)
    with pytest.raises(InvalidValue) as refused:
        play.command(AnswerRequest(key="a", request=R1, answer=answer))
    assert str(refused.value) == message
    assert play.reply(R1, Allow()) == []


def test_what_acp_cannot_carry_is_refused_by_name() -> None:
    play = in_turn()
    ask(play, offered=[{"optionId": "yes", "name": "Yes", "kind": "allow_once"}])
    changed = Allow(updated_input=msgspec.Raw(b"{}"))
    with pytest.raises(UnsupportedOption, match="a changed input"):
        play.command(AnswerRequest(key="a", request=R1, answer=changed))
    with pytest.raises(InvalidValue, match="scope: 'always'"):
        play.command(AnswerRequest(key="a", request=R1, answer=Allow(scope="always")))
    play.reply(R1, Deny())
    assert play.frames[-1] == CANCELLED


def test_a_second_answer_is_refused() -> None:
    play = in_turn()
    ask(play)
    play.reply(R1, Allow())
    with pytest.raises(InvalidValue, match=r"turn-1\.r1"):
        play.command(AnswerRequest(key="b", request=R1, answer=Deny()))


def test_an_interrupt_withdraws_what_is_open_and_tells_the_agent() -> None:
    play = in_turn()
    ask(play)
    assert play.command(Interrupt(key="i")) == [RequestWithdrawn(request=R1, reason="interrupted")]
    assert play.frames[-2] == CANCELLED
    play.update(progress(status="failed"))
    assert play.events[-1] == ToolEnded(call=C1, ok=False, outcome="cancelled", detail=CommandDetail(command="ls"))
    ask(play)
    assert play.frames[-1] == CANCELLED
    play.answer("session/prompt", {"stopReason": "cancelled"})
    play.finish()
    assert_clean(play.events)


def test_the_agent_may_take_its_request_back() -> None:
    play = in_turn()
    ask(play)
    assert play.line({"method": "$/cancel_request", "params": {"requestId": 5}}) == [
        RequestWithdrawn(request=R1, reason="the agent does not ask any more")
    ]


@pytest.mark.parametrize("answered", [False, True])
def test_when_the_agent_dies_nothing_is_known_of_an_answer_it_did_not_act_on(*, answered: bool) -> None:
    play = in_turn()
    ask(play)
    if answered:
        play.reply(R1, Allow())
    assert play.finish()[:2] == [
        RequestWithdrawn(request=R1, reason="the agent is gone"),
        ToolEnded(call=C1, ok=False, outcome="lost", detail=CommandDetail(command="ls"), note="the agent is gone"),
    ]
    assert_clean(play.events)


def test_a_request_outside_of_a_turn_is_cancelled() -> None:
    play = Play()
    play.open()
    ask(play)
    assert play.frames[-1] == CANCELLED


def test_a_request_that_is_not_acp_is_refused_and_kept() -> None:
    play = in_turn()
    [kept] = play.request(5, "session/request_permission", options=[])
    assert isinstance(kept, Unparsed)
    assert play.frames[-1] == {
        "jsonrpc": "2.0",
        "id": 5,
        "error": {"code": -32602, "message": "Invalid params: Object missing required field `toolCall`"},
    }


DEEP = b"[" * 3000 + b"]" * 3000
PERMISSION = b'{"jsonrpc":"2.0","id":5,"method":"session/request_permission","params":%s}'


@pytest.mark.parametrize(
    "params",
    [
        DEEP,
        b'{"sessionId":"s-1","toolCall":{"toolCallId":"c1","title":"\xff"},"options":[]}',
        b'{"sessionId":"s-1","toolCall":{"toolCallId":"c1","title":"\\ud800"},"options":[]}',
    ],
    ids=["deep", "not utf-8", "lone surrogate"],
)
def test_a_request_that_cannot_be_decoded_is_refused_and_kept(params: bytes) -> None:
    play = in_turn()
    [kept] = play.raw(PERMISSION % params + b"\n")
    assert isinstance(kept, Unparsed)
    assert play.frames[-1] == {
        "jsonrpc": "2.0",
        "id": 5,
        "error": {"code": -32700, "message": f"Parse error: {kept.reason}"},
    }
    assert play.update(say("and on it goes"))


def test_a_request_that_is_too_long_to_be_kept_is_refused() -> None:
    play = in_turn()
    [told] = play.do(play.conversation.feed(Block(b"", (Oversize(size=10**8, head=PERMISSION % b'{"a":"xxx'),))))
    assert isinstance(told, Notice)
    assert play.frames[-1] == {
        "jsonrpc": "2.0",
        "id": 5,
        "error": {"code": -32700, "message": f"Parse error: {told.text}"},
    }


def test_an_input_nested_as_deeply_as_can_be_decoded_is_asked_about_or_refused() -> None:
    """The envelope is decoded first, and its parameters with less of the stack left."""
    given = b'{"sessionId":"s-1","toolCall":{"toolCallId":"c1","rawInput":{"a":%s}},"options":[]}'
    for depth in range(850, 1000):
        play = in_turn()
        [*_, last] = play.raw(PERMISSION % (given % (b"[" * depth + b"]" * depth)) + b"\n")
        assert isinstance(last, RequestOpened) or play.frames[-1]["id"] == 5


# ----------------------------------------------------------------------------------------- nobody to be asked


@pytest.mark.parametrize(
    ("options", "option"),
    [
        (Options(cwd="/project"), "no"),
        (Options(cwd="/project", allow_tools=()), "no"),
        (Options(cwd="/project", allow_tools=("Read", "bash")), "yes"),
        (Options(cwd="/project", allow_tools=("execute",)), "yes"),
        (Options(cwd="/project", allow_tools=("command",)), "yes"),
        (Options(cwd="/project", allow_tools=("Bash",), deny_tools=("Bash",)), "no"),
        (Options(cwd="/project", asks=True, deny_tools=("Bash",)), "no"),
    ],
)
def test_without_anybody_to_ask_the_settings_decide_and_nothing_else(options: Options, option: str) -> None:
    play = in_turn(options)
    ask(play)
    assert play.frames[-1] == selected(option)
    assert not [event for event in play.events if isinstance(event, RequestOpened)]
    play.update(progress(status="completed" if option == "yes" else "failed"))
    ended = play.answer("session/prompt", {"stopReason": "end_turn"})[-1]
    assert isinstance(ended, TurnEnded)
    assert ended.denials == (() if option == "yes" else (Denial(tool="Bash", call=C1),))
    play.finish()
    assert_clean(play.events)


def test_a_session_is_never_allowed_by_an_option_that_lasts() -> None:
    play = in_turn()
    ask(play, offered=[{"optionId": "forever", "name": "Always", "kind": "allow_always"}])
    with pytest.raises(InvalidValue, match="scope"):
        play.reply(R1, Allow(scope="session"))


def test_a_tool_is_never_allowed_for_longer_than_once_by_itself() -> None:
    play = in_turn(Options(cwd="/project", allow_tools=("Bash",)))
    ask(play, offered=[{"optionId": "forever", "name": "Always", "kind": "allow_always"}])
    assert play.frames[-1] == CANCELLED


def test_without_anybody_to_ask_a_question_is_declined_and_told() -> None:
    play = in_turn(Options(cwd="/project"))
    assert question(play) == [
        Notice(
            level="warning",
            text="a question was declined, because nobody can be asked: Which?",
            code="question_declined",
        )
    ]
    assert play.frames[-1] == {"jsonrpc": "2.0", "id": 6, "result": {"action": "decline"}}


# ----------------------------------------------------------------------------------------------- questions

COLOURS: Json = {
    "type": "string",
    "title": "Colour",
    "oneOf": [{"const": "r", "title": "Red", "description": "warm"}, {"const": "b", "title": "Blue"}],
}


def question(play: Play, **fields: Json) -> list[object]:
    schema = {"type": "object", "properties": fields or {"colour": COLOURS}}
    events = play.request(6, "elicitation/create", mode="form", message="Which?", requestedSchema=schema)
    return [
        replace(event, request=replace(event.request, input=None)) if isinstance(event, RequestOpened) else event
        for event in events
    ]


def asked(*questions: Question, above: str = "") -> list[object]:
    request = Request(id=Q1, kind="question", title="Which?", description=above, questions=questions)
    return [RequestOpened(request=request)]


def answered(**content: object) -> Json:
    return {"jsonrpc": "2.0", "id": 6, "result": {"action": "accept", "content": content}}


CHOICES = (Choice(label="Red", description="warm"), Choice(label="Blue"))


def test_a_form_with_one_field_is_one_question() -> None:
    play = in_turn()
    assert question(play) == asked(Question(text="Which?", header="Colour", choices=CHOICES))
    play.reply(Q1, Reply(answers={"Which?": "Blue"}))
    assert play.frames[-1] == answered(colour="b")
    assert play.update(say("Blue it is"))[0] == RequestApplied(request=Q1)


def test_what_a_form_says_of_its_one_field_is_part_of_the_question() -> None:
    field: Json = {"type": "boolean", "description": "Deletes every backup"}
    truth = (Choice(label="Yes"), Choice(label="No"))
    assert question(in_turn(), sure=field) == asked(
        Question(text="Which?", choices=truth), above="Deletes every backup"
    )


@pytest.mark.parametrize(
    ("answer", "content"),
    [
        (Choose(option="Red"), {"colour": "r"}),
        (Reply(answers={"Which?": "teal"}), {"colour": "teal"}),
        (Reply(answers={"Which?": ["Red"]}), {"colour": "r"}),
    ],
)
def test_a_question_takes_a_choice_or_own_words(answer: Answer, content: Json) -> None:
    play = in_turn()
    question(play)
    play.reply(Q1, answer)
    assert play.frames[-1] == answered(**content)


def test_own_words_go_into_the_field_that_the_form_has_for_them() -> None:
    play = in_turn()
    assert question(play, q=COLOURS, q_custom={"type": "string", "title": "Other"}) == asked(
        Question(text="Which?", header="Colour", choices=CHOICES)
    )
    play.reply(Q1, Reply(answers={"Which?": "teal"}))
    assert play.frames[-1] == answered(q_custom="teal")


@pytest.mark.parametrize(
    ("answer", "result"),
    [
        (Reply(answers={"Which?": "Yes"}), {"action": "accept", "content": {}}),
        (Choose(option="Yes"), {"action": "accept", "content": {}}),
        (Reply(answers={"Which?": "No"}), {"action": "decline"}),
        (Reply(answers={"Which?": "later"}), {"action": "decline", "_meta": {"footplate": {"message": "later"}}}),
        (Decline(), {"action": "decline"}),
    ],
)
def test_a_form_without_fields_asks_for_yes_or_no(answer: Answer, result: Json) -> None:
    play = in_turn()
    schema = {"type": "object", "properties": {}}
    (opened,) = play.request(6, "elicitation/create", mode="form", message="Which?", requestedSchema=schema)
    assert isinstance(opened, RequestOpened)
    assert opened.request.questions == (Question(text="Which?", choices=(Choice(label="Yes"), Choice(label="No"))),)
    assert opened.request.description == ""
    play.reply(Q1, answer)
    assert play.frames[-1] == {"jsonrpc": "2.0", "id": 6, "result": result}


def test_a_form_with_several_fields_is_several_questions() -> None:
    play = in_turn()
    fields: dict[str, Json] = {
        "many": {"type": "array", "title": "Many", "items": {"enum": ["x", "y"]}},
        "titled": {"type": "array", "title": "Titled", "items": {"anyOf": [{"const": "1", "title": "One"}]}},
        "count": {"type": "integer", "description": "How many?"},
        "share": {"type": "number"},
        "sure": {"type": "boolean", "title": "Sure"},
        "plain": {"type": "string", "title": "Plain", "enum": ["p"]},
    }
    assert question(play, **fields) == asked(
        Question(text="Many", header="Many", choices=(Choice(label="x"), Choice(label="y")), multiple=True),
        Question(text="Titled", header="Titled", choices=(Choice(label="One"),), multiple=True),
        Question(text="How many?"),
        Question(text="share"),
        Question(text="Sure", header="Sure", choices=(Choice(label="Yes"), Choice(label="No"))),
        Question(text="Plain", header="Plain", choices=(Choice(label="p"),)),
        above="Which?",
    )
    answers: dict[str, str | list[str]] = {
        "Many": ["x", "y"],
        "Titled": "One",
        "How many?": "3",
        "share": "0.5",
        "Sure": "Yes",
        "Plain": "p",
    }
    play.reply(Q1, Reply(answers=answers))
    assert play.frames[-1] == answered(many=["x", "y"], titled=["1"], count=3, share=0.5, sure=True, plain="p")


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (Reply(answers={"What?": "x"}), "question: 'What?' cannot be used; expected one of 'Which?'"),
        (Reply(answers={"Which?": "many"}), "answer: 'many' cannot be used; expected a whole number"),
        (Allow(), "answer: 'allow' cannot be used; expected a reply to the questions, or decline"),
    ],
)
def test_a_reply_that_does_not_fit_is_refused(answer: Answer, message: str) -> None:
    play = in_turn()
    question(play, count={"type": "integer"})
    with pytest.raises(InvalidValue) as refused:
        play.command(AnswerRequest(key="a", request=Q1, answer=answer))
    assert str(refused.value) == message


@pytest.mark.parametrize("answer", [Decline(message="no time"), Deny(message="no time")])
def test_a_question_can_be_declined(answer: Answer) -> None:
    play = in_turn()
    question(play)
    play.reply(Q1, answer)
    assert play.frames[-1] == {
        "jsonrpc": "2.0",
        "id": 6,
        "result": {"action": "decline", "_meta": {"footplate": {"message": "no time"}}},
    }


def test_a_question_of_a_call_fills_its_detail() -> None:
    play = in_turn()
    play.update(call("c2", name="AskUserQuestion", title="Which?", status="pending"))
    schema = {"type": "object", "properties": {"colour": COLOURS}}
    play.request(6, "elicitation/create", mode="form", message="Which?", toolCallId="c2", requestedSchema=schema)
    play.reply(Q1, Reply(answers={"Which?": "Blue"}))
    assert play.update(progress("c2", status="completed")) == [
        RequestApplied(request=Q1),
        ToolEnded(
            call=ToolCallId("c2"),
            ok=True,
            outcome="completed",
            detail=QuestionDetail(
                questions=(Question(text="Which?", header="Colour", choices=CHOICES),), answers={"Which?": "Blue"}
            ),
        ),
    ]


def test_an_interrupt_cancels_an_open_question() -> None:
    play = in_turn()
    question(play)
    play.command(Interrupt(key="i"))
    assert play.frames[-2] == {"jsonrpc": "2.0", "id": 6, "result": {"action": "cancel"}}
    question(play)
    assert play.frames[-1] == {"jsonrpc": "2.0", "id": 6, "result": {"action": "cancel"}}


def test_a_question_of_another_kind_than_a_form_is_declined() -> None:
    play = in_turn()
    assert play.request(6, "elicitation/create", mode="url", message="Go there") == [
        Notice(
            level="warning",
            text="a question was declined, because it is of the kind 'url': Go there",
            code="question_declined",
        )
    ]
