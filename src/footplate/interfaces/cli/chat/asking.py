"""A request as a dialogue: shown once, then keys or typed lines in, at last an answer out. Pure."""

from __future__ import annotations

import json
from typing import Final, Literal

import msgspec

from footplate.events.inputs import READ, InputParts, change_request, split_input
from footplate.events.requests import Allow, Answer, Decline, Deny, Reply, Request
from footplate.events.rules import lasting_option, session_meaning, takes_changed_input
from footplate.events.tools import Question
from footplate.events.wording import describe_text_size
from footplate.interfaces.cli.chat.diff import render_changes
from footplate.interfaces.cli.chat.text import Line, fit, shorten, visible_lines
from footplate.interfaces.cli.lines import exact_line, one_line, visible

Stage = Literal["key", "rule", "mode", "refusal", "revision", "words"]
LONG_INPUT: Final = 30
LONG_TEXT: Final = 2000
"""An input of more lines or characters than this ends with its size."""
MOST_CHANGED: Final = 8
MOST_COLUMNS: Final = 400
"""So much of a changed input is shown: lines, and columns of each."""
PROMPTS: Final[dict[Stage, str]] = {
    "refusal": "words for the agent, or none; Enter denies, Esc goes back",
    "revision": "what should be different? Enter sends, Esc goes back",
    "words": "your answer in your own words; Enter sends, Esc goes back",
}


class Give(msgspec.Struct, frozen=True):
    """The answer is found."""

    answer: Answer


class EditInput(msgspec.Struct, frozen=True):
    """The person wants to change this JSON in an editor; `Dialogue.edited` takes it back."""

    text: str

    @property
    def line(self) -> str:
        """The same JSON on one line, for a chat without an editor: nothing in a string is lost or invisible."""
        compact = msgspec.json.format(self.text, indent=-1)
        return "".join(char if visible(char) == char else json.dumps(char)[1:-1] for char in compact)


class Stay(msgspec.Struct, frozen=True):
    """More is needed; the lines say what."""

    lines: tuple[Line, ...] = ()


class Pass(msgspec.Struct, frozen=True):
    """It has nothing to do with the request."""


Step = Give | EditInput | Stay | Pass


def request_lines(request: Request, *, indent: int = 0) -> list[Line]:
    """The request in full, as it is shown once."""
    who = f" (agent {one_line(request.agent)})" if request.agent else ""
    if request.kind == "question":
        return request_body(request, indent=indent)
    head = f"{one_line(request.tool) or 'the agent'} asks: {one_line(request.title)}"
    title = "the plan of the agent" if request.kind == "plan" else head
    body = request_body(request, indent=indent + 1)
    return [Line(f"? {title}{who}", "warning", indent), *body, *_key_lines(request, indent + 1)]


def _key_lines(request: Request, indent: int) -> list[Line]:
    """What keys grant beyond the one call."""
    lines = [Line("p allows exactly this for the session", "dim", indent)] if request.plan_prompt else []
    if session := session_meaning(request):
        lines.append(Line(f"s is, for this session only: {exact_line(session)}", "dim", indent))
    if (option := lasting_option(request)) is not None:
        lines.append(Line(f"a is, for the agent: {exact_line(option.label)}", "dim", indent))
    return lines


def request_body(request: Request, *, indent: int = 0) -> list[Line]:
    """What a person has to see before an answer: all of it, with hidden characters visible."""
    match request.kind:
        case "question":
            several = enumerate(request.questions)
            about = visible_lines(request.description, indent=indent) if request.description else []
            return about + [line for number, each in several for line in _question(request, number, each, indent)]
        case "plan":
            return _plan_lines(request, indent)
        case "permission":
            return _permission_lines(request, indent)


def _plan_lines(request: Request, indent: int) -> list[Line]:
    file = [Line(f"in {exact_line(request.plan_file)}", "dim", indent)] if request.plan_file else []
    asks = [Line(f"asks to allow: {exact_line(each)}", "dim", indent) for each in request.allowed_prompts]
    return [*visible_lines(request.plan, indent=indent), *file, *asks]


def _permission_lines(request: Request, indent: int) -> list[Line]:
    lines = visible_lines(request.description, "dim", indent=indent) if request.description else []
    lines += [Line(one_line(request.reason), "dim", indent)] if request.reason else []
    lines += [Line(f"outside: {exact_line(request.blocked_path)}", "dim", indent)] if request.blocked_path else []
    lines += input_lines(split_input(request), indent)
    if request.rerun:
        lines.append(Line("this very call was allowed before; whether it ran is not known", "warning", indent))
    if request.plan_prompt:
        prompt = one_line(request.plan_prompt)
        lines.append(Line(f"the agent describes it as what the plan asked for: {prompt}", "dim", indent))
    return lines


def _question(request: Request, number: int, question: Question, indent: int) -> list[Line]:
    several = f" ({number + 1} of {len(request.questions)})" if len(request.questions) > 1 else ""
    kind = " - several may be chosen" if question.multiple else ""
    lines = [Line(f"? {one_line(question.text)}{several}{kind}", "warning", indent)]
    for index, choice in enumerate(question.choices, 1):
        about = f" - {one_line(choice.description)}" if choice.description else ""
        lines.append(Line(f"{index} {exact_line(choice.label)}{about}", "", indent + 1))
        lines += visible_lines(choice.preview, "dim", indent=indent + 2) if choice.preview else []
    return lines


def input_lines(parts: InputParts, indent: int) -> list[Line]:
    """The command, the changes and every other field of the input; a long one ends with its size."""
    lines = _field_lines("command", parts.command, indent) if parts.command else []
    lines += render_changes(parts.changes, indent=indent)
    lines += [line for field in parts.fields for line in _field_lines(field.name, field.text, indent)]
    text = parts.text
    if len(lines) > LONG_INPUT or len(text) > LONG_TEXT:
        lines.append(Line(describe_text_size(text), "dim", indent))
    return lines


def changed_lines(request: Request | None, answer: Answer, *, indent: int = 0) -> list[Line]:
    """The input that an answer gave instead of what was asked, in short: the page shows all of it."""
    changed = change_request(request, answer, "answered") if request is not None else None
    if changed is None:
        return []
    lines = shorten(input_lines(split_input(changed), indent), MOST_CHANGED)
    return [msgspec.structs.replace(line, text=fit(line.text, MOST_COLUMNS)) for line in lines]


def _field_lines(name: str, text: str, indent: int) -> list[Line]:
    first, *rest = visible_lines(f"{name}: {text}", indent=indent)
    return [first, *(Line(line.text, "", indent + 1) for line in rest)]


def _pretty(request: Request) -> str:
    """The tool's input as JSON over several lines."""
    return msgspec.json.format(bytes(request.input or b"{}"), indent=2).decode()


class Dialogue:
    """One open request and how far its answer has come."""

    def __init__(self, request: Request, modes: tuple[str, ...] = ()) -> None:
        self.request = request
        self.modes = tuple(mode for mode in modes if mode != "plan")
        self.stage: Stage = "key"
        self.sent = False
        self._replies: dict[str, str | list[str]] = {}
        self._chosen: set[int] = set()

    # ------------------------------------------------------------------------------------------- showing

    @property
    def wants_text(self) -> bool:
        """Whether a whole line is wanted and not a key."""
        return self.stage in PROMPTS

    def hint(self) -> str:
        """What can be done now."""
        if self.sent:
            return "answered, waiting for the agent"
        if self.stage in PROMPTS:
            return PROMPTS[self.stage]
        if self.stage in ("rule", "mode"):
            return "a number chooses, Esc goes back"
        if self.request.kind == "plan":
            granting = " · p approve and allow what it asks for" if self.request.allowed_prompts else ""
            return f"y approve{granting} · m approve and choose a mode · r revise · x stop"
        if self.request.kind == "question":
            return self._question_hint()
        exactly = " · p exactly this" if self.request.plan_prompt else ""
        session = " · s session" if session_meaning(self.request) else ""
        edit = " · e edit" if takes_changed_input(self.request) else ""
        return f"y once{session}{exactly} · a always{edit} · n deny · x deny and stop"

    def _question_hint(self) -> str:
        question = self.question
        number = f"question {len(self._replies) + 1} of {len(self.request.questions)}: "
        shown = number if len(self.request.questions) > 1 else ""
        if not question.choices:
            return f"{shown}t type an answer · d decline"
        if question.multiple:
            marked = " ".join(str(index) for index in sorted(self._chosen)) or "none"
            return f"{shown}numbers mark ({marked}) · Enter sends · t own words · d decline"
        return f"{shown}a number chooses · t own words · d decline"

    @property
    def question(self) -> Question:
        """The question that is asked now."""
        return self.request.questions[min(len(self._replies), len(self.request.questions) - 1)]

    # -------------------------------------------------------------------------------------------- keys

    def press(self, key: str) -> Step:
        """One key on an empty line: a character, `enter` or `escape`."""
        if key == "escape":
            self.stage = "key"
            return Stay()
        if self.wants_text or self.sent:
            return Pass()
        if self.stage == "rule":
            return self._rule(key)
        if self.stage == "mode":
            return self._mode(key)
        if self.request.kind == "question":
            return self._press_question(key)
        return self._press_plan(key) if self.request.kind == "plan" else self._press_permission(key)

    def _press_permission(self, key: str) -> Step:
        match key:
            case "y":
                return Give(Allow())
            case "s" if not session_meaning(self.request):
                return Stay((Line("this agent has no way to allow it for the session", "dim", 1),))
            case "s":
                return Give(Allow(scope="session"))
            case "p" if self.request.plan_prompt:
                return Give(Allow(scope="exact"))
            case "a":
                return self._always()
            case "e" if not takes_changed_input(self.request):
                return Stay((Line("this agent cannot take a changed input; n denies it with words", "dim", 1),))
            case "e":
                return EditInput(_pretty(self.request))
            case "n":
                return self._enter("refusal")
            case "x":
                return Give(Deny(interrupt=True))
            case _:
                return Pass()

    def _press_plan(self, key: str) -> Step:
        match key:
            case "y":
                return Give(Allow())
            case "p" if self.request.allowed_prompts:
                return Give(Allow(prompts=tuple(range(len(self.request.allowed_prompts)))))
            case "m" if self.modes:
                self.stage = "mode"
                return Stay(tuple(Line(f"{index} {mode}", "", 1) for index, mode in enumerate(self.modes, 1)))
            case "r" | "n":
                return self._enter("revision")
            case "x":
                return Give(Deny(interrupt=True))
            case _:
                return Pass()

    def _press_question(self, key: str) -> Step:
        question = self.question
        if key == "d":
            return Give(Decline())
        if key == "t":
            return self._enter("words")
        if key == "enter" and question.multiple and self._chosen:
            return self._reply([question.choices[index - 1].label for index in sorted(self._chosen)])
        if not (key.isdecimal() and 1 <= int(key) <= len(question.choices)):
            return Pass()
        if question.multiple:
            self._chosen ^= {int(key)}
            return Stay()
        return self._reply(question.choices[int(key) - 1].label)

    def _enter(self, stage: Stage) -> Step:
        self.stage = stage
        return Stay()

    def _always(self) -> Step:
        suggestions = self.request.suggestions
        if suggestions:
            self.stage = "rule"
            return Stay(
                tuple(
                    Line(f"{index} {exact_line(each.label)} -> {each.destination or 'as the agent says'}", "", 1)
                    for index, each in enumerate(suggestions, 1)
                )
            )
        if lasting_option(self.request) is not None:
            return Give(Allow(scope="always"))
        session = "; s allows it for this session" if session_meaning(self.request) else ""
        return Stay((Line(f"the agent proposes no lasting rule{session}", "dim", 1),))

    def _rule(self, key: str) -> Step:
        suggestions = self.request.suggestions
        if not (key.isdecimal() and 1 <= int(key) <= len(suggestions)):
            return Stay((Line(f"a number from 1 to {len(suggestions)}", "dim", 1),))
        index = int(key) - 1
        lasting: Literal["session", "always"] = "session" if suggestions[index].destination == "session" else "always"
        return Give(Allow(scope=lasting, suggestion=index))

    def _mode(self, key: str) -> Step:
        if key in self.modes:
            return Give(Allow(mode=key))
        if key.isdecimal() and 1 <= int(key) <= len(self.modes):
            return Give(Allow(mode=self.modes[int(key) - 1]))
        return Stay((Line(f"one of {', '.join(self.modes)}", "dim", 1),))

    def _reply(self, given: str | list[str]) -> Step:
        self._replies[self.question.text] = given
        self._chosen = set()
        self.stage = "key"
        if len(self._replies) < len(self.request.questions):
            return Stay()
        return Give(Reply(answers=dict(self._replies)))

    # ------------------------------------------------------------------------------------------- lines

    def write(self, text: str) -> Step:
        """A whole line where one is wanted."""
        text = text.strip()
        match self.stage:
            case "refusal":
                return Give(Deny(message=text))
            case "revision":
                return Give(Deny(message=text)) if text else Stay((Line("say what should be different", "dim", 1),))
            case "words":
                return self._reply(text) if text else Stay((Line("an answer, or Esc and d to decline", "dim", 1),))
            case _:
                return Pass()

    def edited(self, text: str) -> Step:
        """The input as it came back from the editor."""
        try:
            value = READ.decode(text)
        except msgspec.DecodeError as problem:
            return Stay((Line(f"that is not JSON ({problem}); nothing was answered", "failed", 1),))
        if not isinstance(value, dict):
            return Stay((Line("a tool's input is an object; nothing was answered", "failed", 1),))
        changed = msgspec.json.encode(value)
        if self.request.input is not None and changed == msgspec.json.encode(READ.decode(self.request.input)):
            return Stay((Line("unchanged; y allows it as it is", "dim", 1),))
        return Give(Allow(updated_input=msgspec.Raw(changed)))

    def read(self, line: str) -> Step:
        """A whole line where lines are all there is: a letter, with words behind it if need be."""
        if self.wants_text:
            return self.write(line)
        word, _, rest = line.strip().partition(" ")
        if self.request.kind == "question":
            return self._read_question(line.strip(), word, rest.strip())
        return self._read_letter(word, rest.strip())

    def _read_letter(self, word: str, rest: str) -> Step:
        step = self.press(word)
        if isinstance(step, EditInput) and rest:
            return self.edited(rest)
        if isinstance(step, Stay) and self.stage in ("rule", "mode") and rest:
            return self.press(rest)
        if isinstance(step, Stay) and self.stage in ("refusal", "revision") and (rest or self.stage == "refusal"):
            return self.write(rest)
        if isinstance(step, Pass):
            return Stay((Line(self.hint(), "dim"),))
        return step

    def _read_question(self, line: str, word: str, rest: str) -> Step:
        question = self.question
        if word == "t" and rest:
            return self._reply(rest)
        if line == "d":
            return Give(Decline())
        numbers = line.replace(",", " ").split()
        if question.choices and numbers and all(number.isdecimal() for number in numbers):
            if not all(1 <= int(number) <= len(question.choices) for number in numbers):
                return Stay((Line(f"numbers from 1 to {len(question.choices)}", "dim"),))
            labels = [question.choices[int(number) - 1].label for number in numbers]
            if not question.multiple and len(labels) > 1:
                return Stay((Line("one number", "dim"),))
            return self._reply(labels if question.multiple else labels[0])
        return self._reply(line) if line else Stay((Line(self.hint(), "dim"),))
