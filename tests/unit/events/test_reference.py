"""The generated reference is fresh, and the schema says what the codec does."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, cast, get_args

import jsonschema
import msgspec
import pytest
from jsonschema.protocols import Validator
from scripts.schema import build_files, build_page, main

from footplate.events.commands import Command
from footplate.events.model import Envelope, Event
from footplate.events.run_events import RunEvent
from footplate.events.view import Item, SessionView
from tests.unit.events.examples import examples, full, minimal
from tests.unit.events.log import Log, log

EVENTS: tuple[type, ...] = get_args(Event)
FILES = build_files()
SCHEMA = next(msgspec.json.decode(text) for path, text in FILES.items() if path.suffix == ".json")


@cache
def validator(name: str) -> Validator:
    """A validator of one definition of the schema."""
    return jsonschema.Draft202012Validator({**SCHEMA, "$ref": f"#/$defs/{name}"})


def plain(value: object) -> Any:
    """The value as any reader of its JSON gets it."""
    return msgspec.json.decode(msgspec.json.encode(value))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.name))
def test_the_file_on_disk_is_fresh(path: Path) -> None:
    assert path.read_bytes() == FILES[path], "run `make reference`"


def test_the_check_agrees_with_the_files_on_disk(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--check"]) == 0
    assert capsys.readouterr().out == ""


def test_the_schema_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize(
    ("union", "kind"),
    [
        (union, kind)
        for union, kinds in (("Event", Event), ("Command", Command), ("RunEvent", RunEvent), ("Item", Item))
        for kind in get_args(kinds)
    ],
)
def test_everything_on_the_wire_is_valid_by_the_schema(union: str, kind: type) -> None:
    for example in examples(kind):
        validator(kind.__name__).validate(plain(example))
    validator(union).validate(plain(minimal(kind)))


def test_envelopes_and_views_are_valid_by_the_schema() -> None:
    script = Log([cast("Event", full(kind)) for kind in EVENTS])
    validator("Envelope").validate(plain(script.envelopes[0]))
    validator("SessionView").validate(plain(script.view()))
    validator("SessionView").validate(plain(log().view()))
    validator("SessionView").validate(plain(full(SessionView)))


@pytest.mark.parametrize(
    "wrong",
    [
        {"type": "Message", "message": "m", "part": "0", "text": "x"},
        {"type": "Message", "message": "m"},
        {"type": "Teleported"},
    ],
)
def test_what_is_no_event_is_not_valid(wrong: dict[str, str]) -> None:
    assert not validator("Event").is_valid(wrong)


def test_the_page_describes_every_event_with_its_docstring_and_fields() -> None:
    page = build_page()
    for kind in (Envelope, *EVENTS, *get_args(Command), *get_args(RunEvent)):
        assert f"\n### {kind.__name__}\n" in page
        assert (kind.__doc__ or "").splitlines()[0] in page


def test_every_link_of_the_page_leads_somewhere() -> None:
    page = build_page()
    headings = {line.lstrip("# ").lower().replace(" ", "-") for line in page.splitlines() if line.startswith("#")}
    links = {piece.split(")", maxsplit=1)[0] for piece in page.split("](#")[1:]}
    assert links - headings == set()
