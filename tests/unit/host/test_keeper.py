"""The keeper: small, alone, and nothing survives it, whoever is killed."""

from __future__ import annotations

import asyncio
import os
import resource
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from footplate.errors import KeeperGone, SpawnFailed
from footplate.host import process as process_module
from footplate.host.child import Process
from footplate.host.process import Exit, Keeper, Spawn
from footplate.host.table import look

from .conftest import ENV, Run, RunService, Until, no_agents, open_fds

SERVICE = """
import asyncio, os, signal, sys
from footplate.host.process import Keeper, Spawn

async def main():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    keeper = await Keeper.start(state_dir=sys.argv[2] if len(sys.argv) > 2 else None)
    agent = await keeper.spawn(Spawn(argv=("sh", "-c", sys.argv[1]), env={"PATH": os.environ["PATH"]}, cwd="/"))
    lines = (await agent.read()).lines.decode().strip()
    print(keeper.pid, agent.pid, lines, flush=True)
    await asyncio.to_thread(sys.stdin.read)
    await keeper.close()
    print(agent.exit.describe(), flush=True)

asyncio.run(main())
"""

FAMILY = "setsid sleep 300 & a=$!; env -i setsid sleep 300 & echo $a $!; "


async def pids_of(process: Process) -> list[int]:
    block = await process.read()
    assert block is not None
    return [int(word) for word in block.lines.split()]


def started(service: subprocess.Popen[bytes]) -> list[int]:
    assert service.stdout is not None
    return [int(word) for word in service.stdout.readline().split()]


# ---- what it is ----


def facts_of(pid: int) -> dict[str, object]:
    """Say what /proc tells of a process."""
    proc = Path(f"/proc/{pid}")
    links = [str(fd.readlink()).partition(":")[0] for fd in (proc / "fd").iterdir()]
    seen = look(pid)
    return {
        "fds": sorted(links),
        "environ": (proc / "environ").read_bytes(),
        "cwd": str((proc / "cwd").readlink()),
        "threads": len(list((proc / "task").iterdir())),
        "session": seen.session if seen else None,
        "msgspec": "msgspec" in (proc / "maps").read_text(),
    }


async def test_the_keeper_stands_alone() -> None:
    leak = os.open("/dev/zero", os.O_RDONLY)
    os.set_inheritable(leak, True)  # noqa: FBT003
    async with Keeper.start() as keeper:
        assert facts_of(keeper.pid) == {
            "fds": ["/dev/null", "/dev/null", "/dev/null", "pipe", "pipe", "socket"],
            "environ": b"",
            "cwd": "/",
            "threads": 1,
            "session": keeper.pid,
            "msgspec": False,
        }
    os.close(leak)


def resident_kilobytes(pid: int) -> int:
    return int(Path(f"/proc/{pid}/status").read_text().partition("VmRSS:")[2].split()[0])


def peak_kilobytes(pid: int) -> int:
    """The most memory that the process has had at once."""
    return int(Path(f"/proc/{pid}/status").read_text().partition("VmHWM:")[2].split()[0])


async def test_the_keeper_stays_small_with_twenty_agents(keeper: Keeper, run: Run) -> None:
    await asyncio.gather(*(run("exec sleep 300") for _ in range(20)))
    assert resident_kilobytes(keeper.pid) < 15_000
    assert len(await keeper.agents()) == 20


async def test_the_keeper_lists_its_agents(keeper: Keeper, run: Run) -> None:
    process = await run("sleep 300")
    [agent] = await keeper.agents()
    seen = look(process.pid)
    assert seen is not None
    assert (agent.id, agent.pid, agent.start_time) == (process.id, process.pid, seen.start)
    assert (agent.marker, agent.alive) == (f"{keeper.marker}.{process.id}", True)


async def test_no_thread_is_needed_for_any_child(run: Run) -> None:
    before = threading.active_count()
    await asyncio.gather(*(run("sleep 300") for _ in range(5)))
    assert threading.active_count() == before


async def test_starting_can_be_awaited_and_closing_twice_is_closing_once() -> None:
    keeper = await Keeper.start()
    await asyncio.gather(keeper.close(), keeper.close())
    await keeper.close()
    with pytest.raises(KeeperGone, match="it was closed"):
        await keeper.spawn(Spawn(argv=("true",), env=ENV, cwd="/"))
    with pytest.raises(KeeperGone):
        await keeper.agents()


async def test_a_keeper_that_cannot_write_its_record_says_so(tmp_path: Path) -> None:
    (tmp_path / "keepers").write_text("in the way")
    with pytest.raises(KeeperGone, match="could not be started"):
        await Keeper.start(state_dir=tmp_path)


# ---- closing ----


async def test_closing_ends_every_agent_and_all_below_it(until: Until, gone: Callable[[int], bool]) -> None:
    async with Keeper.start() as keeper:
        spec = Spawn(argv=("sh", "-c", FAMILY + "exec sleep 300"), env=ENV, cwd="/")
        processes = [await keeper.spawn(spec) for _ in range(3)]
        pids = [pid for process in processes for pid in await pids_of(process)]
        waiting = [asyncio.create_task(process.wait()) for process in processes]
    assert [pid for pid in pids if not gone(pid)] == []
    assert await asyncio.gather(*waiting) == [Exit(signal=15)] * 3
    assert await processes[0].end() == Exit(signal=15)
    assert await processes[0].read() is None


async def test_closing_kills_what_will_not_go(gone: Callable[[int], bool]) -> None:
    begin = time.monotonic()
    async with Keeper.start() as keeper:
        spec = Spawn(argv=("sh", "-c", "trap '' TERM; echo $$; while :; do sleep 0.1; done"), env=ENV, cwd="/")
        process = await keeper.spawn(spec)
        await process.read()
    assert gone(process.pid)
    assert process.exit == Exit(signal=9)
    assert time.monotonic() - begin < 5


async def test_closing_goes_through_though_its_caller_is_cancelled(until: Until, gone: Callable[[int], bool]) -> None:
    keeper = await Keeper.start()
    process = await keeper.spawn(Spawn(argv=("sleep", "300"), env=ENV, cwd="/"))
    closing = asyncio.create_task(keeper.close())
    await asyncio.sleep(0)
    closing.cancel()
    await asyncio.wait([closing])
    await until(lambda: gone(process.pid) and gone(keeper.pid))
    await keeper.close()


async def test_sigterm_makes_the_keeper_end_everything_in_order(
    keeper: Keeper, run: Run, gone: Callable[[int], bool]
) -> None:
    process = await run(FAMILY + "exec sleep 300")
    pids = await pids_of(process)
    os.kill(keeper.pid, signal.SIGTERM)
    assert await process.wait() == Exit(signal=15)
    await keeper.close()
    assert [pid for pid in pids if not gone(pid)] == []


async def test_a_keeper_that_hangs_is_killed_and_swept_after(
    keeper: Keeper, run: Run, monkeypatch: pytest.MonkeyPatch, gone: Callable[[int], bool]
) -> None:
    monkeypatch.setattr(process_module, "FAREWELL_WAIT", 0.2)
    process = await run("setsid sleep 300 & echo $!; exec sleep 300")
    pids = await pids_of(process)
    os.kill(keeper.pid, signal.SIGSTOP)
    await keeper.close()
    assert [pid for pid in [*pids, process.pid] if not gone(pid)] == []


# ---- sweeping after one agent ----


async def test_nothing_survives_an_agent_that_ends_by_itself(
    run: Run, until: Until, gone: Callable[[int], bool]
) -> None:
    process = await run(FAMILY + "exit 0")
    pids = await pids_of(process)
    assert await process.wait() == Exit(code=0)
    await until(lambda: all(gone(pid) for pid in pids))
    assert await process.read() is None
    await process.end()
    assert set(pids) <= set(process.swept_pids)
    assert process.survivors == ()


async def test_nothing_survives_an_agent_that_is_ended_and_others_are_left_alone(
    run: Run, gone: Callable[[int], bool]
) -> None:
    script = FAMILY + "exec sleep 300"
    one, other = await run(script), await run(script)
    pids, theirs = await pids_of(one), await pids_of(other)
    await one.end(close_wait=0)
    assert [pid for pid in pids if not gone(pid)] == []
    assert [pid for pid in [*theirs, other.pid] if gone(pid)] == []


async def test_an_agent_that_ends_by_itself_takes_its_marked_children_and_no_one_elses(
    run: Run, until: Until, gone: Callable[[int], bool]
) -> None:
    other = await run(FAMILY + "exec sleep 300")
    theirs = await pids_of(other)
    one = await run("setsid sleep 300 & a=$!; env -i sleep 300 & echo $a $!; exit 0")
    pids = await pids_of(one)
    await until(lambda: all(gone(pid) for pid in pids))
    assert [pid for pid in [*theirs, other.pid] if gone(pid)] == []


async def test_a_marker_that_two_agents_share_is_no_reason_to_kill(
    run: Run, token: str, gone: Callable[[int], bool]
) -> None:
    script = "setsid sleep 300 & echo $!; exec sleep 300"
    one, other = await run(script, marker=token), await run(script, marker=token)
    [mine], [theirs] = await pids_of(one), await pids_of(other)
    await one.end(close_wait=0)
    assert (gone(mine), gone(theirs), gone(other.pid)) == (True, False, False)


async def test_children_may_outlive_an_agent_when_asked_until_it_is_ended(
    keeper: Keeper, run: Run, gone: Callable[[int], bool]
) -> None:
    spec = Spawn(argv=("sh", "-c", "setsid sleep 300 & echo $!"), env=ENV, cwd="/")
    process = await keeper.spawn(spec, sweep_on_exit=False)
    [child] = await pids_of(process)
    await process.wait()
    await (await run("exit 0")).end()
    assert not gone(child)
    await process.end()
    assert gone(child)


@pytest.fixture
def marked() -> Iterator[Callable[[str], subprocess.Popen[bytes]]]:
    """Start processes of ours, not of the keeper, that carry a marker."""
    started: list[subprocess.Popen[bytes]] = []

    def start(marker: str) -> subprocess.Popen[bytes]:
        started.append(subprocess.Popen(["sleep", "300"], env={**ENV, "FOOTPLATE_RUN": marker}))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.wait()


async def test_a_process_that_carries_the_marker_is_swept_wherever_it_stands(
    run: Run, token: str, marked: Callable[[str], subprocess.Popen[bytes]], gone: Callable[[int], bool]
) -> None:
    stray, neighbour = marked(token), marked(token + "0")
    process = await run("exit 0", marker=token)
    await process.end()
    assert (gone(stray.pid), gone(neighbour.pid)) == (True, False)
    assert process.swept_pids == (stray.pid,)


# ---- when others are killed ----


@pytest.mark.parametrize("agent", ["exec sleep 300", "trap '' TERM; while :; do sleep 0.1; done"])
async def test_kill_9_of_the_service_leaves_nothing(
    run_service: RunService, until: Until, gone: Callable[[int], bool], agent: str
) -> None:
    service = run_service(SERVICE, FAMILY + agent)
    pids = started(service)
    assert [pid for pid in pids if gone(pid)] == []
    service.kill()
    await until(lambda: all(gone(pid) for pid in pids), deadline=10)


async def test_ctrl_c_in_the_terminal_touches_neither_keeper_nor_agent(
    run_service: RunService, gone: Callable[[int], bool]
) -> None:
    service = run_service(SERVICE, "trap 'exit 5' INT; echo; cat >/dev/null; exit 6")
    pids = started(service)
    os.killpg(service.pid, signal.SIGINT)
    os.kill(pids[0], signal.SIGINT)
    os.kill(pids[0], signal.SIGHUP)
    assert service.stdin is not None
    assert service.stdout is not None
    service.stdin.close()
    assert await asyncio.to_thread(service.stdout.readline) == b"killed by SIGTERM\n"


async def test_kill_9_of_the_keeper_ends_the_agents_and_is_told_to_everyone(
    keeper: Keeper, run: Run, gone: Callable[[int], bool]
) -> None:
    process = await run("setsid sleep 300 & echo $!; exec sleep 300")
    [child] = await pids_of(process)
    waiting = asyncio.create_task(process.wait())
    reading = asyncio.create_task(process.read())
    os.kill(keeper.pid, signal.SIGKILL)
    ending = await waiting
    assert (ending.code, ending.signal) == (None, None)
    assert ending.describe().startswith("the keeper is gone")
    with pytest.raises(KeeperGone):
        await keeper.spawn(Spawn(argv=("true",), env=ENV, cwd="/"))
    assert await process.end() == ending
    assert (gone(process.pid), gone(child)) == (True, True)
    assert await reading is None
    assert keeper.gone == "its socket is closed (killed by SIGKILL)"


async def test_a_spawn_under_way_when_the_keeper_is_killed_fails(keeper: Keeper, run: Run) -> None:
    os.kill(keeper.pid, signal.SIGSTOP)
    spawning = asyncio.create_task(run("sleep 300"))
    await asyncio.sleep(0)
    os.kill(keeper.pid, signal.SIGKILL)
    with pytest.raises(KeeperGone):
        await spawning


@contextmanager
def descriptors_to_spare(count: int) -> Iterator[None]:
    """Let this process open that many descriptors and no more."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    taken: list[int] = []
    resource.setrlimit(resource.RLIMIT_NOFILE, (open_fds() + 20, hard))
    try:
        with suppress(OSError):
            while True:
                taken.append(os.open("/dev/null", os.O_RDONLY))
        for _ in range(count):
            os.close(taken.pop())
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        for fd in taken:
            os.close(fd)


@pytest.mark.parametrize("count", [0, 2])
async def test_a_service_without_descriptors_to_spare_leaves_no_agent_behind(
    keeper: Keeper, run: Run, count: int
) -> None:
    with descriptors_to_spare(count), pytest.raises(SpawnFailed) as caught:
        await run("sleep 300")
    assert (caught.value.errno, caught.value.stage) == (24, "pipe")
    await no_agents(keeper)
    process = await run("exit 0")
    assert await process.end() == Exit(code=0)
