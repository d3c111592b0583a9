"""How `codex exec` is started: options in, argv and environment out. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from footplate.engines.base import Options, Spawn
from footplate.errors import InvalidValue, UnsupportedOption
from footplate.host.environment import build_environment

NAME: Final = "codex"
MODES: Final = ("read-only", "workspace-write", "danger-full-access")
"""Codex's sandbox policies: what stands in for permission modes where nobody can be asked."""

EFFORTS: Final = ("minimal", "low", "medium", "high", "xhigh")
LONGEST_PROMPT: Final = 120 * 1024
"""A single argument longer than 128 KiB is refused by Linux."""

PASSED: Final = ("CODEX_*", "OPENAI_*")


def build_launch(options: Options, program: str, environ: Mapping[str, str]) -> Spawn:
    """The command line for one prompt, with stdin closed: `codex exec` would wait for it.

    Raises `UnsupportedOption` for what this form of Codex cannot do, and `InvalidValue` for what it cannot take.
    """
    _refuse(options)
    argv = [program, "exec", "--json", "--skip-git-repo-check", "-C", options.cwd]
    if options.model:
        argv += ["-m", options.model]
    if options.mode:
        argv += ["-s", _one_of("mode", options.mode, MODES)]
    if options.effort:
        argv += ["-c", f'model_reasoning_effort="{_one_of("effort", options.effort, EFFORTS)}"']
    for folder in options.add_dirs:
        argv += ["--add-dir", folder]
    if options.resume is not None:
        argv += ["resume", "--", options.resume, options.prompt]
    else:
        argv += ["--", options.prompt]
    env = build_environment(environ, allow=PASSED, extra=options.env)
    return Spawn(argv=tuple(argv), env=env, cwd=options.cwd, stdin=False)


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
