"""The table of processes: running to the end, starting, output, input, ends with all descendants, restarts."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest

from footplate.config.machine import ProcessesSettings
from footplate.errors import Conflict, InputTooLarge, NotFound, ProcessNotStarted, RequestError
from footplate.host.process import Keeper
from footplate.host.table import look, start_time
from footplate.runtime.child import Child, ChildInfo, ChildRecord
from footplate.runtime.children import TABLE, Asked, Children, Limits
from footplate.runtime.output import Output
from footplate.store.memory import MemoryStore

ENV = {"PATH": os.environ["PATH"], "SECRET": "s", "LET_THROUGH": "yes"}
WAIT = 30.0


@asynccontextmanager
async def opened(store: MemoryStore, home: Path, **settings: object) -> AsyncIterator[Children]:
    chosen = msgspec.convert(settings, ProcessesSettings)
    async with (
        Keeper.start() as keeper,
        Children.open(
            keeper, store, settings=chosen, environ={**ENV, "HOME": str(home)}, folder=home / "processes"
        ) as children,
    ):
        yield children


@pytest.fixture
async def store() -> AsyncIterator[MemoryStore]:
    store = MemoryStore()
    yield store
    await store.close()


@pytest.fixture
async def children(store: MemoryStore, tmp_path: Path) -> AsyncIterator[Children]:
    async with opened(store, tmp_path) as children:
        yield children


def sh(script: str) -> Asked:
    return Asked(command="sh", args=("-c", script))


def said(child: Child) -> bytes:
    return b"".join(piece.data for piece in child.output.after(0))


async def until(child: Child, fact: Callable[[], object]) -> None:
    bell = child.output.follow()
    try:
        async with asyncio.timeout(WAIT):
            while not fact():
                bell.clear()
                await bell.wait()
    finally:
        child.output.leave(bell)


def alive(pid: int) -> bool:
    return look(pid) is not None


# ---- running to the end ----


async def test_a_run_gives_both_outputs_and_the_code(children: Children) -> None:
    ran = await children.run(sh("echo out; echo err >&2; exit 3"))
    assert (ran.exit_code, ran.stdout, ran.stderr, ran.timed_out) == (3, "out\n", "err\n", False)


async def test_a_run_has_the_folder_and_the_variables_it_asked_for_and_none_of_ours(
    children: Children, tmp_path: Path
) -> None:
    asked = Asked(command="sh", args=("-c", "pwd; env"), cwd="/", env={"FOO": "bar"})
    ran = await children.run(asked)
    lines = ran.stdout.splitlines()
    assert lines[0] == "/"
    assert "FOO=bar" in lines
    assert not [line for line in lines if line.startswith(("SECRET", "LET_THROUGH"))]
    assert (await children.run(Asked(command="pwd"))).stdout == f"{tmp_path}\n"


async def test_the_operator_lets_further_variables_through(store: MemoryStore, tmp_path: Path) -> None:
    async with opened(store, tmp_path, env_pass=("LET_*",)) as children:
        assert "LET_THROUGH=yes" in (await children.run(Asked(command="env"))).stdout


async def test_a_run_is_cut_at_its_limit_and_goes_on_to_its_end(children: Children) -> None:
    ran = await children.run(sh("yes | head -c 3000000; echo done >&2"), max_output_bytes=10)
    assert (ran.stdout, ran.stdout_truncated, ran.stderr, ran.stderr_truncated) == ("y\n" * 5, True, "done\n", False)
    assert ran.exit_code == 0


async def test_a_run_that_takes_too_long_is_ended_with_all_that_it_started(children: Children) -> None:
    """A grandchild that holds the pipe, in a session of its own, that ignores SIGTERM."""
    ran = await children.run(
        sh("setsid sh -c 'trap \"\" TERM; echo $$; while :; do sleep 1; done' & wait"), timeout_ms=2000
    )
    assert (ran.timed_out, ran.exit_code) == (True, None)
    assert not ran.stdout or not alive(int(ran.stdout))


async def test_a_run_does_not_wait_for_what_it_left_in_the_background(children: Children) -> None:
    ran = await children.run(sh("sleep 300 & echo $!"), timeout_ms=60_000)
    assert (ran.timed_out, ran.exit_code) == (False, 0)
    async with asyncio.timeout(WAIT):
        while alive(int(ran.stdout)):  # noqa: ASYNC110  the sweep tells nobody
            await asyncio.sleep(0.01)


async def test_what_cannot_be_started_is_told(children: Children) -> None:
    for asked in (Asked(command="nonexistent-cmd"), Asked(command="pwd", cwd="/nonexistent")):
        with pytest.raises(ProcessNotStarted) as caught:
            await children.run(asked)
        assert str(caught.value) == "failed to spawn process: No such file or directory (os error 2)"
    for bad in (Asked(command=""), Asked(command="a\0b"), Asked(command="env", env={"A=B": "c"})):
        with pytest.raises(RequestError):
            await children.start(bad)
    assert children.list() == ()


# ---- starting ----


async def test_a_process_is_listed_followed_given_input_and_seen_to_its_end(children: Children) -> None:
    child = await children.start(sh("echo start; read x; echo got $x; echo e >&2; exit 4"), interactive=True)
    assert children.list() == (child.info,)
    assert (child.info.id, child.info.status, child.info.owner) == ("proc_1", "running", "user")
    await until(child, lambda: said(child) == b"start\n")
    assert await child.write(b"hey\n", 100) == 4
    assert await child.wait(WAIT)
    pieces = child.output.after(0)
    assert [piece.sequence for piece in pieces] == list(range(1, len(pieces) + 1))
    assert b"".join(piece.data for piece in child.output.after(0, "stdout")) == b"start\ngot hey\n"
    assert b"".join(piece.data for piece in child.output.after(0, "stderr")) == b"e\n"
    assert (child.info.exit_code, child.info.pid) == (4, None)
    with pytest.raises(Conflict, match="process is not running"):
        await child.write(b"x", 100)


async def test_output_without_a_line_end_is_there_at_once(children: Children) -> None:
    child = await children.start(sh("printf 'password: '; read x; printf $x"))
    await until(child, lambda: said(child) == b"password: ")
    await child.write(b"secret\n", 100)
    await child.wait(WAIT)
    assert said(child) == b"password: secret"


async def test_kill_takes_the_whole_tree_and_stop_asks_first(children: Children) -> None:
    child = await children.start(sh("trap '' TERM; setsid sleep 300 & echo $!; while :; do sleep 1; done"))
    await until(child, lambda: said(child).endswith(b"\n"))
    grandchild = int(said(child))
    child.stop()
    assert not await child.wait(0.3)
    child.kill()
    assert await child.wait(WAIT)
    assert (child.info.exit_code, child.info.status) == (None, "exited")
    async with asyncio.timeout(WAIT):
        while alive(grandchild):  # noqa: ASYNC110  the sweep tells nobody
            await asyncio.sleep(0.01)
    polite = await children.start(sh("sleep 300"))
    polite.stop()
    assert await polite.wait(WAIT)


async def test_there_is_a_limit_and_what_has_ended_does_not_count(store: MemoryStore, tmp_path: Path) -> None:
    async with opened(store, tmp_path, max_concurrent=2) as children:
        first = await children.start(sh("sleep 300"))
        await children.start(sh("sleep 300"))
        with pytest.raises(Conflict, match=r"limit reached \(2\)"):
            await children.start(sh("true"))
        with pytest.raises(Conflict):
            await children.run(sh("true"))
        first.kill()
        assert await first.wait(WAIT)
        assert (await children.run(sh("true"))).exit_code == 0


async def test_what_has_ended_is_kept_for_a_while_and_can_be_removed(store: MemoryStore, tmp_path: Path) -> None:
    async with opened(store, tmp_path, keep_exited=2) as children:
        for _ in range(4):
            child = await children.start(sh("true"))
            assert await child.wait(WAIT)
        assert [info.id for info in children.list()] == ["proc_3", "proc_4"]
        await children.delete("proc_3")
        with pytest.raises(NotFound):
            await children.delete("proc_3")
        running = await children.start(sh("sleep 300"))
        with pytest.raises(Conflict, match="still running"):
            await children.delete(running.info.id)
    async with opened(store, tmp_path, keep_exited_s=0.0001) as children:
        assert children.list() == ()


async def test_the_limits_can_be_changed_and_must_be_above_zero(children: Children) -> None:
    children.set_limits(msgspec.structs.replace(children.limits, max_output_bytes=3))
    assert (await children.run(sh("echo 12345"))).stdout == "123"
    with pytest.raises(RequestError, match=r"^maxLogBytesPerProcess must be greater than 0$"):
        children.set_limits(msgspec.structs.replace(children.limits, max_log_bytes_per_process=0))
    assert isinstance(children.limits, Limits)


# ---- input ----


async def test_a_process_that_does_not_read_makes_nobody_wait_for_ever(children: Children) -> None:
    child = await children.start(sh("sleep 300"))
    limit = 64 * 1024
    with pytest.raises(InputTooLarge, match="65537 bytes"):
        await child.write(bytes(limit + 1), limit)
    for _ in range(3):  # the pipe holds one of them, the others wait by themselves
        assert await child.write(bytes(limit), limit) == limit
    with pytest.raises(Conflict, match="does not read its input; 131072 bytes wait"):
        await child.write(b"x", limit // 8)
    child.kill()
    assert await child.wait(WAIT)


# ---- terminals ----


async def test_a_process_may_have_a_terminal(children: Children) -> None:
    child = await children.start(sh("tty; stty size; echo $TERM; read x; echo got:$x"), tty=True, size=(30, 100))
    await until(child, lambda: b"xterm-256color" in said(child))
    lines = said(child).decode().split("\r\n")
    assert lines[0].startswith("/dev/pts/")
    assert lines[1:3] == ["30 100", "xterm-256color"]
    await child.write(b"hello\r", 100)
    assert await child.wait(WAIT)
    assert said(child).endswith(b"got:hello\r\n")
    assert {piece.stream for piece in child.output.after(0)} == {"pty"}
    assert child.info.exit_code == 0


async def test_a_terminal_controls_its_process(children: Children) -> None:
    child = await children.start(
        sh("trap 'echo winch' WINCH; trap 'echo int; exit 5' INT; echo on; while :; do sleep 0.1; done"), tty=True
    )
    await until(child, lambda: b"on\r\n" in said(child))
    child.resize(50, 120)
    await until(child, lambda: b"winch" in said(child))
    await child.write(b"\x03", 100)
    assert await child.wait(WAIT)
    assert child.info.exit_code == 5


async def test_a_shell_on_a_terminal_ends_when_it_is_asked_and_takes_its_jobs_along(children: Children) -> None:
    child = await children.start(Asked(command="bash", args=("--norc", "-i")), tty=True)
    await child.write(b"sleep 300 & echo job:$!:\r", 1000)
    await until(child, lambda: re.search(rb"job:\d+:", said(child)))
    job = int(re.findall(rb"job:(\d+):", said(child))[0])
    child.stop()
    assert await child.wait(WAIT)
    async with asyncio.timeout(WAIT):
        while alive(job):  # noqa: ASYNC110  the sweep tells nobody
            await asyncio.sleep(0.01)


async def test_a_process_without_a_terminal_has_no_size(children: Children) -> None:
    child = await children.start(sh("sleep 300"))
    with pytest.raises(Conflict, match="process is not running in tty mode"):
        child.resize(10, 10)


# ---- output ----


async def test_the_oldest_output_goes_first_and_numbers_stay_dense() -> None:
    output = Output(2000)
    for number in range(1, 101):
        output.add("stdout" if number % 2 else "stderr", b"%d" % number, 0)
    kept = output.after(0)
    assert [piece.sequence for piece in kept] == list(range(output.first, 101))
    assert 5 < len(kept) < 20
    assert [piece.sequence for piece in output.after(98)] == [99, 100]
    assert [piece.sequence for piece in output.after(97, "stderr")] == [98, 100]
    assert output.after(100) == []
    output.add("stdout", bytes(100_000), 0)
    assert [piece.sequence for piece in output.after(0)] == [101]


# ---- restarts ----


async def test_the_table_survives_the_service_and_says_what_was_lost(store: MemoryStore, tmp_path: Path) -> None:
    async with opened(store, tmp_path) as children:
        done = await children.start(sh("exit 7"))
        assert await done.wait(WAIT)
        running = await children.start(sh("echo here; sleep 300"))
        await until(running, lambda: said(running) == b"here\n")
        pid = running.info.pid
        assert pid is not None
        record = await store.documents(TABLE).get("proc_2")
        assert record is not None
    assert not alive(pid)
    await store.documents(TABLE).put("proc_2", record.body)  # as if that service had been killed
    async with opened(store, tmp_path) as children:
        first, second = children.list()
        assert (first.id, first.exit_code, first.lost) == ("proc_1", 7, False)
        assert (second.id, second.status, second.exit_code, second.lost) == ("proc_2", "exited", None, True)
        assert said(children.get("proc_2")) == b"here\n"
        assert (await children.start(sh("true"))).info.id == "proc_3"
        await children.get("proc_3").wait(WAIT)
        await children.delete("proc_3")
    async with opened(store, tmp_path) as children:
        assert (await children.start(sh("true"))).info.id == "proc_4"


async def test_what_still_runs_is_found_again_and_can_be_ended(store: MemoryStore, tmp_path: Path) -> None:
    left = await asyncio.to_thread(subprocess.Popen, [sys.executable, "-c", "import time; time.sleep(300)"])
    try:
        info = ChildInfo(
            id="proc_9",
            command="python",
            args=(),
            tty=False,
            interactive=False,
            owner="user",
            status="running",
            created_at_ms=int(time.time() * 1000),
            pid=left.pid,
        )
        record = ChildRecord(info=info, pid=left.pid, start_time=start_time(left.pid), marker="of-nobody-else-9")
        await store.documents(TABLE).put("proc_9", msgspec.json.encode(record))
        async with opened(store, tmp_path) as children:
            child = children.get("proc_9")
            assert (child.info.status, child.info.pid, child.info.lost) == ("running", left.pid, True)
            with pytest.raises(Conflict, match="earlier service"):
                await child.write(b"x", 10)
        async with opened(store, tmp_path) as children:
            child = children.get("proc_9")
            assert child.running
            child.kill()
            waiting = asyncio.create_task(asyncio.to_thread(left.wait))
            assert await child.wait(WAIT)
            await waiting
            assert child.info.lost
    finally:
        left.kill()
        left.wait()
