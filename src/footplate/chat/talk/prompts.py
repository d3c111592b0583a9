"""A prompt from a chat: find or make its session, keep the job, hand it over, show it. Each step may be repeated."""

from __future__ import annotations

import hashlib
from typing import Final

import msgspec

from footplate.chat.model import Id, Place
from footplate.chat.reading.routing import Ambient, Resumes, Route, Said, choose_route
from footplate.chat.talk.follower import final_key, progress_key
from footplate.chat.talk.following import Following
from footplate.chat.talk.kit import Actor, Kit
from footplate.chat.talk.places import Places, Spot
from footplate.chat.talk.records import Job
from footplate.errors import FootplateError, SessionOver, UnknownSession
from footplate.events.base import ResumeToken
from footplate.events.content import ContentBlock, TextBlock
from footplate.events.ids import PromptId, SessionId
from footplate.runtime.session import Session
from footplate.runtime.spec import SessionSpec

MOST_NAMED: Final = 45
"""How long an id that tells chat and message may be; a longer one is hashed."""


class Wish(msgspec.Struct, frozen=True, kw_only=True):
    """A message that is a prompt."""

    spot: Spot
    message: Id
    sender: Actor
    said: Said
    extra: tuple[ContentBlock, ...] = ()
    """Pictures, beside the text."""
    unattended: bool = False
    own: bool = False
    """It has no message of a person: a command gave it."""
    fresh: bool = False
    """Begin a new session, whatever it replies to."""

    @property
    def place(self) -> Place:
        """Where its answer goes."""
        return Place(chat=self.spot.chat, topic=self.spot.topic, reply_to=None if self.own else self.message)


def prompt_id(surface: str, wish: Wish) -> PromptId:
    """Its id: the same message twice is one prompt. Short enough for the data of a button."""
    named = f"{'tg' if surface == 'telegram' else f'{surface}-'}{wish.spot.chat}-{wish.message}"
    if len(named.encode()) > MOST_NAMED:
        named = f"{surface[:8]}-{hashlib.sha256(named.encode()).hexdigest()[:24]}"
    return PromptId(f"{named}-new" if wish.fresh else named)


class Prompter:
    """Takes prompts."""

    def __init__(self, kit: Kit, places: Places, following: Following) -> None:
        self._kit = kit
        self._places = places
        self._following = following

    async def take(self, wish: Wish) -> None:
        """Hand it to its session. Raises a `FootplateError` when that cannot be."""
        prompt = prompt_id(self._kit.surface, wish)
        # Before the look at its messages: one that ends meanwhile has its end stored before its job is gone.
        known = await self._kit.records.jobs.get(prompt)
        if await self._kit.outbox.seen(final_key(prompt)):
            return
        route = await self.route(wish.spot, wish.said)
        if known is None and await self._kit.outbox.seen(progress_key(prompt)):
            return  # dealt with before a crash, and over since: cancelled, steered, or answered in that message
        if known is not None:
            session = await self._kit.hub.get(known.session)
            job = known
        else:
            session = await self._find(wish, route)
            job = Job(
                prompt=prompt,
                session=session.id,
                place=wish.place,
                engine=session.spec.engine,
                context=route.context,
                after=session.view().last_seq,
                at=self._kit.services.surroundings.time(),
                resumed=route.token is not None,
                unattended=wish.unattended,
            )
            await self._kit.records.jobs.put(prompt, job)
            await self._places.note_session(wish.spot, wish.sender.id, session.spec.engine, session.id, route.context)
        follower = await self._following.show(job, session)
        if follower is None:
            return
        try:
            await session.prompt((TextBlock(text=route.prompt), *wish.extra), key=job.prompt)
        except FootplateError:
            await follower.drop(job)
            await self._kit.records.jobs.drop(job.prompt)
            raise

    async def route(self, spot: Spot, said: Said) -> Route:
        """Where a message goes."""
        roster = self._kit.roster
        resumes = Resumes(roster.find_resume, roster.is_resume_line)
        return choose_route(said, await self.ambient(spot), self._kit.names, resumes)

    async def ambient(self, spot: Spot) -> Ambient:
        """What holds there."""
        prefs = await self._places.prefs(spot)
        return Ambient(
            engines=tuple(each.engine for each in prefs),
            context=await self._places.context(spot),
            default_engine=self._kit.all_settings.default_engine,
            project_engines=self._kit.projects,
        )

    async def _find(self, wish: Wish, route: Route) -> Session:
        """The session that the message goes on with, or a new one."""
        if not wish.fresh:
            if route.token is not None:
                return await self._resume(wish, route, route.token)
            for session in (route.session, await self._going_on(wish, route)):
                found = await self._open(session)
                if found is not None:
                    return found
        return await self._create(wish, route, None)

    async def _going_on(self, wish: Wish, route: Route) -> SessionId | None:
        if self._kit.settings.session_mode != "chat":
            return None
        session = await self._places.session(wish.spot, wish.sender.id, route.engine)
        found = await self._open(session)
        if found is None or found.spec.cwd != await self._kit.folder(route.context):
            return None
        return found.id

    async def _open(self, session: SessionId | None) -> Session | None:
        """The session if it can still take prompts."""
        if session is None:
            return None
        try:
            found = await self._kit.hub.get(session)
        except UnknownSession:
            return None
        return found if found.view().state != "closed" else None

    async def _resume(self, wish: Wish, route: Route, token: ResumeToken) -> Session:
        known = await self._open(await self._kit.backend.find(token.value))
        return known if known is not None else await self._create(wish, route, token)

    async def _create(self, wish: Wish, route: Route, token: ResumeToken | None) -> Session:
        prefs = await self._places.prefs(wish.spot)
        spec = SessionSpec(
            engine=route.engine,
            cwd=await self._kit.folder(route.context),
            model=next((each.models[route.engine] for each in prefs if route.engine in each.models), ""),
            effort=next((each.efforts[route.engine] for each in prefs if route.engine in each.efforts), ""),
            mode=next((each.mode for each in prefs if each.mode), ""),
        )
        made = await self._kit.backend.create(spec, resume=token)
        return await self._kit.hub.get(made)

    async def current(self, spot: Spot, sender: Id, said: Said) -> Session:
        """The session that a command there is about. Raises `SessionOver` when there is none."""
        route = await self.route(spot, said)
        token = await self._kit.backend.find(route.token.value) if route.token is not None else None
        for session in (token, route.session, await self._places.session(spot, sender, route.engine)):
            found = await self._open(session)
            if found is not None:
                return found
        raise SessionOver("of this chat")
