"""One account at work: every room opened in order, and closed so that nothing is lost."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Final

import msgspec

from footplate.chat.inbox.intake import Intake
from footplate.chat.inbox.letters import Letters
from footplate.chat.inbox.poller import Poller
from footplate.chat.outbox.drafts import Drafts
from footplate.chat.outbox.outbox import Outbox
from footplate.chat.reading.forwards import joins
from footplate.chat.talk.commands import Commands
from footplate.chat.talk.commands.brought import Brought
from footplate.chat.talk.commands.choices import Choices
from footplate.chat.talk.commands.sessions import SessionCommands
from footplate.chat.talk.following import Following
from footplate.chat.talk.heard import Ears
from footplate.chat.talk.kit import Kit, Select, account_of
from footplate.chat.talk.menu import Menu
from footplate.chat.talk.places import Places
from footplate.chat.talk.pressed import Pressed
from footplate.chat.talk.prompts import Prompter
from footplate.chat.talk.schedule import Schedule
from footplate.chat.talk.topics import Topics
from footplate.chat.talk.transfer import Transfer
from footplate.chat.transport import Transport
from footplate.config.settings import Settings
from footplate.runtime.service import Service
from footplate.tasks import spawn

log = logging.getLogger(__name__)
HANDLING_S: Final = 5.0
"""How long what was just heard may take when the bridge stops."""
TIDY_S: Final = 3600.0
"""How often messages that are old and done are deleted from the outbox."""


class Bridge:
    """An open bridge."""

    def __init__(self, kit: Kit, poller: asyncio.Task[None], menu: Menu) -> None:
        self.kit = kit
        self.poller = poller
        self._menu = menu

    async def use(self, settings: Settings) -> None:
        """Go on with other settings; the account must be the same."""
        self.kit.use(settings)
        await self._menu.show()


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """A transport that is open, and what the bridge must know to use it."""

    transport: Transport
    select: Select
    section: str
    """The name of its section in the settings, for words to people."""
    secret: str
    """What the data of buttons is sealed with: the same after a restart, and known to nobody in the chat."""


@asynccontextmanager
async def open_bridge(service: Service, settings: Settings, line: Line) -> AsyncIterator[Bridge]:
    """A bridge over an open transport for as long as the block lasts."""
    transport, services = line.transport, service.services
    async with AsyncExitStack() as stack:
        outbox = await stack.enter_async_context(
            Outbox.open(transport, services.store, account_of(transport), services.surroundings)
        )
        stack.callback(services.housekeeping.add(f"outbox of {line.section}", outbox.tidy, every_s=TIDY_S))
        stack.push_async_callback(outbox.drain, line.select(settings).drain_s)
        drafts = Drafts(transport, services.surroundings)
        stack.push_async_callback(drafts.close)
        kit = Kit(
            hub=service.hub,
            services=services,
            transport=transport,
            outbox=outbox,
            drafts=drafts,
            settings=settings,
            select=line.select,
            secret=line.secret,
            section=line.section,
        )
        yield await _open_rooms(stack, kit)


async def _open_rooms(stack: AsyncExitStack, kit: Kit) -> Bridge:
    places, following = Places(kit), Following(kit)
    prompter = Prompter(kit, places, following)
    brought = Brought(kit, prompter)
    pressed = Pressed(kit, following, prompter, brought)
    transfer, schedule = Transfer(kit, prompter), Schedule(kit, prompter)
    choices = Choices(kit, places, prompter)
    commands = Commands(
        kit,
        prompter,
        choices.handlers(),
        SessionCommands(kit, places, prompter, pressed).handlers(),
        Topics(kit, places, choices).handlers(),
        transfer.handlers(),
        schedule.handlers(),
        brought.handlers(),
    )
    menu = Menu(kit)
    ears = Ears(kit, places, prompter, pressed, commands, transfer, menu)
    anew_s = kit.transport.capabilities.numbers_anew_s
    letters = Letters(kit.services.store, account_of(kit.transport), kit.services.surroundings, anew_s=anew_s)
    intake = Intake(letters, ears.take, joins)
    kept = await letters.load()
    for message in (each.message for each in kept if each.message is not None):
        kit.outbox.learn(message.chat.id, message.message_id)  # now, not when it is dealt with: lost ones are above it
    poller = Poller(kit.transport, letters, intake)
    # Before anything is shown again: a search for a message in doubt waits until all pending updates are received.
    polling = spawn(poller.run(), name=f"{kit.surface} poller", awaited=True)
    stack.push_async_callback(_end, polling)  # for a start that fails
    await following.load()
    stack.push_async_callback(following.stop)
    stack.callback(kit.services.bulletin.subscribe(following.hear))  # ends first: what stops begins nothing any more
    await following.start()
    stack.push_async_callback(schedule.stop)
    await schedule.start()
    stack.push_async_callback(ears.stop)
    await ears.start()
    stack.push_async_callback(intake.stop, HANDLING_S)
    intake.give(kept)
    poller.release()
    stack.push_async_callback(_end, polling)
    stack.push_async_callback(menu.close)
    stack.callback(kit.services.bulletin.subscribe(menu.hear))
    await menu.greet()
    return Bridge(kit, polling, menu)


async def _end(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.wait((task,))
    if not task.cancelled():
        task.exception()  # the bridge has raised it, or the start has failed with an error of its own
