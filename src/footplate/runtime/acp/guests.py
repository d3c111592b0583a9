"""ACP on a local socket: the process that owns the sessions is the agent of editors that other processes stand for.

A guest says which engine it wants and hears who the owner is; from there on both send JSON-RPC, a message per line.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from contextlib import suppress
from typing import Final, Literal

import msgspec

from footplate.errors import FootplateError, ProtocolError
from footplate.runtime.acp.agent import AcpAgent
from footplate.runtime.acp.client import Manner, Send
from footplate.runtime.acp.connection import Backend
from footplate.runtime.acp.draft_door import DraftDoor
from footplate.runtime.audit import LOCAL, Principal, account_name
from footplate.runtime.service import Service

SOCKET_NAME: Final = "acp.sock"
VERSION: Final = 1
Role = Literal["service", "chat", "editor"]
"""What the owner is: a service comes back when it is restarted, the others are gone for good when they end."""

EDITOR: Final = Principal(by=account_name(), surface="editor", origin=LOCAL)
"""Who acts through an editor that runs us as a command: only the account of the service reaches the socket."""


class Hello(msgspec.Struct, frozen=True, kw_only=True):
    """The first line of a guest. `command` is how its editor started it."""

    engine: str
    command: tuple[str, ...] = ()
    version: int = VERSION


class Welcome(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The first line of the owner; `error` says why it does not take the guest."""

    pid: int
    role: Role
    error: str = ""


class Guests:
    """The editors that other processes bring to our sessions."""

    def __init__(self, service: Service, role: Role) -> None:
        self._service = service
        self._role = role

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Be the agent of one editor until it leaves; its sessions go on."""

        async def send(frames: Sequence[bytes]) -> None:
            writer.writelines(frames)
            with suppress(ConnectionError):  # the editor is gone: so is its input, which ends the visit
                await writer.drain()

        welcome = Welcome(pid=os.getpid(), role=self._role)
        try:
            hello = msgspec.json.decode(await reader.readline(), type=Hello)
            if hello.version != VERSION:
                raise ProtocolError("an editor", f"it speaks version {hello.version} of the link, this one {VERSION}")
            agent = editor_agent(self._service, hello.engine, send, hello.command)
        except (msgspec.DecodeError, FootplateError) as problem:
            await send([write_line(msgspec.structs.replace(welcome, error=str(problem)))])
            return
        try:
            await send([write_line(welcome)])
            while line := await reader.readline():
                await agent.receive(line, EDITOR)
        finally:
            await agent.close()


def editor_agent(service: Service, engine: str, send: Send, command: tuple[str, ...]) -> Backend:
    """The agent of an editor that started us as a command. Raises `UnknownEngine`, or what the engine's section is."""
    manner = Manner(surface="editor", adopts=True, responses=True, command=command)

    def make(tell: Send) -> AcpAgent:
        return AcpAgent(service.hub, service.services, engine, tell, manner)

    return DraftDoor(make, send) if service.settings.acp.draft else make(send)


def write_line(message: Hello | Welcome) -> bytes:
    """A message as a line."""
    return msgspec.json.encode(message) + b"\n"
