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
from footplate.events.ids import RequestId, SessionId
from footplate.events.requests import Request, RequestOption
from footplate.events.rules import session_meaning
from footplate.events.tools import Choice, FileChange, FileChangeDetail, Question
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


ODD, DRAWN = "/w/a\n/etc/cron.d/x  y\t", "/w/a⟨U+000A⟩/etc/cron.d/x⟨U+0020⟩⟨U+0020⟩y⟨U+0009⟩"


def test_paths_and_labels_show_each_blank_and_line_break_on_every_surface() -> None:
    change = FileChange(path=ODD, moved_to=ODD)
    options = tuple(RequestOption(id=kind, label=ODD, kind=kind) for kind in ("allow_session", "allow_always"))
    permission = Request(
        id=RequestId("r"),
        kind="permission",
        title="a call",
        blocked_path=ODD,
        detail=FileChangeDetail(changes=(change,)),
        options=options,
    )
    plan = Request(id=RequestId("r"), kind="plan", title="plan", plan_file=ODD, allowed_prompts=(ODD,))
    asking = Question(text="Which?", choices=(Choice(label=ODD),))
    question = Request(id=RequestId("r"), kind="question", title="Which?", questions=(asking,))
    terminal = [line.text for request in (permission, plan, question) for line in request_lines(request)]
    assert [line for line in terminal if DRAWN in line] == [
        f"outside: {DRAWN}",
        f"update {DRAWN} to {DRAWN} (the agent does not say what changes)",
        f"s is, for this session only: {DRAWN}",
        f"a is, for the agent: {DRAWN}",
        f"in {DRAWN}",
        f"asks to allow: {DRAWN}",
        f"1 {DRAWN}",
    ]
    for request, in_chat, in_editor in ((permission, 5, 5), (plan, 1, 2), (question, 2, 2)):
        drawn = draw_request(Asked(view=RequestView(request=request, opened_at=0)), Sealer("secret"))
        buttons = [button.text for row in drawn.keyboard for button in row]
        assert (drawn.text + "\n".join(buttons)).count(DRAWN) == in_chat
        params = ask(SessionId("s"), request, Profile(), ToolEncoder(Profile())).params
        assert msgspec.json.encode(params).decode().count(DRAWN) == in_editor


def test_the_page_says_the_same(tmp_path: Path) -> None:
    imported = 'import { sessionMeaning } from "../src/ui/requests/answer_words";'
    program = bundle_function("lasting", imported, "sessionMeaning(given)", tmp_path)
    assert call_page(program, [case["request"] for case in CASES]) == [case["words"] for case in CASES]
