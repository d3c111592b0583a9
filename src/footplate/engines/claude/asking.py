"""What the CLI asks of a person, as a request: a permission, questions, a plan. Pure.

The options of a request are ways to answer by one choice; `control.answer_frame` knows what each one means. Of the
rules that the CLI proposes a person picks one at a time: all of them together would switch the mode as well.
"""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from footplate.engines.claude.lenient import read, read_struct
from footplate.engines.claude.toolbox import INPUT as TOOL_INPUT
from footplate.engines.claude.toolbox import describe_call, questions_of
from footplate.engines.claude.wire import RAWS, Part
from footplate.events.base import OptionalRaw
from footplate.events.ids import RequestId, ToolCallId
from footplate.events.requests import OptionKind, Request, RequestKind, RequestOption, Suggestion

ALLOW: Final = "allow"
ACCEPT_EDITS: Final = "allow_accept_edits"
SUGGESTION: Final = "suggestion:"
DENY: Final = "deny"
DENY_AND_STOP: Final = "deny_and_stop"

Destination = Literal["session", "local", "project", "user", ""]
DESTINATIONS: Final[dict[str, Destination]] = {
    "session": "session",
    "localSettings": "local",
    "projectSettings": "project",
    "userSettings": "user",
}
KINDS: Final[dict[str, RequestKind]] = {"askuserquestion": "question", "exitplanmode": "plan"}


class CanUseTool(Part, frozen=True, kw_only=True):
    """The CLI asks whether a tool may run."""

    subtype: str = ""
    tool_name: str = ""
    display_name: str = ""
    tool_use_id: str = ""
    input: OptionalRaw = None
    description: str = ""
    decision_reason: str = ""
    decision_reason_type: str = ""
    blocked_path: str = ""
    agent_id: str = ""
    permission_suggestions: OptionalRaw = None


class Rule(Part, frozen=True, kw_only=True, rename="camel"):
    """One permission rule."""

    tool_name: str = ""
    rule_content: str = ""


class SuggestionWire(Part, frozen=True, kw_only=True):
    """A lasting change that the CLI proposes."""

    type: str = ""
    rules: tuple[Rule, ...] = ()
    behavior: str = ""
    directories: tuple[str, ...] = ()
    mode: str = ""
    destination: str = ""


class AllowedPrompt(Part, frozen=True, kw_only=True):
    """Something that a plan asks to be allowed with it."""

    tool: str = ""
    prompt: str = ""


class PlanInput(Part, frozen=True, kw_only=True, rename="camel"):
    """The part of a plan's input that no title needs."""

    allowed_prompts: tuple[AllowedPrompt, ...] = ()


ASKED: Final = msgspec.json.Decoder(CanUseTool)
SUGGESTED: Final = msgspec.json.Decoder(SuggestionWire)
PLAN_INPUT: Final = msgspec.json.Decoder(PlanInput)


def read_request(name: str, asked: CanUseTool, cwd: str) -> Request:
    """The request behind a `can_use_tool`; `name` is the id of the control request."""
    kind = KINDS.get(asked.tool_name.lower(), "permission")
    given = None if asked.input is None else asked.input.copy()
    suggestions = _suggestions(asked.permission_suggestions)
    told = read_struct(TOOL_INPUT, given)
    plan = read_struct(PLAN_INPUT, given) if kind == "plan" else None
    return Request(
        id=RequestId(name),
        kind=kind,
        title=describe_call(asked.tool_name, given, cwd).title,
        tool=asked.tool_name,
        call=ToolCallId(asked.tool_use_id) if asked.tool_use_id else None,
        agent=asked.agent_id,
        description=asked.description,
        reason=asked.decision_reason,
        reason_type=asked.decision_reason_type,
        blocked_path=asked.blocked_path,
        input=given,
        options=_OPTIONS[kind] if kind != "permission" else permission_options(suggestions),
        suggestions=suggestions,
        questions=questions_of(told.questions) if kind == "question" and told is not None else (),
        plan=told.plan if kind == "plan" and told is not None else "",
        plan_file=told.plan_file_path if kind == "plan" and told is not None else "",
        allowed_prompts=tuple(f"{entry.tool}: {entry.prompt}" for entry in plan.allowed_prompts) if plan else (),
    )


def permission_options(suggestions: tuple[Suggestion, ...]) -> tuple[RequestOption, ...]:
    """Once, by one of the proposed rules, or not."""
    lasting = tuple(
        RequestOption(
            id=f"{SUGGESTION}{index}",
            label=suggestion.label,
            kind="allow_session" if suggestion.destination == "session" else "allow_always",
        )
        for index, suggestion in enumerate(suggestions)
    )
    return (_option(ALLOW, "Allow once", "allow_once"), *lasting, *_REFUSALS)


def _suggestions(raw: msgspec.Raw | None) -> tuple[Suggestion, ...]:
    found: list[Suggestion] = []
    for each in read(RAWS, raw) or ():
        wire = read_struct(SUGGESTED, each)
        if wire is not None:
            destination = DESTINATIONS.get(wire.destination, "")
            found.append(Suggestion(label=_label(wire, destination), destination=destination, raw=each.copy()))
    return tuple(found)


def _label(wire: SuggestionWire, destination: Destination) -> str:
    """What picking the suggestion does, in words."""
    where = {"session": "for this session", "": ""}.get(destination, f"always ({destination} settings)")
    if wire.type == "addRules":
        rules = ", ".join(_rule(rule) for rule in wire.rules)
        return f"{wire.behavior.capitalize() or 'Allow'} {rules} {where}".strip()
    if wire.type == "addDirectories":
        return f"Allow access to {', '.join(wire.directories)} {where}".strip()
    if wire.type == "setMode":
        return f"Switch to mode {wire.mode} {where}".strip()
    return f"{wire.type} {where}".strip()


def _rule(rule: Rule) -> str:
    return f"{rule.tool_name}({rule.rule_content})" if rule.rule_content else rule.tool_name


def _option(name: str, label: str, kind: OptionKind) -> RequestOption:
    return RequestOption(id=name, label=label, kind=kind)


_REFUSALS: Final = (_option(DENY, "Deny", "deny"), _option(DENY_AND_STOP, "Deny and stop", "deny_and_stop"))
_OPTIONS: Final[dict[RequestKind, tuple[RequestOption, ...]]] = {
    "question": (_option(DENY, "Do not answer", "deny"),),
    "plan": (
        _option(ALLOW, "Approve, ask before edits", "allow_once"),
        _option(ACCEPT_EDITS, "Approve and accept edits", "allow_session"),
        _option(DENY, "Keep planning", "deny"),
    ),
}
