"""Rules that answer before anybody is asked: what they allow, what they never allow."""

from __future__ import annotations

import msgspec
import pytest

from footplate.config.rules import Rule
from footplate.events.ids import RequestId, RuleId
from footplate.events.requests import Allow, Deny, Request
from footplate.events.rules import SessionRule
from footplate.runtime.guard import GUARD, NO_OPINION, guard_hooks, judge
from footplate.runtime.rules import PLAN_REFUSAL, Verdict, decide


def _bash(command: str, **fields: object) -> Request:
    given = msgspec.Raw(msgspec.json.encode({"command": command}))
    return Request(id=RequestId("r"), kind="permission", title=command, tool="Bash", input=given, **fields)  # type: ignore[arg-type]


def _decide(
    request: Request, *rules: Rule, mode: str = "default", session: tuple[SessionRule, ...] = ()
) -> Verdict | None:
    return decide(request, mode=mode, operator=rules, session=session)


GIT = Rule(tool="Bash", pattern="git status*", decision="allow")


def test_without_a_rule_a_person_is_asked() -> None:
    assert _decide(_bash("ls")) is None


def test_a_rule_allows_and_is_named_as_the_answerer() -> None:
    assert _decide(_bash("git status -s"), GIT) == Verdict(
        answer=Allow(), by="rule of the operator: allow Bash git status*"
    )


@pytest.mark.parametrize(
    "command",
    [
        "git status; rm -rf /",
        "git status && curl evil",
        "git status | sh",
        "git status `reboot`",
        "git status $(reboot)",
        "git status\nreboot",
        "git status > /etc/passwd",
        "git status & reboot",
    ],
)
def test_a_wildcard_never_lets_a_second_command_through(command: str) -> None:
    assert _decide(_bash(command), GIT) is None


def test_a_denying_rule_speaks_of_compound_commands_too() -> None:
    rule = Rule(tool="Bash", pattern="*rm -rf*", decision="deny", message="no")
    verdict = _decide(_bash("true && rm -rf x"), rule)
    assert verdict is not None
    assert verdict.answer == Deny(message="no")


def test_the_first_rule_that_fits_decides() -> None:
    ask = Rule(tool="Bash", pattern="git push*", decision="ask")
    allow = Rule(tool="Bash", pattern="git *", decision="allow")
    assert _decide(_bash("git push origin"), ask, allow) is None
    assert _decide(_bash("git log"), ask, allow) is not None


def test_the_operators_rules_come_before_those_of_the_session() -> None:
    deny = Rule(tool="Bash", decision="deny")
    granted = SessionRule(id=RuleId("rule"), label="Allow Bash: ls", tool="Bash", subject="ls")
    assert _decide(_bash("ls"), session=(granted,)) == Verdict(answer=Allow(), by="rule of the session: Allow Bash: ls")
    assert _decide(_bash("ls"), Rule(tool="Bash", decision="ask"), session=(granted,)) is None
    verdict = _decide(_bash("ls"), deny, session=(granted,))
    assert verdict is not None
    assert isinstance(verdict.answer, Deny)


def test_in_plan_mode_what_changes_something_is_refused_by_us() -> None:
    verdict = _decide(_bash("touch x", reason_type="mode"), mode="plan")
    assert verdict == Verdict(answer=Deny(message=PLAN_REFUSAL), by="plan mode")


def test_in_plan_mode_an_unknown_reason_is_asked_and_never_allowed() -> None:
    assert _decide(_bash("touch x", reason_type="other"), mode="plan") is None
    assert _decide(_bash("git status", reason_type="other"), GIT, mode="plan") is None
    granted = SessionRule(id=RuleId("rule"), label="", tool="Bash", subject="touch x")
    assert _decide(_bash("touch x", reason_type="other"), session=(granted,), mode="plan") is None


def test_questions_and_plans_are_always_asked() -> None:
    everything = Rule(tool="*", decision="allow")
    question = Request(id=RequestId("q"), kind="question", title="?", tool="AskUserQuestion")
    plan = Request(id=RequestId("p"), kind="plan", title="plan", tool="ExitPlanMode")
    assert _decide(question, everything) is None
    assert _decide(plan, everything) is None


# ------------------------------------------------------------------------------------------------ where no engine asks


def _judge(command: str, *rules: Rule) -> dict[str, str] | None:
    given = {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": command}}
    said = judge(msgspec.Raw(msgspec.json.encode(given)), rules)
    return None if said == NO_OPINION else msgspec.json.decode(said)["hookSpecificOutput"]


def test_an_engine_is_to_call_before_each_tool_only_where_a_rule_could_be_passed_by() -> None:
    assert guard_hooks(()) == guard_hooks((GIT,)) == ()
    for decision in ("deny", "ask"):
        (hook,) = guard_hooks((GIT, Rule(tool="Bash", decision=decision)))
        assert (hook.name, hook.event, hook.matcher) == (GUARD, "PreToolUse", "")


def test_before_a_tool_the_first_rule_that_fits_forbids_asks_or_has_no_opinion() -> None:
    rules = (
        GIT,
        Rule(tool="Bash", pattern="git push*", decision="ask"),
        Rule(tool="Bash", pattern="git *", decision="deny", message="No."),
        Rule(tool="Bash", pattern="rm *", decision="deny"),
    )
    assert _judge("git status -s", *rules) is None
    assert _judge("ls", *rules) is None
    for command, decision, words in (
        ("git push origin", "ask", "asked"),
        ("git status; rm -rf /", "deny", "No."),
        ("rm -rf /", "deny", "A rule of the operator forbids this."),
    ):
        said = _judge(command, *rules)
        assert said is not None
        assert said["permissionDecision"] == decision
        assert words in said["permissionDecisionReason"]


def test_what_cannot_be_read_is_not_let_through() -> None:
    said = msgspec.json.decode(judge(msgspec.Raw(b'{"tool_name":7}'), (GIT,)))["hookSpecificOutput"]
    assert said["permissionDecision"] == "deny"
