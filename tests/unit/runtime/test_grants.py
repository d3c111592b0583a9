"""What an answer allows beyond the one call: never what the person did not see."""

from __future__ import annotations

import itertools

import msgspec
import pytest

from footplate.errors import InvalidValue
from footplate.events.ids import RequestId, RuleId
from footplate.events.requests import Allow, Answer, Choose, Deny, Reply, Request, RequestOption, Suggestion
from footplate.events.rules import SessionRule
from footplate.runtime.grants import allows, granted, plan_prompt, subject_of

RULE = msgspec.Raw(b'{"type":"addRules"}')
LOCAL = Suggestion(label="Allow Bash(ls *) always", destination="local", raw=RULE, allows="Allow Bash(ls *)")
USER = Suggestion(label="Allow Bash(ls *) always", destination="user", raw=RULE, allows="Allow Bash(ls *)")
MODE = Suggestion(label="Switch to mode acceptEdits", destination="session", raw=msgspec.Raw(b'{"type":"setMode"}'))
PLAN = Request(id=RequestId("p"), kind="plan", title="plan", allowed_prompts=("Bash: run tests", "Bash: npm test"))


def _asked(tool: str = "Bash", suggestions: tuple[Suggestion, ...] = (), **given: object) -> Request:
    return Request(
        id=RequestId("r"),
        kind="permission",
        title="a call",
        tool=tool,
        input=msgspec.Raw(msgspec.json.encode(given)),
        suggestions=suggestions,
    )


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


def test_a_tool_without_a_subject_is_allowed_with_just_this_input() -> None:
    (rule,) = _granted(_asked(tool="mcp__db__drop", table="old", force=False), Allow(scope="exact"))
    assert allows(rule, _asked(tool="mcp__db__drop", force=False, table="old"))
    assert not allows(rule, _asked(tool="mcp__db__drop", table="users", force=False))
    assert not allows(rule, Request(id=RequestId("r"), kind="permission", title="", tool="mcp__db__drop"))


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
