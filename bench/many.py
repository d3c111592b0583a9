"""A store with many sessions: how long a service takes to start on it, and what lists and searches take over HTTP."""

from __future__ import annotations

import asyncio
import json
import random
import shutil
import statistics
import time
from pathlib import Path
from typing import Final

import msgspec

from bench.goals import Verdict
from bench.servers import Server, ours, running
from bench.sheet import Sheet, below, middle, spread
from bench.stage import NotMeasured, Stage
from footplate.events import model as m
from footplate.events.ids import EngineSessionId, PromptId, SessionId, TurnId
from footplate.runtime.service import STORE
from footplate.store.sqlite import SqliteStore

START_FACTOR: Final = 3.0
SEARCH_MS: Final = 100.0
START: Final = "start to healthy"
NO_HIT: Final = "search, no hit"
CALLS: Final = {
    "list": "limit=100",
    "list, closed": "limit=100&state=closed",
    "list, one folder": "limit=100&cwd=/work/project-7",
    "list, archived": "limit=100&archived=1",
    "list, asking": "limit=100&asking=1",
    NO_HIT: "limit=100&q=no%20such%20session",
    "search, two letters, no hit": "limit=100&q=%23%23",
    "search, one hit": "limit=100&q=number%2042%20",
    "search, hits everywhere": "limit=100&q=project",
}
WORDS: Final = ("fix", "the", "login", "page", "retry", "parser", "of", "orders", "tests", "for", "cart", "cache")
LETTERS: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
TOGETHER: Final = 400


class Scale(msgspec.Struct, frozen=True, kw_only=True):
    """How much is measured."""

    sessions: tuple[int, ...] = (100, 10_000, 100_000)
    starts: int = 5
    calls: int = 15


QUICK: Final = Scale(sessions=(20, 200), starts=1, calls=2)
Samples = dict[tuple[str, int], list[float]]


def measure_many(stage: Stage, scale: Scale) -> Sheet:
    """For each number of sessions a store of its own, and a server on it that is started a few times."""
    title = f"one store, {scale.starts} starts, {scale.calls} calls of each kind, ms"
    samples: Samples = {}
    contestant = ours(stage)
    data = contestant.home / "data"
    try:
        for count in scale.sessions:
            asyncio.run(fill(data / STORE, count))
            for number in range(1 + scale.starts):
                with running(contestant) as server:
                    if number:  # the first start fills the caches
                        samples.setdefault((START, count), []).append(server.healthy_ms)
                    if number == scale.starts:
                        for name, query in CALLS.items():
                            samples[name, count] = [_time(server, query) for _ in range(scale.calls)]
            shutil.rmtree(data)
    except NotMeasured as why:
        return Sheet(name="many", title=title, why=str(why))
    return _sheet(title, samples, scale)


def _time(server: Server, query: str) -> float:
    began = time.perf_counter()
    json.loads(server.call("GET", f"/api/sessions?{query}"))
    return (time.perf_counter() - began) * 1e3


async def fill(folder: Path, count: int) -> None:
    """So many sessions with one short turn each; every fourth is closed."""
    chance = random.Random(count)
    async with await SqliteStore.open(folder) as store:
        for start in range(0, count, TOGETHER):
            some = range(start, min(count, start + TOGETHER))
            await asyncio.gather(*(_add(store, number, chance) for number in some))
        await store.catch_up()


async def _add(store: SqliteStore, number: int, chance: random.Random) -> None:
    session, prompt, turn = SessionId("".join(chance.choices(LETTERS, k=26))), PromptId("p1"), TurnId("t1")
    title = " ".join([*chance.choices(WORDS, k=5), f"number {number} of many"])
    engine = "claude" if number % 10 else "codex"
    events: tuple[m.Event, ...] = (
        m.SessionOpened(engine=engine, cwd=f"/work/project-{number % 200}", title=title),
        m.PromptQueued(prompt=prompt, content=()),
        m.EngineAttached(engine=engine, engine_session_id=EngineSessionId(f"engine-{number}")),
        m.TurnStarted(turn=turn, prompts=(prompt,)),
        m.Notice(level="info", text="x" * 300),
        m.TurnEnded(turn=turn, ok=True),
        m.EngineDetached(reason="idle"),
        m.SessionClosed() if number % 4 == 3 else m.StateChanged(state="idle"),
    )
    lease = await store.claim(session)
    log = [
        m.Envelope(seq=seq, time=1.7e9 + 60 * number + seq, session=session, epoch=lease.epoch, event=event)
        for seq, event in enumerate(events, 1)
    ]
    await store.append(session, lease.epoch, 0, log)


def _sheet(title: str, samples: Samples, scale: Scale) -> Sheet:
    names = (START, *CALLS)
    most = max(scale.sessions)
    return Sheet(
        name="many",
        title=title,
        head=("", *(f"{count:,} sessions" for count in scale.sessions), "lowest-highest"),
        rows=tuple(
            (
                name,
                *(middle(samples[name, count], ",.1f") for count in scale.sessions),
                spread(samples[name, most], ",.1f"),
            )
            for name in names
        ),
        samples={f"{name}, {count} sessions": found for (name, count), found in samples.items()},
        goals=(
            _judge_start(samples, scale),
            below(f"many: {NO_HIT} under {SEARCH_MS:g} ms", samples[NO_HIT, most], SEARCH_MS, " ms"),
        ),
    )


def _judge_start(samples: Samples, scale: Scale) -> Verdict:
    few, most = min(scale.sessions), max(scale.sessions)
    factor = statistics.median(samples[START, most]) / statistics.median(samples[START, few])
    goal = f"many: a start with {most:,} sessions takes at most {START_FACTOR:g}x that with {few:,}"
    return Verdict(goal=goal, found=f"{factor:.2f}x", met=factor <= START_FACTOR)
