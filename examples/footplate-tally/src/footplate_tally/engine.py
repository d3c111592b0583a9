"""The engine: finds the agent, starts it, and hands its lines to the translator."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from footplate.config.settings import read_section
from footplate.engines.base import Capabilities, Exit, Installed, Options, Reaction, Spawn
from footplate.errors import EngineNotFound, InvalidValue, UnsupportedOption
from footplate.events.base import ResumeToken
from footplate.events.commands import Command
from footplate.events.ids import EngineSessionId, TurnId
from footplate.host.environment import build_environment
from footplate.host.lines import Block
from footplate_tally.translate import NAME, Translator

AGENT: Final = Path(__file__).with_name("agent.py")
RESUME: Final = re.compile(r"\s*`?tally --session (?P<id>[\w-]+)`?\s*")


class TallySettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[engines.tally]`."""

    program: Annotated[str, Meta(description="the Python that runs it")] = sys.executable


def create(section: Mapping[str, object]) -> TallyEngine:
    """The engine as the catalog makes it; this is what the entry point names."""
    return TallyEngine(read_section(TallySettings, section, where="[engines.tally]"))


class TallyConversation:
    """One process: it speaks, and nothing can be said to it."""

    def __init__(self, options: Options, installed: Installed) -> None:
        self._translator = Translator(
            turn=TurnId(f"turn-{options.first_turn}"),
            version=installed.version,
            cwd=options.cwd,
            resumed=options.resume is not None,
        )

    def begin(self) -> Reaction:
        """The prompt stands in the command line."""
        return Reaction()

    def feed(self, block: Block) -> Reaction:
        """Whole lines of the agent's output."""
        return Reaction(events=self._translator.feed(block))

    def command(self, command: Command) -> Reaction:
        """Nothing can be asked of it."""
        raise UnsupportedOption(NAME, type(command).__name__, "it hears nothing once it runs; end it instead")

    def finish(self, ending: Exit) -> Reaction:
        """The process is gone."""
        return Reaction(events=self._translator.finish(ending))


class TallyEngine:
    """An agent that counts words: one prompt per process."""

    def __init__(self, settings: TallySettings) -> None:
        self._settings = settings

    @property
    def name(self) -> str:
        """The name in settings, commands and resume tokens."""
        return NAME

    @property
    def title(self) -> str:
        """The name for people."""
        return "Tally"

    def capabilities(self, installed: Installed | None = None) -> Capabilities:
        """What it can do; nothing else is offered."""
        return Capabilities(resume=True, one_shot=True)

    async def locate(self, environ: Mapping[str, str]) -> Installed:
        """The Python that runs it."""
        program = shutil.which(self._settings.program, path=environ.get("PATH", ""))
        if program is None:
            raise EngineNotFound(NAME, self._settings.program, "name a Python in [engines.tally] program")
        return Installed(engine=NAME, program=program, version=version("footplate-tally"))

    def launch(self, options: Options, installed: Installed, environ: Mapping[str, str]) -> Spawn:
        """Its command line. Refuses what it cannot do, by name."""
        if not options.one_shot:
            raise UnsupportedOption(NAME, "a live conversation", "it runs one prompt; use `footplate run`")
        if not options.prompt:
            raise InvalidValue("prompt", options.prompt, "a text that is not empty")
        session = ("--session", options.resume) if options.resume is not None else ()
        argv = (installed.program, "-P", str(AGENT), *session, options.prompt)
        return Spawn(argv=argv, env=build_environment(environ, extra=options.env), cwd=options.cwd, stdin=False)

    def converse(self, options: Options, installed: Installed) -> TallyConversation:
        """The state machine of one process."""
        return TallyConversation(options, installed)

    def format_resume(self, token: ResumeToken) -> str:
        """The line a person can paste."""
        return f"tally --session {token.value}"

    def extract_resume(self, text: str) -> ResumeToken | None:
        """The last resume line in the text."""
        for line in reversed(text.splitlines()):
            if found := RESUME.fullmatch(line):
                return ResumeToken(engine=NAME, value=EngineSessionId(found["id"]))
        return None

    def is_resume_line(self, line: str) -> bool:
        """Whether this one line is nothing but a resume line."""
        return RESUME.fullmatch(line) is not None
