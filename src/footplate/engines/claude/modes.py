"""Permission modes and efforts: the names that both measured versions know. Pure."""

from __future__ import annotations

from typing import Final

from footplate.errors import InvalidValue
from footplate.events.model import ConfigOption, ConfigValue

DEFAULT: Final = "default"
BYPASS: Final = "bypassPermissions"
AUTO: Final = "auto"
MODES: Final = (DEFAULT, "acceptEdits", "plan", "dontAsk", AUTO, BYPASS)
EFFORTS: Final = ("low", "medium", "high", "xhigh", "max")

LABELS: Final[dict[str, tuple[str, str]]] = {
    DEFAULT: ("Ask", "ask before edits and commands"),
    "acceptEdits": ("Accept edits", "edit files without asking, ask before the rest"),
    "plan": ("Plan", "look and plan, change nothing"),
    "dontAsk": ("Don't ask", "refuse whatever is not allowed by a rule"),
    AUTO: ("Auto", "the engine's own classifier decides what to ask about"),
    BYPASS: ("Bypass permissions", "never ask"),
}

MODELS: Final = {"default": "Default", "sonnet": "Sonnet", "opus": "Opus", "haiku": "Haiku"}
"""The aliases that every measured version takes; a running one tells its own list."""


def static_choices() -> tuple[ConfigOption, ...]:
    """What can be chosen before any process tells: `auto` depends on the model, so only a process can offer it."""
    modes = [mode for mode in MODES if mode != AUTO]
    return (
        ConfigOption(
            id="model",
            label="Model",
            category="model",
            value="default",
            values=tuple(ConfigValue(value=value, label=label) for value, label in MODELS.items()),
        ),
        ConfigOption(
            id="mode",
            label="Mode",
            category="mode",
            value="default",
            values=tuple(ConfigValue(value=m, label=LABELS[m][0], description=LABELS[m][1]) for m in modes),
        ),
    )


def wire_mode(mode: str) -> str:
    """The mode as both versions know it: `manual` is 2.1.325's name of `default`, which it knows too."""
    return "default" if mode == "manual" else mode


def known_mode(mode: str) -> str:
    """The mode on the wire. Raises `InvalidValue`: 2.1.197 says yes to any word and does nothing."""
    wire = wire_mode(mode)
    if wire not in MODES:
        raise InvalidValue("mode", mode, f"one of {', '.join(MODES)}")
    return wire


def thinking_tokens(effort: str) -> int | None:
    """An effort that is a number is a budget of tokens for thinking; None for a named one.

    Raises `InvalidValue` for any other word: the CLI says yes to it and keeps the effort that it had.
    """
    if effort.isdecimal():
        return int(effort)
    if effort not in EFFORTS:
        raise InvalidValue("effort", effort, f"one of {', '.join(EFFORTS)}, or a number of tokens to think with")
    return None
