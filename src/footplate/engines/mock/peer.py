"""The agent's end of the wire: notifications and requests to the client, and the answers that come back."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from msgspec import UNSET, UnsetType

from footplate.acp import jsonrpc
from footplate.acp.schema.updates import SessionNotification, SessionUpdate

Write = Callable[[bytes], Awaitable[None]]


class Refusal(Exception):
    """A request that gets a JSON-RPC error."""

    def __init__(self, code: int, message: str, detail: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.detail = detail


class Peer:
    """Writes whole lines to the client and matches its responses with our requests."""

    def __init__(self, write: Write) -> None:
        self.write = write
        self._waiting: dict[jsonrpc.RpcId, asyncio.Future[jsonrpc.Envelope]] = {}
        self._requests = 0

    async def update(self, session: str, update: SessionUpdate) -> None:
        """Tell the client of a session update."""
        params = SessionNotification(session_id=session, update=update)
        await self.write(jsonrpc.encode_notification("session/update", params))

    async def request(self, method: str, params: object) -> asyncio.Future[jsonrpc.Envelope]:
        """Ask the client; the future holds its response."""
        self._requests += 1
        rpc_id = self._requests
        answer = self._waiting[rpc_id] = asyncio.get_running_loop().create_future()
        answer.add_done_callback(lambda _done: self._waiting.pop(rpc_id, None))
        await self.write(jsonrpc.encode_request(rpc_id, method, params))
        return answer

    def settle(self, response: jsonrpc.Envelope) -> None:
        """Hand a response to whoever waits for it; one that nobody waits for (any more) is let go."""
        rpc_id = response.id
        answer = None if isinstance(rpc_id, UnsetType) else self._waiting.get(rpc_id)
        if answer is not None and not answer.done():
            answer.set_result(response)

    async def answer(self, rpc_id: jsonrpc.RpcId, result: object) -> None:
        """Answer a request of the client."""
        await self.write(jsonrpc.encode_response(rpc_id, result))

    async def refuse(self, rpc_id: jsonrpc.RpcId, refusal: Refusal) -> None:
        """Answer a request of the client with an error."""
        data = {"detail": refusal.detail} if refusal.detail else UNSET
        await self.write(jsonrpc.encode_error(rpc_id, refusal.code, refusal.message, data))
