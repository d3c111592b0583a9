"""One stream for everything that needs somebody: requests opened and closed, sessions changing state."""

from __future__ import annotations

from footplate.interfaces.http.call import Call
from footplate.interfaces.http.news import AttentionFeed, take_snapshot
from footplate.interfaces.http.routing import Routes
from footplate.interfaces.http.sse import MEDIA, EventStream

routes = Routes("events")


@routes.get(
    "/api/events",
    scope="read",
    summary="Everything that needs somebody: a snapshot, then requests and sessions as they change",
    media=MEDIA,
)
async def attention(call: Call) -> EventStream:
    fan = call.api.attention.fan(call.grant)
    news = fan.feed(fan.last)
    return EventStream(call, AttentionFeed(news, await take_snapshot(call.api.store, call.grant)))
