"""People on TCP connections as a transport: no edits, no buttons, no replies; the bridge does these in words.

The server keeps nothing: what was said is confirmed when the bridge has it on disk, and a message counts as delivered
when the person's program has confirmed it. A connection that breaks in between is found out at the next HELLO, which
tells the last number that came through.
"""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Final

import msgspec

from footplate.chat.model import Chat, Content, Id, Message, Place, Update, User
from footplate.chat.outbox.buckets import Pace
from footplate.chat.transport import Capabilities, Lost, Transport
from footplate.config.settings import read_section
from footplate.errors import BotUnreachable, ConfigError
from footplate_line.wire import read, write

CONFIRM_S: Final = 5.0
WAIT_S: Final = 30.0
MOST_WAITING: Final = 1000
"""So much may be said before the bridge takes it in; then the connection waits."""


class Options(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[transports.line.options]`."""

    people: dict[str, str]
    """Passwords by name."""
    host: str = "127.0.0.1"
    port: int = 7070


class Caller:
    """A person who is connected."""

    def __init__(self, name: str, writer: asyncio.StreamWriter, last: int) -> None:
        self.name = name
        self.got = last
        self.writer = writer
        self.news = asyncio.Condition()
        self.gone = False

    async def confirm(self, number: int, *, gone: bool = False) -> None:
        """A message came through, or the connection is over."""
        async with self.news:
            self.got, self.gone = max(self.got, number), self.gone or gone
            self.news.notify_all()

    async def has(self, number: int) -> bool:
        """Wait until the message is confirmed; False when the connection is over before."""
        async with self.news:
            await self.news.wait_for(lambda: self.got >= number or self.gone)
        return self.got >= number


class LineTransport(Transport):
    """One listening port."""

    def __init__(self, name: str, options: Options) -> None:
        self.name = name
        self.me = User(id="footplate", username="footplate", is_bot=True)
        self.capabilities = Capabilities(text_limit=3000)
        self.pace = Pace(private_per_s=20, private_burst=20, settle_s=0.1, retry_s=0.1, longest_retry_s=2)
        self._options = options
        self._callers: dict[Id, Caller] = {}
        self._numbers: dict[Id, int] = {}
        self._said: asyncio.Queue[Message] = asyncio.Queue(MOST_WAITING)
        self._handed: list[Update] = []

    # ---------------------------------------------------------------------------------------------- in

    async def receive(self, after: int) -> list[Update]:
        """What was said; with the next call it is known to be kept, and confirmed."""
        for update in self._handed:
            if update.update_id <= after and update.message is not None:
                self._write(update.message.chat.id, write("OK", str(update.message.message_id)))
        left = [update for update in self._handed if update.update_id > after]
        self._handed = left or await self._hear(after)
        return self._handed

    async def _hear(self, after: int) -> list[Update]:
        try:
            async with asyncio.timeout(WAIT_S):
                said = [await self._said.get()]
        except TimeoutError:
            return []
        while not self._said.empty():
            said.append(self._said.get_nowait())
        return [Update(update_id=after + count, message=each) for count, each in enumerate(said, 1)]

    def saw(self, chat: Id, message: Id) -> None:
        """Later messages get higher numbers."""
        if isinstance(message, int):
            self._numbers[chat] = max(self._numbers.get(chat, 0), message)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection."""
        caller: Caller | None = None
        try:
            caller = self._greet(await reader.readline(), writer)
            while caller is not None and (line := await reader.readline()):
                await self._take(caller, line)
        except (OSError, ValueError):  # cut off, or a line that is too long
            pass
        finally:
            if caller is not None:
                await caller.confirm(0, gone=True)
                if self._callers.get(caller.name) is caller:
                    del self._callers[caller.name]
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    def _greet(self, line: bytes, writer: asyncio.StreamWriter) -> Caller | None:
        verb, (name, password), last = read(line, 2)
        known = self._options.people.get(name, "")
        if verb != "HELLO" or not known or not hmac.compare_digest(known.encode(), password.encode()):
            writer.write(write("NO", text="HELLO name password, with a name and a password that are known here"))
            return None
        caller = Caller(name, writer, int(last) if last.isdecimal() else 0)
        self.saw(name, caller.got)
        before = self._callers.get(name)
        if before is not None:
            before.writer.close()
        self._callers[name] = caller
        writer.write(write("WELCOME", name))
        return caller

    async def _take(self, caller: Caller, line: bytes) -> None:
        verb, (word,), text = read(line, 1)
        if verb == "GOT" and word.isdecimal():
            await caller.confirm(int(word))
        elif verb == "SAY" and word:
            person = User(id=caller.name, username=caller.name)
            await self._said.put(Message(message_id=word, chat=Chat(id=caller.name), sender=person, text=text))
        else:
            caller.writer.write(write("NO", text=f"{verb or 'an empty line'} is not known: SAY id text, GOT number"))

    # --------------------------------------------------------------------------------------------- out

    def is_private(self, chat: Id) -> bool:
        """Every chat is with one person."""
        return True

    def mark(self, chat: Id) -> int:
        """The highest number so far: the next message gets the next one."""
        return self._numbers.get(chat, 0)

    async def send(self, place: Place, content: Content, *, key: str) -> Id:
        """Write a message, and wait until it is confirmed."""
        caller = self._callers.get(place.chat)
        if caller is None:
            raise BotUnreachable("send", f"{place.chat} is not connected", certain=True)
        number = self.mark(place.chat) + 1
        self.saw(place.chat, number)
        self._write(place.chat, write("MSG", str(number), text=content.text))
        with suppress(TimeoutError):
            async with asyncio.timeout(CONFIRM_S):
                if await caller.has(number):
                    return number
        raise BotUnreachable("send", f"{place.chat} did not confirm message {number}", certain=False)

    async def find(self, lost: Lost) -> Id | None:
        """Whether the person's program tells that it has the message."""
        caller = self._callers.get(lost.place.chat)
        if caller is None:
            raise BotUnreachable("find", f"{lost.place.chat} is not connected", certain=False)
        return lost.mark + 1 if caller.got > lost.mark else None

    def _write(self, chat: Id, line: bytes) -> None:
        caller = self._callers.get(chat)
        if caller is not None and not caller.writer.is_closing():
            caller.writer.write(line)

    def hang_up(self) -> None:
        """End every connection."""
        for caller in self._callers.values():
            caller.writer.close()


@asynccontextmanager
async def open_line(name: str, options: Mapping[str, object]) -> AsyncIterator[LineTransport]:
    """Listen for as long as the block lasts. This is what the entry point names."""
    read_options = read_section(Options, options, where=f"[transports.{name}.options]")
    transport = LineTransport(name, read_options)
    try:
        server = await asyncio.start_server(transport.serve, read_options.host, read_options.port)
    except OSError as problem:
        where = f"{read_options.host}:{read_options.port}"
        words = f"cannot listen on {where}: {problem}"
        raise ConfigError(f"[transports.{name}.options]", words, "choose another port") from problem
    try:
        yield transport
    finally:
        server.close()
        transport.hang_up()
        await server.wait_closed()
