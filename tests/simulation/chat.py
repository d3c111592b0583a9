"""Chats: the whole bridge (inbox, follower, outbox) on the simulated Bot API, and people who write and press buttons.

Oracles, at rest: `chat_missing`: each message of a person became a prompt or was refused in the chat, and each prompt's
end stands there once, in the order of the log. `chat_twice`: no message of the bot stands there that no slot knows.
`chat_differs`: each slot's message has the content that was wanted last. `chat_open`: what was answered has no buttons.
"""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

import msgspec

from footplate.chat.bridge import Bridge, Line, open_bridge
from footplate.chat.outbox.buckets import Pace
from footplate.chat.outbox.slots import Slot, next_operation
from footplate.config.chat import ChatSettings
from footplate.errors import BotUnreachable, RetryAfter
from footplate.events import model as m
from footplate.events.ids import SessionId
from footplate.interfaces.telegram.heights import SLACK
from footplate.interfaces.telegram.transport import TelegramTransport
from footplate.runtime.hub import Hub
from footplate.testing.bots.world import Bubble
from tests.simulation.acp import Quiet, Served
from tests.simulation.bot_api import BOT, SimBotClient
from tests.simulation.disk import finish
from tests.simulation.plan import Client

if TYPE_CHECKING:
    from tests.simulation.life import Life
    from tests.simulation.world import World

FIRST = 1_800_000
PEOPLE = (7, 8)
ACCOUNT = f"telegram/{BOT}"
ENDED = ("done", "error", "cancelled", "steered")
SETTLE_S = 240.0
OPEN_S = 0.5


class Written(msgspec.Struct):
    """A message that a person wrote."""

    chat: int
    message: int
    text: str

    @property
    def prompt(self) -> str:
        """The id that the bridge gives to the prompt."""
        return f"tg{self.chat}-{self.message}"


class ChatSide:
    """What people did."""

    def __init__(self) -> None:
        self.written: list[Written] = []


class ChatDoor:
    """The bridge of one life."""

    def __init__(self, world: World, life: Life, services: Any, hub: Hub) -> None:
        self._world = world
        self._service: Any = Served(hub, services)
        self._stopping: asyncio.Future[None] = world.loop.create_future()
        self.bridge: Bridge | None = None
        self._task = life.spawn(self._run(), name="chat bridge")

    async def _run(self) -> None:
        """Keep the bridge open, as `Keeping` does."""
        settings = msgspec.structs.replace(self._service.settings, default_engine="mock")
        chat = ChatSettings(
            allowed_user_ids=PEOPLE,
            cwd="/",
            banner=False,
            drafts=self._world.plan.on("chat_drafts"),
            final_notify=not self._world.plan.on("chat_silent"),
        )
        while not self._stopping.done():
            async with AsyncExitStack() as stack:
                try:
                    transport = await TelegramTransport.begin(SimBotClient(self._world.bots), Pace())
                except (BotUnreachable, RetryAfter):
                    await asyncio.wait((self._stopping,), timeout=OPEN_S)
                    continue
                line = Line(transport=transport, select=lambda _: chat, section="telegram", secret="seal")
                self.bridge = await stack.enter_async_context(open_bridge(self._service, settings, line))
                await asyncio.wait((self.bridge.poller, self._stopping), return_when=asyncio.FIRST_COMPLETED)
                if self.bridge.poller.done():
                    await self.bridge.poller

    async def close(self) -> None:
        """End the bridge, as the product does when it stops."""
        if not self._stopping.done():
            self._stopping.set_result(None)
        await asyncio.wait((self._task,))


# ------------------------------------------------------------------------------------------------- people


async def run_person(world: World, client: Client) -> None:
    """Write and press as the plan says."""
    person = PEOPLE[client.session % len(PEOPLE)]
    for step in client.steps:
        await asyncio.sleep(step.wait)
        if step.do == "write":
            number = FIRST + len(world.chat.written)
            bubble = world.bots.write(person, person, f"{step.text} {number}")
            world.chat.written.append(Written(person, bubble.id, bubble.text))
        else:
            _press(world, client, person)


def _press(world: World, client: Client, person: int) -> None:
    with_buttons = [each for each in world.bots.shown(person) if each.buttons]
    if not with_buttons:
        return
    bubble = world.chance.pick(f"message {client.name}", with_buttons[-3:])
    buttons = [button for row in bubble.buttons for button in row]
    button = world.chance.pick(f"button {client.name}", buttons)
    world.log("press", f"{button['text']} of {bubble.id}")
    world.bots.press(person, bubble, button["callback_data"])


# ------------------------------------------------------------------------------------------------- checks


async def arrive(world: World) -> None:
    """Wait until the bridge has dealt with all that people did."""
    letters = world.machine.disk.memory.documents
    begun = world.loop.now
    while world.failure is None:
        if not world.bots.unread and not finish(letters(f"{ACCOUNT}/inbox").list()).items:
            return
        if world.loop.now - begun > SETTLE_S:
            world.fail("chat_missing", f"{world.bots.unread} updates are not taken")
            return
        await asyncio.sleep(0.5)


async def settle(world: World, become_quiet: Quiet) -> None:
    """Wait until the chats are as they should be."""
    begun = world.loop.now
    while world.failure is None:
        problem = _problem(world)
        if problem is None:
            return
        if world.loop.now - begun > SETTLE_S:
            world.fail(*problem)
            return
        await asyncio.sleep(2.0)
        await become_quiet(world)


def _slots(world: World) -> dict[str, Slot]:
    documents = world.machine.disk.memory.documents(f"{ACCOUNT}/slots")
    found: dict[str, Slot] = {}
    after: str | None = None
    while True:
        page = finish(documents.list(after=after))
        found |= {each.key: msgspec.json.decode(each.body, type=Slot) for each in page.items}
        after = page.after
        if after is None:
            return found


def _problem(world: World) -> tuple[str, str] | None:
    slots = _slots(world)
    problem = _slots_differ(world, slots)
    if problem is not None:
        return problem
    prompts = _prompts(world)
    for written in world.chat.written:
        problem = _prompt_shown(world, written, prompts.get(written.prompt), slots)
        if problem is not None:
            return problem
    return _out_of_order(world, slots)


def _slots_differ(world: World, slots: dict[str, Slot]) -> tuple[str, str] | None:
    """Slots and messages are the same set, with the same content."""
    known: dict[object, Slot] = {slot.message: slot for slot in slots.values() if slot.message is not None}
    for slot in slots.values():
        if slot.state == "failed":
            return "chat_missing", f"{slot.key} was given up"
        if next_operation(slot) is not None and slot.urgent:
            return "chat_missing", f"{slot.key} is {slot.state}, and {next_operation(slot)} is to be done"
    for chat in PEOPLE:
        for bubble in world.bots.shown(chat):
            found = known.pop(bubble.id, None)
            if found is None:
                if world.machine.disk.power_cuts and not _is_final(bubble):
                    continue  # slots of progress are not synced: the message of before the cut stays
                if world.bots.lost and _is_beyond_reach(world, bubble):
                    continue
                return "chat_twice", f"message {bubble.id} of {chat} belongs to no slot: {bubble.text[:60]!r}"
            if found.shown is not None and bubble.text != found.shown.text and found.urgent:
                return "chat_differs", f"{found.key} shows {bubble.text[:60]!r}, not {found.shown.text[:60]!r}"
            if found.wanted is not None and bubble.text != found.wanted.text and found.urgent:
                return "chat_differs", f"{found.key} shows {bubble.text[:60]!r}, not {found.wanted.text[:60]!r}"
    if known:
        missing = next(iter(known.values()))
        return "chat_missing", f"message {missing.message} of {missing.key} does not stand there"
    return None


def _is_beyond_reach(world: World, bubble: Bubble) -> bool:
    """Whether people wrote so much just before a message that it cannot be looked for, should its answer be lost."""
    near = range(bubble.id - 2 * SLACK, bubble.id)
    return sum(each in world.bots.chats.room(chat).bubbles for chat in PEOPLE for each in near) >= SLACK


def _is_final(bubble: Bubble) -> bool:
    return bubble.text.split(" ")[0] in ENDED


class Outcome(msgspec.Struct):
    """What the log says of a prompt."""

    session: str
    ended: m.TurnEnded | None = None
    left: bool = False
    """It was withdrawn or steered."""


def _prompts(world: World) -> dict[str, Outcome]:
    found: dict[str, Outcome] = {}
    for name, log in world.machine.disk.memory._logs.items():
        turn: set[str] = set()
        for stored in log.events:
            event = stored.envelope().event
            match event:
                case m.PromptQueued():
                    found[event.prompt] = Outcome(name)
                case m.TurnStarted():
                    turn = set(event.prompts)
                case m.TurnEnded():
                    for prompt in turn | set(event.prompts):
                        if prompt in found and found[prompt].ended is None:
                            found[prompt].ended = event
                case m.PromptWithdrawn() | m.PromptSteered():
                    found[event.prompt].left = True
                case _:
                    pass
    return found


def _prompt_shown(
    world: World, written: Written, outcome: Outcome | None, slots: dict[str, Slot]
) -> tuple[str, str] | None:
    prompt = written.prompt
    final, progress = slots.get(f"f/{prompt}/0"), slots.get(f"p/{prompt}")
    if outcome is None:
        if f"n/{written.chat}-{written.message}" in slots or f"n/lost-{prompt}" in slots:
            return None
        return "chat_missing", f"{prompt} ({written.text!r}) is in no log, and nobody was told"
    silent = world.plan.on("chat_silent")
    if outcome.left or outcome.ended is None:
        if outcome.left and (progress is None or progress.shown is None or not _says_end(progress)):
            return "chat_missing", f"{prompt} left the queue, and its message does not say so"
        return None
    shown = progress if silent else final
    if shown is None or shown.state != "shown" or not _says_end(shown):
        return "chat_missing", f"the end of {prompt} ({written.text!r}) does not stand there"
    if not silent and progress is not None and progress.state in ("sending", "shown"):
        return "chat_twice", f"the progress of {prompt} stands beside its end"
    return None


def _says_end(slot: Slot) -> bool:
    return slot.shown is not None and slot.shown.text.split(" ")[0] in ENDED


def _out_of_order(world: World, slots: dict[str, Slot]) -> tuple[str, str] | None:
    """The ends of a session's turns stand in the order of its log."""
    if world.plan.on("chat_silent"):
        return None
    for name in world.machine.disk.memory._logs:
        last = 0
        for stored in world.machine.disk.memory._logs[SessionId(name)].events:
            event = stored.envelope().event
            if not isinstance(event, m.TurnEnded):
                continue
            ids = [slots[f"f/{each}/0"].message for each in event.prompts if f"f/{each}/0" in slots]
            for message in ids:
                if isinstance(message, int):
                    if message < last:
                        return "chat_order", f"{event.turn} of {name[-4:]} stands above an earlier one"
                    last = message
    return None
