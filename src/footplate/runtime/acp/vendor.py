"""The `_sandboxagent/...` methods of the older transport, on our sessions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from footplate.acp.encode_choices import MODEL
from footplate.acp.failures import invalid_params
from footplate.acp.jsonrpc import Envelope, RpcId
from footplate.acp.schema.choices import SessionConfigSelectChoice
from footplate.acp.wire import Wire
from footplate.events.base import OptionalRaw
from footplate.events.ids import SessionId
from footplate.runtime.acp.extensions import PREFIX, VENDOR
from footplate.runtime.acp.room import Method, Reply, Room, read_params

METADATA: Final = "acp-metadata"
"""The documents that hold what clients note of sessions."""

PAGE: Final = 200


class OfSession(Wire, frozen=True, kw_only=True):
    """Parameters that name a session and nothing else."""

    session_id: str


class Metadata(Wire, frozen=True, kw_only=True):
    """Parameters of `session/set_metadata`; the values may stand in `_meta` as well."""

    session_id: str
    metadata: dict[str, object] = msgspec.field(default_factory=dict)
    meta: dict[str, object] = msgspec.field(name="_meta", default_factory=dict)


class EventsRequest(Wire, frozen=True, kw_only=True):
    """Parameters of `session/events`: a page of the session's log after a number."""

    session_id: str
    after: int = 0
    limit: int = PAGE


class EventsPage(Wire, frozen=True, kw_only=True):
    """Envelopes of the log as they are stored. `next_after` is where the next page begins, while there is one."""

    events: tuple[msgspec.Raw, ...]
    last: int
    next_after: int | None = None


class Models(Wire, frozen=True, kw_only=True):
    """The models that can be chosen, and which is."""

    models: tuple[SessionConfigSelectChoice, ...]
    current: str = ""


class Noted(Wire, frozen=True, kw_only=True):
    """An answer with what is noted of the session."""

    meta: OptionalRaw = msgspec.field(name="_meta", default=None)


async def list_models(room: Room, _id: RpcId, envelope: Envelope) -> Reply:
    """The models of a session."""
    seat = await room.seat(read_params(envelope, OfSession).session_id)
    option = seat.encoder.choices.find(MODEL)
    if option is None:
        return Reply(Models(models=()))
    wire = next(each for each in seat.encoder.choices.wire() if each.id == option.id)
    return Reply(Models(models=wire.options or (), current=option.value))


async def set_metadata(room: Room, _id: RpcId, envelope: Envelope) -> Reply:
    """Note something of a session; a title is its title."""
    params = read_params(envelope, Metadata)
    seat = await room.seat(params.session_id)
    beside = params.meta.get(VENDOR)
    given = {**(beside if isinstance(beside, dict) else {}), **params.metadata}
    documents = room.services.store.documents(METADATA)
    held = await documents.get(params.session_id)
    known: dict[str, object] = msgspec.json.decode(held.body) if held is not None else {}
    known |= given
    await documents.put(params.session_id, msgspec.json.encode(known))
    title = given.get("title")
    if isinstance(title, str) and title:
        await seat.session.rename(title)
        await seat.settled()
    return Reply(Noted(meta=msgspec.Raw(msgspec.json.encode({VENDOR: known}))))


async def events(room: Room, _id: RpcId, envelope: Envelope) -> Reply:
    """Page through the log of a session."""
    params = read_params(envelope, EventsRequest)
    if params.after < 0 or not 1 <= params.limit <= 1000:
        raise invalid_params("`after` is the number of an event or 0, `limit` is 1 to 1000")
    session = await room.hub.get(SessionId(params.session_id))
    last = session.view().last_seq
    rows = await room.services.store.read(session.id, min(params.after, last), params.limit)
    reached = rows[-1].seq if rows else last
    return Reply(
        EventsPage(
            events=tuple(msgspec.Raw(row.body) for row in rows),
            last=last,
            next_after=reached if reached < last else None,
        )
    )


async def terminate(room: Room, _id: RpcId, envelope: Envelope) -> Reply:
    """End a session for good; its log stays."""
    session = await room.hub.get(SessionId(read_params(envelope, OfSession).session_id))
    await session.close("ended by a client")
    await room.hub.forget(session.id)
    room.seats.pop(session.id, None)
    return Reply(Noted())


async def detach(room: Room, _id: RpcId, envelope: Envelope) -> Reply:
    """Leave a session running without this client."""
    await room.leave(SessionId(read_params(envelope, OfSession).session_id))
    return Reply(Noted())


EXTENSIONS: Final[Mapping[str, Method]] = {
    f"{PREFIX}session/list_models": list_models,
    f"{PREFIX}session/set_metadata": set_metadata,
    f"{PREFIX}session/events": events,
    f"{PREFIX}session/terminate": terminate,
    f"{PREFIX}session/detach": detach,
}
