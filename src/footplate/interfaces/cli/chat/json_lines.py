"""The chat for programs: envelopes out as JSON lines, commands in as JSON lines, a reply to each."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import TextIO

import msgspec

from footplate.errors import FootplateError, RequestError
from footplate.events.commands import Command, SendPrompt
from footplate.events.ids import PromptId, SessionId
from footplate.interfaces.cli.chat.beside import talk_beside
from footplate.interfaces.cli.chat.doing import Me
from footplate.interfaces.cli.chat.room import Room
from footplate.runtime.backend import Attachment, ChatBackend
from footplate.ulid import new_ulid

FAILED = 1
_decoder: msgspec.json.Decoder[Command] = msgspec.json.Decoder(Command)


class ErrorLine(msgspec.Struct, frozen=True, kw_only=True):
    """Why a command was not carried out."""

    code: str
    message: str


class ReplyLine(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What came of the command with that key."""

    key: str
    ok: bool
    error: ErrorLine | None = None


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """A line that is no envelope."""

    reply: ReplyLine


class JsonChat:
    """One chat of a program. At the end of its commands it waits until the session rests, and leaves."""

    def __init__(self, backend: ChatBackend, me: Me, out: TextIO) -> None:
        self._backend = backend
        self._me = me
        self._out = out
        self._changed = asyncio.Event()

    async def run(self, session: SessionId, lines: AsyncGenerator[str, None]) -> int:
        """The whole chat; the exit code."""
        attachment = await self._backend.attach(session)
        room = Room(attachment.standing)
        await talk_beside(self._show(attachment, room), self._converse(room, lines))
        await attachment.close()
        last = room.view.turns[-1] if room.view.turns else None
        return FAILED if room.open_requests or (last is not None and last.ok is False) else 0

    async def _converse(self, room: Room, lines: AsyncGenerator[str, None]) -> None:
        async for line in lines:
            if line.strip():
                await self._take(room, line)
        while not (room.resting or room.open_requests):
            self._changed.clear()
            await self._changed.wait()

    async def _show(self, attachment: Attachment, room: Room) -> None:
        async for body in attachment.bodies:
            self._out.write(body.decode() + "\n")
            self._out.flush()
            room.take(body)
            self._changed.set()

    async def _take(self, room: Room, line: str) -> None:
        key = ""
        try:
            command = read_command(line, self._me)
            key = command.key
            await self._backend.do(room.standing.session, command)
            if isinstance(command, SendPrompt):
                await self._until_seen(room, command.prompt)
        except FootplateError as problem:
            error = ErrorLine(code=problem.code, message=str(problem))
            self._reply(ReplyLine(key=key, ok=False, error=error))
        else:
            self._reply(ReplyLine(key=key, ok=True))

    async def _until_seen(self, room: Room, prompt: PromptId) -> None:
        """From here on the session does not rest before it has done this."""
        while not room.has_seen(prompt):
            self._changed.clear()
            await self._changed.wait()

    def _reply(self, reply: ReplyLine) -> None:
        self._out.write(msgspec.json.encode(Reply(reply=reply)).decode() + "\n")
        self._out.flush()


def read_command(line: str, me: Me) -> Command:
    """The command on a line; what it does not say (its key, a prompt's id, who asks) is filled in."""
    try:
        fields = msgspec.json.decode(line, type=dict[str, msgspec.Raw])
        given: dict[str, object] = {"key": new_ulid(), "by": me.by, "surface": me.surface}
        if fields.get("type") == msgspec.Raw(b'"SendPrompt"'):
            given["prompt"] = new_ulid()
        return _decoder.decode(msgspec.json.encode({**given, **fields}))
    except msgspec.DecodeError as problem:
        raise RequestError(f"not a command: {problem}; write one like {EXAMPLE}") from problem


EXAMPLE = '{"type":"SendPrompt","content":[{"type":"text","text":"hello"}]}'
