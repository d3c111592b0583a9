"""Permission modes: which can be used here, and a refusal with the reason for the others."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from footplate.config.settings import Settings, common_settings
from footplate.engines.base import Capabilities, ChecksStart, Described, Engine, Installed, Options
from footplate.errors import EngineRefused, InvalidValue
from footplate.events.model import ConfigOption
from footplate.events.view import SessionView
from footplate.host.sandbox import Sandbox, read_sandbox
from footplate.runtime.limits import Spent
from footplate.runtime.spec import SessionSpec
from footplate.runtime.starting import starting_options


def check_start(engine: Engine, options: Options, environ: Mapping[str, str]) -> None:
    """Raise `EngineRefused` or `RequestError` if the agent would not start with these options."""
    checker: object = engine
    if isinstance(checker, ChecksStart):
        checker.check_start(options, environ)


def check_known_mode(engine: Engine, mode: str, told: tuple[ConfigOption, ...] = ()) -> None:
    """Raise `InvalidValue` for a mode that neither the engine nor its agent names; without any name it may be any.

    `told` are the options as the session's agent told them: a newer one may have further modes.
    """
    if isinstance(engine, ChecksStart):
        return  # it knows further names for its modes, and refuses all others itself
    values = [value.value for option in told if option.category == "mode" for value in option.values]
    modes = dict.fromkeys((*engine.capabilities().modes, *values))
    if mode and modes and mode not in modes:
        raise InvalidValue("mode", mode, f"one of {', '.join(modes)}")


def usable_modes(engine: Engine, options: Options, environ: Mapping[str, str]) -> tuple[str, ...]:
    """The modes that the agent can be started in with these options."""
    return tuple(mode for mode in engine.capabilities().modes if _can_start(engine, options, mode, environ))


def _can_start(engine: Engine, options: Options, mode: str, environ: Mapping[str, str]) -> bool:
    try:
        check_start(engine, msgspec.structs.replace(options, mode=mode), environ)
    except EngineRefused:
        return False
    return True


def usable_capabilities(
    engine: Engine, settings: Settings, environ: Mapping[str, str], installed: Installed | None = None
) -> Capabilities:
    """What the engine can do on this machine: its capabilities without modes that it would refuse."""
    options = Options(cwd="/", sandbox=sandbox_of(settings, engine.name))
    return msgspec.structs.replace(engine.capabilities(installed), modes=usable_modes(engine, options, environ))


def usable_choices(engine: Engine, settings: Settings, environ: Mapping[str, str]) -> tuple[ConfigOption, ...]:
    """What can be chosen of an engine on this machine, without modes that its agent would refuse."""
    if not isinstance(engine, Described):
        return ()
    refused = {*engine.capabilities().modes} - {*usable_capabilities(engine, settings, environ).modes}
    return tuple(
        msgspec.structs.replace(option, values=tuple(value for value in option.values if value.value not in refused))
        if option.category == "mode"
        else option
        for option in engine.choices(environ)
    )


def sandbox_of(settings: Settings, engine: str) -> Sandbox | None:
    """The sandbox of an engine's agents, if they have one."""
    return read_sandbox(common_settings(settings, engine))


def session_options(spec: SessionSpec, settings: Settings) -> Options:
    """The options of the first process of a session."""
    return starting_options(spec, SessionView(), settings, Spent())
