"""The chat on a terminal: events drawn as they come, keys taken as they are pressed."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Coroutine
from typing import Final

from footplate.errors import FootplateError
from footplate.events.ids import SessionId
from footplate.interfaces.cli.chat.asking import Dialogue, EditInput, Give, Pass, Stay, Step
from footplate.interfaces.cli.chat.completing import (
    Completion,
    begun_command,
    begun_file,
    command_names,
    complete,
)
from footplate.interfaces.cli.chat.doing import Doer, Me, Outcome
from footplate.interfaces.cli.chat.editor import LineEditor
from footplate.interfaces.cli.chat.elsewhere import edit_text
from footplate.interfaces.cli.chat.keys import Key, KeyReader
from footplate.interfaces.cli.chat.panel import draw_panel
from footplate.interfaces.cli.chat.room import Room
from footplate.interfaces.cli.chat.screen import Screen
from footplate.interfaces.cli.chat.stdin import Input
from footplate.interfaces.cli.chat.text import Line, flat, rows_of
from footplate.interfaces.cli.chat.typed import Do, parse_line
from footplate.runtime.backend import Attachment, ChatBackend
from footplate.tasks import spawn

FRAME_S: Final = 0.03
"""Events that come within this are drawn together."""
TICK_S: Final = 1.0
ARM_S: Final = 0.25
"""How long a request must have been seen before a key answers it: whoever is typing must not answer by accident."""
AGAIN_S: Final = 2.0
ESCAPE_S: Final = 0.05
LEFT: Final = 130
MOST_CHOICES: Final = 30


class TerminalChat:
    """One chat on one terminal."""

    def __init__(self, backend: ChatBackend, me: Me, screen: Screen, *, color: bool, fd: int = 0) -> None:
        self._backend = backend
        self._doer = Doer(backend, me)
        self._screen = screen
        self._color = color
        self._loop = asyncio.get_running_loop()
        self._input = Input(fd, self._bytes)
        self._reader = KeyReader()
        self._editor = LineEditor()
        self._room: Room | None = None
        self._bodies: list[bytes] = []
        self._lines: list[Line] = []
        self._work: set[asyncio.Task[None]] = set()
        self._wake = asyncio.Event()
        self._target: SessionId | None = None
        self._code: int | None = None
        self._gone: BaseException | None = None
        self._stream_over = False
        self._shown: tuple[Dialogue, float] | None = None
        self._pressed_at = -AGAIN_S
        self._paused = False

    # --------------------------------------------------------------------------------------------- life

    async def run(self, session: SessionId) -> int:
        """The whole chat; the exit code. The terminal is given back whatever happens."""
        target: SessionId | None = session
        self._loop.add_signal_handler(signal.SIGINT, self._ctrl_c)
        self._loop.add_signal_handler(signal.SIGWINCH, self._resized)
        self._loop.add_signal_handler(signal.SIGCONT, self._resumed)
        try:
            with self._screen:
                self._input.start()
                while target is not None:
                    target = await self._visit(target)
        finally:
            self._input.stop()
            for number in (signal.SIGINT, signal.SIGWINCH, signal.SIGCONT):
                self._loop.remove_signal_handler(number)
            await self._end_work()
        if self._gone is not None:
            raise self._gone
        return self._code or 0

    async def _visit(self, session: SessionId) -> SessionId | None:
        """Be in one session; the next one to go to, if any."""
        self._target = None
        attachment = await self._backend.attach(session)
        self._room = room = Room(attachment.standing, self._screen.columns)
        if self._backend.owner:
            self._lines.append(Line(f"- joined the session at {self._backend.owner}", "dim"))
        pump = spawn(self._pump(attachment), name="events")
        try:
            while self._stays():
                await self._woken()
                self._take(room)
                self._draw()
        finally:
            pump.cancel()
            await asyncio.wait((pump,))
            await attachment.close()
        return self._target

    def _stays(self) -> bool:
        over = self._stream_over or self._screen.gone or self._code is not None
        return not over and self._target is None

    async def _woken(self) -> None:
        """Wait for something to show; a clock that is shown ticks."""
        try:
            async with asyncio.timeout(TICK_S):
                await self._wake.wait()
        except TimeoutError:
            return
        self._wake.clear()
        await asyncio.sleep(FRAME_S)

    async def _pump(self, attachment: Attachment) -> None:
        try:
            async for body in attachment.bodies:
                self._bodies.append(body)
                self._wake.set()
        except FootplateError as problem:
            self._gone = problem
        self._stream_over = True
        self._wake.set()

    async def _end_work(self) -> None:
        tasks = tuple(self._work)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    def _take(self, room: Room) -> None:
        """What has come since the last look."""
        bodies, self._bodies = self._bodies, []
        room.transcript.columns = self._screen.columns
        before = room.dialogue
        for body in bodies:
            self._lines += room.take(body)
        if before is not None and before.wants_text and room.dialogue is not before and self._editor.text:
            self._lines.append(Line(f"! the request is over; not sent: {self._editor.text}", "warning"))
            self._editor.clear()

    # ------------------------------------------------------------------------------------------ drawing

    def _draw(self) -> None:
        room = self._room
        if room is None or self._paused or not self._screen.active:
            return
        columns = self._screen.columns
        lines, self._lines = self._lines, []
        rows = [row for line in lines for row in rows_of(line, columns, color=self._color)]
        armed = self._armed(room.dialogue)
        region, column = draw_panel(room, self._editor, columns, armed=armed, color=self._color, now=time.time())
        self._screen.draw(rows, region, column)

    def _armed(self, dialogue: Dialogue | None) -> bool:
        """Whether a key answers now; the clock starts when the request is first drawn."""
        if dialogue is None:
            self._shown = None
            return False
        if self._shown is None or self._shown[0] is not dialogue:
            self._shown = (dialogue, self._loop.time())
            self._loop.call_later(ARM_S, self._wake.set)
        return self._loop.time() - self._shown[1] >= ARM_S

    def _resized(self) -> None:
        if self._screen.active and not self._paused:
            self._screen.forget_region()
            self._draw()

    # --------------------------------------------------------------------------------------------- keys

    def _bytes(self, data: bytes) -> None:
        if not data:
            self._leave(0)
            return
        for key in self._reader.feed(data):
            self._key(key)
        if self._reader.pending:
            self._loop.call_later(ESCAPE_S, self._flush)
        self._draw()

    def _flush(self) -> None:
        for key in self._reader.flush():
            self._key(key)
        self._draw()

    def _key(self, key: Key) -> None:
        room = self._room
        if room is None:
            return
        if key.name == "ctrl-c":
            self._ctrl_c()
        elif key.name == "ctrl-d" and not self._editor.text:
            self._leave(0)
        elif key.name == "ctrl-z":
            self._suspend()
        elif key.name == "ctrl-l":
            self._screen.clear()
        elif key.name == "tab":
            self._complete(room)
        elif not self._answer_key(room, key):
            self._edit_key(room, key)

    def _answer_key(self, room: Room, key: Key) -> bool:
        """Whether the key was one for the request: alone, on an empty line, when the request has been seen."""
        dialogue = room.dialogue
        if dialogue is None or dialogue.sent or not self._armed(dialogue):
            return False
        if key.name == "escape":
            self._editor.clear()
            dialogue.press("escape")
            return True
        if dialogue.wants_text or self._editor.text:
            return False
        pressed = key.text if key.name == "text" else key.name
        if key.name not in ("text", "enter") or (key.name == "text" and len(key.text) != 1):
            return False
        step = dialogue.press(pressed)
        self._step(room, dialogue, step)
        return not isinstance(step, Pass)

    def _edit_key(self, room: Room, key: Key) -> None:
        text = self._editor.apply(key)
        if text is None:
            return
        dialogue = room.dialogue
        if dialogue is not None and dialogue.wants_text and not dialogue.sent:
            self._step(room, dialogue, dialogue.write(text))
            return
        self._editor.remember(text)
        self._start(self._perform(room, text))

    def _complete(self, room: Room) -> None:
        editor = self._editor
        command = begun_command(editor.text, editor.cursor)
        file = begun_file(editor.text, editor.cursor)
        if command is not None:
            self._put(command, complete(command, command_names(each.name for each in room.view.commands)))
        elif file is not None:
            self._start(self._complete_file(room, file))

    async def _complete_file(self, room: Room, begun: str) -> None:
        found = await self._doer.suggest_files(room, begun)
        if begun_file(self._editor.text, self._editor.cursor) == begun:
            only = complete(begun, found) if len(found) != 1 else Completion(f"{flat(found[0])} ")
            self._put(begun, only)
        self._wake.set()

    def _put(self, begun: str, completion: Completion) -> None:
        """The word before the cursor as it was completed; several ways to go on are shown."""
        self._editor.remove(self._editor.cursor - len(begun), self._editor.cursor)
        self._editor.insert(completion.text)
        if completion.choices:
            self._lines.append(Line("  ".join(completion.choices[:MOST_CHOICES]), "dim"))

    def _step(self, room: Room, dialogue: Dialogue, step: Step) -> None:
        match step:
            case Give(answer=answer):
                dialogue.sent = True
                self._start(self._finish(self._doer.answer(room, dialogue, answer)))
            case EditInput(text=text):
                self._start(self._edit(room, dialogue, text))
            case Stay(lines=lines):
                self._lines += lines
            case Pass():
                pass

    # -------------------------------------------------------------------------------------------- doing

    def _start(self, work: Coroutine[None, None, None]) -> None:
        task = spawn(work, name="chat action")
        self._work.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._work.discard(task)
        if not task.cancelled() and (problem := task.exception()) is not None:
            self._gone = problem
            self._stream_over = True
            self._wake.set()

    async def _perform(self, room: Room, text: str) -> None:
        await self._finish(self._doer.perform(room, parse_line(text)))

    async def _finish(self, doing: Coroutine[None, None, Outcome]) -> None:
        outcome = await doing
        self._lines += outcome.lines
        if outcome.session is not None:
            self._target = outcome.session
        if outcome.leave:
            self._code = 0
        self._wake.set()

    async def _edit(self, room: Room, dialogue: Dialogue, text: str) -> None:
        """Let the person change the input in an editor of theirs; the terminal is the editor's meanwhile."""
        self._paused = True
        self._input.stop()
        self._screen.leave()
        try:
            edited = await edit_text(text, os.environ)
        finally:
            self._screen.enter()
            self._input.start()
            self._paused = False
        if isinstance(edited, Line):
            self._lines.append(edited)
        elif room.dialogue is dialogue and not dialogue.sent:
            self._step(room, dialogue, dialogue.edited(edited))
        else:
            self._lines.append(Line("! the request is over; the changed input was not used", "warning"))
        self._wake.set()

    def _ctrl_c(self) -> None:
        """Once: stop the turn, or clear the line. Again within two seconds: leave."""
        room, now = self._room, self._loop.time()
        if self._paused or room is None:
            return
        again, self._pressed_at = now - self._pressed_at < AGAIN_S, now
        if again:
            self._leave(LEFT)
            return
        self._editor.clear()
        if room.resting:
            self._lines.append(Line("- Ctrl-C again to leave", "dim"))
        else:
            self._lines.append(Line("- interrupting (Ctrl-C again to leave)", "dim"))
            self._start(self._finish(self._doer.perform(room, Do("interrupt"))))
        self._wake.set()

    def _leave(self, code: int) -> None:
        self._code = code
        self._wake.set()

    def _suspend(self) -> None:
        """As a shell's job is suspended: the terminal is given back first."""
        self._screen.leave()
        os.kill(0, signal.SIGTSTP)
        self._resumed()

    def _resumed(self) -> None:
        """Whoever had the terminal meanwhile may have changed it."""
        if not self._paused:
            self._screen.leave()
            self._screen.enter()
            self._draw()
