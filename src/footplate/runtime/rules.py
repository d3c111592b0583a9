"""Rules that answer a permission before anybody is asked: the operator's, then those of the session. Pure.

A rule names a tool and, if it likes, a pattern for what the call is about: the command of a command line, the path of a
file, the address of a page. The first rule that fits decides. In plan mode what would change something is refused by
us, because the engine itself would do it if allowed. What no rule speaks of is asked; nothing is allowed by default.
Rules of a session only ever allow, and only what a person has seen: see `grants`.
"""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

import msgspec

from footplate.config.rules import Rule
from footplate.events.requests import Allow, Answer, Deny, Request
from footplate.events.rules import SessionRule
from footplate.runtime.grants import allows, subject_of

PLAN = "plan"
FORBIDDEN = "A rule of the operator forbids this."
PLAN_REFUSAL = "Plan mode is on: nothing may be changed yet. Finish the plan and put it up for approval."


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """A rule's answer, and by which rule."""

    answer: Answer
    by: str


def decide(request: Request, *, mode: str, operator: Sequence[Rule], session: Sequence[SessionRule]) -> Verdict | None:
    """The answer that a rule gives, or None: then a person is asked. Questions and plans are always asked."""
    if request.kind != "permission":
        return None
    rule = next((rule for rule in operator if fits(rule, request)), None)
    if rule is not None and rule.decision == "deny":
        words = rule.message or FORBIDDEN
        return Verdict(answer=Deny(message=words), by=_name(rule))
    if mode == PLAN:
        refused = Verdict(answer=Deny(message=PLAN_REFUSAL), by="plan mode")
        return refused if request.reason_type == "mode" else None
    if rule is not None:
        return Verdict(answer=Allow(), by=_name(rule)) if rule.decision == "allow" else None
    granted = next((rule for rule in session if allows(rule, request)), None)
    return Verdict(answer=Allow(), by=f"rule of the session: {granted.label}") if granted is not None else None


def fits(rule: Rule, request: Request) -> bool:
    """Whether the rule speaks of the call that is asked for."""
    return fits_call(rule, request.tool, subject_of(request) if rule.pattern else "")


def fits_call(rule: Rule, tool: str, subject: str) -> bool:
    """Whether the rule speaks of this call. A command line with an operator in it fits no allowing wildcard."""
    if not fnmatchcase(tool.lower(), rule.tool.lower()):
        return False
    if not rule.pattern:
        return True
    if rule.decision == "allow" and _is_compound(subject) and not _is_literal(rule.pattern):
        return False
    return fnmatchcase(subject, rule.pattern)


def _is_literal(pattern: str) -> bool:
    """Whether the glob fits one text only."""
    for escaped in ("[*]", "[?]", "[[]"):
        pattern = pattern.replace(escaped, "")
    return not any(char in pattern for char in "*?[")


def _is_compound(command: str) -> bool:
    """`git status; rm -rf /` must not pass as `git status*`."""
    return any(mark in command for mark in (";", "&", "|", "`", "$(", "\n", ">", "<"))


def _name(rule: Rule) -> str:
    return f"rule of the operator: {rule.decision} {rule.tool}" + (f" {rule.pattern}" if rule.pattern else "")
