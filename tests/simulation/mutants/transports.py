"""Planted bugs of ACP connections and of the chat outbox: `planted.py` says what they are."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from footplate.acp import jsonrpc
from footplate.chat.model import Id, Place
from footplate.chat.outbox.delivery import Delivery
from footplate.chat.outbox.shelf import Shelf
from footplate.chat.outbox.slots import Operation, Slot
from footplate.chat.talk import prompts
from footplate.chat.talk.follower import Follower
from footplate.chat.talk.following import Following
from footplate.chat.talk.records import Job
from footplate.chat.transport import Lost
from footplate.errors import MessageMissing, MessageNotModified
from footplate.interfaces.telegram.transport import MOST_PROBES, TelegramTransport
from footplate.runtime.acp import connection
from footplate.runtime.acp.connection import Connection, Waiting
from footplate.runtime.acp.connections import Connections
from footplate.runtime.acp.room import Room
from footplate.runtime.acp.seat import Seat
from footplate.runtime.acp.tape import Batch, Gap, Tape, TapeReader
from footplate.runtime.session import Session
from tests.simulation.mutants.planted import Swap, planted

# ---------------------------------------------------------------------------------------------------- ACP


@planted(
    "the journal is read from one number before the cursor",
    oracles=("acp_gap",),
    faults=("acp", "alone", "drop_readers"),
    budget=40,
)
def _acp_cursor_off_by_one(swap: Swap) -> None:
    real = Tape.reader

    def reader(self: Tape, after: int | None = None, **more: Any) -> TapeReader:
        return real(self, after - 1 if after else after, **more)

    swap(Tape, "reader", reader)


@planted(
    "a prompt that waits for its response is forgotten when the session is loaded again",
    oracles=("acp_response",),
    faults=("acp", "alone"),
    budget=150,
)
def _acp_response_lost_by_load(swap: Swap) -> None:
    real = Room.take_seat

    async def take_seat(self: Room, *args: Any, **more: Any) -> Seat:
        for seat in self.seats.values():
            seat.prompts.clear()
        return await real(self, *args, **more)

    swap(Room, "take_seat", take_seat)


@planted(
    "a request that has its response is answered once more when the connection closes",
    oracles=("acp_response",),
    faults=("acp", "alone", "stop"),
    budget=40,
)
def _acp_response_twice(swap: Swap) -> None:
    def answered(self: Connection, envelope: jsonrpc.Envelope) -> Waiting | None:
        if envelope.kind != "response":
            return None
        return self._waiting.get(jsonrpc.id_of(envelope))

    swap(Connection, "_answered", answered)


@planted(
    "a deleted connection loses its document before its journal",
    oracles=("acp_ghost",),
    faults=("acp", "alone", "power", "slow_store"),
    budget=400,
)
def _acp_deleted_journal(swap: Swap) -> None:
    async def end(self: Connections, name: str) -> bool:
        async with self._lock(name):
            connection = await self._find(name)
            if connection is None:
                return False
            del self._live[name]
            await self._documents.delete(name)
            await connection.close()
            await connection.tape.erase()
        return True

    swap(Connections, "end", end)


@planted(
    "a number that is still being stored is told as a gap",
    oracles=("acp_gap",),
    faults=("acp", "alone", "slow_store", "drop_readers"),
    budget=400,
)
def _acp_number_still_being_stored(swap: Swap) -> None:
    real, parting = Tape.read, Tape.find_parting

    async def read(self: Tape, after: int) -> Batch:
        return Batch((), Gap(first=self.last + 1, last=after)) if after > self.last else await real(self, after)

    async def find_parting(self: Tape, number: int, run: int) -> int:
        return await parting(self, min(number, self.last), run)

    swap(Tape, "read", read)
    swap(Tape, "find_parting", find_parting)


@planted(
    "a run has the name of the last number before it, which a power cut can give to the next one, too",
    oracles=("acp_differs",),
    faults=("acp", "alone", "power", "slow_calls"),
    budget=400,
)
def _acp_run_lost_as_a_whole(swap: Swap) -> None:
    real = Tape.__init__

    def init(self: Tape, *args: Any, **more: Any) -> None:
        real(self, *args, **more)
        self._run = self._before

    swap(Tape, "__init__", init)


@planted(
    "a response that is being stored is given up when its connection closes",
    oracles=("acp_response",),
    faults=("acp", "alone", "busy", "stop"),
    budget=400,
)
def _acp_response_given_up(swap: Swap) -> None:
    async def as_the_caller(work: Coroutine[Any, Any, None], *, name: str) -> None:
        await work

    swap(connection, "complete", as_the_caller)


# --------------------------------------------------------------------------------------------------- chat


@planted(
    "the outbox takes a message for shown before it is sent",
    oracles=("chat_missing",),
    faults=("chat", "alone", "bot_lost"),
    budget=120,
)
def _chat_shown_before_sent(swap: Swap) -> None:
    real = Delivery.begin

    def begin(self: Delivery, slot: Slot, operation: Operation) -> None:
        real(self, slot, operation)
        slot.state = "shown"

    swap(Delivery, "begin", begin)


@planted(
    "a message whose answer is lost is sent again without a search",
    oracles=("chat_twice",),
    faults=("chat", "alone", "bot_lost"),
    budget=60,
)
def _chat_sent_twice(swap: Swap) -> None:
    async def find(self: TelegramTransport, lost: Lost) -> Id | None:
        return None

    swap(TelegramTransport, "find", find)


@planted(
    "that a message is being sent is not stored before it is sent",
    oracles=("chat_twice",),
    faults=("chat", "alone", "crash", "slow_bot"),
    budget=150,
)
def _chat_sending_not_stored(swap: Swap) -> None:
    real = Shelf.keep

    async def keep(self: Shelf, slot: Slot) -> None:
        if slot.state != "sending":
            await real(self, slot)

    swap(Shelf, "keep", keep)


@planted(
    "a search that the service refuses in the middle begins again",
    oracles=("chat_missing",),
    faults=("chat", "alone", "bot_lost"),
    budget=200,
)
def _chat_search_begins_again(swap: Swap) -> None:
    async def find(self: TelegramTransport, lost: Lost) -> Id | None:
        chat = int(lost.place.chat)
        self._heights.learn(chat, lost.mark)
        for message in self._heights.candidates(chat, lost.mark)[:MOST_PROBES]:
            try:
                await self.edit(chat, message, lost.content, is_file=lost.is_file)
            except MessageMissing:
                continue
            except MessageNotModified:
                pass
            return message
        return None

    swap(TelegramTransport, "find", find)


@planted(
    "a message that is dealt with again after a crash begins again though its prompt is over",
    oracles=("chat_missing",),
    faults=("chat", "alone", "chat_silent", "crash", "crash_at_write", "slow_store"),
    budget=400,
)
def _chat_dealt_with_again(swap: Swap) -> None:
    async def add(self: Follower, job: Job) -> None:
        self.jobs[job.prompt] = job
        await self._show_job(job)

    swap(prompts, "progress_key", lambda prompt: f"unknown/{prompt}")
    swap(Follower, "add", add)


@planted(
    "a follower begins where it is asked for, though prompts of its session began before",
    oracles=("chat_missing",),
    faults=("chat", "alone", "crash", "crash_at_write", "clock_jump"),
    budget=400,
)
def _chat_follows_from_the_middle(swap: Swap) -> None:
    async def follow(self: Following, session: Session, after: int, home: Place, job: Job | None) -> Follower:
        follower = self._followers.get(session.id)
        begins = follower is None
        if follower is None:
            follower = self._followers[session.id] = Follower(self._kit, session, home, self._ended)
        if job is not None:
            await follower.add(job)
        if begins:
            task = follower.start(after)
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        return follower

    swap(Following, "_follow", follow)
