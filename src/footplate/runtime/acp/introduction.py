"""What we say of ourselves in the answer to `initialize`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

import msgspec

from footplate.acp.reading import PROTOCOL_VERSION
from footplate.acp.schema.start import (
    AgentAuthCapabilities,
    AgentCapabilities,
    AuthMethod,
    AuthStatusCapabilities,
    ClientCapabilities,
    Implementation,
    InitializeResponse,
    LogoutCapabilities,
    McpCapabilities,
    PromptCapabilities,
    ProvidersCapabilities,
    SessionAdditionalDirectoriesCapabilities,
    SessionArchiveCapabilities,
    SessionCapabilities,
    SessionCloseCapabilities,
    SessionDeleteCapabilities,
    SessionForkCapabilities,
    SessionListCapabilities,
    SessionResumeCapabilities,
    SessionSystemPromptCapabilities,
    SessionSystemPromptModeCapabilities,
    SessionSystemPromptOverrideCapabilities,
    SessionTitleCapabilities,
)
from footplate.engines.base import Engine
from footplate.engines.login import LogsIn
from footplate.events.base import OptionalRaw
from footplate.runtime.acp.client import Manner
from footplate.runtime.acp.extensions import advertised
from footplate.version import __version__

STEERING: Final = msgspec.Raw(b'{"steering":{"supported":true}}')


GATEWAYS: Final[Mapping[str, Literal["anthropic", "bedrock"]]] = {"gateway": "anthropic", "gateway-bedrock": "bedrock"}
"""Ways in that need no login of the agent's own, and what the gateway speaks."""

OVERRIDE: Final = SessionSystemPromptCapabilities(
    mode=SessionSystemPromptModeCapabilities(override=SessionSystemPromptOverrideCapabilities())
)


class _ClientMeta(msgspec.Struct, frozen=True):
    terminal_auth: bool = msgspec.field(name="terminal-auth", default=False)
    gateway: bool = False


def introduce(
    engine: Engine, manner: Manner, environ: Mapping[str, str], client: ClientCapabilities
) -> InitializeResponse:
    """Truthful for this engine; ways to log in only where the client can go them."""
    can = engine.capabilities()
    logs_in = isinstance(engine, LogsIn)
    return InitializeResponse(
        protocol_version=PROTOCOL_VERSION,
        agent_capabilities=AgentCapabilities(
            load_session=True,
            prompt_capabilities=PromptCapabilities(image=can.images, embedded_context=True),
            mcp_capabilities=McpCapabilities(http=can.mcp, sse=can.mcp),
            session_capabilities=SessionCapabilities(
                list=SessionListCapabilities(),
                resume=SessionResumeCapabilities(),
                close=SessionCloseCapabilities(),
                delete=SessionDeleteCapabilities(),
                fork=SessionForkCapabilities() if can.fork else None,
                archive=SessionArchiveCapabilities(),
                title=SessionTitleCapabilities(),
                additional_directories=SessionAdditionalDirectoriesCapabilities() if can.add_dirs else None,
                system_prompt=OVERRIDE if can.system_prompt else None,
            ),
            auth=AgentAuthCapabilities(
                status=AuthStatusCapabilities(), logout=LogoutCapabilities() if logs_in else None
            ),
            providers=ProvidersCapabilities() if logs_in else None,
            meta=advertised() if manner.extensions else None,
        ),
        auth_methods=(*_terminal_logins(engine, manner, environ, client), *_gateways(engine, client)),
        agent_info=Implementation(name=f"footplate-{engine.name}", title=engine.title, version=__version__),
        meta=STEERING if can.steer else None,
    )


def _terminal_logins(
    engine: Engine, manner: Manner, environ: Mapping[str, str], client: ClientCapabilities
) -> tuple[AuthMethod, ...]:
    """The client starts the same command with these arguments, in a terminal."""
    older = _read(client.meta).terminal_auth
    if not isinstance(engine, LogsIn) or not manner.command or not (client.auth.terminal or older):
        return ()
    found: list[AuthMethod] = []
    for login in engine.logins(environ):
        arguments = ("--cli", *login.arguments)
        program, *rest = manner.command
        told = {"terminal-auth": {"command": program, "args": [*rest, *arguments], "label": login.name}}
        found.append(
            AuthMethod(
                type="terminal",
                id=login.id,
                name=login.name,
                description=login.description,
                args=arguments,
                meta=msgspec.Raw(msgspec.json.encode(told)) if older else None,
            )
        )
    return tuple(found)


def _gateways(engine: Engine, client: ClientCapabilities) -> tuple[AuthMethod, ...]:
    if not isinstance(engine, LogsIn) or not _read(client.auth.meta).gateway:
        return ()
    return tuple(
        AuthMethod(
            id=name,
            name="Custom model gateway",
            description=f"Send requests through a gateway that speaks as {protocol} does",
            meta=msgspec.Raw(msgspec.json.encode({"gateway": {"protocol": protocol}})),
        )
        for name, protocol in GATEWAYS.items()
    )


def _read(meta: OptionalRaw) -> _ClientMeta:
    try:
        return _ClientMeta() if meta is None else msgspec.json.decode(meta, type=_ClientMeta)
    except msgspec.ValidationError:
        return _ClientMeta()
