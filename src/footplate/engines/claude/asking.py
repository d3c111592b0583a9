"""What the CLI asks of a person, as a request: a permission, questions, a plan. Pure.

The options of a request are ways to answer by one choice. Of the rules that the CLI proposes a person picks one at a
time: all of them together would switch the mode as well.
"""

from __future__ import annotations

from typing import Final

import msgspec

from footplate.engines.claude.lenient import read, read_struct
from footplate.engines.claude.toolbox import INPUT as TOOL_INPUT
from footplate.engines.claude.toolbox import describe_call, questions_of
from footplate.engines.claude.wire import RAWS, Part
from footplate.events.base import OptionalRaw
from footplate.events.ids import RequestId, ToolCallId
from footplate.events.requests import (
    Allow,
    Deny,
    Destination,
    OptionKind,
    Request,
    RequestKind,
    RequestOption,
    Scope,
    Suggestion,
)

ALLOW: Final = "allow"
ACCEPT_EDITS: Final = "allow_accept_edits"
ALLOW_PROMPTS: Final = "allow_prompts"
SUGGESTION: Final = "suggestion:"
DENY: Final = "deny"
DENY_AND_STOP: Final = "deny_and_stop"

DESTINATIONS: Final[dict[str, Destination]] = {
    "session": "session",
    "localSettings": "local",
    "projectSettings": "project",
    "userSettings": "user",
}
WHERE: Final[dict[str, str]] = {"session": "for this session", "": ""}
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
    described = describe_call(asked.tool_name, given, cwd)
    plan = read_struct(PLAN_INPUT, given) if kind == "plan" else None
    prompts = tuple(f"{entry.tool}: {entry.prompt}" for entry in plan.allowed_prompts) if plan else ()
    return Request(
        id=RequestId(name),
        kind=kind,
        title=described.title,
        tool=asked.tool_name,
        call=ToolCallId(asked.tool_use_id) if asked.tool_use_id else None,
        agent=asked.agent_id,
        description=asked.description,
        reason=asked.decision_reason,
        reason_type=asked.decision_reason_type,
        blocked_path=asked.blocked_path,
        input=given,
        detail=described.detail if kind == "permission" else None,
        options=request_options(kind, suggestions, prompts),
        suggestions=suggestions,
        questions=questions_of(told.questions) if kind == "question" and told is not None else (),
        plan=told.plan if kind == "plan" and told is not None else "",
        plan_file=told.plan_file_path if kind == "plan" and told is not None else "",
        allowed_prompts=prompts,
    )


def request_options(
    kind: RequestKind, suggestions: tuple[Suggestion, ...], prompts: tuple[str, ...]
) -> tuple[RequestOption, ...]:
    """The ways to answer a request of that kind by one choice."""
    if kind == "permission":
        return permission_options(suggestions)
    if kind == "question":
        return (_option(DENY, "Do not answer", "deny", Deny()),)
    granting = Allow(prompts=tuple(range(len(prompts))))
    wanted = (_option(ALLOW_PROMPTS, "Approve and allow what the plan asks for", "allow_session", granting),)
    return (
        _option(ALLOW, "Approve, ask before edits", "allow_once", Allow()),
        _option(ACCEPT_EDITS, "Approve and accept edits", "allow_session", Allow(mode="acceptEdits")),
        *(wanted if prompts else ()),
        _option(DENY, "Keep planning", "deny", Deny()),
    )


def permission_options(suggestions: tuple[Suggestion, ...]) -> tuple[RequestOption, ...]:
    """Once, by one of the proposed rules, or not."""
    lasting = tuple(_lasting(index, suggestion) for index, suggestion in enumerate(suggestions))
    return (_option(ALLOW, "Allow once", "allow_once", Allow()), *lasting, *_REFUSALS)


def _lasting(index: int, suggestion: Suggestion) -> RequestOption:
    scope: Scope = "session" if suggestion.destination == "session" else "always"
    kind: OptionKind = "allow_session" if scope == "session" else "allow_always"
    return _option(f"{SUGGESTION}{index}", suggestion.label, kind, Allow(scope=scope, suggestion=index))


def _suggestions(raw: msgspec.Raw | None) -> tuple[Suggestion, ...]:
    found: list[Suggestion] = []
    for each in read(RAWS, raw) or ():
        wire = read_struct(SUGGESTED, each)
        if wire is not None:
            destination = DESTINATIONS.get(wire.destination, "")
            what = _what(wire)
            label = f"{what} {WHERE.get(destination, f'always ({destination} settings)')}".strip()
            allows = what if can_hold(wire) else ""
            found.append(Suggestion(label=label, destination=destination, raw=each.copy(), allows=allows))
    return tuple(found)


def can_hold(wire: SuggestionWire) -> bool:
    """Whether it allows something that any later process can be given as well."""
    return wire.type == "addDirectories" or (wire.type == "addRules" and wire.behavior == "allow")


def _what(wire: SuggestionWire) -> str:
    """What picking the suggestion does, in words."""
    if wire.type == "addRules":
        return f"{wire.behavior.capitalize() or 'Allow'} {', '.join(map(rule_text, wire.rules))}"
    if wire.type == "addDirectories":
        return f"Allow access to {', '.join(wire.directories)}"
    return f"Switch to mode {wire.mode}" if wire.type == "setMode" else wire.type


def rule_text(rule: Rule) -> str:
    """A rule as the CLI's settings write it."""
    return f"{rule.tool_name}({rule.rule_content})" if rule.rule_content else rule.tool_name


def _option(name: str, label: str, kind: OptionKind, means: Allow | Deny) -> RequestOption:
    return RequestOption(id=name, label=label, kind=kind, means=means)


_REFUSALS: Final = (
    _option(DENY, "Deny", "deny", Deny()),
    _option(DENY_AND_STOP, "Deny and stop", "deny_and_stop", Deny(interrupt=True)),
)
