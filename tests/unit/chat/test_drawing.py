"""What people see: markdown, splitting, progress, answers. Pure."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from footplate.chat.drawing.asking import draw_plan
from footplate.chat.drawing.final import draw_final
from footplate.chat.drawing.markdown import render_markdown
from footplate.chat.drawing.progress import (
    ActionLog,
    Footer,
    Progress,
    draw_action,
    draw_header,
    draw_progress,
)
from footplate.chat.drawing.rich import Rich, concat, cut, plain, span, split, trim, units
from footplate.chat.model import Entity
from footplate.events.run_events import Action, Change, CommandAction, FileChangeAction, TextNote, ToolAction

LONG = "# Title\n\nSome **bold 😀 text** with `code`.\n\n```python\n" + "x = 1\n" * 2000 + "```\n\n- a\n- b\n"


def spans(rich: Rich) -> list[tuple[str, str]]:
    raw = rich.text.encode("utf-16-le")
    return [(e.type, raw[e.offset * 2 : (e.offset + e.length) * 2].decode("utf-16-le")) for e in rich.entities]


@pytest.mark.parametrize(
    ("text", "shown", "found"),
    [
        ("plain words", "plain words", []),
        ("**b** *i* ~~s~~ `c`", "b i s c", [("bold", "b"), ("italic", "i"), ("strikethrough", "s"), ("code", "c")]),
        ("😀 **b**", "😀 b", [("bold", "b")]),
        ("[l](https://a.b)", "l", [("text_link", "l")]),
        ("[l](ftp://a.b)", "l", []),
        ("- a\n  - b\n- c", "- a\n  - b\n- c", []),
        ("3. a\n4. b", "3. a\n4. b", []),
        ("> q\n> r", "q\nr", [("blockquote", "q\nr")]),
        ("```py\nx\n```", "x", [("pre", "x")]),
        ("**a `b` c**", "a b c", [("bold", "a "), ("code", "b"), ("bold", " c")]),
        ("# H\n\ntext", "H\n\ntext", [("bold", "H")]),
        ("<b>raw</b> & &amp;", "<b>raw</b> & &", []),
        ("| a | b |\n|---|---|\n| 1 | 22 |", "a  b\n-  --\n1  22", [("pre", "a  b\n-  --\n1  22")]),
    ],
)
def test_markdown_becomes_text_with_entities(text: str, shown: str, found: list[tuple[str, str]]) -> None:
    rich = render_markdown(text)
    assert rich.text == shown
    assert spans(rich) == found


@given(st.text(alphabet="ab*_`[]()# \n>-😀1.", max_size=200))
def test_no_markdown_makes_a_span_beyond_the_text(text: str) -> None:
    rich = render_markdown(text)
    size = units(rich.text)
    assert all(e.length > 0 and e.offset >= 0 and e.offset + e.length <= size for e in rich.entities)


@settings(max_examples=40)
@given(st.text(max_size=100), st.integers(5, 50))
def test_parts_are_small_enough_and_hold_everything(text: str, limit: int) -> None:
    parts = split(span("pre", text) if text else plain(""), limit)
    assert all(units(part.text) <= limit for part in parts)
    assert "".join("".join(part.text.split()) for part in parts) == "".join(text.split())
    for part in parts:
        assert all(e.offset + e.length <= units(part.text) for e in part.entities)


def test_a_cut_within_a_span_closes_and_reopens_it() -> None:
    head, tail = cut(concat(plain("a"), span("pre", "bcd", language="py")), 2)
    assert (head.text, spans(head)) == ("ab", [("pre", "b")])
    assert (tail.text, spans(tail)) == ("cd", [("pre", "cd")])
    assert tail.entities[0].language == "py"


def test_trimming_tells_what_is_left_out() -> None:
    assert trim(span("bold", "abcdef"), 4) == Rich("abc…", (Entity(type="bold", offset=0, length=3),))
    assert trim(plain("abc"), 3) == plain("abc")


def test_a_long_answer_is_split_with_header_and_footer_on_every_part() -> None:
    progress = Progress(
        label="done", engine="claude", seconds=7, footer=Footer(context="ctx: p", resume="claude --resume x")
    )
    parts = draw_final(progress, LONG, overflow="split")
    assert len(parts) > 2
    assert all(units(part.text) <= 4096 for part in parts)
    assert parts[0].text.startswith("done · claude · 7s\n\nTitle")
    assert parts[1].text.startswith(f"done · claude · 7s · continued (2/{len(parts)})")
    assert all(part.text.endswith("ctx: p\nclaude --resume x") for part in parts)
    assert sum(part.text.count("x = 1") for part in parts) == 2000


def test_a_long_answer_is_trimmed_and_keeps_its_footer() -> None:
    progress = Progress(label="done", engine="claude", footer=Footer(resume="claude --resume x"))
    (only,) = draw_final(progress, LONG, overflow="trim")
    assert units(only.text) <= 4096
    assert "…\n\nclaude --resume x" in only.text


def test_an_answer_without_words_is_its_header() -> None:
    (only,) = draw_final(Progress(label="done", engine="claude"), "", overflow="split")
    assert only.text == "done · claude · 0s"


@pytest.mark.parametrize(("seconds", "words"), [(7.9, "7s"), (125, "2m 05s"), (3780, "1h 03m"), (0, "0s")])
def test_the_clock_in_words(seconds: float, words: str) -> None:
    progress = Progress(label="working", engine="claude", seconds=seconds)
    assert draw_progress(progress).text == f"working · claude · {words}"


def action(kind: str, title: str, phase: str = "completed", **more: object) -> Action:
    detail = more.pop("detail", TextNote())
    return Action(id=title, kind=kind, title=title, phase=phase, detail=detail, **{"ok": True, **more})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given_action", "line"),
    [
        (action("command", "ls -l", "started", ok=None, detail=CommandAction(tool="Bash")), "▸ ls -l"),
        (action("command", "ls", "updated", ok=None, detail=CommandAction(tool="Bash")), "↻ ls"),
        (action("command", "ls", detail=CommandAction(tool="Bash", exit_code=2), ok=False), "✗ ls (exit 2)"),
        (action("tool", "Read `a`", detail=ToolAction(tool="Read")), "✓ tool: Read `a`"),
        (action("web_search", "cats"), "✓ searched: cats"),
        (action("subagent", "look"), "✓ subagent: look"),
        (action("note", "update todos"), "✓ update todos"),
        (action("warning", "careful", ok=False), "✗ careful"),
        (action("telemetry_of_tomorrow", "beep"), "✓ beep"),
        (action("note", "x" * 400), "✓ " + "x" * 299 + "…"),
        (
            action(
                "file_change",
                "a",
                detail=FileChangeAction(
                    tool="Edit", changes=tuple(Change(path=name, kind="update") for name in "abcde")
                ),
            ),
            "✓ files: update a, update b, update c …(2 more)",
        ),
    ],
)
def test_an_action_is_one_line(given_action: Action, line: str) -> None:
    assert draw_action(given_action).text == line


def test_the_last_five_actions_in_the_order_they_were_first_seen() -> None:
    log = ActionLog()
    for number in range(7):
        log.add(action("note", str(number), "started"))
    log.add(action("note", "2"))
    log.add(action("turn", "hidden"))
    log.add(action("note", "quiet", level="debug"))
    log.add(Action(id="", kind="note", title="nameless", phase="completed", detail=TextNote()))
    assert log.steps == 7
    assert [each.title for each in log.last] == ["2", "3", "4", "5", "6"]


def test_progress_has_header_body_and_footer_with_blank_lines_between() -> None:
    progress = Progress(
        label="working",
        engine="claude",
        seconds=65,
        steps=2,
        cost_usd=0.5,
        actions=(action("note", "one"), action("note", "two")),
        footer=Footer(context="ctx: p @b", resume="claude --resume x"),
    )
    assert draw_progress(progress).text == (
        "working · claude · 1m 05s · step 2 · $0.50\n\n✓ one\n✓ two\n\nctx: p @b\nclaude --resume x"
    )


def test_where_nothing_can_be_edited_progress_is_its_last_step_and_no_clock_changes_it() -> None:
    def steady(seconds: float, *titles: str) -> str:
        actions = tuple(action("note", title) for title in titles)
        return draw_progress(
            Progress(label="waiting for you", engine="claude", seconds=seconds, actions=actions, steady=True)
        ).text

    assert steady(1, "one", "two") == steady(99, "one", "two") == "working · claude · ✓ two"
    assert steady(1) == "working · claude"


def test_a_long_plan_without_files_comes_whole_in_parts() -> None:
    plan = "\n".join(f"- step {number}" for number in range(300))
    parts = draw_plan(plan, 1000)
    assert len(parts) > 2
    assert all(units(part.text) <= 1000 for part in parts)
    assert "\n".join(part.text for part in parts) == plan


def test_an_engine_that_cannot_ask_says_so_in_the_header() -> None:
    assert draw_header(Progress(label="working", engine="pi", approvals=False)).text.endswith("no approvals")
