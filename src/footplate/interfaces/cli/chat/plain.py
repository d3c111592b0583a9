"""The chat in plain lines, for a pipe and for a terminal that can do nothing: lines in, lines out.

In a pipe a line waits for its turn: a prompt until the session rests, an answer until it is asked for. So a script is
what a person would have typed. At the end of the input the chat waits until the session rests, and leaves.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncGenerator, Callable
from typing import Final, TextIO

from footplate.events.ids import PromptId, SessionId
from footplate.interfaces.cli.chat.asking import Dialogue, EditInput, Give, Pass, Stay
from footplate.interfaces.cli.chat.beside import talk_beside
from footplate.interfaces.cli.chat.doing import Doer, Me, Outcome
from footplate.interfaces.cli.chat.room import Room
from footplate.interfaces.cli.chat.text import Line, rows_of
from footplate.interfaces.cli.chat.typed import Action, Do, Nothing, parse_line, waits_for_idle
from footplate.runtime.backend import Attachment, ChatBackend
from footplate.tasks import spawn

FAILED: Final = 1
LEFT: Final = 130
AGAIN_S: Final = 2.0


class PlainChat:
    """One chat in lines. `patient`: the input is a script."""

    def __init__(self, backend: ChatBackend, me: Me, out: TextIO, *, patient: bool) -> None:
        self._backend = backend
        self._doer = Doer(backend, me)
        self._out = out
        self._patient = patient
        self._changed = asyncio.Event()
        self._hinted: tuple[Dialogue, str] | None = None
        self._interrupts: set[asyncio.Task[None]] = set()
        self._pressed_at = -AGAIN_S
        self._left = False

    async def run(self, session: SessionId, lines: AsyncGenerator[str, None]) -> int:
        """The whole chat; the exit code."""
        target: SessionId | None = session
        while target is not None:
            attachment = await self._backend.attach(target)
            room = Room(attachment.standing)
            with _Interrupts(self, room, wanted=not self._patient):
                target = await talk_beside(self._show(attachment, room), self._converse(room, lines))
            await attachment.close()
        for task in self._interrupts:
            task.cancel()
        return LEFT if self._left else self._verdict(room)

    def press_ctrl_c(self, room: Room) -> None:
        """Once: stop the turn. Again within two seconds, or when nothing runs: leave."""
        now = asyncio.get_running_loop().time()
        again, self._pressed_at = now - self._pressed_at < AGAIN_S, now
        if again or room.resting:
            self._left = True
            self._changed.set()
            return
        self._write([Line("- interrupting (Ctrl-C again to leave)", "dim")])
        task = spawn(self._interrupt(room), name="interrupt")
        self._interrupts.add(task)
        task.add_done_callback(self._interrupts.discard)

    async def _interrupt(self, room: Room) -> None:
        self._write((await self._doer.perform(room, Do("interrupt"))).lines)

    # --------------------------------------------------------------------------------------------- lines

    async def _converse(self, room: Room, lines: AsyncGenerator[str, None]) -> SessionId | None:
        """Take lines to their end; the session to go to next, if any."""
        await self._until(lambda: room.joined)
        while (line := await self._next(lines)) is not None:
            outcome = await self._take(room, line)
            self._write(outcome.lines)
            if outcome.session is not None or outcome.leave:
                return outcome.session
            if outcome.prompt is not None:
                await self._until_seen(room, outcome.prompt)
        await self._until(lambda: self._left or room.resting or _asks(room))
        return None

    async def _next(self, lines: AsyncGenerator[str, None]) -> str | None:
        """The next line; None at the end, or when the person leaves meanwhile."""
        return await talk_beside(self._until(lambda: self._left), _one(lines))

    async def _take(self, room: Room, line: str) -> Outcome:
        """One line: an answer where one is asked for, else an action."""
        action = parse_line(line)
        if self._patient and not isinstance(action, Nothing) and waits_for_idle(action):
            await self._until(lambda: room.resting or _asks(room))
        dialogue = room.dialogue
        if dialogue is not None and not dialogue.sent and not _is_command(action):
            return await self._answer(room, dialogue, line)
        return await self._doer.perform(room, action)

    async def _answer(self, room: Room, dialogue: Dialogue, line: str) -> Outcome:
        match dialogue.read(line):
            case Give(answer=answer):
                return await self._doer.answer(room, dialogue, answer)
            case Stay(lines=told):
                self._write(told)
                self._hint(room)
                return Outcome()
            case EditInput() as edit:
                return Outcome((Line(f"write the changed input behind the e: e {edit.line}", "dim"),))
            case Pass():
                return Outcome()

    async def _until_seen(self, room: Room, prompt: PromptId) -> None:
        await self._until(lambda: room.has_seen(prompt))

    async def _until(self, done: Callable[[], bool]) -> None:
        while not done():
            self._changed.clear()
            await self._changed.wait()

    # ------------------------------------------------------------------------------------------- showing

    async def _show(self, attachment: Attachment, room: Room) -> None:
        async for body in attachment.bodies:
            self._write(room.take(body))
            self._hint(room)
            self._changed.set()

    def _hint(self, room: Room) -> None:
        """Say once what can be answered."""
        dialogue = room.dialogue
        if dialogue is None or dialogue.sent:
            return
        now = (dialogue, dialogue.hint())
        if self._hinted != now:
            self._hinted = now
            self._write([Line(now[1], "dim")])

    def _write(self, lines: list[Line] | tuple[Line, ...]) -> None:
        for line in lines:
            for row in rows_of(line, None, color=False):
                self._out.write(row + "\n")
        if lines:
            self._out.flush()

    def _verdict(self, room: Room) -> int:
        if _asks(room):
            self._write([Line("! left with a request open; it is still in the session", "warning")])
            return FAILED
        last = room.view.turns[-1] if room.view.turns else None
        return FAILED if last is not None and last.ok is False else 0


class _Interrupts:
    """Ctrl-C belongs to the chat while it is on, where a person types."""

    def __init__(self, chat: PlainChat, room: Room, *, wanted: bool) -> None:
        self._chat = chat
        self._room = room
        self._wanted = wanted

    def __enter__(self) -> None:
        if self._wanted:
            asyncio.get_running_loop().add_signal_handler(signal.SIGINT, self._chat.press_ctrl_c, self._room)

    def __exit__(self, *_: object) -> None:
        if self._wanted:
            asyncio.get_running_loop().remove_signal_handler(signal.SIGINT)


async def _one(lines: AsyncGenerator[str, None]) -> str | None:
    return await anext(lines, None)


def _asks(room: Room) -> bool:
    return room.dialogue is not None and not room.dialogue.sent


def _is_command(action: Action) -> bool:
    """Whether a line is for us and not for the request."""
    return isinstance(action, Do) or not waits_for_idle(action)
