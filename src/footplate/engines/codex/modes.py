"""Modes of Codex: when it asks and what its commands may touch, under one name each. Pure values."""

from __future__ import annotations

from typing import Final

import msgspec

from footplate.engines.codex.wire import ThreadOpened
from footplate.errors import InvalidValue


class Mode(msgspec.Struct, frozen=True, kw_only=True):
    """What a mode means on the wire: `sandbox` to open a thread, `policy` to begin a turn; empty: as it is."""

    approval: str = ""
    sandbox: str = ""
    policy: str = ""
    plan: bool = False
    description: str = ""


OWN: Final = "config"
"""The mode in which Codex's own settings decide, and which stands for every mixture that has no name."""

MODES: Final = {
    OWN: Mode(description="as Codex's own settings have it"),
    "ask": Mode(
        approval="untrusted",
        description="asks before everything but harmless reading",
    ),
    "read-only": Mode(
        approval="on-request", sandbox="read-only", policy="readOnly", description="reads; asks for anything else"
    ),
    "workspace-write": Mode(
        approval="on-request",
        sandbox="workspace-write",
        policy="workspaceWrite",
        description="works in its folder; asks for anything else",
    ),
    "danger-full-access": Mode(
        approval="never",
        sandbox="danger-full-access",
        policy="dangerFullAccess",
        description="no sandbox, and asks nothing",
    ),
    "plan": Mode(
        approval="on-request",
        sandbox="read-only",
        policy="readOnly",
        plan=True,
        description="asks questions and makes a plan, changes nothing",
    ),
}
EFFORTS: Final = ("minimal", "low", "medium", "high", "xhigh")


def find_mode(name: str) -> Mode | None:
    """The mode of that name; None when Codex's own settings are to decide. Raises `InvalidValue`."""
    if name in ("", OWN):
        return None
    if name not in MODES:
        raise InvalidValue("mode", name, f"one of {', '.join(MODES)}")
    return MODES[name]


def check_effort(effort: str) -> str:
    """The effort itself. Raises `InvalidValue`."""
    if effort and effort not in EFFORTS:
        raise InvalidValue("effort", effort, f"one of {', '.join(EFFORTS)}")
    return effort


def name_mode(opened: ThreadOpened) -> str:
    """The mode that fits what a thread was opened with."""
    raw = opened.approval_policy
    try:
        approval = "" if raw is None else msgspec.json.decode(raw, type=str)
    except msgspec.ValidationError:
        return OWN
    for name, mode in MODES.items():
        if mode.approval == approval and mode.policy in ("", opened.sandbox.type) and not mode.plan:
            return name
    return OWN
