"""The engines as a surface knows them: names, resume lines, what each can do; no surface needs to know more."""

from __future__ import annotations

from collections.abc import Mapping

from footplate.config.settings import Settings
from footplate.engines.base import Capabilities, Engine, Options
from footplate.engines.catalog import engine_names, make_engine
from footplate.errors import FootplateError, InvalidValue
from footplate.events.base import ResumeToken
from footplate.runtime.modes import check_start, sandbox_of, usable_capabilities


class Roster:
    """Every engine of this installation, made once."""

    def __init__(self, settings: Settings, environ: Mapping[str, str]) -> None:
        self._settings = settings
        self._environ = environ
        self._engines: dict[str, Engine] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """The engines that can be asked for."""
        return engine_names(self._settings)

    def capabilities(self, engine: str) -> Capabilities:
        """What an engine can do on this machine. Raises `UnknownEngine`."""
        return usable_capabilities(self._engine(engine), self._settings, self._environ)

    def check_mode(self, engine: str, mode: str) -> None:
        """Raise `InvalidValue` for a mode that the engine does not have, `EngineRefused` for one it refuses here."""
        made = self._engine(engine)
        check_start(made, Options(cwd="/", mode=mode, sandbox=sandbox_of(self._settings, engine)), self._environ)
        modes = self.capabilities(engine).modes
        if mode not in modes:
            raise InvalidValue("mode", mode, f"one of {', '.join(modes)}" if modes else f"none: {engine} has none")

    def format_resume(self, token: ResumeToken) -> str:
        """The line that goes on with a conversation in a terminal."""
        return self._engine(token.engine).format_resume(token)

    def find_resume(self, text: str) -> ResumeToken | None:
        """The token of the last resume line in the text, whichever engine wrote it."""
        for line in reversed(text.splitlines()):
            for name in self.names:
                token = self._engine(name).extract_resume(line)
                if token is not None:
                    return token
        return None

    def is_resume_line(self, line: str) -> bool:
        """Whether a line is nothing but a resume line."""
        return any(self._engine(name).is_resume_line(line) for name in self.names)

    async def missing(self, engine: str) -> str:
        """Why an engine cannot be used on this machine, in its own words; empty when it can."""
        try:
            await self._engine(engine).locate(self._environ)
        except FootplateError as problem:
            return str(problem)
        return ""

    def _engine(self, name: str) -> Engine:
        if name not in self._engines:
            self._engines[name] = make_engine(name, self._settings)
        return self._engines[name]
