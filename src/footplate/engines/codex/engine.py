"""Codex as an engine of the product: live by its app-server, or one prompt at a time by `codex exec`."""

from __future__ import annotations

import asyncio
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from footplate.config.settings import read_section
from footplate.engines.base import Capabilities, Conversation, Credential, Exit, Installed, Launch, Options, Reaction
from footplate.engines.codex.conversation import AppServerConversation
from footplate.engines.codex.exec_translate import Translator
from footplate.engines.codex.launch import NAME, PASSED, build_exec, build_server
from footplate.engines.codex.modes import EFFORTS, MODES, OWN
from footplate.engines.codex.settings import CodexSettings
from footplate.engines.declared import read_declared
from footplate.engines.distribution import install_advice
from footplate.engines.known_agents import KNOWN
from footplate.engines.receipts import own_program
from footplate.engines.resume_commands import ResumeCommand
from footplate.errors import EngineNotExecutable, EngineNotFound, InvalidValue, UnsupportedOption
from footplate.events.base import ResumeToken
from footplate.events.commands import Command
from footplate.events.ids import RequestId
from footplate.events.model import ConfigOption, ConfigValue
from footplate.events.requests import Answer
from footplate.host.environment import build_environment, expand_home
from footplate.host.lines import Block

VERSION_WAIT_S: Final = 20.0
DEFAULTS: Final = CodexSettings()
KEY_ENDS: Final = ("_KEY", "_TOKEN")
_VERSION: Final = re.compile(r"\d+\.\d+\.\d+\S*")
_RESUME: Final = ResumeCommand(NAME, "codex resume")


def create(section: Mapping[str, object]) -> CodexEngine:
    """The engine as the catalog makes it."""
    return CodexEngine(read_section(CodexSettings, section, where="[engines.codex]"))


class ExecConversation:
    """One run of `codex exec`: it speaks, and nothing can be said to it."""

    def __init__(self, options: Options, installed: Installed, *, turn_prefix: str = "turn-") -> None:
        self._translator = Translator(
            cwd=options.cwd,
            version=installed.version,
            model=options.model,
            mode=options.mode,
            resumed=options.resume is not None,
            prefix=turn_prefix,
        )

    def begin(self) -> Reaction:
        """The prompt stands in the command line."""
        return Reaction()

    def feed(self, block: Block) -> Reaction:
        """Whole lines of the agent's output, in order."""
        return Reaction(events=self._translator.feed(block))

    def command(self, command: Command) -> Reaction:
        """Nothing can be asked of it."""
        raise UnsupportedOption(NAME, type(command).__name__, "`codex exec` hears nothing once it runs; end it instead")

    def check_answer(self, request: RequestId, answer: Answer) -> None:
        """It asks nothing."""
        raise UnsupportedOption(NAME, "answers", "`codex exec` asks nothing")

    def finish(self, ending: Exit) -> Reaction:
        """The process is gone: everything it had open is closed."""
        return Reaction(events=self._translator.finish(ending))


class CodexEngine:
    """Codex: a process and a thread per session; `codex exec` where one prompt and no question are enough."""

    def __init__(self, settings: CodexSettings = DEFAULTS) -> None:
        self._settings = settings

    @property
    def name(self) -> str:
        """The name in settings, commands and resume tokens."""
        return NAME

    @property
    def title(self) -> str:
        """The name for people."""
        return "Codex"

    def capabilities(self, installed: Installed | None = None) -> Capabilities:
        """What it can do live."""
        return Capabilities(
            resume=True,
            fork=True,
            interrupt=True,
            queue=True,
            steer=True,
            permissions=True,
            questions=True,
            images=True,
            one_shot=True,
            live=True,
            structured_output=True,
            mcp=True,
            modes=tuple(MODES),
            efforts=EFFORTS,
        )

    @property
    def needs_login(self) -> bool:
        """It does nothing without a key or a login, but for a provider of one's own that wants none."""
        return True

    def credentials(self, environ: Mapping[str, str]) -> tuple[Credential, ...]:
        """The keys that reach it, and the login that it keeps itself."""
        env = build_environment(environ, allow=(*PASSED, *self._settings.env_pass), extra=self._settings.env)
        names = [name for name in env if name.endswith(KEY_ENDS)]
        own = "[engines.codex] env"
        keys = [
            Credential(
                kind="api_key",
                source=own if name in self._settings.env else "environment",
                field=name,
                used_by_cli=True,
            )
            for name in names
        ]
        login = Path(env.get("CODEX_HOME") or Path(environ.get("HOME", "/")) / ".codex") / "auth.json"
        return (*keys, *([Credential(kind="oauth", source=str(login), used_by_cli=True)] if login.is_file() else ()))

    def choices(self, environ: Mapping[str, str]) -> tuple[ConfigOption, ...]:
        """Modes and efforts; the models are told by its sessions."""
        modes = tuple(ConfigValue(value=name, label=name, description=mode.description) for name, mode in MODES.items())
        efforts = tuple(ConfigValue(value=effort, label=effort) for effort in EFFORTS)
        return (
            ConfigOption(id="mode", label="Mode", category="mode", value=OWN, values=modes),
            ConfigOption(id="effort", label="Effort", category="thought_level", values=efforts),
        )

    def check_option(self, option: str, value: str) -> None:
        """It has no other options."""
        raise InvalidValue("option", option, "one of mode, model, effort")

    async def locate(self, environ: Mapping[str, str]) -> Installed:
        """The program on the PATH of `environ`, and its version."""
        wanted = expand_home(self._settings.program, environ)
        program = shutil.which(wanted, path=environ.get("PATH", "")) or own_program(environ, NAME) or None
        if program is None:
            raise EngineNotFound(NAME, wanted, install_advice(KNOWN[NAME]))
        return Installed(engine=NAME, program=program, version=await _ask_version(program, environ))

    def launch(self, options: Options, installed: Installed, environ: Mapping[str, str]) -> Launch:
        """`codex app-server`, or `codex exec --json ...` with stdin closed."""
        build = build_exec if options.one_shot else build_server
        return build(options, installed.program, environ, self._settings)

    def converse(self, options: Options, installed: Installed) -> Conversation:
        """The state machine for one process."""
        if options.one_shot:
            return ExecConversation(options, installed)
        return AppServerConversation(options, installed, servers=read_declared(options.mcp_config))

    def format_resume(self, token: ResumeToken) -> str:
        """`codex resume ID`."""
        return _RESUME.format(token)

    def extract_resume(self, text: str) -> ResumeToken | None:
        """The last resume line in the text."""
        return _RESUME.extract(text)

    def is_resume_line(self, line: str) -> bool:
        """Whether the line is nothing but a resume line."""
        return _RESUME.is_line(line)


async def _ask_version(program: str, environ: Mapping[str, str]) -> str:
    try:
        process = await asyncio.create_subprocess_exec(
            program,
            "--version",
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env=build_environment(environ),
        )
    except OSError as problem:
        raise EngineNotExecutable(NAME, program, str(problem)) from problem
    try:
        async with asyncio.timeout(VERSION_WAIT_S):
            told, _ = await process.communicate()
    except TimeoutError:
        process.kill()
        await process.wait()
        raise EngineNotExecutable(NAME, program, f"no version within {VERSION_WAIT_S:g} s") from None
    match = _VERSION.search(told.decode(errors="replace"))
    return match[0] if match else ""
