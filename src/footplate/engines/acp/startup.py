"""How a conversation with an ACP agent begins: what we offer, which session, which options. Pure values."""

from __future__ import annotations

from typing import Final

import msgspec

from footplate.acp.jsonrpc import AUTH_REQUIRED, RpcError
from footplate.acp.reading import PROTOCOL_VERSION
from footplate.acp.schema.sessions import (
    LoadSessionRequest,
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
from footplate.engines.acp.session import SessionState, allowed_values
from footplate.engines.acp.settle import word_error
from footplate.engines.base import Options
from footplate.errors import InvalidValue, UnsupportedOption
from footplate.version import __version__

CATEGORIES: Final = {"model": "model", "mode": "mode", "effort": "thought_level"}
"""Our names of what can be set, and ACP's categories of options."""


class Call(msgspec.Struct, frozen=True):
    """A request to write: its method and its parameters."""

    method: str
    params: object


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


def open_session(engine: str, options: Options, agent: InitializeResponse) -> Call:
    """A new session or an old one, in whichever way the agent can. Raises `UnsupportedOption` when it cannot."""
    if options.resume is None:
        return Call("session/new", NewSessionRequest(cwd=options.cwd, mcp_servers=()))
    params = LoadSessionRequest(session_id=options.resume, cwd=options.cwd, mcp_servers=())
    if agent.agent_capabilities.session_capabilities.resume is not None:
        return Call("session/resume", params)
    if agent.agent_capabilities.load_session:
        return Call("session/load", params)
    raise UnsupportedOption(engine, "resuming a session", "start a new one")


def set_option(engine: str, session: str, state: SessionState, name: str, value: str) -> Call:
    """Set the model, the mode or the effort. Raises `RequestError` when the agent has no such choice."""
    option = state.option(CATEGORIES[name])
    if option is not None:
        known = allowed_values(option)
        call = Call(
            "session/set_config_option",
            SetSessionConfigOptionRequest(session_id=session, config_id=option.id, value=value),
        )
    elif name == "mode" and state.modes:
        known = state.modes
        call = Call("session/set_mode", SetSessionModeRequest(session_id=session, mode_id=value))
    else:
        raise UnsupportedOption(engine, f"a choice of {name}", "leave it out")
    if value not in known:
        raise InvalidValue(name, value, f"one of {', '.join(known)}")
    return call


def wanted_options(options: Options) -> list[tuple[str, str]]:
    """What is to be set before the first prompt."""
    wanted = (("model", options.model), ("mode", options.mode), ("effort", options.effort))
    return [(name, value) for name, value in wanted if value]


def word_refusal(error: RpcError, agent: InitializeResponse | None) -> str:
    """Why the session could not be opened, and how to log in when that is what lacks."""
    if error.code != AUTH_REQUIRED or agent is None:
        return word_error(error)
    methods = agent.auth_methods if isinstance(agent.auth_methods, tuple) else ()
    ways = ", ".join(method.name for method in methods)
    return f"{word_error(error)}; log in first{f' ({ways})' if ways else ''}"
