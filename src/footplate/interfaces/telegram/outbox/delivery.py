"""One step of a chat carried out: sent, edited, taken away, or looked for; what came of it stands in the slot."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Final

from footplate.errors import BotForbidden, BotRefused, MessageMissing, MessageNotModified
from footplate.interfaces.telegram.bot.client import BotClient
from footplate.interfaces.telegram.bot.content import Content, Place
from footplate.interfaces.telegram.outbox.heights import Heights
from footplate.interfaces.telegram.outbox.slots import Operation, Slot

log = logging.getLogger(__name__)
MOST_PROBES: Final = 20


class Delivery:
    """Carries out steps as one bot. A `BotError` that is raised means: try again later."""

    def __init__(self, client: BotClient, heights: Heights) -> None:
        self._client = client
        self._heights = heights

    async def send(self, slot: Slot, content: Content) -> None:
        """Send it; afterwards it is shown. A file that is to be sent is ours, and goes away with it."""
        try:
            slot.message = await self._post(slot, content)
        except (BotForbidden, OSError) as problem:
            _give_up(slot, problem)
            return
        except BotRefused as problem:
            self._ease(slot, problem)
            return
        slot.state, slot.shown = "shown", content
        self._heights.learn(slot.place.chat, slot.message)
        if slot.document:
            await asyncio.to_thread(_throw_away, Path(slot.document))

    async def _post(self, slot: Slot, content: Content) -> int:
        if slot.document:
            body = await asyncio.to_thread(Path(slot.document).read_bytes)
            name = Path(slot.document).name
            return await self._client.send_document(slot.place, name, body, caption=content.text)
        return await self._client.send_message(slot.place, _formatted(slot, content))

    async def edit(self, slot: Slot, content: Content) -> None:
        """Put other content in its place; one that was taken away by a person stays away."""
        try:
            await self._change(slot, slot.message or 0, content)
        except MessageNotModified:
            pass
        except MessageMissing:
            slot.state = "gone"
            return
        except BotForbidden as problem:
            _give_up(slot, problem)
            return
        except BotRefused as problem:
            if slot.plain or not content.entities:
                _give_up(slot, problem)
            slot.plain = True
            return
        slot.shown = content

    async def delete(self, slot: Slot) -> None:
        """Take it away. One that cannot be is left as it is."""
        try:
            await self._client.delete_message(slot.place.chat, slot.message or 0)
        except (MessageMissing, BotRefused, BotForbidden) as problem:
            log.info("message %s of %s stays: %s", slot.message, slot.key, problem)
        slot.state = "gone"

    async def probe(self, slot: Slot) -> None:
        """Find out whether it was sent after all: an edit to the content that it was sent with changes nothing.

        Found: it is shown. Not found: it is new again, and will be sent.
        """
        content = slot.shown or slot.wanted
        if content is None or not slot.base:
            slot.state = "new"
            return
        for message in self._heights.candidates(slot.place.chat, slot.base)[:MOST_PROBES]:
            try:
                await self._change(slot, message, content)
            except MessageMissing:
                continue
            except MessageNotModified:
                pass
            except (BotForbidden, BotRefused) as problem:
                _give_up(slot, problem)
                return
            slot.state, slot.message, slot.shown = "shown", message, content
            self._heights.learn(slot.place.chat, message)
            log.info("message %s of %s was delivered after all", message, slot.key)
            return
        slot.state, slot.shown = ("new" if slot.wanted is not None else "gone"), None

    async def _change(self, slot: Slot, message: int, content: Content) -> None:
        if slot.document:
            await self._client.edit_caption(slot.place.chat, message, content.text)
        else:
            await self._client.edit_text(slot.place.chat, message, _formatted(slot, content))

    def _ease(self, slot: Slot, problem: BotRefused) -> None:
        """What was refused goes without its formatting, then without its topic; then it is given up."""
        if not slot.plain and slot.wanted is not None and slot.wanted.entities:
            slot.plain = True
        elif slot.place.topic is not None:
            place = slot.place
            slot.place = Place(chat=place.chat, reply_to=place.reply_to, silent=place.silent)
        else:
            _give_up(slot, problem)
            return
        log.warning("%s goes in a plainer form: %s", slot.key, problem)
        slot.state, slot.shown = "new", None


def begin(slot: Slot, operation: Operation, heights: Heights) -> None:
    """Note that it is being sent, and above which id it will stand."""
    if operation == "send":
        slot.state = "sending"
        slot.shown = slot.wanted
        slot.base = heights.of(slot.place.chat)


def _throw_away(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.parent.rmdir()


def _formatted(slot: Slot, content: Content) -> Content:
    return Content(text=content.text, keyboard=content.keyboard) if slot.plain else content


def _give_up(slot: Slot, problem: Exception) -> None:
    slot.state = "failed"
    log.warning("%s cannot be delivered to chat %s: %s", slot.key, slot.place.chat, problem)
