"""A limit that asks: what is asked, what each answer means, and by how much it grows."""

from __future__ import annotations

import pytest

from footplate.errors import InvalidValue
from footplate.events.ids import RequestId
from footplate.events.model import LimitKind
from footplate.events.requests import Allow, Answer, Choose, Decline, Deny, Reply, Request
from footplate.runtime.limit_requests import asked_about, in_words, limit_request, raised, read_answer
from footplate.runtime.limits import Limits, Spent, reached, told
from footplate.runtime.spec import SessionSpec

LIMITS = Limits(cost_usd=0.5, turns=3, seconds=60.0, tool_calls=10, on_reached="ask")
SPEC = SessionSpec(engine="mock", cwd="/work", limits=LIMITS)


def _request(kind: LimitKind = "money", spec: SessionSpec = SPEC, *, cut: bool = False) -> Request:
    return limit_request(RequestId("r"), told(kind, "enough"), spec, cut=cut)


@pytest.mark.parametrize(
    ("kind", "question", "offer"),
    [
        ("money", "The limit of $0.50 is reached: enough. Go on?", "Go on with $0.50 more"),
        ("turns", "The limit of 3 turns is reached: enough. Go on?", "Go on with 3 turns more"),
        ("time", "The limit of 1m 00s is reached: enough. Go on?", "Go on with 1m 00s more"),
        ("tool_calls", "The limit of 10 tool calls is reached: enough. Go on?", "Go on with 10 tool calls more"),
    ],
)
def test_it_is_a_question_that_every_surface_can_ask(kind: LimitKind, question: str, offer: str) -> None:
    request = _request(kind)
    assert (request.kind, request.limit) == ("question", kind)
    (asked,) = request.questions
    assert asked.text == question
    assert [choice.label for choice in asked.choices] == [offer, "Stop here"]
    assert [option.id for option in request.options] == ["go_on", "stop"]


@pytest.mark.parametrize(
    ("kind", "value", "amount"),
    [
        ("money", 1, "$1.00"),
        ("money", 1_500_000, "$1,500,000.00"),
        ("turns", 1, "1 turn"),
        ("turns", 1_500_000, "1,500,000 turns"),
        ("time", 1, "1s"),
        ("time", 1_500_000, "17d 08h"),
        ("tool_calls", 1, "1 tool call"),
        ("tool_calls", 1_500_000, "1,500,000 tool calls"),
    ],
)
def test_amounts_read_as_everywhere_else(kind: LimitKind, value: int, amount: str) -> None:
    limits = Limits(cost_usd=value, turns=value, seconds=value, tool_calls=value, on_reached="ask")
    request = _request(kind, SessionSpec(engine="mock", cwd="/work", limits=limits))
    assert request.title == f"The limit of {amount} is reached: enough. Go on?"
    assert request.questions[0].choices[0].label == f"Go on with {amount} more"


def test_who_types_another_time_is_told_in_what_unit() -> None:
    (go_on, _) = _request("time").questions[0].choices
    assert go_on.description == "for another amount, type a number of seconds"
    assert _request("turns").questions[0].choices[0].description == ""


@pytest.mark.parametrize(
    ("limits", "spent", "said"),
    [
        (Limits(turns=1), Spent(turns=1), "1 of 1 turn used"),
        (Limits(turns=1500), Spent(turns=1501), "1,501 of 1,500 turns used"),
        (Limits(tool_calls=1), Spent(tool_calls=1), "1 of 1 tool call used"),
    ],
)
def test_what_is_used_up_is_counted_in_words(limits: Limits, spent: Spent, said: str) -> None:
    limit = reached(limits, spent)
    assert limit is not None
    assert limit.text == said


def test_it_knows_whether_a_turn_was_cut_short() -> None:
    assert asked_about(_request(cut=True)).cut
    assert not asked_about(_request()).cut


@pytest.mark.parametrize(
    ("answer", "more"),
    [
        (Reply(answers={"?": "Go on with $0.50 more"}), 0.5),
        (Reply(answers={"?": ["Go on with $0.50 more"]}), 0.5),
        (Reply(answers={"?": "Stop here"}), None),
        (Reply(answers={"?": "2"}), 2.0),
        (Reply(answers={"?": "$1.25"}), 1.25),
        (Allow(), 0.5),
        (Choose(option="go_on"), 0.5),
        (Choose(option="stop"), None),
        (Deny(), None),
        (Decline(), None),
    ],
)
def test_an_answer_says_how_much_more_or_stop(answer: Answer, more: float | None) -> None:
    assert read_answer(_request(), answer) == more


@pytest.mark.parametrize(
    "answer",
    [
        Reply(answers={"?": "as much as you like"}),
        Reply(answers={"?": "0"}),
        Reply(answers={"?": "-3"}),
        Reply(answers={}),
        Choose(option="perhaps"),
    ],
)
def test_anything_else_is_no_answer(answer: Answer) -> None:
    with pytest.raises(InvalidValue):
        read_answer(_request(), answer)


def test_a_limit_grows_from_what_is_used_and_by_the_same_step_each_time() -> None:
    once = raised(SPEC, "money", Spent(cost_usd=0.9), 0.5)
    assert once.limits.cost_usd == pytest.approx(1.4)
    assert asked_about(_request(spec=once)).more == 0.5
    twice = raised(once, "turns", Spent(turns=3), 2)
    assert (twice.limits.turns, twice.steps) == (5, LIMITS)
    assert raised(SPEC, "tool_calls", Spent(tool_calls=12), 0.5).limits.tool_calls == 13
    assert raised(SPEC, "time", Spent(seconds=1.0), 30).limits.seconds == 90
    assert in_words(once.limits, "money") == "$1.40"
    assert in_words(Limits(cost_usd=0.01), "money") == "$0.01"
