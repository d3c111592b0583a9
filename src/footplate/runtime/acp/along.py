"""Lines of an agent as they are, for a client that asked for them: `_claude/sdkMessage`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

import msgspec

from footplate.acp import jsonrpc
from footplate.acp.session_meta import RawMessages
from footplate.acp.wire import Wire
from footplate.events.ids import SessionId
from footplate.runtime.acp.client import Client
from footplate.runtime.taps import Taps
from footplate.tasks import spawn

METHOD: Final = "_claude/sdkMessage"


class SdkMessage(Wire, frozen=True, kw_only=True):
    """Parameters of `_claude/sdkMessage`."""

    session_id: str
    message: msgspec.Raw


class Along:
    """Hands on what the client wants of the lines, in their order."""

    def __init__(self, name: SessionId, client: Client, wanted: RawMessages) -> None:
        self._name = name
        self._client = client
        self._wanted = wanted
        self._lines: asyncio.Queue[bytes] = asyncio.Queue()
        self._stop: Callable[[], None] | None = None
        self._pump = spawn(self._hand_on(), name=f"raw messages {name}", on_failure=lambda _: self._leave())

    def follow(self, taps: Taps, session: SessionId) -> None:
        """Read along with the session's agent, from here on."""
        self._stop = taps.listen(session, self._lines.put_nowait)

    async def close(self) -> None:
        """Read no further."""
        self._leave()
        self._pump.cancel()
        await asyncio.wait((self._pump,))

    def _leave(self) -> None:
        """Have no more lines queued."""
        if self._stop is not None:
            self._stop()

    async def _hand_on(self) -> None:
        while True:
            lines = await self._lines.get()
            told = [SdkMessage(session_id=self._name, message=raw) for raw in self._wanted.choose(lines)]
            await self._client.write([jsonrpc.encode_notification(METHOD, each) for each in told])
