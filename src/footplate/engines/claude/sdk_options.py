"""Options of the Claude Agent SDK, as editors hand them over in `_meta.claudeCode.options`: read into ours. Pure.

What has a place of its own in a session goes there; what is a flag of the CLI becomes one. Options that are functions,
or that say how the SDK itself starts the CLI, mean nothing here and are named as unknown.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from footplate.engines.claude.launch import FLAGS
from footplate.engines.claude.modes import MODES
from footplate.engines.tuning import Extras, Tuning
from footplate.errors import InvalidValue

OURS: Final = frozenset({*(flag.name for flag in FLAGS), "--print", "-p", "--continue"})
"""Flags with which we start the CLI ourselves."""

IGNORED: Final = frozenset({"includePartialMessages", "forwardSubagentText", "cwd", "stderr", "hooks", "canUseTool"})
"""What is always so here, or is the session's own."""


class _Preset(msgspec.Struct, rename="camel"):
    type: str = ""
    append: str = ""
    preset: str = ""


class _Plugin(msgspec.Struct):
    path: str
    type: str = "local"


class _Output(msgspec.Struct):
    schema: msgspec.Raw = msgspec.Raw(b"")
    type: str = ""


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
    max_thinking_tokens: int | None = None
    additional_directories: tuple[str, ...] = ()
    agents: dict[str, msgspec.Raw] = {}
    agent: str = ""
    env: dict[str, str | None] = {}
    setting_sources: tuple[str, ...] | None = None
    settings: str | dict[str, object] = ""
    betas: tuple[str, ...] = ()
    plugins: tuple[_Plugin, ...] = ()
    output_format: _Output | None = None
    strict_mcp_config: bool = False
    extra_args: dict[str, str | None] = {}


KNOWN: Final = frozenset(SdkOptions.__struct_encode_fields__)
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
    prompt = given.system_prompt
    return Tuning(
        model=given.model,
        mode=given.permission_mode,
        effort=given.effort,
        env={name: value for name, value in given.env.items() if value is not None},
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
        unknown=tuple(sorted(names.keys() - KNOWN - IGNORED)),
    )


def _arguments(given: SdkOptions) -> tuple[str, ...]:
    """The options that are flags of the CLI and nothing else to us."""
    settings = given.settings if isinstance(given.settings, str) else msgspec.json.encode(given.settings).decode()
    values: Mapping[str, str] = {
        "--fallback-model": given.fallback_model,
        "--agent": given.agent,
        "--max-thinking-tokens": "" if given.max_thinking_tokens is None else str(given.max_thinking_tokens),
        "--settings": settings,
    }
    found = [part for name, value in values.items() if value for part in (name, value)]
    if given.setting_sources is not None:
        found += ["--setting-sources", ",".join(given.setting_sources)]
    if given.betas:
        found += ["--betas", *given.betas]
    if isinstance(given.tools, tuple):
        found += ["--tools", ",".join(given.tools)]
    if given.strict_mcp_config:
        found.append("--strict-mcp-config")
    for name, value in given.extra_args.items():
        flag = f"--{name.lstrip('-')}"
        if flag in OURS:
            raise InvalidValue("extraArgs", name, "a flag that is not set by Footplate itself")
        found += [flag] if value is None else [flag, value]
    return tuple(found)
