"""The requests of one session in its chat: shown when they open, changed when they are answered, wherever that was."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Final

from footplate.chat.drawing.asking import MOST_TEXT, Asked, draw_plan, draw_request, is_long_plan
from footplate.chat.drawing.words import shorten
from footplate.chat.model import Content, Place
from footplate.chat.reading.asking import Dialogue
from footplate.chat.talk.kit import Kit
from footplate.chat.talk.records import About
from footplate.errors import FootplateError
from footplate.events import model as m
from footplate.events.ids import RequestId
from footplate.events.model import Event
from footplate.events.requests import Deny
from footplate.events.view import RequestView
from footplate.events.visible import show_hidden, show_line
from footplate.runtime.session import Session
from footplate.tasks import spawn

AROUND: Final = 800
"""What the head, the note and the hint of a request's message may take."""
LEAST_TEXT: Final = 400
UNATTENDED: Final = "Nobody is there to answer: this ran by a schedule. Go on without it, or say what is missing."


class RequestBoard:
    """What one session asks, as messages with buttons."""

    def __init__(self, kit: Kit, session: Session) -> None:
        self._kit = kit
        self._session = session
        self._places: dict[RequestId, Place] = {}
        self._reminders: dict[RequestId, asyncio.TimerHandle] = {}
        self._reminding: set[asyncio.Task[None]] = set()

    @property
    def any_open(self) -> bool:
        """Whether something waits for an answer, or for its effect."""
        return bool(self._places)

    async def take_up(self, place: Place) -> None:
        """Show what was asked before."""
        for view in self._session.view().requests:
            await self._show(view.request.id, place)

    async def take(self, event: Event, place: Place, *, unattended: bool) -> None:
        """One event of the session."""
        match event:
            case m.RequestOpened():
                if unattended:
                    await self._deny(event.request.id)
                await self._show(event.request.id, place)
            case m.RequestAnswered() | m.RequestRejected() | m.RequestWithdrawn() | m.RequestUnanswered():
                await self._show(event.request, place)
            case m.EngineDetached():
                for request in tuple(self._places):
                    await self._show(request, place)
            case _:
                pass

    async def redraw(self, request: RequestId) -> None:
        """Its dialogue has moved on."""
        if request in self._places:
            await self._show(request, self._places[request])

    async def bring(self, request: RequestId, place: Place) -> None:
        """Show it at the end of that chat, instead of where it stood."""
        await self._kit.outbox.replace(request_key(request))
        self._places[request] = place
        await self._show(request, place)

    def stop(self) -> None:
        """Remind of nothing any more."""
        for timer in self._reminders.values():
            timer.cancel()
        for task in self._reminding:
            task.cancel()

    async def _show(self, request: RequestId, place: Place) -> None:
        view = self.find(request)
        if view is None:
            return
        key = request_key(request)
        if view.state != "open":
            self._places.pop(request, None)
            self._forget_reminder(request)
            await self._kit.records.dialogues.drop(request)
            if not await self._kit.outbox.seen(key):
                return
        else:
            self._places.setdefault(request, place)
            self._set_reminder(view)
        place = self._places.get(request, place)
        await self._show_plan(view, place)
        dialogue = await self._kit.records.dialogues.get(request)
        content = draw_request(self._asked(view, dialogue or Dialogue()), self._kit.sealer)
        about = About(session=self._session.id, request=request).encode()
        await self._kit.outbox.put(key, place, content, urgent=True, about=about)

    async def _show_plan(self, view: RequestView, place: Place) -> None:
        """A plan that is too long for a message comes whole before it: as a file, or as text where there are none.

        Each place gets its own: a request that is brought into another chat says there, too, that the plan is above.
        """
        key = f"rp/{view.request.id}/{place.chat}/{place.topic or ''}"
        if not is_long_plan(view.request) or view.state != "open" or await self._kit.outbox.seen(key):
            return
        quiet = Place(chat=place.chat, topic=place.topic, silent=True)
        if not self._kit.transport.capabilities.files:
            for number, part in enumerate(draw_plan(view.request.plan, self._kit.text_limit)):
                await self._kit.outbox.put(f"{key}/{number}" if number else key, quiet, part, urgent=True)
            return
        path = await self._kit.outgoing("plan.md", show_hidden(view.request.plan).encode())
        await self._kit.outbox.put(key, quiet, Content(text="the whole plan"), urgent=True, document=str(path))

    def _asked(self, view: RequestView, dialogue: Dialogue) -> Asked:
        session = self._session.view()
        return Asked(
            view=view,
            engine=session.engine,
            modes=self._kit.roster.capabilities(session.engine).modes,
            dialogue=dialogue,
            title=session.title,
            link=self._kit.page_link(self._session.id),
            room=min(MOST_TEXT, max(self._kit.text_limit - AROUND, LEAST_TEXT)),
        )

    def find(self, request: RequestId) -> RequestView | None:
        """The request, open or ended."""
        view = self._session.view()
        return next((each for each in (*view.requests, *view.closed_requests) if each.request.id == request), None)

    async def _deny(self, request: RequestId) -> None:
        try:
            answer = Deny(message=UNATTENDED)
            await self._session.answer(request, answer, by="nobody (unattended)", surface=self._kit.surface)
        except FootplateError:
            return  # somebody was first

    # ---------------------------------------------------------------------------------------- reminders

    def _set_reminder(self, view: RequestView) -> None:
        after, request = self._kit.settings.reminder_s, view.request.id
        if not after or request in self._reminders:
            return
        wait = max(0.0, view.opened_at + after - self._kit.services.surroundings.time())
        loop = asyncio.get_running_loop()
        self._reminders[request] = loop.call_later(wait, partial(self._begin_reminding, request))

    def _forget_reminder(self, request: RequestId) -> None:
        timer = self._reminders.pop(request, None)
        if timer is not None:
            timer.cancel()

    def _begin_reminding(self, request: RequestId) -> None:
        task = spawn(self._remind(request), name=f"chat reminds of {request}")
        self._reminding.add(task)
        task.add_done_callback(self._reminding.discard)

    async def _remind(self, request: RequestId) -> None:
        view = self.find(request)
        place = self._places.get(request)
        if view is None or view.state != "open" or place is None:
            return
        text = f"still waiting for you: {shorten(show_line(view.request.title), 200)}"
        await self._kit.outbox.put(f"rm/{request}", place, Content(text=text), urgent=True)


def request_key(request: RequestId) -> str:
    """The slot of a request's message."""
    return f"r/{request}"
