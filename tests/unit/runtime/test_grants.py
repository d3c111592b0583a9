"""What an answer allows beyond the one call: never what the person did not see."""

from __future__ import annotations

import itertools

import msgspec
import pytest

from footplate.errors import InvalidValue
from footplate.events.content import OtherBlock
from footplate.events.ids import RequestId, RuleId, ToolCallId
from footplate.events.requests import Allow, Answer, Choose, Deny, OptionKind, Reply, Request, RequestOption, Suggestion
from footplate.events.rules import SessionRule
from footplate.events.tools import CommandDetail, FileChange, FileChangeDetail, McpDetail, ToolDetail
from footplate.runtime.grants import allows, granted, hash_call, plan_prompt, subject_of

RULE = msgspec.Raw(b'{"type":"addRules"}')
LOCAL = Suggestion(label="Allow Bash(ls *) always", destination="local", raw=RULE, allows="Allow Bash(ls *)")
USER = Suggestion(label="Allow Bash(ls *) always", destination="user", raw=RULE, allows="Allow Bash(ls *)")
MODE = Suggestion(label="Switch to mode acceptEdits", destination="session", raw=msgspec.Raw(b'{"type":"setMode"}'))
PLAN = Request(id=RequestId("p"), kind="plan", title="plan", allowed_prompts=("Bash: run tests", "Bash: npm test"))


def _asked(tool: str = "Bash", suggestions: tuple[Suggestion, ...] = (), **given: object) -> Request:
    return msgspec.structs.replace(_call(tool, given), suggestions=suggestions)


def _call(tool: str, given: dict[str, object]) -> Request:
    encoded = msgspec.Raw(msgspec.json.encode(given))
    return Request(id=RequestId("r"), kind="permission", title="a call", tool=tool, input=encoded)


def _granted(request: Request, answer: Answer) -> tuple[SessionRule, ...]:
    numbers = itertools.count(1)
    return granted(request, answer, lambda: RuleId(f"rule-{next(numbers)}"))


def test_an_answer_for_once_allows_nothing_further() -> None:
    asked = _asked(command="ls", suggestions=(LOCAL,))
    for answer in (Allow(), Deny(), Reply(answers={}), Choose(option="whatever")):
        assert _granted(asked, answer) == ()


def test_where_the_engine_proposes_nothing_the_session_allows_exactly_this() -> None:
    asked = _asked(command="touch a*[b]?; echo x")
    (rule,) = _granted(asked, Allow(scope="session"))
    assert rule == SessionRule(
        id=RuleId("rule-1"),
        label="Allow Bash: touch a*[b]?; echo x",
        tool="Bash",
        subject="touch a*[b]?; echo x",
        call_sha256=hash_call(asked),
        request=RequestId("r"),
    )
    assert allows(rule, asked)
    for other in ("touch ab; echo x", "touch a*[b]?; echo x; reboot", "TOUCH a*[b]?; echo x", ""):
        assert not allows(rule, _asked(command=other))
    assert not allows(rule, _asked(tool="BashOutput", command="touch a*[b]?; echo x"))


def test_what_was_changed_is_allowed_as_it_was_changed() -> None:
    answer = Allow(scope="session", updated_input=msgspec.Raw(b'{"command":"ls"}'))
    (rule,) = _granted(_asked(command="rm -rf /"), answer)
    assert allows(rule, _asked(command="ls"))
    assert not allows(rule, _asked(command="rm -rf /"))


WRITE = {"file_path": "notes.py", "content": "print(1)"}
PAGE = {"url": "https://a.test", "method": "GET"}
SHELL = {"command": "make", "cwd": "/work"}
VIEW = {"command": "view", "path": "/w/a"}
DROP = {"table": "old", "force": False}


@pytest.mark.parametrize(
    ("given", "others"),
    [
        (WRITE, [{**WRITE, "content": "evil()"}, {"file_path": "notes.py"}, {**WRITE, "path": "/etc/shadow"}]),
        (PAGE, [{**PAGE, "method": "DELETE", "body": "x"}, {**PAGE, "body": "x"}, {"url": "https://a.test"}]),
        (SHELL, [{**SHELL, "cwd": "/etc"}, {"command": "make"}, {**SHELL, "env": {"PATH": "/evil"}}]),
        (VIEW, [{**VIEW, "path": "/etc/shadow"}, {**VIEW, "command": "create"}]),
        (DROP, [{**DROP, "table": "users"}, {**DROP, "force": True}, {**DROP, "force": 0}]),
    ],
    ids=["file", "page", "command", "view", "tool"],
)
@pytest.mark.parametrize("options", [(), (RequestOption(id="yes", label="Yes", kind="allow_once"),)])
def test_exactly_this_is_the_whole_input(
    given: dict[str, object], others: list[dict[str, object]], options: tuple[RequestOption, ...]
) -> None:
    def asked(fields: dict[str, object]) -> Request:
        return msgspec.structs.replace(_call("some", fields), options=options)

    for answer in (Allow(scope="exact"), Allow(scope="session")):
        (rule,) = _granted(asked(given), answer)
        assert allows(rule, asked(dict(reversed(given.items()))))
        for other in others:
            assert not allows(rule, asked(other))
    assert not allows(rule, Request(id=RequestId("r"), kind="permission", title="a call", tool="some"))


def test_of_a_command_the_description_and_the_timeout_say_nothing() -> None:
    def asked(tool: str = "Bash", **fields: object) -> Request:
        detail = CommandDetail(command="make") if tool == "Bash" else McpDetail(server="ci", tool="issue")
        return msgspec.structs.replace(_call(tool, {"command": "make", **fields}), detail=detail)

    (rule,) = _granted(asked(description="Build", timeout=10), Allow(scope="exact"))
    assert allows(rule, asked(description="Build again"))
    assert not allows(rule, asked(run_in_background=True))
    (issue,) = _granted(asked("mcp__ci__issue", description="Build"), Allow(scope="exact"))
    assert not allows(issue, asked("mcp__ci__issue", description="Build again"))


EVENT: dict[str, object] = {
    "call_id": "call_1",
    "turn_id": "1",
    "approval_id": "a1",
    "command": ["bash", "-lc", "npm test"],
    "cwd": "/work",
    "reason": "Shall I run the tests?",
    "parsed_cmd": [{"type": "unknown", "cmd": "npm test"}],
}
"""The raw input of codex-acp: its own event, with ids and the words of the model."""

SECOND = {"call_id": "call_2", "turn_id": "2", "approval_id": "a2"}


def _asked_by_id(given: dict[str, object], call: str, detail: ToolDetail | None = None, **facts: object) -> Request:
    """As an agent asks whose options have ids alone."""
    kinds: tuple[tuple[str, OptionKind], ...] = (("always", "allow_always"), ("yes", "allow_once"), ("no", "deny"))
    options = tuple(RequestOption(id=name, label=name, kind=kind) for name, kind in kinds)
    plain = msgspec.structs.replace(_call("execute", given), call=ToolCallId(call), detail=detail, options=options)
    return msgspec.structs.replace(plain, **facts)


def test_the_same_command_under_other_ids_and_in_other_words_is_the_same_call() -> None:
    detail = CommandDetail(command="npm test")
    asked = _asked_by_id(EVENT, "call_1", detail, description="Shall I run the tests?")
    (rule,) = _granted(asked, Allow(scope="session"))
    again = {**EVENT, **SECOND, "reason": "Once more?", "description": "Tests", "timeout": 9}
    assert allows(rule, _asked_by_id(again, "call_2", detail, description="Once more?"))
    for other in (
        {"command": ["bash", "-lc", "npm test; reboot"]},
        {"command": ["bash", "-lc"]},
        {"command": "bash -lc npm test"},
        {"cwd": "/etc"},
        {"env": {"PATH": "/evil"}},
        {"network_approval_context": {"host": "evil.test"}},
        {"reason": "command failed; retry without sandbox?"},
    ):
        assert not allows(rule, _asked_by_id({**again, **other}, "call_2", detail))


@pytest.mark.parametrize("command", [[], ["npm", 1], {"run": "npm"}, None])
def test_what_is_no_command_does_not_make_the_words_of_the_agent_silent(command: object) -> None:
    detail = CommandDetail(command="npm test")
    asked = _asked_by_id({**EVENT, "command": command}, "call_1", detail)
    (rule,) = _granted(asked, Allow(scope="session"))
    assert not allows(rule, msgspec.structs.replace(asked, description="and more"))
    assert not allows(rule, _asked_by_id({**EVENT, "command": command, "reason": "and more"}, "call_1", detail))


def test_ids_are_left_out_of_an_input_only_where_it_repeats_the_id_of_the_call() -> None:
    (edit,) = _granted(_asked_by_id({**SECOND, "changes": {"/a": 1}}, "call_2"), Allow(scope="session"))
    assert allows(edit, _asked_by_id({"call_id": "call_3", "turn_id": "3", "changes": {"/a": 1}}, "call_3"))
    assert not allows(edit, _asked_by_id({"call_id": "call_3", "turn_id": "3", "changes": {"/b": 1}}, "call_3"))
    (phone,) = _granted(_asked_by_id({"call_id": "ada"}, "call_1"), Allow(scope="session"))
    assert allows(phone, _asked_by_id({"call_id": "ada"}, "call_2"))
    assert not allows(phone, _asked_by_id({"call_id": "bob"}, "call_2")), "a parameter of the tool"
    (changed,) = _granted(_asked(command="ls", turn_id="1"), Allow(scope="session"))
    assert not allows(changed, _asked(command="ls", turn_id="2")), "an engine that runs the input as it is"


def test_what_an_agent_shows_beside_its_input_is_part_of_the_call() -> None:
    yes = RequestOption(id="yes", label="Yes", kind="allow_once")

    def asked(**facts: object) -> Request:
        shown = FileChangeDetail(changes=(FileChange(path="notes.py", new_text="print(1)"),))
        plain = Request(
            id=RequestId("r"), kind="permission", title="notes.py", tool="edit", options=(yes,), detail=shown
        )
        return msgspec.structs.replace(plain, **facts)

    (rule,) = _granted(asked(), Allow(scope="session"))
    assert allows(rule, asked(id=RequestId("another"), reason="why not"))
    for other in (
        asked(detail=FileChangeDetail(changes=(FileChange(path="notes.py", new_text="evil()"),))),
        asked(content=(OtherBlock(kind="_odd", raw=msgspec.Raw(b"{}")),)),
        asked(title="other.py"),
        asked(description="and send it"),
        asked(tool="delete"),
    ):
        assert not allows(rule, other)


def test_a_rule_of_an_older_version_allows_what_has_its_subject_and_nothing_else() -> None:
    def old(**facts: object) -> SessionRule:
        return msgspec.structs.replace(SessionRule(id=RuleId("old"), label="", tool="edit"), **facts)

    assert allows(old(subject="make"), _asked(tool="edit", command="make"))
    assert not allows(old(subject="make"), _asked(tool="edit", command="make", cwd="/etc"))
    assert not allows(old(subject="notes.py"), _asked(tool="edit", file_path="notes.py", content="evil()"))
    shown = FileChangeDetail(changes=(FileChange(path="notes.py", new_text="evil()"),))
    for given in (old(subject="notes.py"), old(input=msgspec.Raw(b'{"file_path":"notes.py"}'))):
        assert not allows(given, msgspec.structs.replace(_asked(tool="edit", file_path="notes.py"), detail=shown))
    kept = old(input=msgspec.Raw(b'{"table":"old","force":false}'))
    assert allows(kept, _asked(tool="edit", force=False, table="old"))
    assert not allows(kept, _asked(tool="edit", force=0, table="old"))


UNREADABLE_INPUTS = (
    b'{"command":"\\ud800"}',
    b'{"command":"\xff"}',
    b'{"a":' + b"[" * 5000 + b"]" * 5000 + b"}",
    b'{"a":1e400}',
)


@pytest.mark.parametrize("raw", UNREADABLE_INPUTS)
def test_a_rule_of_an_older_version_whose_input_cannot_be_read_allows_nothing(raw: bytes) -> None:
    rule = SessionRule(id=RuleId("old"), label="", tool="some", input=msgspec.Raw(raw))
    asked = _asked(tool="some", table="old")
    assert not allows(rule, asked)
    assert not allows(rule, msgspec.structs.replace(asked, input=msgspec.Raw(raw)))
    assert not allows(rule, msgspec.structs.replace(asked, input=None))


@pytest.mark.parametrize("raw", UNREADABLE_INPUTS)
def test_an_input_that_cannot_be_read_allows_no_other(raw: bytes) -> None:
    asked = msgspec.structs.replace(_asked(tool="some"), input=msgspec.Raw(raw))
    (rule,) = _granted(asked, Allow(scope="exact"))
    assert not allows(rule, msgspec.structs.replace(asked, input=msgspec.Raw(raw + b" ")))
    assert not allows(rule, _asked(tool="some"))


def test_a_call_that_leaves_the_engine_s_sandbox_is_another_call() -> None:
    (rule,) = _granted(_asked(command="ls"), Allow(scope="exact"))
    assert not allows(rule, _asked(command="ls", dangerouslyDisableSandbox=True))
    assert not allows(rule, _asked(command="ls", dangerouslyDisableSandbox="who knows"))
    assert not allows(rule, _asked(command="ls", networkApprovalContext={"host": "evil.test", "protocol": "https"}))
    assert not allows(rule, _asked(command="ls", additionalPermissions={"network": {"enabled": True}}))


def test_a_proposed_rule_is_held_by_the_engine() -> None:
    asked = _asked(command="ls", suggestions=(LOCAL, MODE))
    (rule,) = _granted(asked, Allow(scope="session"))
    assert rule == SessionRule(
        id=RuleId("rule-1"), label="Allow Bash(ls *)", tool="Bash", engine_rule=RULE, request=RequestId("r")
    )
    assert not allows(rule, asked)


def test_a_rule_that_is_kept_in_the_folder_is_taken_for_the_session_too() -> None:
    (rule,) = _granted(_asked(command="ls", suggestions=(LOCAL,)), Allow(scope="always"))
    assert (rule.engine_rule, rule.kept) == (RULE, "local")
    assert _granted(_asked(command="ls", suggestions=(USER,)), Allow(scope="always")) == ()


def test_a_change_of_the_mode_is_no_rule() -> None:
    assert _granted(_asked(command="ls", suggestions=(MODE,)), Allow(scope="session")) == ()


def test_an_option_means_the_answer_that_it_stands_for() -> None:
    option = RequestOption(id="suggestion:0", label="", means=Allow(scope="session", suggestion=0))
    asked = msgspec.structs.replace(_asked(command="ls", suggestions=(LOCAL,)), options=(option,))
    (rule,) = _granted(asked, Choose(option="suggestion:0"))
    assert rule.engine_rule == RULE


# -------------------------------------------------------------------------------------------------- plans


def test_the_prompts_of_a_plan_are_granted_one_by_one() -> None:
    assert _granted(PLAN, Allow()) == ()
    (rule,) = _granted(PLAN, Allow(prompts=(1,)))
    assert rule == SessionRule(
        id=RuleId("rule-1"),
        label="What the plan asks for: Bash: npm test",
        tool="Bash",
        prompt="npm test",
        request=RequestId("p"),
    )
    assert [each.prompt for each in _granted(PLAN, Allow(prompts=(0, 1, 0)))] == ["run tests", "npm test"]
    with pytest.raises(InvalidValue, match="below 2"):
        _granted(PLAN, Allow(prompts=(2,)))
    with pytest.raises(InvalidValue, match="below 0"):
        _granted(_asked(command="ls"), Allow(prompts=(0,)))


@pytest.mark.parametrize(
    ("prompt", "command", "allowed"),
    [
        ("npm test", "npm test", True),
        ("run `npm test` or `make check`", "make check", True),
        ("npm test", "npm test; reboot", False),
        ("npm test", "npm testing", False),
        ("run `npm test`", "npm", False),
        ("run tests", "pytest", False),
        ("run tests", "", False),
    ],
)
def test_a_granted_prompt_allows_only_the_command_that_it_spells_out(prompt: str, command: str, allowed: bool) -> None:
    rule = SessionRule(id=RuleId("rule"), label="", tool="Bash", prompt=prompt)
    assert allows(rule, _asked(command=command)) is allowed
    assert not allows(rule, _asked(tool="PowerShell", command=command))


def test_a_granted_prompt_that_names_a_file_does_not_allow_what_is_written_there() -> None:
    rule = SessionRule(id=RuleId("rule"), label="", tool="Write", prompt="notes.py")
    assert not allows(rule, _asked(tool="Write", file_path="notes.py", content="evil()"))
    assert not allows(msgspec.structs.replace(rule, tool="Bash", prompt="make"), _asked(command="make", cwd="/etc"))


@pytest.mark.parametrize(
    ("description", "marked"),
    [
        ("Run tests", "run tests"),
        ("First, run tests.", "run tests"),
        ("Rerun tests", ""),
        ("Run the tests", ""),
        ("", ""),
    ],
)
def test_a_call_that_the_agent_describes_in_granted_words_is_marked_and_not_allowed(
    description: str, marked: str
) -> None:
    rule = SessionRule(id=RuleId("rule"), label="", tool="Bash", prompt="run tests")
    asked = msgspec.structs.replace(_asked(command="rm -rf /"), description=description)
    assert plan_prompt(asked, (rule,)) == marked
    assert plan_prompt(msgspec.structs.replace(asked, tool="Write"), (rule,)) == ""
    assert not allows(rule, asked)


def test_the_subject_is_what_the_call_is_about() -> None:
    assert subject_of(_asked(tool="Write", file_path="/a", x=1)) == "/a"
    assert subject_of(_asked(command="ls")) == "ls"
    assert subject_of(_asked(command=3)) == ""


def test_a_suggestion_that_does_not_exist_allows_nothing() -> None:
    for number in (1, -1):
        assert _granted(_asked(command="ls", suggestions=(LOCAL,)), Allow(scope="session", suggestion=number)) == ()
