"""What a person's answer allows beyond the one call, and which later calls that covers. Pure.

A rule of ours never allows what the person did not see. "Exactly this" is one tool with one whole input, of which the
rule keeps a hash (`hash_call`); where the agent may show more than its input says, that is part of the call as well.
The prompt of a plan is a description in words and no pattern: it allows the call that says, letter for letter, what
the prompt says (`npm test`, or between backticks), and nothing else. A call that the agent merely *describes* in those
words is asked, marked with the prompt: the description is the agent's own and proves nothing.

A rule that was stored before rules had a hash knows one subject, or the input of a tool without one. It allows a call
that says no more than that.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable
from typing import Final

import msgspec

from footplate.errors import InvalidValue
from footplate.events.base import OptionalRaw
from footplate.events.ids import RuleId
from footplate.events.requests import Allow, Answer, Request
from footplate.events.rules import SessionRule, held_for_session, meaning, takes_changed_input
from footplate.events.tools import CommandDetail, FileChangeDetail
from footplate.store.chain import UNREADABLE

SUBJECTS: Final = ("command", "file_path", "path", "notebook_path", "url", "query", "pattern")
"""The fields of a tool's input that say what a call is about, the most telling first."""

SILENT: Final = ("description", "timeout")
"""The fields of a command's input that say nothing about what runs; of any other tool each field counts."""

CALL_IDS: Final = ("call_id", "callId", "tool_call_id", "toolCallId")
EVENT_IDS: Final = (*CALL_IDS, "turn_id", "turnId", "approval_id", "approvalId")
"""Ids that an agent puts into the input when it hands on its own event (codex-acp): they are new with each call."""

QUOTED: Final = re.compile(r"`([^`]+)`")
WORDS: Final = re.compile(r"\w+")


class _Subject(msgspec.Struct):
    command: str = ""
    file_path: str = ""
    path: str = ""
    notebook_path: str = ""
    url: str = ""
    query: str = ""
    pattern: str = ""


class _Risk(msgspec.Struct, rename="camel"):
    """How Claude Code and Codex name what a call is to be given beyond the sandbox."""

    dangerously_disable_sandbox: bool = False
    network_approval_context: OptionalRaw = None
    additional_permissions: OptionalRaw = None


def subject_of(request: Request) -> str:
    """What a call is about, as a text to match."""
    return subject_in(request.input) if request.input is not None else ""


def subject_in(tool_input: msgspec.Raw) -> str:
    """What a call with that input is about."""
    try:
        given = msgspec.json.decode(tool_input, type=_Subject)
    except UNREADABLE:
        return ""
    return next((value for name in SUBJECTS if (value := getattr(given, name))), "")


# ------------------------------------------------------------------------------------------------ granting


def granted(request: Request, answer: Answer, new_id: Callable[[], RuleId]) -> tuple[SessionRule, ...]:
    """The rules that an answer makes. Raises `InvalidValue` for a prompt that the plan does not have."""
    held = held_for_session(request, answer)
    answer = meaning(request, answer)
    if not isinstance(answer, Allow):
        return ()
    if answer.prompts:
        return tuple(_prompt_rule(request, number, new_id()) for number in dict.fromkeys(answer.prompts))
    if held is not None:
        kept = "" if answer.scope == "session" else held.destination
        label, tool = held.allows, request.tool
        return (SessionRule(id=new_id(), label=label, tool=tool, engine_rule=held.raw, kept=kept, request=request.id),)
    exact = answer.scope == "exact" or (answer.scope == "session" and not request.suggestions)
    return (_exact_rule(request, answer, new_id()),) if exact and request.kind == "permission" else ()


def _exact_rule(request: Request, answer: Allow, name: RuleId) -> SessionRule:
    """This tool, exactly this call: as it was changed, where it was. The subject is there to be read."""
    seen = msgspec.structs.replace(request, input=answer.updated_input or request.input)
    about = subject_of(seen) or request.title
    label = f"Allow {request.tool}: {about}" if about else f"Allow {request.tool}"
    more = "" if _sole_subject(seen) else ", exactly as it was asked"
    return SessionRule(
        id=name,
        label=label + more,
        tool=request.tool,
        subject=subject_of(seen),
        call_sha256=hash_call(seen),
        request=request.id,
    )


def _prompt_rule(request: Request, number: int, name: RuleId) -> SessionRule:
    prompts = request.allowed_prompts
    if not 0 <= number < len(prompts):
        raise InvalidValue("prompts", number, f"numbers of the plan's allowed prompts, below {len(prompts)}")
    tool, _, words = prompts[number].partition(": ")
    return SessionRule(
        id=name, label=f"What the plan asks for: {prompts[number]}", tool=tool, prompt=words, request=request.id
    )


# ------------------------------------------------------------------------------------------------ covering


def allows(rule: SessionRule, request: Request) -> bool:
    """Whether the rule allows this call without a question."""
    if rule.engine_rule is not None or rule.tool != request.tool or _leaves_sandbox(request):
        return False
    if rule.call_sha256:
        return rule.call_sha256 == hash_call(request)
    if rule.prompt:
        subject = _sole_subject(request).strip()
        return bool(subject) and subject in (rule.prompt.strip(), *QUOTED.findall(rule.prompt))
    if rule.subject:
        return _sole_subject(request) == rule.subject
    if rule.input is None or _shows_more(request):
        return False
    kept = _decode(rule.input)
    return kept is not None and _canonical(kept) == _canonical(_read_input(request)[0])


def hash_call(request: Request) -> str:
    """The SHA-256 of all that a call says of what will happen: equal for the same call, however its JSON is written.

    An engine that takes a changed input runs the input and nothing else. Any other agent may say in the title, the
    words, the changes or the content what its input leaves out, except where the input has the whole command.
    """
    given, named = _read_input(request)
    beside: tuple[object, ...] = ()
    if not takes_changed_input(request):
        changes = request.detail.changes if isinstance(request.detail, FileChangeDetail) else ()
        words = () if named else (request.title, request.description)
        beside = (*words, changes, request.content)
    return hashlib.sha256(_canonical((given, beside))).hexdigest()


def _canonical(value: object) -> bytes:
    return msgspec.json.encode(value, order="deterministic")


def _decode(raw: OptionalRaw) -> object:
    """What it says; None where there is nothing, or nothing that can be read."""
    try:
        return msgspec.json.decode(raw) if raw is not None else None
    except UNREADABLE:
        return None


def _read_input(request: Request) -> tuple[object, bool]:
    """The input without what says nothing, and whether it is that of a command; one that is no JSON as it is."""
    given = _decode(request.input)
    if given is None and request.input is not None:
        return bytes(request.input).hex(), False
    if not isinstance(given, dict):
        return given, False
    named = isinstance(request.detail, CommandDetail) and _is_command(given.get("command"))
    silent = _silent_fields(request, given, named=named)
    return {name: value for name, value in given.items() if name not in silent}, named


def _is_command(given: object) -> bool:
    """A command line, or a program with its arguments."""
    return isinstance(given, str) or (
        isinstance(given, list) and len(given) > 0 and all(isinstance(word, str) for word in given)
    )


def _silent_fields(request: Request, given: dict[str, object], *, named: bool) -> tuple[str, ...]:
    """The fields that say nothing about what runs.

    A tool of any kind may have a parameter called `call_id`. Ids are left out of a command only, and of an input that
    repeats the id of the call and so is the agent's own event. The reason of a command is a text of the model's, but an
    agent that only says there that the command leaves the sandbox (Codex's "retry without sandbox?") has said so.
    """
    silent = SILENT if named else ()
    if takes_changed_input(request):
        return silent
    if named and "sandbox" not in str(given.get("reason", "")).casefold():
        silent = (*silent, "reason")
    own = request.call is not None and request.call in (given.get(name) for name in CALL_IDS)
    return (*silent, *EVENT_IDS) if named or own else silent


def _sole_subject(request: Request) -> str:
    """What a call is about, where it says nothing else; else empty."""
    given, _ = _read_input(request)
    return subject_of(request) if isinstance(given, dict) and len(given) == 1 and not _shows_more(request) else ""


def _shows_more(request: Request) -> bool:
    """Whether the agent shows, beside the input, what would happen."""
    return bool(request.content) or isinstance(request.detail, FileChangeDetail)


def _leaves_sandbox(request: Request) -> bool:
    """A call that asks to run outside of the engine's own sandbox is another one than the same without that."""
    try:
        return request.input is not None and msgspec.json.decode(request.input, type=_Risk) != _Risk()
    except UNREADABLE:
        return True


def plan_prompt(request: Request, rules: Iterable[SessionRule]) -> str:
    """The granted prompt in whose words the agent describes the call; empty when there is none."""
    if request.kind != "permission" or not request.description:
        return ""
    described = _words(request.description)
    fitting = (rule.prompt for rule in rules if rule.prompt and rule.tool == request.tool)
    return next((prompt for prompt in fitting if _contains(described, _words(prompt))), "")


def _words(text: str) -> list[str]:
    return WORDS.findall(text.casefold())


def _contains(words: list[str], wanted: list[str]) -> bool:
    """Whether the wanted words stand there side by side."""
    size = len(wanted)
    return size > 0 and any(words[at : at + size] == wanted for at in range(len(words) - size + 1))
