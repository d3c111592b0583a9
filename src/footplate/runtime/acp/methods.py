"""The methods of ACP on an open session, one function each, and the table of all methods."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from footplate.acp.content import read_prompt
from footplate.acp.encode_choices import EFFORT, MODE, MODEL
from footplate.acp.failures import unknown_method
from footplate.acp.jsonrpc import Envelope, RpcId
from footplate.acp.schema.sessions import (
    PromptRequest,
    SetSessionConfigOptionRequest,
    SetSessionConfigOptionResponse,
    SetSessionModeRequest,
    SetSessionModeResponse,
)
from footplate.acp.server_prompts import read_command
from footplate.acp.wire import Wire
from footplate.errors import InvalidValue
from footplate.events.content import headline
from footplate.events.ids import PromptId, TaskId
from footplate.runtime.acp import entrance, providers, sessions
from footplate.runtime.acp.room import HELD, Held, Method, Reply, Room, read_params
from footplate.runtime.acp.seat import Seat


class SetModelRequest(Wire, frozen=True, kw_only=True):
    """Parameters of `session/set_model`, which no schema has any more and clients still send."""

    session_id: str
    model_id: str


class StopTaskRequest(Wire, frozen=True, kw_only=True):
    """Parameters of `_session/async_task/stop`."""

    session_id: str
    async_task_id: str


class Nothing(Wire, frozen=True, kw_only=True):
    """An answer that says nothing but that it was done."""


# ------------------------------------------------------------------------------------------------- prompts


async def prompt(room: Room, rpc_id: RpcId, envelope: Envelope) -> Held:
    """Hand over a message; a second one waits behind the first. The seat answers when the turn is over."""
    params = read_params(envelope, PromptRequest)
    seat = await room.seat(params.session_id)
    content = read_prompt(params.prompt)
    if not seat.session.view().title and (title := headline(content)):
        await seat.session.rename(title)
    await seat.prompt(rpc_id, read_command(content, room.profile), PromptId(room.services.surroundings.new_id()))
    return HELD


async def steer(room: Room, _id: RpcId, envelope: Envelope) -> Reply:
    """Hand a message to the turn that is running."""
    params = read_params(envelope, PromptRequest)
    if not room.engine.capabilities().steer:
        raise unknown_method(envelope.method or "")
    seat = await room.seat(params.session_id)
    name = PromptId(room.services.surroundings.new_id())
    seat.encoder.own(name)
    content = read_command(read_prompt(params.prompt), room.profile)
    await seat.session.prompt(content, when="steer", key=name)
    return Reply(Nothing())


async def stop_task(room: Room, _id: RpcId, envelope: Envelope) -> Reply:
    """End one background task."""
    params = read_params(envelope, StopTaskRequest)
    await (await room.seat(params.session_id)).session.stop_task(TaskId(params.async_task_id))
    return Reply(Nothing())


# ------------------------------------------------------------------------------------------------- choices


async def set_mode(room: Room, rpc_id: RpcId, envelope: Envelope) -> Reply:
    """Change the mode."""
    params = read_params(envelope, SetSessionModeRequest)
    await _choose(room, rpc_id, await room.seat(params.session_id), MODE, params.mode_id)
    return Reply(SetSessionModeResponse())


async def set_model(room: Room, rpc_id: RpcId, envelope: Envelope) -> Reply:
    """Change the model."""
    params = read_params(envelope, SetModelRequest)
    await _choose(room, rpc_id, await room.seat(params.session_id), MODEL, params.model_id)
    return Reply(Nothing())


async def set_config_option(room: Room, rpc_id: RpcId, envelope: Envelope) -> Reply:
    """Change an option; the answer has all of them."""
    params = read_params(envelope, SetSessionConfigOptionRequest)
    seat = await room.seat(params.session_id)
    value = params.value
    if not isinstance(value, str):
        value = seat.encoder.choices.word(params.config_id, truth=value)
    await _choose(room, rpc_id, seat, params.config_id, value)
    return Reply(SetSessionConfigOptionResponse(config_options=seat.encoder.choices.wire()))


async def _choose(room: Room, rpc_id: RpcId, seat: Seat, name: str, value: str) -> None:
    """Set an option by its id or category, if it can have the value."""
    option = seat.encoder.choices.find(name)
    known = tuple(each.value for each in option.values) if option is not None else ()
    if option is None and (seat.encoder.choices.options or name not in (MODE, MODEL, EFFORT)):
        offered = ", ".join(each.id for each in seat.encoder.choices.options)
        raise InvalidValue("configId", name, f"one of {offered or 'the options that the agent tells'}")
    if (option.category if option is not None else name) == MODE:
        seat.session.check_mode(value)
    if known and value not in known:
        raise InvalidValue(name, value, f"one of {', '.join(known)}")
    match option.category if option is not None else name:
        case "mode":
            await seat.session.set_mode(value, room.caller(rpc_id))
        case "model":
            await seat.session.set_model(value)
        case "thought_level":
            await seat.session.set_effort(value)
        case _:
            await seat.session.set_option(option.id if option is not None else name, value, room.caller(rpc_id))
    await seat.chosen(name, value)


METHODS: Final[Mapping[str, Method]] = {
    "initialize": entrance.initialize,
    "authenticate": entrance.authenticate,
    "logout": entrance.logout,
    "auth/status": providers.auth_status,
    "providers/list": providers.list_providers,
    "providers/set": providers.set_provider,
    "providers/disable": providers.disable_provider,
    "session/new": sessions.new_session,
    "session/load": sessions.load_session,
    "session/resume": sessions.resume_session,
    "session/fork": sessions.fork_session,
    "session/list": sessions.list_sessions,
    "session/close": sessions.close_session,
    "session/delete": sessions.delete_session,
    "session/archive": sessions.archive_session,
    "session/unarchive": sessions.unarchive_session,
    "session/set_title": sessions.set_title,
    "session/prompt": prompt,
    "session/set_mode": set_mode,
    "session/set_model": set_model,
    "session/set_config_option": set_config_option,
    "_session/steering": steer,
    "_session/async_task/stop": stop_task,
}
