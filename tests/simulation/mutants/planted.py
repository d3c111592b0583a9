"""Planted bugs: each a small change of the product, made while the simulator runs, that a check must find.

`oracles` are the checks of which one must fire, `faults` what the plans of its seeds have, `budget` how many seeds that
may take. `docs/explanation/simulation.md` lists them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

import msgspec

from footplate.engines.parking import Recorded
from footplate.errors import StoreError
from footplate.events import model as m
from footplate.runtime import hub as hub_module
from footplate.runtime.aftermath import MAY_HAVE_RUN, NOT_RUN
from footplate.runtime.agent import Agent
from footplate.runtime.audit import POLICY
from footplate.runtime.conductor import Conductor
from footplate.runtime.desk import Desk
from footplate.runtime.hub import Hub
from footplate.runtime.log import Delivery, SessionLog, Subscription
from footplate.runtime.records import Doubts, said_in_turn
from footplate.runtime.resumption import Resumption
from footplate.runtime.rules import decide
from footplate.runtime.session_life import SessionLife
from footplate.store.values import Encoded
from footplate.tasks import spawn

Swap = Callable[[Any, str, Any], None]


class Mutant(msgspec.Struct, frozen=True):
    """One planted bug."""

    name: str
    what: str
    oracles: tuple[str, ...]
    faults: tuple[str, ...]
    budget: int
    plant: Callable[[Swap], None]


MUTANTS: list[Mutant] = []


def planted(
    what: str, *, oracles: tuple[str, ...], faults: tuple[str, ...], budget: int
) -> Callable[[Callable[[Swap], None]], Callable[[Swap], None]]:
    """Enlist the function that plants a bug."""

    def enlist(plant: Callable[[Swap], None]) -> Callable[[Swap], None]:
        name = plant.__name__.strip("_").replace("_", "-")
        MUTANTS.append(Mutant(name, what, oracles, faults, budget, plant))
        return plant

    return enlist


@contextmanager
def in_force(mutant: Mutant) -> Iterator[None]:
    """The bug, for as long as the block lasts."""
    undo: list[tuple[Any, str, Any]] = []

    def swap(owner: Any, name: str, value: Any) -> None:
        undo.append((owner, name, getattr(owner, name)))
        setattr(owner, name, value)

    mutant.plant(swap)
    try:
        yield
    finally:
        for owner, name, value in reversed(undo):
            setattr(owner, name, value)


# ------------------------------------------------------------------------------------------------ readers


@planted(
    "the live tail carries the number of a batch that is still being stored (the reader bug)",
    oracles=("reader_gap", "reader_lags"),
    faults=("slow_store", "small_buffer", "drop_readers", "slow_readers"),
    budget=120,
)
def _reader_bug(swap: Swap) -> None:
    store, tail = SessionLog._store, SessionLog.live_tail

    async def storing(self: Any, events: list[Encoded], *, durable: bool, **how: Any) -> None:
        self.early = events[-1].envelope.seq
        try:
            await store(self, events, durable=durable, **how)
        finally:
            del self.early

    def live_tail(self: Any) -> list[Delivery]:
        early = getattr(self, "early", self.last_seq)
        return [msgspec.structs.replace(each, seq=early) for each in tail(self)]

    swap(SessionLog, "_store", storing)
    swap(SessionLog, "live_tail", live_tail)


@planted(
    "the cursor is off by one at the end of a page",
    oracles=("reader_gap", "reader_lags"),
    faults=("short_pages", "drop_readers"),
    budget=10,
)
def _cursor_off_by_one(swap: Swap) -> None:
    catch_up = Subscription._catch_up

    async def catching_up(self: Any) -> None:
        await catch_up(self)
        if len(self._waiting) == self._log.page_rows:
            last = self._waiting[-1]
            self._waiting[-1] = Delivery(last.seq + 1, last.body)

    swap(Subscription, "_catch_up", catching_up)


@planted(
    "the epoch of a cursor is not checked: a reader keeps what a power cut has removed (N5)",
    oracles=("reader_differs", "reader_gap", "reader_lags"),
    faults=("power", "slow_store", "script"),
    budget=30,
)
def _epoch_not_checked(swap: Swap) -> None:
    subscribe = SessionLog.subscribe

    def subscribing(self: Any, after: int = 0, epoch: int | None = None) -> Subscription:
        return subscribe(self, min(after, self.last_seq))

    swap(SessionLog, "subscribe", subscribing)


@planted(
    "a log that failed to grow keeps the turn that it would have had (N3)",
    oracles=("invariant",),
    faults=("busy", "spawn_fails", "script"),
    budget=60,
)
def _turn_kept_after_failed_append(swap: Swap) -> None:
    store = SessionLog._store

    async def storing(self: Any, events: list[Encoded], *, durable: bool, **how: Any) -> None:
        try:
            await store(self, events, durable=durable, **how)
        except StoreError:
            self.turn = "turn-that-never-was"
            raise

    swap(SessionLog, "_store", storing)


# ------------------------------------------------------------------------------------------------ prompts


@planted(
    "a prompt's key is known although its append failed (2)",
    oracles=("prompt_lost",),
    faults=("busy", "retry"),
    budget=20,
)
def _key_known_too_early(swap: Swap) -> None:
    accept = Conductor.accept

    async def accepting(self: Any, prompt: Any, content: Any, when: Any) -> None:
        try:
            await accept(self, prompt, content, when)
        except StoreError:
            self.log._reducer._draft.accepted.add(prompt)
            raise

    swap(Conductor, "accept", accepting)


@planted(
    "a prompt is acknowledged before it is stored",
    oracles=("prompt_lost",),
    faults=("slow_store", "crash", "crash_at_write", "power"),
    budget=20,
)
def _acknowledged_before_stored(swap: Swap) -> None:
    accept = Conductor.accept

    async def accepting(self: Any, prompt: Any, content: Any, when: Any) -> None:
        self.early = asyncio.get_running_loop().create_task(accept(self, prompt, content, when))

    swap(Conductor, "accept", accepting)


@planted(
    "prompts that waited over a restart do not begin (7)",
    oracles=("not_quiet", "stranded", "prompt_lost"),
    faults=("crash", "stop", "retry"),
    budget=60,
)
def _waiting_prompts_stay(swap: Swap) -> None:
    async def nothing(self: Any) -> None:
        return

    swap(Conductor, "open_queue", nothing)


@planted(
    "who steers an agent that cannot be steered gets an error though the prompt is stored (N2)",
    oracles=("refused_yet_stored",),
    faults=("steer",),
    budget=60,
)
def _refused_yet_stored(swap: Swap) -> None:
    def hand_over(self: Any, prompt: Any, content: Any, when: Any) -> None:
        self._hand_over(prompt, content, when)

    swap(Conductor, "_hand_over_now", hand_over)


@planted(
    "the key of a prompt that was withdrawn is forgotten by a restart",
    oracles=("invariant",),
    faults=("stop", "retry", "withdraw", "slow_calls", "hang_up"),
    budget=560,
)
def _withdrawn_key_forgotten(swap: Swap) -> None:
    def accepted(self: Any) -> set[str]:
        view = self.view()
        return {each.id for each in view.queue} | {prompt for turn in view.turns for prompt in turn.prompts}

    swap(SessionLog, "accepted", property(accepted))


@planted(
    "a prompt is sent again to an agent that was reattached",
    oracles=("prompt_sent_twice", "prompt_twice", "invariant"),
    faults=("keep", "crash", "slow_wire"),
    budget=60,
)
def _sent_again_after_reattach(swap: Swap) -> None:
    rejoined = Resumption.rejoined

    async def rejoining(self: Any) -> None:
        for item in said_in_turn(self._conductor.log.view()):
            self._conductor._hand_over(item.prompt, item.content, "queue")
        await rejoined(self)

    swap(Resumption, "rejoined", rejoining)


@planted(
    "a prompt that an agent has begun before the crash begins again",
    oracles=("ran_twice", "prompt_twice"),
    faults=("script", "crash", "crash_at_write", "power", "slow_store"),
    budget=240,
)
def _begun_again(swap: Swap) -> None:
    async def never(self: Any, *_: Any) -> bool:
        return False

    def trusting(self: Any, view: Any, surroundings: Any) -> None:
        before(self, view, surroundings)
        self.handed_over = False

    before = Doubts.__init__
    swap(Doubts, "begun", never)
    swap(Doubts, "__init__", trusting)


# ----------------------------------------------------------------------------------------------- requests


@planted(
    "a rule's answer that comes too late raises in the task that reads the agent (1)",
    oracles=("task_died", "not_quiet"),
    faults=("interrupt", "rules", "slow_store", "slow_threads"),
    budget=60,
)
def _late_rule_raises(swap: Swap) -> None:
    async def opened(self: Any, event: m.RequestOpened) -> None:
        if await self._resumption.opened(event):
            return
        services, view = self._conductor.services, self._conductor.log.outline()
        verdict = decide(event.request, mode=view.mode, operator=services.rules, session=view.rules)
        if verdict is not None and self._conductor.agent is not None:
            await self.answer(event.request.id, verdict.answer, verdict.by, POLICY)
            return
        self._set_timer(event.request.id)

    swap(Desk, "opened", opened)


@planted(
    "an answer is sent to the agent before it is stored",
    oracles=("ran_unasked", "invariant", "answer_lost", "two_winners", "not_quiet"),
    faults=("slow_store", "crash", "power"),
    budget=60,
)
def _answer_sent_before_stored(swap: Swap) -> None:
    append = SessionLog.append

    async def appending(self: Any, events: Sequence[Any], **how: Any) -> None:
        if any(isinstance(event, m.RequestAnswered) for event in events):
            self.early = asyncio.get_running_loop().create_task(append(self, events, **how))
            return
        await append(self, events, **how)

    swap(SessionLog, "append", appending)


# -------------------------------------------------------------------------------------------------- store


@planted(
    "the record of an answer is written a moment after the answer, on its own",
    oracles=("audit",),
    faults=("crash", "power", "script"),
    budget=10,
)
def _audit_after_the_answer(swap: Swap) -> None:
    store = SessionLog._store

    async def write_later(self: Any, audit: Sequence[bytes]) -> None:
        await asyncio.sleep(1.0)
        await self.store.audit.append(audit)

    async def storing(self: Any, events: list[Encoded], *, audit: Sequence[bytes], **how: Any) -> None:
        await store(self, events, audit=(), **how)
        if audit:
            spawn(write_later(self, audit), name="audit record")

    swap(SessionLog, "_store", storing)


@planted(
    "nothing is synced: a durable append is an ordinary one",
    oracles=("prompt_lost", "answer_lost", "ran_unasked", "not_quiet", "call_fails"),
    faults=("power", "slow_store", "script"),
    budget=30,
)
def _sync_skipped(swap: Swap) -> None:
    store = SessionLog._store

    async def storing(self: Any, events: list[Encoded], *, durable: bool, **how: Any) -> None:
        await store(self, events, durable=False, **how)

    swap(SessionLog, "_store", storing)


@planted(
    "an append that is tried again is written twice",
    oracles=("invariant", "fenced", "not_quiet", "reader_differs", "reader_lags", "task_died"),
    faults=("busy",),
    budget=20,
)
def _appended_twice(swap: Swap) -> None:
    async def storing(self: Any, events: list[Encoded], *, durable: bool, **how: Any) -> None:
        try:
            await self.store.append(self.session, self.epoch, self.last_seq, events, durable=durable)
        except StoreError:
            await asyncio.sleep(0.05)
            await self.store.append(self.session, self.epoch, self.last_seq, events, durable=durable)
            last = events[-1].envelope
            again = Encoded.of(msgspec.structs.replace(last, seq=last.seq + 1))
            await self.store.append(self.session, self.epoch, last.seq, [again], durable=durable)

    swap(SessionLog, "_store", storing)


@planted(
    "nobody hears that a task of a session has failed (3, 19)",
    oracles=("not_quiet", "call_hangs", "stranded", "prompt_lost", "stop_hangs"),
    faults=("busy", "slow_store", "keep"),
    budget=120,
)
def _failure_not_heard(swap: Swap) -> None:
    def ignore(self: Any, problem: BaseException) -> None:
        return

    def impatient(self: Any) -> Any:
        return nullcontext()

    swap(SessionLife, "_failed", ignore)
    swap(SessionLog, "patiently", impatient)


# ------------------------------------------------------------------------------------------------- agents


@planted(
    "the lock on a conversation is not freed when its agent has ended",
    oracles=("leak", "turn_fails", "not_quiet"),
    faults=("script", "evict"),
    budget=10,
)
def _lock_not_freed(swap: Swap) -> None:
    def keep(self: Any) -> None:
        return

    swap(Agent, "_free", keep)


@planted(
    "the timers of requests go on after the session is let go of",
    oracles=("leak",),
    faults=("request_timeout", "stop", "silent"),
    budget=60,
)
def _timer_not_stopped(swap: Swap) -> None:
    def leave_running(self: Any) -> None:
        return

    swap(Desk, "stop_waiting", leave_running)


@planted(
    "an idle agent is ended outside the mailbox, so that a prompt meets one that is ending (21)",
    oracles=("turn_fails",),
    faults=("evict", "slow_wire"),
    budget=240,
)
def _evicted_beside_the_mailbox(swap: Swap) -> None:
    async def evict(self: Any, *, idle: bool = False) -> None:
        agent = self._conductor.agent if self.attached else None
        if agent is not None and not self.busy:
            await agent.end(close_wait=2.0)

    swap(SessionLife, "evict", evict)


@planted(
    "the eviction of an idle agent ends its background tasks (8)",
    oracles=("task_lost",),
    faults=("evict", "script"),
    budget=30,
)
def _background_tasks_evicted(swap: Swap) -> None:
    evict = SessionLife._evict

    async def evicting(self: Any, *, idle: bool) -> None:
        await evict(self, idle=False)

    def choose(sessions: Any, **how: Any) -> Any:
        return [each for each in sessions if each.attached and not each.busy]

    swap(SessionLife, "_evict", evicting)
    swap(hub_module, "choose_evictions", choose)


# ---------------------------------------------------------------------------------------------------- hub


@planted(
    "a new session gets its entry after it is stored: a poller opens a second one (20, N8)",
    oracles=("fenced", "leak", "call_fails", "not_quiet", "task_died"),
    faults=("poller", "slow_store"),
    budget=30,
)
def _created_before_its_entry(swap: Swap) -> None:
    async def create(self: Any, spec: Any, *, title: str = "", resume: Any = None) -> Any:
        session = self._surroundings.new_id()
        made = await self._begin(session, spec, title, resume)
        self._entries[session] = hub_module.Open(made)
        return made

    swap(Hub, "create", create)


@planted(
    "a start does not look for sessions in which prompts wait (N6)",
    oracles=("stranded",),
    faults=("crash", "power", "stop", "retry", "slow_threads"),
    budget=120,
)
def _start_ignores_the_queue(swap: Swap) -> None:
    async def take_up(self: Any) -> None:
        page = await self._services.store.projections.unfinished()
        for row in page.items:
            if row.attached or (row.turn is not None and not row.open_requests):
                await self._wake(row.session)

    swap(Hub, "take_up_left", take_up)


@planted(
    "a session that cannot be woken at the start is not tried again",
    oracles=("stranded", "not_quiet", "prompt_lost"),
    faults=("crash", "power", "full", "slow_wire"),
    budget=160,
)
def _woken_once(swap: Swap) -> None:
    async def wake(self: Any, session: Any) -> None:
        await self._try_to_wake(session)

    swap(Hub, "_wake", wake)


@planted(
    "closing stops where its caller hangs up",
    oracles=("not_quiet", "prompt_lost"),
    faults=("close", "hang_up", "slow_store"),
    budget=240,
)
def _closing_is_the_callers(swap: Swap) -> None:
    async def close(self: Any, reason: str = "") -> None:
        problem = await self._close(reason)
        if problem is not None:
            raise problem

    swap(SessionLife, "close", close)


@planted(
    "a deleted session loses its entry before it is released: a reader opens it again (5)",
    oracles=("ghost", "fenced", "livelock", "not_quiet", "call_fails", "leak", "task_died"),
    faults=("delete", "poller", "slow_store"),
    budget=40,
)
def _deleted_without_an_entry(swap: Swap) -> None:
    async def delete(self: Any, session: Any) -> None:
        entry = self._entries.pop(session, None)
        if isinstance(entry, hub_module.Open):
            await self._stop(entry.session, leave=False)
        await self._erase(session)

    swap(Hub, "delete", delete)


@planted(
    "a session is released while a piece of work still starts its agent: nobody owns that (N1)",
    oracles=("leak", "task_died", "not_quiet"),
    faults=("delete", "stop", "slow_threads", "slow_keeper"),
    budget=160,
)
def _released_while_starting(swap: Swap) -> None:
    async def settled(self: Any) -> bool:
        return True

    swap(SessionLife, "_settled", settled)


@planted(
    "a call on a session that is being released gets an error of ours (N4)",
    oracles=("call_fails",),
    faults=("close", "delete", "slow_store"),
    budget=80,
)
def _closed_mailbox_raises(swap: Swap) -> None:
    async def run(self: Any, work: Any) -> Any:
        return await self._mailbox.do(work)

    swap(SessionLife, "_run", run)
    swap(SessionLife, "_check_open", lambda self: None)


@planted(
    "the hub closes without a look at sessions that are being opened (N7)",
    oracles=("leak", "call_fails"),
    faults=("stop", "poller", "slow_store", "slow_reads"),
    budget=30,
)
def _closed_while_opening(swap: Swap) -> None:
    async def end(self: Any, *, leave: bool) -> None:
        await self._sweeper.cancel()
        await self._services.warm.close()
        for session in self.live:
            await self._stop(session, leave=leave and session.working)

    swap(Hub, "_end", end)


@planted(
    "a result that a killed agent reported and did not save is not added to its transcript: it asks for the call again",
    oracles=("invariant",),
    faults=("script", "agent_dies", "crash_keeper", "keep"),
    budget=400,
)
def _told_results_not_written(swap: Swap) -> None:
    record = Resumption._record

    async def only_cancelled(self: Any, results: tuple[Recorded, ...]) -> None:
        await record(self, tuple(each for each in results if each.is_error and each.text in (NOT_RUN, MAY_HAVE_RUN)))

    swap(Resumption, "_record", only_cancelled)
