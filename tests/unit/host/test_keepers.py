"""The keeper that outlives the service: nothing is lost, nothing is doubled, nothing stays for ever."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from footplate.errors import KeeperBusy, LockHeld, SpawnFailed
from footplate.host import channel, program
from footplate.host.child import Process
from footplate.host.keepers import Held, Keepers, connect
from footplate.host.locks import SessionLock
from footplate.host.process import Exit, Keeper, Spawn
from footplate.host.sweep import collect_leftovers, name_of, read_records
from footplate.host.table import look

from .conftest import ENV, SOURCE, RunService, Until
from .test_keeper import facts_of, peak_kilobytes, resident_kilobytes

GRACE_S = 120.0

SERVICE = """
import asyncio, os, sys, time
from pathlib import Path
from footplate.host.keepers import Keepers
from footplate.host.process import Spawn

async def main(data, grace, script, want, out):
    keepers = await Keepers.open(data, grace_s=float(grace))
    held = await keepers.held()
    if held:
        agent = await keepers.take(held[0])
    else:
        spec = Spawn(argv=("sh", "-c", script), env={"PATH": os.environ["PATH"]}, cwd="/", kept=True)
        agent = await keepers.spawn(spec)
    file = os.open(out, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    got = 0
    while got < int(want):
        block = await agent.read()
        os.write(file, block.lines)
        got += len(block.lines)
    print(keepers.current.pid, agent.pid, flush=True)
    time.sleep(600)

asyncio.run(main(*sys.argv[1:]))
"""
"""Reads so many bytes, writes them down, and is then killed: what it has read it has written, to the byte."""

LINES = 300_000
COUNT = f"exec seq -f %015.0f 1 {LINES}"
COUNTED = b"".join(b"%015d\n" % number for number in range(1, LINES + 1))


@pytest.fixture
async def data(tmp_path: Path) -> AsyncIterator[Path]:
    """A data folder; no keeper of it may be there any more at the end of the test."""
    folder = tmp_path / "data"
    yield folder
    left = [record for record in read_records(folder) if record.alive()]
    for record in left:
        os.kill(record.pid, signal.SIGKILL)
    assert [record.pid for record in left] == []


def kept(script: str, **about: str) -> Spawn:
    return Spawn(argv=("sh", "-c", script), env=ENV, cwd="/", kept=True, about=about)


async def read_all(process: Process) -> bytes:
    blocks: list[bytes] = []
    while (block := await process.read()) is not None:
        blocks.append(block.lines)
    return b"".join(blocks)


async def read_line(process: Process) -> str:
    block = await process.read()
    assert block is not None
    return block.lines.decode().strip()


async def only(keepers: Keepers) -> Held:
    [held] = await keepers.held()
    return held


async def ready(service: subprocess.Popen[bytes]) -> list[int]:
    assert service.stdout is not None
    return [int(word) for word in (await asyncio.to_thread(service.stdout.readline)).split()]


# ---- the lock on an agent's session ----


async def test_the_keeper_holds_the_lock_of_an_agent_between_two_services(data: Path) -> None:
    keepers = await Keepers.open(data, grace_s=GRACE_S)
    process = await keepers.spawn(kept("cat"))
    first = SessionLock(data / "locks", "engine:1")
    await first.acquire()
    process.hold(first.fd)
    await keepers.leave()
    first.leave()
    with pytest.raises(LockHeld, match="engine:1 is held by"):
        await SessionLock(data / "locks", "engine:1").acquire()
    keepers = await Keepers.open(data, grace_s=GRACE_S)
    held = await only(keepers)
    assert held.agent.locked
    process = await keepers.take(held)
    second = SessionLock(data / "locks", "engine:1", what="the second")
    second.adopt(process.take_lock())
    with pytest.raises(LockHeld, match="the second"):
        await SessionLock(data / "locks", "engine:1").acquire()
    second.leave()
    os.kill(process.pid, signal.SIGKILL)
    async with asyncio.timeout(10):
        async with SessionLock(data / "locks", "engine:1", wait=True):
            pass  # with the agent the keeper lets go of it
    await process.end()
    await keepers.close()


# ---- nothing lost, nothing doubled ----


async def test_kill_9_of_the_service_loses_no_byte_and_doubles_none(
    data: Path, tmp_path: Path, run_service: RunService
) -> None:
    out = tmp_path / "out"
    service = run_service(SERVICE, str(data), str(GRACE_S), COUNT, "1000000", str(out))
    _, agent = await ready(service)
    service.kill()
    keepers = await Keepers.open(data, grace_s=GRACE_S)
    held = await only(keepers)
    assert (held.agent.pid, held.agent.kept, held.agent.attached) == (agent, True, False)
    process = await keepers.take(held)
    assert out.read_bytes() + await read_all(process) == COUNTED
    assert await process.end() == Exit(code=0)
    process.release()
    assert await keepers.held() == ()
    await keepers.close()


async def test_a_service_that_dies_before_the_spool_is_settled_leaves_it_to_the_next(
    data: Path, tmp_path: Path, run_service: RunService
) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    service = run_service(SERVICE, str(data), str(GRACE_S), COUNT, "500000", str(first))
    await ready(service)
    service.kill()
    service.wait()
    again = run_service(SERVICE, str(data), str(GRACE_S), COUNT, "1", str(second))
    await ready(again)
    again.kill()
    keepers = await Keepers.open(data, grace_s=GRACE_S)
    process = await keepers.take(await only(keepers))
    rest = await read_all(process)
    assert first.read_bytes() + rest == COUNTED
    assert rest.startswith(second.read_bytes())
    await process.end()
    await keepers.close()


async def test_leaving_in_order_gives_back_what_nobody_read(data: Path) -> None:
    keepers = await Keepers.open(data, grace_s=GRACE_S)
    process = await keepers.spawn(kept(f"printf half; sleep 0.2; printf ' a line\\n'; {COUNT}"))
    got = b""
    for _ in range(3):
        block = await process.read()
        assert block is not None
        got += block.lines
        await keepers.leave()
        assert await process.read() is None
        assert process.left
        keepers = await Keepers.open(data, grace_s=GRACE_S)
        process = await keepers.take(await only(keepers))
    got += await read_all(process)
    assert got == b"half a line\n" + COUNTED
    await process.end()
    await keepers.close()


async def test_half_a_line_that_was_read_is_given_back(data: Path, until: Until) -> None:
    keepers = await Keepers.open(data, grace_s=GRACE_S)
    process = await keepers.spawn(kept("printf 'one\\ntw'; read go; printf 'o\\nthree\\n'"))
    assert await read_line(process) == "one"
    await keepers.leave()
    keepers = await Keepers.open(data, grace_s=GRACE_S)
    process = await keepers.take(await only(keepers))
    await process.write(b"go\n")
    assert await read_all(process) == b"two\nthree\n"
    await process.end()
    await keepers.close()


async def test_lines_around_a_gap_are_not_joined(data: Path, until: Until) -> None:
    """A service went over to the pipe, and was killed with half a line of it in hand."""
    keepers = await Keepers.open(data, grace_s=GRACE_S)
    process = await keepers.spawn(kept("echo ready; read a; printf 'one\\nhalf'; read b; printf ' lost\\nnext\\n'"))
    assert await read_line(process) == "ready"
    await keepers.leave()
    keepers = await Keepers.open(data, grace_s=GRACE_S)
    await (await keepers.take(await only(keepers))).write(b"\n")
    await keepers.leave()  # before it was settled
    keepers = await Keepers.open(data, grace_s=GRACE_S)

    await until(lambda: [s.stat().st_size for s in (data / "keepers").glob("*/*.out")] == [len("one\nhalf")])
    keeper = keepers.current
    assert keeper is not None
    process = await keepers.take(await only(keepers))
    assert await read_line(process) == "one"
    await until(lambda: process._direct)
    await keeper.drop()  # as if killed: nothing is given back
    process.close_pipes()
    keepers = await Keepers.open(data, grace_s=GRACE_S)
    process = await keepers.take(await only(keepers))
    await process.write(b"\n")
    lines = (await read_all(process)).split(b"\n")
    assert lines == [b"one", b"half", b" lost", b"next", b""]
    await process.end()
    await keepers.close()


async def test_an_exit_while_nobody_was_there_is_told_after_the_last_line(data: Path, until: Until) -> None:
    keepers = await Keepers.open(data, grace_s=GRACE_S)
    process = await keepers.spawn(kept("read go; echo last words; echo why >&2; exit 7"))
    await process.write(b"go\n")
    await keepers.leave()
    await until(lambda: look(process.pid) is None)
    keepers = await Keepers.open(data, grace_s=GRACE_S)
    held = await only(keepers)
    again = await keepers.take(held)
    assert await read_all(again) == b"last words\n"
    assert await again.wait() == Exit(code=7)
    assert again.stderr_tail() == "why\n"
    assert await again.end() == Exit(code=7)
    again.release()
    assert await keepers.held() == ()
    await keepers.leave()
    await until(lambda: not any(record.alive() for record in read_records(data)))


async def test_an_agent_sees_the_end_of_its_input_though_the_keeper_has_a_copy(data: Path) -> None:
    keepers = await Keepers.open(data, grace_s=GRACE_S)
    process = await keepers.spawn(kept("cat; echo end"))
    await process.write(b"line\n")
    process.close_stdin()
    assert await read_all(process) == b"line\nend\n"
    await process.end()
    await keepers.close()


async def test_the_spool_is_bounded_and_the_agent_waits_for_room(data: Path, until: Until) -> None:
    keepers = await Keepers.open(data, grace_s=GRACE_S, spool_limit=300_000)
    process = await keepers.spawn(kept(f"read go; {COUNT}"))
    await process.write(b"go\n")
    await keepers.leave()
    [spool] = (data / "keepers").glob("*/")
    await until(lambda: sum(file.stat().st_size for file in spool.iterdir()) >= 300_000)
    keepers = await Keepers.open(data, grace_s=GRACE_S)
    held = await only(keepers)
    assert (held.agent.spooled, held.agent.full, held.agent.alive) == (300_000, True, True)
    process = await keepers.take(held)
    assert await read_all(process) == COUNTED
    process.settle()
    assert (await keepers.all[0].look()).agents[0].spooled == 0
    assert list(spool.iterdir()) == []
    await process.end()
    await keepers.close()


# ---- nothing stays for ever ----


FAMILY = "setsid sleep 300 & a=$!; env -i setsid sleep 300 & echo $a $!; "


async def test_when_the_grace_is_over_nothing_is_left(
    data: Path, tmp_path: Path, run_service: RunService, until: Until, gone: Callable[[int], bool]
) -> None:
    out = tmp_path / "out"
    service = run_service(SERVICE, str(data), "0.3", FAMILY + "exec sleep 300", "1", str(out))
    pids = await ready(service) + [int(word) for word in out.read_text().split()]
    assert [pid for pid in pids if gone(pid)] == []
    service.kill()
    await until(lambda: all(gone(pid) for pid in pids), deadline=30)
    assert [path.name for path in (data / "keepers").iterdir()] == ["lock"]


@pytest.mark.parametrize(("waiting", "seen"), [(False, "INT\n"), (True, "TERM\n")])
async def test_who_has_a_request_open_is_not_interrupted(
    data: Path, tmp_path: Path, until: Until, gone: Callable[[int], bool], waiting: bool, seen: str
) -> None:
    out = tmp_path / "out"
    keepers = await Keepers.open(data, grace_s=0.1)
    trap = f"trap 'echo INT >>{out}; exit' INT; trap 'echo TERM >>{out}; exit' TERM"
    process = await keepers.spawn(kept(f"{trap}; echo ready; while :; do sleep 0.05; done"))
    assert await read_line(process) == "ready"
    process.note(waiting=waiting)
    await keepers.leave()
    await until(lambda: gone(process.pid), deadline=30)
    await until(lambda: not any(record.alive() for record in read_records(data)))
    assert out.read_text() == seen


async def test_what_is_not_kept_ends_with_the_service(data: Path, until: Until, gone: Callable[[int], bool]) -> None:
    keepers = await Keepers.open(data, grace_s=GRACE_S)
    command = await keepers.spawn(Spawn(argv=("sleep", "300"), env=ENV, cwd="/"))
    agent = await keepers.spawn(kept("sleep 300"))
    await keepers.leave()
    await until(lambda: gone(command.pid))
    keepers = await Keepers.open(data, grace_s=GRACE_S)
    assert (await only(keepers)).agent.pid == agent.pid
    await keepers.close()
    assert gone(agent.pid)


async def test_a_keeper_that_keeps_nobody_goes_with_the_service(data: Path, until: Until) -> None:
    keepers = await Keepers.open(data, grace_s=GRACE_S)
    await keepers.leave()
    await until(lambda: not any(record.alive() for record in read_records(data)))


async def test_closing_ends_what_is_kept_and_what_nobody_took_over(
    data: Path, until: Until, gone: Callable[[int], bool]
) -> None:
    keepers = await Keepers.open(data, grace_s=GRACE_S)
    one, other = await keepers.spawn(kept("sleep 300")), await keepers.spawn(kept("sleep 300"))
    await keepers.leave()
    keepers = await Keepers.open(data, grace_s=GRACE_S)
    mine, _ = await keepers.held()
    keepers.end(mine)
    await until(lambda: gone(mine.agent.pid))
    await keepers.close()
    assert (gone(one.pid), gone(other.pid)) == (True, True)


async def test_kill_9_of_the_keeper_is_noticed_swept_and_made_good(
    data: Path, gone: Callable[[int], bool], until: Until
) -> None:
    keepers = await Keepers.open(data, grace_s=GRACE_S)
    process = await keepers.spawn(kept("setsid sleep 300 & echo $!; exec sleep 300"))
    child = int(await read_line(process))
    keeper = keepers.current
    assert keeper is not None
    os.kill(keeper.pid, signal.SIGKILL)
    assert (await process.wait()).describe().startswith("the keeper is gone")
    await process.end()
    assert (gone(process.pid), gone(child)) == (True, True)
    again = await keepers.spawn(kept("exit 3"))
    assert keepers.current is not keeper
    assert await again.end() == Exit(code=3)
    again.release()
    await keepers.close()


async def test_what_a_killed_keeper_left_is_told_line_by_line_with_the_size_of_its_files(
    data: Path, gone: Callable[[int], bool], until: Until
) -> None:
    keepers = await Keepers.open(data, grace_s=GRACE_S)
    process = await keepers.spawn(kept("setsid sleep 300 & echo $!; read go; echo 12345; exec sleep 300"))
    child = int(await read_line(process))
    await process.write(b"go\n")
    await keepers.leave()
    [record] = read_records(data)
    spool = data / "keepers" / record.marker
    await until(lambda: sum(file.stat().st_size for file in spool.iterdir()) >= 6 and name_of(child) == "sleep 300")
    os.kill(record.pid, signal.SIGKILL)
    await until(lambda: gone(record.pid) and gone(process.pid))
    reaped = await asyncio.to_thread(collect_leftovers, data)
    assert reaped.describe() == (
        f"ended a process that was left over: {child} sleep 300",
        "removed 2 left-over files (6 B)",
    )
    assert sorted(path.name for path in (data / "keepers").iterdir()) == ["lock"]
    assert await asyncio.to_thread(collect_leftovers, data) == type(reaped)()


# ---- who may drive it ----


async def test_two_services_at_once_cannot_be(data: Path) -> None:
    keepers = await Keepers.open(data, grace_s=GRACE_S)
    process = await keepers.spawn(kept("sleep 300"))
    with pytest.raises(KeeperBusy, match=f"works for process {os.getpid()}"):
        await Keepers.open(data, grace_s=GRACE_S)
    assert process.exit is None
    await keepers.close()


async def test_whoever_looks_sees_all_and_may_do_nothing(data: Path) -> None:
    keepers = await Keepers.open(data, grace_s=GRACE_S)
    process = await keepers.spawn(kept("sleep 300", session="s-1"))
    [record] = read_records(data)
    visitor = await connect(data, record)
    await visitor.greet(role="look")
    listed = await visitor.look()
    assert (listed.driver, listed.grace_s, listed.retiring) == (os.getpid(), GRACE_S, False)
    [agent] = listed.agents
    assert (agent.id, agent.about, agent.attached) == (process.id, {"session": "s-1"}, True)
    with pytest.raises(SpawnFailed, match="only the driver"):
        await visitor.take(agent)
    await visitor.drop()
    assert process.exit is None
    await keepers.close()


async def test_an_agent_is_taken_over_once(data: Path) -> None:
    keepers = await Keepers.open(data, grace_s=GRACE_S)
    await keepers.spawn(kept("sleep 300"))
    await keepers.leave()
    keepers = await Keepers.open(data, grace_s=GRACE_S)
    held = await only(keepers)
    await keepers.take(held)
    with pytest.raises(SpawnFailed, match="it is attached"):
        await keepers.take(held)
    await keepers.close()


async def test_nonsense_from_a_visitor_does_not_harm(data: Path) -> None:
    keepers = await Keepers.open(data, grace_s=GRACE_S)
    process = await keepers.spawn(kept("echo fine"))
    [record] = read_records(data)
    with socket.socket(socket.AF_UNIX) as visitor:
        folder = os.open(data / "keepers", os.O_RDONLY)  # the whole path may be too long for a socket's address
        visitor.connect(f"/proc/self/fd/{folder}/{record.marker}.sock")
        os.close(folder)
        for nonsense in (b"nonsense", b"[1]", b'"x"', b"{}", b'{"type": "close"}', b'{"type": "__init__"}'):
            visitor.sendall(len(nonsense).to_bytes(4, "big") + b"\0" + nonsense)
        assert await read_line(process) == "fine"
    await keepers.close()


async def test_the_folder_and_the_socket_are_for_their_owner_alone(data: Path) -> None:
    os.makedirs(data / "keepers", mode=0o755)  # noqa: PTH103
    keepers = await Keepers.open(data, grace_s=GRACE_S)
    [record] = read_records(data)
    folder = data / "keepers"
    paths = (folder, folder / f"{record.marker}.sock", folder / record.marker, folder / "lock")
    assert [oct(stat.S_IMODE(path.stat().st_mode)) for path in paths] == ["0o700", "0o600", "0o700", "0o600"]
    await keepers.close()


KNOCK = """
import os, socket, sys
os.setuid(65534)
with socket.socket(socket.AF_UNIX) as visitor:
    visitor.connect(sys.argv[1])
    print(visitor.recv(100))
"""


@pytest.mark.skipif(os.getuid() != 0, reason="to be another person one has to be root")
async def test_another_person_is_not_let_in_whatever_the_modes(run_service: RunService) -> None:
    data = Path("/tmp") / f"footplate-test-{os.getpid()}"
    keepers = await Keepers.open(data, grace_s=GRACE_S)
    try:
        [record] = read_records(data)
        path = data / "keepers" / f"{record.marker}.sock"
        for each, mode in ((data, 0o755), (data / "keepers", 0o755), (path, 0o666)):
            each.chmod(mode)
        knocking = await asyncio.create_subprocess_exec(
            sys.executable, "-c", KNOCK, str(path), stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        said, _ = await knocking.communicate()
        assert said in (b"b''\n", b"")  # hung up on, before a word or in the middle of it
        assert knocking.returncode is not None
        assert keepers.current is not None
    finally:
        await keepers.close()
        shutil.rmtree(data)


async def test_a_long_path_is_no_obstacle(tmp_path: Path) -> None:
    data = tmp_path / ("a-long-name-" * 10) / ("another-" * 10)
    keepers = await Keepers.open(data, grace_s=GRACE_S)
    process = await keepers.spawn(kept("sleep 300"))
    await keepers.leave()
    keepers = await Keepers.open(data, grace_s=GRACE_S)
    assert (await only(keepers)).agent.pid == process.pid
    await keepers.close()


def test_where_a_long_path_is_an_obstacle_the_error_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(channel.sys, "platform", "darwin")  # type: ignore[attr-defined]
    with pytest.raises(OSError, match=r"too long for a socket .* FOOTPLATE_DATA_DIR"), channel.Address("/x" * 60, "s"):
        pass


# ---- versions ----


def plant(folder: Path, *, version: int, oldest: int) -> Path:
    """The keeper's program as another version of Footplate would bring it."""
    shutil.copytree(Path(SOURCE) / "footplate" / "host", folder / "host")
    wire = folder / "host" / "channel.py"
    text = wire.read_text()
    ours = f"\nVERSION = {channel.VERSION} "
    assert ours in text
    wire.write_text(text.replace(ours, f"\nVERSION = {version} ").replace("\nOLDEST = 1", f"\nOLDEST = {oldest}"))
    return folder / "host" / "keeper.py"


async def leave_one_behind(data: Path, monkeypatch: pytest.MonkeyPatch, source: Path, *, speaks: int) -> Process:
    """An agent under a keeper of another version, whose service is gone."""
    with monkeypatch.context() as other:
        other.setattr(program, "SOURCE", source)
        other.setattr(channel, "VERSION", speaks)
        keepers = await Keepers.open(data, grace_s=GRACE_S)
        process = await keepers.spawn(kept("echo before; read go; echo after; exec sleep 300"))
        assert await read_line(process) == "before"
        await keepers.leave()
    return process


@pytest.mark.parametrize("version", [1, channel.VERSION + 1], ids=["an older keeper", "a newer keeper"])
async def test_a_keeper_of_another_version_is_taken_over_and_retires(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, until: Until, version: int
) -> None:
    monkeypatch.setattr(channel, "OLDEST", 0)
    source = plant(tmp_path, version=version, oldest=0)
    left = await leave_one_behind(data, monkeypatch, source, speaks=version)
    [record] = read_records(data)
    keepers = await Keepers.open(data, grace_s=GRACE_S)
    process = await keepers.take(await only(keepers))
    assert process.pid == left.pid
    await process.write(b"go\n")
    assert await read_line(process) == "after"
    fresh = await keepers.spawn(kept("sleep 300"))
    assert {keeper.version for keeper in keepers.all} == {channel.VERSION, version}
    [elder] = [keeper for keeper in keepers.all if keeper.version == version]
    assert elder.pid == record.pid
    assert (await elder.look()).retiring
    await process.end(close_wait=0)
    process.release()
    await until(lambda: not record.alive())
    assert fresh.exit is None
    await keepers.close()


async def test_a_retiring_keeper_is_found_again_beside_the_current_one(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, until: Until
) -> None:
    monkeypatch.setattr(channel, "OLDEST", 0)
    await leave_one_behind(data, monkeypatch, plant(tmp_path, version=0, oldest=0), speaks=0)
    keepers = await Keepers.open(data, grace_s=GRACE_S)
    await keepers.spawn(kept("sleep 300"))
    await keepers.leave()
    keepers = await Keepers.open(data, grace_s=GRACE_S)
    assert len(await keepers.held()) == 2
    assert len(keepers.all) == 2
    await keepers.close()


async def test_a_keeper_that_does_not_understand_us_is_ended_with_its_agents(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gone: Callable[[int], bool]
) -> None:
    source = plant(tmp_path, version=9, oldest=9)
    left = await leave_one_behind(data, monkeypatch, source, speaks=9)
    keepers = await Keepers.open(data, grace_s=GRACE_S)
    assert gone(left.pid)
    assert await keepers.held() == ()
    assert [keeper.version for keeper in keepers.all] == [channel.VERSION]
    await keepers.close()


# ---- what it costs ----


async def test_fifty_agents_cost_no_memory_neither_attached_nor_drained(
    data: Path, until: Until, run_service: RunService
) -> None:
    keepers = await Keepers.open(data, grace_s=GRACE_S)
    keeper = keepers.current
    assert keeper is not None
    pid = keeper.pid
    script = "read go; seq 1 50000; seq 1 50000 >&2; exec sleep 300"
    processes = await asyncio.gather(*(keepers.spawn(kept(script)) for _ in range(50)))
    assert resident_kilobytes(pid) < 15_000
    await asyncio.gather(*(process.write(b"go\n") for process in processes))
    await keepers.leave()
    spools = data / "keepers" / keeper.marker
    out = sum(len(str(number)) + 1 for number in range(1, 50_001))
    await until(lambda: [f.stat().st_size for f in spools.glob("*.out")] == [out] * 50, deadline=60)
    assert peak_kilobytes(pid) < 15_000
    keepers = await Keepers.open(data, grace_s=GRACE_S)
    assert [held.agent.spooled for held in await keepers.held()] == [out] * 50
    await keepers.close()


async def test_unread_output_that_a_service_gives_back_costs_the_keeper_no_memory(
    data: Path, tmp_path: Path, until: Until
) -> None:
    keepers = await Keepers.open(data, grace_s=GRACE_S)
    keeper = keepers.current
    assert keeper is not None
    pid, size = keeper.pid, 2_000_000
    (tmp_path / "written").mkdir()
    script = f"yes | head -c {size}; : >{tmp_path}/written/$$; exec sleep 300"
    await asyncio.gather(*(keepers.spawn(kept(script)) for _ in range(10)))
    await until(lambda: len(list((tmp_path / "written").iterdir())) == 10, deadline=60)
    await keepers.leave()
    spools = data / "keepers" / keeper.marker
    await until(lambda: [f.stat().st_size for f in spools.glob("*.out")] == [size] * 10, deadline=60)
    assert peak_kilobytes(pid) < 15_000
    keepers = await Keepers.open(data, grace_s=GRACE_S)
    await keepers.close()


async def test_the_keeper_is_nobodys_child_and_stands_alone(data: Path) -> None:
    keepers = await Keepers.open(data, grace_s=GRACE_S)
    keeper = keepers.current
    assert isinstance(keeper, Keeper)
    seen = look(keeper.pid)
    assert seen is not None
    assert seen.ppid != os.getpid()
    assert seen.session != os.getsid(0)
    assert facts_of(keeper.pid)["environ"] == b""
    assert facts_of(keeper.pid)["msgspec"] is False
    record = json.loads((data / "keepers" / f"{keeper.pid}-{seen.start}.json").read_text())
    assert (record["keeps"], record["marker"]) == (True, keeper.marker)
    await keepers.close()
