"""What a permission is about, in parts: the service's function and the page's twin on the same table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import get_args

import msgspec
import pytest

from footplate.events.ids import RequestId
from footplate.events.inputs import InputParts, change_request, split_input
from footplate.events.requests import Allow, Answer, Request, RequestState
from footplate.events.wording import describe_text_size
from tests.page_program import bundle_function, call_page, run_lines


class Case(msgspec.Struct):
    """A request as the service sends it, and its parts."""

    name: str
    request: msgspec.Raw
    command: str
    changes: int
    fields: list[list[str]]


CASES = msgspec.json.decode(
    (Path(__file__).parents[2] / "fixtures" / "events" / "inputs.json").read_bytes(), type=list[Case]
)
IMPORTED = """
import { inputText, splitInput } from "../src/ui/requests/input_parts";

const parts = (request) => {
  const found = splitInput(request);
  const fields = found.fields.map(({ name, text }) => [name, text]);
  return { command: found.command, changes: found.changes.length, fields, text: inputText(found) };
};
"""


def _request(**given: object) -> Request:
    whole = {"id": "r", "kind": "permission", "title": "x", **given}
    return msgspec.json.decode(json.dumps(whole), type=Request)


def _parts(case: Case) -> InputParts:
    given = msgspec.json.decode(case.request, type=dict[str, msgspec.Raw])
    needed = {"id": "r", "kind": "permission", "title": "x"}
    return split_input(msgspec.json.decode(msgspec.json.encode({**needed, **given}), type=Request))


def _told(case: Case) -> dict[str, object]:
    parts = _parts(case)
    fields = [[field.name, field.text] for field in parts.fields]
    return {"command": parts.command, "changes": len(parts.changes), "fields": fields}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_each_case_of_the_table(case: Case) -> None:
    assert _told(case) == {"command": case.command, "changes": case.changes, "fields": case.fields}


def test_the_page_has_the_same_parts(tmp_path: Path) -> None:
    program = bundle_function("inputs", IMPORTED, "parts(given)", tmp_path)
    for case, theirs in zip(CASES, run_lines(program, [bytes(case.request) for case in CASES]), strict=True):
        assert theirs == {**_told(case), "text": _parts(case).text}, case.name


@pytest.mark.parametrize("field", ["input", "detail", "description", "reason", "blocked_path", "content", "options"])
def test_the_page_gives_one_answer_only_to_requests_that_show_the_same(tmp_path: Path, field: str) -> None:
    program = bundle_function(
        "same", 'import { sameAsked } from "../src/ui/requests/asked";', "sameAsked(...given)", tmp_path
    )
    one = {"id": "r1", "kind": "permission", "title": "Send", field: "one"}
    assert call_page(program, [[one, {**one, "id": "r2"}], [one, {**one, "id": "r2", field: "another"}]]) == [
        True,
        False,
    ]


@pytest.mark.parametrize("kind", ["command", "file_change", "mcp"])
def test_what_runs_with_an_edited_input_is_the_same_on_the_page(tmp_path: Path, kind: str) -> None:
    details = {
        "command": {"kind": kind, "command": "touch wrong"},
        "file_change": {"kind": kind, "changes": [{"path": "/w/a", "new_text": "wrong"}]},
        "mcp": {"kind": kind, "server": "s", "tool": "t"},
    }
    given = {"id": "r", "kind": "permission", "title": "x", "detail": details[kind], "input": {"command": "wrong"}}
    answer = {"type": "allow", "updated_input": {"path": "/w/a", "content": "right", "command": "touch right"}}
    changed = change_request(
        msgspec.json.decode(msgspec.json.encode(given), type=Request),
        msgspec.json.decode(msgspec.json.encode(answer), type=Answer),
        "applied",
    )
    assert changed is not None
    parts = split_input(changed)
    told = [*([parts.command] if parts.command else []), *(field.text for field in parts.fields)]
    assert sorted(told) == ["/w/a", "right", "touch right"]
    assert parts.changes == ()
    imported = IMPORTED + 'import { changeRequest } from "../src/ui/requests/input_parts";'
    program = bundle_function("changed", imported, "parts(changeRequest(...given))", tmp_path)
    fields = [[field.name, field.text] for field in parts.fields]
    expected = {"command": parts.command, "changes": 0, "fields": fields, "text": parts.text}
    assert call_page(program, [[given, answer, "applied"]]) == [expected]
    assert change_request(changed, Allow(), "applied") is None


def test_an_input_is_said_to_run_only_where_the_agent_has_not_refused_it(tmp_path: Path) -> None:
    given = Request(id=RequestId("r"), kind="permission", title="x", input=msgspec.Raw(b"{}"))
    answer = Allow(updated_input=msgspec.Raw(b'{"command":"ls"}'))
    states = get_args(RequestState)
    runs = [state for state in states if change_request(given, answer, state) is not None]
    assert runs == ["answered", "applied"]
    program = bundle_function(
        "runs",
        'import { changeRequest } from "../src/ui/requests/input_parts";',
        "changeRequest(...given) !== null",
        tmp_path,
    )
    plain = [msgspec.json.decode(msgspec.json.encode(each)) for each in (given, answer)]
    assert call_page(program, [[*plain, state] for state in states]) == [state in runs for state in states]


def test_the_page_sends_an_edited_input_with_the_numbers_as_they_are_written(tmp_path: Path) -> None:
    imported = 'import { writeJson } from "../src/api/json";'
    program = bundle_function("edited", imported, "writeJson({ updated_input: readJson(given, true) })", tmp_path)
    edited = '{"a":[12345678901234567890,1e400,1.0,"1.0"],"b\\"":{"c":-1.50},"d":"\\\\","e":2.0}'
    assert call_page(program, [edited, "1.0"]) == [f'{{"updated_input":{edited}}}', '{"updated_input":1.0}']


def test_the_page_takes_an_object_alone_for_an_edited_input(tmp_path: Path) -> None:
    imported = (
        'import { readEdited } from "../src/ui/requests/input_parts"; import { writeJson } from "../src/api/json";'
    )
    program = bundle_function("read_edited", imported, "writeJson(readEdited(given))", tmp_path)
    refused = ["1.0", "1e400", "1", '"text"', "[1.0]", "true", "null", "", '{"a":']
    assert call_page(program, [*refused, '{"a":1.0}', "{}"]) == [*["null"] * len(refused), '{"a":1.0}', "{}"]


def test_an_input_that_cannot_be_read_is_shown_as_it_is() -> None:
    broken = Request(id=RequestId("r"), kind="permission", title="x", input=msgspec.Raw(b'{"a": '))
    assert [(field.name, field.text) for field in split_input(broken).fields] == [("input", '{"a": ')]


def test_an_input_that_is_nested_too_deep_is_shown_as_it_is() -> None:
    for depth in (300, 600, 5000):
        text = '{"a":' * depth + "1" + "}" * depth
        deep = Request(id=RequestId("r"), kind="permission", title="x", input=msgspec.Raw(text.encode()))
        shown = split_input(deep).text
        assert shown.count('"a"') >= depth - 1


def test_the_size_of_an_input_is_that_of_its_texts() -> None:
    content = "x = 1\n" * 1321
    request = _request(
        input={"file_path": "/a", "content": content},
        detail={"kind": "file_change", "changes": [{"path": "/a", "new_text": content}]},
    )
    assert describe_text_size(split_input(request).text) == "1,321 lines, 7.9 KB"


def test_the_lines_of_several_texts_are_counted_once_each() -> None:
    request = _request(
        input={"file_path": "/a", "old_string": "a\nb\n", "new_string": "c\n", "replace_all": True},
        detail={"kind": "file_change", "changes": [{"path": "/a", "old_text": "a\nb\n", "new_text": "c\n"}]},
    )
    assert describe_text_size(split_input(request).text) == "4 lines, 10 B"
