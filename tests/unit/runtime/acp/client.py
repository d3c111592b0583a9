"""A client of `AcpAgent` for tests: sends requests, plays the person, judges every message by the published schema."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from footplate.config.acp import AcpAgentSettings
from footplate.config.settings import Settings
from footplate.runtime.acp.agent import AcpAgent
from footplate.runtime.acp.client import Manner, Send
from footplate.runtime.acp.connection import Backend
from footplate.runtime.acp.guests import EDITOR
from footplate.runtime.hub import Hub
from footplate.runtime.services import Services
from tests.acp_schema import V1, Judge
from tests.e2e import forgetful_agent

PATIENCE_S = 30.0
Json = dict[str, Any]


class RpcFailed(Exception):
    """The agent answered with an error."""

    def __init__(self, error: Json) -> None:
        super().__init__(error["message"])
        self.code: int = error["code"]
        self.data = error.get("data")


class AcpClient:
    """One connection. `heard` holds every message in the order in which it came; while `reads` is clear none comes."""

    def __init__(self, make: Callable[[Send], Backend], judge: Judge = V1) -> None:
        self._judge = judge
        self.heard: list[Json] = []
        self.agent = make(self._take)
        self._methods: dict[int, str] = {}
        self._ids = 0
        self._news = asyncio.Event()
        self.reads = asyncio.Event()
        self.reads.set()

    async def _take(self, frames: Sequence[bytes]) -> None:
        await self.reads.wait()
        for frame in frames:
            message = json.loads(frame)
            assert frame.endswith(b"\n")
            if "method" in message:
                self._judge.check_sent(message["method"], message.get("params"))
            elif "result" in message:
                self._judge.check_answer(self._methods[message["id"]], message["result"])
            self.heard.append(message)
        self._news.set()

    # ------------------------------------------------------------------------------------------- sending

    async def post(self, method: str, params: Json) -> int:
        """Send a request; its id."""
        self._ids += 1
        self._methods[self._ids] = method
        await self._send({"id": self._ids, "method": method, "params": params})
        return self._ids

    async def notify(self, method: str, params: Json) -> None:
        """Send a notification."""
        await self._send({"method": method, "params": params})

    async def reply(self, asked: Json, result: Json) -> None:
        """Answer a request of the agent."""
        await self._send({"id": asked["id"], "result": result})

    async def fail(self, asked: Json, code: int) -> None:
        """Answer a request of the agent with an error."""
        await self._send({"id": asked["id"], "error": {"code": code, "message": "no"}})

    async def _send(self, message: Json) -> None:
        await self.agent.receive(json.dumps({"jsonrpc": "2.0", **message}).encode(), EDITOR)

    async def call(self, method: str, **params: object) -> Json:
        """Send a request and wait for its result. Raises `RpcFailed`."""
        return await self.answer(await self.post(method, params))

    async def answer(self, rpc_id: int) -> Json:
        """The result of a request. Raises `RpcFailed`."""
        message = await self.hear(lambda each: "method" not in each and each["id"] == rpc_id)
        if "error" in message:
            raise RpcFailed(message["error"])
        return message["result"]  # type: ignore[no-any-return]

    # ------------------------------------------------------------------------------------------- hearing

    async def hear(self, wanted: Callable[[Json], bool]) -> Json:
        """The first message that is wanted, come or yet to come."""
        try:
            async with asyncio.timeout(PATIENCE_S):
                while True:
                    for message in self.heard:
                        if wanted(message):
                            return message
                    self._news.clear()
                    await self._news.wait()
        except TimeoutError:
            shown = "\n".join(json.dumps(each)[:200] for each in self.heard[-12:])
            raise AssertionError(f"not heard within {PATIENCE_S:g} s; the last messages:\n{shown}") from None

    async def asked(self, method: str = "session/request_permission", nth: int = 0) -> Json:
        """The agent's request of that method, the nth of them."""
        await self.hear(lambda _: len(self._all(method)) > nth)
        return self._all(method)[nth]

    def _all(self, method: str) -> list[Json]:
        return [each for each in self.heard if each.get("method") == method]

    def updates(self, session: str = "", kind: str = "") -> list[Json]:
        """The updates so far, of a session and a kind where they are named."""
        found = [each["params"] for each in self._all("session/update")]
        return [
            each["update"]
            for each in found
            if session in ("", each["sessionId"]) and kind in ("", each["update"]["sessionUpdate"])
        ]

    def text(self, session: str = "") -> str:
        """What the agent said."""
        return "".join(each["content"]["text"] for each in self.updates(session, "agent_message_chunk"))

    # ------------------------------------------------------------------------------------------- sessions

    async def start(self, **capabilities: object) -> Json:
        """Begin the connection."""
        return await self.call("initialize", protocolVersion=1, clientCapabilities=capabilities)

    async def open(self, cwd: Path) -> str:
        """A new session."""
        return str((await self.call("session/new", cwd=str(cwd), mcpServers=[]))["sessionId"])

    async def prompt(self, session: str, text: str) -> int:
        """Send a prompt; the id of the request."""
        return await self.post("session/prompt", {"sessionId": session, "prompt": [{"type": "text", "text": text}]})

    async def say(self, session: str, text: str) -> str:
        """A whole turn; its stop reason."""
        return str((await self.answer(await self.prompt(session, text)))["stopReason"])


def with_forgetful(services: Services) -> Services:
    """The same with an agent that can neither load nor resume."""
    settings = Settings(acp_agents={"forgetful": AcpAgentSettings(command=(*forgetful_agent.COMMAND, "low", "high"))})
    return Services(services.store, services.keeper, settings=settings, environ=services.environ, data=services.data)


@asynccontextmanager
async def connected(
    hub: Hub,
    services: Services,
    engine: str = "mock",
    manner: Manner | None = None,
    can: Mapping[str, object] | None = None,
) -> AsyncIterator[AcpClient]:
    """A client that has said hello, and is gone at the end."""
    client = AcpClient(lambda send: AcpAgent(hub, services, engine, send, manner))
    await client.start(**(can or {}))
    try:
        yield client
    finally:
        await client.agent.close()
