"""Whatever dies, and whenever: no process is left behind, the story is told, the session can go on."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from footplate.events.runs import Action, Completed, RunEvent
from footplate.runtime.run import Run, RunRequest
from footplate.testing.invariants import check_run
from footplate.testing.messages import say, script, tool
from tests.e2e.killed import until
from tests.e2e.world import Watched, World, processes_with, wait_until_gone

pytestmark = pytest.mark.timeout(120)

LONG = "touch begun; (setsid tail -f /dev/null &); tail -f /dev/null"
"""A command that never ends, with a child that moved to a session of its own."""


def _wait_for(path: Path, *, within: float = 45.0) -> None:
    deadline = time.monotonic() + within
    while not path.exists():
        assert time.monotonic() < deadline, f"{path} did not appear"
        time.sleep(0.02)


@contextmanager
def _long_run(world: World) -> Iterator[subprocess.Popen[bytes]]:
    """`footplate run` in the middle of a tool that never ends."""
    prompt = script(tool("Bash", {"command": LONG, "timeout": 600_000}), "never said")
    command = world.command("run", "--engine", "claude", "--allow-tool", "Bash", "--json", prompt)
    process = subprocess.Popen(
        command,
        env=world.env,
        cwd=world.work,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        _wait_for(world.work / "begun")
        yield process
    finally:
        process.kill()
        process.communicate()


def _wait_for_whole_tree(world: World) -> None:
    """Footplate, the CLI, the tool's shell, its command and its detached child."""
    deadline = time.monotonic() + 10
    while len(processes_with(str(world.home))) < 5:
        assert time.monotonic() < deadline, processes_with(str(world.home))
        time.sleep(0.02)


@pytest.mark.both_versions
def test_kill_9_of_footplate_run_in_a_tool_leaves_no_process(world: World) -> None:
    with _long_run(world) as process:
        _wait_for_whole_tree(world)
        process.kill()
        process.communicate()
        wait_until_gone(str(world.home), within=10)


@pytest.mark.both_versions
def test_one_ctrl_c_in_a_tool_interrupts_in_order(world: World) -> None:
    with _long_run(world) as process:
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=30)
        assert process.returncode == 130
        assert b'"error":"interrupted"' in out
        wait_until_gone(str(world.home), within=5)


def test_two_ctrl_c_kill(world: World) -> None:
    with _long_run(world) as process:
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
        assert process.returncode == 130
        wait_until_gone(str(world.home), within=5)


def test_sigterm_of_footplate_run_ends_the_agent(world: World) -> None:
    with _long_run(world) as process:
        process.terminate()
        process.communicate(timeout=30)
        assert process.returncode == 143
        wait_until_gone(str(world.home), within=5)


def _agent_pid(world: World) -> int:
    (pid,) = [pid for pid, line in processes_with(str(world.home)).items() if "--output-format stream-json" in line]
    return pid


async def _until_tool_runs(run: Run, world: World) -> tuple[list[RunEvent], asyncio.Task[None]]:
    events: list[RunEvent] = []

    async def watch() -> None:
        events.extend([event async for event in run.events()])

    task = asyncio.create_task(watch())
    await asyncio.to_thread(_wait_for, world.work / "begun")
    return events, task


def _request(world: World, **options: object) -> RunRequest:
    prompt = script(tool("Bash", {"command": LONG, "timeout": 600_000}, text="Let me look."), "never said")
    given = {"engine": "claude", "cwd": str(world.work), "allow_tools": ("Bash",), **options}
    return RunRequest(prompt=prompt, **given)  # type: ignore[arg-type]


@pytest.mark.both_versions
async def test_a_cli_killed_in_a_tool_ends_the_run_with_the_reason_and_the_last_words(world: World) -> None:
    events, task = await _until_tool_runs(world.start(_request(world)), world)
    os.kill(_agent_pid(world), signal.SIGKILL)
    await task
    seen = Watched(events)
    assert not seen.completed.ok
    assert "SIGKILL" in seen.completed.error
    assert seen.completed.answer == "Let me look."
    assert seen.completed.resume is not None
    assert [command.ok for command in seen.done("command")] == [False]
    assert not check_run(seen.events)
    wait_until_gone(str(world.home), within=5)


@pytest.mark.both_versions
async def test_a_killed_session_can_be_resumed(world: World) -> None:
    events, task = await _until_tool_runs(world.start(_request(world)), world)
    # The CLI starts a tool before it writes its file, and what was not written cannot be resumed.
    await until(lambda: any(world.home.glob(".claude/projects/*/*.jsonl")))
    os.kill(_agent_pid(world), signal.SIGKILL)
    await task
    resume = Watched(events).completed.resume
    assert resume is not None
    seen = await world.run(script("Back again."), resume=resume.value)
    assert seen.completed.ok
    assert seen.completed.answer == "Back again."
    assert seen.completed.resume == resume


async def test_a_timeout_interrupts_and_says_so(world: World) -> None:
    seen = await world.run(script(say("never", hang=True)), timeout_s=4.0)
    assert not seen.completed.ok
    assert seen.completed.error == "timed out after 4 s"
    assert seen.completed.resume is not None
    assert not check_run(seen.events)


async def test_closing_the_generator_kills_the_whole_tree(world: World) -> None:
    events = world.start(_request(world)).events()
    async for event in events:
        if isinstance(event, Action) and event.kind == "command":
            break
    await asyncio.to_thread(_wait_for, world.work / "begun")
    await events.aclose()
    assert not processes_with(str(world.home))


async def test_a_run_that_resumes_a_session_in_use_waits_for_it(world: World) -> None:
    first = await world.run(script("One."))
    assert first.completed.resume is not None
    order: list[str] = []
    gate = f"touch begun; until test -e {world.work}/go; do :; done"

    async def resumed(name: str, prompt: str) -> None:
        seen = await world.run(prompt, resume=first.completed.resume.value, allow_tools=("Bash",))  # type: ignore[union-attr]
        assert seen.completed.ok, seen.completed.error
        order.append(name)

    holder = asyncio.create_task(resumed("holder", script(tool("Bash", {"command": gate}), "Held.")))
    await asyncio.to_thread(_wait_for, world.work / "begun")
    waiter = asyncio.create_task(resumed("waiter", script("Waited.")))
    done, _ = await asyncio.wait((waiter,), timeout=2.0)
    assert not done, "the second run must wait for the first"
    (world.work / "go").touch()
    await asyncio.gather(holder, waiter)
    assert order == ["holder", "waiter"]


async def test_two_new_runs_go_in_parallel(world: World) -> None:
    meet = "touch {mine}; until test -e {other}; do :; done"
    one = script(tool("Bash", {"command": meet.format(mine="a", other="b")}), "A.")
    two = script(tool("Bash", {"command": meet.format(mine="b", other="a")}), "B.")
    seen = await asyncio.gather(*(world.run(prompt, allow_tools=("Bash",), timeout_s=60.0) for prompt in (one, two)))
    assert [watched.completed.answer for watched in seen] == ["A.", "B."]
    assert len({watched.completed.resume for watched in seen}) == 2
    assert all(isinstance(watched.events[-1], Completed) for watched in seen)
