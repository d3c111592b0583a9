"""What can be chosen of each agent: told by the agent itself and by its provider, kept, and shown with its source."""

from __future__ import annotations

import asyncio
import secrets
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, Literal

import msgspec

from footplate.config.places import data_folder
from footplate.config.settings import Settings
from footplate.engines.base import Engine, Options
from footplate.engines.catalog import make_engine
from footplate.engines.known_models import AS_OF, KNOWN, KnownModel, known_options
from footplate.errors import FootplateError
from footplate.events.ids import SessionId
from footplate.events.model import ConfigChanged, ConfigOption, EngineAttached, EngineDetached, Envelope
from footplate.host.spawner import Spawner
from footplate.runtime.modes import usable_choices
from footplate.runtime.provider_models import ask_provider
from footplate.runtime.runner import Runner

Source = Literal["agent", "provider", "settings", "built-in list"]
PATIENCE_S: Final = 60.0


class Choices(msgspec.Struct, frozen=True, kw_only=True):
    """What can be chosen of one agent. `source` says who told it, `as_of` when.

    `models` are full ids with their limits: those that the provider lists, else those of the built-in list.
    """

    engine: str
    source: Source
    as_of: str
    version: str = ""
    options: tuple[ConfigOption, ...] = ()
    models: tuple[KnownModel, ...] = ()
    models_source: Source = "provider"
    problems: tuple[str, ...] = ()


class ChoiceBook:
    """The choices of every agent of one data folder; what was told is kept there, a file per agent."""

    def __init__(self, settings: Settings, environ: Mapping[str, str]) -> None:
        self._settings = settings
        self._environ = environ
        self._folder = data_folder(environ) / "choices"
        self._engines: dict[SessionId, tuple[str, str]] = {}
        self._early: dict[SessionId, tuple[ConfigOption, ...]] = {}
        self._told: dict[str, tuple[ConfigOption, ...]] = {}

    def read(self, engine: str) -> Choices:
        """What is known of an agent without asking it: what it told last, else what the engine says, else our list."""
        return _with_known_models(self._stored(engine) or self._built_in(engine))

    def _stored(self, engine: str) -> Choices | None:
        try:
            return msgspec.json.decode((self._folder / f"{engine}.json").read_bytes(), type=Choices)
        except (OSError, msgspec.MsgspecError):
            return None

    def _built_in(self, engine: str) -> Choices:
        made = make_engine(engine, self._settings)
        told = usable_choices(made, self._settings, self._environ)
        return Choices(engine=engine, source="built-in list", as_of=AS_OF, options=_join(told, known_options(engine)))

    async def refresh(self, engine: str, keeper: Spawner) -> Choices:
        """Ask the agent, and its provider where there is a credential; what nobody tells stays as it was."""
        made = make_engine(engine, self._settings)
        problems: list[str] = []
        options: tuple[ConfigOption, ...] = ()
        version = ""
        try:
            options, version = await ask_agent(made, keeper, self._environ)
        except FootplateError as problem:
            problems.append(str(problem))
        try:
            models = await asyncio.to_thread(ask_provider, made, self._settings, self._environ)
        except FootplateError as problem:
            models = ()
            problems.append(str(problem))
        if not options and not models:
            return msgspec.structs.replace(self.read(engine), problems=tuple(problems))
        found = Choices(
            engine=engine,
            source="agent" if options else "provider",
            as_of=_today(),
            version=version,
            options=options or self.read(engine).options,
            models=models,
            problems=tuple(problems),
        )
        await asyncio.to_thread(self._write, found)
        return _with_known_models(found)

    def listen(self, envelopes: Sequence[Envelope]) -> None:
        """Take note of what agents tell in their sessions. Claude Code does so before it is attached."""
        for envelope in envelopes:
            session = envelope.session
            match envelope.event:
                case EngineAttached(engine=engine, version=version):
                    self._engines[session] = (engine, version)
                    if session in self._early:
                        self._learn(engine, version, self._early.pop(session))
                case ConfigChanged(options=options) if session in self._engines:
                    self._learn(*self._engines[session], options)
                case ConfigChanged(options=options) if options:
                    self._early[session] = options
                case EngineDetached():
                    self._engines.pop(session, None)
                    self._early.pop(session, None)

    def _learn(self, engine: str, version: str, options: tuple[ConfigOption, ...]) -> None:
        offered = tuple(msgspec.structs.replace(option, value="") for option in options)
        if self._told.get(engine) == offered:
            return
        self._told[engine] = offered
        before = self._stored(engine)
        models = before.models if before is not None and before.source == "agent" else ()
        self._write(
            Choices(engine=engine, source="agent", as_of=_today(), version=version, options=options, models=models)
        )

    def _write(self, found: Choices) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        fresh = self._folder / f".{secrets.token_hex(4)}"
        fresh.write_bytes(msgspec.json.encode(msgspec.structs.replace(found, problems=())))
        fresh.replace(self._folder / f"{found.engine}.json")


async def ask_agent(
    engine: Engine, keeper: Spawner, environ: Mapping[str, str]
) -> tuple[tuple[ConfigOption, ...], str]:
    """Start the agent, without a prompt, until it has told its options; them, and its version. Raises `EngineError`."""
    installed = await engine.locate(environ)
    with tempfile.TemporaryDirectory(prefix="footplate-choices-") as folder:
        options = Options(cwd=str(Path(folder).resolve()), asks=True)  # noqa: ASYNC240
        runner = await Runner.start(engine, installed, options, keeper=keeper, environ=environ)
        runner.lines.connect(None)
        found: tuple[ConfigOption, ...] = ()
        try:
            async with asyncio.timeout(PATIENCE_S):
                async for batch in runner.batches():
                    found = next((each.options for each in batch if isinstance(each, ConfigChanged)), found)
                    if found:
                        break
        except TimeoutError:
            found = ()
        finally:
            await runner.end(close_wait=1.0)
    return found, installed.version


def choose_options(
    known: tuple[ConfigOption, ...], *, chosen: Mapping[str, str], modes: tuple[str, ...]
) -> tuple[ConfigOption, ...]:
    """Known options as those of one session: with the values chosen for it, by category, and the modes it can have."""
    found: list[ConfigOption] = []
    for option in known:
        value = chosen.get(option.category) or option.value
        values = tuple(each for each in option.values if option.category != "mode" or not modes or each.value in modes)
        found.append(msgspec.structs.replace(option, value=value, values=values))
    return tuple(found)


def _with_known_models(found: Choices) -> Choices:
    """The built-in list of full ids where no provider has listed any. It is never stored."""
    known = KNOWN.get(found.engine)
    if found.models or known is None or not known.full:
        return found
    return msgspec.structs.replace(found, models=known.full, models_source="built-in list")


def _join(first: tuple[ConfigOption, ...], second: tuple[ConfigOption, ...]) -> tuple[ConfigOption, ...]:
    """The first, and of the second what the first does not have."""
    there = {option.category for option in first}
    return (*first, *(option for option in second if option.category not in there))


def _today() -> str:
    return time.strftime("%Y-%m-%d", time.gmtime())
