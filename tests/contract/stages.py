"""The transports under the contract: Telegram on the scripted Bot API, and the example of lines over TCP."""

from __future__ import annotations

import asyncio
import random
import re
import sys
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

from footplate.chat.bridge import Bridge
from footplate.chat.plugins import PluginKind
from footplate.config.chat import TransportSettings
from footplate.config.settings import RuntimeSettings, Settings
from footplate.interfaces.telegram.opening import open_bridge
from footplate.runtime.service import Service, open_service
from footplate.testing.bots import Person, ScriptedBots
from tests.chat.bench import FAST, FREE, Bench

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "footplate-line" / "src"
if str(EXAMPLE) not in sys.path:
    sys.path.append(str(EXAMPLE))

from footplate_line.client import LineClient  # noqa: E402
from footplate_line.transport import open_line  # noqa: E402

PASSWORDS = {"ada": "lovelace", "eve": "drops"}


class TelegramVisitor:
    """A person on Telegram."""

    def __init__(self, person: Person) -> None:
        self._person = person

    @property
    def texts(self) -> list[str]:
        return self._person.texts

    async def write(self, text: str) -> None:
        await self._person.write(text)

    async def reply(self, words: str, text: str) -> None:
        await self._person.write(text, reply_to=self._person.find(words))

    async def press(self, label: str) -> None:
        await self._person.press(label)


class TelegramStage:
    """Telegram, played by the scripted Bot API."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._settings = bench.settings()
        self.person = TelegramVisitor(bench.me)
        self.stranger = TelegramVisitor(bench.bots.person(666))

    def service(self) -> AbstractAsyncContextManager[Service]:
        return open_service(self._bench.environ, self._settings)

    def bridge(self, service: Service) -> AbstractAsyncContextManager[Bridge]:
        return open_bridge(service, self._settings, pace=FAST, poll_s=1)

    def lose(self, words: str) -> None:
        self._bench.bots.fail(method="sendMessage", text=words, drop="after")


class ForgetfulClient(LineClient):
    """A person's program whose connection can break just before it confirms a message."""

    lose = ""

    async def take_message(self, number: int, text: str, writer: asyncio.StreamWriter) -> None:
        if self.lose and self.lose in text:
            self.lose = ""
            self.last = number
            self.seen.append(text)
            raise ConnectionResetError("cut off before GOT")
        await super().take_message(number, text, writer)


class LineVisitor:
    """A person on a TCP connection: a button is the mark that stands before its name."""

    def __init__(self, client: ForgetfulClient) -> None:
        self.client = client

    @property
    def texts(self) -> list[str]:
        return list(self.client.seen)

    async def write(self, text: str) -> None:
        await self.client.say(text)

    async def reply(self, words: str, text: str) -> None:
        found = next(seen for seen in reversed(self.client.seen) if words in seen)
        await self.client.say(f"{found.split()[0]} {text}")

    async def press(self, label: str) -> None:
        marks = [
            mark for seen in self.client.seen for mark in re.findall(rf"^(#\d+[a-z]) {label}$", seen, re.MULTILINE)
        ]
        await self.client.say(marks[-1])


class LineStage:
    """The example package."""

    def __init__(self, folder: Path, port: int, person: LineVisitor, stranger: LineVisitor) -> None:
        self.person = person
        self.stranger = stranger
        self._environ = {
            "HOME": str(folder / "home"),
            "PATH": "/usr/bin:/bin",
            "FOOTPLATE_DATA_DIR": str(folder / "data"),
            "FOOTPLATE_MOCK_PACE_MS": "0",
        }
        options = {"people": PASSWORDS, "port": port}
        section = TransportSettings(
            allowed_user_ids=("ada",), chat_id="ada", banner=False, cwd=str(folder), tick_s=0.3, options=options
        )
        runtime = RuntimeSettings(reattach_grace_s=0)
        self._settings = Settings(default_engine="mock", runtime=runtime, transports={"line": section})

    def service(self) -> AbstractAsyncContextManager[Service]:
        return open_service(self._environ, self._settings)

    def bridge(self, service: Service) -> AbstractAsyncContextManager[Bridge]:
        return PluginKind("line", open_line).open(service, self._settings)

    def lose(self, words: str) -> None:
        self.person.client.lose = words


@asynccontextmanager
async def telegram_stage(folder: Path) -> AsyncIterator[TelegramStage]:
    async with ScriptedBots(rates=FREE) as bots:
        yield TelegramStage(Bench(bots, folder))


@asynccontextmanager
async def line_stage(folder: Path) -> AsyncIterator[LineStage]:
    port = await free_port()
    ada, eve = (ForgetfulClient("127.0.0.1", port, name, word) for name, word in PASSWORDS.items())
    async with ada.connected(), eve.connected():
        yield LineStage(folder, port, LineVisitor(ada), LineVisitor(eve))


async def free_port() -> int:
    """A port that nobody listens on just now, and that no connection out of this machine is given meanwhile."""
    for port in random.sample(range(20_000, 32_000), 100):
        try:
            server = await asyncio.start_server(lambda _reader, _writer: None, "127.0.0.1", port)
        except OSError:
            continue
        server.close()
        await server.wait_closed()
        return port
    raise AssertionError("no free port below those of outgoing connections")
