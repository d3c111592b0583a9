"""Sessions from elsewhere: made by a plain `claude -p`, listed, read, adopted and continued here."""

from __future__ import annotations

import asyncio
import subprocess
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import msgspec
import pytest

from footplate.config.settings import Settings
from footplate.engines.claude.history import History, HistoryEntry, is_in_use, list_sessions, read_past
from footplate.events import model as m
from footplate.events.content import text_of
from footplate.events.ids import SessionId
from footplate.runtime.service import open_service
from footplate.runtime.session import Session
from footplate.testing.invariants import check_invariants, check_log
from footplate.testing.messages import script, tool
from tests.e2e.live import talk
from tests.e2e.world import VERSIONS, World
from tests.unit.runtime.following import until_ended, until_idle, whole_log

pytestmark = [pytest.mark.timeout(120), pytest.mark.both_versions]


class Adopted(msgspec.Struct):
    """What `footplate history adopt --json` says."""

    session: SessionId
    cwd: str
    resume: str


def plain(world: World, prompt: str, *arguments: str) -> str:
    """Run `claude -p` as a person would; its answer."""
    done = subprocess.run(
        [str(world.home / "bin" / "claude"), "-p", *arguments, "--", prompt],
        env=world.env,
        cwd=world.work,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return done.stdout


def only_session(world: World, *, within: float = 10.0) -> HistoryEntry:
    """The one session on disk; the CLI may write its file a little after it told the end of the turn."""
    deadline = time.monotonic() + within
    while not (found := list_sessions(world.env).entries):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    (entry,) = found
    return entry


def listed(world: World, *arguments: str) -> list[HistoryEntry]:
    done = world.footplate("history", "list", "--json", *arguments)
    assert done.returncode == 0, done.stderr
    return [msgspec.json.decode(line, type=HistoryEntry) for line in done.stdout.splitlines()]


@asynccontextmanager
async def opened(environ: Mapping[str, str], session: SessionId) -> AsyncIterator[Session]:
    async with open_service(environ, Settings()) as service:
        yield await service.hub.get(session)


def test_a_session_of_a_plain_terminal_is_listed_and_read(world: World) -> None:
    prompt = script(tool("Bash", {"command": "echo hello"}, text="Let me see."), "It said: $LAST", say="greet me")
    assert "It said: hello" in plain(world, prompt, "--allowedTools", "Bash")
    (entry,) = listed(world)
    assert entry.cwd == str(world.work)
    assert entry.title.startswith("greet me")
    assert entry.version == VERSIONS[world.version]
    assert entry.entrypoint == "sdk-cli"
    assert entry.size > 0
    assert entry.started is not None
    assert entry.started <= entry.modified
    assert listed(world, "--cwd", str(world.home)) == []
    assert listed(world, "--all") == [entry]
    past = read_past(world.env, entry.session)
    assert check_invariants(past, finished=True) == []
    told = [type(event).__name__ for event in past if not isinstance(event, m.Thought)]
    assert told == [
        *("EngineAttached", "TurnStarted", "UserMessage", "Message"),
        *("ToolStarted", "ToolEnded", "Message", "TurnEnded", "EngineDetached"),
    ]
    (ended,) = [event for event in past if isinstance(event, m.TurnEnded)]
    assert (ended.ok, ended.answer) == (True, "It said: hello")
    shown = world.footplate("history", "show", entry.session[:8]).stdout
    assert "> greet me" in shown
    assert "Bash: echo hello" in shown
    assert "It said: hello" in shown


async def test_an_adopted_session_shows_its_past_and_goes_on(world: World) -> None:
    await asyncio.to_thread(plain, world, script("First answer.", say="first"))
    entry = only_session(world)
    done = await asyncio.to_thread(world.footplate, "history", "adopt", entry.session, "--json")
    assert done.returncode == 0, done.stderr
    adopted = msgspec.json.decode(done.stdout, type=Adopted)
    assert adopted.resume == f"claude --resume {entry.session}"
    async with opened(world.env, adopted.session) as session:
        past = await whole_log(session)
        assert [text_of(each.event.content) for each in past if isinstance(each.event, m.UserMessage)]
        assert "First answer." in [each.event.text for each in past if isinstance(each.event, m.Message)]
        assert past[0].time == pytest.approx(entry.started, abs=5.0)
        await session.prompt(script("Second answer.", say="second"))
        ended = await until_ended(session, after=past[-1].seq)
        assert ended.answer == "Second answer."
        assert ended.turn == "turn-2"
        await until_idle(session)
        assert check_log(await whole_log(session), finished=False) == []
    assert only_session(world).session == entry.session
    assert "first" in str(world.bodies()[-1]["messages"])
    again = await asyncio.to_thread(world.footplate, "history", "adopt", entry.session, "--json")
    assert msgspec.json.decode(again.stdout, type=Adopted).session == adopted.session
    back = await asyncio.to_thread(plain, world, script("Third answer."), "--resume", entry.session)
    assert "Third answer." in back


async def test_a_session_that_a_process_has_is_not_adopted(world: World) -> None:
    async with talk(world) as live:
        await live.turn(script("Here I am."))
        entry = await asyncio.to_thread(only_session, world)
        assert is_in_use(world.env, entry.session)
        refused = await asyncio.to_thread(world.footplate, "history", "adopt", entry.session)
        assert refused.returncode == 2
        assert f"session {entry.session} is in use by process" in refused.stderr
    assert not is_in_use(world.env, entry.session)
    done = await asyncio.to_thread(world.footplate, "history", "adopt", entry.session)
    assert done.returncode == 0
    assert "footplate chat" in done.stdout
    assert f"claude --resume {entry.session}" in done.stdout


async def test_the_past_read_from_the_file_is_what_was_told_live(world: World) -> None:
    async with talk(world) as live:
        await live.turn(script(tool("Read", {"file_path": str(world.work / "none")}, text="Look."), "Not there."))
        await live.turn("/compact")
        await live.turn(script("After it."))
    entry = only_session(world)
    past = [told.event for told in History(world.env).tell(entry)]
    assert check_invariants(past, finished=True) == []

    def words(events: list[m.Event]) -> list[tuple[str, int, str]]:
        return [(each.message, each.part, each.text) for each in events if isinstance(each, m.Message)]

    def calls(events: list[m.Event]) -> list[tuple[str, str]]:
        return [(each.call, each.outcome) for each in events if isinstance(each, m.ToolEnded)]

    spoken = [each for each in words(live.events) if each[0].startswith("msg_")]
    assert [each for each in words(past) if each[0].startswith("msg_")] == spoken
    assert calls(past) == calls(live.events)
    ends = [(each.ok, each.answer) for each in past if isinstance(each, m.TurnEnded)]
    assert (ends[0], ends[-1]) == ((True, "Not there."), (True, "After it."))
