"""A limit that asks: the question, what its answers mean, and the limits that follow. Pure.

It is a request of the session itself, of the kind `question`, so that every surface can show and answer it. What was
used up may grow by the size of the limit as it was set at first, by an amount of the person's own, or not at all.
"""

from __future__ import annotations

import math
import re
from typing import Final, Literal

import msgspec

from footplate.errors import InvalidValue
from footplate.events.ids import RequestId
from footplate.events.model import LimitReached
from footplate.events.requests import Allow, Answer, Choose, Decline, Deny, Reply, Request, RequestOption
from footplate.events.rules import meaning
from footplate.events.tools import Choice, Question
from footplate.events.view import SessionView
from footplate.events.wording import format_count, format_duration, format_money
from footplate.runtime.limits import Limits, Spent
from footplate.runtime.spec import SessionSpec

GO_ON: Final = "The limit that stopped you was raised. Go on where you stopped."
STOP: Final = "Stop here"
NUMBER: Final = re.compile(r"\$?\s*(\d+(?:\.\d+)?)")

Field = Literal["cost_usd", "turns", "seconds", "tool_calls"]
FIELDS: Final[dict[str, Field]] = {"money": "cost_usd", "turns": "turns", "time": "seconds", "tool_calls": "tool_calls"}
OTHER_TIME: Final = "for another amount, type a number of seconds"


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """What the question is about: the limit's value then, how much more is offered, whether a turn was cut short."""

    value: float
    more: float
    cut: bool = False


def limit_request(name: RequestId, limit: LimitReached, spec: SessionSpec, *, cut: bool) -> Request:
    """The question whether the session may go on."""
    field = FIELDS[limit.kind]
    value = getattr(spec.limits, field) or 0
    more = getattr(spec.steps or spec.limits, field) or value
    text = f"The limit of {_amount(field, value)} is reached: {limit.text}. Go on?"
    go_on = f"Go on with {_amount(field, more)} more"
    about = OTHER_TIME if field == "seconds" else ""
    choices = (Choice(label=go_on, description=about), Choice(label=STOP))
    return Request(
        id=name,
        kind="question",
        title=text,
        limit=limit.kind,
        input=msgspec.Raw(msgspec.json.encode(Asked(value=value, more=more, cut=cut))),
        questions=(Question(text=text, header="Limit", choices=choices, multiple=False),),
        options=(
            RequestOption(id="go_on", label=go_on, kind="allow_once", means=Allow()),
            RequestOption(id="stop", label=STOP, kind="deny", means=Deny()),
        ),
    )


def asked_about(request: Request) -> Asked:
    """What a question of ours was about."""
    return msgspec.json.decode(request.input or b"", type=Asked)


def open_limit_requests(view: SessionView) -> list[Request]:
    """The questions about limits that wait for an answer."""
    return [each.request for each in view.requests if each.request.limit and each.state == "open"]


def read_answer(request: Request, answer: Answer) -> float | None:
    """How much more the session may use; None when it is to stop. Raises `InvalidValue` for anything else."""
    offered = asked_about(request).more
    match meaning(request, answer):
        case Allow():
            return offered
        case Deny() | Decline():
            return None
        case Reply(answers=answers):
            given = next(iter(answers.values()), "")
            return _read_words(request, given if isinstance(given, str) else ", ".join(given), offered)
        case Choose(option=option):
            raise InvalidValue("option", option, "one of go_on, stop")


def _read_words(request: Request, text: str, offered: float) -> float | None:
    go_on, stop = (choice.label for choice in request.questions[0].choices)
    if text in (go_on, stop):
        return offered if text == go_on else None
    number = NUMBER.fullmatch(text.strip())
    if number is None or float(number[1]) <= 0:
        raise InvalidValue("answer", text, f"{go_on!r}, {stop!r}, or how much more, as a number")
    return float(number[1])


def raised(spec: SessionSpec, kind: str, spent: Spent, more: float) -> SessionSpec:
    """The session with so much more to use than it has used; what it was opened with stays the step."""
    field = FIELDS[kind]
    value = max(getattr(spec.limits, field) or 0, getattr(spent, field)) + more
    counted = field in ("turns", "tool_calls")
    limits = msgspec.structs.replace(spec.limits, **{field: math.ceil(value) if counted else value})
    return msgspec.structs.replace(spec, limits=limits, steps=spec.steps or spec.limits)


def in_words(limits: Limits, kind: str) -> str:
    """A limit as it is now."""
    field = FIELDS[kind]
    return _amount(field, getattr(limits, field) or 0)


def _amount(field: Field, value: float) -> str:
    match field:
        case "cost_usd":
            return format_money(value)
        case "seconds":
            return format_duration(value)
        case "turns":
            return format_count(math.ceil(value), "turn")
        case "tool_calls":
            return format_count(math.ceil(value), "tool call")
