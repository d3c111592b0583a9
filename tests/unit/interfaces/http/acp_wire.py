"""Talking ACP over HTTP in a test: envelopes by POST, what the agent sends by its stream."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import httpx

from footplate.config.acp import AcpAgentSettings
from footplate.config.settings import Settings
from tests.unit.interfaces.http.reading import Json, Stream, Told

ODD = Path(__file__).with_name("odd_agent.py")


def odd(*arguments: str) -> Settings:
    """Settings with the misbehaving command as the agent `odd`."""
    command = (sys.executable, str(ODD), *arguments)
    return Settings(acp_agents={"odd": AcpAgentSettings(command=command)})


class Wire:
    """One client of one connection at a path; ids count from 1."""

    def __init__(self, client: httpx.AsyncClient, path: str, **headers: str) -> None:
        self.client = client
        self.path = path
        self.headers = headers
        self._ids = 0

    async def post(self, message: Json, status: int = 200, **headers: str) -> httpx.Response:
        """Send a message; its answer must have that status."""
        answer = await self.client.post(
            self.path, json={"jsonrpc": "2.0", **message}, headers={**self.headers, **headers}
        )
        assert answer.status_code == status, answer.text
        return answer

    async def call(self, method: str, params: Json | None = None) -> Any:
        """Send a request; the result."""
        self._ids += 1
        message = {"id": self._ids, "method": method, "params": params or {}}
        answer = (await self.post(message)).json()
        assert answer["id"] == self._ids
        assert "error" not in answer, answer
        return answer["result"]

    async def begin(self) -> Any:
        """Say hello."""
        return await self.call("initialize", {"protocolVersion": 1, "clientCapabilities": {}})

    async def open(self, cwd: Path) -> str:
        """A new session."""
        return str((await self.call("session/new", {"cwd": str(cwd), "mcpServers": []}))["sessionId"])

    async def say(self, session: str, text: str) -> str:
        """A whole turn; its stop reason."""
        return str((await self.call("session/prompt", prompt(session, text)))["stopReason"])


def prompt(session: str, text: str) -> Json:
    """The parameters of a prompt."""
    return {"sessionId": session, "prompt": [{"type": "text", "text": text}]}


def is_answer(rpc_id: object) -> Any:
    """Whether an event is the answer to that request."""
    return lambda told: "method" not in told.data and told.data.get("id") == rpc_id


def is_method(name: str) -> Any:
    """Whether an event is a message of that method."""
    return lambda told: told.data.get("method") == name


def text_of(events: list[Told]) -> str:
    """What the agent said."""
    found = [each.data["params"]["update"] for each in events if each.data.get("method") == "session/update"]
    return "".join(each["content"]["text"] for each in found if each["sessionUpdate"] == "agent_message_chunk")


def number_of(told: Told) -> int:
    """The number of an event; its id also names the run."""
    return int(told.id.partition(".")[0])


async def until(stream: Stream, wanted: Any) -> list[Told]:
    """Everything up to the first event that is wanted, whose numbers leave nothing out."""
    events = await stream.until(wanted)
    numbers = [number_of(each) for each in events]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
    return events
