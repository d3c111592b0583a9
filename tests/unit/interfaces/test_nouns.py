"""The nouns of the command line: on a server at a URL, on the one of this machine, and on none."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from footplate.events.ids import SessionId
from footplate.interfaces.cli.client import open_client
from footplate.interfaces.cli.frames import Head, Lines, render_frame
from footplate.interfaces.cli.requests import build_answer
from footplate.interfaces.cli.tables import render_age, render_table
from footplate.interfaces.http.local import serve_local
from footplate.main import command_line
from footplate.store.values import FrameQuery, RawLines, RetentionPolicy
from tests.unit.interfaces.http.served import TOKEN, Served, serve

ULID = re.compile(r"[0-9A-Z]{26}")


def _invoke(env: Mapping[str, str], *args: str, code: int = 0, given: str | bytes | None = None) -> Result:
    result = CliRunner(env=env).invoke(command_line(), args, input=given)
    assert result.exit_code == code, f"{args}: {result.output}\n{result.exception!r}"
    return result


class Terminal:
    """Commands that talk to one server."""

    def __init__(self, served: Served, **env: str) -> None:
        self.served = served
        self._env = env

    async def __call__(self, *args: str, code: int = 0, given: str | bytes | None = None) -> Result:
        return await asyncio.to_thread(lambda: _invoke(self._env, *args, code=code, given=given))

    async def json(self, *args: str) -> dict[str, object]:
        """The answer of a command that is told to speak JSON."""
        found: dict[str, object] = json.loads((await self(*args, "--json")).output)
        return found


@pytest.fixture
async def run(tmp_path: Path) -> AsyncIterator[Terminal]:
    """Commands with the address of a server in their environment."""
    async with serve(tmp_path) as served:
        yield Terminal(served, FOOTPLATE_URL=served.url, FOOTPLATE_TOKEN=TOKEN, HOME=str(tmp_path))


async def test_a_session_is_opened_driven_and_ended(run: Terminal) -> None:
    opened = await run("sessions", "open", "--engine", "mock", "--cwd", str(run.served.work), "--title", "a task")
    session = opened.output.strip()
    assert ULID.fullmatch(session)
    assert (await run("sessions", "prompt", session, "hello", "--wait")).output == "mock: hello\n"
    assert "requested" in (await run("sessions", "prompt", session, "error", "--wait", code=1)).output
    listed = (await run("sessions", "list")).output.splitlines()
    assert listed[0].split() == ["ID", "STATE", "ENGINE", "AGE", "COST", "TITLE"]
    assert (session in listed[1], listed[1].endswith("a task")) == (True, True)
    await run("sessions", "rename", session, "another")
    shown = (await run("sessions", "show", session)).output
    assert ("title    another" in shown, "engine   mock" in shown) == (True, True)
    events = [json.loads(line) for line in (await run("sessions", "events", session)).output.splitlines()]
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert len((await run("sessions", "export", session)).output.splitlines()) > len(events)
    fork = (await run("sessions", "fork", session)).output.strip()
    assert ULID.fullmatch(fork)
    assert fork != session
    await run("sessions", "archive", fork)
    assert fork not in (await run("sessions", "list")).output
    assert fork in (await run("sessions", "list", "--archived")).output
    await run("sessions", "close", session)
    assert "closed" in (await run("sessions", "list", "--state", "closed")).output
    await run("sessions", "delete", session)
    gone = await run("sessions", "show", session, code=2)
    assert "no session" in gone.output
    usage = await run.json("usage")
    assert isinstance(usage["total"], dict)


async def test_the_raw_lines_of_a_session_are_printed(run: Terminal) -> None:
    session = (await run("sessions", "open", "--engine", "mock", "--cwd", str(run.served.work))).output.strip()
    await run("sessions", "prompt", session, "hello", "--wait")
    await run.served.api.services.recorder.close()
    every = (await run("sessions", "frames", session, "--after", "0", "--json")).output.splitlines()
    frames = [json.loads(line) for line in every]
    assert [frame["number"] for frame in frames] == list(range(1, len(frames) + 1))
    assert {frame["direction"] for frame in frames} == {"in", "out"}
    tail = (await run("sessions", "frames", session, "--tail", "2")).output.splitlines()
    assert [int(line.split()[0]) for line in tail] == [len(frames) - 1, len(frames)]
    sent = (await run("sessions", "frames", session, "--direction", "out")).output.splitlines()
    assert [line.split()[2] for line in sent] == [">"] * len(sent)
    assert any(" > session/prompt · " in line for line in sent)
    assert (await run("sessions", "frames", session, "--direction", "err")).output == ""
    assert "no session" in (await run("sessions", "frames", "01NOBODY", code=2)).output


async def test_raw_lines_that_were_removed_are_said_once(run: Terminal, capsys: pytest.CaptureFixture[str]) -> None:
    session = SessionId(
        (await run("sessions", "open", "--engine", "mock", "--cwd", str(run.served.work))).output.strip()
    )
    store = run.served.api.store
    await run.served.api.services.recorder.close()
    gone = (await store.read_frames(session, FrameQuery())).last
    add = RawLines("in", 1.0, 1, b"one\ntwo\n")
    async with open_client(run.served.url, TOKEN) as client:
        lines = Lines(client, f"/api/sessions/{session}/frames", ())
        lines.cursor = gone
        await store.append_frames(session, [add])
        assert [json.loads(bytes(frame))["raw"] async for frame in lines.read_on()] == ["one", "two"]
        assert capsys.readouterr().err == ""
        await store.append_frames(session, [add])
        await store.retain(RetentionPolicy(frames_bytes=0))
        for _ in range(2):
            assert [frame async for frame in lines.read_on()] == []
        assert capsys.readouterr().err == f"lines {gone + 3} to {gone + 4} are no longer stored\n"
        await store.append_frames(session, [add])
        assert [json.loads(bytes(frame))["raw"] async for frame in lines.read_on()] == ["one", "two"]
        assert capsys.readouterr().err == ""
    late = await run("sessions", "frames", session, "--after", "1", "--json")
    assert [json.loads(line)["number"] for line in late.stdout.splitlines()] == [gone + 5, gone + 6]
    assert late.stderr == f"lines 2 to {gone + 4} are no longer stored\n"


def test_a_raw_line_cannot_fool_the_terminal() -> None:
    frame = Head(number=7, time=0.25, direction="err", type="stderr", size=12, raw="\x1b[2J\u202egone\rback")
    line = render_frame(frame, 200)
    assert line.endswith(".250 ! stderr · 12 B · ⟨U+001B⟩[2J⟨U+202E⟩gone⟨U+000D⟩back")
    assert all(char.isprintable() for char in line)
    assert len(render_frame(frame, 30)) == 30


async def test_a_request_is_listed_looked_at_and_answered(run: Terminal) -> None:
    session = (await run("sessions", "open", "--engine", "mock", "--cwd", str(run.served.work))).output.strip()
    await run("sessions", "prompt", session, "permission")
    async with asyncio.timeout(30):
        while not (asked := (await run.json("requests", "list"))["requests"]):
            pass
    assert isinstance(asked, list)
    request = asked[0]["id"]
    assert request in (await run("requests", "list")).output
    assert "--option allow" in (await run("requests", "show", request)).output
    both = await run("requests", "answer", request, "--allow", "--option", "allow", code=2)
    assert "give one of" in both.output
    assert (await run("requests", "answer", request, "--allow")).output.strip() in ("answered", "applied")
    late = await run("requests", "answer", request, "--deny", code=2)
    assert "your answer was not used" in late.output
    entry = (await run.json("requests", "list", "--state", "applied", "--state", "answered"))["requests"]
    assert isinstance(entry, list)
    assert entry[0]["answered_from"] == "cli"
    shown = (await run("requests", "show", request)).output
    assert f"permission {request} (allowed once by {entry[0]['answered_by']} from cli, " in " ".join(shown.split())


async def test_tokens_files_and_processes(run: Terminal, tmp_path: Path) -> None:
    made = (await run("tokens", "make", "phone", "--scope", "answer", "--hours", "1")).output.strip()
    name = made.split("_")[1]
    assert name in (await run("tokens", "list")).output
    await run("tokens", "revoke", name)
    assert "no tokens" in (await run("tokens", "list")).output
    await run("files", "write", "notes/a.txt", given="from afar\n")
    assert (await run("files", "read", "notes/a.txt")).output == "from afar\n"
    await run("files", "move", "notes/a.txt", "notes/b.txt")
    assert "b.txt" in (await run("files", "list", "notes")).output
    assert "size" in (await run("files", "stat", "notes/b.txt")).output
    refused = await run("files", "delete", "notes", code=2)
    assert "directory is not empty" in refused.output
    await run("files", "delete", "notes", "--recursive")
    assert (await run("ps", "run", "--", "sh", "-c", "echo out; exit 3", code=3)).output == "out\n"
    process = (await run("ps", "start", "--", "sh", "-c", "echo begun; read x; echo $x")).output.strip()
    assert process in (await run("ps", "list")).output
    await run("ps", "input", process, given="well\n")
    assert (await run("ps", "logs", process, "--follow")).output == "begun\nwell\n"
    await run("ps", "remove", process)
    assert "no processes" in (await run("ps", "list")).output
    models = (await run("models")).output
    assert "mock-fast" in models
    assert re.search(r"claude-haiku-4-5-20251001 .* 200000 +64000 ", models)
    assert json.loads((await run("api", "GET", "/api/info")).output)["token"] == "operator"
    assert "not JSON" in (await run("api", "POST", "/api/sessions", "--data", "{", code=2)).output


async def test_the_server_of_this_machine_is_found_without_an_address(tmp_path: Path) -> None:
    data = tmp_path / ("a folder whose name is longer than what the kernel takes " * 3)
    data.mkdir()
    async with serve(tmp_path) as served:
        run = Terminal(served, FOOTPLATE_DATA_DIR=str(data), HOME=str(tmp_path), FOOTPLATE_URL="")
        async with serve_local(served.api, data / "http.sock"):
            assert (data / "http.sock").stat().st_mode & 0o777 == 0o600
            session = (await run("sessions", "open", "--engine", "mock", "--cwd", str(served.work))).output.strip()
            assert await served.api.store.last_seq(session) > 0  # type: ignore[arg-type]
        assert not (data / "http.sock").exists()


async def test_a_server_that_is_not_there_is_told(tmp_path: Path) -> None:
    run = await asyncio.to_thread(
        lambda: _invoke({"HOME": str(tmp_path)}, "sessions", "list", "--url", "http://127.0.0.1:1", code=1)
    )
    assert "is the server there?" in run.output


def test_without_a_server_the_command_runs_one_for_itself(tmp_path: Path) -> None:
    env = {"FOOTPLATE_DATA_DIR": str(tmp_path / "data"), "HOME": str(tmp_path), "FOOTPLATE_URL": ""}
    session = _invoke(env, "sessions", "open", "--engine", "mock", "--cwd", str(tmp_path)).output.strip()
    assert session in _invoke(env, "sessions", "list").output
    assert _invoke(env, "sessions", "prompt", session, "hello").output == "mock: hello\n", "it waits: nobody else would"
    assert "no server runs" in _invoke(env, "ps", "start", "true", code=2).output
    assert _invoke(env, "usage", "--by", "engine").output.startswith("mock  ")


ROWS = [("x" * 26, "waiting for you", "t" * 90), ("y" * 26, "running", "short")]


def test_a_table_fits_the_terminal_and_never_cuts_an_id() -> None:
    wide = render_table(("ID", "STATE", "TITLE"), ROWS, 80).splitlines()
    assert [len(line) for line in wide] == [50, 80, 50]
    assert wide[1].split()[0] == "x" * 26
    assert wide[1].endswith("…")
    narrow = render_table(("ID", "STATE", "TITLE"), ROWS, 40).splitlines()
    assert narrow == ["x" * 26, "  waiting for you", "  " + "t" * 37 + "…", "y" * 26, "  running  short"]


def test_ages_are_short() -> None:
    assert [render_age(0.0, now) for now in (5, 65, 7200, 200_000)] == ["now", "1m", "2h", "2d"]


def test_answers_are_put_together() -> None:
    nothing: dict[str, object] = {
        "behavior": None,
        "scope": None,
        "option": "",
        "answers": (),
        "decline": False,
        "message": "",
        "stop": False,
    }
    build: Callable[..., dict[str, object]] = build_answer
    assert build(**nothing | {"answers": ("a=b?=x", "a=b?=y", "c=z")}) == {"answers": {"a=b?": ["x", "y"], "c": "z"}}
    assert build(**nothing | {"behavior": "deny", "message": "no", "stop": True}) == {
        "behavior": "deny",
        "message": "no",
        "interrupt": True,
    }
