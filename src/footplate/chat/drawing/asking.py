"""A request as one message with its buttons, and as what is left of it once it has ended. Pure."""

from __future__ import annotations

import re
from typing import Final

import msgspec

from footplate.chat.drawing.diff import draw_changes
from footplate.chat.drawing.markdown import render_markdown
from footplate.chat.drawing.rich import Rich, concat, join, plain, span, split, trim, units
from footplate.chat.drawing.words import shorten
from footplate.chat.model import Button, Content, Keyboard
from footplate.chat.reading.asking import ACCEPT_EDITS, Dialogue, current_question
from footplate.chat.reading.presses import Sealer
from footplate.events.content import ImageBlock
from footplate.events.inputs import InputField, InputParts, change_request, split_input
from footplate.events.requests import Request
from footplate.events.rules import lasting_option, session_meaning
from footplate.events.tools import Choice, Question
from footplate.events.view import RequestView
from footplate.events.visible import show_exact, show_hidden, show_line
from footplate.events.wording import describe_answer, describe_ending, describe_text_size

MOST_TEXT: Final = 3300
MOST_PLAN: Final = 3000
MOST_COMMAND: Final = 2000
MOST_LINES: Final = 60
MOST_VALUE: Final = 1200
MOST_ENDING: Final = 600
"""How much of each is shown where not all of it has room; then the message says so."""
FENCE: Final = re.compile(r"^\s*(?:`{3,}|~{3,})\s*\S*\s*$", re.MULTILINE)
"""The first or last line of a block of code; a chat shows the language itself."""
TICKS: Final = {True: "☑ ", False: "☐ "}


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """A request with all that its message needs."""

    view: RequestView
    engine: str = ""
    modes: tuple[str, ...] = ()
    dialogue: Dialogue = Dialogue()
    title: str = ""
    """The session's, where a chat has several."""
    link: str = ""
    """The address of the session on the page, where it is known."""
    room: int = MOST_TEXT
    """How many units the body may have."""

    @property
    def request(self) -> Request:
        """What is asked."""
        return self.view.request


def is_long_plan(request: Request) -> bool:
    """Whether the plan does not fit into the message and comes before it, whole."""
    return request.kind == "plan" and len(show_hidden(request.plan)) > MOST_PLAN


def draw_plan(plan: str, limit: int) -> tuple[Content, ...]:
    """The whole plan as messages, where it cannot be a file."""
    parts = split(_render_plan(plan), limit)
    return tuple(Content(text=part.text, entities=part.entities) for part in parts)


def draw_request(asked: Asked, sealer: Sealer) -> Content:
    """The message: with buttons while it is open, with what became of it afterwards.

    What has no room is cut, and the message says how much there is and where to see it: nobody allows what they could
    not know of.
    """
    if asked.view.state == "open":
        rich = join("\n\n", (_header(asked), _body(asked), plain(_hint(asked))))
        return Content(text=rich.text, entities=rich.entities, keyboard=_keyboard(asked, sealer))
    changed = _changed(asked)
    body = _body(msgspec.structs.replace(asked, room=max(asked.room - MOST_ENDING - units(changed.text), 0)))
    rich = join("\n\n", (_header(asked), body, _ending(asked.view), changed))
    return Content(text=rich.text, entities=rich.entities)


def _body(asked: Asked) -> Rich:
    """All of it where there is room; else the beginning of each part, and a note."""
    draw = {"question": _question, "plan": _plan, "permission": _permission}[asked.request.kind]
    text = split_input(asked.request).text if asked.request.kind == "permission" else ""
    if len(text) <= asked.room:
        whole = draw(asked, whole=True)
        text = text or whole.text
        if units(whole.text) <= asked.room:
            return join("\n\n", (whole, plain(_picture_note(asked))))
    return join("\n\n", (trim(draw(asked, whole=False), asked.room), plain(_cut_note(asked, text))))


def _picture_note(asked: Asked) -> str:
    """Where a picture can be seen, which the message only describes."""
    pictured = any(isinstance(block, ImageBlock) for block in asked.request.content)
    return f"⚠ a picture is not shown here; see it: {asked.link or 'on the web page'}" if pictured else ""


def _cut_note(asked: Asked, text: str) -> str:
    """How large the whole is, and where it can be seen."""
    request, size = asked.request, describe_text_size(text)
    page = asked.link or "on the web page"
    where = f"see it whole: {page} or `footplate requests show {request.id}`"
    return f"⚠ cut: {size} in all; {'the whole plan is above' if is_long_plan(request) else where}"


def _header(asked: Asked) -> Rich:
    words = {"permission": "permission", "question": "question", "plan": "plan"}[asked.request.kind]
    who = [asked.engine, *([f"agent {show_line(asked.request.agent)}"] if asked.request.agent else [])]
    who += [shorten(show_line(asked.title), 100)] if asked.title else []
    return concat(span("bold", words), plain(" · " + " · ".join(each for each in who if each)))


def _hint(asked: Asked) -> str:
    if asked.dialogue.stage == "words":
        what = "your answer" if asked.request.kind == "question" else "what should be different"
        what = "the reason" if asked.request.kind == "permission" else what
        return f"Reply to this message with {what}."
    if asked.view.detached:
        return "The agent is not running now; your answer wakes it."
    return ""


def _changed(asked: Asked) -> Rich:
    """What runs instead of what was asked, where the answer changed it."""
    changed = change_request(asked.request, asked.view.answer, asked.view.state)
    if changed is None:
        return plain("")
    parts = split_input(changed)
    shown = _input(parts, whole=len(parts.text) <= MOST_ENDING)
    head = plain(f"It runs with this input ({describe_text_size(parts.text)}):")
    return trim(join("\n", (head, shown)), MOST_ENDING)


def _ending(view: RequestView) -> Rich:
    ended = shorten(describe_ending(view.state, view.reason), MOST_ENDING // 2)
    if view.answer is None:
        return span("bold", ended or view.state)
    said = describe_answer(view.answer, view.request, by=view.answered_by, surface=view.answered_from)
    return join("\n", (span("bold", shorten(said, MOST_ENDING // 2)), plain(ended)))


# ------------------------------------------------------------------------------------------------ the kinds


def _permission(asked: Asked, *, whole: bool) -> Rich:
    request = asked.request
    tool = show_line(request.tool) or "the agent"
    parts = [concat(plain(f"{tool}: "), span("code", _cut(show_line(request.title), 200, whole=whole)))]
    told = [text for text in (request.description, request.reason) if text not in ("", request.title)]
    parts += [plain(_cut(show_hidden(text), MOST_VALUE, whole=whole)) for text in told]
    parts += [plain(f"outside: {show_exact(request.blocked_path)}")] if request.blocked_path else []
    if request.rerun:
        parts.append(plain("This very call was allowed before, and nobody knows whether it ran."))
    # the input is last: where it is cut, nothing else is
    return join("\n", (*parts, *_lasting(request), _input(split_input(request), whole=whole)))


def _lasting(request: Request) -> list[Rich]:
    """What the buttons that last would allow, in full: a button has little room."""
    session = session_meaning(request)
    first = [f"For session: {show_exact(session)}"] if session else []
    always = [f"Always: {show_exact(each.label)}" for each in request.suggestions[:3] if each.destination != "session"]
    option = lasting_option(request)
    always += [f"Always: {show_exact(option.label)}"] if option is not None else []
    return [plain(words) for words in (*first, *always)]


def _input(parts: InputParts, *, whole: bool) -> Rich:
    """What is allowed must be seen: the command, the changes of files, every other field."""
    drawn = []
    if parts.command:
        drawn.append(span("pre", _cut(show_hidden(parts.command), MOST_COMMAND, whole=whole), language="bash"))
    if parts.changes:
        drawn.append(draw_changes(parts.changes, None if whole else MOST_LINES))
    drawn += [_field(field, whole=whole) for field in parts.fields]
    return join("\n", drawn)


def _field(field: InputField, *, whole: bool) -> Rich:
    text = _cut(show_hidden(field.text), MOST_VALUE, whole=whole)
    lines = "\n" in text
    return join("\n" if lines else " ", (plain(f"{show_line(field.name)}:"), span("pre" if lines else "code", text)))


def _cut(text: str, most: int, *, whole: bool) -> str:
    return text if whole else shorten(text, most)


def _plan(asked: Asked, *, whole: bool) -> Rich:
    request = asked.request
    asks = [plain(f"asks to allow: {show_exact(each)}") for each in request.allowed_prompts]
    return join("\n\n", (join("\n", asks), _render_plan(request.plan, None if whole else MOST_PLAN)))


def _render_plan(plan: str, most: int | None = None) -> Rich:
    """The plan formatted; as it is written where formatting would leave out words, or an entity hides a character."""
    shown = show_hidden(plan)
    text = shown if most is None else shorten(shown, most)
    formatted = render_markdown(text)
    return formatted if _says_all(text, formatted.text) else plain(text)


def _says_all(source: str, shown: str) -> bool:
    """Whether every word of a source is in what is shown of it, in this order, and nothing that cannot be seen."""
    words = iter(re.findall(r"\w+", shown))
    return all(word in words for word in re.findall(r"\w+", FENCE.sub("", source))) and show_hidden(shown) == shown


def _question(asked: Asked, *, whole: bool) -> Rich:
    request, dialogue = asked.request, asked.dialogue
    if asked.view.state != "open":
        return join("\n", (plain(show_line(each.text)) for each in request.questions))
    now = current_question(request, dialogue)
    question = request.questions[now]
    several = f" ({now + 1} of {len(request.questions)})" if len(request.questions) > 1 else ""
    kind = " - several may be chosen" if question.multiple else ""
    before = [
        plain(f"{show_line(text)} {show_line(given if isinstance(given, str) else ', '.join(given))}")
        for text, given in dialogue.replies.items()
    ]
    title = concat(span("bold", show_line(question.text)), plain(several + kind))
    about = plain(_cut(show_hidden(request.description), MOST_VALUE, whole=whole))
    return join("\n", (about, *before, title, *(_choice(choice, whole=whole) for choice in question.choices)))


def _choice(choice: Choice, *, whole: bool) -> Rich:
    about = f": {show_line(choice.description)}" if choice.description else ""
    preview = _cut(show_hidden(choice.preview), MOST_VALUE, whole=whole)
    return join("\n", (plain(f"- {show_exact(choice.label)}{about}"), span("pre", preview)))


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
        (f"Always: {shorten(show_exact(each.label), 40)}", f"a{number}")
        for number, each in enumerate(request.suggestions[:3])
        if each.destination != "session"
    ]
    if lasting_option(request) is not None:
        lasting = [("Always", "a0")]
    first = [("Allow once", "o"), *([("Allow for session", "s")] if session_meaning(request) else [])]
    return [first, *([each] for each in lasting), [("Deny", "d"), ("Deny with reason…", "w")]]


def _question_rows(request: Request, dialogue: Dialogue) -> list[list[tuple[str, str]]]:
    now = current_question(request, dialogue)
    question: Question = request.questions[now]
    rows = [
        [(_tick(question, dialogue, index) + show_exact(choice.label), f"c{now}.{index}")]
        for index, choice in enumerate(question.choices)
    ]
    done = [("Done", f"n{now}")] if question.multiple else []
    return [*rows, [*done, ("Other…", f"t{now}"), ("Decline", "z")]]


def _tick(question: Question, dialogue: Dialogue, index: int) -> str:
    return TICKS[index in dialogue.chosen] if question.multiple else ""
