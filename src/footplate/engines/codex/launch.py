"""How Codex is started, live or for one prompt: options in, argv and environment out. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from footplate.engines.base import Options, Spawn
from footplate.engines.codex.modes import check_effort, find_mode
from footplate.engines.codex.settings import CodexSettings
from footplate.errors import InvalidValue, UnsupportedOption
from footplate.host.environment import build_environment

NAME: Final = "codex"
SANDBOXES: Final = ("read-only", "workspace-write", "danger-full-access")
"""Codex's sandbox policies: what stands in for permission modes where nobody can be asked."""

LONGEST_PROMPT: Final = 120 * 1024
"""A single argument longer than 128 KiB is refused by Linux."""

PASSED: Final = ("CODEX_*", "OPENAI_*")


def build_server(options: Options, program: str, environ: Mapping[str, str], settings: CodexSettings) -> Spawn:
    """The live form: `codex app-server`, which is told everything else over its wire.

    Raises `UnsupportedOption` for what Codex cannot do, and `InvalidValue` for what it cannot take.
    """
    find_mode(options.mode)
    check_effort(options.effort)
    asked = {
        "a chosen session id": options.session_id is not None,
        "a limit of turns": options.max_turns is not None,
        "a limit of money": options.max_budget_usd is not None,
        "sub-agents of one's own": bool(options.agents),
        "hooks": bool(options.hooks),
        "tools of the host": bool(options.servers),
    }
    for option, is_asked in asked.items():
        if is_asked:
            raise UnsupportedOption(NAME, option, "leave it out")
    return Spawn(argv=(program, "app-server"), env=_environment(options, environ, settings), cwd=options.cwd)


def _environment(options: Options, environ: Mapping[str, str], settings: CodexSettings) -> dict[str, str]:
    given = build_environment(environ, allow=(*PASSED, *settings.env_pass), extra=settings.env)
    return {**given, **options.env}


def build_exec(options: Options, program: str, environ: Mapping[str, str], settings: CodexSettings) -> Spawn:
    """The command line for one prompt, with stdin closed: `codex exec` would wait for it.

    Raises `UnsupportedOption` for what this form of Codex cannot do, and `InvalidValue` for what it cannot take.
    """
    _refuse(options)
    argv = [program, "exec", "--json", "--skip-git-repo-check", "-C", options.cwd]
    if options.model:
        argv += ["-m", options.model]
    if options.mode:
        argv += ["-s", _one_of("mode", options.mode, SANDBOXES)]
    if options.effort:
        argv += ["-c", f'model_reasoning_effort="{check_effort(options.effort)}"']
    for folder in options.add_dirs:
        argv += ["--add-dir", folder]
    if options.resume is not None:
        argv += ["resume", "--", options.resume, options.prompt]
    else:
        argv += ["--", options.prompt]
    return Spawn(argv=tuple(argv), env=_environment(options, environ, settings), cwd=options.cwd, stdin=False)


def _refuse(options: Options) -> None:
    asked = {
        "permissions and questions": options.asks,
        "a list of allowed tools": options.allow_tools is not None,
        "a list of denied tools": bool(options.deny_tools),
        "a fork of a session": options.fork,
        "a chosen session id": options.session_id is not None,
        "a limit of turns": options.max_turns is not None,
        "a limit of money": options.max_budget_usd is not None,
        "structured output": bool(options.json_schema),
        "an appended system prompt": bool(options.append_system_prompt),
        "a live conversation": not options.one_shot,
    }
    for option, is_asked in asked.items():
        if is_asked:
            raise UnsupportedOption(NAME, option, "`codex exec` runs one prompt and can ask nobody; leave it out")
    if not options.prompt:
        raise InvalidValue("prompt", options.prompt, "a text that is not empty")
    if len(options.prompt.encode()) > LONGEST_PROMPT:
        raise InvalidValue("prompt", f"{options.prompt[:40]}...", f"at most {LONGEST_PROMPT} bytes for codex")


def _one_of(name: str, value: str, known: tuple[str, ...]) -> str:
    if value not in known:
        raise InvalidValue(name, value, f"one of {', '.join(known)}")
    return value
