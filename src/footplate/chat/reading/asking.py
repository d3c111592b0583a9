"""A request answered by buttons and replies: a press or a reply in, an answer or the next stage out. Pure.

Choices in a press: `o` once, `s` session, `a0` always by suggestion 0, `d` deny, `w` deny with words, `x` deny and
stop; plans `p` approve, `e` approve and accept edits, `w` revise; questions `c0.1` choice 1 of question 0, `n0` done,
`t0` other, `z` decline.
"""

from __future__ import annotations

import re
from typing import Final, Literal

import msgspec

from footplate.events.requests import Allow, Answer, Decline, Deny, Reply, Request
from footplate.events.tools import Question

ACCEPT_EDITS: Final = "acceptEdits"
CHOICE: Final = re.compile(r"c(\d+)\.(\d+)")
NUMBERED: Final = re.compile(r"([ant])(\d+)")


class Dialogue(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How far the answer to one request has come; kept in the store."""

    replies: dict[str, str | list[str]] = {}
    chosen: tuple[int, ...] = ()
    stage: Literal["", "words"] = ""
    """`words`: the next reply to the message is the reason, or the answer in own words."""


class Hint(msgspec.Struct, frozen=True):
    """It cannot be meant; the text says why."""

    text: str


Step = Answer | Dialogue | Hint


def current_question(request: Request, dialogue: Dialogue) -> int:
    """The number of the question that is asked now."""
    return min(len(dialogue.replies), max(len(request.questions) - 1, 0))


def press(request: Request, dialogue: Dialogue, choice: str) -> Step:
    """A button was pressed."""
    if request.kind == "question":
        return _press_question(request, dialogue, choice)
    match choice:
        case "o" | "p":
            return Allow()
        case "s":
            return Allow(scope="session")
        case "e":
            return Allow(mode=ACCEPT_EDITS)
        case "d":
            return Deny()
        case "x":
            return Deny(interrupt=True)
        case "w":
            return msgspec.structs.replace(dialogue, stage="words")
        case _:
            return _always(request, choice)


def _always(request: Request, choice: str) -> Step:
    found = NUMBERED.fullmatch(choice)
    if found is None or found[1] != "a":
        return Hint("this button means nothing here")
    number = int(found[2])
    if number >= len(request.suggestions):
        return Allow(scope="always")
    session = request.suggestions[number].destination == "session"
    return Allow(scope="session" if session else "always", suggestion=number)


def _press_question(request: Request, dialogue: Dialogue, choice: str) -> Step:
    if choice == "z":
        return Decline()
    now = current_question(request, dialogue)
    question = request.questions[now]
    chosen, numbered = CHOICE.fullmatch(choice), NUMBERED.fullmatch(choice)
    if chosen is not None and int(chosen[1]) == now and int(chosen[2]) < len(question.choices):
        return _choose(request, dialogue, question, int(chosen[2]))
    if numbered is not None and int(numbered[2]) == now:
        if numbered[1] == "t":
            return msgspec.structs.replace(dialogue, stage="words")
        if numbered[1] == "n":
            labels = [question.choices[index].label for index in dialogue.chosen]
            return _replied(request, dialogue, labels) if labels else Hint("choose at least one first")
    return Hint("that question is answered already")


def _choose(request: Request, dialogue: Dialogue, question: Question, index: int) -> Step:
    if question.multiple:
        chosen = tuple(sorted(set(dialogue.chosen) ^ {index}))
        return msgspec.structs.replace(dialogue, chosen=chosen)
    return _replied(request, dialogue, question.choices[index].label)


def _replied(request: Request, dialogue: Dialogue, given: str | list[str]) -> Step:
    question = request.questions[current_question(request, dialogue)]
    replies = {**dialogue.replies, question.text: given}
    return Reply(answers=replies) if len(replies) >= len(request.questions) else Dialogue(replies=replies)


def reply(request: Request, dialogue: Dialogue, text: str) -> Step:
    """Somebody replied to the request's message in words: a reason, or an answer of their own."""
    if not text.strip():
        return Hint("write some words")
    if request.kind == "question":
        return _replied(request, dialogue, text.strip())
    return Deny(message=text.strip())
