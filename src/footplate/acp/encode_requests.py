"""What an agent of ours asks of a client's person: a request as ACP asks it, and the answer back. Pure.

A permission and a plan are a `session/request_permission`. Questions are a form (`elicitation/create`) where the client
has forms, or the older transport's own request; else each is a permission request with one option per choice, one after
the other.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from footplate.acp.encode_tools import ToolEncoder
from footplate.acp.meta import read_meta
from footplate.acp.profile import Profile
from footplate.acp.schema.asking import (
    CreateElicitationRequest,
    CreateElicitationResponse,
    ElicitationPropertySchema,
    ElicitationSchema,
    EnumOption,
    MultiSelectItems,
    PermissionOption,
    RequestPermissionRequest,
    RequestPermissionResponse,
)
from footplate.acp.wire import Wire
from footplate.events.ids import SessionId
from footplate.events.requests import Allow, Answer, Choose, Decline, Deny, OptionKind, Reply, Request
from footplate.events.rules import session_meaning
from footplate.events.tools import Choice, Question
from footplate.events.visible import show_exact, show_hidden, show_line

PERMISSION: Final = "session/request_permission"
ELICITATION: Final = "elicitation/create"
QUESTION: Final = "_sandboxagent/session/request_question"
SESSION_RULE: Final = "footplate-allow-session"
SKIP: Final = "footplate-skip"
IN_CHAT: Final = "footplate-answer-in-chat"
CUSTOM: Final = "_custom"
NO_ANSWER: Final = "The question could not be shown to the person, who has not declined it."
WORDS_FOLLOW: Final = "The person will answer in their next message; wait for it."

KINDS: Final[dict[OptionKind, str]] = {
    "allow_once": "allow_once",
    "allow_session": "allow_always",
    "allow_always": "allow_always",
    "deny": "reject_once",
    "other": "allow_once",
}
"""Kinds of options on the wire. There is none for "deny and stop": a client cancels the turn for that."""


class WireChoice(Wire, frozen=True, kw_only=True):
    """One option of a question in `request_question`."""

    label: str
    description: str | None = None


class WireQuestion(Wire, frozen=True, kw_only=True):
    """One question in `request_question`."""

    id: str
    question: str
    header: str | None = None
    options: tuple[WireChoice, ...]
    multi_select: bool


class QuestionRequest(Wire, frozen=True, kw_only=True):
    """Parameters of `_sandboxagent/session/request_question`."""

    session_id: str
    request_id: str
    tool_call_id: str | None = None
    questions: tuple[WireQuestion, ...]


class QuestionResponse(Wire, frozen=True, kw_only=True):
    """`answered` with answers by the questions' ids, `rejected`, or `cancelled`."""

    outcome: str
    answers: dict[str, str | tuple[str, ...]] | None = None
    message: str = ""


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """One question on its way to the client. `question` counts those that are asked one after the other."""

    request: Request
    method: str
    params: object
    question: int = 0
    answers: Mapping[str, str | list[str]] = {}


class Unanswered(msgspec.Struct, frozen=True):
    """The client will not answer: it cancelled, or could not show the question (`failed`)."""

    reason: str
    failed: bool = False


Outcome = Answer | Asked | Unanswered
"""What comes of a response: an answer, the next question, or none."""


def ask(session: SessionId, request: Request, profile: Profile, tools: ToolEncoder) -> Asked:
    """The first thing to ask the client for this request."""
    if request.kind == "question" and request.questions:
        if profile.forms:
            return Asked(request=request, method=ELICITATION, params=_form(session, request))
        if profile.questions:
            return Asked(request=request, method=QUESTION, params=_questions(session, request))
        return _ask_choice(session, request, tools, 0, {})
    params = RequestPermissionRequest(session_id=session, tool_call=tools.asked(request), options=_options(request))
    return Asked(request=request, method=PERMISSION, params=params)


def take(session: SessionId, asked: Asked, result: msgspec.Raw, tools: ToolEncoder) -> Outcome:
    """What a client's response means. Raises `msgspec.ValidationError` for one that is not as ACP says."""
    if asked.method == ELICITATION:
        return _take_form(asked.request, msgspec.json.decode(result, type=CreateElicitationResponse))
    if asked.method == QUESTION:
        return _take_questions(asked.request, msgspec.json.decode(result, type=QuestionResponse))
    response = msgspec.json.decode(result, type=RequestPermissionResponse)
    outcome = response.outcome
    if outcome.outcome != "selected" or outcome.option_id is None:
        return Unanswered("the client cancelled the question")
    if asked.request.kind == "question" and asked.request.questions:
        return _take_choice(session, asked, outcome.option_id, tools)
    if outcome.option_id == SESSION_RULE:
        return Allow(scope="session")
    ours = read_meta(response.meta).footplate
    if ours is not None and ours.message and _is_denial(asked.request, outcome.option_id):
        return Deny(message=ours.message)
    return Choose(option=outcome.option_id)


# -------------------------------------------------------------------------------------------- permissions


def _options(request: Request) -> tuple[PermissionOption, ...]:
    """The engine's own options, and an "always" of ours where it has none: we keep the rule for the session."""
    options = [
        PermissionOption(option_id=option.id, name=show_exact(option.label), kind=KINDS[option.kind])
        for option in request.options
        if option.kind in KINDS
    ]
    what = session_meaning(request)
    if what and not any(option.kind == "allow_always" for option in options):
        name = f"Allow for this session: {show_exact(what)}"
        always = PermissionOption(option_id=SESSION_RULE, name=name, kind="allow_always")
        place = next((at for at, option in enumerate(options) if option.kind.startswith("reject")), len(options))
        options.insert(place, always)
    return tuple(options)


def _is_denial(request: Request, option: str) -> bool:
    return any(each.id == option and each.kind == "deny" for each in request.options)


# ---------------------------------------------------------------------------------------------- questions


def _form(session: SessionId, request: Request) -> CreateElicitationRequest:
    fields: dict[str, ElicitationPropertySchema] = {}
    alone = len(request.questions) == 1
    for index, question in enumerate(request.questions):
        fields[f"question_{index}"] = _field(question, alone=alone)
        if question.choices:
            fields[f"question_{index}{CUSTOM}"] = ElicitationPropertySchema(
                type="string", title="Other", description="An answer in your own words, instead of a choice (optional)."
            )
    message = show_hidden(request.questions[0].text if alone else request.title) or "The agent has questions."
    if request.description and show_hidden(request.description) != message:
        message = f"{message}\n\n{show_hidden(request.description)}"
    return CreateElicitationRequest(
        mode="form",
        message=message,
        session_id=session,
        tool_call_id=request.call,
        requested_schema=ElicitationSchema(type="object", properties=fields),
    )


def _field(question: Question, *, alone: bool) -> ElicitationPropertySchema:
    title = show_line(question.header) or None
    words = None if alone else show_hidden(question.text)
    if not question.choices:
        return ElicitationPropertySchema(type="string", title=title, description=words)
    choices = tuple(
        EnumOption(const=choice.label, title=show_exact(choice.label), description=_about(choice))
        for choice in question.choices
    )
    if question.multiple:
        items = MultiSelectItems(any_of=choices)
        return ElicitationPropertySchema(type="array", title=title, description=words, items=items)
    return ElicitationPropertySchema(type="string", title=title, description=words, one_of=choices)


def _about(choice: Choice) -> str | None:
    """What the agent says of a choice, with the preview that it shows."""
    return "\n\n".join(show_hidden(text) for text in (choice.description, choice.preview) if text) or None


def _take_form(request: Request, response: CreateElicitationResponse) -> Outcome:
    if response.action == "decline":
        return Decline()
    if response.action != "accept":
        return Unanswered("the client cancelled the form")
    content = response.content or {}
    answers: dict[str, str | list[str]] = {}
    for index, question in enumerate(request.questions):
        own = content.get(f"question_{index}{CUSTOM}")
        given = own if own not in (None, "") else content.get(f"question_{index}")
        if given is None or given == "":
            continue
        answers[question.text] = list(given) if isinstance(given, tuple) else str(given)
    return Reply(answers=answers) if answers else Decline()


def _questions(session: SessionId, request: Request) -> QuestionRequest:
    return QuestionRequest(
        session_id=session,
        request_id=request.id,
        tool_call_id=request.call,
        questions=tuple(
            WireQuestion(
                id=f"question_{index}",
                question=question.text,
                header=question.header or None,
                options=tuple(
                    WireChoice(label=choice.label, description=_about(choice)) for choice in question.choices
                ),
                multi_select=question.multiple,
            )
            for index, question in enumerate(request.questions)
        ),
    )


def _take_questions(request: Request, response: QuestionResponse) -> Outcome:
    if response.outcome == "rejected":
        return Decline(message=response.message)
    if response.outcome != "answered":
        return Unanswered("the client cancelled the questions")
    given = response.answers or {}
    answers: dict[str, str | list[str]] = {}
    for index, question in enumerate(request.questions):
        value = given.get(f"question_{index}", given.get(question.text))
        if value:
            answers[question.text] = list(value) if isinstance(value, tuple) else value
    return Reply(answers=answers) if answers else Decline()


def _ask_choice(
    session: SessionId, request: Request, tools: ToolEncoder, index: int, answers: Mapping[str, str | list[str]]
) -> Asked:
    """One question as a permission request: an option per choice."""
    question = request.questions[index]
    options = [
        PermissionOption(option_id=f"choice-{place}", name=show_exact(choice.label), kind="allow_once")
        for place, choice in enumerate(question.choices)
    ]
    options += [
        PermissionOption(option_id=IN_CHAT, name="Answer in my next message", kind="reject_once"),
        PermissionOption(option_id=SKIP, name="Skip", kind="reject_once"),
    ]
    call = msgspec.structs.replace(tools.asked(request), title=show_hidden(question.text))
    params = RequestPermissionRequest(session_id=session, tool_call=call, options=tuple(options))
    return Asked(request=request, method=PERMISSION, params=params, question=index, answers=answers)


def _take_choice(session: SessionId, asked: Asked, option: str, tools: ToolEncoder) -> Outcome:
    if option == IN_CHAT:
        return Decline(message=WORDS_FOLLOW)
    question = asked.request.questions[asked.question]
    labels = {f"choice-{place}": choice.label for place, choice in enumerate(question.choices)}
    answers = {**asked.answers}
    if option in labels:
        answers[question.text] = labels[option]
    if asked.question + 1 < len(asked.request.questions):
        return _ask_choice(session, asked.request, tools, asked.question + 1, answers)
    return Reply(answers=answers) if answers else Decline()
