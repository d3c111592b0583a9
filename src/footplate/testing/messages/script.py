"""The script in a conversation: where it stands, which step is due, what its placeholders mean. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping

import msgspec

from footplate.testing.messages.asked import Asked, Message
from footplate.testing.messages.chore import ChoreName, chore_of
from footplate.testing.messages.step import Step

_MARK = re.compile(r"SCRIPT:(?=\s*\[)")
_PLACEHOLDER = re.compile(r"\$(LAST|CWD|PLANFILE|MODEL|NTOOLS)\b")
_CWD = re.compile(r"working directory: *(/[^\n]*?) *$", re.IGNORECASE | re.MULTILINE)
_PLANFILE = re.compile(r"/[^\s\"'`]*/plans/[^\s\"'`]+\.md\b")
_DECODER = json.JSONDecoder()


class ScriptError(ValueError):
    """The script cannot be followed; the message says where and why."""


class Due(msgspec.Struct, frozen=True, kw_only=True):
    """The step that is due, and the name by which it can be told from every other step of every session."""

    step: Step
    name: tuple[str, ...]
    index: int | None = None
    chore: ChoreName = ""


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """A script: the index of the message it stands in, its span in that text, its text and its raw steps."""

    message: int
    start: int
    end: int
    text: str
    steps: list[object]


def due_step(asked: Asked, *, agent: str = "") -> Due:
    """What the model has to do now: the script's step number = the assistant messages since the script.

    `agent` tells sub-agents apart that were given the same prompt. Without a script the model says "ok".
    """
    who = (asked.client, agent, "tools" if asked.tool_names else "no tools")
    chore = chore_of(asked)
    if chore is not None and not (chore.takes_script and list(scripts_in(asked.last_text()))):
        return Due(step=Step(text=chore.text), name=(*who, chore.name), chore=chore.name)
    found = find_script(asked.messages)
    if found is None:
        return Due(step=Step(text="ok"), name=(*who, str(len(asked.messages)), asked.last_text()))
    later = asked.messages[found.message + 1 :]
    index = sum(message.role == "assistant" for message in later)
    step = expand(_step_at(found, index), asked)
    return Due(step=step, name=(*who, str(found.message), found.text, str(index)), index=index)


def find_script(messages: list[Message]) -> Found | None:
    """The last script that stands in a text of a user, not inside the string of another script.

    What a user says while a turn is running reaches the model as a system message among the others.
    """
    for position in range(len(messages) - 1, -1, -1):
        if messages[position].role == "assistant":
            continue
        for text in reversed(list(messages[position].texts())):
            scripts = list(scripts_in(text, message=position))
            if scripts:
                return scripts[-1]
    return None


def scripts_in(text: str, *, message: int = 0) -> Iterator[Found]:
    """The scripts of a text at its top level, in order."""
    start = 0
    while mark := _MARK.search(text, start):
        opening = text.index("[", mark.end())
        try:
            steps, end = _DECODER.raw_decode(text, opening)
        except json.JSONDecodeError as error:
            near = text[max(0, error.pos - 20) : error.pos + 20]
            raise ScriptError(
                f"malformed SCRIPT in message {message}: {error.msg} at character {error.pos - opening} "
                f"of the script, near {near!r}"
            ) from error
        yield Found(message=message, start=mark.start(), end=end, text=text[opening:end], steps=steps)
        start = end


def expand(step: Step, asked: Asked) -> Step:
    """The step with its placeholders replaced, save those inside scripts for somebody else."""
    values = _Values(asked)
    return msgspec.structs.replace(
        step,
        text=None if step.text is None else values.fill(step.text),
        thinking=None if step.thinking is None else values.fill(step.thinking),
        tools=[(_offered(name, asked), values.fill_object(given)) for name, given in step.tools],
        blocks=[values.fill_object(block) for block in step.blocks],
    )


def _offered(name: str, asked: Asked) -> str:
    """Of several names (`bash|shell`) the first that the agent offers, else the first of all."""
    names = name.split("|")
    return next((each for each in names if each in asked.tool_names), names[0])


def _step_at(found: Found, index: int) -> Step:
    if index >= len(found.steps):
        return Step(text="done.")
    raw = found.steps[index]
    if isinstance(raw, str):
        return Step(text=raw)
    try:
        return msgspec.convert(raw, Step)
    except msgspec.ValidationError as error:
        raise ScriptError(f"SCRIPT in message {found.message}, step {index}: {error}") from error


class _Values:
    """The values of the placeholders for one request, looked up when they are needed."""

    def __init__(self, asked: Asked) -> None:
        self._sources: Mapping[str, Callable[[], str | None]] = {
            "LAST": asked.last_result,
            "CWD": lambda: _last_match(_CWD, asked),
            "PLANFILE": lambda: _last_match(_PLANFILE, asked),
            "MODEL": lambda: asked.model,
            "NTOOLS": lambda: str(len(asked.tool_names)),
        }

    def fill(self, text: str) -> str:
        pieces, start = [], 0
        for found in _nested_scripts(text):
            pieces += [_PLACEHOLDER.sub(self._value, text[start : found.start]), text[found.start : found.end]]
            start = found.end
        return "".join([*pieces, _PLACEHOLDER.sub(self._value, text[start:])])

    def fill_object(self, value: Mapping[str, object]) -> dict[str, object]:
        return {name: self._fill_any(each) for name, each in value.items()}

    def _fill_any(self, value: object) -> object:
        if isinstance(value, str):
            return self.fill(value)
        if isinstance(value, list):
            return [self._fill_any(each) for each in value]
        return self.fill_object(value) if isinstance(value, dict) else value

    def _value(self, match: re.Match[str]) -> str:
        value = self._sources[match[1]]()
        if value is None:
            raise ScriptError(f"{match[0]} in the SCRIPT has no value: the request does not tell it")
        return value


def _nested_scripts(text: str) -> list[Found]:
    """The scripts inside a string of a script; a malformed one is reported to whoever follows it, not here."""
    try:
        return list(scripts_in(text))
    except ScriptError:
        return []


def _last_match(pattern: re.Pattern[str], asked: Asked) -> str | None:
    matches = [match for text in asked.instructions() for match in pattern.finditer(text)]
    return matches[-1].group(matches[-1].re.groups) if matches else None
