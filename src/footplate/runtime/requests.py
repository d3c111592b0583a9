"""The book of a session's requests: ids of ours for what the engine asks under ids of its own."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from footplate.events import model as m
from footplate.events.ids import RequestId
from footplate.events.model import Event
from footplate.events.view import RequestView, SessionView


class RequestBook:
    """Which request of ours is which of the engine's, while it is open."""

    def __init__(self, new_id: Callable[[], str]) -> None:
        self._new_id = new_id
        self._ours: dict[str, RequestId] = {}
        self._engines: dict[RequestId, RequestId] = {}

    def rename(self, event: Event) -> Event | None:
        """The event with our id in place of the engine's; None when it speaks of a request that has ended here."""
        match event:
            case m.RequestOpened():
                ours = RequestId(f"req_{self._new_id()}")
                self._ours[event.request.id] = ours
                self._engines[ours] = event.request.id
                renamed = replace(event.request, id=ours, engine_request=event.request.id)
                return replace(event, request=renamed)
            case m.RequestApplied() | m.RequestRejected() | m.RequestWithdrawn() | m.RequestUnanswered():
                known = self._ours.pop(event.request, None)
                if known is None:
                    return None
                self._engines.pop(known, None)
                return replace(event, request=known)
            case _:
                return event

    def adopt(self, ours: RequestId, engine: RequestId) -> None:
        """The engine asks this under that id from here on, whatever we took it for before."""
        known = self._ours.get(engine)
        if known is not None:
            self._engines.pop(known, None)
        self._ours[engine] = ours
        self._engines[ours] = engine

    def engine_id(self, request: RequestId) -> RequestId:
        """The engine's id of an open request."""
        return self._engines[request]

    def forget(self, request: RequestId) -> None:
        """The request has ended here, whatever the engine still says of it."""
        engine = self._engines.pop(request, None)
        if engine is not None:
            self._ours.pop(engine, None)

    @staticmethod
    def find(view: SessionView, request: RequestId) -> RequestView | None:
        """The request as it stands, open or ended not long ago."""
        return next((each for each in (*view.requests, *view.closed_requests) if each.request.id == request), None)
