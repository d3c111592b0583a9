"""The limits of a session at work: reaching one is told, and asked about where that is wanted, and may be raised."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from footplate.events import model as m
from footplate.events.ids import PromptId, RequestId
from footplate.events.model import Event
from footplate.events.requests import Request
from footplate.events.view import SessionView
from footplate.runtime.audit import Principal
from footplate.runtime.conductor import Conductor, Halted
from footplate.runtime.limit_requests import (
    FIELDS,
    asked_about,
    in_words,
    limit_request,
    open_limit_requests,
    raised,
    read_answer,
)
from footplate.runtime.limits import Limits


class Allowance:
    """What one session may use. Runs in its mailbox; the conductor finds that a limit is reached and stops."""

    def __init__(self, conductor: Conductor) -> None:
        self._conductor = conductor
        self._refused: dict[str, PromptId | None] = {}

    async def halt(self, limit: m.LimitReached, where: Halted) -> None:
        """Here it stops. It is told; and asked about where that is wanted, once, and not after a no."""
        view, spec = self._conductor.log.view(), self._conductor.spec
        asks = spec.limits.on_reached == "ask"
        if asks and (open_limit_requests(view) or self._is_refused(limit.kind, view)):
            return
        cut = where == "within"
        known = cut and any((each.kind, each.text) == (limit.kind, limit.text) for each in view.limits)
        events: list[Event] = [] if known else [limit]
        if asks:
            name = RequestId(f"req_{self._conductor.surroundings.new_id()}")
            events.append(m.RequestOpened(request=limit_request(name, limit, spec, cut=cut)))
        await self._conductor.log.append(events, source="bridge", durable=asks)

    async def answered(
        self, request: Request, answered: m.RequestAnswered, principal: Principal, *, audit: Sequence[bytes]
    ) -> None:
        """Go on with more, or stop. The new limit is kept before the answer is stored, and recorded before that."""
        conductor = self._conductor
        more = read_answer(request, answered.answer)
        events: list[Event] = [answered, m.RequestApplied(request=request.id)]
        if more is None:
            await conductor.log.append(events, source="person", durable=True, audit=audit)
            self._refused[request.limit] = _last_waiting(conductor.log.view())
            return
        spec = raised(conductor.spec, request.limit, conductor.spent(), more)
        detail = msgspec.to_builtins(spec.limits)
        await conductor.services.audit.record("session.limits", principal, session=conductor.log.session, detail=detail)
        await conductor.adopt(spec)
        again = conductor.continuation() if asked_about(request).cut else ()
        events.append(self._cleared(request))
        await conductor.log.append(events, source="person", then=again, durable=True, audit=audit)
        conductor.post(conductor.go_on)

    def _cleared(self, request: Request) -> m.LimitReached:
        text = f"the limit is {in_words(self._conductor.spec.limits, request.limit)} now"
        return m.LimitReached(kind=request.limit, status="clear", name=f"session {request.limit}", text=text)  # type: ignore[arg-type]

    def _is_refused(self, kind: str, view: SessionView) -> bool:
        """Whether somebody said no, and nothing new was asked for since."""
        return kind in self._refused and self._refused[kind] == _last_waiting(view)

    async def change(self, limits: Limits) -> None:
        """Other limits, and on if that was what it waited for. What was asked about the old ones is asked no more."""
        spec = msgspec.structs.replace(self._conductor.spec, limits=limits, steps=None)
        await self._conductor.adopt(spec)
        self._refused.clear()
        await self._withdraw([each.id for each in open_limit_requests(self._conductor.log.view())])
        await self._conductor.go_on()

    async def take_up(self) -> None:
        """The session was opened again: a limit that was raised when it stopped is asked about no more."""
        limits = self._conductor.spec.limits
        asked = open_limit_requests(self._conductor.log.view())
        await self._withdraw(
            [each.id for each in asked if asked_about(each).value != getattr(limits, FIELDS[each.limit])]
        )

    async def _withdraw(self, requests: list[RequestId]) -> None:
        gone = [m.RequestWithdrawn(request=each, reason="the limits were changed") for each in requests]
        await self._conductor.log.append(gone, source="bridge", durable=True)


def _last_waiting(view: SessionView) -> PromptId | None:
    return view.queue[-1].id if view.queue else None
