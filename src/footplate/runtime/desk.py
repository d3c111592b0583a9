"""The desk where requests are answered: by rules first, then by whoever is first; stored before the agent hears it."""

from __future__ import annotations

import asyncio
import logging
from functools import partial

from msgspec.structs import replace

from footplate.errors import AlreadyAnswered, EngineError, EngineGone, InvalidValue, RequestError, UnknownRequest
from footplate.events import commands as c
from footplate.events import model as m
from footplate.events.base import Source
from footplate.events.ids import RequestId, RuleId
from footplate.events.model import Event
from footplate.events.requests import Answer, Deny, Request
from footplate.events.rules import SessionRule
from footplate.events.view import RequestView
from footplate.events.wording import describe_answerer
from footplate.runtime.aftermath import is_waiting
from footplate.runtime.agent import Agent
from footplate.runtime.allowance import Allowance
from footplate.runtime.audit import POLICY, Principal
from footplate.runtime.conductor import Conductor
from footplate.runtime.grants import granted, plan_prompt
from footplate.runtime.requests import RequestBook
from footplate.runtime.resumption import Resumption
from footplate.runtime.rules import decide

log = logging.getLogger(__name__)
NOBODY = "Nobody answered in time. Do not assume an answer."


class Desk:
    """The requests of one session. Runs in its mailbox."""

    def __init__(self, conductor: Conductor, allowance: Allowance, book: RequestBook, resumption: Resumption) -> None:
        self._conductor = conductor
        self._allowance = allowance
        self._book = book
        self._resumption = resumption
        self._timers: dict[RequestId, asyncio.TimerHandle] = {}

    def rename(self, event: Event) -> Event | None:
        """The event with our id of the request; None when it speaks of one that has ended here."""
        known = self._book.rename(event)
        if isinstance(known, m.RequestOpened):
            prompt = plan_prompt(known.request, self._conductor.log.outline().rules)
            return replace(known, request=replace(known.request, plan_prompt=prompt)) if prompt else known
        return known

    async def opened(self, event: m.RequestOpened) -> None:
        """Ask the rules; where none speaks the request waits, for ever unless a policy says otherwise.

        One that was answered before its process went gets that answer.
        """
        if await self._resumption.opened(event):
            return
        operator = await self._conductor.services.recorded_rules()
        view = self._conductor.log.outline()
        found = self._book.find(view, event.request.id)
        if found is None or found.state != "open":
            return  # the same batch has withdrawn it
        verdict = decide(event.request, mode=view.mode, operator=operator, session=view.rules)
        if verdict is not None and self._conductor.agent is not None:
            try:
                await self.answer(event.request.id, verdict.answer, Principal(by=verdict.by, surface=POLICY))
            except (RequestError, EngineError) as problem:
                # The agent has ended the request meanwhile (an interrupt, a limit, its death), which is about to be
                # read; or it does not take this answer, and a person is asked.
                log.info("session %s: a rule's answer was not taken: %s", self._conductor.log.session, problem)
            else:
                return
        self._set_timer(event.request.id)

    def take_up(self) -> None:
        """Let the deadlines run on of what was asked before."""
        for held in self._conductor.log.outline().requests:
            if is_waiting(held):
                self._set_timer(held.request.id, waited=max(self._conductor.surroundings.time() - held.opened_at, 0.0))

    def _set_timer(self, request: RequestId, *, waited: float = 0.0) -> None:
        deadline = self._conductor.services.settings.runtime.request_timeout_s
        if deadline is not None:
            self._timers[request] = asyncio.get_running_loop().call_later(
                max(deadline - waited, 0.0), self._conductor.post, partial(self._expire, request)
            )

    async def answer(self, request: RequestId, answer: Answer, principal: Principal) -> RequestView:
        """The first answer wins. It is stored for good, with what it allows, then written to the agent."""
        found = self._open(request)
        if found.request.limit:
            return await self._raise_limit(found, answer, principal)
        by, surface = principal.by, principal.surface
        agent, command = self._conductor.agent, None
        rules = granted(found.request, answer, lambda: RuleId(f"rule_{self._conductor.surroundings.new_id()}"))
        answered = m.RequestAnswered(request=request, answer=answer, by=by, surface=surface)
        events: list[Event] = [answered, *(m.RuleAdded(rule=rule, by=by, surface=surface) for rule in rules)]
        if found.detached:
            await self._resumption.check(found, answer)
        elif agent is None:
            raise EngineGone(self._conductor.spec.engine, "the process that asked has ended")
        else:
            command = c.AnswerRequest(key=self._conductor.key(), request=self._book.engine_id(request), answer=answer)
            agent.check_answer(command.request, answer)
            events.append(m.RequestSent(request=request))
        source: Source = "bridge" if surface == POLICY else "person"
        record = self._conductor.services.audit.answer(
            self._conductor.log.session, found.request, answer, principal, rules
        )
        await self._conductor.log.append(events, source=source, durable=True, audit=[record])
        self._stop_timer(request)
        if surface != POLICY:
            self._conductor.release()
        if agent is not None and command is not None:
            self._send(agent, command)
        else:
            self._conductor.post(partial(self._resumption.resume, request))
        self._conductor.post(partial(self._follow_up, rules))
        return self._book.find(self._conductor.log.outline(), request) or found

    def _send(self, agent: Agent, command: c.AnswerRequest) -> None:
        """Write an answer that is stored. The agent may have ended the request while it was being stored."""
        try:
            agent.send(command)
        except (RequestError, EngineError) as problem:
            log.info("session %s: a stored answer came too late: %s", self._conductor.log.session, problem)

    async def _follow_up(self, rules: tuple[SessionRule, ...]) -> None:
        """What an answer leads to beside the agent: a warning about its rules, the state."""
        await self._tell_distrust(rules)
        await self._conductor.tell_state()

    async def _raise_limit(self, found: RequestView, answer: Answer, principal: Principal) -> RequestView:
        answered = m.RequestAnswered(
            request=found.request.id, answer=answer, by=principal.by, surface=principal.surface
        )
        record = self._conductor.services.audit.answer(self._conductor.log.session, found.request, answer, principal)
        await self._allowance.answered(found.request, answered, principal, audit=[record])
        self._conductor.release()
        self._conductor.post(partial(self._follow_up, ()))
        return self._book.find(self._conductor.log.outline(), found.request.id) or found

    async def _tell_distrust(self, rules: tuple[SessionRule, ...]) -> None:
        """A rule that later sessions will not honour is not passed over in silence."""
        for kept in {rule.kept for rule in rules if rule.kept}:
            words = await self._conductor.find_distrust(kept)
            if words:
                notice = m.Notice(level="warning", code="untrusted_folder", text=words)
                await self._conductor.log.append([notice], source="bridge")

    async def _expire(self, request: RequestId) -> None:
        """A policy's deadline is over: the request ends unanswered, and the agent is told so, not given an answer."""
        self._stop_timer(request)
        found = self._book.find(self._conductor.log.outline(), request)
        if found is None or found.state != "open":
            return
        if found.detached:  # everything that is open in the turn ends with it
            view = self._conductor.log.outline()
            ended = [each for each in view.requests if each.turn == view.turn and is_waiting(each)]
            await self._resumption.end_turn(
                "nobody answered in time", unanswered=True, audit=[self._expiry(each.request) for each in ended]
            )
            return
        engine_id = self._book.engine_id(request)
        unanswered = m.RequestUnanswered(request=request, reason="nobody answered in time")
        audit = [self._expiry(found.request)]
        await self._conductor.log.append([unanswered], source="bridge", durable=True, audit=audit)
        self._book.forget(request)
        if self._conductor.agent is not None:
            denied = c.AnswerRequest(key=self._conductor.key(), request=engine_id, answer=Deny(message=NOBODY))
            self._send(self._conductor.agent, denied)
        await self._conductor.tell_state()

    def _expiry(self, request: Request) -> bytes:
        """The record of a request that a deadline has ended."""
        return self._conductor.services.audit.act(
            "request.expire",
            Principal(by="runtime.request_timeout_s", surface=POLICY),
            session=self._conductor.log.session,
            target=request.id,
            detail={"kind": request.kind, "tool": request.tool, "title": request.title},
        )

    def rejoin(self) -> None:
        """The agent that asked is there again: what it asks goes on under the ids that the log has."""
        for held in self._conductor.log.outline().requests:
            if held.request.engine_request:
                self._book.adopt(held.request.id, RequestId(held.request.engine_request))

    async def revoke(self, name: RuleId, principal: Principal) -> c.RevokeRule | None:
        """Take back, for good, what was allowed for the session. What to ask of the agent, where it holds the rule."""
        rule = next((rule for rule in self._conductor.log.outline().rules if rule.id == name), None)
        if rule is None:
            raise InvalidValue("rule", name, "a rule of this session")
        events: list[Event] = [m.RuleRevoked(rule=name, by=principal.by, surface=principal.surface)]
        if rule.kept:
            text = f"{rule.label}: still stands in the {rule.kept} settings of the agent; take it out there as well"
            events.append(m.Notice(level="warning", code="rule_kept", text=text))
        session = self._conductor.log.session
        record = self._conductor.services.audit.act(
            "rule.revoke", principal, session=session, target=name, detail={"rule": rule.label}
        )
        await self._conductor.log.append(events, source="person", durable=True, audit=[record])
        if rule.engine_rule is None or self._conductor.agent is None:
            return None
        return c.RevokeRule(key=self._conductor.key(), rule=name, engine_rule=rule.engine_rule)

    async def close(self, reason: str) -> None:
        """Every open request ends unanswered; what became of those that are answered the agent still tells.

        When the store refuses that, nothing has changed: the requests are open, and their deadlines run.
        """
        view = self._conductor.log.outline()
        left = [each.request.id for each in view.requests if each.state == "open"]
        await self._conductor.log.append(
            [m.RequestUnanswered(request=request, reason=reason) for request in left], source="bridge"
        )
        self.stop_waiting()
        for request in left:
            self._book.forget(request)

    @property
    def waits(self) -> bool:
        """Whether a deadline of a request runs."""
        return bool(self._timers)

    def stop_waiting(self) -> None:
        """No deadline runs any more."""
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()

    def _open(self, request: RequestId) -> RequestView:
        found = self._book.find(self._conductor.log.outline(), request)
        if found is None:
            raise UnknownRequest(request)
        if found.state != "open":
            by, surface = found.answered_by, found.answered_from
            who = describe_answerer(by, surface)
            raise AlreadyAnswered(request, state=found.state, by=by, surface=surface, at=found.answered_at, who=who)
        return found

    def _stop_timer(self, request: RequestId) -> None:
        timer = self._timers.pop(request, None)
        if timer is not None:
            timer.cancel()
