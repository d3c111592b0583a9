"""One step of a chat carried out: sent, edited, taken away, or looked for; what came of it stands in the slot."""

from __future__ import annotations

import logging
from pathlib import Path

from footplate.chat.model import Content, Id, Place
from footplate.chat.outbox.marks import with_marks
from footplate.chat.outbox.slots import Operation, Slot
from footplate.chat.transport import Lost, Transport
from footplate.errors import BotForbidden, BotRefused, MessageMissing, MessageNotModified
from footplate.runtime.surroundings import Surroundings

log = logging.getLogger(__name__)


class Delivery:
    """Carries out steps by a transport. A `BotError` that is raised means: try again later."""

    def __init__(self, transport: Transport, surroundings: Surroundings) -> None:
        self._transport = transport
        self._surroundings = surroundings
        self.edits = transport.capabilities.edits

    def begin(self, slot: Slot, operation: Operation) -> None:
        """Note that it is being sent, and what the transport wants to know of it should no word come."""
        if operation == "send":
            slot.state = "sending"
            slot.shown = slot.wanted
            slot.base = self._transport.mark(slot.place.chat)

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
        self._transport.saw(slot.place.chat, slot.message)
        if slot.document:
            await self._surroundings.blocking(_throw_away, Path(slot.document))

    async def _post(self, slot: Slot, content: Content) -> Id:
        if slot.document:
            body = await self._surroundings.blocking(Path(slot.document).read_bytes)
            name = Path(slot.document).name
            return await self._transport.send_file(slot.place, name, body, caption=content.text, key=slot.key)
        return await self._transport.send(slot.place, self._formatted(slot, content), key=slot.key)

    async def edit(self, slot: Slot, content: Content) -> None:
        """Put other content in its place; one that was taken away by a person stays away."""
        if slot.message is None:
            return
        try:
            formatted = self._formatted(slot, content)
            await self._transport.edit(slot.place.chat, slot.message, formatted, is_file=bool(slot.document))
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
        if slot.message is not None and self._transport.capabilities.deletes:
            try:
                await self._transport.delete(slot.place.chat, slot.message)
            except (MessageMissing, BotRefused, BotForbidden) as problem:
                log.info("message %s of %s stays: %s", slot.message, slot.key, problem)
        slot.state = "gone"

    async def probe(self, slot: Slot) -> None:
        """Find out whether it was sent after all. Found: it is shown. Not found: it is new again, and will be sent."""
        content = slot.shown or slot.wanted
        if content is None:
            slot.state = "new"
            return
        lost = Lost(
            key=slot.key,
            place=slot.place,
            content=self._formatted(slot, content),
            mark=slot.base,
            is_file=bool(slot.document),
        )
        try:
            message = await self._transport.find(lost)
        except (BotForbidden, BotRefused) as problem:
            _give_up(slot, problem)
            return
        if message is None:
            slot.state, slot.shown = ("new" if slot.wanted is not None else "gone"), None
            return
        slot.state, slot.message, slot.shown = "shown", message, content
        self._transport.saw(slot.place.chat, message)
        log.info("message %s of %s was delivered after all", message, slot.key)

    def _formatted(self, slot: Slot, content: Content) -> Content:
        marked = with_marks(content, slot.tag, self._transport.capabilities) if slot.tag else content
        return Content(text=marked.text, keyboard=marked.keyboard) if slot.plain else marked

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


def _throw_away(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.parent.rmdir()


def _give_up(slot: Slot, problem: Exception) -> None:
    slot.state = "failed"
    log.warning("%s cannot be delivered to chat %s: %s", slot.key, slot.place.chat, problem)
