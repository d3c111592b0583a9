"""A request as a chat message: whole where it has room; else it says how much is cut and where to see it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from footplate.chat.drawing.asking import MOST_TEXT, Asked, draw_request, is_long_plan
from footplate.chat.drawing.rich import TEXT_LIMIT, units
from footplate.chat.reading.presses import Sealer
from footplate.events.content import ImageBlock, ResourceBlock
from footplate.events.ids import RequestId
from footplate.events.requests import Allow, Deny, Request, RequestOption, Suggestion
from footplate.events.tools import Choice, CommandDetail, FileChange, FileChangeDetail, McpDetail, Question, ToolDetail
from footplate.events.view import RequestView

SEALER = Sealer("secret")
BIDI = "safe \u202eevil\u202c \u200b"
SHOWN = "safe ⟨U+202E⟩evil⟨U+202C⟩ ⟨U+200B⟩"


def _asked(given: object = None, detail: ToolDetail | None = None, **more: object) -> Request:
    raw = None if given is None else msgspec.Raw(msgspec.json.encode(given))
    fields = {"id": RequestId("req_1"), "kind": "permission", "title": "x", "tool": "Tool", **more}
    return Request(input=raw, detail=detail, **fields)  # type: ignore[arg-type]


def _draw(request: Request, link: str = "", **more: object) -> str:
    view = RequestView(request=request, opened_at=0.0, **more)  # type: ignore[arg-type]
    content = draw_request(Asked(view=view, engine="claude", link=link), SEALER)
    assert units(content.text) <= TEXT_LIMIT
    return content.text


def _write(text: str) -> Request:
    detail = FileChangeDetail(changes=(FileChange(path="/w/a.py", new_text=text),))
    return _asked({"file_path": "/w/a.py", "content": text}, detail, title="a.py", tool="Write")


def test_what_has_room_is_shown_whole_and_says_nothing_of_a_cut() -> None:
    text = _draw(_write("one\ntwo\n"))
    assert "update /w/a.py +2 −0\n+one\n+two" in text
    assert "cut" not in text


@pytest.mark.parametrize("size", [60_000, 5_000_000])
def test_what_is_cut_says_how_large_it_is_and_where_to_see_it(size: int) -> None:
    lines = size // 20
    text = _draw(_write(f"{'x' * 19}\n" * lines))
    told = f"{lines:,} lines, {'60 KB' if size == 60_000 else '5.0 MB'} in all"
    assert f"⚠ cut: {told}; see it whole: on the web page or `footplate requests show req_1`" in text
    assert f"+{lines:,} −0" in text


@pytest.mark.parametrize("lines", [1, 9000])
def test_what_runs_with_the_edits_of_an_answer_is_shown_beside_what_was_asked(lines: int) -> None:
    given = {"command": "touch wrong\n" * lines}
    request = _asked(given, CommandDetail(command=given["command"]), title="touch wrong", tool="Bash")
    edited = Allow(updated_input=msgspec.Raw(msgspec.json.encode({"command": "touch right\u202e\n" * lines})))
    text = _draw(request, state="applied", answer=edited, answered_by="bob")
    assert "touch wrong" in text
    size = "1 line, 14 B" if lines == 1 else "9,000 lines, 135 KB"
    assert f"allowed with edits by bob\n\nIt runs with this input ({size}):\ntouch right⟨U+202E⟩" in text


@pytest.mark.parametrize("state", ["rejected", "withdrawn", "unanswered"])
def test_no_input_is_said_to_run_where_the_agent_did_not_use_the_answer(state: str) -> None:
    edited = Allow(updated_input=msgspec.Raw(b'{"command":"ls"}'))
    text = _draw(_asked({"command": "cd"}), state=state, reason="gone", answer=edited, answered_by="bob")
    assert "allowed with edits by bob" in text
    assert "runs with" not in text


def test_the_page_is_linked_where_its_address_is_known() -> None:
    link = "https://box.test/ui/sessions/01M"
    assert f"see it whole: {link} or `footplate requests show req_1`" in _draw(_write("x\n" * 9000), link)


@pytest.mark.parametrize(
    "request_",
    [
        _asked({"command": "echo " + "x" * 9000}, CommandDetail(command="echo " + "x" * 9000)),
        _asked({"text": "y" * 9000, "n": {"deep": [1]}}, McpDetail(server="lab", tool="echo")),
        _asked({"command": "ls"}, CommandDetail(command="ls"), description="z" * 9000),
        _asked(title="t" * 9000),
        _asked(
            kind="question",
            questions=(Question(text="Which?", choices=(Choice(label="A", preview="p" * 9000), Choice(label="B"))),),
        ),
    ],
    ids=["command", "field", "description", "title", "preview"],
)
@pytest.mark.parametrize("answer", [None, Allow(), Deny(message="w" * 5000)])
def test_nothing_is_cut_in_silence(request_: Request, answer: Allow | Deny | None) -> None:
    state: dict[str, object] = {} if answer is None else {"state": "answered", "answer": answer}
    if request_.kind == "question" and answer is not None:
        return  # its answer is told with the questions alone
    assert "⚠ cut: " in _draw(request_, "", **state)


def test_hidden_characters_are_visible_in_every_part() -> None:
    given = {"command": BIDI, "note": f"{BIDI} 2"}
    rule = Suggestion(label=BIDI, allows=BIDI, destination="local")
    request = _asked(
        given,
        CommandDetail(command=BIDI),
        title=BIDI,
        tool=BIDI,
        description=f"{BIDI} 3",
        blocked_path=BIDI,
        suggestions=(rule,),
    )
    text = _draw(request)
    assert "\u202e" not in text
    assert "\u200b" not in text
    for part in (f"{SHOWN}: {SHOWN}", f"note: {SHOWN} 2", f"{SHOWN} 3", f"outside: {SHOWN}", f"Always: {SHOWN}"):
        assert part in text
    plan = _draw(_asked(kind="plan", plan=f"# {BIDI}", allowed_prompts=(BIDI,)))
    assert (SHOWN in plan, f"asks to allow: {SHOWN}" in plan, "\u202e" in plan) == (True, True, False)
    choice = Choice(label=BIDI, description=BIDI)
    asked = _draw(_asked(kind="question", questions=(Question(text=BIDI, choices=(choice,)),)))
    assert f"{SHOWN}\n- {SHOWN}: {SHOWN}" in asked


def test_a_plan_shows_what_formatted_text_would_leave_out() -> None:
    plan = "# The plan\n\n<!-- a comment -->\n\n[//]: # (another comment)\n"
    text = _draw(_asked(kind="plan", plan=plan))
    assert ("a comment" in text, "another comment" in text) == (True, True)


@pytest.mark.parametrize(
    ("plan", "shown"),
    [
        ("Read [the page](https://evil.test 'first delete all')", "https://evil.test 'first delete all'"),
        ("- [a]: /u 'do evil'\n- b", "do evil"),
        ("> [a]: /u 'do evil'\n\nb", "do evil"),
        ("```sh then do evil\nls\n```", "then do evil"),
        ("| a |\n|---|\n| 1 | do evil |", "do evil"),
        ("Run &#x202e;live", "&#x202e;live"),
    ],
)
def test_a_plan_that_formatting_would_shorten_is_shown_as_it_is_written(plan: str, shown: str) -> None:
    text = _draw(_asked(kind="plan", plan=plan))
    assert shown in text
    assert "\u202e" not in text


def test_a_plan_that_formatting_shows_whole_is_formatted() -> None:
    text = _draw(_asked(kind="plan", plan="# The **plan**\n\n1. one\n2. two\n\n```sh\nls -l\n```\n"))
    assert "The plan\n\n1. one\n2. two\n\nls -l" in text


def test_what_stands_above_questions_is_shown() -> None:
    questions = (Question(text="Name"), Question(text="Sure"))
    assert f"{SHOWN}\nName" in _draw(_asked(kind="question", description=BIDI, questions=questions))


def test_what_a_lasting_button_allows_stands_in_full_in_the_message() -> None:
    label = "Allow Bash(npm run build -- --config production.config.js) always (local settings)"
    request = _asked(suggestions=(Suggestion(label=label, destination="local"),))
    content = draw_request(Asked(view=RequestView(request=request, opened_at=0)), SEALER)
    assert f"Always: {label}" in content.text
    assert any(button.text.endswith("…") for row in content.keyboard for button in row)


def test_what_the_agents_own_always_allows_stands_in_the_message() -> None:
    label = "Yes, and always: commands that begin with npm run build -- --config production.config.js"
    request = _asked(options=(RequestOption(id="amend", label=label, kind="allow_always"),))
    assert f"Always: {label}" in _draw(request)


def test_links_are_shown_and_a_picture_that_is_not_is_named() -> None:
    link = ResourceBlock(uri="file:///etc/shadow", name="notes\u202e.txt")
    text = _draw(_asked(content=(link, ImageBlock(media_type="image/png", data="AAAA"))))
    assert "link:\nnotes⟨U+202E⟩.txt\nfile:///etc/shadow" in text
    assert "picture:\nimage/png\n3 B" in text
    assert "⚠ a picture is not shown here; see it: on the web page" in text
    assert "a picture is not shown" not in _draw(_asked(content=(link,)))


@pytest.mark.parametrize("length", range(MOST_TEXT - 400, MOST_TEXT + 100, 100))
def test_a_plan_is_whole_in_its_message_or_comes_before_it(length: int) -> None:
    plan = "word " * (length // 5)
    request = _asked(kind="plan", plan=plan)
    text = _draw(request)
    assert plan.strip() in text or (is_long_plan(request) and "the whole plan is above" in text)


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"state": "unanswered", "reason": "the session was closed"}, ["unanswered: the session was closed"]),
        ({"state": "unanswered", "reason": "nobody answered in time"}, ["unanswered: nobody answered in time"]),
        ({"state": "withdrawn"}, ["withdrawn"]),
        (
            {"state": "withdrawn", "reason": "its outcome is not known", "answer": Allow(), "answered_by": "ada"},
            ["allowed once by ada", "withdrawn: its outcome is not known"],
        ),
        (
            {"state": "rejected", "reason": "no such rule", "answer": Allow(), "answered_by": "ada"},
            ["allowed once by ada", "the agent refused the answer: no such rule"],
        ),
        ({"state": "applied", "answer": Deny(), "answered_by": "ada"}, ["denied by ada"]),
    ],
)
def test_what_became_of_it_is_said_as_everywhere(how: dict[str, Any], said: list[str]) -> None:
    assert _draw(_asked({"n": 1}), "", **how).partition("n: 1\n\n")[2].splitlines() == said
