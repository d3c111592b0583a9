"""What the bridge remembers in the store: prompts on their way, chats, where sessions are at home, dialogues."""

from __future__ import annotations

from typing import Generic, TypeVar

import msgspec

from footplate.chat.model import Id, Message, Place
from footplate.chat.reading.asking import Dialogue
from footplate.chat.reading.gate import Trigger
from footplate.chat.reading.routing import Context
from footplate.events.ids import PromptId, RequestId, SessionId
from footplate.store.base import Documents, Store

T = TypeVar("T")


class Job(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A prompt from a chat until its answer stands there."""

    prompt: PromptId
    session: SessionId
    place: Place
    """Of the answer: behind the person's message."""
    engine: str
    context: Context = Context()
    after: int = 0
    """The number of the session's last event before it."""
    at: float = 0.0
    resumed: bool = False
    """It named the session by a resume line, which may lead nowhere."""
    unattended: bool = False
    """Nobody is there: what the agent asks is denied, and told."""


class Prefs(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What was chosen for a chat or a topic; what is empty falls back to the wider place."""

    engine: str = ""
    models: dict[str, str] = {}
    efforts: dict[str, str] = {}
    mode: str = ""
    trigger: Trigger | None = None
    context: Context | None = None
    sessions: dict[str, SessionId] = {}
    """The session that the next message goes on with, by engine (and in groups by sender)."""


class About(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What one of our messages is about."""

    session: SessionId | None = None
    prompt: PromptId | None = None
    request: RequestId | None = None
    command: str = ""
    """The slot of a message that a command of a package wrote."""

    def encode(self) -> str:
        """As the outbox keeps it."""
        return msgspec.json.encode(self).decode()


class Delayed(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A prompt for later."""

    at: float
    text: str
    chat: Id
    sender: Id
    name: str
    message: Id
    topic: Id | None = None


class Drawer(Generic[T]):
    """Values of one kind under keys."""

    def __init__(self, documents: Documents, kind: type[T]) -> None:
        self._documents = documents
        self._kind = kind

    async def get(self, key: str) -> T | None:
        """The value, if there is one."""
        found = await self._documents.get(key)
        return msgspec.json.decode(found.body, type=self._kind) if found is not None else None

    async def put(self, key: str, value: T, *, durable: bool = True) -> None:
        """Keep it."""
        await self._documents.put(key, msgspec.json.encode(value), durable=durable)

    async def drop(self, key: str) -> None:
        """Forget it."""
        await self._documents.delete(key, durable=False)

    async def all(self) -> dict[str, T]:
        """Every value."""
        found: dict[str, T] = {}
        after: str | None = None
        while True:
            page = await self._documents.list(after=after)
            found |= {each.key: msgspec.json.decode(each.body, type=self._kind) for each in page.items}
            after = page.after
            if after is None:
                return found


class Jobs(Drawer[Job]):
    """The pending prompts, also in memory: a new follower of a session needs all of its prompts at once."""

    def __init__(self, documents: Documents) -> None:
        super().__init__(documents, Job)
        self._known: dict[str, Job] = {}

    async def load(self) -> None:
        """Read them from the store. Must run before any other method."""
        self._known = await self.all()

    @property
    def known(self) -> tuple[Job, ...]:
        """All of them."""
        return tuple(self._known.values())

    def of(self, session: SessionId) -> tuple[Job, ...]:
        """Those of a session."""
        return tuple(job for job in self._known.values() if job.session == session)

    async def get(self, key: str) -> Job | None:
        """The prompt while it is on its way. Not read from the store: it may be over before such an answer comes."""
        return self._known.get(key)

    async def put(self, key: str, value: Job, *, durable: bool = True) -> None:
        """Keep it."""
        await super().put(key, value, durable=durable)
        self._known[key] = value

    async def drop(self, key: str) -> None:
        """It is over."""
        self._known.pop(key, None)
        await super().drop(key)


class Records:
    """All that one account remembers beside its inbox and outbox."""

    def __init__(self, store: Store, account: str) -> None:
        def drawer(name: str, kind: type[T]) -> Drawer[T]:
            return Drawer(store.documents(f"{account}/{name}"), kind)

        self.jobs = Jobs(store.documents(f"{account}/jobs"))
        self.prefs = drawer("prefs", Prefs)
        self.homes = drawer("homes", Place)
        self.dialogues = drawer("dialogues", Dialogue)
        self.delayed = drawer("delayed", Delayed)
        self.albums: Drawer[tuple[Message, ...]] = Drawer(store.documents(f"{account}/albums"), tuple[Message, ...])


def prefs_key(chat: Id, topic: Id | None = None) -> str:
    """The key of what was chosen for a chat, or for a topic of it."""
    return f"{chat}" if topic is None else f"{chat}/{topic}"
