"""Web Push: which key to subscribe by, the browsers that are told, and a message to try it out."""

from __future__ import annotations

import msgspec

from footplate.config.notify import Occasion
from footplate.events.ids import SessionId
from footplate.interfaces.http.call import Call
from footplate.interfaces.http.routing import Routes
from footplate.runtime.push import Delivery, Subscribe, Subscription

routes = Routes("push")


class SubscriptionInfo(msgspec.Struct, frozen=True, kw_only=True):
    """A browser that is told, without its keys. `id` follows from its endpoint."""

    id: str
    name: str
    on: tuple[Occasion, ...]
    all: bool
    sessions: tuple[SessionId, ...]
    created_at: float

    @classmethod
    def of(cls, made: Subscription) -> SubscriptionInfo:
        """From what is stored."""
        return cls(
            id=made.id, name=made.name, on=made.on, all=made.all, sessions=made.sessions, created_at=made.created_at
        )


class PushInfo(msgspec.Struct, frozen=True, kw_only=True):
    """`public_key` is the `applicationServerKey` to subscribe by; the browsers are those of the caller's token."""

    public_key: str
    subscriptions: tuple[SubscriptionInfo, ...]


@routes.get(
    "/api/push",
    scope="read",
    summary="By which key a browser subscribes, and which are subscribed; 503 without the extra `push`",
    answer=PushInfo,
    problems=(503,),
)
async def push_info(call: Call) -> PushInfo:
    key = await call.api.push.public_key()
    return PushInfo(public_key=key, subscriptions=tuple(map(SubscriptionInfo.of, call.api.push.list(call.grant))))


@routes.post(
    "/api/push/subscriptions",
    scope="read",
    summary="Tell a browser when a session needs you, has finished or failed; the same endpoint again changes it",
    status=201,
    answer=SubscriptionInfo,
    problems=(409, 503),
)
async def subscribe(call: Call, body: Subscribe) -> SubscriptionInfo:
    return SubscriptionInfo.of(await call.api.push.subscribe(body, call.grant))


@routes.delete(
    "/api/push/subscriptions/{subscription}", scope="read", summary="Tell a browser no more", problems=(404,)
)
async def unsubscribe(call: Call) -> None:
    await call.api.push.unsubscribe(call.params["subscription"], call.grant)


@routes.post(
    "/api/push/subscriptions/{subscription}/test",
    scope="read",
    summary="Send a message now and say what the push service answered; `status` 0: it was not reached",
    answer=Delivery,
    problems=(404, 503),
)
async def try_out(call: Call) -> Delivery:
    return await call.api.push.try_out(call.params["subscription"], call.grant)
