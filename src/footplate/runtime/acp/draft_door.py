"""The agent for clients that may speak the draft of ACP version 2: their first message decides."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from footplate.acp import jsonrpc
from footplate.acp.draft import Draft, wants_draft
from footplate.runtime.acp.agent import AcpAgent
from footplate.runtime.acp.client import Send
from footplate.runtime.audit import Principal


class DraftDoor:
    """An `AcpAgent` as a client of either version has it."""

    def __init__(self, make: Callable[[Send], AcpAgent], send: Send) -> None:
        self._agent = make(self._tell)
        self._send = send
        self._draft: Draft | None = None

    async def receive(self, message: bytes, who: Principal) -> None:
        """Take one message of the client, and who sent it."""
        try:
            envelope = jsonrpc.decode_message(message)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            await self._agent.receive(message, who)  # it says what is wrong
            return
        if self._draft is None and wants_draft(envelope):
            self._draft = Draft()
        if self._draft is None:
            await self._agent.receive(message, who)
            return
        for_agent, for_client = self._draft.incoming(envelope)
        await self._send(for_client)
        for frame in for_agent:
            await self._agent.receive(frame, who)

    async def close(self) -> None:
        """The client is gone."""
        await self._agent.close()

    async def _tell(self, frames: Sequence[bytes]) -> None:
        if self._draft is not None:
            frames = [each for frame in frames for each in self._draft.outgoing(frame)]
        if frames:
            await self._send(frames)
