"""A person in a chat: writes, presses, and sees what is there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from footplate.testing.bots.world import Bubble, Room

if TYPE_CHECKING:
    from footplate.testing.bots.server import ScriptedBots


class Person:
    """One account in one chat; its private chat with the bot unless another is named."""

    def __init__(self, bots: ScriptedBots, user: int, chat: int | None = None) -> None:
        self._bots = bots
        self.user = user
        self.chat = user if chat is None else chat

    @property
    def room(self) -> Room:
        """The chat as it is now."""
        return self._bots.world.room(self.chat)

    @property
    def bubbles(self) -> list[Bubble]:
        """Every message that stands there, in order."""
        return [self.room.bubbles[number] for number in sorted(self.room.bubbles)]

    @property
    def answers(self) -> list[Bubble]:
        """The messages of the bot that stand there, in order."""
        return [bubble for bubble in self.bubbles if bubble.sender == self._bots.world.bot]

    @property
    def texts(self) -> list[str]:
        """The texts of the bot's messages, in order."""
        return [bubble.text for bubble in self.answers]

    def sees(self, words: str) -> bool:
        """Whether a message of the bot holds these words."""
        return any(words in text for text in self.texts)

    def find(self, words: str) -> Bubble:
        """The last message of the bot that holds these words."""
        return next(bubble for bubble in reversed(self.answers) if words in bubble.text)

    async def write(
        self, text: str = "", *, reply_to: Bubble | int | None = None, topic: int | None = None, **raw: object
    ) -> Bubble:
        """Write a message; `raw` is what it carries beside the text."""
        number = reply_to.id if isinstance(reply_to, Bubble) else reply_to
        return await self._put(text, number, topic, raw)

    async def _put(self, text: str, reply_to: int | None, topic: int | None, raw: dict[str, object]) -> Bubble:
        if text.startswith("/"):
            length = len(text.split(maxsplit=1)[0])
            raw = {"entities": [{"type": "bot_command", "offset": 0, "length": length}], **raw}
        room = self.room
        bubble = Bubble(
            id=self._bots.world.new_id(room),
            chat=self.chat,
            sender=self.user,
            text=text,
            reply_to=reply_to,
            topic=topic,
            raw=raw,
        )
        self._bots.world.add(bubble)
        await self._bots.updates.push("message", self._bots.world.message(bubble))
        return bubble

    async def send(self, **raw: object) -> Bubble:
        """A message that is more than text: a file, a picture, a recording; as the Bot API tells it."""
        return await self._put("", None, None, raw)

    async def press(self, label: str, *, on: Bubble | None = None, data: str = "") -> str:
        """Press the button that says so, on that message or on the last that has it; the id of the press."""
        bubble = on or next(each for each in reversed(self.answers) if label in each.labels)
        found = [button["callback_data"] for row in bubble.buttons for button in row if button["text"] == label]
        return await self._bots.push_press(self.user, bubble, data or found[0])

    def toast(self, press: str) -> str | None:
        """What a press was answered with; None while it spins."""
        return self._bots.toasts.get(press)
