"""Park and resume on the real CLI: it is killed with a request open, asked again from its file, and runs once."""

from __future__ import annotations

import asyncio
import os
import signal
import time
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from footplate.engines.claude.parking import (
    GO_ON,
    UNKNOWN_RESULT,
    Append,
    Journal,
    Park,
    Say,
    Settled,
    StartAnew,
    is_same_call,
    settle,
)
from footplate.engines.claude.parking_lot import Appended, Parked, Refused, Stamp, append_result, park
from footplate.engines.claude.projects import config_folder, find_transcript, read_transcript
from footplate.engines.claude.writers import find_writer
from footplate.events import model as m
from footplate.events.ids import EngineSessionId
from footplate.events.requests import Allow, Answer, Deny, Reply, Request
from footplate.testing.messages import script, tool, tools
from tests.e2e.live import Live, talk
from tests.e2e.world import VERSIONS, World, processes_with

pytestmark = [pytest.mark.timeout(120), pytest.mark.both_versions]

BASH = {"command": "echo ran >> ran.txt", "description": "append a line"}
QUESTION = {
    "questions": [
        {
            "question": "Which colour?",
            "header": "Colour",
            "multiSelect": False,
            "options": [{"label": "Red", "description": "warm"}, {"label": "Blue", "description": "cold"}],
        }
    ]
}


class Scene:
    """One session of the CLI, through the deaths of its processes."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.id = EngineSessionId(str(uuid.uuid4()))
        self.config = config_folder(world.env)

    def results(self) -> int:
        """How many results the session's file has; none while the CLI has not written it yet."""
        path = find_transcript(self.config, self.id, str(self.world.work))
        return 0 if path is None else len(read_transcript(path).results)

    @property
    def path(self) -> Path:
        """The session's file, which must be there."""
        found = find_transcript(self.config, self.id, str(self.world.work))
        assert found is not None
        return found

    def runs(self) -> int:
        """How often the command ran."""
        made = self.world.work / "ran.txt"
        return made.read_text().count("ran") if made.exists() else 0

    async def ask(self, prompt: str, *, durable: bool = True, mode: str = "") -> Journal:
        """Have the agent ask something, then kill it: what a journal has of that request."""
        async with talk(self.world, session_id=self.id, mode=mode) as live:
            await live.prompt(prompt)
            pid = self.pid()
            request = await live.request()
            if durable:
                await until(lambda: self.has(request.call or ""))
            os.kill(pid, signal.SIGKILL)
            await live.see(m.EngineDetached)
        return journal_of(request, mode=mode)

    def has(self, call: str) -> bool:
        """Whether the session's file is there, with the call in it."""
        path = find_transcript(self.config, self.id)
        return path is not None and call in read_transcript(path).calls

    def pid(self) -> int:
        """The process of the CLI."""
        (pid,) = [pid for pid, line in processes_with(str(self.world.home)).items() if self.id in line]
        return pid

    def kill(self) -> None:
        """Kill the CLI, as the death of its keeper does."""
        os.kill(self.pid(), signal.SIGKILL)

    def park(self, call: str, mode: str = "default") -> Parked | Refused:
        """Park a call."""
        return park(self.path, call, config=self.config, mode=mode, stamp=stamp())

    @asynccontextmanager
    async def resumed(self, mode: str = "default") -> AsyncIterator[Live]:
        """A new process on the same session, with nothing said to it."""
        async with talk(self.world, resume=self.id, mode=mode) as live:
            yield live

    async def settle_by_asking(self, journal: Journal, answer: Answer, mode: str = "default") -> m.TurnEnded:
        """Park, resume, be asked for the same call again, answer it."""
        action = settle(journal, read_transcript(self.path))
        assert isinstance(action, Park)
        assert self.park(action.call, mode) == Parked(call=journal.call)
        async with self.resumed(mode) as live:
            again = await live.request()
            assert again.call == journal.call
            assert is_same_call(journal, again.tool, again.input)
            await live.answer(again, answer)
            return await live.ended()


def journal_of(request: Request, *, mode: str = "") -> Journal:
    assert request.call is not None
    return Journal(call=request.call, tool=request.tool, input=request.input, mode=mode)


def stamp() -> Stamp:
    return Stamp(now=datetime.now(UTC), uuid=str(uuid.uuid4()))


async def until(wanted: Callable[[], bool], *, within: float = 10.0) -> None:
    """Wait for a condition, with a deadline."""
    deadline = time.monotonic() + within
    while not wanted():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.005)


@pytest.fixture
def scene(world: World) -> Scene:
    return Scene(world)


async def test_a_parked_call_is_asked_again_and_runs_once(scene: Scene) -> None:
    journal = await scene.ask(script(tool("Bash", BASH, text="running"), "It said: $LAST"))
    assert scene.runs() == 0
    ended = await scene.settle_by_asking(journal, Allow())
    assert ended.ok
    assert ended.answer.startswith("It said:")
    assert scene.runs() == 1
    assert isinstance(settle(journal, read_transcript(scene.path)), Settled)
    assert scene.park(journal.call) == Refused(reason="has its result")


async def test_a_parked_call_that_is_denied_does_not_run(scene: Scene) -> None:
    journal = await scene.ask(script(tool("Bash", BASH), "It said: $LAST"))
    ended = await scene.settle_by_asking(journal, Deny(message="not today"))
    assert "not today" in ended.answer
    assert scene.runs() == 0


async def test_a_parked_question_gets_its_answer(scene: Scene) -> None:
    journal = await scene.ask(script(tool("AskUserQuestion", QUESTION), "You said: $LAST"))
    ended = await scene.settle_by_asking(journal, Reply(answers={"Which colour?": "Blue"}))
    assert "Blue" in ended.answer


async def test_a_parked_plan_is_approved(scene: Scene) -> None:
    steps = (tool("Write", {"file_path": "$PLANFILE", "content": "# Plan\n1. do"}), tool("ExitPlanMode", {}))
    journal = await scene.ask(script(*steps, "Approved: $LAST"), mode="plan")
    assert journal.tool == "ExitPlanMode"
    ended = await scene.settle_by_asking(journal, Allow(), mode="plan")
    assert "approved your plan" in ended.answer


async def test_parking_twice_and_resuming_twice_runs_once(scene: Scene) -> None:
    journal = await scene.ask(script(tool("Bash", BASH), "It said: $LAST"))
    assert scene.park(journal.call) == Parked(call=journal.call)
    assert scene.park(journal.call) == Parked(call=journal.call, already=True)
    async with scene.resumed() as live:
        await live.answer(await live.request(), Allow())
        await live.ended()
    async with scene.resumed() as live:
        ended = await live.turn(script("Nothing else."))
        assert ended.answer == "Nothing else."
        assert not live.of(m.RequestOpened)
    assert scene.runs() == 1


async def test_a_resumed_call_can_be_killed_and_parked_again(scene: Scene) -> None:
    journal = await scene.ask(script(tool("Bash", BASH), "It said: $LAST"))
    scene.park(journal.call)
    async with scene.resumed() as live:
        await live.request()
        writer = find_writer(scene.config, scene.id)
        assert writer is not None
        assert (writer.pid, writer.how) == (scene.pid(), "registered")
        scene.kill()
        await live.see(m.EngineDetached)
    assert scene.runs() == 0
    assert scene.park(journal.call) == Parked(call=journal.call, already=True)
    async with scene.resumed() as live:
        await live.answer(await live.request(), Allow())
        assert (await live.ended()).ok
    assert scene.runs() == 1


async def test_of_parallel_calls_the_open_one_is_asked_again(scene: Scene) -> None:
    calls = tools(("Bash", {"command": "echo ran >> ran.txt"}), ("Bash", {"command": "echo ran two >> ran.txt"}))
    async with talk(scene.world, session_id=scene.id) as live:
        await live.prompt(script(calls, "Done."))
        await live.answer(await live.request(), Allow())
        second = await live.request()
        assert second.call is not None
        await until(lambda: scene.results() == 1)
        scene.kill()
        await live.see(m.EngineDetached)
    journal = journal_of(second)
    assert settle(journal, read_transcript(scene.path)) == Park(call=journal.call)
    assert (await scene.settle_by_asking(journal, Allow())).answer == "Done."
    assert scene.runs() == 2


async def test_a_torn_last_line_does_not_keep_a_call_from_being_parked(scene: Scene) -> None:
    journal = await scene.ask(script(tool("Bash", BASH), "It said: $LAST"))
    with scene.path.open("ab") as file:
        file.write(b'{"type":"last-prompt","lastPro')
    assert (await scene.settle_by_asking(journal, Allow())).ok
    assert scene.runs() == 1


async def test_an_unknown_outcome_is_told_and_the_call_is_not_run_again(scene: Scene) -> None:
    journal = await scene.ask(script(tool("Bash", BASH), "It said: $LAST"))
    sent = msgspec.structs.replace(journal, state="sending", allow=True)
    action = settle(sent, read_transcript(scene.path))
    assert isinstance(action, Append)
    assert action.unknown
    done = append_result(
        scene.path, action.call, action.text, config=scene.config, is_error=action.is_error, stamp=stamp()
    )
    assert done == Appended(call=journal.call)
    async with scene.resumed() as live:
        ended = await live.turn(script("I will check.", say=GO_ON))
        assert ended.answer == "I will check."
        assert not live.of(m.RequestOpened)
    assert scene.runs() == 0
    assert UNKNOWN_RESULT in str(scene.world.bodies()[-1])


async def test_what_cannot_be_parked_is_asked_for_by_a_message(scene: Scene) -> None:
    journal = await scene.ask(script(tool("Bash", BASH), "It said: $LAST"))
    async with scene.resumed() as live:
        await live.turn(script("Something else."))
    decided = msgspec.structs.replace(journal, state="decided", allow=True)
    action = settle(decided, read_transcript(scene.path))
    assert isinstance(action, Say)
    assert action.again
    async with scene.resumed() as live:
        await live.prompt(script(tool("Bash", BASH), "It said: $LAST", say=action.message))
        again = await live.request()
        assert again.call != journal.call
        assert is_same_call(journal, again.tool, again.input)
        await live.answer(again, Allow())
        assert (await live.ended()).ok
    assert scene.runs() == 1


async def test_a_cli_killed_at_the_instant_it_asks_is_told_honestly(scene: Scene) -> None:
    """What the file has by then is up to the machine: nothing, part of the turn, or the call."""
    journal = await scene.ask(script(tool("Bash", BASH), "It said: $LAST"), durable=False)
    path = find_transcript(scene.config, scene.id)
    action = settle(journal, None if path is None else read_transcript(path))
    if action == StartAnew():
        await refuses_to_resume(scene)
    else:
        assert isinstance(action, Park | Say)
    assert scene.runs() == 0


async def refuses_to_resume(scene: Scene) -> None:
    async with scene.resumed() as live:
        ended = await live.turn(script("never said"))
        assert not ended.ok
        assert "No conversation found" in ended.error


@pytest.mark.parametrize("known", ["queue", "prompt"])
async def test_a_file_that_ends_before_the_call_is_resumed_if_it_has_a_prompt(scene: Scene, known: str) -> None:
    journal = await scene.ask(script(tool("Bash", BASH), "It said: $LAST"))
    lines = scene.path.read_bytes().splitlines(keepends=True)
    prompt = next(number for number, line in enumerate(lines) if b'"type":"user"' in line)
    scene.path.write_bytes(b"".join(lines[: prompt + (known == "prompt")]))
    action = settle(journal, read_transcript(scene.path))
    if known == "queue":
        assert action == StartAnew()
        await refuses_to_resume(scene)
        return
    assert isinstance(action, Say)
    async with scene.resumed() as live:
        assert (await live.turn(script("I go on.", say=action.message))).answer == "I go on."
    assert scene.runs() == 0


async def test_a_living_cli_is_seen_and_nothing_is_written_beside_it(scene: Scene) -> None:
    async with talk(scene.world, session_id=scene.id) as live:
        await live.prompt(script(tool("Bash", BASH), "It said: $LAST"))
        request = await live.request()
        call = request.call or ""
        await until(lambda: scene.has(call))
        writer = find_writer(scene.config, scene.id)
        assert writer is not None
        assert writer.how == "registered"
        refused = scene.park(call)
        assert isinstance(refused, Refused)
        assert refused.reason == "in use"
        assert not read_transcript(scene.path).parked
        await live.answer(request, Deny(message="no"))
        await live.ended()
    assert find_writer(scene.config, scene.id) is None


async def test_the_transcript_has_the_shape_that_parking_relies_on(scene: Scene) -> None:
    journal = await scene.ask(script(tool("Bash", BASH, text="running"), "It said: $LAST"))
    transcript = read_transcript(scene.path)
    assert not transcript.strange
    assert not transcript.unreadable
    (call,) = transcript.open_calls()
    assert (call.id, call.name) == (journal.call, "Bash")
    holder = transcript.holder_of(call.id)
    assert holder is not None
    lines = scene.path.read_bytes()[holder.at :].splitlines()
    fields = msgspec.json.decode(lines[0], type=dict[str, msgspec.Raw])
    wanted = {"parentUuid", "isSidechain", "type", "uuid", "timestamp", "message"}
    copied = {"userType", "entrypoint", "cwd", "sessionId", "version", "gitBranch"}
    assert (wanted | copied) <= fields.keys()
    assert msgspec.json.decode(fields["version"]) == VERSIONS[scene.world.version]
    assert msgspec.json.decode(fields["sessionId"]) == scene.id
