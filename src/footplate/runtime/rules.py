"""Rules that answer a permission before anybody is asked: the operator's, then those of the session. Pure.

A rule names a tool and, if it likes, a pattern for what the call is about: the command of a command line, the path of a
file, the address of a page. The first rule that fits decides. In plan mode what would change something is refused by
us, because the engine itself would do it if allowed. What no rule speaks of is asked; nothing is allowed by default.
"""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

import msgspec

from footplate.config.rules import Rule
from footplate.events.requests import Allow, Answer, Deny, Request

PLAN = "plan"
PLAN_REFUSAL = "Plan mode is on: nothing may be changed yet. Finish the plan and put it up for approval."
SUBJECTS = ("command", "file_path", "path", "notebook_path", "url", "query", "pattern")
"""The fields of a tool's input that say what a call is about, the most telling first."""


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """A rule's answer, and by which rule."""

    answer: Answer
    by: str


class _Subject(msgspec.Struct):
    command: str = ""
    file_path: str = ""
    path: str = ""
    notebook_path: str = ""
    url: str = ""
    query: str = ""
    pattern: str = ""


def subject_of(request: Request) -> str:
    """What a call is about, as a text to match."""
    if request.input is None:
        return ""
    try:
        given = msgspec.json.decode(request.input, type=_Subject)
    except msgspec.ValidationError:
        return ""
    return next((value for name in SUBJECTS if (value := getattr(given, name))), "")


def decide(request: Request, *, mode: str, operator: Sequence[Rule], session: Sequence[Rule]) -> Verdict | None:
    """The answer that a rule gives, or None: then a person is asked. Questions and plans are always asked."""
    if request.kind != "permission":
        return None
    for owner, rules in (("operator", operator), ("session", session)):
        rule = next((rule for rule in rules if fits(rule, request)), None)
        if rule is None:
            continue
        if rule.decision == "deny":
            words = rule.message or f"A rule of the {owner} forbids this."
            return Verdict(answer=Deny(message=words), by=_name(owner, rule))
        if rule.decision == "ask":
            break
        if mode != PLAN:
            return Verdict(answer=Allow(), by=_name(owner, rule))
    if mode == PLAN and request.reason_type == "mode":
        return Verdict(answer=Deny(message=PLAN_REFUSAL), by="plan mode")
    return None


def fits(rule: Rule, request: Request) -> bool:
    """Whether the rule speaks of this call. A command line with an operator in it fits no allowing wildcard."""
    if not fnmatchcase(request.tool.lower(), rule.tool.lower()):
        return False
    if not rule.pattern:
        return True
    subject = subject_of(request)
    if rule.decision == "allow" and _is_compound(subject) and not _is_literal(rule.pattern):
        return False
    return fnmatchcase(subject, rule.pattern)


def session_rule(request: Request) -> Rule:
    """The rule that "allow for this session" makes where the engine proposes none: this tool, exactly this subject."""
    return Rule(tool=request.tool, pattern=_literal(subject_of(request)), decision="allow")


def _literal(text: str) -> str:
    """The text as a glob that fits itself and nothing else."""
    return "".join(f"[{char}]" if char in "*?[" else char for char in text)


def _is_literal(pattern: str) -> bool:
    """Whether the glob fits one text only."""
    for escaped in ("[*]", "[?]", "[[]"):
        pattern = pattern.replace(escaped, "")
    return not any(char in pattern for char in "*?[")


def _is_compound(command: str) -> bool:
    """`git status; rm -rf /` must not pass as `git status*`."""
    return any(mark in command for mark in (";", "&", "|", "`", "$(", "\n", ">", "<"))


def _name(owner: str, rule: Rule) -> str:
    return f"rule of the {owner}: {rule.decision} {rule.tool}" + (f" {rule.pattern}" if rule.pattern else "")
