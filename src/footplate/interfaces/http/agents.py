"""Agents: which there are, whether they are installed, what they can do and what can be chosen; installing one."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Mapping
from typing import Literal

import msgspec

from footplate.engines.base import Capabilities, Credential, Described, Engine, Installed
from footplate.engines.catalog import engine_names
from footplate.engines.known_models import AS_OF, find_known
from footplate.engines.receipts import find_receipt, own_program
from footplate.errors import FootplateError
from footplate.events.model import ConfigOption, ConfigValue
from footplate.interfaces.http.call import Call
from footplate.interfaces.http.routing import Routes
from footplate.runtime.choices import Choices
from footplate.runtime.modes import usable_capabilities, usable_choices

routes = Routes("agents")
IN_PROCESS = "builtin"


class AgentCapabilities(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What an agent can do, as the published clients ask for it."""

    plan_mode: bool
    permissions: bool
    questions: bool
    tool_calls: bool
    tool_results: bool
    text_messages: bool
    images: bool
    file_attachments: bool
    session_lifecycle: bool
    error_events: bool
    reasoning: bool
    status: bool
    command_execution: bool
    file_changes: bool
    mcp_tools: bool
    streaming_deltas: bool
    item_started: bool
    shared_process: bool

    @classmethod
    def of(cls, can: Capabilities) -> AgentCapabilities:
        """From what the engine says of itself; what every engine's translator does is true for all."""
        return cls(
            plan_mode="plan" in can.modes,
            permissions=can.permissions,
            questions=can.questions,
            tool_calls=True,
            tool_results=True,
            text_messages=True,
            images=can.images,
            file_attachments=can.images,
            session_lifecycle=can.resume,
            error_events=True,
            reasoning=True,
            status=True,
            command_execution=True,
            file_changes=True,
            mcp_tools=can.mcp,
            streaming_deltas=can.live,
            item_started=True,
            shared_process=can.multiplex,
        )


class ChoiceValue(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One value of a choice."""

    name: str
    value: str
    description: str = ""


class Choice(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Something that can be chosen: the model, the mode, how hard it thinks."""

    id: str
    name: str
    category: str
    current_value: str
    options: tuple[ChoiceValue, ...]
    type: Literal["select"] = "select"

    @classmethod
    def of(cls, option: ConfigOption) -> Choice:
        """From the engine's own words."""
        values = tuple(
            ChoiceValue(name=each.label or each.value, value=each.value, description=each.description)
            for each in option.values
        )
        return cls(
            id=option.id,
            name=option.label or option.id,
            category=option.category or option.id,
            current_value=option.value,
            options=values,
        )


class ServerState(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """That a connection to the agent lives, and for how long."""

    status: Literal["running", "stopped"]
    uptime_ms: int


class AgentInfo(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """One agent. Version, path and choices are told when `config=true` asks for them."""

    id: str
    installed: bool
    credentials_available: bool
    capabilities: AgentCapabilities
    version: str | None = None
    path: str | None = None
    config_options: tuple[Choice, ...] | None = None
    config_error: str | None = None
    server_status: ServerState | None = None


class AgentList(msgspec.Struct, frozen=True, kw_only=True):
    """Every agent that this server knows."""

    agents: tuple[AgentInfo, ...]


class AgentsQuery(msgspec.Struct, frozen=True, kw_only=True):
    """`config`: tell version, path and choices, too. `no_cache` is taken and needless: nothing is cached."""

    config: bool = False
    no_cache: bool = False


@routes.get("/v1/agents", scope="read", summary="Every agent that this server knows", answer=AgentList)
async def list_agents(call: Call, query: AgentsQuery) -> AgentList:
    return AgentList(
        agents=tuple(
            await asyncio.gather(
                *(_describe(call, name, config=query.config) for name in engine_names(call.api.settings))
            )
        )
    )


@routes.get("/v1/agents/{agent}", scope="read", summary="One agent", answer=AgentInfo)
async def get_agent(call: Call, query: AgentsQuery) -> AgentInfo:
    return await _describe(call, call.params["agent"], config=query.config)


async def _describe(call: Call, name: str, *, config: bool) -> AgentInfo:
    engine = call.api.engine(name)
    environ = call.api.services.environ
    found, problem = await _locate(engine, environ)
    since = call.api.acp.servers.since(name)
    info = AgentInfo(
        id=name,
        installed=found is not None,
        credentials_available=_may_work(engine, environ),
        capabilities=AgentCapabilities.of(engine.capabilities(found)),
        server_status=None
        if since is None
        else ServerState(status="running", uptime_ms=round((time.monotonic() - since) * 1000)),
    )
    if not config:
        return info
    choices = call.api.choices.read(name).options
    return msgspec.structs.replace(
        info,
        version=found.version if found is not None else None,
        path=(found.program or IN_PROCESS) if found is not None else None,
        config_options=tuple(map(Choice.of, choices)),
        config_error=problem or None,
    )


async def _locate(engine: Engine, environ: Mapping[str, str]) -> tuple[Installed | None, str]:
    try:
        return await engine.locate(environ), ""
    except FootplateError as problem:
        return None, str(problem)


def _may_work(engine: Engine, environ: Mapping[str, str]) -> bool:
    if not isinstance(engine, Described):
        return False
    return not engine.needs_login or any(not each.expired for each in engine.credentials(environ))


class InstallBody(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Which version to install, and whether to do it again."""

    reinstall: bool | None = None
    agent_version: str | None = None
    agent_process_version: str | None = None


class Artifact(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A program that the agent consists of."""

    kind: Literal["native_agent", "agent_process"]
    path: str
    source: Literal["registry", "fallback", "local_path", "builtin"]
    version: str | None = None


class InstallReport(msgspec.Struct, frozen=True, kw_only=True):
    """What was done."""

    already_installed: bool
    artifacts: tuple[Artifact, ...]


@routes.post(
    "/v1/agents/{agent}/install",
    scope="admin",
    summary="Install an agent's program into the data folder, unless it is there",
    answer=InstallReport,
    problems=(404, 500),
)
async def install(call: Call, body: InstallBody) -> InstallReport:
    engine = call.api.engine(call.params["agent"])
    environ = call.api.services.environ
    found, _ = await _locate(engine, environ)
    if found is not None and not found.program:
        built_in = Artifact(kind="agent_process", path=sys.executable, source="builtin", version=found.version)
        return InstallReport(already_installed=True, artifacts=(built_in,))
    if found is not None and not body.reinstall and body.agent_version in (None, "", found.version):
        there = Artifact(kind="native_agent", path=found.program, source="local_path", version=found.version)
        return InstallReport(already_installed=True, artifacts=(there,))
    name = engine.name
    await call.record("agent.install", target=name, version=body.agent_version or "")
    await asyncio.shield(call.api.begin_install(name, body.agent_version or ""))
    receipt = find_receipt(environ, name)
    version = receipt.version if receipt is not None else None
    fetched = Artifact(kind="native_agent", path=own_program(environ, name), source="registry", version=version)
    return InstallReport(already_installed=False, artifacts=(fetched,))


# ------------------------------------------------------------------------------------- the native names


class EngineInfo(msgspec.Struct, frozen=True, kw_only=True):
    """One engine, with all that it says of itself."""

    name: str
    title: str
    installed: bool
    version: str
    program: str
    problem: str
    capabilities: Capabilities
    choices: tuple[ConfigOption, ...]
    credentials: tuple[Credential, ...]


class EngineList(msgspec.Struct, frozen=True, kw_only=True):
    """Every engine."""

    engines: tuple[EngineInfo, ...]
    default: str


@routes.get("/api/engines", scope="read", summary="Every engine, with all that it says of itself", answer=EngineList)
async def list_engines(call: Call) -> EngineList:
    engines = await asyncio.gather(*(_describe_engine(call, name) for name in engine_names(call.api.settings)))
    return EngineList(engines=tuple(engines), default=call.api.settings.default_engine)


async def _describe_engine(call: Call, name: str) -> EngineInfo:
    engine = call.api.engine(name)
    environ = call.api.services.environ
    found, problem = await _locate(engine, environ)
    told = engine if isinstance(engine, Described) else None
    return EngineInfo(
        name=name,
        title=engine.title,
        installed=found is not None,
        version=found.version if found is not None else "",
        program=found.program if found is not None else "",
        problem=problem,
        capabilities=usable_capabilities(engine, call.api.settings, environ, found),
        choices=usable_choices(engine, call.api.settings, environ),
        credentials=told.credentials(environ) if told is not None and call.grant.may("admin") else (),
    )


class ModelEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A model of an engine."""

    engine: str
    model: str
    label: str
    source: str
    """Who told it: the agent, its provider, or a list that is built in."""
    as_of: str
    context_tokens: int | None = None
    output_tokens: int | None = None
    """How many tokens it reads and writes at most. For a name that an agent offers, from the built-in list."""


class ModelList(msgspec.Struct, frozen=True, kw_only=True):
    """The models that can be asked for, engine by engine."""

    models: tuple[ModelEntry, ...]


@routes.get("/api/models", scope="read", summary="The models that can be asked for", answer=ModelList)
async def list_models(call: Call) -> ModelList:
    found: list[ModelEntry] = []
    for name in engine_names(call.api.settings):
        found += _models(call.api.choices.read(name))
    return ModelList(models=tuple(found))


def _models(told: Choices) -> list[ModelEntry]:
    """What the agent offers by name, then the full ids that its provider, or else the built-in list, has."""
    named = [value for option in told.options if option.category == "model" for value in option.values]
    entries = [_named_model(told, each) for each in named]
    as_of = told.as_of if told.models_source == "provider" else AS_OF
    return entries + [
        ModelEntry(
            engine=told.engine,
            model=each.id,
            label=each.label,
            source=told.models_source,
            as_of=as_of,
            context_tokens=each.context,
            output_tokens=each.output,
        )
        for each in told.models
    ]


def _named_model(told: Choices, value: ConfigValue) -> ModelEntry:
    """A model by the name that the agent offers; its limits are those of the built-in list."""
    known = find_known(told.engine, value.value, version=told.version)
    return ModelEntry(
        engine=told.engine,
        model=value.value,
        label=value.label,
        source=told.source,
        as_of=told.as_of,
        context_tokens=known.context if known is not None else None,
        output_tokens=known.output if known is not None else None,
    )


class CredentialEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A credential of an engine; never its value."""

    engine: str
    credential: Credential


class CredentialList(msgspec.Struct, frozen=True, kw_only=True):
    """Every credential that was found on this machine."""

    credentials: tuple[CredentialEntry, ...]


@routes.get(
    "/api/credentials",
    scope="admin",
    summary="The credentials on this machine: where, of which kind, until when; never a value",
    answer=CredentialList,
)
async def list_credentials(call: Call) -> CredentialList:
    found: list[CredentialEntry] = []
    for name in engine_names(call.api.settings):
        engine = call.api.engine(name)
        if isinstance(engine, Described):
            there = engine.credentials(call.api.services.environ)
            found += [CredentialEntry(engine=name, credential=each) for each in there]
    return CredentialList(credentials=tuple(found))
