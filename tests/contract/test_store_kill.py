"""kill -9 in the middle of ten thousand appends, a hundred times: every acknowledged event is there, without a hole."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from footplate.events.ids import SessionId
from footplate.store.sqlite import SqliteStore

APPENDS = 10_000
KILLS = 100
MOST_SEEN = 1_500
"""Each child is killed after a random number of its acknowledgements was seen, at most this many."""


@contextmanager
def nursery(folder: Path) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "tests.contract.store_nursery", str(folder), str(APPENDS)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def kill_one(process: subprocess.Popen[str], seen: int) -> dict[SessionId, int]:
    """Let a child append until so many acknowledgements were seen, kill it; the last acknowledged of each session."""
    assert process.stdin
    assert process.stdout
    process.stdin.write("go\n")
    process.stdin.flush()
    word, pid = process.stdout.readline().split()
    assert word == "born"
    acknowledged: dict[SessionId, int] = {}
    count, killed = 0, False
    for line in process.stdout:
        if count >= seen and not killed:
            os.kill(int(pid), signal.SIGKILL)
            killed = True
        if line == "gone\n":
            break
        session, seq = line.split()
        acknowledged[SessionId(session)] = int(seq)
        count += 1
    assert count < APPENDS, "the child was done before it was killed"
    return acknowledged


async def verify(folder: Path, acknowledged: dict[SessionId, int], known: dict[SessionId, int]) -> None:
    """What came since the last round is dense, is what was written, and holds all that was acknowledged."""
    async with await SqliteStore.open(folder) as store:
        for session, least in acknowledged.items():
            after = known.get(session, 0)
            while rows := await store.read(session, after):
                texts = [row.envelope().event for row in rows]
                assert [row.seq for row in rows] == list(range(after + 1, after + 1 + len(rows)))
                assert [getattr(event, "text", None) for event in texts] == [f"{session} {row.seq}" for row in rows]
                after = rows[-1].seq
            row = await store.projections.session(session)
            assert row is not None
            assert row.last_seq == after >= least
            known[session] = after


async def check(folder: Path, known: dict[SessionId, int]) -> None:
    async with await SqliteStore.open(folder) as store:
        assert await store.check() == ()
        assert {session: await store.last_seq(session) for session in known} == known
        before = await store.projections.sessions()
        await store.rebuild_projections()
        assert await store.projections.sessions() == before


@pytest.mark.timeout(180)
@pytest.mark.long
def test_nothing_acknowledged_is_lost_by_a_hundred_kills(tmp_path: Path) -> None:
    dice = random.Random()
    known: dict[SessionId, int] = {}
    with nursery(tmp_path) as process:
        for _ in range(KILLS):
            asyncio.run(verify(tmp_path, kill_one(process, dice.randint(0, MOST_SEEN)), known))
    asyncio.run(check(tmp_path, known))
    assert sum(known.values()) > KILLS * MOST_SEEN / 4
