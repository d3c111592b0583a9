"""Editors on one data folder: the first owns the sessions, others join, and go on when the owner is gone."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from footplate.config.acp import Attach
from footplate.config.settings import Settings
from footplate.errors import FootplateError, LinkLost, LockHeld
from footplate.interfaces.acp import desk as desks
from footplate.interfaces.acp.desk import Reception
from footplate.interfaces.acp.editor import Editor
from footplate.runtime.acp.guests import SOCKET_NAME
from footplate.runtime.private_socket import connect
from footplate.runtime.service import open_service
from footplate.runtime.tenancy import open_doors
from tests.acp_schema import check_sent

PATIENCE_S = 20.0
Json = dict[str, Any]


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """A home and a data folder of the test's own."""
    return {
        "HOME": str(tmp_path),
        "PATH": "/usr/bin:/bin",
        "FOOTPLATE_DATA_DIR": str(tmp_path / "data"),
        "FOOTPLATE_MOCK_PACE_MS": "0",
    }


class Person:
    """The far end of an editor: types messages and reads what comes."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.heard: list[Json] = []
        self._reader = reader
        self._writer = writer
        self._ids = 0

    def post(self, method: str, **params: object) -> int:
        """Send a request; its id."""
        self._ids += 1
        message = {"jsonrpc": "2.0", "id": self._ids, "method": method, "params": params}
        self._writer.write(json.dumps(message).encode() + b"\n")
        return self._ids

    async def call(self, method: str, **params: object) -> Json:
        """Send a request; its answer."""
        rpc_id = self.post(method, **params)
        return await self.hear(lambda each: each.get("id") == rpc_id and "method" not in each)

    async def hear(self, wanted: Callable[[Json], bool]) -> Json:
        """The first message that is wanted, come or yet to come."""
        async with asyncio.timeout(PATIENCE_S):
            seen = 0
            while True:
                for message in self.heard[seen:]:
                    if wanted(message):
                        return message
                seen = len(self.heard)
                line = await self._reader.readline()
                assert line, "the agent is gone"
                self.heard.append(json.loads(line))
                if "method" in self.heard[-1]:
                    check_sent(self.heard[-1]["method"], self.heard[-1]["params"])

    async def begin(self, cwd: Path) -> str:
        """Say hello and open a session."""
        await self.call("initialize", protocolVersion=1, clientCapabilities={})
        return str((await self.call("session/new", cwd=str(cwd), mcpServers=[]))["result"]["sessionId"])

    async def say(self, session: str, text: str) -> Json:
        """A whole turn; the answer to it."""
        return await self.call("session/prompt", sessionId=session, prompt=[{"type": "text", "text": text}])


@asynccontextmanager
async def edited(environ: dict[str, str], attach: Attach = "auto") -> AsyncIterator[Person]:
    """An editor with our agent; at the end it closes its output, and the agent has to leave."""
    near, far = socket.socketpair()
    incoming, outgoing = await asyncio.open_connection(sock=near)
    reader, writer = await asyncio.open_connection(sock=far)
    serving = asyncio.create_task(
        Reception(Editor(incoming, outgoing), "mock", environ, Settings(), attach).serve(), name="reception"
    )
    try:
        yield Person(reader, writer)
        writer.write_eof()
        async with asyncio.timeout(PATIENCE_S):
            await serving
    finally:
        serving.cancel()
        await asyncio.wait((serving,))
        for each in (outgoing, writer):
            each.close()
            await each.wait_closed()


async def test_an_editor_has_sessions_of_its_own_and_leaves_with_its_input(
    environ: dict[str, str], tmp_path: Path
) -> None:
    async with edited(environ) as person:
        session = await person.begin(tmp_path)
        assert (await person.say(session, "hello"))["result"]["stopReason"] == "end_turn"
        assert (tmp_path / "data" / SOCKET_NAME).exists()
        person.post("session/prompt", sessionId=session, prompt=[{"type": "text", "text": "hang"}])
    assert not (tmp_path / "data" / SOCKET_NAME).exists()


async def test_a_second_editor_joins_the_first_and_goes_on_without_it(environ: dict[str, str], tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        async with edited(environ) as first:
            mine = await first.begin(tmp_path)
            second = await stack.enter_async_context(edited(environ))
            theirs = await second.begin(tmp_path)
            assert (await second.say(theirs, "hello"))["result"]["stopReason"] == "end_turn"
            listed = await first.call("session/list")
            assert {each["sessionId"] for each in listed["result"]["sessions"]} == {mine, theirs}
            waits = second.post("session/prompt", sessionId=theirs, prompt=[{"type": "text", "text": "hang"}])
            await second.hear(lambda each: "hang begin" in json.dumps(each))
        lost = await second.hear(lambda each: each.get("id") == waits and "error" in each)
        assert "is gone" in lost["error"]["message"]
        assert (await second.say(theirs, "stream 3"))["result"]["stopReason"] == "end_turn"
        assert "chunk 2" in json.dumps(second.heard)
        assert not any("footplate-again" in json.dumps(each) for each in second.heard)


async def test_a_service_that_is_restarted_is_waited_for_and_asks_again(
    environ: dict[str, str], tmp_path: Path
) -> None:
    async with open_service(environ, Settings()) as service:
        async with open_doors(service, "service"):
            attached = edited(environ, "always")
            person = await attached.__aenter__()
            session = await person.begin(tmp_path)
            waits = person.post("session/prompt", sessionId=session, prompt=[{"type": "text", "text": "permission"}])
            asked = await person.hear(lambda each: each.get("method") == "session/request_permission")
        withdrawn = await person.hear(lambda each: each.get("method") == "$/cancel_request")
        assert withdrawn["params"]["requestId"] == asked["id"]
        await person.hear(lambda each: each.get("id") == waits and "error" in each)
        async with open_doors(service, "service"):
            again = await person.hear(
                lambda each: each.get("method") == "session/request_permission" and each["id"] != asked["id"]
            )
            assert again["params"]["toolCall"]["toolCallId"] == asked["params"]["toolCall"]["toolCallId"]
            assert (await person.call("session/list"))["result"]["sessions"][0]["sessionId"] == session
            await attached.__aexit__(None, None, None)
            assert (await service.hub.get(session)).busy, "the session outlives its editor"  # type: ignore[arg-type]


async def test_a_service_that_does_not_come_back_is_replaced(
    environ: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(desks, "RETURN_S", 0.2)
    attached = edited(environ)
    async with open_service(environ, Settings()) as service, open_doors(service, "service"):
        person = await attached.__aenter__()
        session = await person.begin(tmp_path)
        assert (await person.say(session, "hello"))["result"]["stopReason"] == "end_turn"
    assert (await person.say(session, "hello"))["result"]["stopReason"] == "end_turn"
    await attached.__aexit__(None, None, None)


@pytest.mark.parametrize(("attach", "problem"), [("always", LinkLost), ("never", LockHeld)])
async def test_an_editor_that_may_not_choose_is_told(
    environ: dict[str, str], attach: Attach, problem: type[FootplateError]
) -> None:
    async with open_service(environ, Settings()):
        with pytest.raises(problem):
            async with edited(environ, attach):
                pass


@pytest.mark.parametrize(
    ("hello", "told"),
    [(b'{"engine":"nobody"}\n', "nobody"), (b'{"engine":"mock","version":9}\n', "version 9"), (b"what\n", "malformed")],
)
async def test_a_guest_that_cannot_be_taken_hears_why(
    environ: dict[str, str], tmp_path: Path, hello: bytes, told: str
) -> None:
    async with open_service(environ, Settings()) as service, open_doors(service, "chat"):
        reader, writer = await connect(tmp_path / "data" / SOCKET_NAME)
        writer.write(hello)
        assert told in json.loads(await reader.readline())["error"]
        assert await reader.readline() == b""
        writer.close()
