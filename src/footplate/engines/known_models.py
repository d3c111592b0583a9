"""Models, modes and thought levels of agents as they were seen on `AS_OF`, whatever the subscription: the last resort.

What a running agent or its provider tells counts more; whoever shows this list says that it is one.
"""

from __future__ import annotations

import re
from typing import Final

import msgspec

from footplate.events.model import ConfigOption, ConfigValue

AS_OF: Final = "2026-11-16"
DATE: Final = re.compile(r"-\d{8}$")
"""The date at the end of a full id, which providers leave out of its alias."""


class KnownModel(msgspec.Struct, frozen=True, kw_only=True):
    """A model by the name that the agent takes; how many tokens it reads and writes at most, where that is known."""

    id: str
    label: str = ""
    context: int | None = None
    output: int | None = None


class KnownChoices(msgspec.Struct, frozen=True, kw_only=True):
    """What can be chosen of one agent. `note` says where it depends on more than the agent.

    `models` are the names that the agent offers; `full` are full ids, which it takes as well.
    """

    version: str
    models: tuple[KnownModel, ...] = ()
    full: tuple[KnownModel, ...] = ()
    modes: tuple[str, ...] = ()
    efforts: tuple[str, ...] = ()
    note: str = ""
    limits_from: str = ""
    """Where the limits of tokens come from."""


_K: Final = 1000
_M: Final = 1_000_000
CLAUDE_MODELS: Final = tuple(
    KnownModel(id=name, label=label, context=context, output=output)
    for name, label, context, output in (
        ("claude-opus-5-5", "Opus 5.5", _M, 128 * _K),
        ("claude-fable-5-2", "Fable 5.2", _M, 128 * _K),
        ("claude-sonnet-5-5", "Sonnet 5.5", _M, 128 * _K),
        ("claude-haiku-5-5", "Haiku 5.5", _M, 128 * _K),
        ("claude-fable-5-1", "Fable 5.1", _M, 128 * _K),
        ("claude-fable-5", "Fable 5", _M, 128 * _K),
        ("claude-opus-5", "Opus 5", _M, 128 * _K),
        ("claude-sonnet-5", "Sonnet 5", _M, 128 * _K),
        ("claude-opus-4-8", "Opus 4.8", _M, 128 * _K),
        ("claude-opus-4-7", "Opus 4.7", _M, 128 * _K),
        ("claude-opus-4-6", "Opus 4.6", _M, 128 * _K),
        ("claude-sonnet-4-6", "Sonnet 4.6", _M, 128 * _K),
        ("claude-opus-4-5-20251101", "Opus 4.5", 200 * _K, 64 * _K),
        ("claude-haiku-4-5-20251001", "Haiku 4.5", 200 * _K, 64 * _K),
        ("claude-sonnet-4-5-20250929", "Sonnet 4.5", 200 * _K, 64 * _K),
        ("claude-opus-4-1-20250805", "Opus 4.1", 200 * _K, 32 * _K),
        ("claude-opus-4-20250514", "Opus 4", 200 * _K, 32 * _K),
        ("claude-sonnet-4-20250514", "Sonnet 4", 200 * _K, 64 * _K),
        ("claude-3-7-sonnet-20250219", "Sonnet 3.7", 200 * _K, 64 * _K),
        ("claude-3-5-sonnet-20241022", "Sonnet 3.5", 200 * _K, 8192),
        ("claude-3-5-haiku-20241022", "Haiku 3.5", 200 * _K, 8192),
    )
)
KNOWN: Final[dict[str, KnownChoices]] = {
    "claude": KnownChoices(
        version="2.1.325",
        models=(
            KnownModel(id="default", label="Default (Opus 5.5)", context=_M, output=128 * _K),
            KnownModel(id="opus", label="Opus 5.5", context=_M, output=128 * _K),
            KnownModel(id="fable", label="Fable 5.2", context=_M, output=128 * _K),
            KnownModel(id="sonnet", label="Sonnet 5.5", context=_M, output=128 * _K),
            KnownModel(id="haiku", label="Haiku 5.5", context=_M, output=128 * _K),
            KnownModel(id="opus[1m]", label="Opus with 1M context (2.1.197)", context=_M, output=128 * _K),
            KnownModel(id="sonnet[1m]", label="Sonnet with 1M context (2.1.197)", context=_M, output=128 * _K),
        ),
        full=CLAUDE_MODELS,
        modes=("default", "acceptEdits", "plan", "dontAsk", "auto", "bypassPermissions"),
        efforts=("low", "medium", "high", "xhigh", "max"),
        note="any full model id of the provider is taken as well; bypassPermissions not as root; without streaming "
        "Opus 4 and 4.1 write 8192 tokens at most",
        limits_from="the model catalog inside Claude Code 2.1.325 (`max_output_tokens.upper`), the pages "
        "`platform.claude.com/docs/en/models/MODEL/overview`, and `MODEL_NONSTREAMING_TOKENS` of Anthropic's SDKs",
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


def find_known(engine: str, model: str, *, version: str = "") -> KnownModel | None:
    """What the list has of a model: by its full id, also without the date; by a name that the agent offers.

    Such a name stands for another model in another version of the agent: then nothing is known of it.
    """
    known = KNOWN.get(engine)
    if known is None:
        return None
    wanted = model.removesuffix("[1m]")
    ids = {key: each for each in known.full for key in (DATE.sub("", each.id), each.id)}
    names = {each.id: each for each in known.models} if version in ("", known.version) else {}
    return ids.get(wanted) or names.get(model)


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
