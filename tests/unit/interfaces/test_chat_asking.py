"""A request as a dialogue: which keys and lines lead to which answer, and which to none."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from footplate.events.ids import RequestId
from footplate.events.requests import (
    Allow,
    Answer,
    Decline,
    Deny,
    OptionKind,
    Reply,
    Request,
    RequestOption,
    Suggestion,
)
from footplate.events.tools import Choice, CommandDetail, FileChange, FileChangeDetail, Question
from footplate.interfaces.cli.chat.asking import (
    Dialogue,
    EditInput,
    Give,
    Pass,
    Stay,
    Step,
    request_body,
    request_lines,
)
from footplate.interfaces.cli.chat.elsewhere import edit_text
from footplate.interfaces.cli.chat.text import Line
from footplate.interfaces.cli.lines import visible

RAW = msgspec.Raw(b'{"command":"touch x\\ntouch y"}')
RULES = (
    Suggestion(label="Allow Bash(touch:*)", destination="local"),
    Suggestion(label="Switch to mode acceptEdits", destination="session"),
)
PERMISSION = Request(id=RequestId("r"), kind="permission", title="touch x", tool="Bash", input=RAW, suggestions=RULES)
COLOURS = Question(text="Which?", choices=(Choice(label="Red"), Choice(label="Blue")))
SIZES = Question(text="Sizes?", choices=(Choice(label="S"), Choice(label="M"), Choice(label="L")), multiple=True)
QUESTIONS = Request(id=RequestId("r"), kind="question", title="?", questions=(COLOURS, SIZES))
PLAN = Request(id=RequestId("r"), kind="plan", title="plan", plan="# Plan\n1. do it", allowed_prompts=("Bash: tests",))
MODES = ("default", "plan", "acceptEdits")


def _press(request: Request, *keys: str) -> Step:
    dialogue = Dialogue(request, MODES)
    step: Step = Pass()
    for key in keys:
        step = dialogue.write(key[1:]) if key.startswith("=") else dialogue.press(key)
    return step


def _read(request: Request, *lines: str) -> Step:
    dialogue = Dialogue(request, MODES)
    step: Step = Pass()
    for line in lines:
        step = dialogue.read(line)
    return step


@pytest.mark.parametrize(
    ("keys", "answer"),
    [
        (["y"], Allow()),
        (["s"], Allow(scope="session")),
        (["a", "1"], Allow(scope="always", suggestion=0)),
        (["a", "2"], Allow(scope="session", suggestion=1)),
        (["a", "9", "1"], Allow(scope="always", suggestion=0)),
        (["a", "escape", "y"], Allow()),
        (["n", "=no way "], Deny(message="no way")),
        (["n", "="], Deny()),
        (["n", "escape", "y"], Allow()),
        (["x"], Deny(interrupt=True)),
    ],
)
def test_keys_answer_a_permission(keys: list[str], answer: Answer) -> None:
    assert _press(PERMISSION, *keys) == Give(answer)


@pytest.mark.parametrize("key", ["q", "Y", "1", "enter", " "])
def test_any_other_key_answers_nothing(key: str) -> None:
    assert _press(PERMISSION, key) == Pass()


def test_always_shows_each_rule_with_its_destination() -> None:
    step = _press(PERMISSION, "a")
    assert isinstance(step, Stay)
    assert [line.text for line in step.lines] == [
        "1 Allow Bash(touch:*) -> local",
        "2 Switch to mode acceptEdits -> session",
    ]


def test_always_without_rules_is_the_agents_own_option_or_nothing() -> None:
    plain = msgspec.structs.replace(PERMISSION, suggestions=())
    assert isinstance(_press(plain, "a"), Stay)
    option = RequestOption(id="always", label="Always", kind="allow_always")
    assert _press(msgspec.structs.replace(plain, options=(option,)), "a") == Give(Allow(scope="always"))


def test_the_input_goes_to_an_editor_and_comes_back_changed() -> None:
    dialogue = Dialogue(PERMISSION)
    step = dialogue.press("e")
    assert isinstance(step, EditInput)
    assert isinstance(dialogue.edited(step.text), Stay)  # unchanged
    assert isinstance(dialogue.edited("not json"), Stay)
    assert isinstance(dialogue.edited("[1]"), Stay)
    assert dialogue.edited('{"command": "ls"}') == Give(Allow(updated_input=msgspec.Raw(b'{"command":"ls"}')))


def test_numbers_of_an_edited_input_stay_as_they_are_written() -> None:
    raw = msgspec.Raw(b'{"amount":1e400,"account":1234567890123456789,"rate":1.0}')
    dialogue = Dialogue(msgspec.structs.replace(PERMISSION, input=raw))
    step = dialogue.press("e")
    assert isinstance(step, EditInput)
    assert isinstance(dialogue.edited(step.text), Stay)  # unchanged
    edited = step.text.replace("1.0", "1.50")
    changed = msgspec.Raw(bytes(raw).replace(b"1.0", b"1.50"))
    assert dialogue.edited(edited) == Give(Allow(updated_input=changed))


@pytest.mark.parametrize("means", [None, Allow()], ids=["ids alone", "answers in full"])
def test_editing_is_offered_where_the_agent_takes_a_changed_input(means: Allow | None) -> None:
    option = RequestOption(id="yes", label="Yes", kind="allow_once", means=means)
    dialogue = Dialogue(msgspec.structs.replace(PERMISSION, options=(option,)))
    assert ("e edit" in dialogue.hint()) == (means is not None)
    assert isinstance(dialogue.press("e"), EditInput) == (means is not None)
    assert isinstance(dialogue.read('e {"command":"ls"}'), Give) == (means is not None)


@pytest.mark.parametrize("kind", ["allow_once", "allow_session", "allow_always", "other"])
def test_the_session_is_offered_where_something_can_be_allowed_for_it(kind: OptionKind) -> None:
    options = (RequestOption(id="yes", label="Yes", kind=kind), RequestOption(id="no", label="No", kind="deny"))
    request = msgspec.structs.replace(PERMISSION, suggestions=(), options=options)
    can = kind in ("allow_once", "allow_session")
    assert ("s session" in Dialogue(request).hint()) == can
    pressed = _press(request, "s")
    assert _read(request, "s") == pressed
    refusal = Stay((Line("this agent has no way to allow it for the session", "dim", 1),))
    assert pressed == (Give(Allow(scope="session")) if can else refusal)
    always = _press(request, "a")
    if kind == "allow_always":
        assert always == Give(Allow(scope="always"))
    else:
        rest = "; s allows it for this session" if can else ""
        assert always == Stay((Line(f"the agent proposes no lasting rule{rest}", "dim", 1),))


def test_what_always_means_for_the_agent_is_shown_before_it_is_chosen() -> None:
    options = (
        RequestOption(id="amend", label="Yes, and always: commands that begin with rm \u202e", kind="allow_always"),
    )
    request = msgspec.structs.replace(PERMISSION, suggestions=(), options=options)
    shown = [line.text for line in request_lines(request)]
    assert "a is, for the agent: Yes, and always: commands that begin with rm ⟨U+202E⟩" in shown


SPACED = "printf 'a  b\tc\n\n\"d\\n\"\u00a0\u202e\u3000\U000e0041'  >made \r\n"


def test_a_line_to_edit_reads_back_as_the_exact_input() -> None:
    given = {"command": SPACED, "b  c": [1.5, 12345678901234567890123, None, "  "]}
    dialogue = Dialogue(msgspec.structs.replace(PERMISSION, input=msgspec.Raw(msgspec.json.encode(given))))
    step = dialogue.press("e")
    assert isinstance(step, EditInput)
    assert visible(step.line) == step.line
    assert "\n" not in step.line
    assert isinstance(dialogue.read(f"e {step.line}"), Stay), "unchanged"
    changed = dialogue.read(f"e {step.line.replace('>made', '>done')}")
    assert isinstance(changed, Give)
    assert isinstance(changed.answer, Allow)
    assert changed.answer.updated_input is not None
    assert msgspec.json.decode(changed.answer.updated_input) == given | {"command": SPACED.replace(">made", ">done")}


async def test_a_text_that_the_editor_wrote_in_another_encoding_is_not_sent(tmp_path: Path) -> None:
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nprintf \'{"command": "\\351"}\' > "$1"\n')
    editor.chmod(0o755)
    edited = await edit_text("{}", {"EDITOR": str(editor)})
    assert isinstance(edited, Line)
    assert "not UTF-8" in edited.text


@pytest.mark.parametrize(
    ("keys", "answers"),
    [
        (["2", "1", "3", "enter"], {"Which?": "Blue", "Sizes?": ["S", "L"]}),
        (["1", "1", "2", "1", "enter"], {"Which?": "Red", "Sizes?": ["M"]}),
        (["t", "=Green", "t", "=huge"], {"Which?": "Green", "Sizes?": "huge"}),
    ],
)
def test_keys_answer_questions_one_after_another(keys: list[str], answers: dict[str, str | list[str]]) -> None:
    assert _press(QUESTIONS, *keys) == Give(Reply(answers=answers))


def test_a_question_without_questions_is_answered_by_yes_or_no() -> None:
    confirm = Request(id=RequestId("r"), kind="question", title="Really?")
    assert [line.text for line in request_lines(confirm)] == ["? Really?", "1 Yes", "2 No"]
    assert _press(confirm, "1") == Give(Reply(answers={"Really?": "Yes"}))


def test_a_question_is_declined_and_never_guessed() -> None:
    assert _press(QUESTIONS, "d") == Give(Decline())
    assert _press(QUESTIONS, "7") == Pass()
    assert _press(QUESTIONS, "enter") == Pass()
    assert isinstance(_press(QUESTIONS, "t", "="), Stay)


@pytest.mark.parametrize(
    ("keys", "answer"),
    [
        (["y"], Allow()),
        (["p"], Allow(prompts=(0,))),
        (["m", "2"], Allow(mode="acceptEdits")),
        (["r", "=shorter"], Deny(message="shorter")),
        (["x"], Deny(interrupt=True)),
    ],
)
def test_keys_answer_a_plan(keys: list[str], answer: Answer) -> None:
    assert _press(PLAN, *keys) == Give(answer)


def test_a_plan_that_asks_for_nothing_grants_nothing() -> None:
    plain = msgspec.structs.replace(PLAN, allowed_prompts=())
    assert _press(plain, "p") == Pass()
    assert "p approve" not in Dialogue(plain, MODES).hint()
    assert "p approve and allow what it asks for" in Dialogue(PLAN, MODES).hint()


def test_a_call_that_a_granted_prompt_describes_can_be_allowed_exactly() -> None:
    marked = msgspec.structs.replace(PERMISSION, plan_prompt="run tests")
    assert _press(marked, "p") == Give(Allow(scope="exact"))
    assert "p exactly this" in Dialogue(marked, MODES).hint()
    lines = [line.text for line in request_lines(marked)]
    assert "the agent describes it as what the plan asked for: run tests" in lines
    assert "p allows exactly this for the session" in lines
    assert _press(PERMISSION, "p") == Pass()


@pytest.mark.parametrize(
    ("request_", "lines", "answer"),
    [
        (PERMISSION, ["y"], Allow()),
        (PERMISSION, ["n"], Deny()),
        (PERMISSION, ["n not today"], Deny(message="not today")),
        (PERMISSION, ["a 2"], Allow(scope="session", suggestion=1)),
        (PERMISSION, ["a", "1"], Allow(scope="always", suggestion=0)),
        (PERMISSION, ['e {"command":"ls"}'], Allow(updated_input=msgspec.Raw(b'{"command":"ls"}'))),
        (QUESTIONS, ["2", "1, 3"], Reply(answers={"Which?": "Blue", "Sizes?": ["S", "L"]})),
        (QUESTIONS, ["my own words", "t 2"], Reply(answers={"Which?": "my own words", "Sizes?": "2"})),
        (QUESTIONS, ["1 2", "9", "1", "2"], Reply(answers={"Which?": "Red", "Sizes?": ["M"]})),
        (QUESTIONS, ["d"], Decline()),
        (PLAN, ["m acceptEdits"], Allow(mode="acceptEdits")),
        (PLAN, ["r make it short"], Deny(message="make it short")),
        (PLAN, ["r", "make it short"], Deny(message="make it short")),
    ],
)
def test_whole_lines_answer_where_there_are_no_keys(request_: Request, lines: list[str], answer: Answer) -> None:
    assert _read(request_, *lines) == Give(answer)


@pytest.mark.parametrize("line", ["yes please", "maybe", "", "yy"])
def test_a_line_that_is_no_answer_says_what_can_be_answered(line: str) -> None:
    step = _read(PERMISSION, line)
    assert isinstance(step, Stay)
    assert step.lines[0].text.startswith("y once")


def test_a_permission_is_shown_in_full() -> None:
    assert [line.text for line in request_lines(PERMISSION)] == [
        "? Bash asks: touch x",
        "command: touch x",
        "touch y",
        "s is, for this session only: Allow Bash(touch:*)",
    ]


def test_a_change_of_a_file_is_shown_as_a_diff() -> None:
    change = FileChange(path="a.txt", old_text="one\ntwo\n", new_text="one\n2\n")
    asked = Request(
        id=RequestId("r"), kind="permission", title="a.txt", tool="Edit", detail=FileChangeDetail(changes=(change,))
    )
    assert [(line.text, line.style) for line in request_lines(asked)][1:] == [
        ("update a.txt +1 \u22121", "dim"),
        (" one", ""),
        ("-two", "failed"),
        ("+2", "ok"),
        ("s is, for this session only: exactly this call", "dim"),
    ]


def test_a_plan_and_questions_are_shown_in_full() -> None:
    assert [line.text for line in request_lines(PLAN)][1:] == ["# Plan", "1. do it", "asks to allow: Bash: tests"]
    assert [line.text for line in request_lines(QUESTIONS)] == [
        "? Which? (1 of 2)",
        "1 Red",
        "2 Blue",
        "? Sizes? (2 of 2) - several may be chosen",
        "1 S",
        "2 M",
        "3 L",
    ]


def test_what_stands_above_questions_is_shown() -> None:
    asked = Request(
        id=RequestId("r"), kind="question", title="x", description="Read\u202e this", questions=(Question(text="Go?"),)
    )
    assert [line.text for line in request_lines(asked)] == ["Read⟨U+202E⟩ this", "? Go?"]


@pytest.mark.parametrize(("length", "size"), [(2000, []), (5_000_000, ["1 line, 5.0 MB"])])
def test_a_long_command_of_one_line_tells_its_size(length: int, size: list[str]) -> None:
    raw = msgspec.Raw(msgspec.json.encode({"command": "x" * length}))
    request = Request(id=RequestId("r"), kind="permission", title="x", tool="Bash", input=raw)
    shown = [line.text for line in request_body(request)]
    assert shown == [f"command: {'x' * length}", *size]


def test_a_long_input_is_shown_whole_and_its_size_is_told() -> None:
    text = "".join(f"line {number}\n" for number in range(5000))
    asked = Request(
        id=RequestId("r"),
        kind="permission",
        title="a.txt",
        tool="Write",
        input=msgspec.Raw(msgspec.json.encode({"file_path": "a.txt", "content": text})),
        detail=FileChangeDetail(changes=(FileChange(path="a.txt", new_text=text),)),
    )
    _, head, *lines, size, _ = [line.text for line in request_lines(asked)]
    assert (head, size) == ("update a.txt +5,000 \u22120", "5,000 lines, 49 KB")
    assert lines == [f"+{line}" for line in text.splitlines()]


def test_hidden_characters_of_every_kind_of_request_are_visible() -> None:
    bidi = "safe \u202eevil\u202c \u200b\x1b[2K"
    shown = "safe ⟨U+202E⟩evil⟨U+202C⟩ ⟨U+200B⟩⟨U+001B⟩[2K"
    permission = Request(
        id=RequestId("r"),
        kind="permission",
        title=bidi,
        tool=bidi,
        description=bidi,
        reason=bidi,
        blocked_path=bidi,
        input=msgspec.Raw(msgspec.json.encode({"command": bidi, "note": bidi})),
        suggestions=(Suggestion(label=bidi),),
    )
    assert [line.text for line in request_lines(permission)] == [
        f"? {shown} asks: {shown}",
        shown,
        shown,
        f"outside: {shown}",
        f"command: {shown}",
        f"note: {shown}",
        f"s is, for this session only: {shown}",
    ]
    plan = Request(id=RequestId("r"), kind="plan", title="plan", plan=f"# {bidi}\n1. {bidi}", allowed_prompts=(bidi,))
    assert [line.text for line in request_lines(plan)][1:] == [f"# {shown}", f"1. {shown}", f"asks to allow: {shown}"]
    choice = Choice(label=bidi, description=bidi, preview=bidi)
    question = Request(
        id=RequestId("r"), kind="question", title="?", questions=(Question(text=bidi, choices=(choice,)),)
    )
    assert [line.text for line in request_lines(question)] == [f"? {shown}", f"1 {shown} - {shown}", shown]


def test_a_command_is_shown_also_where_the_title_is_the_words_of_the_model() -> None:
    asked = Request(
        id=RequestId("r"),
        kind="permission",
        title="List files",
        tool="shell",
        input=msgspec.Raw(b'{"command":"touch x && echo gone"}'),
        detail=CommandDetail(command="touch x && echo gone"),
    )
    assert [line.text for line in request_lines(asked)][1:-1] == ["command: touch x && echo gone"]
