"""The operator's rules where an engine would not ask: a hook of ours that it calls before each tool.

An engine has rules of its own (a folder's settings, "always" of last week, a mode that asks nothing), and what those
allow never becomes a request. So where the operator forbids something, or wants to be asked, the engine is told to call
us before each tool: what a rule forbids is refused, what a rule wants asked is asked, all else goes its usual way.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from footplate.config.rules import Rule
from footplate.engines.base import HookSpec
from footplate.runtime.grants import subject_in
from footplate.runtime.rules import FORBIDDEN, fits_call

GUARD: Final = "footplate.rules"
"""The name of the hook."""

BEFORE_TOOL: Final = "PreToolUse"
UNREADABLE: Final = "Footplate could not read the call, so the operator's rules could not be asked."
WANTED: Final = "A rule of the operator wants to be asked."
NO_OPINION: Final = msgspec.Raw(b"{}")


class ToolUse(msgspec.Struct, frozen=True):
    """What the engine says of the call that it is about to make."""

    tool_name: str = ""
    tool_input: msgspec.Raw = msgspec.Raw(b"{}")


def guard_hooks(rules: Sequence[Rule]) -> tuple[HookSpec, ...]:
    """The hook, where a rule could be passed by; rules that only allow need none."""
    if all(rule.decision == "allow" for rule in rules):
        return ()
    return (HookSpec(event=BEFORE_TOOL, name=GUARD),)


def judge(given: msgspec.Raw, rules: Sequence[Rule]) -> msgspec.Raw:
    """What the first rule that fits says of the call, as the engine's hooks say it."""
    try:
        use = msgspec.json.decode(given, type=ToolUse)
    except msgspec.DecodeError:
        return _say("deny", UNREADABLE)
    subject = subject_in(use.tool_input)
    rule = next((rule for rule in rules if fits_call(rule, use.tool_name, subject)), None)
    if rule is None or rule.decision == "allow":
        return NO_OPINION
    return _say(rule.decision, rule.message or FORBIDDEN if rule.decision == "deny" else WANTED)


def _say(decision: str, words: str) -> msgspec.Raw:
    said = {"hookEventName": BEFORE_TOOL, "permissionDecision": decision, "permissionDecisionReason": words}
    return msgspec.Raw(msgspec.json.encode({"hookSpecificOutput": said}))
