"""Appends per second of the SQLite store, visible and fsynced, beside a bare fsynced file in the same run.

There are two bare files, as there are two readings of the goal: a plain loop with one write and one fdatasync per
event, and the same callers as the store has, whose events one thread writes and syncs in groups. Ratios are taken round
by round, as a busy machine slows both.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from operator import truediv
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import Final

import msgspec

from bench.sheet import Sheet, at_least, middle, spread
from bench.stage import Stage
from footplate.events.ids import MessageId, SessionId
from footplate.events.model import Envelope, Message
from footplate.store.sqlite import SqliteStore
from footplate.store.values import Encoded

GOAL: Final = 0.4
TEXT: Final = "x" * 330
"""What makes an event of some 440 bytes: a paragraph of an answer."""

VISIBLE, FSYNCED, GROUPED, EACH = "visible", "fsynced", "bare file, grouped", "bare file, one by one"
HEAD: Final = (
    "appends per second",
    "sessions",
    "median",
    "lowest-highest",
    "p50 ms",
    "p99 ms",
    "x one by one",
    "x grouped",
)


class Scale(msgspec.Struct, frozen=True, kw_only=True):
    """How much is measured."""

    sessions: tuple[int, ...] = (1, 10, 100)
    seconds: float = 0.6
    rounds: int = 7


QUICK: Final = Scale(seconds=0.1, rounds=1)


class Samples:
    """What every way of appending did, round by round."""

    def __init__(self) -> None:
        self.rates: defaultdict[tuple[str, int], list[float]] = defaultdict(list)
        self.latencies: defaultdict[tuple[str, int], list[float]] = defaultdict(list)

    def take(self, name: str, sessions: int, run: Run) -> None:
        """Keep the rate of one run, and how long each append took."""
        self.rates[name, sessions].append(run.count / run.seconds)
        self.latencies[name, sessions] += run.latencies

    def ratios(self, name: str, sessions: int, unit: str, among: int) -> list[float]:
        """How many times as many as the unit, round by round."""
        return list(map(truediv, self.rates[name, sessions], self.rates[unit, among]))


class Run(msgspec.Struct, kw_only=True):
    """Appends for some time, and how long each of them took."""

    count: int = 0
    seconds: float = 0.0
    latencies: list[float] = []


def measure_appends(stage: Stage, scale: Scale) -> Sheet:
    """All ways side by side, each round anew."""
    folder = stage.home / "appends"
    folder.mkdir()
    samples = Samples()
    _store(folder, 1, scale.seconds / 2, durable=True)
    for _ in range(scale.rounds):
        samples.take(EACH, 1, one_by_one(folder / "bare", scale.seconds))
        for sessions in scale.sessions:
            samples.take(GROUPED, sessions, asyncio.run(grouped(folder / "bare", sessions, scale.seconds)))
            samples.take(VISIBLE, sessions, _store(folder, sessions, scale.seconds, durable=False))
            samples.take(FSYNCED, sessions, _store(folder, sessions, scale.seconds, durable=True))
    return _sheet(samples, scale)


# ------------------------------------------------------------------------------------------------- the store


def _store(folder: Path, sessions: int, seconds: float, *, durable: bool) -> Run:
    """Append to a new store with so many sessions at a time."""
    place = folder / "store"
    try:
        return asyncio.run(_append(place, sessions, seconds, durable=durable))
    finally:
        shutil.rmtree(place)


async def _append(place: Path, sessions: int, seconds: float, *, durable: bool) -> Run:
    async with await SqliteStore.open(place) as store:
        epochs = [(await store.claim(_session(number))).epoch for number in range(sessions)]

        async def append(number: int, seq: int) -> None:
            session, epoch = _session(number), epochs[number]
            await store.append(session, epoch, seq - 1, [event(session, epoch, seq)], durable=durable)

        return await _all_at_once(sessions, seconds, append)


async def _all_at_once(sessions: int, seconds: float, append: Callable[[int, int], Awaitable[None]]) -> Run:
    """Every session appends its events one after another, all sessions at the same time."""
    run = Run()
    begun = time.perf_counter()
    until = begun + seconds

    async def one(number: int) -> None:
        seq, before = 0, time.perf_counter()
        while before < until:
            seq += 1
            await append(number, seq)
            after = time.perf_counter()
            run.latencies.append(after - before)
            before = after
        run.count += seq

    await asyncio.gather(*map(one, range(sessions)))
    run.seconds = time.perf_counter() - begun
    return run


def event(session: SessionId, epoch: int, seq: int) -> Envelope:
    """One event of the usual size."""
    message = Message(message=MessageId(f"m{seq}"), part=0, text=TEXT)
    return Envelope(seq=seq, time=1.7e9 + seq, session=session, epoch=epoch, event=message)


def _session(number: int) -> SessionId:
    return SessionId(f"s{number:03}")


# ------------------------------------------------------------------------------------------------ bare files


@contextmanager
def _bare_file(path: Path) -> Iterator[int]:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
        path.unlink()


def one_by_one(path: Path, seconds: float) -> Run:
    """One write and one fdatasync per event, ready encoded: what the disk gives."""
    body = _line(0, 1)
    run = Run()
    with _bare_file(path) as descriptor:
        begun = now = time.perf_counter()
        while now < begun + seconds:
            os.write(descriptor, body)
            os.fdatasync(descriptor)
            before, now = now, time.perf_counter()
            run.latencies.append(now - before)
    run.count, run.seconds = len(run.latencies), now - begun
    return run


async def grouped(path: Path, sessions: int, seconds: float) -> Run:
    """The callers of the store on a bare file: they encode, a thread writes what there is and syncs it once."""
    loop = asyncio.get_running_loop()
    handed: SimpleQueue[tuple[bytes, asyncio.Future[None]] | None] = SimpleQueue()

    async def append(number: int, seq: int) -> None:
        done: asyncio.Future[None] = loop.create_future()
        handed.put((_line(number, seq), done))
        await done

    with _bare_file(path) as descriptor:
        thread = Thread(target=_write_groups, args=(descriptor, handed, loop))
        thread.start()
        run = await _all_at_once(sessions, seconds, append)
        handed.put(None)
        thread.join()
    return run


def _write_groups(
    descriptor: int,
    handed: SimpleQueue[tuple[bytes, asyncio.Future[None]] | None],
    loop: asyncio.AbstractEventLoop,
) -> None:
    """In the thread: whatever waits is one write and one sync."""
    while (first := handed.get()) is not None:
        group = [first, *filter(None, (handed.get() for _ in range(handed.qsize())))]
        os.write(descriptor, b"".join([line for line, _ in group]))
        os.fdatasync(descriptor)
        loop.call_soon_threadsafe(_settle, [done for _, done in group])


def _settle(group: list[asyncio.Future[None]]) -> None:
    for done in group:
        done.set_result(None)


def _line(number: int, seq: int) -> bytes:
    return Encoded.of(event(_session(number), 1, seq)).body + b"\n"


# -------------------------------------------------------------------------------------------------- the sheet


def _sheet(samples: Samples, scale: Scale) -> Sheet:
    most = max(scale.sessions)
    ways = [(EACH, 1), *((name, sessions) for sessions in scale.sessions for name in (GROUPED, VISIBLE, FSYNCED))]
    each = samples.ratios(FSYNCED, most, EACH, 1)
    group = samples.ratios(FSYNCED, most, GROUPED, most)
    goal = f"appends: {most} sessions, fsynced, at least {GOAL:g}x a bare file"
    return Sheet(
        name="appends",
        title=f"events of {len(_line(0, 1))} bytes, {scale.seconds:g} s each, median of {scale.rounds}",
        head=HEAD,
        rows=tuple(_cells(samples, name, sessions) for name, sessions in ways),
        samples={f"{name}, {sessions}": samples.rates[name, sessions] for name, sessions in ways},
        goals=(
            at_least(f"{goal} with an fdatasync per event", each, GOAL),
            at_least(f"{goal} that the same {most} callers share, grouped", group, GOAL),
        ),
    )


def _cells(samples: Samples, name: str, sessions: int) -> tuple[str, ...]:
    rates, latencies = samples.rates[name, sessions], sorted(samples.latencies[name, sessions])
    return (
        name,
        str(sessions),
        middle(rates, ",.0f"),
        spread(rates, ",.0f"),
        f"{latencies[len(latencies) // 2] * 1e3:.2f}",
        f"{latencies[int(len(latencies) * 0.99)] * 1e3:.2f}",
        middle(samples.ratios(name, sessions, EACH, 1), ".2f"),
        middle(samples.ratios(name, sessions, GROUPED, sessions), ".2f") if name != EACH else "-",
    )
