"""A transport: what one chat service can do, and the calls that the bridge makes of it.

The bridge keeps, orders, draws and decides; a transport carries. It never tries a call twice and keeps nothing that a
restart would miss: what comes in is handed over with a rising number and confirmed by the next `receive`, what goes
out is asked for again by the bridge until it is known to stand there. Whatever cannot be done is one of the errors of
`footplate.errors`:

    BotUnreachable(certain=True)    surely nothing was done: it is tried again, later and later
    BotUnreachable(certain=False)   nobody knows: the bridge asks `find` before it sends again
    RetryAfter                      too many messages in that chat: tried again then
    BotRefused                      no, in the service's own words: sent in a plainer form, then given up
    BotForbidden                    the bot may not write there: given up until somebody writes there again
    MessageMissing                  the message to change is gone: it stays away
    MessageNotModified              it has that content already: what was wanted holds
    ChatMigrated                    the chat has another id now: everything of it moves there
    BotTokenWrong, PollConflict     of `receive`: the first ends the bridge, the second is waited out
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import msgspec

from footplate.chat.model import Command, Content, Id, Place, Update, User
from footplate.chat.outbox.buckets import Pace
from footplate.errors import BotRefused

API_VERSION = 1
"""Of this protocol. It rises when a transport that was written for an earlier one would break."""


class Capabilities(msgspec.Struct, frozen=True, kw_only=True):
    """What a service can do. The bridge does the rest in words; it calls nothing that is not offered here."""

    text_limit: int = 4000
    """The longest message, in UTF-16 units; longer answers come in parts."""
    edits: bool = False
    """A message can be changed. Without: what changes is said anew, and progress is told step by step."""
    deletes: bool = False
    """A message can be taken away. Without: it stays."""
    buttons: bool = False
    """A message has buttons. Without: each has a mark (`#7a`) under the message, and typing it is a press."""
    replies: bool = False
    """A message can reply to another. Without: `#7 words` replies to the message that has the mark `#7`."""
    topics: bool = False
    """Chats have topics that the bot can make and name."""
    drafts: bool = False
    """Text can be shown in private chats as it is written."""
    files: bool = False
    """Files can be sent and fetched. Without: a long plan comes as text, and `/file` and `/export` are refused."""
    numbers_anew_s: float | None = None
    """After so much silence the service begins the numbers of its updates anew; default: never."""


class Lost(msgspec.Struct, frozen=True, kw_only=True):
    """A message of which nobody knows whether it was delivered."""

    key: str
    """The same that `send` was given."""
    place: Place
    content: Content
    mark: int
    """What `mark` said before it was sent."""
    is_file: bool = False


class Transport(ABC):
    """One account at one chat service. Derive from this class: what is not offered need not be written."""

    name: str
    """Of the surface, as people are told: "answered by ann on NAME"; what is kept is kept under it."""
    me: User
    """The bot's own account."""
    capabilities: Capabilities
    pace: Pace
    """How fast the service may be written to."""

    # ---------------------------------------------------------------------------------------------- in

    @abstractmethod
    async def receive(self, after: int) -> list[Update]:
        """Wait for what happened after the update of that number; 0: nothing was ever taken in.

        The call says that everything up to `after` is on disk here: the service may forget it. Numbers rise; what has
        none at the service is counted on from `after`. It may come back empty-handed after a while.
        """

    def saw(self, chat: Id, message: Id) -> None:  # noqa: B027 - whoever needs no ids need not listen
        """A message of that id is there, ours or another's: told for each that becomes known, also after a restart."""

    # --------------------------------------------------------------------------------------------- out

    @abstractmethod
    def is_private(self, chat: Id) -> bool:
        """Whether the chat is with one person."""

    def mark(self, chat: Id) -> int:
        """A number to keep before a message is sent there, handed back to `find`."""
        return 0

    @abstractmethod
    async def send(self, place: Place, content: Content, *, key: str) -> Id:
        """Write a message; its id. `key` names it, so that a service that knows such keys can tell a repetition."""

    @abstractmethod
    async def find(self, lost: Lost) -> Id | None:
        """The id of a message that may have been delivered; None when it was not, and should be sent again."""

    async def edit(self, chat: Id, message: Id, content: Content, *, is_file: bool = False) -> None:
        """Put other content in its place; of a file: under it."""
        raise self.not_offered("edits")

    async def delete(self, chat: Id, message: Id) -> None:
        """Take a message away."""
        raise self.not_offered("deletes")

    async def send_file(self, place: Place, name: str, body: bytes, *, caption: str, key: str) -> Id:
        """Send a file; the id of its message."""
        raise self.not_offered("files")

    async def draft(self, place: Place, draft: int, text: str) -> None:
        """Show a text as it is being written."""
        raise self.not_offered("drafts")

    async def answer_press(self, press: str, text: str) -> None:
        """Tell the person who pressed a button what came of it."""
        raise self.not_offered("buttons")

    # ------------------------------------------------------------------------------------------- others

    async def fetch(self, file: str, *, limit: int) -> bytes:
        """The bytes of a file that came with a message; more than the limit is `BotUnreachable`."""
        raise self.not_offered("files")

    async def show_menu(self, commands: Sequence[Command]) -> None:  # noqa: B027 - nothing is right without menus
        """Offer these commands to whoever begins a line with a slash. A service without menus does nothing."""

    async def is_admin(self, chat: Id, person: Id) -> bool:
        """Whether somebody looks after a group."""
        return False

    async def make_topic(self, chat: Id, name: str) -> Id:
        """Make a topic; its id."""
        raise self.not_offered("topics")

    async def rename_topic(self, chat: Id, topic: Id, name: str) -> None:
        """Give a topic another name."""
        raise self.not_offered("topics")

    def not_offered(self, what: str) -> BotRefused:
        """The error of a call that the capabilities do not offer."""
        return BotRefused(what, f"{self.name} does not offer {what}")
