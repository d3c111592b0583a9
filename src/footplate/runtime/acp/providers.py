"""The methods of ACP by which a client routes the agent's requests, and asks who is logged in.

There is one provider, `main`: the agent's own route, or the gateway that the client set. A change reaches the sessions
that the client has open as well: each gets a new process once its turn is over.
"""

from __future__ import annotations

import asyncio
import os
from typing import Final, get_args

import msgspec

from footplate.acp import jsonrpc
from footplate.acp.failures import invalid_params, unknown_method
from footplate.acp.jsonrpc import Envelope, RpcId
from footplate.acp.schema.beside import (
    AuthAccount,
    AuthStatusResponse,
    DisableProviderRequest,
    DisableProviderResponse,
    ListProvidersResponse,
    ProviderCurrentConfig,
    ProviderInfo,
    SetProviderRequest,
    SetProviderResponse,
)
from footplate.engines.base import Described, Options, Spawn
from footplate.engines.login import Account, Gateway, GatewayProtocol, LoginState, LogsIn
from footplate.runtime.acp.room import Reply, Room, read_params
from footplate.runtime.audit import Principal
from footplate.runtime.fetching import UNREADABLE_ADDRESS, show_address
from footplate.runtime.programs import run_program
from footplate.runtime.session import Session

MAIN: Final = "main"
PROTOCOLS: Final[tuple[GatewayProtocol, ...]] = get_args(GatewayProtocol)
STATUS_UPDATE: Final = "auth/status_update"
ASK_S: Final = 15.0
"""How long the agent's program may take to say who is logged in."""

LOOK_AGAIN_S: Final = 0.1


class _Vertex(msgspec.Struct, rename="camel"):
    project_id: str = ""
    region: str = ""


class _ClaudeCode(msgspec.Struct):
    vertex: _Vertex = msgspec.field(default_factory=_Vertex)


class _Meta(msgspec.Struct, rename="camel"):
    claude_code: _ClaudeCode = msgspec.field(default_factory=_ClaudeCode)


# ----------------------------------------------------------------------------------------------- providers


async def list_providers(room: Room, _id: RpcId, envelope: Envelope) -> Reply:
    """Where requests go; headers are not told."""
    engine = _routed(room, envelope)
    gateway = room.gateway or engine.route(room.services.environ)
    current = ProviderCurrentConfig(api_type=gateway.protocol, base_url=gateway.base_url)
    return Reply(
        ListProvidersResponse(
            providers=(ProviderInfo(provider_id=MAIN, supported=PROTOCOLS, required=False, current=current),)
        )
    )


async def set_provider(room: Room, rpc_id: RpcId, envelope: Envelope) -> Reply:
    """Have requests go somewhere else."""
    engine = _routed(room, envelope)
    params = read_params(envelope, SetProviderRequest)
    if params.provider_id != MAIN:
        raise invalid_params(f"no provider is called {params.provider_id!r}; there is {MAIN}")
    protocol = next((each for each in PROTOCOLS if each == params.api_type), None)
    if protocol is None:
        raise invalid_params(f"apiType is {params.api_type!r}; write one of {', '.join(PROTOCOLS)}")
    vertex = _read_meta(params).claude_code.vertex
    gateway = Gateway(
        base_url=params.base_url,
        headers=params.headers or {},
        protocol=protocol,
        project=vertex.project_id,
        region=vertex.region,
    )
    env = engine.through(gateway)
    await reroute(room, room.caller(rpc_id), gateway, env)
    return Reply(SetProviderResponse(), lambda: tell_status(room))


async def disable_provider(room: Room, rpc_id: RpcId, envelope: Envelope) -> Reply:
    """Have requests go the agent's own way again; a provider that there is not is disabled already."""
    _routed(room, envelope)
    if read_params(envelope, DisableProviderRequest).provider_id == MAIN:
        await reroute(room, room.caller(rpc_id), None, {})
    return Reply(DisableProviderResponse(), lambda: tell_status(room))


async def set_route(room: Room, who: Principal, gateway: Gateway | None, env: dict[str, str]) -> None:
    """The route of every session that the client opens from now on, recorded with its address alone."""
    if env != room.env:
        target = show_address(gateway.base_url) if gateway is not None else ""
        if target == UNREADABLE_ADDRESS:
            raise invalid_params("invalid address of the gateway: expected http:// or https:// and a host")
        detail = {"agent": room.engine.name, "protocol": gateway.protocol if gateway is not None else ""}
        await room.services.audit.record("session.route", who, target=target, detail=detail)
    room.env, room.gateway = env, gateway


async def reroute(room: Room, who: Principal, gateway: Gateway | None, env: dict[str, str]) -> None:
    """The route of every session that the client opens from now on, and of those that it has open."""
    before = room.env
    await set_route(room, who, gateway, env)
    if before == env:
        return
    for seat in tuple(room.seats.values()):
        session = seat.session
        kept = {name: value for name, value in session.spec.env.items() if name not in before}
        await session.respec(msgspec.structs.replace(session.spec, env={**kept, **env}))
        await _let_go(session)


async def _let_go(session: Session) -> None:
    """Have the session's process end once it is idle: the next one has the new route.

    One that alone has its conversation stays as it is.
    """
    while session.busy:  # noqa: ASYNC110  its turn may end in many ways
        await asyncio.sleep(LOOK_AGAIN_S)
    if session.resumable:
        await session.evict()


def _routed(room: Room, envelope: Envelope) -> LogsIn:
    engine = room.engine
    if not isinstance(engine, LogsIn):
        raise unknown_method(envelope.method or "")
    return engine


def _read_meta(params: SetProviderRequest) -> _Meta:
    try:
        return msgspec.json.decode(params.meta or b"{}", type=_Meta)
    except msgspec.ValidationError as problem:
        raise invalid_params(f"_meta: {problem}") from problem


# ------------------------------------------------------------------------------------------------- who pays


async def auth_status(room: Room, _id: RpcId, _envelope: Envelope) -> Reply:
    """Whether a session can begin without a login; a client that asks is told of changes from then on."""
    room.status = await _status(room)
    return Reply(room.status)


async def tell_status(room: Room) -> None:
    """Tell a client that has asked, when it is another by now."""
    if room.status is None:
        return
    status = await _status(room)
    if status != room.status:
        room.status = status
        await room.client.write([jsonrpc.encode_notification(STATUS_UPDATE, status)])


async def _status(room: Room) -> AuthStatusResponse:
    engine, environ = room.engine, room.services.environ
    if room.gateway is not None:
        account = Account(label=f"Custom model gateway ({room.gateway.base_url})")
        return _told(LoginState(state="authenticated", accounts=(account,)))
    if not isinstance(engine, LogsIn):
        return AuthStatusResponse(state=_by_files(room))
    home = environ.get("HOME", os.curdir)
    launch = engine.launch(Options(cwd=home), await engine.locate(environ), environ)
    if not isinstance(launch, Spawn):
        return AuthStatusResponse(state="unknown")
    argv = (launch.argv[0], *engine.status)
    ran = await run_program(room.services.keeper, argv, cwd=home, env=launch.env, timeout_s=ASK_S)
    return _told(engine.read_status(ran))


def _by_files(room: Room) -> str:
    """As far as files and variables tell, for an agent that nobody can ask."""
    engine = room.engine
    if not isinstance(engine, Described):
        return "unknown"
    if not engine.needs_login:
        return "not_required"
    found = any(not each.expired for each in engine.credentials(room.services.environ))
    return "authenticated" if found else "unauthenticated"


def _told(status: LoginState) -> AuthStatusResponse:
    accounts = tuple(
        AuthAccount(label=each.label, active=True, email=each.email or None, organization=each.organization or None)
        for each in status.accounts
    )
    return AuthStatusResponse(state=status.state, accounts=accounts or None)
