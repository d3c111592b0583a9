"""Processes over HTTP: the recorded exchanges, logs that are followed and resumed, faults of the other server."""

from __future__ import annotations

import asyncio
import base64
import json
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from footplate.config.machine import ProcessesSettings
from footplate.config.settings import Settings
from footplate.host.table import look
from footplate.runtime.access import TokenRequest
from tests.unit.interfaces.http.exchanges import PROBLEM, content, load, play, without
from tests.unit.interfaces.http.served import Served, serve

DIFFERS = ("pid", "createdAtMs", "exitedAtMs", "timestampMs", "durationMs")
TEXT = {
    "run no cmd": 422,
    "create no cmd": 422,
    "config partial": 422,
    "bad owner": 400,
    "GET /v1/processes/proc_1/logs?stream=bogus": 400,
}
"""Where that server answered plain text; ours are problems."""


async def pieces_there(client: httpx.AsyncClient, process: str, count: int) -> None:
    async with asyncio.timeout(30):
        while len((await client.get(f"/v1/processes/{process}/logs")).json()["entries"]) < count:  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def deaf_to_term(client: httpx.AsyncClient, process: str) -> None:
    """Wait until the shell has come to its `trap`."""
    pid = (await client.get(f"/v1/processes/{process}")).json()["pid"]
    async with asyncio.timeout(30):
        while True:
            status = (Path("/proc") / str(pid) / "status").read_text()
            (ignored,) = [line.split()[1] for line in status.splitlines() if line.startswith("SigIgn")]
            if int(ignored, 16) >> (signal.SIGTERM - 1) & 1:
                return
            await asyncio.sleep(0.01)


async def test_the_recorded_exchanges_are_answered_alike_or_better(
    client: httpx.AsyncClient, served: Served, tmp_path: Path
) -> None:
    ids: dict[str, str] = {}
    for exchange in load("05-processes.json", {"waitMs=500": "waitMs=30000", "waitMs=1000": "waitMs=30000"}):
        name, asked, told = exchange["name"], exchange["request"], exchange["response"]
        if name == "ws without upgrade":  # theirs says so before it looks for a terminal, which this one has not
            assert (await play(client, asked)).status_code == 409
            continue
        if name == "GET /v1/processes/proc_1/logs" and not ids.get("seen"):
            await pieces_there(client, "proc_1", 3)
            ids["seen"] = "yes"
        if name == "stop trap TERM":
            await deaf_to_term(client, ids["proc_2"])
        asked["path"] = ours(asked["path"], ids)
        answer = await play(client, asked)
        assert answer.status_code == told["status"], (name, answer.text)
        if answer.status_code >= 400:
            assert answer.headers["content-type"] == PROBLEM
        mine, theirs = content(answer), told["body"]
        if name == "POST /v1/processes" and isinstance(mine, dict):
            ids[theirs["id"]] = mine["id"]
        if name not in TEXT:
            assert without(mine, *DIFFERS) == without(renamed(theirs, ids), *DIFFERS), name


def ours(path: str, ids: dict[str, str]) -> str:
    for theirs, mine in ids.items():
        path = path.replace(f"/{theirs}/", f"/{mine}/")
    return path


def renamed(value: Any, ids: dict[str, str]) -> Any:
    """Their ids in our numbers: a program that cannot be started takes no number of theirs or ours alike."""
    text = json.dumps(value)
    for theirs, mine in ids.items():
        text = text.replace(f'"{theirs}"', f'"{mine}"')
    return json.loads(text)


# ---- logs ----


def parse(block: str) -> dict[str, str]:
    return dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))


async def events(answer: httpx.Response) -> AsyncIterator[dict[str, str]]:
    rest = ""
    async for text in answer.aiter_text():
        rest += text
        while "\n\n" in rest:
            block, rest = rest.split("\n\n", 1)
            if parsed := parse(block):
                yield parsed


def data_of(event: dict[str, str]) -> bytes:
    return base64.b64decode(json.loads(event["data"])["data"])


async def start(client: httpx.AsyncClient, script: str, **more: object) -> str:
    answer = await client.post("/v1/processes", json={"command": "sh", "args": ["-c", script], **more})
    assert answer.status_code == 200, answer.text
    return str(answer.json()["id"])


async def test_logs_are_followed_from_the_beginning_to_the_end(client: httpx.AsyncClient) -> None:
    process = await start(client, "echo one; read x; echo two; read x; echo three >&2")
    seen: list[tuple[str, str, bytes]] = []
    async with client.stream("GET", f"/v1/processes/{process}/logs?follow=true") as answer:
        assert answer.headers["content-type"] == "text/event-stream"
        async for event in events(answer):
            seen.append((event["event"], event["id"], data_of(event)))
            await client.post(f"/v1/processes/{process}/input", json={"data": "Cg=="})
    assert seen == [("log", "1", b"one\n"), ("log", "2", b"two\n"), ("log", "3", b"three\n")]


async def test_a_follower_comes_back_where_it_was_and_a_tail_is_the_end(client: httpx.AsyncClient) -> None:
    process = await start(client, "for n in 1 2 3 4; do echo $n; read x; done")
    for number in range(1, 4):
        await pieces_there(client, process, number)
        await client.post(f"/v1/processes/{process}/input", json={"data": "\n", "encoding": "text"})
    await pieces_there(client, process, 4)
    await client.post(f"/v1/processes/{process}/kill?waitMs=30000")
    url = f"/v1/processes/{process}/logs?follow=1"
    for query, headers, wanted in (
        ("", {"last-event-id": "2"}, [b"3\n", b"4\n"]),
        ("&since=3", {}, [b"4\n"]),
        ("&tail=1", {}, [b"4\n"]),
        ("&tail=0", {}, []),
        ("&stream=stderr", {}, []),
    ):
        async with client.stream("GET", url + query, headers=headers) as answer:
            assert [data_of(event) async for event in events(answer)] == wanted
    bad = await client.get(url, headers={"last-event-id": "x"})
    assert (bad.status_code, bad.headers["content-type"]) == (400, PROBLEM)


async def test_what_is_cut_is_told(tmp_path: Path) -> None:
    settings = Settings(processes=ProcessesSettings(max_log_bytes=1000))
    async with serve(tmp_path, settings) as served, served.client() as client:
        process = await start(client, "for n in 1 2 3 4 5 6 7 8 9; do echo $n; read x; done")
        for number in range(1, 9):
            async with asyncio.timeout(30):
                while served.api.children.get(process).output.last < number:  # noqa: ASYNC110
                    await asyncio.sleep(0.01)
            await client.post(f"/v1/processes/{process}/input", json={"data": "Cg=="})
        async with asyncio.timeout(30):
            while served.api.children.get(process).output.last < 9:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        await client.post(f"/v1/processes/{process}/kill?waitMs=30000")
        async with client.stream("GET", f"/v1/processes/{process}/logs?follow=true") as answer:
            told = [event async for event in events(answer)]
        first = int(told[1]["id"])
        assert (told[0]["event"], json.loads(told[0]["data"])) == ("gap", {"from": 1, "to": first - 1})
        assert [int(event["id"]) for event in told[1:]] == list(range(first, 10))


# ---- faults ----


async def test_a_timeout_does_not_wait_for_a_grandchild_that_holds_the_pipe(client: httpx.AsyncClient) -> None:
    body = {"command": "sh", "args": ["-c", "setsid sleep 300 & echo $!; wait"], "timeoutMs": 2000}
    ran = (await client.post("/v1/processes/run", json=body)).json()
    assert (ran["timedOut"], ran["exitCode"]) == (True, None)
    assert not ran["stdout"] or look(int(ran["stdout"])) is None


async def test_the_one_process_too_many_is_refused_and_the_ended_make_room(tmp_path: Path) -> None:
    settings = Settings(processes=ProcessesSettings(max_concurrent=2, keep_exited=1))
    async with serve(tmp_path, settings) as served, served.client() as client:
        first = await start(client, "sleep 300")
        await start(client, "sleep 300")
        refused = await client.post("/v1/processes", json={"command": "true"})
        assert (refused.status_code, refused.json()["type"]) == (409, "urn:sandbox-agent:error:conflict")
        await client.post(f"/v1/processes/{first}/kill?waitMs=30000")
        third = await start(client, "sleep 300")
        await client.post(f"/v1/processes/{third}/kill?waitMs=30000")
        listed = (await client.get("/v1/processes")).json()["processes"]
        assert [each["id"] for each in listed] == ["proc_2", third]


async def test_input_of_more_than_the_limit_is_413(client: httpx.AsyncClient) -> None:
    process = await start(client, "cat >/dev/null")
    answer = await client.post(f"/v1/processes/{process}/input", json={"data": "x" * 65537, "encoding": "utf8"})
    assert (answer.status_code, answer.headers["content-type"]) == (413, PROBLEM)


async def test_a_stopped_server_leaves_no_process(tmp_path: Path) -> None:
    async with serve(tmp_path) as served, served.client() as client:
        process = await start(client, "setsid sleep 300 & echo $!; wait")
        await pieces_there(client, process, 1)
        piece = (await client.get(f"/v1/processes/{process}/logs")).json()["entries"][0]
        grandchild = int(base64.b64decode(piece["data"]))
        assert look(grandchild) is not None
    assert look(grandchild) is None


# ---- who may ----


@pytest.mark.parametrize("scopes", [("read",), ("answer",), ("files",)])
async def test_processes_want_a_token_that_drives(served: Served, scopes: tuple[Any, ...]) -> None:
    issued = await served.api.access.issue(TokenRequest(name="t", scopes=scopes))
    async with served.client(issued.token) as client:
        assert (await client.get("/v1/processes")).status_code == 403
        assert (await client.post("/v1/processes/run", json={"command": "id"})).status_code == 403


async def test_a_token_that_is_limited_to_folders_starts_nothing(served: Served) -> None:
    issued = await served.api.access.issue(TokenRequest(name="t", scopes=("drive",), projects=(str(served.work),)))
    async with served.client(issued.token) as client:
        assert (await client.post("/v1/processes/run", json={"command": "id"})).status_code == 403
