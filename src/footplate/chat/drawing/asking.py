"""A request as one message with its buttons, and as what is left of it once it has ended. Pure."""

from __future__ import annotations

from typing import Final

import msgspec

from footplate.chat.drawing.diff import draw_diff
from footplate.chat.drawing.markdown import render_markdown
from footplate.chat.drawing.rich import Rich, concat, join, plain, span, split, trim
from footplate.chat.drawing.words import answer_words, flat, shorten
from footplate.chat.model import Button, Content, Keyboard
from footplate.chat.reading.asking import ACCEPT_EDITS, Dialogue, current_question
from footplate.chat.reading.presses import Sealer
from footplate.events.requests import Request
from footplate.events.tools import CommandDetail, FileChangeDetail, Question, ToolDetail
from footplate.events.view import RequestView

MOST_TEXT: Final = 3300
MOST_VALUE: Final = 1200
TICKS: Final = {True: "☑ ", False: "☐ "}


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """A request with all that its message needs."""

    view: RequestView
    detail: ToolDetail | None = None
    engine: str = ""
    modes: tuple[str, ...] = ()
    dialogue: Dialogue = Dialogue()
    title: str = ""
    """The session's, where a chat has several."""

    @property
    def request(self) -> Request:
        """What is asked."""
        return self.view.request


def is_long_plan(request: Request) -> bool:
    """Whether the plan does not fit into the message and comes as a file, too."""
    return request.kind == "plan" and len(request.plan) > MOST_TEXT


def draw_plan(plan: str, limit: int) -> tuple[Content, ...]:
    """The whole plan as messages, where it cannot be a file."""
    return tuple(Content(text=part.text, entities=part.entities) for part in split(render_markdown(plan), limit))


def draw_request(asked: Asked, sealer: Sealer) -> Content:
    """The message: with buttons while it is open, with what became of it afterwards."""
    body = {"question": _question, "plan": _plan, "permission": _permission}[asked.request.kind](asked)
    if asked.view.state == "open":
        hint = plain(_hint(asked))
        rich = join("\n\n", (_header(asked), trim(body, MOST_TEXT), hint))
        return Content(text=rich.text, entities=rich.entities, keyboard=_keyboard(asked, sealer))
    rich = join("\n\n", (_header(asked), trim(body, MOST_TEXT), _ending(asked.view)))
    return Content(text=rich.text, entities=rich.entities)


def _header(asked: Asked) -> Rich:
    words = {"permission": "permission", "question": "question", "plan": "plan"}[asked.request.kind]
    who = [asked.engine, *([f"agent {asked.request.agent}"] if asked.request.agent else [])]
    who += [flat(asked.title)] if asked.title else []
    return concat(span("bold", words), plain(" · " + " · ".join(each for each in who if each)))


def _hint(asked: Asked) -> str:
    if asked.dialogue.stage == "words":
        what = "your answer" if asked.request.kind == "question" else "what should be different"
        what = "the reason" if asked.request.kind == "permission" else what
        return f"Reply to this message with {what}."
    if asked.view.detached:
        return "The agent is not running now; your answer wakes it."
    return ""


def _ending(view: RequestView) -> Rich:
    if view.answer is not None:
        by = f" by {flat(view.answered_by)}" if view.answered_by else ""
        where = f" on {flat(view.answered_from)}" if view.answered_from else ""
        verdict = span("bold", shorten(answer_words(view.answer), 600))
        state = plain(f"\nThe agent refused the answer: {flat(view.reason)}") if view.state == "rejected" else Rich()
        return concat(verdict, plain(f"{by}{where}"), state)
    words = {"withdrawn": "no longer asked", "unanswered": "expired: nobody answered"}.get(view.state, view.state)
    return span("bold", f"{words}{f' ({flat(view.reason)})' if view.reason else ''}")


# ------------------------------------------------------------------------------------------------ the kinds


def _permission(asked: Asked) -> Rich:
    request = asked.request
    parts = [concat(plain(f"{flat(request.tool) or 'the agent'}: "), span("code", shorten(flat(request.title), 200)))]
    parts += [plain(flat(text)) for text in (request.description, request.reason) if text not in ("", request.title)]
    parts += [plain(f"outside: {flat(request.blocked_path)}")] if request.blocked_path else []
    parts.append(_input(asked))
    if request.rerun:
        parts.append(plain("This very call was allowed before, and nobody knows whether it ran."))
    if request.suggestions:
        first = request.suggestions[0]
        parts.append(plain(f"For session: {flat(first.allows or first.label)}"))
    return join("\n", parts)


def _input(asked: Asked) -> Rich:
    """What is allowed must be seen: the command, the diff, or the input field by field."""
    detail = asked.detail
    if isinstance(detail, FileChangeDetail) and detail.changes:
        return draw_diff(detail)
    if isinstance(detail, CommandDetail) and detail.command:
        return span("pre", shorten(detail.command, 2500), language="bash")
    try:
        fields = msgspec.json.decode(asked.request.input or b"{}", type=dict[str, msgspec.Raw])
    except msgspec.DecodeError:
        return span("pre", shorten(bytes(asked.request.input or b"").decode(), 2500))
    return join("\n", (_field(name, raw) for name, raw in fields.items()))


def _field(name: str, raw: msgspec.Raw) -> Rich:
    value = msgspec.json.decode(raw)
    text = shorten(value if isinstance(value, str) else bytes(raw).decode(), MOST_VALUE)
    return join("\n" if "\n" in text else " ", (plain(f"{name}:"), span("pre" if "\n" in text else "code", text)))


def _plan(asked: Asked) -> Rich:
    request = asked.request
    file = plain("The whole plan is above.") if is_long_plan(request) else Rich()
    asks = [plain(f"asks to allow: {flat(each)}") for each in request.allowed_prompts]
    return join("\n\n", (render_markdown(shorten(request.plan, MOST_TEXT - 300)), join("\n", asks), file))


def _question(asked: Asked) -> Rich:
    request, dialogue = asked.request, asked.dialogue
    if asked.view.state != "open":
        return join("\n", (plain(flat(each.text)) for each in request.questions))
    now = current_question(request, dialogue)
    question = request.questions[now]
    several = f" ({now + 1} of {len(request.questions)})" if len(request.questions) > 1 else ""
    kind = " - several may be chosen" if question.multiple else ""
    before = [
        plain(f"{flat(text)} {given if isinstance(given, str) else ', '.join(given)}")
        for text, given in dialogue.replies.items()
    ]
    title = concat(span("bold", flat(question.text)), plain(several + kind))
    return join("\n", (*before, title, *(_choice(choice.label, choice.description) for choice in question.choices)))


def _choice(label: str, description: str) -> Rich:
    return concat(plain("- "), plain(flat(label)), plain(f": {flat(description)}" if description else ""))


# -------------------------------------------------------------------------------------------------- buttons


def _keyboard(asked: Asked, sealer: Sealer) -> Keyboard:
    match asked.request.kind:
        case "permission":
            rows = _permission_rows(asked.request)
        case "plan":
            edits = [("Approve + accept edits", "e")] if ACCEPT_EDITS in asked.modes else []
            rows = [[("Approve", "p")], edits, [("Revise…", "w"), ("Stop", "x")]]
        case "question":
            rows = _question_rows(asked.request, asked.dialogue)
    return tuple(tuple(_button(sealer, asked.request, text, choice) for text, choice in row) for row in rows if row)


def _button(sealer: Sealer, request: Request, text: str, choice: str) -> Button:
    return sealer.button(text, "r", request.id, choice)


def _permission_rows(request: Request) -> list[list[tuple[str, str]]]:
    lasting = [
        (f"Always: {shorten(flat(each.label), 40)}", f"a{number}")
        for number, each in enumerate(request.suggestions[:3])
        if each.destination != "session"
    ]
    if not request.suggestions and any(option.kind == "allow_always" for option in request.options):
        lasting = [("Always", "a0")]
    first = [("Allow once", "o"), ("Allow for session", "s")]
    return [first, *([each] for each in lasting), [("Deny", "d"), ("Deny with reason…", "w")]]


def _question_rows(request: Request, dialogue: Dialogue) -> list[list[tuple[str, str]]]:
    now = current_question(request, dialogue)
    question: Question = request.questions[now]
    rows = [
        [(_tick(question, dialogue, index) + flat(choice.label), f"c{now}.{index}")]
        for index, choice in enumerate(question.choices)
    ]
    done = [("Done", f"n{now}")] if question.multiple else []
    return [*rows, [*done, ("Other…", f"t{now}"), ("Decline", "z")]]


def _tick(question: Question, dialogue: Dialogue, index: int) -> str:
    return TICKS[index in dialogue.chosen] if question.multiple else ""
