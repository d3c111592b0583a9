"""The Python SDK against a real server: a program's day, bad networks, restarts, the four doors of the protocol."""

from __future__ import annotations

import asyncio
import shutil
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from footplate.errors import (
    AlreadyAnswered,
    CallRefused,
    RequestError,
    ServiceUnreachable,
    TokenInvalid,
    UnknownSession,
)
from footplate.events import model as m
from footplate.events.codec import ReadEnvelope
from footplate.events.ids import RequestId, SessionId
from footplate.events.runs import Completed
from footplate.sdk import Allow, Client, Deny, Reply, RequestInfo, blocking
from footplate.sdk.acp import AcpClient
from footplate.sdk.acp.client import DoorName
from footplate.sdk.shapes import Snapshot
from tests.e2e.cutting_proxy import CuttingProxy
from tests.e2e.server import RunningServer, running_server
from tests.e2e.world import ROOT, World

pytestmark = pytest.mark.timeout(90)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """One server for all tests of this file that do not end it."""
    with running_server(tmp_path_factory.mktemp("server"), env={"FOOTPLATE_MOCK_PACE_MS": "2"}) as made:
        yield made


def _port(server: RunningServer) -> int:
    return int(urlsplit(server.url).port or 0)


async def test_a_session_from_its_first_prompt_to_its_end(server: RunningServer, tmp_path: Path) -> None:
    async with Client.connect(server.url, token=server.token) as client:
        assert (await client.service()).name == "Footplate"
        session = await client.create_session("mock", cwd=str(tmp_path), title="a day")
        turn = await session.prompt("hello")
        assert (turn.ok, turn.answer) == (True, "mock: hello")
        run = session.prompt("stream 20 1")
        text = "".join([piece async for piece in run.text()])
        assert text == run.result().answer != ""
        kinds = [type(each.event).__name__ async for each in session.prompt("tool")]
        assert (kinds[0], kinds[-1]) == ("TurnStarted", "TurnEnded")
        assert {"ToolStarted", "ToolEnded"} <= set(kinds)
        assert (await session.rename("another day")).title == "another day"
        fork = await client.create_session("mock", cwd=str(tmp_path), title="beside it")
        assert {each.id async for each in client.sessions(query="beside")} == {fork.id}
        assert (await session.view()).usage.turns == 3
        assert (await session.end("enough")).state == "closed"
        await client.destroy_session(session.id)
        with pytest.raises(UnknownSession):
            await client.resume_session(session.id)


async def test_requests_are_answered_by_a_handler_or_by_hand(server: RunningServer, tmp_path: Path) -> None:
    async with Client.connect(server.url, token=server.token) as client:
        session = await client.create_session("mock", cwd=str(tmp_path))
        asked: list[RequestInfo] = []

        async def answer(request: RequestInfo) -> Allow | Reply | None:
            asked.append(request)
            if request.kind == "question":
                return Reply(answers={each.text: each.choices[0].label for each in request.questions})
            return Allow()

        stop = await session.on_request(answer)
        assert "allow" in (await session.prompt("permission")).answer
        assert (await session.prompt("question")).ok
        assert [each.kind for each in asked] == ["permission", "question"]
        stop()

        run = session.prompt("permission")
        [request] = await _wait_for_requests(client, session.id)
        assert request.title
        done = await client.respond_permission(request.id, "reject")
        assert (done.state, done.answered_from) == ("answered", "python") or done.state == "applied"
        with pytest.raises(AlreadyAnswered) as late:
            await session.answer(request.id, Allow())
        assert late.value.surface == "python"
        assert (await run).ok
        await client.destroy_session(session.id)


async def _wait_for_requests(client: Client, session: SessionId) -> tuple[RequestInfo, ...]:
    async for told in client.news():
        found = told.requests if isinstance(told, Snapshot) else (told.request,)
        mine = tuple(each for each in found if each is not None and each.session == session and each.state == "open")
        if mine:
            return mine
    raise AssertionError("the stream of news has no end")


async def test_one_handler_answers_for_all_sessions_also_what_was_open_before(
    server: RunningServer, tmp_path: Path
) -> None:
    async with Client.connect(server.url, token=server.token) as client:
        sessions = [await client.create_session("mock", cwd=str(tmp_path)) for _ in range(3)]
        first = sessions[0].prompt("permission")
        await _wait_for_requests(client, sessions[0].id)
        async with Client.connect(server.url, token=server.token) as other:
            await other.on_request(lambda request: Deny(message="not today"))
            turns = [await each for each in (first, *(each.prompt("permission") for each in sessions[1:]))]
        assert all("reject" in turn.answer or "deny" in turn.answer for turn in turns), turns
        for session in sessions:
            await session.destroy()


async def test_queue_steer_interrupt_and_the_short_story(server: RunningServer, tmp_path: Path) -> None:
    async with Client.connect(server.url, token=server.token) as client:
        session = await client.create_session("mock", cwd=str(tmp_path))
        running = session.prompt("hang")
        await running.accepted()
        async for envelope in running:
            if isinstance(envelope.event, m.TurnStarted):
                break
        queued = session.prompt("after that")
        waiting = await queued.accepted()
        assert [each.id for each in await session.waiting()] == [waiting]
        await session.interrupt()
        assert (await running).stop_reason == "interrupted"
        assert (await queued).answer == "mock: after that"
        completed: list[Completed] = []
        async for told in session.runs():
            if isinstance(told, Completed):
                completed.append(told)
            if len(completed) == 2:
                break
        assert completed[-1].answer == "mock: after that"
        modes = await session.get_modes()
        other = next(each for each in modes.available if each != modes.current)
        await client.set_session_mode(session.id, other)
        assert (await client.get_session_modes(session.id)).current == other
        ran = await session.run_command("echo from here")
        assert (ran.output.strip(), ran.exit_code) == ("from here", 0)
        await session.destroy()


async def test_a_connection_that_is_cut_a_hundred_times_costs_the_caller_nothing(
    server: RunningServer, tmp_path: Path
) -> None:
    async with (
        asyncio.timeout(60),  # a wait without an end fails here, and leaves the others of this file their process
        CuttingProxy.open(_port(server)) as proxy,
        Client.connect(proxy.url, token=server.token) as client,
        Client.connect(server.url, token=server.token) as steady,
    ):
        session = await client.create_session("mock", cwd=str(tmp_path))
        seen: list[ReadEnvelope] = []
        words: list[str] = []
        turns = 0
        while proxy.cuts < 100:
            run = session.prompt("stream 60 5" if turns % 2 == 0 else "tool")
            cutting = asyncio.create_task(_cut(proxy))
            try:
                seen += [envelope async for envelope in run]
            finally:
                cutting.cancel()
            words.append(run.result().answer)
            turns += 1
        durable = [each.seq for each in seen if not isinstance(each.event, m.MessageDelta | m.ThoughtDelta)]
        assert durable == sorted(set(durable)), "each once and in order"
        whole = await (await steady.resume_session(session.id)).detail()
        assert [turn.answer for turn in whole.turns] == words
        log = [each async for each in _log(steady, session.id, whole.last_seq)]
        of_turns = [each.seq for each in log if each.turn is not None and not _beside(each)]
        assert durable == of_turns, "complete"
        await session.destroy()


def _beside(envelope: ReadEnvelope) -> bool:
    return isinstance(envelope.event, m.PromptQueued)


async def _log(client: Client, session: SessionId, last: int) -> AsyncIterator[ReadEnvelope]:
    async for envelope in (await client.resume_session(session)).events():
        yield envelope
        if envelope.seq >= last:
            return


async def _cut(proxy: CuttingProxy) -> None:
    while True:
        await proxy.passed.wait()
        proxy.cut()


async def test_a_server_that_is_killed_and_started_again_is_not_noticed(tmp_path: Path) -> None:
    env = {"FOOTPLATE__RUNTIME__REATTACH_GRACE_S": "60"}
    async with CuttingProxy.open(1) as proxy:
        with running_server(tmp_path, env=env) as first:
            token = first.token
            proxy.port = _port(first)
            client = await Client.connect(proxy.url, token=token)
            session = await client.create_session("mock", cwd=str(tmp_path))
            seen: list[int] = []
            await session.on_event(lambda envelope: seen.append(envelope.seq))
            assert (await session.prompt("before")).answer == "mock: before"
            run = session.prompt("hang")
            async for envelope in run:
                if isinstance(envelope.event, m.MessageDelta | m.Message):
                    break
            first.process.kill()
            first.process.wait()
        proxy.cut()
        with running_server(tmp_path, env=env) as second:
            proxy.port = _port(second)
            turn = await run
            assert (turn.ok, turn.ended_at is not None) == (False, True), "its agent lived in the service"
            assert (await session.prompt("after")).answer == "mock: after"
            detail = await session.detail()
            assert sorted(set(seen)) == list(range(min(seen), detail.last_seq + 1)), "no number is missing"
            await client.dispose()


async def test_what_cannot_be_is_said_clearly(server: RunningServer, tmp_path: Path) -> None:
    with pytest.raises(TokenInvalid):
        await Client.connect(server.url, token="fp_wrong")
    with pytest.raises(ServiceUnreachable, match="footplate serve"):
        await Client.connect("http://127.0.0.1:9", patience_s=0.2)
    async with Client.connect(server.url, token=server.token) as client:
        with pytest.raises(UnknownSession, match="nobody"):
            await client.resume_session("nobody")
        with pytest.raises(RequestError, match="'no/body' cannot be used; expected 1 to 64 letters"):
            await client.resume_or_create_session("no/body", "mock", cwd=str(tmp_path))


async def test_files_processes_and_a_terminal(server: RunningServer, tmp_path: Path) -> None:
    async with Client.connect(server.url, token=server.token) as client:
        path = str(tmp_path / "notes.txt")
        assert await client.files.write(path, b"0123456789") == 10
        assert await client.files.read(path, first=2, last=4) == b"234"
        assert [each.name for each in await client.files.entries(str(tmp_path))] == ["notes.txt"]
        big = tmp_path / "big.bin"
        big.write_bytes(bytes(3_000_000))
        assert await client.files.upload(big, str(tmp_path / "copy.bin")) == 3_000_000
        assert await client.files.download(str(tmp_path / "copy.bin"), tmp_path / "back.bin") == 3_000_000
        ran = await client.processes.run("sh", "-c", "echo out; exit 3", cwd=str(tmp_path))
        assert (ran.stdout, ran.exit_code) == ("out\n", 3)
        process = await client.processes.start("cat")
        await process.write("hello\n")
        async for piece in process.follow():
            assert piece.data == b"hello\n"
            await process.kill()
        assert process.info.status == "exited"
        shell = await client.processes.start("sh", tty=True)
        async with shell.terminal() as terminal:
            await terminal.write("echo $((40 + 2)); exit 5\n")
            shown = b"".join([piece async for piece in terminal])
        assert b"42" in shown
        assert (terminal.ended, terminal.exit_code) == (True, 5)
        await process.forget()
        await shell.forget()


def test_the_same_without_await(server: RunningServer, tmp_path: Path) -> None:
    with blocking.Client.connect(server.url, token=server.token) as client:
        session = client.create_session("mock", cwd=str(tmp_path), title="a script")
        assert session.prompt("hello").wait().answer == "mock: hello"
        session.on_request(lambda request: Allow())
        kinds = [type(each.event).__name__ for each in session.prompt("permission")]
        assert "RequestApplied" in kinds
        assert "".join(session.prompt("stream 5").text())
        client.set_session_mode(session.id, client.get_session_modes(session.id).available[-1])
        assert session.get_modes() == client.get_session_modes(session.id)
        assert session.get_config_options() == client.get_session_config_options(session.id)
        assert session.raw_send("session/prompt", {"prompt": [{"type": "text", "text": "hello"}]}) is not None
        assert client.processes.run("echo", "hi").stdout == "hi\n"
        client.files.write(str(tmp_path / "a"), b"a")
        assert client.files.read(str(tmp_path / "a")) == b"a"
        assert session.id in {each.id for each in client.sessions()}
        session.destroy()


def test_a_service_of_the_programs_own_ends_with_it(tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "FOOTPLATE_MOCK_PACE_MS": "0"}
    with blocking.Client.start(data=str(tmp_path / "data"), env=env) as client:
        url = client.service().data
        assert url == str(tmp_path / "data")
        session = client.create_session("mock", cwd=str(tmp_path))
        assert session.prompt("hello").wait().ok


@pytest.mark.parametrize("door", ["servers", "rpc", "remote", "socket"])
async def test_the_protocol_alone_through_every_door(server: RunningServer, tmp_path: Path, door: DoorName) -> None:
    async with AcpClient.connect(server.url, token=server.token, agent="mock", door=door) as client:
        await _converse(client, tmp_path)


async def _converse(client: AcpClient, folder: Path) -> None:
    told: list[str] = []
    client.on_notification(lambda method, params: told.append(method))
    client.on_request("session/request_permission", _choose_first)
    hello = await client.call("initialize", {"protocolVersion": 1, "clientCapabilities": {}})
    assert isinstance(hello, dict)
    assert hello["protocolVersion"] == 1
    made = await client.call("session/new", {"cwd": str(folder), "mcpServers": []})
    assert isinstance(made, dict)
    session = made["sessionId"]
    prompt = [{"type": "text", "text": "permission"}]
    ended = await client.call("session/prompt", {"sessionId": session, "prompt": prompt})
    assert isinstance(ended, dict)
    assert ended["stopReason"] == "end_turn"
    assert "session/update" in told
    with pytest.raises(CallRefused) as refused:
        await client.call("no/such_method", {})
    assert refused.value.number == -32601


def _choose_first(method: str, params: object) -> object:
    assert isinstance(params, dict)
    return {"outcome": {"outcome": "selected", "optionId": params["options"][0]["optionId"]}}


async def test_the_protocol_alone_against_the_server_of_sandbox_agent(tmp_path: Path) -> None:
    packed = ROOT / "tests/agents/node_modules/@sandbox-agent/cli-linux-x64/bin/sandbox-agent"
    program = tmp_path / "sandbox-agent"
    shutil.copy(packed, program)  # the package does not mark it as a program
    program.chmod(0o755)
    launcher = tmp_path / ".local/share/sandbox-agent/bin/agent_processes/mock-acp"
    launcher.parent.mkdir(parents=True)
    launcher.write_text(f"#!/bin/sh\nexec {sys.executable} -m footplate mock-agent\n")
    launcher.chmod(0o755)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    environ = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "FOOTPLATE_MOCK_PACE_MS": "0"}
    command = [str(program), "server", "--no-telemetry", "--no-token", "--port", str(port)]
    theirs = await asyncio.create_subprocess_exec(
        *command, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        async with AcpClient.connect(f"http://127.0.0.1:{port}", agent="mock") as client:
            await _converse(client, tmp_path)
    finally:
        theirs.terminate()
        await theirs.wait()


async def test_a_message_of_the_protocol_to_a_session(server: RunningServer, tmp_path: Path) -> None:
    async with Client.connect(server.url, token=server.token) as client:
        session = await client.create_session("mock", cwd=str(tmp_path))
        prompt = [{"type": "text", "text": "by hand"}]
        assert await session.raw_send("session/prompt", {"prompt": prompt}) == {"stopReason": "end_turn"}
        assert (await session.detail()).turns[-1].answer == "mock: by hand"
        await session.destroy()


def test_importing_the_sdk_costs_no_server(tmp_path: Path) -> None:
    look = "print(sorted({'starlette', 'uvicorn', 'sqlite3'} & set(sys.modules)))"
    code = f"import sys; from footplate.sdk import Client; {look}"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


@pytest.mark.both_versions
async def test_claude_through_the_sdk(world: World, tmp_path: Path) -> None:
    async with Client.start(data=str(tmp_path / "data"), env=world.env) as client:
        session = await client.create_session("claude", cwd=str(world.work))
        asked: list[RequestId] = []

        def allow(request: RequestInfo) -> Allow:
            asked.append(request.id)
            return Allow()

        await session.on_request(allow)
        turn = await session.prompt("hello")
        assert turn.ok, turn.error
        assert turn.answer
        fork = await session.fork("beside it")
        assert (await fork.prompt("and on")).ok
