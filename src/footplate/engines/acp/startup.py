"""How a conversation with an ACP agent begins: what we offer, which session, which options. Pure values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from footplate.acp.reading import PROTOCOL_VERSION
from footplate.acp.schema.choices import SessionConfigOption, SessionModeState
from footplate.acp.schema.sessions import (
    EnvVariable,
    HttpHeader,
    LoadSessionRequest,
    McpServer,
    NewSessionRequest,
    SetSessionConfigOptionRequest,
    SetSessionModeRequest,
)
from footplate.acp.schema.start import (
    ClientCapabilities,
    ClientSessionCapabilities,
    ElicitationCapabilities,
    ElicitationFormCapabilities,
    Implementation,
    InitializeRequest,
    InitializeResponse,
    NoticeCapabilities,
)
from footplate.acp.wire import Wire
from footplate.engines.acp.legacy import SetModelRequest
from footplate.engines.acp.session import SessionState, allowed_values
from footplate.engines.base import Options
from footplate.engines.declared import Declared
from footplate.errors import InvalidValue, UnsupportedOption
from footplate.events.base import OptionalRaw
from footplate.version import __version__

CATEGORIES: Final = {"model": "model", "mode": "mode", "effort": "thought_level"}
"""Our names of what can be set, and ACP's categories of options."""


class Call(msgspec.Struct, frozen=True):
    """A request to write: its method and its parameters."""

    method: str
    params: object


class Opened(Wire, frozen=True, kw_only=True):
    """What an agent answers when it has opened a session, new or old. `models` is in no schema any more."""

    session_id: str = ""
    modes: SessionModeState | None = None
    config_options: tuple[SessionConfigOption, ...] | None = None
    models: OptionalRaw = None


def initialize() -> Call:
    """The first message. Neither files nor terminals are offered: no flow of ours depends on them."""
    return Call(
        "initialize",
        InitializeRequest(
            protocol_version=PROTOCOL_VERSION,
            client_capabilities=ClientCapabilities(
                elicitation=ElicitationCapabilities(form=ElicitationFormCapabilities()),
                session=ClientSessionCapabilities(notices=NoticeCapabilities()),
            ),
            client_info=Implementation(name="footplate", title="Footplate", version=__version__),
        ),
    )


def open_session(
    engine: str,
    options: Options,
    agent: InitializeResponse,
    servers: tuple[McpServer, ...] = (),
    *,
    replays: bool = False,
) -> Call:
    """A new session or an old one, in whichever way the agent can. Raises `UnsupportedOption` when it cannot.

    `replays`: not by `session/resume`, which some agents announce and do not have.
    """
    if options.resume is None:
        return Call("session/new", NewSessionRequest(cwd=options.cwd, mcp_servers=servers))
    params = LoadSessionRequest(session_id=options.resume, cwd=options.cwd, mcp_servers=servers)
    if agent.agent_capabilities.session_capabilities.resume is not None and not replays:
        return Call("session/resume", params)
    if agent.agent_capabilities.load_session:
        return Call("session/load", params)
    raise UnsupportedOption(engine, "resuming a session", "start a new one")


def can_reopen(agent: InitializeResponse | None) -> bool:
    """Whether another process of the agent can open a session of this one; many agents keep them in memory alone."""
    if agent is None:
        return True
    can = agent.agent_capabilities
    return can.load_session or can.session_capabilities.resume is not None


def tell_servers(
    declared: Mapping[str, Declared], agent: InitializeResponse
) -> tuple[tuple[McpServer, ...], tuple[str, ...]]:
    """The MCP servers as the agent takes them, and the names of those that it cannot reach."""
    can = agent.agent_capabilities.mcp_capabilities
    ways = {"stdio": True, "http": can.http, "sse": can.sse}
    taken = tuple(_server(name, each) for name, each in declared.items() if ways.get(each.type))
    return taken, tuple(name for name, each in declared.items() if not ways.get(each.type))


def _server(name: str, declared: Declared) -> McpServer:
    if declared.type == "stdio":
        env = tuple(EnvVariable(name=key, value=value) for key, value in declared.env.items())
        return McpServer(name=name, command=declared.command, args=declared.args, env=env)
    headers = tuple(HttpHeader(name=key, value=value) for key, value in declared.headers.items())
    return McpServer(type=declared.type, name=name, url=declared.url, headers=headers)


def set_option(engine: str, session: str, state: SessionState, name: str, value: str) -> Call:
    """Set the model, the mode, the effort, or the option of that id. Raises `RequestError` when there is no such."""
    option = find_option(state, name)
    if option is None:
        raise UnsupportedOption(engine, f"a choice of {name}", "leave it out")
    known = allowed_values(option)
    if value not in known:
        raise InvalidValue(name, value, f"one of {', '.join(known)}")
    if option not in state.apart:
        boolean = isinstance(option.current_value, bool)
        params = SetSessionConfigOptionRequest(
            session_id=session,
            config_id=option.id,
            type="boolean" if boolean else None,
            value=value == "true" if boolean else value,
        )
        return Call("session/set_config_option", params)
    if name == "mode":
        return Call("session/set_mode", SetSessionModeRequest(session_id=session, mode_id=value))
    return Call("session/set_model", SetModelRequest(session_id=session, model_id=value))


def find_option(state: SessionState, name: str) -> SessionConfigOption | None:
    """The option for the model, the mode or the effort, else the one of that id."""
    return state.option(CATEGORIES[name]) if name in CATEGORIES else state.named(name)


def wanted_options(options: Options) -> list[tuple[str, str]]:
    """What is to be set before the first prompt."""
    wanted = (("model", options.model), ("mode", options.mode), ("effort", options.effort))
    return [*((name, value) for name, value in wanted if value), *options.choices.items()]
