"""Which sessions are followed: those with a prompt of a chat on its way, and those that ask something."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Sequence

from footplate.chat.model import Place
from footplate.chat.talk.follower import Follower
from footplate.chat.talk.kit import Kit
from footplate.chat.talk.records import Job
from footplate.errors import FootplateError, SessionFailed
from footplate.events import model as m
from footplate.events.ids import RequestId, SessionId
from footplate.events.model import Envelope
from footplate.runtime.session import Session
from footplate.store.projection import SessionRow
from footplate.store.values import SessionFilter
from footplate.tasks import spawn

log = logging.getLogger(__name__)


class Following:
    """One follower per session that has something to show."""

    def __init__(self, kit: Kit) -> None:
        self._kit = kit
        self._followers: dict[SessionId, Follower] = {}
        self._homes: dict[str, Place] = {}
        self._starting: set[asyncio.Task[None]] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._locks: dict[SessionId, asyncio.Lock] = {}
        self._stopped = False

    async def load(self) -> None:
        """Load the pending prompts and the home chats of sessions. Must run before the first event arrives."""
        self._homes = await self._kit.records.homes.all()
        await self._kit.records.jobs.load()

    async def start(self) -> None:
        """Go on with every prompt that was on its way, and with everything that is asked."""
        await self._show_again(self._kit.records.jobs.known)
        after: str | None = None
        asking: list[SessionRow] = []
        while True:  # all pages before the first is followed: what that does moves sessions in the list
            page = await self._kit.hub.sessions(SessionFilter(asking=True), after=after)
            asking += page.items
            after = page.after
            if after is None:
                break
        for row in asking:
            await self._look_at(row.session, row.last_seq)

    async def _show_again(self, jobs: Iterable[Job]) -> None:
        for job in sorted(jobs, key=lambda each: each.at):
            try:
                await self.show(job, await self._kit.hub.get(job.session))
            except SessionFailed as problem:  # the service is stopping; the next one continues
                log.warning("prompt %s is not shown: %s", job.prompt, problem)
            except FootplateError as problem:
                log.warning("prompt %s cannot be shown: %s", job.prompt, problem)
                await self._kit.say(f"lost-{job.prompt}", job.place, f"this prompt cannot be gone on with: {problem}")
                await self._kit.records.jobs.drop(job.prompt)

    async def stop(self) -> None:
        """Follow nothing any more."""
        self._stopped = True
        starting = tuple(self._starting)
        for task in starting:
            task.cancel()
        if starting:
            await asyncio.wait(starting)
        for follower in tuple(self._followers.values()):
            await follower.stop()
        leaving = tuple(self._tasks)
        if leaving:
            await asyncio.wait(leaving)

    async def show(self, job: Job, session: Session) -> Follower | None:
        """Show a prompt from now on. None if it has ended meanwhile: a new follower would wait for its end forever."""
        async with self._locks.setdefault(session.id, asyncio.Lock()):
            if await self._kit.records.jobs.get(job.prompt) is None:
                return None
            await self._be_at_home(session.id, job.place)
            return await self._follow(session, job.after, job.place, job)

    async def bring(self, session: SessionId, request: RequestId, place: Place) -> None:
        """Show a request once more, here."""
        async with self._locks.setdefault(session, asyncio.Lock()):
            found = await self._kit.hub.get(session)
            follower = await self._follow(found, found.view().last_seq, place, None)
        await follower.requests.bring(request, place)

    def find(self, session: SessionId) -> Follower | None:
        """The follower of a session, if there is one."""
        return self._followers.get(session)

    def hear(self, envelopes: Sequence[Envelope]) -> None:
        """Something happened in some session: follow it if it is for a chat."""
        for envelope in envelopes:
            wanted = isinstance(envelope.event, m.RequestOpened) or (
                isinstance(envelope.event, m.TurnStarted) and envelope.event.origin == "task"
            )
            if wanted and envelope.session not in self._followers:
                task = spawn(
                    self._look_at(envelope.session, envelope.seq - 1), name=f"chat looks at {envelope.session}"
                )
                self._starting.add(task)
                task.add_done_callback(self._starting.discard)

    async def _look_at(self, session: SessionId, after: int) -> None:
        home = self._home(session)
        if home is None:
            return
        async with self._locks.setdefault(session, asyncio.Lock()):
            if session in self._followers:
                return
            try:
                await self._follow(await self._kit.hub.get(session), after, home, None)
            except FootplateError as problem:
                log.warning("session %s cannot be shown: %s", session, problem)

    def _home(self, session: SessionId) -> Place | None:
        known = self._homes.get(session)
        if known is not None:
            return known
        settings = self._kit.settings
        return Place(chat=settings.chat_id) if settings.all_requests and settings.chat_id is not None else None

    async def _be_at_home(self, session: SessionId, place: Place) -> None:
        home = Place(chat=place.chat, topic=place.topic)
        if self._homes.get(session) != home:
            self._homes[session] = home
            await self._kit.records.homes.put(session, home, durable=False)

    async def _follow(self, session: Session, after: int, home: Place, job: Job | None) -> Follower:
        """The follower of a session. A new one gets all pending prompts of the session and reads from before the first.

        Otherwise it would miss the turns of prompts that are added to it later but began earlier.
        """
        follower = self._followers.get(session.id)
        if follower is None:
            follower = Follower(self._kit, session, Place(chat=home.chat, topic=home.topic), self._ended)
            self._followers[session.id] = follower
            jobs = self._kit.records.jobs.of(session.id)
            for each in sorted(jobs, key=lambda one: one.at):
                await follower.add(each)
            task = follower.start(min((after, *(each.after for each in jobs))))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        elif job is not None:
            await follower.add(job)
        return follower

    def _ended(self, follower: Follower) -> None:
        """A session that failed is opened again, and its prompts are shown from there."""
        if self._followers.get(follower.id) is not follower:
            return
        del self._followers[follower.id]
        if follower.jobs and not self._stopped:
            task = spawn(self._show_again(tuple(follower.jobs.values())), name=f"chat looks at {follower.id} again")
            self._starting.add(task)
            task.add_done_callback(self._starting.discard)
