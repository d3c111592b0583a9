"""Models, modes and thought levels of agents as they were seen on `AS_OF`, whatever the subscription: the last resort.

What a running agent or its provider tells counts more; whoever shows this list says that it is one.
"""

from __future__ import annotations

from typing import Final

import msgspec

from footplate.events.model import ConfigOption, ConfigValue

AS_OF: Final = "2026-11-16"


class KnownModel(msgspec.Struct, frozen=True, kw_only=True):
    """A model by the name that the agent takes; how many tokens it reads and writes at most, where that is known."""

    id: str
    label: str = ""
    context: int | None = None
    output: int | None = None


class KnownChoices(msgspec.Struct, frozen=True, kw_only=True):
    """What can be chosen of one agent. `note` says where it depends on more than the agent."""

    version: str
    models: tuple[KnownModel, ...] = ()
    modes: tuple[str, ...] = ()
    efforts: tuple[str, ...] = ()
    note: str = ""


KNOWN: Final[dict[str, KnownChoices]] = {
    "claude": KnownChoices(
        version="2.1.325",
        models=(
            KnownModel(id="default", label="Default (Opus 5.5)"),
            KnownModel(id="opus", label="Opus 5.5"),
            KnownModel(id="fable", label="Fable 5.2"),
            KnownModel(id="sonnet", label="Sonnet 5.5"),
            KnownModel(id="haiku", label="Haiku 5.5"),
            KnownModel(id="opus[1m]", label="Opus with 1M context (2.1.197)", context=1_000_000),
            KnownModel(id="sonnet[1m]", label="Sonnet with 1M context (2.1.197)", context=1_000_000),
        ),
        modes=("default", "acceptEdits", "plan", "dontAsk", "auto", "bypassPermissions"),
        efforts=("low", "medium", "high", "xhigh", "max"),
        note="any full model id of the provider is taken as well; bypassPermissions not as root",
    ),
    "codex": KnownChoices(
        version="0.166.0",
        models=tuple(
            KnownModel(id=name)
            for name in (
                "gpt-6.1-sol", "gpt-6.1-terra", "gpt-6-astra", "gpt-6-luna", "gpt-6-sol",
                "gpt-5.6-luna", "gpt-5.6-sol", "gpt-5.6-terra", "gpt-5.5",
            )
        ),
        modes=("read-only", "workspace-write", "danger-full-access"),
        efforts=("low", "medium", "high", "xhigh", "max", "ultra"),
        note="which of them answer depends on the account",
    ),
    "opencode": KnownChoices(version="1.18.33", modes=("build", "plan"), note="models are those of its providers"),
    "gemini": KnownChoices(
        version="0.61.0",
        models=tuple(
            KnownModel(id=name)
            for name in (
                "auto", "gemini-3.1-pro-preview-customtools", "gemini-3.8-flash", "gemini-3-flash-preview",
                "gemini-3.5-flash-lite", "gemini-2.5-pro",
            )
        ),
        modes=("default", "autoEdit", "yolo", "plan"),
    ),
    "qwen": KnownChoices(
        version="0.15.10",
        models=(KnownModel(id="coder-model(qwen-oauth)", label="Qwen's own, by its login"),),
        modes=("plan", "default", "auto-edit", "yolo"),
        note="further models are those of its OpenAI-compatible provider",
    ),
    "copilot": KnownChoices(version="1.0.102", modes=("agent", "plan", "autopilot"), note="models depend on the login"),
    "mock": KnownChoices(
        version="",
        models=(KnownModel(id="mock"), KnownModel(id="mock-fast")),
        modes=("default", "plan", "bypassPermissions"),
        efforts=("low", "high"),
    ),
}  # fmt: skip


def known_options(engine: str) -> tuple[ConfigOption, ...]:
    """The list of an agent as the choices of a session."""
    found = KNOWN.get(engine, KnownChoices(version=""))
    models = tuple(ConfigValue(value=each.id, label=each.label) for each in found.models)
    modes = tuple(ConfigValue(value=each) for each in found.modes)
    efforts = tuple(ConfigValue(value=each) for each in found.efforts)
    offered = (("model", "Model", models), ("mode", "Mode", modes), ("thought_level", "Thought level", efforts))
    return tuple(
        ConfigOption(id=name, label=label, category=name, value=values[0].value, values=values)
        for name, label, values in offered
        if values
    )
