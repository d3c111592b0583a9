"""Sweeping and the process table: what is ours is found, what is not is never touched."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from footplate.host.process import Keeper, Spawn
from footplate.host.sweep import Swept, name_of, read_records, sweep_leftovers, sweep_marked
from footplate.host.table import Sweep, Table, kill_exactly, look, marker_of, start_time

from .conftest import ENV, Run, RunService, Until
from .test_keeper import SERVICE, pids_of, started


@pytest.fixture
def sleeper(token: str) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["sleep", "300"], env={**ENV, "FOOTPLATE_RUN": token}) as process:
        deadline = time.monotonic() + 10
        while marker_of(process.pid) != token:  # the environment is empty while the program is being executed
            assert time.monotonic() < deadline
        yield process
        process.kill()


def test_the_table_knows_parents_markers_and_descendants(sleeper: subprocess.Popen[bytes], token: str) -> None:
    table = Table()
    assert table.seen[sleeper.pid].ppid == os.getpid()
    assert sleeper.pid in table.below([os.getpid()])
    assert marker_of(sleeper.pid) == token
    assert table.marked(lambda marker: marker == token) == {sleeper.pid}


def test_a_zombie_and_a_free_number_are_nobody(sleeper: subprocess.Popen[bytes]) -> None:
    sleeper.kill()
    os.waitid(os.P_PID, sleeper.pid, os.WEXITED | os.WNOWAIT)
    assert look(sleeper.pid) is None
    sleeper.wait()
    assert (look(sleeper.pid), start_time(sleeper.pid), marker_of(sleeper.pid)) == (None, 0, "")


def test_a_number_that_was_given_to_another_is_not_signalled(sleeper: subprocess.Popen[bytes]) -> None:
    seen = look(sleeper.pid)
    assert seen is not None
    seen.start -= 1
    assert kill_exactly(seen, signal.SIGKILL)
    assert look(sleeper.pid) is not None
    seen.start += 1
    assert kill_exactly(seen, signal.SIGKILL)
    assert sleeper.wait(timeout=5) == -9


def test_a_sweep_never_picks_init_itself_or_its_ancestors(sleeper: subprocess.Popen[bytes]) -> None:
    table = Table()
    assert {0, 1, os.getpid(), os.getppid()} <= table.untouchable()
    sweep = Sweep(lambda table: {1, os.getpid(), os.getppid(), sleeper.pid})
    assert not sweep.step(table)
    assert sweep.killed == {sleeper.pid}


def test_a_sweep_is_over_after_two_empty_looks(sleeper: subprocess.Popen[bytes]) -> None:
    sweep = Sweep(lambda table: set())
    assert [sweep.step(Table()), sweep.step(Table())] == [False, True]


def test_a_script_does_not_go_on_because_its_child_was_swept(token: str, tmp_path: Path) -> None:
    script = f"sleep 300 & echo; wait; sleep 300 & wait; touch {tmp_path}/went-on"
    env = {**ENV, "FOOTPLATE_RUN": f"{token}.1"}
    with subprocess.Popen(["sh", "-c", script], env=env, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        parent.stdout.readline()
        sweep_marked([], keeper=token)
        assert parent.wait() == -9
    assert list(tmp_path.iterdir()) == []


def test_marked_processes_are_swept_with_all_below_them(token: str) -> None:
    script = "env -i sleep 300 & echo $!; wait"
    parent = subprocess.Popen(["sh", "-c", script], env={**ENV, "FOOTPLATE_RUN": f"{token}.1"}, stdout=subprocess.PIPE)
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    other = subprocess.Popen(["sleep", "300"], env={**ENV, "FOOTPLATE_RUN": f"{token}7.1"})
    assert sweep_marked([], keeper=token) == Swept(token, tuple(sorted((parent.pid, child))))
    assert other.poll() is None
    assert sweep_marked([f"{token}7.1"]).pids == (other.pid,)
    assert (parent.wait(), other.wait()) == (-9, -9)
    parent.stdout.close()


async def test_a_keeper_leaves_a_record_while_it_lives_and_none_after(tmp_path: Path, token: str) -> None:
    async with Keeper.start(state_dir=tmp_path) as keeper:
        [record] = read_records(tmp_path)
        assert (record.pid, record.start_time, record.marker) == (keeper.pid, start_time(keeper.pid), keeper.marker)
        assert record.alive()
        process = await keeper.spawn(Spawn(argv=("sleep", "300"), env=ENV, cwd="/", marker=token))
        [record] = read_records(tmp_path)
        assert record.markers == {token}
        assert sweep_leftovers(tmp_path) == []
        await process.end(close_wait=0)
        await (await keeper.spawn(Spawn(argv=("true",), env=ENV, cwd="/", marker=token + "-2"))).end()
        [record] = read_records(tmp_path)
        assert record.markers == {token + "-2"}
    assert list((tmp_path / "keepers").iterdir()) == []


async def test_what_a_killed_keeper_left_is_swept_at_the_next_start(
    tmp_path: Path, run_service: RunService, until: Until, gone: Callable[[int], bool]
) -> None:
    service = run_service(SERVICE, "setsid sleep 300 & echo $!; exec sleep 300", str(tmp_path))
    keeper, agent, child = started(service)
    os.kill(service.pid, signal.SIGSTOP)
    os.kill(keeper, signal.SIGKILL)
    service.kill()
    await until(lambda: gone(agent) and name_of(child) == "sleep 300")
    [swept] = sweep_leftovers(tmp_path)
    assert (swept.pids, swept.survivors) == ((child,), ())
    await until(lambda: gone(child))
    assert sweep_leftovers(tmp_path) == []


async def test_what_stands_below_a_living_keeper_is_not_a_leftover(
    tmp_path: Path, token: str, gone: Callable[[int], bool]
) -> None:
    async with Keeper.start(state_dir=tmp_path) as keeper:
        spec = Spawn(argv=("sh", "-c", "echo $$; exec sleep 300"), env=ENV, cwd="/", marker=token)
        pids = await pids_of(await keeper.spawn(spec))
        dead = {"v": 1, "pid": 2**22 + 5, "start_time": 1, "marker": "dead", "markers": [token]}
        (tmp_path / "keepers" / "dead.json").write_text(json.dumps(dead))
        assert sweep_leftovers(tmp_path) == [Swept("dead", ())]
        assert not gone(pids[0])


def test_a_record_that_was_cut_short_is_dropped(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "keepers").mkdir()
    (tmp_path / "keepers" / "1-2.json").write_text('{"v": 1, "pi')
    assert sweep_leftovers(tmp_path) == []
    assert "cannot be read" in caplog.text
    assert list((tmp_path / "keepers").iterdir()) == []


def test_no_records_no_leftovers(tmp_path: Path) -> None:
    assert sweep_leftovers(tmp_path) == []


async def test_a_keeper_of_another_run_is_left_alone(run: Run, gone: Callable[[int], bool]) -> None:
    process = await run("echo $$; exec sleep 300")
    [pid] = await pids_of(process)
    async with Keeper.start() as other:
        await (await other.spawn(Spawn(argv=("true",), env=ENV, cwd="/"))).end()
    assert not gone(pid)
