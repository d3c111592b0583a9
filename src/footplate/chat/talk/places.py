"""Chats and topics: what was chosen there, which project they belong to, which session goes on there."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from footplate.chat.model import Id
from footplate.chat.reading.gate import Trigger
from footplate.chat.reading.routing import Context
from footplate.chat.talk.kit import Kit
from footplate.chat.talk.records import Prefs, prefs_key
from footplate.events.ids import SessionId


class Spot(msgspec.Struct, frozen=True, kw_only=True):
    """A chat, or a topic of one."""

    chat: Id
    topic: Id | None = None
    private: bool = True

    @property
    def key(self) -> str:
        """Its name in the records."""
        return prefs_key(self.chat, self.topic)


class Places:
    """What holds where."""

    def __init__(self, kit: Kit) -> None:
        self._kit = kit

    async def prefs(self, spot: Spot) -> tuple[Prefs, ...]:
        """What was chosen there, the nearest first: of the topic, of the chat."""
        keys = [spot.key] if spot.topic is None else [spot.key, prefs_key(spot.chat)]
        found = [await self._kit.records.prefs.get(key) for key in keys]
        return tuple(each for each in found if each is not None)

    async def own(self, spot: Spot) -> Prefs:
        """What was chosen at this very spot."""
        return await self._kit.records.prefs.get(spot.key) or Prefs()

    async def change(self, spot: Spot, **changes: object) -> Prefs:
        """Choose something else for it."""
        made = replace(await self.own(spot), **changes)
        await self._kit.records.prefs.put(spot.key, made)
        return made

    async def context(self, spot: Spot) -> Context:
        """The project of the spot: what was bound to it, else that of the chat, else the default."""
        for prefs in await self.prefs(spot):
            if prefs.context is not None:
                return prefs.context
        settings = self._kit.settings
        of_chat = next((name for name, chat in settings.project_chats.items() if chat == spot.chat), "")
        return Context(project=of_chat or self._kit.all_settings.default_project)

    async def trigger(self, spot: Spot) -> Trigger:
        """Which messages of a group are prompts."""
        chosen = [each.trigger for each in await self.prefs(spot) if each.trigger is not None]
        return chosen[0] if chosen else self._kit.settings.trigger

    # --------------------------------------------------------------------------------------- sessions

    async def session(self, spot: Spot, sender: Id, engine: str) -> SessionId | None:
        """The session that goes on there; in a group everybody has their own, in a topic all share one."""
        return (await self.own(spot)).sessions.get(_holder(spot, sender, engine))

    async def note_session(self, spot: Spot, sender: Id, engine: str, session: SessionId, context: Context) -> None:
        """The next message there goes on with it."""
        holder = _holder(spot, sender, engine)
        own = await self.own(spot)
        if own.sessions.get(holder) != session:
            await self.change(spot, sessions={**own.sessions, holder: session})

    async def forget_sessions(self, spot: Spot, sender: Id) -> int:
        """The next message there begins anew; how many sessions were let go of."""
        own = await self.own(spot)
        mine = {holder for holder in own.sessions if spot.private or spot.topic or holder.endswith(f":{sender}")}
        await self.change(spot, sessions={key: value for key, value in own.sessions.items() if key not in mine})
        return len(mine)

    async def move(self, old: Id, new: Id) -> None:
        """A group has another id."""
        for key, prefs in (await self._kit.records.prefs.all()).items():
            chat, _, topic = key.partition("/")
            if chat == str(old):
                await self._kit.records.prefs.put(f"{new}/{topic}" if topic else f"{new}", prefs)
                await self._kit.records.prefs.drop(key)


def _holder(spot: Spot, sender: Id, engine: str) -> str:
    return engine if spot.private or spot.topic is not None else f"{engine}:{sender}"
