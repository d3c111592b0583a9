"""Options of the Claude Agent SDK, as editors hand them over in `_meta.claudeCode.options`: read into ours. Pure.

What has a place of its own in a session goes there; what is a flag of the CLI becomes one. Options that are functions,
or that say how the SDK itself starts the CLI, mean nothing here and are named as unknown.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

import msgspec

from footplate.engines.claude.launch import FLAGS
from footplate.engines.claude.modes import MODES
from footplate.engines.declared import Declared
from footplate.engines.tuning import Extras, Tuning
from footplate.errors import InvalidValue

OURS: Final = frozenset({*(flag.name for flag in FLAGS), "--print", "-p", "--continue"})
"""Flags with which we start the CLI ourselves."""

IGNORED: Final = frozenset(
    {
        "includePartialMessages",
        "forwardSubagentText",
        "enableFileCheckpointing",
        "abortController",
        "cwd",
        "stderr",
        "hooks",
        "canUseTool",
    }
)
"""What is always so here, or is the session's own."""


class _Preset(msgspec.Struct, rename="camel"):
    type: str = ""
    append: str = ""
    preset: str = ""
    exclude_dynamic_sections: bool = False


class _Plugin(msgspec.Struct):
    path: str
    type: str = "local"


class _Output(msgspec.Struct):
    schema: msgspec.Raw = msgspec.Raw(b"")
    type: str = ""


class _Thinking(msgspec.Struct, rename="camel"):
    type: Literal["adaptive", "enabled", "disabled"] = "adaptive"
    budget_tokens: int | None = None
    display: str = ""


class _TaskBudget(msgspec.Struct):
    total: int


class SdkOptions(msgspec.Struct, rename="camel", kw_only=True):
    """The options that we know."""

    model: str = ""
    fallback_model: str = ""
    permission_mode: str = ""
    effort: str = ""
    allowed_tools: tuple[str, ...] | None = None
    disallowed_tools: tuple[str, ...] = ()
    tools: tuple[str, ...] | _Preset | None = None
    system_prompt: str | _Preset = ""
    append_system_prompt: str = ""
    max_turns: int | None = None
    max_budget_usd: float | None = None
    max_thinking_tokens: int | None = None
    thinking: _Thinking | None = None
    task_budget: _TaskBudget | None = None
    additional_directories: tuple[str, ...] = ()
    agents: dict[str, msgspec.Raw] = {}
    agent: str = ""
    env: dict[str, str | None] = {}
    setting_sources: tuple[str, ...] | None = None
    settings: str | dict[str, object] = ""
    betas: tuple[str, ...] = ()
    plugins: tuple[_Plugin, ...] = ()
    output_format: _Output | None = None
    mcp_servers: dict[str, Declared] = {}
    strict_mcp_config: bool = False
    sandbox: dict[str, object] | None = None
    include_hook_events: bool = False
    allow_dangerously_skip_permissions: bool = False
    debug: bool = False
    debug_file: str = ""
    extra_args: dict[str, str | None] = {}


KNOWN: Final = frozenset(SdkOptions.__struct_encode_fields__)
BYPASS: Final = "allowDangerouslySkipPermissions"
"""Whether permissions may be skipped is for the settings of this machine to say."""

_decoder: Final = msgspec.json.Decoder(SdkOptions)
_names: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])


def read_sdk_options(raw: msgspec.Raw) -> Tuning:
    """The options as we have them. Raises `InvalidValue` for one in a shape that the SDK does not have either."""
    try:
        given, names = _decoder.decode(raw), _names.decode(raw)
    except msgspec.ValidationError as problem:
        raise InvalidValue("_meta.claudeCode.options", f"{problem}", "options of the Claude Agent SDK") from problem
    if given.permission_mode and given.permission_mode not in MODES:
        raise InvalidValue("permissionMode", given.permission_mode, f"one of {', '.join(MODES)}")
    if given.max_budget_usd is not None and given.max_budget_usd <= 0:
        raise InvalidValue("maxBudgetUsd", given.max_budget_usd, "more than 0")
    refused = {BYPASS} if given.allow_dangerously_skip_permissions else set()
    prompt = given.system_prompt
    return Tuning(
        model=given.model,
        mode=given.permission_mode,
        effort=given.effort,
        env={name: value for name, value in given.env.items() if value is not None},
        max_budget_usd=given.max_budget_usd,
        servers=given.mcp_servers,
        output_schema=bytes(given.output_format.schema).decode() if given.output_format else "",
        extras=Extras(
            allow_tools=given.allowed_tools,
            deny_tools=given.disallowed_tools,
            max_turns=given.max_turns,
            system_prompt=prompt if isinstance(prompt, str) else "",
            append_system_prompt=given.append_system_prompt or ("" if isinstance(prompt, str) else prompt.append),
            agents=msgspec.json.encode(given.agents).decode() if given.agents else "",
            add_dirs=given.additional_directories,
            plugins=tuple(plugin.path for plugin in given.plugins),
            arguments=_arguments(given),
        ),
        unknown=tuple(sorted((names.keys() - KNOWN - IGNORED) | refused)),
    )


def _arguments(given: SdkOptions) -> tuple[str, ...]:
    """The options that are flags of the CLI and nothing else to us."""
    prompt = given.system_prompt
    values: Mapping[str, str | None] = {
        "--fallback-model": given.fallback_model or None,
        "--agent": given.agent or None,
        "--settings": _settings(given),
        "--setting-sources": None if given.setting_sources is None else ",".join(given.setting_sources),
        "--task-budget": None if given.task_budget is None else str(given.task_budget.total),
        "--debug-file": given.debug_file or None,
        "--tools": ",".join(given.tools) if isinstance(given.tools, tuple) else None,
    }
    switches = {
        "--strict-mcp-config": given.strict_mcp_config,
        "--include-hook-events": given.include_hook_events,
        "--exclude-dynamic-system-prompt-sections": isinstance(prompt, _Preset) and prompt.exclude_dynamic_sections,
        "--debug": given.debug,
    }
    found = [part for name, value in values.items() if value is not None for part in (name, value)]
    found += [name for name, wanted in switches.items() if wanted]
    found += _thinking(given)
    if given.betas:
        found += ["--betas", *given.betas]
    for name, value in given.extra_args.items():
        flag = f"--{name.lstrip('-')}"
        if flag in OURS:
            raise InvalidValue("extraArgs", name, "a flag that is not set by Footplate itself")
        found += [flag] if value is None else [flag, value]
    return tuple(found)


def _thinking(given: SdkOptions) -> list[str]:
    """How it thinks: a budget, by the flag's older name as well, or the model's own measure, or not at all."""
    wish = given.thinking
    budget = given.max_thinking_tokens
    if wish is None:
        return [] if budget is None else ["--max-thinking-tokens", str(budget)]
    if wish.type == "enabled" and (wish.budget_tokens or budget) is not None:
        found = ["--max-thinking-tokens", str(wish.budget_tokens or budget)]
    else:
        found = ["--thinking", "disabled" if wish.type == "disabled" else "adaptive"]
    return [*found, "--thinking-display", wish.display] if wish.display and wish.type != "disabled" else found


def _settings(given: SdkOptions) -> str | None:
    """The settings, and the sandbox as a part of them."""
    if given.sandbox is None:
        own = given.settings
        return (own or None) if isinstance(own, str) else msgspec.json.encode(own).decode()
    if isinstance(given.settings, str) and given.settings:
        raise InvalidValue("sandbox", "beside settings in a file", "the sandbox inside of these settings")
    settings = given.settings if isinstance(given.settings, dict) else {}
    return msgspec.json.encode({**settings, "sandbox": given.sandbox}).decode()
