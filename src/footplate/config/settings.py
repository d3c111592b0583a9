"""The settings of the product as one frozen value, and the one way to read them.

A section of an engine is kept as it was read: the engine owns its shape and converts it with `read_section`, so that
an engine from elsewhere has settings of its own without a change here.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal, TypeVar

import msgspec
from msgspec import Meta

from footplate.config.acp import AcpAgentSettings, AcpSettings
from footplate.config.advice import BadSetting, advise
from footplate.config.agents import AgentsSettings
from footplate.config.chat import TransportSettings
from footplate.config.machine import FilesSettings, ProcessesSettings
from footplate.config.notify import Hook
from footplate.config.otel import OtelSettings
from footplate.config.places import settings_file
from footplate.config.projects import ENGINES, ProjectSettings, alias_problem
from footplate.config.push import PushSettings
from footplate.config.references import resolve
from footplate.config.retention import RetentionSettings
from footplate.config.rules import Rule
from footplate.config.telegram import TelegramSettings
from footplate.errors import ConfigError

PREFIX = "FOOTPLATE__"
ENGINE_PLUGINS = "footplate.engines"
"""The entry-point group of third-party engines; each names a factory, see `engines.catalog`."""

Section = dict[str, object]
T = TypeVar("T")


class RuntimeSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How sessions live."""

    idle_s: Annotated[
        float,
        Meta(
            description="an agent process that was idle for so long is ended; one whose agent cannot "
            "resume its conversation stays",
            gt=0,
        ),
    ] = 600.0
    request_timeout_s: Annotated[
        float | None, Meta(description="a request that nobody answered for so long ends unanswered; default: never")
    ] = None
    ask_again_s: Annotated[
        float,
        Meta(description="a resumed agent that does not ask again within so many seconds is told in words", gt=0),
    ] = 10.0
    resume_at_reset: Annotated[
        int, Meta(description="how often a session goes on by itself when a usage limit is over", ge=0)
    ] = 0
    reattach_grace_s: Annotated[
        float, Meta(description="for how long agents go on without the service, until it is back", ge=0)
    ] = 600.0
    spool_mb: Annotated[
        int, Meta(description="how much output of each agent is kept for the service meanwhile; then it waits", gt=0)
    ] = 64
    worktree_days: Annotated[
        Annotated[float, Meta(ge=0)] | None,
        Meta(description="stale worktrees not used for so long are removed when the server starts; default: never"),
    ] = None
    prewarm: Annotated[
        int, Meta(description="how many agent processes are kept ready for new sessions like the last ones", ge=0)
    ] = 0
    prewarm_s: Annotated[
        float, Meta(description="a process that was kept ready for so long and not needed is ended", gt=0)
    ] = 300.0


class HttpSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How the HTTP server takes its callers."""

    allowed_hosts: Annotated[
        tuple[str, ...],
        Meta(description="names by which it may be called (`Host`); default: loopback names there, any elsewhere"),
    ] = ()
    json_limit_mb: Annotated[int, Meta(description="the largest JSON body; files are not limited by this", gt=0)] = 64
    header_limit_kb: Annotated[int, Meta(description="the largest head of a request", gt=0)] = 64
    header_timeout_s: Annotated[float, Meta(description="how long the head of a request may take", gt=0)] = 30.0
    body_timeout_s: Annotated[float, Meta(description="how long a body may stand still on its way in", gt=0)] = 60.0
    stall_s: Annotated[
        float, Meta(description="a reader of a stream that takes nothing for so long is cut off", gt=0)
    ] = 120.0
    heartbeat_s: Annotated[float, Meta(description="how often a silent stream says that it lives", gt=0)] = 15.0
    stop_s: Annotated[float, Meta(description="how long running calls may take when the server stops", ge=0)] = 10.0
    acp_idle_s: Annotated[
        float,
        Meta(
            description="how long a call of an ACP method waits without a sign of life of the agent; "
            "`SANDBOX_AGENT_ACP_REQUEST_TIMEOUT_MS` sets it, too",
            gt=0,
        ),
    ] = 600.0
    log: Annotated[Literal["logfmt", "json"], Meta(description="the form of log lines")] = "logfmt"
    opencode: Annotated[
        bool, Meta(description="must be false: reserved for an OpenCode-compatible surface, which does not exist yet")
    ] = False

    def __post_init__(self) -> None:
        """Refuse a switch that would have no effect."""
        if self.opencode:
            problem = "`opencode = true` in [http]: the OpenCode-compatible surface does not exist yet"
            raise BadSetting(problem, "remove it or write `opencode = false`")


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the operator decided. Every field has a default: no file is needed."""

    default_engine: Annotated[str, Meta(description="the engine when nothing else names one")] = "claude"
    rules: Annotated[
        tuple[Rule, ...], Meta(description="rules that answer permissions, the first that fits: `[[rules]]`")
    ] = ()
    runtime: Annotated[RuntimeSettings, Meta(description="`[runtime]`, see below")] = RuntimeSettings()
    http: Annotated[HttpSettings, Meta(description="`[http]`, see below")] = HttpSettings()
    retention: Annotated[RetentionSettings, Meta(description="`[retention]`, see below")] = RetentionSettings()
    notify: Annotated[
        tuple[Hook, ...], Meta(description="whom to tell when a session needs you, finished, failed: `[[notify]]`")
    ] = ()
    push: Annotated[PushSettings, Meta(description="`[push]`, see below")] = PushSettings()
    otel: Annotated[OtelSettings, Meta(description="`[otel]`, see below")] = OtelSettings()
    files: Annotated[FilesSettings, Meta(description="`[files]`, see below")] = FilesSettings()
    processes: Annotated[ProcessesSettings, Meta(description="`[processes]`, see below")] = ProcessesSettings()
    acp: Annotated[AcpSettings, Meta(description="`[acp]`, see below")] = AcpSettings()
    acp_agents: Annotated[
        dict[str, AcpAgentSettings], Meta(description="commands that speak ACP: `[acp_agents.NAME]`, see below")
    ] = {}
    agents: Annotated[AgentsSettings, Meta(description="`[agents]`, see below")] = AgentsSettings()
    telegram: Annotated[TelegramSettings, Meta(description="`[telegram]`, see below")] = TelegramSettings()
    transports: Annotated[
        dict[str, TransportSettings],
        Meta(description="bridges to other chat services that packages bring: `[transports.NAME]`, see below"),
    ] = {}
    default_project: Annotated[str, Meta(description="the project when a chat names none")] = ""
    projects: Annotated[
        dict[str, ProjectSettings], Meta(description="repositories by a short name: `[projects.ALIAS]`, see below")
    ] = {}
    engines: dict[str, Section] = {}

    def __post_init__(self) -> None:
        """Refuse names of projects that mean something else already, and a default that is none."""
        for alias in self.projects:
            problem = alias_problem(alias)
            if problem:
                raise ValueError(f"[projects.{alias}] cannot be used: {problem}")
        if self.default_project and self.default_project not in self.projects:
            raise ValueError(f"default_project {self.default_project!r} is not in [projects]")


class CommonSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What every engine's section may hold, whatever else the engine itself knows."""

    run_timeout_s: Annotated[float | None, Meta(description="stop a run of this engine after so many seconds")] = None
    sandbox: Annotated[
        Literal["none", "bwrap"], Meta(description="`bwrap` puts the agent in a sandbox: see the how-to page")
    ] = "none"
    sandbox_read: Annotated[
        tuple[str, ...], Meta(description="further files and folders that a sandboxed agent may read")
    ] = ()
    sandbox_write: Annotated[
        tuple[str, ...], Meta(description="further files and folders that a sandboxed agent may write")
    ] = ()
    sandbox_network: Annotated[bool, Meta(description="whether a sandboxed agent has the network")] = True
    sandbox_tmp_mb: Annotated[
        int, Meta(description="how much a sandboxed agent may keep in `/tmp`, and in its home; this is memory", gt=0)
    ] = 1024
    memory_mb: Annotated[
        int | None, Meta(description="stop an agent that uses more memory, with all that it started")
    ] = None
    cpu_s: Annotated[
        int | None, Meta(description="stop an agent process that used so many seconds of CPU, with all that it started")
    ] = None
    processes: Annotated[int | None, Meta(description="stop an agent that runs more processes at a time")] = None
    open_files: Annotated[int | None, Meta(description="how many files each process of an agent may open")] = None


SECTIONS = frozenset(field.name for field in msgspec.structs.fields(Settings))
COMMON = frozenset(field.name for field in msgspec.structs.fields(CommonSettings))


def common_settings(settings: Settings, engine: str) -> CommonSettings:
    """The part of an engine's section that means the same for all of them."""
    return read_section(CommonSettings, settings.engines.get(engine, {}), where=f"[engines.{engine}]")


def own_section(settings_of_engine: Mapping[str, object]) -> Section:
    """The part of an engine's section that only the engine understands."""
    return {key: value for key, value in settings_of_engine.items() if key not in COMMON}


def load_settings(environ: Mapping[str, str]) -> Settings:
    """The settings file (none is fine unless it was named) with `FOOTPLATE__A__B` overrides on top."""
    path = settings_file(environ)
    table = read_table(path, required="FOOTPLATE_CONFIG" in environ)
    for name, value in environ.items():
        if name.startswith(PREFIX):
            _override(table, name, value)
    resolved = {key: resolve(value, environ, where=key) for key, value in table.items()}
    return read_settings(resolved, where=str(path))


def read_settings(table: Mapping[str, object], *, where: str) -> Settings:
    """The whole table as settings; the section of an engine at the top level gets an error that names its place."""
    unknown = [name for name in table if name not in SECTIONS]
    for name in unknown:
        if name in known_engines(table.get("acp_agents")):
            raise ConfigError(where, f"unknown section [{name}]", f"settings of an engine belong in [engines.{name}]")
    return read_section(Settings, table, where=where)


def known_engines(acp_agents: object) -> set[str]:
    """Every name that may stand in `[engines.NAME]`. Reads package metadata, so only an error path calls it."""
    from importlib.metadata import entry_points  # noqa: PLC0415  (3 MB that no other path needs)

    commands = acp_agents if isinstance(acp_agents, Mapping) else {}
    return {*ENGINES, *commands, *entry_points(group=ENGINE_PLUGINS).names}


def read_section(shape: type[T], table: Mapping[str, object], *, where: str) -> T:
    """The table as the given struct; an unknown key or a wrong value is a `ConfigError` that says what to write."""
    try:
        return msgspec.convert(table, shape)
    except msgspec.ValidationError as problem:
        raise ConfigError(where, str(problem), advise(shape, problem)) from problem


def read_table(path: Path, *, required: bool) -> Section:
    """What stands in the file, as it stands there. Raises `ConfigError`."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        if required:
            raise ConfigError(str(path), "no such file", "create it or unset FOOTPLATE_CONFIG") from None
        return {}
    except (OSError, UnicodeDecodeError) as problem:
        raise ConfigError(str(path), str(problem), "make it a readable UTF-8 file") from problem
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        raise ConfigError(str(path), f"not TOML: {problem}", "mend that line") from problem


def _override(table: Section, name: str, value: str) -> None:
    keys = name.removeprefix(PREFIX).lower().split("__")
    if not all(keys):
        raise ConfigError(name, "an empty part between the underscores", "write FOOTPLATE__SECTION__KEY")
    place = table
    for key in keys[:-1]:
        inner = place.setdefault(key, {})
        if not isinstance(inner, dict):
            raise ConfigError(name, f"{key!r} is a value, not a section", "name the setting itself")
        place = inner
    place[keys[-1]] = parse_value(value)


def parse_value(text: str) -> object:
    """A TOML value where the text is one (`true`, `3`, `["a"]`), else the text itself."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
