"""Outgoing hooks on real parts: a listening socket, a real shell, the mock agent."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest

from footplate.config.live import LiveSettings
from footplate.config.notify import Hook
from footplate.config.rules import Rule
from footplate.config.settings import Settings
from footplate.events.ids import SessionId
from footplate.events.requests import Choose
from footplate.runtime.hub import Hub
from footplate.runtime.notify import Notice, Notifier, build_request, command_variables, with_variables
from footplate.runtime.services import Services
from footplate.runtime.shell import run_shell
from footplate.runtime.spec import SessionSpec
from tests.unit.runtime.following import until_asked, until_ended

NOTICE = Notice(event="needs_you", session=SessionId("s1"), time=1.0, title="fix the tests", text="run `rm -rf x`?")


class Listener:
    """A small HTTP server that keeps what it was sent."""

    def __init__(self) -> None:
        self.port = 0
        self.got: asyncio.Queue[tuple[bytes, bytes]] = asyncio.Queue()
        self.refusals = 0

    @asynccontextmanager
    async def listen(self) -> AsyncIterator[str]:
        server = await asyncio.start_server(self._take, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        async with server:
            yield f"http://127.0.0.1:{self.port}/hook"

    async def _take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:] if line)
        length = int(fields[b"content-length"])
        body = await reader.readexactly(length)
        if self.refusals:
            self.refusals -= 1
            writer.write(b"HTTP/1.1 500 no\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        else:
            writer.write(b"HTTP/1.1 200 ok\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
            self.got.put_nowait((head, body))
        await writer.drain()
        writer.close()
        await writer.wait_closed()

    async def next(self) -> tuple[bytes, bytes]:
        async with asyncio.timeout(30):
            return await self.got.get()


@asynccontextmanager
async def _notifier(services: Services, *hooks: Hook) -> AsyncIterator[None]:
    services._live = LiveSettings(Settings(notify=hooks), services.environ)
    async with Notifier.open(services):
        yield


async def test_a_webhook_is_told_when_a_session_waits_and_when_it_has_finished(
    services: Services, hub: Hub, tmp_path: Path
) -> None:
    listener = Listener()
    async with listener.listen() as url, _notifier(services, Hook(kind="webhook", target=url, headers={"x-k": "v"})):
        session = await hub.create(SessionSpec(engine="mock", cwd=str(tmp_path)), title="fix")
        await session.prompt("permission")
        request = await until_asked(session)
        head, body = await listener.next()
        assert b"x-k: v" in head.lower()
        told = json.loads(body)
        assert (told["event"], told["session"], told["title"]) == ("needs_you", session.id, "fix")
        assert told["text"]
        await session.answer(request, Choose(option="allow"), by="me", surface="test")
        await until_ended(session)
        told = json.loads((await listener.next())[1])
        assert (told["event"], told["text"].endswith("permission: allow")) == ("finished", True)


@pytest.mark.parametrize("rules", [(Rule(tool="*", decision="allow"),)])
async def test_what_a_rule_answers_is_told_to_nobody(services: Services, hub: Hub, tmp_path: Path) -> None:
    listener = Listener()
    async with listener.listen() as url, _notifier(services, Hook(kind="webhook", target=url)):
        session = await hub.create(SessionSpec(engine="mock", cwd=str(tmp_path)))
        await session.prompt("permission")
        await until_ended(session)
        told = json.loads((await listener.next())[1])
        assert told["event"] == "finished"


async def test_a_failure_is_told_and_a_short_turn_is_not_when_only_long_ones_count(
    services: Services, hub: Hub, tmp_path: Path
) -> None:
    listener = Listener()
    long_only = Hook(kind="webhook", target="http://127.0.0.1:1/never", at_least_s=3600)
    async with (
        listener.listen() as url,
        _notifier(services, long_only, Hook(kind="webhook", target=url, on=("failed",))),
    ):
        session = await hub.create(SessionSpec(engine="mock", cwd=str(tmp_path)))
        await session.prompt("hello")
        await until_ended(session)
        await session.prompt("error")
        told = json.loads((await listener.next())[1])
        assert told["event"] == "failed"
        assert told["text"]
    assert listener.got.empty()


async def test_a_command_finds_what_happened_in_its_variables(services: Services, tmp_path: Path) -> None:
    odd = msgspec.structs.replace(NOTICE, title="it's `odd`; $(touch /tmp/never)\n")
    line = with_variables('printf "%s|%s|%s" "$FOOTPLATE_EVENT" "$FOOTPLATE_SESSION" "$FOOTPLATE_TITLE"', odd)
    ran = await run_shell(services.keeper, line, cwd=str(tmp_path), environ={"PATH": "/usr/bin:/bin"})
    assert ran.output.rstrip("\n") == "needs_you|s1|it's `odd`; $(touch /tmp/never)"


def test_what_a_notification_says_has_no_hidden_characters() -> None:
    odd = msgspec.structs.replace(NOTICE, title="a\u202eb\nc", text="run \u202ex\u200b")
    variables = command_variables(odd)
    assert (variables["FOOTPLATE_TITLE"], variables["FOOTPLATE_TEXT"]) == ("a⟨U+202E⟩b c", "run ⟨U+202E⟩x⟨U+200B⟩")
    assert odd.headline == "a⟨U+202E⟩b c needs you"
    request = build_request(Hook(kind="ntfy", target="https://ntfy.example/topic"), odd)
    assert request.get_header("Title") == "a?U+202E?b c needs you"
    assert request.data == "run ⟨U+202E⟩x⟨U+200B⟩".encode()


def test_ntfy_gets_words_a_title_and_how_urgent_it_is() -> None:
    notice = msgspec.structs.replace(NOTICE, link="http://box/ui/#session=s1")
    request = build_request(
        Hook(kind="ntfy", target="https://ntfy.example/topic", headers={"Authorization": "t"}), notice
    )
    assert request.data == b"run `rm -rf x`?"
    headers = {name.lower(): value for name, value in request.header_items()}
    assert headers["title"] == "fix the tests needs you"
    assert headers["priority"] == "high"
    assert headers["click"] == "http://box/ui/#session=s1"
    assert headers["authorization"] == "t"
