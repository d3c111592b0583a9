"""Locks: one holder per key, in this process or another, known by name."""

from __future__ import annotations

import asyncio
import os
import subprocess
from pathlib import Path

import msgspec
import pytest

from footplate.errors import LockHeld
from footplate.host import locks
from footplate.host.locks import Holder, SessionLock, lock_name
from footplate.host.table import start_time

from .conftest import RunService

HOLD = """
import asyncio, sys
from footplate.host.locks import SessionLock
lock = SessionLock(sys.argv[1], sys.argv[2], what="the other one")
asyncio.run(lock.acquire())
print("held", flush=True)
sys.stdin.read()
lock.release()
"""


@pytest.fixture
def holder(tmp_path: Path, run_service: RunService) -> subprocess.Popen[bytes]:
    """Another process that holds the key until its stdin ends."""
    other = run_service(HOLD, str(tmp_path), "key")
    assert other.stdout is not None
    assert other.stdout.readline() == b"held\n"
    return other


async def test_a_free_lock_is_taken_and_its_file_names_the_holder(tmp_path: Path) -> None:
    async with SessionLock(tmp_path / "new" / "folder", "claude:1", what="session 7") as lock:
        me = Holder(pid=os.getpid(), start_time=start_time(os.getpid()), what="session 7")
        assert lock.holder() == me
    assert not lock.held
    assert list((tmp_path / "new" / "folder").iterdir()) == []


async def test_two_tasks_of_one_process_exclude_each_other(tmp_path: Path) -> None:
    async with SessionLock(tmp_path, "key", what="the first"):
        with pytest.raises(LockHeld) as caught:
            await SessionLock(tmp_path, "key").acquire()
    assert caught.value.holder == f"the first (pid {os.getpid()})"
    await (again := SessionLock(tmp_path, "key")).acquire()
    again.release()


async def test_two_keys_do_not_meet(tmp_path: Path) -> None:
    async with SessionLock(tmp_path, "a/b") as one, SessionLock(tmp_path, "a-b") as other:
        assert (one.held, other.held) == (True, True)


async def test_another_process_is_excluded_and_told_who_holds_it(
    tmp_path: Path, holder: subprocess.Popen[bytes]
) -> None:
    with pytest.raises(LockHeld, match=rf"key is held by the other one \(pid {holder.pid}\)"):
        await SessionLock(tmp_path, "key").acquire()


async def test_a_waiter_gets_the_lock_when_it_is_released(tmp_path: Path, holder: subprocess.Popen[bytes]) -> None:
    waiting = asyncio.create_task((lock := SessionLock(tmp_path, "key")).acquire(wait=True))
    await asyncio.sleep(0)
    assert not waiting.done()
    assert holder.stdin is not None
    holder.stdin.close()
    async with asyncio.timeout(5):
        await waiting
    assert lock.held
    lock.release()


async def test_the_lock_of_a_killed_process_is_free(tmp_path: Path, holder: subprocess.Popen[bytes]) -> None:
    holder.kill()
    async with asyncio.timeout(5), SessionLock(tmp_path, "key", wait=True) as lock:
        assert (told := lock.holder()) is not None
        assert told.pid == os.getpid()


async def test_a_lock_whose_holder_is_dead_is_told_as_that_of_an_agent_that_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with SessionLock(tmp_path, "key") as lock:
        gone = Holder(pid=os.getpid(), start_time=1, what="a service that was killed")
        lock.path.write_bytes(msgspec.json.encode(gone))
        monkeypatch.setattr(locks, "LEFT_S", 0.05)
        for wait in (False, True):
            with pytest.raises(LockHeld, match="an agent that goes on without its service"):
                await SessionLock(tmp_path, "key").acquire(wait=wait)


async def test_a_cancelled_waiter_leaves_nothing(tmp_path: Path) -> None:
    async with SessionLock(tmp_path, "key"):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await (waiter := SessionLock(tmp_path, "key")).acquire(wait=True)
        assert not waiter.held


async def test_many_waiters_hold_it_one_after_another(tmp_path: Path) -> None:
    inside: list[int] = []

    async def work(number: int) -> None:
        async with SessionLock(tmp_path, "key", wait=True):
            inside.append(number)
            assert len(inside) == 1
            await asyncio.sleep(0)
            inside.remove(number)

    async with asyncio.timeout(10), asyncio.TaskGroup() as group:
        for number in range(8):
            group.create_task(work(number))


async def test_one_object_takes_it_only_once(tmp_path: Path) -> None:
    async with SessionLock(tmp_path, "key") as lock:
        with pytest.raises(RuntimeError, match="taken already"):
            await lock.acquire()


@pytest.mark.parametrize("key", ["../../etc/passwd", "x" * 500, "", "a b\nc", "\u00e4"])
def test_any_key_makes_a_plain_file_name(key: str) -> None:
    name = lock_name(key)
    assert "/" not in name
    assert len(name) < 100
    assert name.endswith(".lock")
    assert not name.startswith(".")


async def test_what_is_held_goes_to_the_lock_whose_file_it_is(tmp_path: Path) -> None:
    await (taken := SessionLock(tmp_path, "announced")).acquire()
    expected, announced = SessionLock(tmp_path, "chosen"), SessionLock(tmp_path, "announced", what="the next service")
    expected.adopt(os.dup(taken.fd))
    taken.leave()
    assert not expected.give_to(SessionLock(tmp_path, "chosen"))
    assert expected.give_to(announced)
    assert (expected.held, announced.held) == (False, True)
    with pytest.raises(LockHeld, match="the next service"):
        await SessionLock(tmp_path, "announced").acquire()
    announced.release()
    await (free := SessionLock(tmp_path, "announced")).acquire()
    free.release()
