"""Agents as the service sees them: their lines, their stdin, their end."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from footplate.errors import EngineGone, SpawnFailed
from footplate.host.child import Process
from footplate.host.process import Exit, Keeper, Spawn

from .conftest import ENV, Run, Until, no_agents, open_fds

STUBBORN = "trap '' TERM INT; echo ready; while :; do sleep 0.05; done"


async def read_all(process: Process) -> bytes:
    pieces = []
    while (block := await process.read()) is not None:
        pieces.append(block.lines)
    return b"".join(pieces)


async def read_line(process: Process) -> str:
    block = await process.read()
    assert block is not None
    return block.lines.decode().strip()


# ---- starting ----


async def test_a_program_runs_with_the_environment_the_folder_and_the_marker_it_was_given(
    keeper: Keeper, tmp_path: Path, token: str
) -> None:
    env = {**ENV, "COLOUR": "grün", "ODD": b"\xff".decode("utf-8", "surrogateescape")}
    process = await keeper.spawn(Spawn(argv=("env",), env=env, cwd=str(tmp_path), marker=token))
    found = dict(line.split(b"=", 1) for line in (await read_all(process)).splitlines())
    assert found == {
        b"PATH": os.fsencode(ENV["PATH"]),
        b"COLOUR": "grün".encode(),
        b"ODD": b"\xff",
        b"FOOTPLATE_RUN": token.encode(),
    }
    where = await keeper.spawn(Spawn(argv=("pwd",), env=ENV, cwd=str(tmp_path)))
    assert await read_line(where) == str(tmp_path)
    assert (await process.end(), await where.end()) == (Exit(code=0), Exit(code=0))


LIBC_SIGNALS = 1 << 31 | 1 << 32
"""Signals 32 and 33 belong to the C library; a parent such as make may hand them down, and nobody can reset them."""


async def test_a_program_gets_three_descriptors_and_plain_signals(run: Run) -> None:
    process = await run("ls /proc/self/fd; cat /proc/self/status")
    lines = (await read_all(process)).decode().splitlines()
    assert lines[:4] == ["0", "1", "2", "3"]  # the fourth is the folder that ls reads
    masks = dict(line.split(":\t") for line in lines if line.startswith("Sig"))
    assert {int(masks[name], 16) & ~LIBC_SIGNALS for name in ("SigBlk", "SigIgn", "SigCgt")} == {0}
    await process.end()


async def test_a_program_leads_a_session_of_its_own(run: Run) -> None:
    process = await run("echo $$ $(ps -o sid= -p $$)")
    assert await read_line(process) == f"{process.pid} {process.pid}"
    await process.end()


async def test_a_program_that_is_not_there_is_told_as_such(keeper: Keeper) -> None:
    with pytest.raises(SpawnFailed) as caught:
        await keeper.spawn(Spawn(argv=("no-such-program",), env=ENV, cwd="/"))
    assert (caught.value.errno, caught.value.stage) == (2, "exec")
    assert caught.value.reason == "No such file or directory"


async def test_a_file_that_is_not_executable_is_told_as_such(keeper: Keeper, tmp_path: Path) -> None:
    (tmp_path / "tool").write_text("#!/bin/sh\n")
    for argv, path in (((str(tmp_path / "tool"),), "/bin"), (("tool",), str(tmp_path))):
        with pytest.raises(SpawnFailed) as caught:
            await keeper.spawn(Spawn(argv=argv, env={"PATH": path}, cwd="/"))
        assert (caught.value.errno, caught.value.stage) == (13, "exec")


async def test_a_folder_that_is_not_there_is_told_as_such(keeper: Keeper) -> None:
    with pytest.raises(SpawnFailed) as caught:
        await keeper.spawn(Spawn(argv=("true",), env=ENV, cwd="/no/such/folder"))
    assert (caught.value.errno, caught.value.stage) == (2, "cwd")


@pytest.mark.parametrize("argv", [(), ("",), ("true", "a\0b")])
async def test_what_no_program_can_be_called_with_is_refused(keeper: Keeper, argv: tuple[str, ...]) -> None:
    with pytest.raises(SpawnFailed) as caught:
        await keeper.spawn(Spawn(argv=argv, env=ENV, cwd="/"))
    assert caught.value.errno == 22


async def test_the_program_is_looked_up_in_the_path_it_gets(keeper: Keeper, tmp_path: Path) -> None:
    tool = tmp_path / "tool"
    tool.write_text("#!/bin/sh\necho mine\n")
    tool.chmod(0o755)
    env = {"PATH": f"/no/such:{tmp_path}:/bin"}
    process = await keeper.spawn(Spawn(argv=("tool",), env=env, cwd="/"))
    assert await read_line(process) == "mine"
    await process.end()


async def test_a_failed_spawn_leaves_the_keeper_well(keeper: Keeper, run: Run) -> None:
    for _ in range(3):
        with pytest.raises(SpawnFailed):
            await keeper.spawn(Spawn(argv=("no-such-program",), env=ENV, cwd="/"))
    process = await run("echo fine")
    assert await read_line(process) == "fine"
    await process.end()
    assert await keeper.agents() == ()


async def test_a_spawn_that_nobody_waits_for_is_ended(keeper: Keeper, run: Run) -> None:
    for turns in range(4):
        spawning = asyncio.create_task(run("sleep 300"))
        for _ in range(turns):
            await asyncio.sleep(0)
        spawning.cancel()
        await asyncio.wait([spawning])
    await no_agents(keeper)


async def test_many_start_at_once(run: Run) -> None:
    processes = await asyncio.gather(*(run(f"echo {number}") for number in range(20)))
    assert [await read_line(process) for process in processes] == [str(number) for number in range(20)]
    assert {ending.code for ending in await asyncio.gather(*(process.end() for process in processes))} == {0}


# ---- reading ----


async def test_lines_come_whole_and_the_last_needs_no_newline(run: Run) -> None:
    process = await run("printf 'a\\nb'; sleep 0.05; printf 'c\\nd'")
    assert await read_all(process) == b"a\nbc\nd\n"
    assert await process.read() is None
    await process.end()


async def test_what_came_meanwhile_is_one_block(run: Run, until: Until) -> None:
    process = await run("for n in 1 2 3 4 5; do echo $n; sleep 0.01; done")
    await process.wait()
    await until(lambda: process._stdout.closed)
    block = await process.read()
    assert block is not None
    assert block.lines == b"1\n2\n3\n4\n5\n"
    await process.end()


async def test_reading_stops_when_nobody_takes_the_lines_and_goes_on_when_somebody_does(run: Run, until: Until) -> None:
    process = await run("yes 0123456789 | head -c 22000000", high_water=1 << 20)
    await until(lambda: process._stdout.paused)
    assert process._stdout._unread < (1 << 20) + (512 << 10)
    assert process.exit is None
    assert len(await read_all(process)) == 22_000_000
    assert await process.end() == Exit(code=0)


async def test_a_second_reader_is_told_so(run: Run) -> None:
    process = await run("read x")
    first = asyncio.create_task(process.read())
    await asyncio.sleep(0)
    with pytest.raises(RuntimeError, match="two tasks"):
        await process.read()
    assert await process.end() == Exit(code=1)
    assert await first is None


async def test_a_cancelled_reader_loses_nothing(run: Run) -> None:
    process = await run("read x; echo answer")
    reading = asyncio.create_task(process.read())
    await asyncio.sleep(0)
    reading.cancel()
    await asyncio.wait([reading])
    await process.write(b"go\n")
    assert await read_line(process) == "answer"
    await process.end()


async def test_lines_that_came_before_the_end_can_be_read_after_it(run: Run) -> None:
    process = await run("echo before; read x; echo at the end")
    assert await process.end() == Exit(code=0)
    assert await read_all(process) == b"before\nat the end\n"


# ---- writing ----


async def test_ten_megabytes_go_through_both_pipes(run: Run, until: Until) -> None:
    process = await run("cat", high_water=1 << 20)
    data = (b"x" * 999 + b"\n") * 10_000
    writing = asyncio.create_task(process.write(data))
    await until(lambda: process._stdout.paused)
    assert not writing.done()
    reading = asyncio.create_task(read_all(process))
    await writing
    process.close_stdin()
    assert await reading == data
    assert await process.end() == Exit(code=0)


async def test_frames_of_many_writers_are_never_torn(run: Run) -> None:
    process = await run("cat")
    frames = [bytes([97 + number]) * 150_000 + b"\n" for number in range(20)]
    writing = asyncio.gather(*(process.write(frame) for frame in frames))
    reading = asyncio.create_task(read_all(process))
    await writing
    process.close_stdin()
    assert (await reading).splitlines(keepends=True) == frames
    await process.end()


async def test_a_short_frame_is_written_at_once_and_whole_or_not_at_all(run: Run, until: Until) -> None:
    process = await run("read go; sleep 0.2; exec cat", high_water=0)
    assert process.write_now(b"go\n")
    frame, written = b"x" * 2999 + b"\n", 0
    while process.write_now(frame):
        written += 1
    assert written > 1, "it is written as long as the pipe has room"
    assert not process.write_now(b"y" * 5000 + b"\n"), "a long one could be torn"
    waiting = asyncio.create_task(process.write(b"z" * 5000 + b"\n"))
    await until(lambda: process._stdin._frames)
    assert not process.write_now(b"early\n"), "it does not overtake what waits"
    reading = asyncio.create_task(read_all(process))
    await waiting
    assert process.write_now(b"late\n")
    process.close_stdin()
    assert not process.write_now(b"later\n")
    assert await reading == frame * written + b"z" * 5000 + b"\nlate\n"
    await process.end()


async def test_a_cancelled_writer_finishes_the_frame_it_began_and_takes_back_the_one_it_did_not(
    run: Run, until: Until
) -> None:
    process = await run("cat", high_water=0)
    frame = (b"a" * 99 + b"\n") * 20_000
    begun = asyncio.create_task(process.write(frame))
    await until(lambda: process._stdin._frames)
    waiting = asyncio.create_task(process.write(b"b" * 10 + b"\n"))
    last = asyncio.create_task(process.write(b"c" * 10 + b"\n"))
    await asyncio.sleep(0)
    begun.cancel()
    waiting.cancel()
    reading = asyncio.create_task(read_all(process))
    await last
    process.close_stdin()
    assert await reading == frame + b"c" * 10 + b"\n"
    assert (begun.cancelled(), waiting.cancelled()) == (True, True)
    await process.end()


async def test_stdin_is_closed_only_after_what_waits_is_written(run: Run) -> None:
    process = await run("wc -c")
    writing = asyncio.create_task(process.write(b"x" * 1_000_000))
    await asyncio.sleep(0)
    process.close_stdin()
    await writing
    assert await read_line(process) == "1000000"
    with pytest.raises(EngineGone):
        await process.write(b"more\n")
    await process.end()


async def test_writing_to_an_agent_that_ended_says_how_it_ended(run: Run) -> None:
    process = await run("exit 3")
    await process.wait()
    with pytest.raises(EngineGone, match="sh is gone: exit code 3"):
        await process.write(b"hello\n")
    await process.end()


async def test_writing_to_an_agent_that_closed_its_stdin_says_so(run: Run) -> None:
    process = await run("exec <&-; echo closed; sleep 300")
    assert await read_line(process) == "closed"
    with pytest.raises(EngineGone, match="stdin is closed"):
        await process.write(b"hello\n")
    await process.end(close_wait=0)


async def test_a_writer_that_waits_learns_that_the_agent_died(run: Run) -> None:
    process = await run("sleep 300")
    writing = asyncio.create_task(process.write(b"x" * 1_000_000))
    await asyncio.sleep(0)
    process.signal(signal.SIGKILL)
    with pytest.raises(EngineGone):
        await writing
    assert await process.end() == Exit(signal=9)


# ---- stderr ----


async def test_stderr_never_blocks_the_agent_and_its_end_is_kept(run: Run) -> None:
    process = await run("yes complaint | head -c 3000000 >&2; echo 'the last word ä' >&2")
    assert await process.wait() == Exit(code=0)
    await process.end()
    assert process.stderr_tail().endswith("complaint\nthe last word ä\n")
    assert len(process.stderr_tail().encode()) <= 64 * 1024
    assert process.stderr_tail(8) == "word ä\n"
    assert process.stderr_tail(0) == ""


# ---- ending ----


@pytest.mark.parametrize(
    ("script", "ending", "words"),
    [
        ("exit 0", Exit(code=0), "exit code 0"),
        ("exit 3", Exit(code=3), "exit code 3"),
        ("kill -KILL $$", Exit(signal=9), "killed by SIGKILL"),
        ("kill -40 $$", Exit(signal=40), "killed by signal 40"),
    ],
)
async def test_the_end_is_told_as_it_was(run: Run, script: str, ending: Exit, words: str) -> None:
    process = await run(script)
    assert await process.wait() == ending
    assert await process.end() == ending
    assert (process.exit, ending.describe()) == (ending, words)


async def test_an_agent_that_reads_its_stdin_ends_by_closing_it(run: Run) -> None:
    process = await run("cat >/dev/null; exit 7")
    assert await process.end(close_wait=10) == Exit(code=7)


async def test_an_agent_that_does_not_is_terminated(run: Run) -> None:
    process = await run("exec sleep 300")
    assert await process.end(close_wait=0.05) == Exit(signal=15)


async def test_a_stubborn_agent_is_killed(run: Run) -> None:
    process = await run(STUBBORN)
    await process.read()
    assert await process.end(close_wait=0.05, term_wait=0.1) == Exit(signal=9)


async def test_ending_twice_is_ending_once(run: Run) -> None:
    process = await run(STUBBORN)
    await process.read()
    endings = await asyncio.gather(*(process.end(close_wait=0, term_wait=0.1) for _ in range(3)))
    assert [*endings, await process.end()] == [Exit(signal=9)] * 4


async def test_the_end_goes_through_though_its_caller_is_cancelled(
    run: Run, until: Until, gone: Callable[[int], bool]
) -> None:
    process = await run(STUBBORN)
    await process.read()
    ending = asyncio.create_task(process.end(close_wait=0.05, term_wait=0.1))
    await asyncio.sleep(0)
    ending.cancel()
    with pytest.raises(asyncio.CancelledError):
        await ending
    await until(lambda: gone(process.pid))
    assert await process.end() == Exit(signal=9)


async def test_after_the_end_no_descriptor_and_no_task_is_left(run: Run) -> None:
    fds, tasks = open_fds(), len(asyncio.all_tasks())
    for script in ("exit 0", "cat", "echo x; exec sleep 300", "echo unread; yes"):
        process = await run(script, high_water=1000)
        await process.end(close_wait=0.05)
    assert (open_fds(), len(asyncio.all_tasks())) == (fds, tasks)


async def test_an_agent_that_ended_by_itself_holds_no_descriptor_once_it_is_read(run: Run, until: Until) -> None:
    fds = open_fds()
    process = await run("echo done; echo bad >&2")
    assert await read_all(process) == b"done\n"
    await until(lambda: open_fds() == fds)
    assert process.stderr_tail() == "bad\n"


async def test_a_signal_reaches_the_agent_alone(run: Run) -> None:
    process = await run("trap 'echo caught' INT; echo ready; while :; do sleep 0.02; done")
    assert await read_line(process) == "ready"
    process.signal(signal.SIGINT)
    assert await read_line(process) == "caught"
    await process.end(close_wait=0)
    process.signal(signal.SIGINT)
