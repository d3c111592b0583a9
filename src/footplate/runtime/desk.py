"""The desk where requests are answered: by rules first, then by whoever is first; stored before the agent hears it."""

from __future__ import annotations

import asyncio
import time
from functools import partial

from footplate.config.rules import Rule
from footplate.errors import AlreadyAnswered, EngineGone, InvalidValue, UnknownRequest
from footplate.events import commands as c
from footplate.events import model as m
from footplate.events.ids import RequestId
from footplate.events.model import Event
from footplate.events.requests import Allow, Answer, Deny
from footplate.events.view import RequestView
from footplate.runtime.conductor import Conductor
from footplate.runtime.requests import RequestBook
from footplate.runtime.resumption import Resumption
from footplate.runtime.rules import decide, session_rule

POLICY = "policy"
"""The surface from which rules answer."""

NOBODY = "Nobody answered in time. Do not assume an answer."


class Desk:
    """The requests of one session. Runs in its mailbox."""

    def __init__(self, conductor: Conductor, book: RequestBook, resumption: Resumption) -> None:
        self._conductor = conductor
        self._book = book
        self._resumption = resumption
        self._timers: dict[RequestId, asyncio.TimerHandle] = {}
        self.rules: list[Rule] = []

    def rename(self, event: Event) -> Event | None:
        """The event with our id of the request; None when it speaks of one that has ended here."""
        return self._book.rename(event)

    async def opened(self, event: m.RequestOpened) -> None:
        """Ask the rules; where none speaks the request waits, for ever unless a policy says otherwise.

        One that was answered before its process went gets that answer.
        """
        if await self._resumption.opened(event):
            return
        services = self._conductor.services
        verdict = decide(
            event.request, mode=self._conductor.log.view().mode, operator=services.rules, session=tuple(self.rules)
        )
        if verdict is not None and self._conductor.agent is not None:
            await self.answer(event.request.id, verdict.answer, verdict.by, POLICY)
            return
        self._set_timer(event.request.id)

    def take_up(self) -> None:
        """Let the deadlines run on of what was asked before."""
        for held in self._conductor.log.view().requests:
            if held.state == "open":
                self._set_timer(held.request.id, waited=max(time.time() - held.opened_at, 0.0))

    def _set_timer(self, request: RequestId, *, waited: float = 0.0) -> None:
        deadline = self._conductor.services.settings.runtime.request_timeout_s
        if deadline is not None:
            self._timers[request] = asyncio.get_running_loop().call_later(
                max(deadline - waited, 0.0), self._conductor.post, partial(self._expire, request)
            )

    async def answer(self, request: RequestId, answer: Answer, by: str, surface: str) -> RequestView:
        """The first answer wins. It is stored for good, then written to the agent."""
        found = self._open(request)
        agent, frames = self._conductor.agent, None
        answered = m.RequestAnswered(request=request, answer=answer, by=by, surface=surface)
        events: list[Event] = [answered]
        if found.detached:
            await self._resumption.check(found, answer)
        elif agent is None:
            raise EngineGone(self._conductor.spec.engine, "the process that asked has ended")
        else:
            command = c.AnswerRequest(key=self._conductor.key(), request=self._book.engine_id(request), answer=answer)
            frames = agent.prepare(command)
            events.append(m.RequestSent(request=request))
        source = "bridge" if surface == POLICY else "person"
        await self._conductor.log.publish(events, source=source, durable=True)  # type: ignore[arg-type]
        self._stop_timer(request)
        if isinstance(answer, Allow) and answer.scope == "session" and not found.request.suggestions:
            self.rules.append(session_rule(found.request))
        await self._conductor.services.audit(self._conductor.log.session, found.request, answered, time.time())
        if agent is not None and frames is not None:
            await agent.write(frames)
        else:
            self._conductor.post(partial(self._resumption.resume, request))
        await self._conductor.tell_state()
        return self._book.find(self._conductor.log.view(), request) or found

    async def _expire(self, request: RequestId) -> None:
        """A policy's deadline is over: the request ends unanswered, and the agent is told so, not given an answer."""
        found = self._book.find(self._conductor.log.view(), request)
        if found is None or found.state != "open":
            return
        if found.detached:
            await self._resumption.end_turn("nobody answered in time", unanswered=True)
            return
        engine_id = self._book.engine_id(request)
        self._book.forget(request)
        await self._conductor.log.publish(
            [m.RequestUnanswered(request=request, reason="nobody answered in time")], source="bridge", durable=True
        )
        answer = Deny(message=NOBODY)
        await self._conductor.tell(c.AnswerRequest(key=self._conductor.key(), request=engine_id, answer=answer))
        await self._conductor.tell_state()

    def rejoin(self) -> None:
        """The agent that asked is there again: what it asks goes on under the ids that the log has."""
        for held in self._conductor.log.view().requests:
            self._book.adopt(held.request.id, RequestId(held.request.engine_request or held.request.id))

    async def revoke(self, rule: Rule) -> None:
        """Take back what was allowed for the session."""
        if rule not in self.rules:
            raise InvalidValue("rule", f"{rule.tool} {rule.pattern}", "a rule of this session")
        self.rules.remove(rule)

    async def close(self, reason: str) -> None:
        """Every open request ends unanswered."""
        self.stop_waiting()
        view = self._conductor.log.view()
        left = [each.request.id for each in view.requests if each.state == "open"]
        self._book.forget_all()
        await self._conductor.log.publish(
            [m.RequestUnanswered(request=request, reason=reason) for request in left], source="bridge"
        )

    def stop_waiting(self) -> None:
        """No deadline runs any more."""
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()

    def _open(self, request: RequestId) -> RequestView:
        found = self._book.find(self._conductor.log.view(), request)
        if found is None:
            raise UnknownRequest(request)
        if found.state != "open":
            raise AlreadyAnswered(
                request, state=found.state, by=found.answered_by, surface=found.answered_from, at=found.answered_at
            )
        return found

    def _stop_timer(self, request: RequestId) -> None:
        timer = self._timers.pop(request, None)
        if timer is not None:
            timer.cancel()
