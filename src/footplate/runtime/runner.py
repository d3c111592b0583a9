"""The one runner: starts an agent, feeds its lines to the conversation, writes what the conversation answers.

It knows no engine. Reading and writing are two tasks, so that an agent that talks while a large prompt is written
cannot lock up with us, and one that does not read its input blocks nobody but itself: frames wait in a queue, and one
that is not taken in time is reported. What waits to be read is bounded, so a slow reader slows the agent and not the
memory. Answers to what we ask take no part in that: they reach whoever waits for them past every unread event. While
one is due the agent is read on, however much is unread; what comes beyond the bound is then held as bytes and
translated when it is read.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Mapping

import msgspec

from footplate.engines.base import (
    Asking,
    Conversation,
    Engine,
    Exit,
    Installed,
    Options,
    Query,
    Reaction,
    Reply,
    Spawn,
)
from footplate.engines.rejoining import Restful
from footplate.errors import EngineDeclined, EngineGone, EngineSilent, UnsupportedOption
from footplate.events.commands import Command
from footplate.events.ids import RequestId
from footplate.events.model import Event, Notice
from footplate.events.requests import Answer
from footplate.host.lines import Block
from footplate.host.spawner import Spawner
from footplate.runtime.frame_log import log_frames
from footplate.runtime.handlers import Handler, Handlers
from footplate.runtime.line_tap import ErrorLines, LineTap
from footplate.runtime.surroundings import Bounds
from footplate.runtime.unstored import Unstored
from footplate.runtime.wires import CLOSE_WAIT_S, Kept, Wire, open_wire
from footplate.tasks import spawn

log = logging.getLogger(__name__)
ANSWER_S = 30.0
"""How long an answer of the agent is waited for."""

FLUSH_S = 0.5
"""How long an agent that is ended in order may take to read what was sent to it before."""

LEAVE_S = 2.0
"""How long an agent that is left to the keeper may take to read what was sent to it."""


class Outgoing(msgspec.Struct, frozen=True, gc=False):
    """A frame that waits to be written, and the key of the command that it belongs to."""

    frame: bytes
    key: str


class Runner:
    """One agent process and the conversation with it. `notes` is what the launch says of itself: who pays, ..."""

    def __init__(
        self,
        wire: Wire,
        conversation: Conversation,
        *,
        notes: Mapping[str, str] | None = None,
        engine: str = "the agent",
        handlers: Handlers | None = None,
        bounds: Bounds | None = None,
    ) -> None:
        self._bounds = bounds or Bounds()
        self.notes = dict(notes or {})
        self._wire = wire
        self._conversation = conversation
        self._asking = conversation if isinstance(conversation, Asking) else None
        self._engine = engine
        self._handlers = handlers or Handlers()
        self._asked: dict[str, asyncio.Future[Reply | None]] = {}
        self._waiting: deque[tuple[list[Event], int]] = deque()
        self._unread = 0
        self._held: deque[Block] = deque()
        self._more = asyncio.Event()
        self._room = asyncio.Event()
        self._over = False
        self._ending = False
        self._left = False
        self._unstored: Unstored | None = None
        self._handing = False
        self._killer: asyncio.Task[Exit] | None = None
        self.session = ""
        """The session that the raw lines belong to, for the service log."""
        self.lines = LineTap()
        """Gets every raw line of the agent, in both directions and of stderr."""
        self._errors = ErrorLines(self.lines, lambda: self.session)
        wire.listen_errors(self._errors.feed)
        self.tap: Callable[[str, bytes], None] | None = None
        """Reads along with the agent's lines."""
        self._outgoing: deque[Outgoing] = deque()
        self._outgoing_bytes = 0
        self._to_write = asyncio.Event()
        self._taken = asyncio.Event()
        self._deaf = False
        self._closing = False
        self._begun = asyncio.Event()
        self._reader = spawn(self._read(), name=f"reader of {engine}")
        self._writer = spawn(self._write_on(), name=f"writer of {engine}", on_failure=self._writer_failed)
        self._writer.add_done_callback(lambda _: self._taken.set())

    @classmethod
    async def start(
        cls,
        engine: Engine,
        installed: Installed,
        options: Options,
        *,
        keeper: Spawner,
        environ: Mapping[str, str],
        tools: Mapping[str, Handler] | None = None,
        hooks: Mapping[str, Handler] | None = None,
        bounds: Bounds | None = None,
    ) -> Runner:
        """Launch the agent. Raises what `launch` and the operating system raise; then nothing was started.

        `tools` (`server.tool`) and `hooks` are the handlers of what the options declare, by name.
        """
        launch = engine.launch(options, installed, environ)
        conversation = engine.converse(options, installed)
        notes = launch.notes if isinstance(launch, Spawn) else {}
        handlers = Handlers(tools=tools, hooks=hooks)
        wire = await open_wire(launch, keeper, sandbox=options.sandbox, limits=options.resources)
        return cls(wire, conversation, notes=notes, engine=engine.name, handlers=handlers, bounds=bounds)

    @property
    def kept(self) -> Kept | None:
        """What the keeper can be told of the agent; None where no keeper has it."""
        return self._wire.kept

    @property
    def settled(self) -> bool:
        """Whether nothing waits to be stored, and the agent's own pipe is read, not what was kept of it."""
        kept = self._wire.kept
        return kept is None or (kept.direct and not self._waiting and not self._held)

    def mark(self, unstored: Unstored) -> None:
        """Keep the mark that says whether something of this conversation is not stored."""
        self._unstored = unstored
        if self._wire.kept is not None:
            self._wire.kept.tell_reads(unstored.set, self._check_stored)

    @property
    def restful(self) -> Restful | None:
        """The conversation, if all that is known of it has to be in the log."""
        return self._conversation if isinstance(self._conversation, Restful) else None

    @property
    def told(self) -> bool:
        """Whether the events that were taken, and stored since, tell all that either side has said.

        A frame that is not written whole counts as well: the log may have a turn whose prompt the agent never got.
        """
        open_ends = self._waiting or self._held or self._handing or self._outgoing
        return not open_ends and self.restful is not None and self.restful.at_rest

    def _check_stored(self) -> None:
        """Clear the mark when all that was read is stored and all that was sent is written."""
        kept = self._wire.kept
        if self._unstored is not None and kept is not None and kept.emptied and self.told:
            self._unstored.clear()

    @property
    def left(self) -> bool:
        """Whether the agent was let go of, and goes on without us."""
        return self._left

    async def leave(self) -> None:
        """Read no further; what was read is still given. Then the agent can be let go of."""
        kept = self._wire.kept
        if kept is None:
            await self.end(close_wait=0.0)
            return
        await self.flush(LEAVE_S)  # what was stored as sent reaches it now, or is known not to have
        self._left = self._ending = True
        self._room.set()
        kept.stop_reading()
        await self._reader

    @property
    def ready(self) -> bool:
        """Whether the agent has said that it is there; one that never says so counts as ready."""
        return self._asking is None or self._asking.ready

    @property
    def over(self) -> bool:
        """Whether the agent has ended; what it said last may still wait to be read."""
        return self._over or self._wire.gone

    async def batches(self) -> AsyncIterator[list[Event]]:
        """Events as they come, in batches; ends after the agent is gone and everything it had open was closed."""
        while True:
            while self._waiting:
                batch, size = self._waiting.popleft()
                self._unread -= size
                self._room.set()
                self._handing = True
                yield batch
                self._handing = False
                self._check_stored()
                if self._waiting:
                    await asyncio.sleep(0)  # others get their turn between two batches, however fast they are taken
            if self._held:
                await self._translate_held()
                continue
            if self._over:
                await self._reader
                return
            self._more.clear()
            await self._more.wait()

    # ------------------------------------------------------------------------------------------ asking

    def send(self, command: Command) -> None:
        """Have a command written to the agent. Returns at once; the writer task writes it.

        Should the agent decline, a `Notice` tells; `ask` is for whoever wants to know. Raises `RequestError` where the
        conversation refuses it, `EngineGone` when the agent has ended, `EngineSilent` when too much waits already.
        """
        self._check_writable(type(command).__name__)
        self._queue(self._take(self._conversation.command(command)), command.key)

    def check_answer(self, request: RequestId, answer: Answer) -> None:
        """Raise what `send` would raise for this answer. Changes nothing."""
        self._check_writable("an answer")
        self._conversation.check_answer(request, answer)

    @property
    def undelivered(self) -> frozenset[str]:
        """The keys of commands that were not written whole: the agent cannot have read them."""
        return frozenset(each.key for each in self._outgoing)

    @property
    def deaf(self) -> bool:
        """Whether the agent has not read its input for too long."""
        return self._deaf

    @property
    def unreachable(self) -> bool:
        """Whether nothing can be written to the agent any more: its stdin is closed, or it has ended."""
        return self._writer.done()

    def _check_writable(self, what: str) -> None:
        if self._over or self._wire.gone or self._writer.done():
            raise EngineGone(self._engine, "it has ended")
        if self._outgoing_bytes > self._bounds.stdin_bytes:
            raise EngineSilent(self._engine, what, self._bounds.write_s)

    def _queue(self, frames: Iterable[bytes], key: str = "") -> None:
        for frame in frames:
            if self._write_now(frame):
                continue
            if self._unstored is not None:
                self._unstored.set()
            self._outgoing.append(Outgoing(frame, key))
            self._outgoing_bytes += len(frame)
        self._to_write.set()

    def _write_now(self, frame: bytes) -> bool:
        """Write it without the writer task, which costs a step of the loop: an agent that reads takes it at once."""
        if self._outgoing or self._closing or not self._begun.is_set() or not self._wire.write_now(frame):
            return False
        self._note_sent(frame)
        return True

    def _note_sent(self, frame: bytes) -> None:
        log_frames(self.session, "out", frame)
        self.lines.record("out", frame)

    async def _write_on(self) -> None:
        """Write what is queued, in order, for as long as the agent takes input.

        A frame leaves the queue when the pipe has taken all of it: an agent that ends before that has not read the
        whole line, so it does not know of it.
        """
        await self._begun.wait()
        loop = asyncio.get_running_loop()
        while True:
            while self._outgoing:
                frame = self._outgoing[0].frame
                timer = loop.call_later(self._bounds.write_s, self._report_deaf)
                try:
                    await self._write_frame(frame)
                except EngineGone:
                    return  # the end of its output, which is about to be read, tells why
                finally:
                    timer.cancel()
                self._deaf = False
                self._outgoing.popleft()
                self._outgoing_bytes -= len(frame)
                self._taken.set()
                self._check_stored()
            if self._closing:
                self._wire.close_stdin()
                return
            self._to_write.clear()
            await self._to_write.wait()

    async def _write_frame(self, frame: bytes) -> None:
        self._note_sent(frame)
        await self._wire.write(frame)

    def _report_deaf(self) -> None:
        """The agent has not taken a frame in time."""
        self._deaf = True
        text = (
            f"the agent has not read its input for {self._bounds.write_s:g} s; what is sent to it waits. "
            "Interrupt the turn to end its process."
        )
        self._publish([Notice(level="warning", text=text, code="agent_not_reading")])

    def _writer_failed(self, _: BaseException) -> None:
        """Nothing can be written any more: as if the agent had closed its stdin."""
        self._wire.close_stdin()

    async def flush(self, timeout: float) -> bool:
        """Wait until all that was sent is written; False when the agent did not take it in that time."""
        try:
            async with asyncio.timeout(timeout):
                while self._outgoing and not self._writer.done():
                    self._taken.clear()
                    await self._taken.wait()
        except TimeoutError:
            pass
        return not self._outgoing

    async def ask(self, command: Command, *, timeout: float = ANSWER_S) -> msgspec.Raw | None:
        """Ask something of the agent and wait for its answer: a fact as JSON, where the command has one.

        Raises `EngineDeclined` with its words, `EngineSilent` when it does not answer in time, `EngineGone`.
        """
        if self._asking is None:
            self.send(command)
            return None
        name = type(command).__name__
        return await self._await(command.key, name, lambda: self._conversation.command(command), timeout)

    async def query(self, query: Query, *, timeout: float = ANSWER_S) -> msgspec.Raw:
        """Ask about the agent: `facts.RESULTS` says what each name is answered with. Raises what `ask` raises.

        And `UnsupportedOption` where the engine, or its version, cannot tell.
        """
        conversation = self._asking
        if conversation is None:
            raise UnsupportedOption(self._engine, f"questions ({query.name})", "its events tell what it knows")
        answer = await self._await(query.key, query.name, lambda: conversation.query(query), timeout)
        return msgspec.Raw(b"null") if answer is None else answer

    async def _await(self, key: str, name: str, make: Callable[[], Reaction], timeout: float) -> msgspec.Raw | None:
        """Ask once per key, and wait for the reply; who asks the same again waits for the same reply."""
        self._check_writable(name)
        waiting = self._asked.get(key)
        if waiting is None:
            reaction = make()
            waiting = self._asked[key] = asyncio.get_running_loop().create_future()
            self._queue(self._take(reaction), key)
        try:
            async with asyncio.timeout(timeout):
                reply = await asyncio.shield(waiting)
        except TimeoutError:
            if self._asking is not None:
                self._asking.give_up(key)
            raise EngineSilent(self._engine, name, timeout) from None
        if reply is None:
            raise EngineGone(self._engine, "it ended before it answered")
        if reply.error:
            raise EngineDeclined(self._engine, name, reply.error)
        return reply.result

    def close_stdin(self) -> None:
        """Tell the agent that nothing more will come, after what was sent; it ends by itself when it is done."""
        self._closing = True
        self._to_write.set()

    async def end(self, *, close_wait: float | None = CLOSE_WAIT_S) -> None:
        """See the agent out and wait until it and all it started are gone. Safe to call twice.

        With None it is ended at once, and its stdin is not closed before that.
        """
        if close_wait:
            await self.flush(min(close_wait, FLUSH_S))
        self._ending = True
        self._room.set()
        self._taken.set()
        await self._wire.end(close_wait=close_wait)
        await self._reader

    # ----------------------------------------------------------------------------------------- reading

    def _begin(self) -> None:
        """An older CLI heeds our hooks only from its first prompt on: whatever else is said comes after."""
        frames = self._take(self._conversation.begin())
        self._outgoing.extendleft(Outgoing(frame, "") for frame in reversed(frames))
        self._outgoing_bytes += sum(map(len, frames))
        self._begun.set()

    async def _read(self) -> None:
        try:
            try:
                await self._read_blocks()
            except Exception:
                # Nothing that it says can be understood from here on; its end still closes what it has open.
                log.exception("session %s: reading its agent failed, the process is ended", self.session)
                await self._wire.end(close_wait=0.0)
            if self._left:
                self._publish([] if self.restful is None else self.restful.pause().events)
                return
            ending = await self._wire.end()
            self._publish([*ending.limits, *self._conversation.finish(ending).events])
        finally:
            self._over = True
            if self._killer is not None:
                await asyncio.wait((self._killer,))
            self._errors.finish()
            self.lines.finish()
            await self._stop_writing()
            await self._handlers.close()
            self._give_up()
            self._more.set()

    async def _read_blocks(self) -> None:
        self._begin()
        while (block := await self._wire.read()) is not None:
            log_frames(self.session, "in", block.lines)
            self.lines.record("in", block.lines)
            for line in block.oversize:
                self.lines.record_cut("in", line.head, line.size)
            if self.tap is not None:
                self.tap(self.session, block.lines)
            await self._read_block(block)
            await self._leave_room()
        while self._held:
            await self._translate_held()

    async def _stop_writing(self) -> None:
        if not self._writer.done():
            self._writer.cancel()
            await asyncio.wait((self._writer,))

    async def _read_block(self, block: Block) -> None:
        if self._asking is not None and (
            self._held or (self._unread >= self._bounds.backlog_bytes and self._asking.awaits)
        ):
            answers, rest = self._asking.sift(block)
            self._held.append(rest)
            self._more.set()
            block = answers
        if block.lines or block.oversize:
            await self._answer(self._conversation.feed(block), size=len(block.lines))

    async def _translate_held(self) -> None:
        """The oldest of what was held, in its place: everything before it was translated, nothing after it yet."""
        block = self._held.popleft()
        await self._answer(self._conversation.feed(block), size=len(block.lines))

    async def _leave_room(self) -> None:
        """Wait until somebody has read, unless an answer is due: it may stand behind what is not yet read."""
        while self._unread >= self._bounds.backlog_bytes and not self._ending and not self._awaits():
            self._room.clear()
            await self._room.wait()

    def _awaits(self) -> bool:
        return self._asking is not None and self._asking.awaits

    async def _answer(self, reaction: Reaction, *, size: int = 0) -> None:
        """Write what the conversation says to a line; while the agent takes nothing, none of it is read, either."""
        self._queue(self._take(reaction, size=size))
        while self._outgoing_bytes > self._bounds.stdin_bytes and not self._writer.done() and not self._ending:
            self._taken.clear()
            await self._taken.wait()

    def _take(self, reaction: Reaction, *, size: int = 0) -> tuple[bytes, ...]:
        """Hand on all that a conversation says but its frames, which the caller writes."""
        self._publish(reaction.events, size)
        for reply in reaction.replies:
            self._settle(reply)
        for key in reaction.dropped:
            self._handlers.drop(key)
        for call in reaction.calls:
            self._handlers.call(call, self._called)
        if reaction.fatal and self._killer is None:
            # Not awaited: this may run in the task that reads, and that has to read to the end of the output.
            log.error("session %s: the agent process is ended: %s", self.session, reaction.fatal)
            self._ending = True
            self._killer = spawn(self._wire.end(close_wait=0.0), name=f"end {self._engine}")
        self._room.set()
        return reaction.frames

    def _settle(self, reply: Reply) -> None:
        """Who waits gets the reply; a refusal that nobody waits for is told to everybody."""
        waiting = self._asked.pop(reply.key, None)
        if waiting is not None:
            waiting.set_result(reply)
        elif reply.error:
            self._publish([Notice(level="warning", text=f"the agent declined: {reply.error}", code="control_error")])

    async def _called(self, key: str, result: msgspec.Raw | str, error: str) -> None:
        """A handler is done: its result goes to the agent."""
        if self._asking is not None:
            await self._answer(self._asking.reply(key, result, error=error))

    def _give_up(self) -> None:
        asked, self._asked = self._asked, {}
        for waiting in asked.values():
            waiting.set_result(None)

    def _publish(self, events: list[Event], size: int = 0) -> None:
        if events:
            if self._unstored is not None:
                self._unstored.set()
            self._waiting.append((events, size))
            self._unread += size
            self._more.set()
