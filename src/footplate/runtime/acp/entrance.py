"""The methods of ACP with which a client comes in: who it is, how it logs in and out."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping

import msgspec

from footplate.acp.failures import Failure, invalid_params, unknown_method
from footplate.acp.jsonrpc import INTERNAL_ERROR, Envelope, RpcId
from footplate.acp.profile import read_profile
from footplate.acp.schema.start import AuthenticateRequest, AuthenticateResponse, InitializeRequest, LogoutResponse
from footplate.acp.wire import Wire
from footplate.engines.base import Options, Spawn
from footplate.engines.login import Gateway, LogsIn
from footplate.runtime.acp.introduction import GATEWAYS, introduce
from footplate.runtime.acp.providers import reroute, set_route, tell_status
from footplate.runtime.acp.room import Reply, Room, read_params
from footplate.runtime.shell import run_shell


class _GatewayMeta(Wire, frozen=True, kw_only=True):
    base_url: str
    headers: Mapping[str, str] = msgspec.field(default_factory=dict)


class _Meta(Wire, frozen=True, kw_only=True):
    gateway: _GatewayMeta | None = None


async def initialize(room: Room, _id: RpcId, envelope: Envelope) -> Reply:
    """Learn what the client can, tell what we can."""
    params = read_params(envelope, InitializeRequest)
    profile = read_profile(params.client_capabilities, claude_code=room.engine.name == "claude")
    room.profile = msgspec.structs.replace(profile, questions=room.manner.extensions)
    answer = introduce(room.engine, room.manner, room.services.environ, params.client_capabilities)
    room.logins = tuple(method.id for method in answer.auth_methods or ())
    return Reply(answer)


async def authenticate(room: Room, rpc_id: RpcId, envelope: Envelope) -> Reply:
    """Log in by one of the ways that were offered; what was done in a terminal needs no more here."""
    params = read_params(envelope, AuthenticateRequest)
    engine = room.engine
    if params.method_id not in room.logins or not isinstance(engine, LogsIn):
        offered = ", ".join(room.logins) or "none is offered; log in with the agent's own program"
        raise invalid_params(f"no way to log in is called {params.method_id!r} ({offered})")
    if params.method_id in GATEWAYS:
        given = _read_gateway(params)
        gateway = Gateway(base_url=given.base_url, headers=given.headers, protocol=GATEWAYS[params.method_id])
        await set_route(room, room.caller(rpc_id), gateway, engine.through(gateway))
    return Reply(AuthenticateResponse(), lambda: tell_status(room))


def _read_gateway(params: AuthenticateRequest) -> _GatewayMeta:
    try:
        found = msgspec.json.decode(params.meta or b"{}", type=_Meta).gateway
    except msgspec.ValidationError as problem:
        raise invalid_params(f"_meta.gateway: {problem}") from problem
    if found is None:
        raise invalid_params('_meta.gateway is missing: write {"baseUrl": ..., "headers": {...}}')
    return found


async def logout(room: Room, rpc_id: RpcId, envelope: Envelope) -> Reply:
    """Leave the gateway, or have the agent's own program log out."""
    engine = room.engine
    if not isinstance(engine, LogsIn):
        raise unknown_method(envelope.method or "")
    if room.env:
        await reroute(room, room.caller(rpc_id), None, {})
        return Reply(LogoutResponse(), lambda: tell_status(room))
    environ = room.services.environ
    home = environ.get("HOME", os.curdir)
    launch = engine.launch(Options(cwd=home), await engine.locate(environ), environ)
    if isinstance(launch, Spawn):
        await room.services.audit.record("agent.logout", room.caller(rpc_id), target=engine.name)
        command = shlex.join([launch.argv[0], *engine.logout])
        ran = await run_shell(room.services.keeper, command, cwd=home, environ=launch.env)
        if ran.exit_code != 0:
            raise Failure(INTERNAL_ERROR, f"Internal error: `{command}` failed: {ran.output.strip()[-500:]}")
    return Reply(LogoutResponse(), lambda: tell_status(room))
