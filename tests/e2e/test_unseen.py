"""What an agent asks to be allowed is whole on HTTP, in the SDK, in the terminal and in an editor, on the real CLI."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from footplate.config.settings import Settings
from footplate.events.visible import show_hidden
from footplate.host.process import Keeper
from footplate.runtime.hub import Hub
from footplate.runtime.services import Services
from footplate.sdk import Client
from footplate.store.sqlite import SqliteStore
from footplate.testing.messages import script, tool
from tests.e2e.asking_agent import COMMAND, CONFIRM, TRICKS, line_of
from tests.e2e.server import RunningServer, running_server
from tests.e2e.terminal import Terminal
from tests.e2e.test_page_unseen import BROKEN, LOGIN
from tests.e2e.unseen import BIDI, OLD, SERVER, SHOWN, Case, cases, lab_server, with_asking_agent
from tests.e2e.world import World
from tests.unit.runtime.acp.client import connected

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(240)]
NAMES = ("write", "edit", "mcp", "bidi")
PATIENCE_S = 60


class Desk:
    """A running service with a session of the real CLI that asks for something."""

    def __init__(self, server: RunningServer, world: World) -> None:
        self.server = server
        self.world = world
        auth = {"authorization": f"Bearer {server.token}"}
        self.http = httpx.Client(base_url=server.url, headers=auth, timeout=PATIENCE_S)

    def open(self, engine: str = "claude") -> str:
        """A new session in a folder with the MCP server of the cases."""
        (self.world.work / "old.txt").write_text(OLD)
        where = {"directory": str(self.world.work), "mcpName": "lab"}
        assert self.http.put("/v1/config/mcp", params=where, json=lab_server(self.world.home)).status_code == 204
        made = self.http.post("/api/sessions", json={"engine": engine, "cwd": str(self.world.work)})
        return str(made.json()["id"])

    def ask(self, session: str, prompt: str) -> dict[str, Any]:
        """Send the prompt; what the agent asks, as the stream of everything tells it."""
        assert self.http.post(f"/api/sessions/{session}/prompt", json={"content": prompt}).status_code == 202
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:  # a stream that lags behind large news ends, and its reader comes back
            with self.http.stream("GET", "/api/events") as stream:
                found = next((each for each in _told(stream.iter_lines()) if each["session"] == session), None)
            if found is not None:
                return found
        raise AssertionError("nothing was asked")

    def footplate(self, *arguments: str, stdin: str = "") -> str:
        """`footplate ...` against this service; what it printed."""
        at = ("--url", self.server.url, "--token", self.server.token)
        ran = subprocess.run(
            self.world.command(*arguments, *at),
            env=self.world.env,
            cwd=self.world.work,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        assert "Traceback" not in ran.stderr, ran.stderr
        return ran.stdout


def _told(lines: Iterator[str]) -> Iterator[dict[str, Any]]:
    """The open requests that a stream tells of."""
    kind = ""
    for line in lines:
        name, _, value = line.partition(": ")
        kind = value if name == "event" else kind
        if name == "data":
            news = json.loads(value)
            requests = news["requests"] if kind == "snapshot" else [news.get("request")]
            yield from (each for each in requests if each and each["state"] == "open")


@contextmanager
def open_desk(world: World, *arguments: str, env: dict[str, str] | None = None) -> Iterator[Desk]:
    """A service of this test's own."""
    with running_server(world.work.parent, *arguments, env=env or world.env) as server:
        made = Desk(server, world)
        yield made
        made.http.close()


@pytest.fixture
def desk(world: World) -> Iterator[Desk]:
    """A service with the usual settings."""
    with open_desk(world) as made:
        yield made


def given(case: Case, told: dict[str, Any]) -> dict[str, Any]:
    """The fields of the case as somebody was told of them; the CLI may add some of its own."""
    return {name: told[name] for name in case.input}


def texts(detail: dict[str, Any]) -> list[tuple[str | None, str | None]]:
    return [(change.get("old_text"), change.get("new_text")) for change in detail["changes"]]


@pytest.mark.parametrize("name", NAMES)
def test_a_request_is_whole_on_every_way_out_of_the_service(desk: Desk, world: World, name: str) -> None:
    case = cases(world.work)[name]
    session = desk.open()
    request = desk.ask(session, case.prompt())
    listed = desk.http.get("/api/requests", params={"state": "open"}).json()["requests"]
    one = desk.http.get(f"/api/requests/{request['id']}").json()
    (view,) = desk.http.get(f"/api/sessions/{session}").json()["requests"]
    shown = json.loads(desk.footplate("requests", "show", request["id"], "--json"))
    for each in (request, *listed, one, view["request"], shown):
        assert given(case, each["input"]) == case.input
    if name in ("write", "edit"):
        expected = [(case.input.get("old_string"), case.input.get("new_string", case.input.get("content")))]
        assert texts(request["detail"]) == texts(view["request"]["detail"]) == expected

    printed = desk.footplate("requests", "show", request["id"])
    lines = [line.strip().lstrip("+-") for line in printed.splitlines()]
    assert f"tool: {case.tool}" in lines
    missing = [line for line in case.shown if not any(line in each for each in lines)]
    assert missing == []
    assert "\u202e" not in printed
    if name in ("write", "edit"):
        assert any(" KB" in line and "lines" in line for line in lines), lines[-8:]

    attached = desk.footplate("attach", session, stdin="")
    assert [line for line in case.shown if line not in attached] == []
    assert "\u202e" not in attached


@pytest.mark.parametrize("name", NAMES)
async def test_a_request_is_whole_in_the_sdk(desk: Desk, world: World, name: str) -> None:
    case = cases(world.work)[name]
    request = desk.ask(desk.open(), case.prompt())
    async with Client.connect(desk.server.url, token=desk.server.token) as client:
        info = await client.request(request["id"])
        assert info.input is not None
        assert given(case, json.loads(bytes(info.input))) == case.input


def test_watch_prints_a_request_whole_when_it_opens_and_a_line_when_it_is_answered(desk: Desk, world: World) -> None:
    at = ("--url", desk.server.url, "--token", desk.server.token)
    command = world.command("requests", "watch", *at)
    watcher = subprocess.Popen(command, env=world.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        case = cases(world.work)["bidi"]
        request = desk.ask(desk.open(), case.prompt())
        desk.http.post(f"/api/requests/{request['id']}/answer", json={"behavior": "deny", "message": "no"})
        assert watcher.stdout is not None
        seen: list[str] = []
        for line in watcher.stdout:
            seen.append(line)
            if "(denied by" in line:
                break
        printed = "".join(seen)
        assert f"command: {SHOWN}" in printed
        assert printed.count("command: ") == 1
        assert "\u202e" not in printed
    finally:
        watcher.terminate()
        watcher.communicate(timeout=30)


NOTEBOOK = {
    "cells": [{"cell_type": "code", "id": "c1", "metadata": {}, "outputs": [], "execution_count": None, "source": "x"}],
    "metadata": {"language_info": {"name": "python"}},
    "nbformat": 4,
    "nbformat_minor": 5,
}


def test_a_file_of_megabytes_and_a_cell_of_a_notebook_are_whole(desk: Desk, world: World) -> None:
    notebook = world.work / "n.ipynb"
    notebook.write_text(json.dumps(NOTEBOOK))
    large = "".join(f"{line_of(number)}\n" for number in range(40_000))
    session = desk.open()
    written = {"file_path": str(world.work / "large.txt"), "content": large}
    request = desk.ask(session, script(tool("Write", written), "Done."))
    assert {name: request["input"][name] for name in written} == written
    printed = desk.footplate("requests", "show", request["id"])
    assert printed.count("\n  +") == 40_000
    assert "40,000 lines, 2.0 MB" in printed
    assert desk.http.post(f"/api/requests/{request['id']}/answer", json={"behavior": "deny"}).status_code == 200

    edited = {"notebook_path": str(notebook), "cell_id": "c1", "new_source": "evil()"}
    request = desk.ask(
        session, script(tool("Read", {"file_path": str(notebook)}), tool("NotebookEdit", edited), "Done.")
    )
    assert {name: request["input"][name] for name in edited} == edited
    printed = desk.footplate("requests", "show", request["id"])
    assert "+evil()" in printed
    assert "cell_id: c1" in printed
    assert desk.http.post(f"/api/requests/{request['id']}/answer", json={"behavior": "deny"}).status_code == 200


def test_what_other_agents_show_only_as_a_diff_or_hide_behind_a_title_is_whole(world: World) -> None:
    with open_desk(world, env=with_asking_agent(world)) as desk:
        request = desk.ask(desk.open("asking"), "edit 100000")
        assert "input" not in request
        assert texts(request["detail"]) == [(None, "".join(f"{line_of(number)}\n" for number in range(100_000)))]
        printed = desk.footplate("requests", "show", request["id"])
        assert "add /work/large.txt +100,000 \N{MINUS SIGN}0" in printed
        assert printed.count("\n  +") == 100_000
        assert "100,000 lines, 4.9 MB" in printed

        request = desk.ask(desk.open("asking"), "list")
        printed = desk.footplate("requests", "show", request["id"])
        assert f"command: {COMMAND}" in printed
        attached = desk.footplate("attach", request["session"])
        assert "? execute asks: List files" in attached
        assert f"command: {COMMAND}" in attached


def test_links_pictures_files_and_unknown_content_are_shown_on_http_and_in_the_terminal(world: World) -> None:
    with open_desk(world, env=with_asking_agent(world)) as desk:
        request = desk.ask(desk.open("asking"), "content")
        assert [block["type"] for block in request["content"]] == ["resource", "resource", "image", "other"]
        assert desk.http.get(f"/api/requests/{request['id']}").json()["content"] == request["content"]
        printed = desk.footplate("requests", "show", request["id"]) + desk.footplate("attach", request["session"])
        for words in ("file:///etc/shadow", "text of a file", "picture: image/png", "unknown block"):
            assert printed.count(words) == 2


def test_a_form_without_fields_is_shown_and_answered_in_the_terminal(world: World) -> None:
    with open_desk(world, env=with_asking_agent(world)) as desk:
        session = desk.open("asking")
        request = desk.ask(session, "form")
        printed = desk.footplate("requests", "show", request["id"])
        assert f"? {CONFIRM}" in printed
        assert f"--answer '{CONFIRM}=...'" in printed
        attached = desk.footplate("attach", session, stdin="1\n")
        assert "  1 Yes" in attached
        assert 'The form: {"action": "accept", "content": {}}' in attached
        request = desk.ask(session, "form")
        assert desk.footplate("requests", "answer", request["id"], "--answer", f"{CONFIRM}=No").strip() != ""


def test_an_error_of_an_agent_moves_no_terminal_and_hides_nothing(world: World) -> None:
    env = with_asking_agent(world)
    with open_desk(world, env=env) as desk:
        session = desk.open("asking")
        shown = show_hidden(TRICKS)
        assert shown in desk.footplate("sessions", "prompt", session, "--wait", "fail")
        assert shown in desk.footplate("attach", session)
        assert desk.footplate("sessions", "prompt", session, "--wait", "say") == f"{TRICKS}\n"
        at = ("--url", desk.server.url, "--token", desk.server.token)
        screen = Terminal(env, "sessions", "prompt", session, "--wait", "say", *at, cwd=str(world.work))
        screen.wait("please run /login evil")
        assert "\x1b]0;" not in screen.seen
        assert "\u202e" not in screen.seen
        screen.close()


def test_a_request_that_outlives_the_service_is_still_whole(world: World) -> None:
    case = cases(world.work)["write"]
    with open_desk(world) as desk:
        request = desk.ask(desk.open(), case.prompt())
    with open_desk(world, "--new-token") as desk:
        again = desk.http.get(f"/api/requests/{request['id']}").json()
        assert (again["state"], again["detached"]) == ("open", True)
        assert given(case, again["input"]) == case.input
        assert texts(again["detail"]) == [(None, case.input["content"])]
        printed = desk.footplate("requests", "show", request["id"])
        assert [line for line in case.shown if line not in printed] == []


@pytest.mark.parametrize("how", BROKEN)
def test_a_start_that_fails_is_told_in_the_terminal(world: World, how: str) -> None:
    program = world.home / "bin" / "claude"
    program.unlink()
    program.write_text(BROKEN[how])
    program.chmod(0o755)
    ran = world.footplate("chat", "--engine", "claude", stdin="Fix the login bug\n")
    assert ran.returncode == 1
    assert "> Fix the login bug" in ran.stdout
    assert "✗ claude" in ran.stdout
    assert LOGIN in ran.stdout


def test_a_command_edited_in_a_plain_chat_keeps_its_blanks_and_line_breaks(world: World) -> None:
    written = "a  b\tc\n\nd\u3000\u202ee\n"
    command = f"cat > first <<'END'\n{written}END"
    process = subprocess.Popen(
        world.command("chat", "--engine", "claude"),
        env=world.env,
        cwd=world.work,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(script(tool("Bash", {"command": command}), "Done.") + "\ne\n")
        process.stdin.flush()
        hint = next(line for line in process.stdout if line.startswith("write the changed input behind the e: "))
        line = hint.removeprefix("write the changed input behind the e: ")
        assert "> first" in line
        rest, _ = process.communicate(line.replace("> first", "> second"), timeout=PATIENCE_S)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 0, rest
    assert (world.work / "second").read_text() == written
    assert not (world.work / "first").exists()


REFUSING = f"""#!{sys.executable}
import json, sys
if sys.argv[1:] == ["--version"]:
    print("codex-cli 0.166.0")
    sys.exit()
for line in sys.stdin:
    call = json.loads(line)
    if "id" in call:
        refusal = {{"code": -32603, "message": {LOGIN!r}}}
        print(json.dumps({{"jsonrpc": "2.0", "id": call["id"], "error": refusal}}), flush=True)
"""
ENDING = f'''#!/bin/sh
[ "$1" = --version ] && {{ echo "codex-cli 0.166.0"; exit 0; }}
echo "{LOGIN}" >&2
exit 1
'''
STARTS = {"missing": ("", "was not found"), "ends": (ENDING, LOGIN), "refuses": (REFUSING, LOGIN)}


@pytest.mark.parametrize("how", STARTS)
@pytest.mark.parametrize("engine", ["codex", "broken"])
def test_a_start_of_another_engine_that_fails_shows_message_error_and_a_sign(
    world: World, engine: str, how: str
) -> None:
    body, words = STARTS[how]
    program = world.home / "bin" / engine
    if body:
        program.write_text(body)
        program.chmod(0o755)
    settings = world.home / "footplate.toml"
    settings.write_text(f"[acp_agents.broken]\ncommand = [{json.dumps(str(world.home / 'bin' / 'broken'))}]\n")
    with open_desk(world, env={**world.env, "FOOTPLATE_CONFIG": str(settings)}) as desk:
        session = desk.open(engine)
        assert desk.http.post(f"/api/sessions/{session}/prompt", json={"content": "Fix it"}).status_code == 202
        deadline = time.monotonic() + PATIENCE_S
        while not (view := desk.http.get(f"/api/sessions/{session}").json())["turns"]:
            assert time.monotonic() < deadline, view
            time.sleep(0.05)
        assert words in view["turns"][-1]["error"]
        assert "Fix it" in json.dumps([view["items"], view["turns"][-1]["unconfirmed"]])
        (row,) = desk.http.get("/api/sessions").json()["sessions"]
        assert row["failed"] is True
        assert "failed" in desk.footplate("sessions", "list")
        attached = desk.footplate("attach", session)
        assert "> Fix it" in attached
        assert "✗ " in attached
        assert words in attached


# ------------------------------------------------------------------------------------------------ an editor


@pytest.fixture
async def services(world: World, tmp_path: Path) -> AsyncIterator[Services]:
    """A real file and a keeper."""
    store = await SqliteStore.open(tmp_path / "store")
    async with Keeper.start() as keeper:
        yield Services(store, keeper, settings=Settings(), environ=world.env, data=tmp_path / "data")
    await store.close()


@pytest.mark.parametrize("name", NAMES)
async def test_an_editor_gets_the_whole_input_and_shows_all_of_it(services: Services, world: World, name: str) -> None:
    case = cases(world.work)[name]
    (world.work / "old.txt").write_text(OLD)
    program = world.home / "lab.py"
    program.write_text(SERVER)
    server = {"name": "lab", "command": sys.executable, "args": [str(program)], "env": []}
    async with Hub.open(services) as hub, connected(hub, services, "claude") as client:
        session = (await client.call("session/new", cwd=str(world.work), mcpServers=[server]))["sessionId"]
        rpc_id = await client.prompt(session, case.prompt())
        asked = await client.asked()
        call = asked["params"]["toolCall"]
        assert given(case, call["rawInput"]) == case.input, "the raw input is exact"
        assert "\u202e" not in call["title"]
        drawn = call["title"] + json.dumps(call["content"] if name != "bidi" else None, ensure_ascii=False)
        if name in ("write", "edit"):
            (diff,) = (item for item in call["content"] if item["type"] == "diff")
            old, new = case.input.get("old_string"), case.input.get("new_string", case.input.get("content"))
            assert (diff.get("oldText"), diff["newText"]) == (old, new)
        else:
            assert [line for line in case.shown if line not in drawn] == []
        await client.reply(asked, {"outcome": {"outcome": "selected", "optionId": "deny"}})
        assert (await client.answer(rpc_id))["stopReason"] == "end_turn"


def test_the_bidi_command_of_the_cases_hides_what_it_does() -> None:
    assert "rm -rf" not in BIDI
    assert "\u202e" in BIDI
