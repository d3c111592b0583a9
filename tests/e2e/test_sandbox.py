"""The real CLI in a sandbox and under limits: it works as before, and what it must not have it cannot get."""

from __future__ import annotations

import asyncio
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from footplate.config.settings import Settings
from footplate.events.runs import RunEvent
from footplate.runtime.run import Run, RunRequest
from footplate.testing.invariants import check_run
from footplate.testing.messages import script, tool
from tests.bubblewrap import need_bubblewrap
from tests.e2e.world import Watched, World, processes_with, wait_until_gone

pytestmark = pytest.mark.timeout(120)
SANDBOXED: dict[str, object] = {"sandbox": "bwrap"}
LONG = "touch begun; (setsid tail -f /dev/null &); tail -f /dev/null"


@pytest.fixture(autouse=True)
def bubblewrap() -> None:
    need_bubblewrap()


def _wait_for(fact: Callable[[], object]) -> None:
    deadline = time.monotonic() + 45
    while not fact():
        assert time.monotonic() < deadline
        time.sleep(0.02)


async def _run(world: World, prompt: str, section: dict[str, object], **options: object) -> Watched:
    given = {"engine": "claude", "cwd": str(world.work), "allow_tools": ("Bash",), **options}
    request = RunRequest(prompt=prompt, **given)  # type: ignore[arg-type]
    run = Run(request, settings=Settings(engines={"claude": section}), environ=world.env)
    return Watched([event async for event in run.events()])


def _bash(command: str) -> str:
    return script(tool("Bash", {"command": command}), "It said: $LAST")


@pytest.mark.both_versions
async def test_a_tool_in_the_sandbox_works_in_its_folder_and_finds_no_secret(world: World) -> None:
    (world.home / "secret").write_text("hush")
    outside = world.work.parent / "outside"
    outside.mkdir()
    (outside / "secret").write_text("hush")
    command = (
        f"cat ~/secret {outside}/secret /etc/shadow; touch {outside}/made /etc/made; touch /tmp/private; "
        "echo done > made; git init -q . && git status --short"
    )
    seen = await _run(world, _bash(command), SANDBOXED)
    assert seen.completed.ok, seen.completed.error
    assert "hush" not in seen.completed.answer
    assert seen.completed.answer.count("No such file or directory") == 4
    assert "Read-only file system" in seen.completed.answer
    assert "?? made" in seen.completed.answer
    assert (world.work / "made").read_text() == "done\n"
    assert sorted(path.name for path in outside.iterdir()) == ["secret"]
    assert not await asyncio.to_thread(Path("/tmp/private").exists)
    assert not check_run(seen.events)


@pytest.mark.both_versions
async def test_a_session_in_the_sandbox_is_resumed_in_it_and_outside_of_it(world: World) -> None:
    first = await _run(world, script("One."), SANDBOXED)
    assert first.completed.resume is not None, first.completed.error
    for section in (SANDBOXED, {}):
        again = await _run(world, script("Two."), section, resume=first.completed.resume.value)
        assert (again.completed.ok, again.completed.answer) == (True, "Two."), again.completed.error
        assert "One." in str(world.bodies()[-1])


async def test_a_profile_of_its_own_is_all_that_the_sandbox_needs_of_the_home(world: World) -> None:
    seen = await _run(world, _bash("ls -a ~"), {**SANDBOXED, "profile": "~/profiles/one"})
    assert seen.completed.ok, seen.completed.error
    assert "profiles" in seen.completed.answer
    assert not (world.home / ".claude").exists()
    assert (world.home / "profiles" / "one" / "projects").is_dir()


async def test_permissions_may_be_skipped_as_root_in_the_sandbox(world: World) -> None:
    section = {**SANDBOXED, "dangerously_skip_permissions": True}
    seen = await _run(world, _bash("echo ran"), section, allow_tools=())
    assert (seen.completed.ok, seen.completed.answer) == (True, "It said: ran"), seen.completed.error


async def test_a_program_that_cannot_be_sandboxed_says_why(world: World) -> None:
    seen = await _run(world, script("never"), SANDBOXED, cwd=str(world.home))
    assert not seen.completed.ok
    assert "holds the home folder" in seen.completed.error


async def _begin_long(world: World) -> tuple[Run, asyncio.Task[list[RunEvent]]]:
    prompt = script(tool("Bash", {"command": LONG, "timeout": 600_000}), "never said")
    request = RunRequest(prompt=prompt, engine="claude", cwd=str(world.work), allow_tools=("Bash",))
    run = Run(request, settings=Settings(engines={"claude": SANDBOXED}), environ=world.env)

    async def watch() -> list[RunEvent]:
        return [event async for event in run.events()]

    task = asyncio.create_task(watch())
    await asyncio.to_thread(_wait_for, (world.work / "begun").exists)
    return run, task


@pytest.mark.both_versions
async def test_an_interrupt_in_a_tool_in_the_sandbox_ends_in_order(world: World) -> None:
    run, task = await _begin_long(world)
    await run.interrupt()
    seen = Watched(await task)
    assert seen.completed.error == "interrupted"
    assert seen.completed.resume is not None
    wait_until_gone(str(world.home), within=5)
    again = await _run(world, script("Back."), SANDBOXED, resume=seen.completed.resume.value)
    assert again.completed.answer == "Back."


@pytest.mark.both_versions
def test_kill_9_of_footplate_leaves_nothing_of_a_sandbox(world: World) -> None:
    world.env["FOOTPLATE__ENGINES__CLAUDE__SANDBOX"] = "bwrap"
    prompt = script(tool("Bash", {"command": LONG, "timeout": 600_000}), "never said")
    command = world.command("run", "--engine", "claude", "--allow-tool", "Bash", prompt)
    with subprocess.Popen(
        command, env=world.env, cwd=world.work, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
    ) as footplate:
        try:
            _wait_for((world.work / "begun").exists)
            _wait_for(lambda: len(processes_with(str(world.home))) >= 6)
        finally:
            footplate.kill()
    wait_until_gone(str(world.home), within=10)


EATER = "python3 -c 'import time; data = bytearray(1500 << 20); time.sleep(600)'"


@pytest.mark.parametrize("section", [{}, SANDBOXED], ids=["outside", "in the sandbox"])
async def test_an_agent_whose_tool_eats_memory_is_stopped_and_it_is_told(
    world: World, section: dict[str, object]
) -> None:
    prompt = script(tool("Bash", {"command": EATER, "timeout": 600_000}), "never said")
    seen = await _run(world, prompt, {**section, "memory_mb": 900})
    assert not seen.completed.ok
    assert "of 900 MB memory" in seen.completed.error
    assert [warning for warning in seen.warnings() if "of 900 MB memory" in warning]
    assert seen.completed.resume is not None
    assert not check_run(seen.events)
    again = await _run(world, script("Back."), section, resume=seen.completed.resume.value)
    assert again.completed.answer == "Back."
