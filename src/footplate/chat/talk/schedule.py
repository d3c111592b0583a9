"""`/at`: prompts for later, kept in the store; they run with nobody there, and tell what they could not ask."""

from __future__ import annotations

import asyncio
import logging
import re
import time
from typing import Final

from footplate.chat.drawing.words import clock, flat, shorten
from footplate.chat.reading.commands import Command
from footplate.chat.reading.routing import Said
from footplate.chat.talk.commands.ordered import Handler, Ordered
from footplate.chat.talk.kit import Actor, Kit
from footplate.chat.talk.places import Spot
from footplate.chat.talk.prompts import Prompter, Wish
from footplate.chat.talk.records import Delayed
from footplate.errors import FootplateError, InvalidValue
from footplate.tasks import spawn

log = logging.getLogger(__name__)
DELAY: Final = re.compile(r"(\d+(?:\.\d+)?)([smhd])")
UNITS: Final = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}
CLOCK: Final = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)")


def read_time(text: str, now: float) -> float | None:
    """When it is meant: `10m` from now, or the next `18:30`; None when it says neither."""
    delay = DELAY.fullmatch(text)
    if delay is not None:
        return now + float(delay[1]) * UNITS[delay[2]]
    at = CLOCK.fullmatch(text)
    if at is None:
        return None
    day = time.localtime(now)
    today = time.mktime((day.tm_year, day.tm_mon, day.tm_mday, int(at[1]), int(at[2]), 0, 0, 0, -1))
    return today if today > now else today + UNITS["d"]


class Schedule:
    """The prompts for later."""

    def __init__(self, kit: Kit, prompter: Prompter) -> None:
        self._kit = kit
        self._prompter = prompter
        self._timers: dict[str, asyncio.Task[None]] = {}

    def handlers(self) -> dict[str, Handler]:
        """The commands of this room."""
        return {"at": self._at}

    async def start(self) -> None:
        """Wait for those that were given before; what is overdue runs now."""
        for key, delayed in (await self._kit.records.delayed.all()).items():
            self._wait(key, delayed)

    async def stop(self) -> None:
        """Leave them to the next start."""
        timers = tuple(self._timers.values())
        for timer in timers:
            timer.cancel()
        if timers:
            await asyncio.wait(timers)

    async def _at(self, command: Command, ordered: Ordered) -> str:
        when, _, text = command.rest.partition(" ")
        if not command.rest:
            return await self._list(ordered)
        if when == "cancel":
            return await self._cancel(text.strip(), ordered)
        at = read_time(when, self._kit.services.surroundings.time())
        if at is None or not text.strip():
            raise InvalidValue("at", command.rest, "a time and a prompt: `/at 10m run the tests`, `/at 18:30 ...`")
        delayed = Delayed(
            at=at,
            text=text.strip(),
            chat=ordered.spot.chat,
            topic=ordered.spot.topic,
            sender=ordered.sender.id,
            name=ordered.sender.name,
            message=ordered.message.message_id,
        )
        key = f"{ordered.spot.chat}-{ordered.message.message_id}"
        await self._kit.records.delayed.put(key, delayed)
        self._wait(key, delayed)
        return f"at {clock(at)}, with nobody there: what it asks for is denied and told. `/at cancel N` takes it back."

    async def _mine(self, ordered: Ordered) -> list[tuple[str, Delayed]]:
        waiting = (await self._kit.records.delayed.all()).items()
        return sorted(((k, v) for k, v in waiting if v.chat == ordered.spot.chat), key=lambda each: each[1].at)

    async def _list(self, ordered: Ordered) -> str:
        lines = [
            f"{number}. {clock(each.at)} {shorten(flat(each.text), 80)}"
            for number, (_, each) in enumerate(await self._mine(ordered), 1)
        ]
        return "\n".join(lines) or "nothing is planned; `/at 10m PROMPT`."

    async def _cancel(self, number: str, ordered: Ordered) -> str:
        mine = await self._mine(ordered)
        if not number.isdecimal() or not 1 <= int(number) <= len(mine):
            raise InvalidValue("number", number, f"one from 1 to {len(mine)}; `/at` lists them")
        key, _ = mine[int(number) - 1]
        await self._kit.records.delayed.drop(key)
        timer = self._timers.pop(key, None)
        if timer is not None:
            timer.cancel()
        return "taken back."

    def _wait(self, key: str, delayed: Delayed) -> None:
        self._timers[key] = spawn(self._run(key, delayed), name=f"chat at {key}")

    async def _run(self, key: str, delayed: Delayed) -> None:
        await asyncio.sleep(max(0.0, delayed.at - self._kit.services.surroundings.time()))
        spot = Spot(chat=delayed.chat, topic=delayed.topic, private=self._kit.transport.is_private(delayed.chat))
        wish = Wish(
            spot=spot,
            message=delayed.message,
            sender=Actor(delayed.sender, delayed.name),
            said=Said(text=delayed.text),
            unattended=True,
        )
        try:
            await self._prompter.take(wish)
        except FootplateError as problem:
            await self._kit.say(f"at-{key}", wish.place, f"✗ {problem}")
        await self._kit.records.delayed.drop(key)
        self._timers.pop(key, None)
