"""The scripted Bot API refuses what Telegram refuses, in its own words."""

from __future__ import annotations

import asyncio

import httpx
import pytest

from footplate.chat.model import Button, Content, Entity, Place
from footplate.errors import (
    BotForbidden,
    BotRefused,
    BotTokenWrong,
    BotUnreachable,
    ChatMigrated,
    MessageMissing,
    MessageNotModified,
    PollConflict,
    RetryAfter,
)
from footplate.interfaces.telegram.bot.client import BotClient, _read
from footplate.testing.bots import ScriptedBots
from footplate.testing.bots.limits import Rates

HERE = Place(chat=7)
HELLO = Content(text="hello")


async def test_every_refusal_has_an_error_of_its_own() -> None:
    async with ScriptedBots(rates=Rates(chat_burst=100)) as bots, BotClient.open(bots.token, bots.url) as client:
        sent = await client.send_message(HERE, HELLO)
        with pytest.raises(MessageNotModified):
            await client.edit_text(7, sent, HELLO)
        with pytest.raises(MessageMissing):
            await client.edit_text(7, 9999, HELLO)
        with pytest.raises(MessageMissing):
            await client.edit_text(7, (await bots.person(7).write("mine")).id, HELLO)
        bots.world.room(8).blocked = True
        with pytest.raises(BotForbidden):
            await client.send_message(Place(chat=8), HELLO)
        bots.world.room(-5, kind="group").migrated_to = -1_000_000_000_006
        with pytest.raises(ChatMigrated) as moved:
            await client.send_message(Place(chat=-5), HELLO)
        assert moved.value.chat == -1_000_000_000_006
        bots.refuse_all = 502
        with pytest.raises(BotUnreachable):
            await client.get_me()
    async with ScriptedBots() as bots, BotClient.open("1:wrong", bots.url) as client:
        with pytest.raises(BotTokenWrong):
            await client.get_me()


@pytest.mark.parametrize(
    "content",
    [
        Content(text=""),
        Content(text="x" * 4097),
        Content(text="😀" * 2049),
        Content(text="x", entities=(Entity(type="bold", offset=0, length=2),)),
        Content(text="x", entities=(Entity(type="text_link", offset=0, length=1, url="ftp://x"),)),
        Content(text="x", keyboard=((Button(text="b", callback_data="d" * 65),),)),
    ],
)
async def test_bad_content_is_refused(content: Content) -> None:
    async with ScriptedBots() as bots, BotClient.open(bots.token, bots.url) as client:
        with pytest.raises(BotRefused):
            await client.send_message(HERE, content)


async def test_a_chat_has_a_bucket_and_a_429_says_how_long() -> None:
    async with ScriptedBots(clock=lambda: 1.0) as bots, BotClient.open(bots.token, bots.url) as client:
        for _ in range(3):
            await client.send_message(HERE, HELLO)
        with pytest.raises(RetryAfter) as told:
            await client.send_message(HERE, HELLO)
        assert told.value.seconds >= 1
        await client.send_message(Place(chat=8), HELLO)


async def test_the_older_of_two_pollers_is_sent_away_and_offsets_forget() -> None:
    async with ScriptedBots() as bots, BotClient.open(bots.token, bots.url) as client:
        older = asyncio.create_task(client.get_updates(offset=None, timeout_s=5))
        while bots.updates.polls < 1:  # noqa: ASYNC110
            await asyncio.sleep(0)
        newer = asyncio.create_task(client.get_updates(offset=None, timeout_s=5))
        with pytest.raises(PollConflict):
            await older
        await bots.person(7).write("one")
        found = await newer
        again = await client.get_updates(offset=None, timeout_s=0)
        assert again == found
        assert await client.get_updates(offset=found[-1].update_id + 1, timeout_s=0) == []


async def test_parameters_come_as_json_form_or_parts() -> None:
    async with ScriptedBots() as bots, httpx.AsyncClient() as http:
        url = f"{bots.url}/bot{bots.token}/sendMessage"
        await http.post(url, json={"chat_id": 7, "text": "json"})
        await http.post(url, data={"chat_id": "7", "text": "form", "disable_notification": "true"})
        await http.post(url, data={"chat_id": "7", "text": "parts"}, files={"x": ("x", b"x")})
        assert bots.person(7).texts == ["json", "form", "parts"]
        assert [bubble.silent for bubble in bots.person(7).answers] == [False, True, False]


async def test_a_press_that_is_too_old_cannot_be_answered() -> None:
    now = [0.0]
    async with ScriptedBots(clock=lambda: now[0]) as bots, BotClient.open(bots.token, bots.url) as client:
        await client.send_message(HERE, Content(text="x", keyboard=((Button(text="b", callback_data="d"),),)))
        press = await bots.person(7).press("b")
        now[0] = 60.0
        with pytest.raises(BotRefused, match="too old"):
            await client.answer_callback(press)


def test_an_answer_that_is_not_utf_8_is_none_of_the_bot_api() -> None:
    with pytest.raises(BotUnreachable, match="not an answer of the Bot API"):
        _read("getMe", 502, b'{"ok":false,"description":"caf\xe9"}', dict[str, str])
