"""What "allow for this session" means: one table for page, chat, terminal and editor."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from footplate.acp.encode_requests import SESSION_RULE, ask
from footplate.acp.encode_tools import ToolEncoder
from footplate.acp.profile import Profile
from footplate.acp.schema.asking import RequestPermissionRequest
from footplate.chat.drawing.asking import Asked, draw_request
from footplate.chat.reading.presses import Sealer
from footplate.events.ids import SessionId
from footplate.events.requests import Request
from footplate.events.rules import session_meaning
from footplate.events.view import RequestView
from footplate.interfaces.cli.chat.asking import request_lines
from tests.page_program import bundle_function, call_page

CASES = json.loads((Path(__file__).parents[2] / "fixtures" / "events" / "lasting.json").read_text())


def _asked(case: dict[str, Any]) -> Request:
    return msgspec.convert({"id": "r", "title": "a call", "tool": "some", **case["request"]}, Request)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_the_terminal_says_what_is_allowed_for_the_session(case: dict[str, Any]) -> None:
    request, words = _asked(case), case["words"]
    assert session_meaning(request) == words
    said = [line.text for line in request_lines(request) if line.text.startswith("s is")]
    assert said == ([f"s is, for this session only: {words}"] if words else [])


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_a_chat_says_what_its_button_for_the_session_allows(case: dict[str, Any]) -> None:
    drawn = draw_request(Asked(view=RequestView(request=_asked(case), opened_at=0)), Sealer("secret"))
    lines = [line for line in drawn.text.splitlines() if line.startswith("For session: ")]
    assert lines == ([f"For session: {case['words']}"] if case["words"] else [])
    buttons = [button.text for row in drawn.keyboard for button in row]
    assert ("Allow for session" in buttons) == bool(case["words"])


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_an_editor_is_offered_a_rule_of_ours_by_what_it_allows(case: dict[str, Any]) -> None:
    params = ask(SessionId("s"), _asked(case), Profile(), ToolEncoder(Profile())).params
    assert isinstance(params, RequestPermissionRequest)
    ours = [option.name for option in params.options if option.option_id == SESSION_RULE]
    assert [name for name in ours if name != f"Allow for this session: {case['words']}"] == []


def test_the_page_says_the_same(tmp_path: Path) -> None:
    imported = 'import { sessionMeaning } from "../src/ui/requests/answer_words";'
    program = bundle_function("lasting", imported, "sessionMeaning(given)", tmp_path)
    assert call_page(program, [case["request"] for case in CASES]) == [case["words"] for case in CASES]
