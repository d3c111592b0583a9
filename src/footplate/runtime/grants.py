"""What a person's answer allows beyond the one call, and which later calls that covers. Pure.

A rule of ours never allows what the person did not see. "Exactly this" is one tool and one subject, or one whole input
where a tool has no subject. The prompt of a plan is a description in words and no pattern: it allows the command that
is, letter for letter, what it says (`npm test`, or between backticks), and nothing else. A call that the agent merely
*describes* in those words is asked, marked with the prompt: the description is the agent's own and proves nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Final

import msgspec

from footplate.errors import InvalidValue
from footplate.events.base import OptionalRaw
from footplate.events.ids import RuleId
from footplate.events.requests import Allow, Answer, Request
from footplate.events.rules import SessionRule, held_for_session, meaning

SUBJECTS: Final = ("command", "file_path", "path", "notebook_path", "url", "query", "pattern")
"""The fields of a tool's input that say what a call is about, the most telling first."""

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
    except msgspec.ValidationError:
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
    """This tool, exactly this subject: as it was changed, where it was."""
    seen = msgspec.structs.replace(request, input=answer.updated_input or request.input)
    subject = subject_of(seen)
    about = subject or request.title
    label = f"Allow {request.tool}: {about}" if about else f"Allow {request.tool}"
    given = None if subject else seen.input
    return SessionRule(id=name, label=label, tool=request.tool, subject=subject, input=given, request=request.id)


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
    subject = subject_of(request)
    if rule.prompt:
        return bool(subject) and subject.strip() in (rule.prompt.strip(), *QUOTED.findall(rule.prompt))
    if rule.subject:
        return subject == rule.subject
    return rule.input is not None and request.input is not None and _same(rule.input, request.input)


def _leaves_sandbox(request: Request) -> bool:
    """A call that asks to run outside of the engine's own sandbox is another one than the same without that."""
    try:
        return request.input is not None and msgspec.json.decode(request.input, type=_Risk) != _Risk()
    except msgspec.ValidationError:
        return True


def _same(one: msgspec.Raw, other: msgspec.Raw) -> bool:
    decoded: list[object] = [msgspec.json.decode(raw) for raw in (one, other)]
    return decoded[0] == decoded[1]


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
