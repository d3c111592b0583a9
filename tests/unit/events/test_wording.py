"""The words for facts: the service's functions and the page's twins on the same table."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from footplate.events import wording
from footplate.events.requests import Answer, Request
from tests.page_program import bundle_function, call_page

CASES: dict[str, list[dict[str, Any]]] = json.loads(
    (Path(__file__).parents[2] / "fixtures" / "events" / "wording.json").read_text()
)
IMPORTED = """
import {
  formatAge, formatBytes, formatChanges, formatCost, formatShare, formatSpan, formatTextSize, formatTokens,
} from "../src/ui/format";
import { describeAnswer, describeAnswerer, describeEnding } from "../src/ui/requests/answer_words";

const PAGE = {
  money: formatCost,
  odd_money: (words) => formatCost(Number(words)),
  duration: formatSpan,
  age: (seconds) => formatAge(1_800_000_000 - seconds, 1_800_000_000_000),
  share: ([used, size]) => formatShare(used, size),
  tokens: formatTokens,
  size: formatBytes,
  text_size: formatTextSize,
  changes: ([added, removed]) => formatChanges(added, removed),
  answerer: ([by, surface]) => describeAnswerer(by, surface),
  ending: ([state, reason]) => describeEnding(state, reason),
  answer: ({ answer, request, by, surface }) => describeAnswer(answer, request, by, surface),
};
"""


def _describe_answer(given: dict[str, Any]) -> str:
    request = given["request"]
    asked = msgspec.convert({"id": "r", "title": "x", **request}, Request) if request is not None else None
    answer = msgspec.json.decode(json.dumps(given["answer"]), type=Answer)
    return wording.describe_answer(answer, asked, by=given.get("by", ""), surface=given.get("surface", ""))


OURS: dict[str, Callable[[Any], str]] = {
    "money": wording.format_money,
    "odd_money": lambda words: wording.format_money(float(words)),
    "duration": wording.format_duration,
    "age": wording.format_age,
    "share": lambda given: wording.format_share(*given),
    "tokens": wording.format_tokens,
    "size": wording.format_size,
    "text_size": wording.describe_text_size,
    "changes": lambda given: wording.format_changes(*given),
    "answerer": lambda given: wording.describe_answerer(*given),
    "ending": lambda given: wording.describe_ending(*given),
    "answer": _describe_answer,
}


@pytest.mark.parametrize("fact", CASES)
def test_each_fact_has_one_form(fact: str) -> None:
    assert [OURS[fact](case["given"]) for case in CASES[fact]] == [case["words"] for case in CASES[fact]]


def test_the_page_has_the_same_forms(tmp_path: Path) -> None:
    program = bundle_function("wording", IMPORTED, "PAGE[given[0]](given[1])", tmp_path)
    asked = [(fact, case["given"]) for fact, cases in CASES.items() for case in cases]
    expected = [case["words"] for cases in CASES.values() for case in cases]
    assert call_page(program, asked) == expected
