"""Journals of the SQLite store, as many connections use them: appends, pages read, and entries that readers wait for.

CPU is that of the whole process, the measuring included. Nothing here waits for the disk.
"""

from __future__ import annotations

import asyncio
import shutil
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Final

import msgspec

from bench.sheet import Sheet, below, middle, spread
from bench.stage import Stage
from footplate.store.base import Journal
from footplate.store.sqlite import SqliteStore

LIMIT_US: Final = 30.0
BODY: Final = msgspec.json.encode(
    {
        "jsonrpc": "2.0",
        "method": "session/update",
        "params": {
            "sessionId": "01J0SESSION",
            "update": {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "x" * 180}},
        },
    }
)

APPENDED, READ, PAGED = "appended", "read, pages of 1", "read, pages of 100"
FOLLOWED, SHARED = "followed, a journal each", "followed, one journal"
HEAD: Final = ("entries per second", "at a time", "median", "lowest-highest", "CPU us")


class Scale(msgspec.Struct, frozen=True, kw_only=True):
    """How much is measured."""

    journals: tuple[int, ...] = (1, 100, 500)
    seconds: float = 0.5
    rounds: int = 5


QUICK: Final = Scale(journals=(1, 20), seconds=0.05, rounds=1)


class Run(msgspec.Struct, frozen=True):
    """How many entries a second, and what one cost."""

    rate: float
    cpu_us: float


Samples = defaultdict[tuple[str, int], list[Run]]


def measure_journals(stage: Stage, scale: Scale) -> Sheet:
    """Every way with every number of journals, each round anew."""
    folder = stage.home / "journals"
    samples: Samples = defaultdict(list)
    for _ in range(scale.rounds):
        for count in scale.journals:
            try:
                asyncio.run(_measure(folder, count, scale.seconds, samples))
            finally:
                shutil.rmtree(folder)
    return _sheet(samples, scale)


async def _measure(folder: Path, count: int, seconds: float, samples: Samples) -> None:
    async with await SqliteStore.open(folder) as store:
        journals = [store.journal(f"connection {number}") for number in range(count)]

        async def append(number: int) -> int:
            await journals[number].append([BODY])
            return 1

        async def read_one(number: int) -> int:
            return len((await journals[number].read(0, 1)).entries)

        async def read_page(number: int) -> int:
            return len((await journals[number].read(0, 100)).entries)

        samples[APPENDED, count].append(await _all_at_once(count, seconds, append))
        samples[READ, count].append(await _all_at_once(count, seconds, read_one))
        for journal in journals:
            await journal.append([BODY] * 100)
        samples[PAGED, count].append(await _all_at_once(count, seconds, read_page))
        samples[FOLLOWED, count].append(await _follow(journals, [1] * count, seconds))
        samples[SHARED, count].append(await _follow([store.journal("shared")], [count], seconds))


async def _all_at_once(count: int, seconds: float, work: Callable[[int], Awaitable[int]]) -> Run:
    """So many callers, each one call after another; `work` says how many entries a call was."""
    done = [0] * count
    begun, cpu = time.perf_counter(), time.process_time()

    async def one(number: int) -> None:
        while time.perf_counter() < begun + seconds:
            done[number] += await work(number)

    await asyncio.gather(*map(one, range(count)))
    return _run(sum(done), begun, cpu)


async def _follow(journals: Sequence[Journal], readers: list[int], seconds: float) -> Run:
    """Each journal gets entries one by one, its readers wait for each: how many entries reached a reader."""
    starts = [(await journal.read(0, 1)).last for journal in journals]
    begun, cpu = time.perf_counter(), time.process_time()
    ends = [0] * len(journals)

    async def write(number: int) -> None:
        last = starts[number]
        while time.perf_counter() < begun + seconds:
            last = await journals[number].append([BODY])
        ends[number] = last
        await journals[number].append([b"end"])

    async def follow(number: int) -> int:
        count = 0
        async with aclosing(journals[number].tail(starts[number])) as tail:
            async for page in tail:
                count += len(page.entries)
                if page.entries[-1].body == b"end":
                    break
        return count - 1

    following = [asyncio.create_task(follow(number)) for number, many in enumerate(readers) for _ in range(many)]
    await asyncio.gather(*map(write, range(len(journals))))
    return _run(sum(await asyncio.gather(*following)), begun, cpu)


def _run(count: int, begun: float, cpu: float) -> Run:
    return Run(count / (time.perf_counter() - begun), (time.process_time() - cpu) / count * 1e6)


def _sheet(samples: Samples, scale: Scale) -> Sheet:
    most = max(scale.journals)
    ways = [(way, count) for way in (APPENDED, READ, PAGED, FOLLOWED, SHARED) for count in scale.journals]
    costs = {way: [run.cpu_us for run in samples[way]] for way in ways}
    return Sheet(
        name="journals",
        title=f"entries of {len(BODY)} bytes, {scale.seconds:g} s each, median of {scale.rounds}",
        head=HEAD,
        rows=tuple(
            (
                way,
                str(count),
                middle([run.rate for run in samples[way, count]], ",.0f"),
                spread([run.rate for run in samples[way, count]], ",.0f"),
                middle(costs[way, count], ".1f"),
            )
            for way, count in ways
        ),
        samples={f"{way}, {count}": [run.rate for run in samples[way, count]] for way, count in ways},
        goals=(below(f"journals: CPU of an append, {most} at a time", costs[APPENDED, most], LIMIT_US, " us"),),
    )
