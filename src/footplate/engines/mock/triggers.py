"""The table of trigger words, and the choice of a script for a prompt."""

from __future__ import annotations

from typing import Final

from footplate.engines.mock import script
from footplate.engines.mock.demo import demo
from footplate.engines.mock.steps import Prompt, Script, Trigger

TRIGGERS: Final[dict[str, Trigger]] = {
    "stream": script.stream,
    "slow": script.slow,
    "hang": script.hang,
    "permission": script.permission,
    "tool": script.tool,
    "think": script.think,
    "big": script.big,
    "error": script.error,
    "crash": script.crash,
    "garbage": script.garbage,
    "stderr": script.stderr,
    "env": script.env,
    "history": script.history,
    "blocks": script.blocks,
    "plan": script.plan,
    "question": script.question,
    "edit": script.edit,
    "usage": script.usage,
    "subagent": script.subagent,
    "demo": demo,
}
NUMERIC: Final = frozenset({"stream", "slow", "big", "crash"})
"""Words that want numbers behind them; with anything else there (`slow down, please`) they are plain text."""


def choose_script(prompt: Prompt) -> Script:
    """The script that the first word asks for, else the echo."""
    words = prompt.words
    trigger = TRIGGERS.get(words[0]) if words else None
    if trigger is None or (words[0] in NUMERIC and not all(_is_number(word) for word in words[1:])):
        return script.echo(prompt)
    return trigger(prompt)


def _is_number(word: str) -> bool:
    return word.isascii() and word.isdigit() and len(word) < 10
