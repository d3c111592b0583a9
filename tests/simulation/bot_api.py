"""The Bot API as a node of its own: its chats outlive the service, and a call that has left goes on without it.

Calls take effect one after the other, in the order in which they arrive. Faults: the connection cannot be made; the
call or its answer is lost; the answer comes too late; 429, 500 and 502; 409 for a poll while another one waits.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextvars import copy_context
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from footplate.errors import BotUnreachable
from footplate.interfaces.telegram.bot import client as bot_client
from footplate.interfaces.telegram.bot.client import TIMEOUT_S, BotClient, Parameters
from footplate.testing.bots.faults import Refusal
from footplate.testing.bots.form import Upload
from footplate.testing.bots.limits import Limits, Rates
from footplate.testing.bots.methods import COUNTED, METHODS
from footplate.testing.bots.world import Bubble
from footplate.testing.bots.world import World as Chats
from tests.simulation.loop import NODE

if TYPE_CHECKING:
    from tests.simulation.world import World

BOT = 4242
FIRST_UPDATE = 1000
SILENT = ("answerCallbackQuery", "setMyCommands")
"""Calls that change nothing which is looked at."""
T = TypeVar("T")
Answer = tuple[int, bytes]


class BotApi:
    """One bot, its chats, and the updates that wait for it."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.chats = Chats(BOT)
        self._limits = Limits(Rates(), lambda: world.loop.now)
        self._context = copy_context()
        self._context.run(NODE.set, "bot api")
        self._turn = asyncio.Lock()
        self._updates: list[dict[str, Any]] = []
        self._number = FIRST_UPDATE
        self._polls = 0
        self._news = asyncio.Event()
        self.lost = 0
        """How many calls took effect without an answer."""

    # ----------------------------------------------------------------------------------------- people

    def write(self, user: int, chat: int, text: str) -> Bubble:
        """A person writes a message."""
        room = self.chats.room(chat)
        bubble = Bubble(id=self.chats.new_id(room), chat=chat, sender=user, text=text)
        self.chats.add(bubble)
        self._push("message", self.chats.message(bubble))
        return bubble

    def press(self, user: int, bubble: Bubble, data: str) -> None:
        """A person presses a button."""
        sender = {"id": user, "is_bot": False, "first_name": f"user{user}"}
        body: dict[str, object] = {
            "id": f"press{self._number}",
            "from": sender,
            "message": self.chats.message(bubble),
            "data": data,
        }
        self._push("callback_query", body)

    def _push(self, kind: str, body: dict[str, object]) -> None:
        self._number += 1
        self._updates.append({"update_id": self._number, kind: body})
        self._news.set()

    def shown(self, chat: int) -> list[Bubble]:
        """The bot's messages in a chat, in order."""
        room = self.chats.room(chat)
        return [room.bubbles[number] for number in sorted(room.bubbles) if room.bubbles[number].sender == BOT]

    @property
    def unread(self) -> int:
        """How many updates the bot has not confirmed."""
        return len(self._updates)

    # ------------------------------------------------------------------------------------------ calls

    async def call(self, method: str, given: dict[str, Any], timeout_s: float) -> Answer:
        """Carry out a call. Raises `BotUnreachable` when there is no answer in time."""
        world = self._world
        if world.chance.yes("bot refuses connection", world.strength("bot_lost", 0.1)):
            raise BotUnreachable(method, "ConnectError", certain=True)
        answer: asyncio.Future[Answer | None] = world.loop.create_future()
        work = self._serve(method, given, answer)
        world.loop.create_task(work, name=f"bot api {method}", context=self._context.copy())
        try:
            async with asyncio.timeout(timeout_s):
                found = await answer
        except TimeoutError:
            raise BotUnreachable(method, "ReadTimeout", certain=False) from None
        if found is None:
            raise BotUnreachable(method, "ReadError", certain=False)
        return found

    async def _serve(self, method: str, given: dict[str, Any], answer: asyncio.Future[Answer | None]) -> None:
        world = self._world
        found: Answer | None
        if method == "getUpdates":
            found = await self._poll(given)
        else:
            found = await self._carry_out(method, given)
        if found is not None and world.chance.yes("bot answer lost", world.strength("bot_lost", 0.3)):
            self.lost += 1
            world.count("bot_answers_lost")
            found = None
        if world.chance.yes("bot answer late", world.strength("bot_slow", 0.1)):
            world.count("bot_answers_late")
            await asyncio.sleep(world.chance.pick("bot late by", (2.0, 14.0, 20.0)))
        await world.pause("slow_bot", "bot out")
        if not answer.done():
            answer.set_result(found)

    async def _carry_out(self, method: str, given: dict[str, Any]) -> Answer | None:
        world = self._world
        async with self._turn:
            await world.pause("slow_bot", "bot in")
            if world.chance.yes("bot call lost", world.strength("bot_lost", 0.1)):
                return None
            if world.chance.yes("bot 429", world.strength("bot_429", 0.2)):
                seconds = world.chance.pick("bot retry after", (1, 3, 30))
                return _refused(Refusal(429, f"Too Many Requests: retry after {seconds}", retry_after=seconds))
            if world.chance.yes("bot 500", world.strength("bot_lost", 0.1)):
                return _refused(Refusal(500, "Internal Server Error"))
            found = self._effect(method, given)
            world.log(
                "bot api", f"{method} {given.get('message_id', '')} {str(given.get('text', ''))[:40]!r} {found[0]}"
            )
            if world.chance.yes("bot 502", world.strength("bot_lost", 0.1)):
                self.lost += 1
                return _refused(Refusal(502, "Bad Gateway"))
            return found

    def _effect(self, method: str, given: dict[str, Any]) -> Answer:
        chat = given.get("chat_id")
        wait = self._limits.wait_for(chat) if method in COUNTED and isinstance(chat, int) else 0.0
        if wait > 0:
            self._world.count("bot_limit_reached")
            seconds = max(1, round(wait + 0.5))
            return _refused(Refusal(429, f"Too Many Requests: retry after {seconds}", retry_after=seconds))
        if method == "getMe":
            return _said({"id": BOT, "is_bot": True, "first_name": "Footplate", "username": "footplate_bot"})
        try:
            return _said(METHODS[method](self.chats, given) if method in METHODS else method in SILENT)
        except Refusal as refusal:
            return _refused(refusal)

    async def _poll(self, given: dict[str, Any]) -> Answer:
        world = self._world
        self._polls += 1
        mine = self._polls
        self._news.set()
        offset = given.get("offset")
        if offset is not None:
            self._updates = [each for each in self._updates if each["update_id"] >= offset]
        await world.pause("slow_bot", "bot poll")
        if world.chance.yes("bot 409", world.strength("bot_lost", 0.1)):
            return _refused(Refusal(409, "Conflict: terminated by other getUpdates request"))
        try:
            async with asyncio.timeout(float(given.get("timeout", 0))):
                while not self._updates:
                    self._news.clear()
                    await self._news.wait()
                    if self._polls != mine:
                        return _refused(Refusal(409, "Conflict: terminated by other getUpdates request"))
        except TimeoutError:
            return _said([])
        few = 1 + world.chance.below("bot updates", 3) if world.plan.on("short_pages") else 100
        return _said(self._updates[:few])


def _said(result: object) -> Answer:
    return 200, msgspec.json.encode({"ok": True, "result": result})


def _refused(refusal: Refusal) -> Answer:
    said: dict[str, object] = {"ok": False, "error_code": refusal.code, "description": refusal.words}
    if refusal.parameters:
        said["parameters"] = refusal.parameters
    return refusal.code, msgspec.json.encode(said)


class SimBotClient(BotClient):
    """The product's client of the Bot API, with the simulated one in the place of HTTP."""

    def __init__(self, api: BotApi) -> None:
        self._api = api

    async def _call(
        self,
        method: str,
        parameters: Parameters,
        kind: type[T],
        *,
        timeout_s: float = TIMEOUT_S,
        files: Mapping[str, tuple[str, bytes]] | None = None,
    ) -> T:
        given = msgspec.json.decode(msgspec.json.encode(parameters), type=dict[str, Any])
        given |= {name: Upload(*file) for name, file in (files or {}).items()}
        status, body = await self._api.call(method, given, timeout_s)
        return bot_client._read(method, status, body, kind)
