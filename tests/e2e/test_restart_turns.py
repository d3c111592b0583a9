"""A service dies in the middle of a turn, its agent does not: the next service has the whole turn, each thing once."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import msgspec
import pytest

from footplate.errors import LockHeld
from footplate.events import model as m
from footplate.events.ids import SessionId
from footplate.events.requests import Allow
from footplate.events.view import SessionView
from footplate.host.channel import VERSION
from footplate.host.keepers import connect
from footplate.host.locks import SessionLock
from footplate.host.sweep import read_records
from footplate.host.table import look
from footplate.testing.invariants import check_log
from footplate.testing.messages import say, script, tool
from tests.e2e.restarts import Died, Life, Lives, lives_of
from tests.e2e.scripted_cli import OTHER, ScriptedCli
from tests.e2e.storm import Tale, agents_of, keepers_of
from tests.e2e.world import ROOT, World, processes_with

pytestmark = pytest.mark.timeout(240)

STORY = " ".join(f"word-{number}" for number in range(150))
SLOW = say(STORY, chunk=20, chunk_delay=0.03)
OWN = "00000000-0000-4000-8000-000000000001"
GATE = "echo ran >> runs; until [ -e gate ]; do sleep 0.05; done; echo hello"


@pytest.fixture
async def lives(world: World) -> AsyncIterator[Lives]:
    async with lives_of(world) as made:
        yield made


def runs(world: World) -> int:
    file = world.work / "runs"
    return len(file.read_text().splitlines()) if file.exists() else 0


async def appears(path: Path) -> None:
    async with asyncio.timeout(60):
        while not path.exists():  # noqa: ASYNC110, ASYNC240
            await asyncio.sleep(0.02)


async def settle(life: Life, session: SessionId) -> m.TurnEnded:
    """The turn has ended, and the log of all lives together keeps every promise."""
    ended = await life.ended(session)
    await life.see(session, m.StateChanged, lambda event: event.state == "idle" and life.of(session, m.TurnEnded) != [])
    assert check_log(life.envelopes[session]) == []
    assert life.of(session, m.Unparsed) == []
    assert len(life.of(session, m.TurnStarted)) == len(life.of(session, m.TurnEnded)) == 1
    return ended


def texts(life: Life, session: SessionId) -> list[str]:
    """What the agent said, message by message."""
    return [each.text for each in life.of(session, m.Message) if each.parent is None]


@pytest.mark.both_versions
@pytest.mark.parametrize("way", ["kill", "terminate"])
async def test_words_in_the_middle_of_a_message_are_whole_and_single(lives: Lives, way: str) -> None:
    first = await lives.begin()
    session = await first.prompt(script(SLOW))
    await first.see(session, m.MessageDelta, lambda delta: "word-9" in delta.text)
    await (first.kill() if way == "kill" else first.terminate())
    second = await lives.begin()
    await second.watch(session)
    ended = await settle(second, session)
    assert (ended.ok, ended.answer) == (True, STORY)
    assert texts(second, session) == [STORY]


@pytest.mark.both_versions
async def test_a_tool_in_the_middle_of_its_work_runs_once(lives: Lives, world: World) -> None:
    first = await lives.begin()
    session = await first.prompt(script(tool("Bash", {"command": GATE}, text="Look."), "It said: $LAST"))
    await first.answer(session, await first.asked(session), Allow())
    await appears(world.work / "runs")
    await first.kill()
    second = await lives.begin()
    await second.watch(session)
    (world.work / "gate").touch()
    ended = await settle(second, session)
    assert (ended.answer, runs(world)) == ("It said: hello", 1)
    assert texts(second, session) == ["Look.", "It said: hello"]
    assert [each.outcome for each in second.of(session, m.ToolEnded)] == ["completed"]
    assert len(second.of(session, m.RequestApplied)) == 1


@pytest.mark.both_versions
async def test_a_turn_that_ended_meanwhile_is_told_to_the_end(lives: Lives, world: World) -> None:
    first = await lives.begin()
    session = await first.prompt(script(tool("Bash", {"command": GATE}), "It said: $LAST"))
    await first.answer(session, await first.asked(session), Allow())
    await appears(world.work / "runs")
    await first.kill()
    (world.work / "gate").touch()
    async with asyncio.timeout(60):
        while len([each for each in world.requests() if each.outcome == "answered" and each.asks_model]) < 2:  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    second = await lives.begin()
    await second.watch(session)
    ended = await settle(second, session)
    assert (ended.ok, ended.answer, runs(world)) == (True, "It said: hello", 1)


async def test_a_sub_agent_goes_on(lives: Lives, world: World) -> None:
    inner = script(tool("Bash", {"command": GATE}), "inner says $LAST", say="do it")
    agent = {"description": "look", "prompt": inner, "subagent_type": "general-purpose", "run_in_background": False}
    first = await lives.begin()
    session = await first.prompt(script(tool("Agent", agent), "Outer is done."))
    opened = await first.see(session, m.RequestOpened)
    assert opened.parent is not None
    await first.kill()
    second = await lives.begin()
    await second.watch(session)
    await second.answer(session, opened.request, Allow())
    await appears(world.work / "runs")
    await second.kill()
    third = await lives.begin()
    await third.watch(session)
    (world.work / "gate").touch()
    assert (await settle(third, session)).answer == "Outer is done."
    assert runs(world) == 1
    assert {each.outcome for each in third.of(session, m.ToolEnded)} == {"completed"}


async def test_the_session_goes_on_after_the_turn(lives: Lives) -> None:
    first = await lives.begin()
    session = await first.prompt(script(SLOW))
    await first.see(session, m.MessageDelta)
    await first.order("prompt", session=session, text=script("And more."))
    await first.kill()
    second = await lives.begin()
    await second.watch(session)
    await second.see(session, m.TurnEnded, lambda event: event.answer == "And more.")
    assert [each.answer for each in second.of(session, m.TurnEnded)] == [STORY, "And more."]
    await second.order("prompt", session=session, text=script("And on."))
    await second.see(session, m.TurnEnded, lambda event: event.answer == "And on.")
    assert check_log(second.envelopes[session]) == []


async def test_an_idle_agent_is_taken_over_and_used(lives: Lives) -> None:
    first = await lives.begin()
    session = await first.prompt(script("One."))
    await first.ended(session)
    pids = await kept(lives.world)
    await first.kill()
    second = await lives.begin()
    assert second.rejoined == (session,)
    await second.watch(session)
    await second.order("prompt", session=session, text=script("Two."))
    await second.see(session, m.TurnEnded, lambda event: event.answer == "Two.")
    assert await kept(lives.world) == pids
    assert check_log(second.envelopes[session]) == []


@pytest.mark.both_versions
async def test_the_lock_of_a_cleared_conversation_outlives_the_service(lives: Lives, world: World) -> None:
    first = await lives.begin()
    session = await first.prompt(script("One."))
    await first.ended(session)
    before = first.of(session, m.EngineAttached)[-1].engine_session_id
    await first.order("prompt", session=session, text="/clear")
    cleared = await first.see(session, m.EngineAttached, lambda event: event.reason == "cleared")
    await first.see(session, m.TurnEnded, lambda event: event.resume is not None and event.resume.value != before)
    await first.kill()
    locks = Path(world.env["FOOTPLATE_DATA_DIR"]) / "locks"
    async with SessionLock(locks, f"claude:{before}"):
        pass  # nobody writes the conversation before it any more
    with pytest.raises(LockHeld, match="without its service"):
        await SessionLock(locks, f"claude:{cleared.engine_session_id}").acquire()
    second = await lives.begin()
    assert second.rejoined == (session,)
    await second.watch(session)
    await second.order("prompt", session=session, text=script("Two."))
    ended = await second.see(session, m.TurnEnded, lambda event: event.answer == "Two.")
    assert ended.resume is not None
    assert ended.resume.value == cleared.engine_session_id
    with pytest.raises(LockHeld, match="footplate session"):
        await SessionLock(locks, f"claude:{cleared.engine_session_id}").acquire()
    assert check_log(second.envelopes[session]) == []


def hold_back(world: World, option: str) -> None:
    """Have every CLI that is started with the option write `ready` and wait for `gate` before it does anything."""
    program = world.home / "bin" / "claude"
    real = program.resolve()
    program.unlink()
    gate = "touch ready; until [ -e gate ]; do sleep 0.05; done"
    program.write_text(f'#!/bin/sh\ncase "$*" in *{option}*) {gate};; esac\nexec "{real}" "$@"\n')
    program.chmod(0o755)


async def keeps(world: World, count: int) -> None:
    """Wait until the keepers keep so many."""
    async with asyncio.timeout(20):
        while len(await kept(world)) != count:  # noqa: ASYNC110
            await asyncio.sleep(0.05)


async def restarted(lives: Lives, life: Life, times: int = 2) -> Life:
    """Kill the service so many times, with no word of its agents in between."""
    for _ in range(times):
        await life.kill()
        life = await lives.begin()
    return life


async def test_a_fork_whose_agent_is_starting_outlives_its_services(lives: Lives, world: World) -> None:
    hold_back(world, "--fork-session")
    first = await lives.begin()
    parent = await first.prompt(script("One."))
    await first.ended(parent)
    before = first.of(parent, m.EngineAttached)[-1].engine_session_id
    fork = SessionId(msgspec.json.decode(await first.order("fork", session=parent)))
    await first.order("prompt", session=fork, text=script("Two."))
    await appears(world.work / "ready")
    await keeps(world, 2)
    last = await restarted(lives, first)
    assert set(last.rejoined) == {parent, fork}
    (world.work / "gate").touch()
    await last.watch(fork)
    ended = await settle(last, fork)
    assert (ended.answer, ended.error) == ("Two.", "")
    assert ended.resume is not None
    assert ended.resume.value != before


async def test_an_agent_that_begins_a_forgotten_conversation_again_outlives_its_services(
    lives: Lives, world: World
) -> None:
    first = await lives.begin()
    session = await first.prompt(script("One."))
    await first.ended(session)
    await first.terminate()
    shutil.rmtree(world.home / ".claude" / "projects")
    hold_back(world, "--session-id")
    second = await lives.begin()
    await second.order("prompt", session=session, text=script("Two."))
    await appears(world.work / "ready")
    await keeps(world, 1)
    last = await restarted(lives, second)
    assert last.rejoined == (session,)
    (world.work / "gate").touch()
    await last.watch(session)
    await last.see(session, m.TurnEnded, lambda event: event.answer == "Two.")
    assert [each.ok for each in last.of(session, m.TurnEnded)] == [True, True]
    assert check_log(last.envelopes[session]) == []


async def test_an_agent_that_names_its_conversation_after_two_restarts_goes_on_with_it(
    lives: Lives, world: World, tmp_path: Path
) -> None:
    cli = ScriptedCli(tmp_path / "cli", own_id=OWN, late=True)
    world.env.update(cli.env, PATH=f"{cli.bin}:{world.env['PATH']}")
    first = await lives.begin()
    session = await first.prompt("go")
    await keeps(world, 1)
    last = await restarted(lives, first)
    assert last.rejoined == (session,)
    view = msgspec.json.decode(await last.order("view", session=session), type=SessionView)
    assert not view.attached, "it has not named its conversation"
    cli.open_gate()
    ended = await settle(last, session)
    assert (ended.answer, ended.error) == (f"answered in {OWN}", "")
    assert ended.resume is not None
    assert ended.resume.value == OWN
    assert len(cli.starts) == 1


async def test_a_service_killed_between_locking_a_conversation_and_storing_its_id_locks_nobody_out(
    lives: Lives, world: World, tmp_path: Path
) -> None:
    cli = ScriptedCli(tmp_path / "cli", own_id=OWN)
    world.env.update(cli.env, PATH=f"{cli.bin}:{world.env['PATH']}")
    first = await lives.begin(die_before="EngineAttached")
    session = await first.prompt("go")
    await first.died()
    locks = Path(world.env["FOOTPLATE_DATA_DIR"]) / "locks"
    with pytest.raises(LockHeld, match="without its service"):
        await SessionLock(locks, f"claude:{OWN}").acquire()
    second = await lives.begin()
    assert second.rejoined == (session,)
    await second.watch(session)
    cli.open_gate()
    ended = await settle(second, session)
    assert (ended.answer, ended.error) == (f"answered in {OWN}", "")
    assert ended.resume is not None
    assert ended.resume.value == OWN
    with pytest.raises(LockHeld, match="footplate session"):
        await SessionLock(locks, f"claude:{OWN}").acquire()
    await second.kill()
    third = await lives.begin()
    assert third.rejoined == (session,)
    await third.order("prompt", session=session, text="again")
    await third.news(lambda: len(third.of(session, m.TurnEnded)) == 2, within=30)
    assert [each.error for each in third.of(session, m.TurnEnded)] == ["", ""]
    await third.order("close", session=session)
    async with SessionLock(locks, f"claude:{OWN}"):
        pass  # nothing of it is left with the keeper


async def test_a_service_killed_between_locking_a_cleared_conversation_and_storing_its_id_locks_nobody_out(
    lives: Lives, world: World, tmp_path: Path
) -> None:
    cli = ScriptedCli(tmp_path / "cli", moves="init assistant result")
    world.env.update(cli.env, PATH=f"{cli.bin}:{world.env['PATH']}")
    cli.open_gate()
    first = await lives.begin(die_before="EngineAttached:cleared")
    session = await first.prompt("go")
    await first.ended(session)
    cli.close_gate()
    await first.order("prompt", session=session, text="/clear")
    await first.died()
    second = await lives.begin()
    assert second.rejoined == (session,)
    await second.watch(session)
    cli.open_gate()
    assert await second.news(lambda: len(second.of(session, m.TurnEnded)) == 2, within=30)
    ended = second.of(session, m.TurnEnded)[1]
    assert ended.error == ""
    assert ended.resume is not None
    assert ended.resume.value == OTHER
    assert check_log(second.envelopes[session]) == []


async def test_an_idle_agent_is_not_left_behind_by_a_service_that_stops_in_order(lives: Lives) -> None:
    first = await lives.begin()
    session = await first.prompt(script("One."))
    await first.ended(session)
    await first.terminate()
    second = await lives.begin()
    assert second.rejoined == ()
    await second.watch(session)
    await second.order("prompt", session=session, text=script("Two."))
    await second.see(session, m.TurnEnded, lambda event: event.answer == "Two.")
    assert check_log(second.envelopes[session]) == []


async def test_ten_sessions_at_once(lives: Lives, world: World) -> None:
    first = await lives.begin()
    prompts = [
        script(tool("Bash", {"command": f"echo {n} >> runs-{n}; echo {n}"}), f"{n} said: $LAST") for n in range(10)
    ]
    sessions = [await first.prompt(prompt) for prompt in prompts]
    requests = [await first.asked(session) for session in sessions]
    await first.kill()
    second = await lives.begin()
    assert set(second.rejoined) == set(sessions)
    for session, request in zip(sessions, requests, strict=True):
        await second.watch(session)
        await second.answer(session, request, Allow())
    for number, session in enumerate(sessions):
        assert (await settle(second, session)).answer == f"{number} said: {number}"
        assert (world.work / f"runs-{number}").read_text() == f"{number}\n"


async def test_a_newer_version_takes_over(lives: Lives, world: World, tmp_path: Path) -> None:
    newer = tmp_path / "newer"
    await asyncio.to_thread(shutil.copytree, ROOT / "src", newer)
    wire = newer / "footplate" / "host" / "channel.py"
    text = wire.read_text()
    assert f"\nVERSION = {VERSION} " in text
    wire.write_text(text.replace(f"\nVERSION = {VERSION} ", f"\nVERSION = {VERSION + 1} "))
    first = await lives.begin()
    session = await first.prompt(script(tool("Bash", {"command": GATE}), "It said: $LAST"))
    request = await first.asked(session)
    await first.terminate()
    second = await lives.begin(source=newer)
    await second.watch(session)
    await second.answer(session, request, Allow())
    other = await second.prompt(script("New here."))
    assert (await settle(second, other)).answer == "New here."
    versions = {record.version for record in read_records(Path(world.env["FOOTPLATE_DATA_DIR"])) if record.alive()}
    assert versions == {VERSION, VERSION + 1}
    (world.work / "gate").touch()
    assert (await settle(second, session)).answer == "It said: hello"
    assert runs(world) == 1


async def test_a_service_that_never_comes_back_leaves_nothing_after_the_grace(lives: Lives, world: World) -> None:
    first = await lives.begin(grace_s=1.0)
    one = await first.prompt(script(tool("Bash", {"command": f"setsid sleep 300 & {GATE}"}), "never"))
    await first.answer(one, await first.asked(one), Allow())
    await appears(world.work / "runs")
    two = await first.prompt(script(tool("Bash", {"command": "touch made"}), "It is made."))
    asked = await first.asked(two)
    await first.kill()
    data = Path(world.env["FOOTPLATE_DATA_DIR"])
    async with asyncio.timeout(60):
        while processes_with(str(world.home)) or any(record.alive() for record in read_records(data)):  # noqa: ASYNC110
            await asyncio.sleep(0.1)
    assert [path.name for path in (data / "keepers").iterdir()] == ["lock"]
    second = await lives.begin()
    assert second.rejoined == ()
    await second.watch(two)
    await second.see(two, m.EngineDetached)
    assert [each.id for each in Tale(second.events(two)).unanswered] == [asked.id]
    await second.answer(two, asked, Allow())
    assert (await settle(second, two)).ok
    assert (world.work / "made").exists()


async def test_draining_waits_for_turns_and_leaves_nothing(lives: Lives, world: World) -> None:
    first = await lives.begin()
    session = await first.prompt(script(SLOW))
    await first.see(session, m.MessageDelta)
    assert bytes(await first.order("drain", patience_s=60.0)) == b"true"
    assert (await first.ended(session)).answer == STORY
    await first.terminate()
    assert processes_with(str(world.home)) == {}


def pipes_of(pid: int) -> set[Path]:
    """What the descriptors of a process lead to."""
    found: set[Path] = set()
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):  # closed meanwhile
            found.add(descriptor.readlink())
    return found


async def stdin_closed(pipe: Path, writers: tuple[int, ...]) -> None:
    """Wait until none of the processes has the pipe any more."""
    async with asyncio.timeout(30):
        while any(pipe in pipes_of(pid) for pid in writers):  # noqa: ASYNC110  it has no event
            await asyncio.sleep(0.02)


@pytest.mark.parametrize("then", ["goes on", "is closed"])
async def test_a_service_killed_while_it_closes_a_session_leaves_one_that_goes_on(
    lives: Lives, world: World, then: str
) -> None:
    """The agent's stdin is closed by then, and its command in the background keeps it alive."""
    life = await lives.begin()
    endless = tool("Bash", {"command": "tail -f /dev/null", "run_in_background": True})
    session = await life.prompt(script(endless, "It runs."))
    await life.answer(session, await life.asked(session), Allow())
    await life.ended(session)
    (agent,) = agents_of(world.env)
    pipe = Path(f"/proc/{agent.pid}/fd/0").readlink()  # noqa: ASYNC240
    closing = asyncio.create_task(life.order("close", session=session))
    await stdin_closed(pipe, (life.process.pid, *keepers_of(world.env)))
    assert not life.of(session, m.SessionClosed), "closing waits for the agent to end by itself"
    await life.kill()
    with suppress(Died):
        await closing
    life = await lives.begin()
    await life.watch(session)
    if then == "goes on":
        await life.order("prompt", session=session, text=script("I go on."))
        await life.see(session, m.TurnEnded, lambda event: event.answer == "I go on.")
    else:
        await life.order("close", session=session)
        await life.see(session, m.SessionClosed)
        await life.news(lambda: False, within=0.3)  # nothing follows
    assert check_log(life.envelopes[session]) == []


async def test_an_agent_that_does_not_answer_the_next_service_is_replaced(lives: Lives, world: World) -> None:
    life = await lives.begin()
    session = await life.prompt(script("One."))
    await life.ended(session)
    await life.kill()
    (agent,) = agents_of(world.env)
    os.kill(agent.pid, signal.SIGSTOP)
    life = await lives.begin()
    assert life.rejoined == (session,)
    await life.watch(session)
    await life.order("prompt", session=session, text=script("Two."))
    await life.see(session, m.EngineDetached)
    lost = await life.see(session, m.TurnEnded, lambda event: not event.ok)
    assert lost.stop_reason == "lost", "it was handed to that agent, and nobody knows whether it was read"
    await life.order("prompt", session=session, text=script("Three."))
    await life.see(session, m.TurnEnded, lambda event: event.answer == "Three.")
    assert look(agent.pid) is None
    assert check_log(life.envelopes[session]) == []


async def test_an_agent_that_cannot_be_taken_over_ends_honestly(lives: Lives, world: World) -> None:
    first = await lives.begin()
    session = await first.prompt("permission", engine="mock")
    await first.asked(session)
    await first.kill()
    second = await lives.begin()
    assert second.rejoined == ()
    await second.watch(session)
    assert (await second.ended(session)).stop_reason == "lost"
    assert check_log(second.envelopes[session]) == []


async def kept(world: World) -> list[int]:
    """What the keepers of the world keep."""
    data = Path(world.env["FOOTPLATE_DATA_DIR"])
    found: list[int] = []
    for record in read_records(data):
        keeper = await connect(data, record)
        await keeper.greet(role="look")
        found += [agent.pid for agent in await keeper.agents()]
        await keeper.drop()
    return found
