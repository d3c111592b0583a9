"""Sessions by an id of the caller's choice, and their options at once: the Python SDK does as the published one."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from footplate.errors import RequestError, UnknownSession
from footplate.events.model import ConfigOption
from footplate.sdk import Client, blocking
from footplate.testing.messages import script
from tests.e2e.server import running_server
from tests.e2e.test_sdk import run_script
from tests.e2e.world import World

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]

ANOTHER_PROGRAM = """
import sys
from footplate.sdk import blocking
url, token, cwd = sys.argv[1:]
with blocking.Client.connect(url, token=token) as client:
    session = client.resume_or_create_session("job-7", "mock", cwd=cwd)
    print(session.id, session.info.turns)
"""


def shapes(options: tuple[ConfigOption, ...]) -> list[dict[str, object]]:
    return [
        {"category": option.category, "value": option.value, "values": [value.value for value in option.values]}
        for option in options
    ]


async def test_an_id_is_treated_as_by_the_published_sdk(tmp_path: Path) -> None:
    with running_server(tmp_path) as server:
        theirs = run_script("chosen_id.mjs", server.url, server.token, "mock", str(tmp_path), "job-ts")
        async with Client.connect(server.url, token=server.token) as client:
            first = await client.resume_or_create_session("job-py", "mock", cwd=str(tmp_path))
            options = await first.get_config_options()
            await first.prompt("hello")
            second = await client.resume_or_create_session("job-py", "mock", cwd=str(tmp_path), mode="plan")
            listed = [row.id async for row in client.sessions() if row.id.startswith("job-")]
            modes = await second.get_modes()
            with pytest.raises(UnknownSession, match="'nobody'"):
                await client.resume_session("nobody")
    assert theirs["ids"] == ["job-ts", "job-ts"]
    assert [first.id, second.id] == ["job-py", "job-py"]
    assert theirs["sameAgentSession"] is True
    assert (theirs["listed"], listed) == (["job-ts"], ["job-py"])
    assert theirs["mode"] == modes.current == "plan"
    assert "session 'nobody' not found" in theirs["unknown"]
    by_category = {option["category"]: option for option in shapes(options)}
    assert by_category == {option["category"]: option for option in theirs["options"]}


async def test_two_calls_at_once_a_second_client_and_another_program_get_one_session(tmp_path: Path) -> None:
    with running_server(tmp_path) as server:
        async with (
            Client.connect(server.url, token=server.token) as client,
            Client.connect(server.url, token=server.token) as other,
        ):
            calls = [
                caller.resume_or_create_session("job-7", "mock", cwd=str(tmp_path)) for caller in (client, other) * 5
            ]
            sessions = await asyncio.gather(*calls)
            assert {session.id for session in sessions} == {"job-7"}
            await sessions[0].prompt("hello")
            ran = await asyncio.to_thread(
                subprocess.run,
                [sys.executable, "-c", ANOTHER_PROGRAM, server.url, server.token, str(tmp_path)],
                capture_output=True,
                text=True,
                timeout=60,
                check=False,
            )
            assert ran.stdout.split() == ["job-7", "1"], ran.stderr
            assert [row.id async for row in client.sessions()] == ["job-7"]


async def test_a_session_by_a_chosen_id_is_there_after_a_restart_of_the_server(tmp_path: Path) -> None:
    with running_server(tmp_path, "--token", "secret") as server:
        async with Client.connect(server.url, token="secret") as client:
            session = await client.resume_or_create_session("job-7", "mock", cwd=str(tmp_path), title="nightly")
            assert (await session.prompt("hello")).answer == "mock: hello"
    with running_server(tmp_path, "--token", "secret") as server:
        async with Client.connect(server.url, token="secret") as client:
            again = await client.resume_or_create_session("job-7", "mock", cwd=str(tmp_path), title="another")
            assert (again.id, again.info.title, again.info.turns) == ("job-7", "nightly", 1)
            assert (await again.prompt("hello")).ok
            assert [row.id async for row in client.sessions()] == ["job-7"]
            await again.destroy()
            fresh = await client.resume_or_create_session("job-7", "mock", cwd=str(tmp_path))
            assert (fresh.id, fresh.info.turns) == ("job-7", 0)
            assert fresh is not again
            assert (await fresh.prompt("hello")).answer == "mock: hello"
            assert (await fresh.view()).usage.turns == 1


def test_the_client_without_await_does_the_same_from_two_threads(tmp_path: Path) -> None:
    with running_server(tmp_path) as server, blocking.Client.connect(server.url, token=server.token) as client:

        def call(_number: int) -> str:
            return client.resume_or_create_session("job-7", "mock", cwd=str(tmp_path), mode="plan").id

        with ThreadPoolExecutor(4) as threads:
            assert set(threads.map(call, range(8))) == {"job-7"}
        session = client.resume_session("job-7")
        assert (session.id, session.get_modes().current) == ("job-7", "plan")
        assert {option.category for option in session.get_config_options()} == {"model", "mode", "thought_level"}
        with pytest.raises(RequestError, match="expected 1 to 64 letters"):
            client.resume_or_create_session("a b", "mock", cwd=str(tmp_path))


async def test_options_of_a_claude_session_are_known_before_its_first_turn(world: World, tmp_path: Path) -> None:
    with running_server(tmp_path, env=world.env) as server:
        async with Client.connect(server.url, token=server.token) as client:
            session = await client.create_session("claude", cwd=str(world.work), mode="plan", model="sonnet")
            before = {option.category: option for option in await session.get_config_options()}
            assert (before["mode"].value, before["model"].value) == ("plan", "sonnet")
            assert {"default", "acceptEdits", "plan"} <= {value.value for value in before["mode"].values}
            assert {"opus", "sonnet", "haiku"} <= {value.value for value in before["model"].values}
            assert world.requests() == (), "no agent was started for it"
            await session.prompt(script("Hello."))
            options = await session.get_config_options()
            assert options == (await session.detail()).options != ()
            another = await client.create_session("claude", cwd=str(world.work))
            values = {option.id: option.values for option in await another.get_config_options()}
            assert values == {option.id: option.values for option in options}, (
                "what the agent said is known of the next session"
            )
