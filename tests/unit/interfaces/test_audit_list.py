"""What `footplate audit list` shows of a record: the words of every surface, and what was changed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from footplate.events.ids import SessionId
from footplate.events.requests import Answer, Request
from footplate.events.wording import describe_answer
from footplate.interfaces.cli.audit import Fields
from footplate.runtime.audit import Principal, record_answer

TABLE: list[dict[str, Any]] = json.loads(
    (Path(__file__).parents[2] / "fixtures" / "events" / "wording.json").read_text()
)["answer"]
INPUT = {"command": "rm -rf build", "description": "Clean up", "timeout": 5}


def listed(request: dict[str, Any], answer: dict[str, Any], **who: str) -> Fields:
    asked = msgspec.json.decode(
        json.dumps({"id": "r", "title": "rm -rf build", "tool": "Bash", "input": INPUT, **request}), type=Request
    )
    given = msgspec.json.decode(json.dumps(answer), type=Answer)
    body = record_answer(1.0, SessionId("s"), asked, given, Principal(**who))
    return msgspec.json.decode(body, type=Fields)


@pytest.mark.parametrize(
    "case", [case for case in TABLE if case["given"]["request"] is not None], ids=lambda case: case["words"]
)
def test_an_answer_reads_as_on_every_other_surface(case: dict[str, Any]) -> None:
    given = case["given"]
    fields = listed(given["request"], given["answer"])
    request = msgspec.convert({"id": "r", "title": "x", **given["request"]}, Request)
    words = describe_answer(msgspec.json.decode(json.dumps(given["answer"]), type=Answer), request)
    assert fields.describe_answer() == words
    if not given.get("by") and not given.get("surface"):
        assert words == case["words"]
    assert fields.subject().startswith(f"{words} · Bash rm -rf build")


@pytest.mark.parametrize(
    ("changed", "shown"),
    [
        ({**INPUT, "command": "ls"}, 'changed to command "ls"'),
        ({"command": "ls", "timeout": 9}, 'changed to command "ls", timeout 9, no description'),
        (INPUT, "changed to the same"),
        ({**INPUT, "command": "x" * 500}, f'changed to command "{"x" * 199}…'),
    ],
)
def test_a_changed_input_is_shown(changed: object, shown: str) -> None:
    fields = listed({"kind": "permission"}, {"type": "allow", "updated_input": changed})
    assert fields.subject() == f"allowed with edits · Bash rm -rf build · {shown}"


@pytest.mark.parametrize("answer", [b'{"type":"later"}', b'"allow"', b"7"])
def test_an_answer_that_is_not_known_is_still_listed(answer: bytes) -> None:
    fields = msgspec.json.decode(b'{"act":"answer","tool":"Bash","title":"ls","answer":%s}' % answer, type=Fields)
    assert fields.subject() == "answered · Bash ls"


def test_an_option_of_which_only_the_label_was_recorded_is_shown_by_it() -> None:
    body = (
        b'{"act":"answer","kind":"plan","title":"A plan","answer":{"type":"choose","option":"a"},"chosen":"Yes, all"}'
    )
    assert msgspec.json.decode(body, type=Fields).subject() == "chose: Yes, all · A plan"


def test_a_token_that_was_issued_is_told_from_a_name() -> None:
    asked, answer = {"kind": "permission"}, {"type": "allow"}
    assert listed(asked, answer, by="operator").who() == "operator"
    assert listed(asked, answer, by="operator", token="01M7PN8D5JANG1RSG721A8NWTG").who() == "operator #A8NWTG"
    assert listed(asked, answer, by="o" * 50, token="01M7PN8D5JANG1RSG721A8NWTG").who() == f"{'o' * 15}… #A8NWTG"
