"""`/v1/acp/{server_id}`: the contract of the published SDK, and the faults of the server it was written for."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import httpx
import pytest

from footplate.config.settings import HttpSettings, Settings
from footplate.store.memory import MemoryStore
from footplate.store.values import RetentionPolicy
from tests.unit.interfaces.http.acp_wire import Wire, is_answer, is_method, number_of, odd, prompt, text_of, until
from tests.unit.interfaces.http.reading import Json, get, stream
from tests.unit.interfaces.http.served import Served, serve

MOCK = "/v1/acp/s1?agent=mock"
STREAM = "/v1/acp/s1"


def process_is_gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


async def until_gone(pid: int) -> None:
    async with asyncio.timeout(30):
        while not process_is_gone(pid):  # noqa: ASYNC110  nothing else can tell
            await asyncio.sleep(0.02)


# ------------------------------------------------------------------------------------------------ contract


async def test_a_prompt_is_answered_here_and_its_updates_stand_before_the_answer_on_the_stream(
    client: httpx.AsyncClient, served: Served
) -> None:
    wire = Wire(client, MOCK)
    told = await wire.begin()
    assert told["agentInfo"]["name"] == "footplate-mock"
    session = await wire.open(served.work)
    async with stream(client, STREAM) as events:
        assert await wire.say(session, "stream 20") == "end_turn"
        seen = await until(events, is_answer(3))
    assert [each.event for each in seen] == ["message"] * len(seen)
    number, _, run = seen[0].id.partition(".")
    assert (number, run.isdecimal()) == ("1", True)
    assert {each.id.partition(".")[2] for each in seen} == {run}
    assert text_of(seen) == "".join(f"chunk {index}" for index in range(20))


async def test_a_permission_goes_over_the_stream_and_its_answer_comes_by_post(
    client: httpx.AsyncClient, served: Served
) -> None:
    wire = Wire(client, MOCK)
    await wire.begin()
    session = await wire.open(served.work)
    async with stream(client, STREAM) as events:
        asking = asyncio.create_task(wire.say(session, "permission"))
        asked = (await until(events, is_method("session/request_permission")))[-1].data
        outcome = {"outcome": {"outcome": "selected", "optionId": "allow"}}
        await wire.post({"id": asked["id"], "result": outcome}, 202)
        assert await asking == "end_turn"


async def test_connections_are_listed_and_ended(client: httpx.AsyncClient) -> None:
    await Wire(client, MOCK).begin()
    (server,) = (await get(client, "/v1/acp"))["servers"]
    assert (server["serverId"], server["agent"]) == ("s1", "mock")
    assert server["createdAtMs"] > 1_600_000_000_000
    assert (await client.delete(STREAM)).status_code == 204
    assert (await client.delete(STREAM)).status_code == 204
    assert (await get(client, "/v1/acp"))["servers"] == []
    assert (await client.get(STREAM)).status_code == 404


@pytest.mark.parametrize("path", [MOCK, STREAM])
async def test_what_comes_after_the_end_of_a_connection_and_is_no_request_opens_no_new_one(
    client: httpx.AsyncClient, path: str
) -> None:
    await Wire(client, MOCK).begin()
    assert (await client.delete(STREAM)).status_code == 204
    for late in ({"id": "ask-1", "result": {}}, {"method": "session/cancel", "params": {"sessionId": "s"}}):
        answer = await client.post(path, json={"jsonrpc": "2.0", **late})
        assert (answer.status_code, answer.json()["type"]) == (404, "urn:sandbox-agent:error:not_found")
    assert (await get(client, "/v1/acp"))["servers"] == []


async def test_what_cannot_be_is_a_problem(client: httpx.AsyncClient) -> None:
    hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": 1}}
    body = json.dumps(hello)
    plain = {"content-type": "text/plain"}
    kind = {"content-type": "application/json; charset=utf-8"}
    cases = [
        (client.post(STREAM, json=hello), 400, "invalid_request"),
        (client.post("/v1/acp/s2?agent=nobody", json=hello), 400, "unsupported_agent"),
        (client.post(MOCK, content=body, headers=plain), 415, "unsupported_media_type"),
        (client.post(MOCK, content=body), 415, "unsupported_media_type"),
        (client.post(MOCK, content=body, headers={**kind, "accept": "text/html"}), 406, "not_acceptable"),
        (client.post(MOCK, content="{", headers=kind), 400, "invalid_request"),
        (client.post(MOCK, content=f"[{body}]", headers=kind), 400, "invalid_request"),
        (client.post(MOCK, content='"text"', headers=kind), 400, "invalid_request"),
        (client.post(MOCK, content=b'{"id":"\xff"}', headers=kind), 400, "invalid_request"),
        (client.post(MOCK, content="[" * 100_000, headers=kind), 400, "invalid_request"),
        (client.post(MOCK, json={"jsonrpc": "2.0", "id": 1}), 400, "invalid_request"),
        (client.get("/v1/acp/nobody"), 404, "not_found"),
    ]
    for asking, status, code in cases:
        answer = await asking
        assert answer.status_code == status, answer.text
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.json()["type"] == f"urn:sandbox-agent:error:{code}"
    assert (await client.post(MOCK, content=body, headers=kind)).status_code == 200
    other = await client.post("/v1/acp/s1?agent=claude", json=hello)
    assert (other.status_code, other.json()["type"]) == (409, "urn:sandbox-agent:error:conflict")
    bad = await client.get(STREAM, headers={"last-event-id": "x"})
    assert (bad.status_code, bad.json()["type"]) == (400, "urn:sandbox-agent:error:invalid_request")
    assert (await client.get(STREAM, headers={"accept": "application/json"})).status_code == 406


@pytest.mark.parametrize("rpc_id", [7, "seven", 7.5, None])
async def test_an_id_comes_back_as_it_went(client: httpx.AsyncClient, rpc_id: object) -> None:
    wire = Wire(client, MOCK)
    answer = await wire.post({"id": rpc_id, "method": "no/such", "params": {}})
    assert answer.json() == {
        "jsonrpc": "2.0",
        "id": rpc_id,
        "error": {"code": -32601, "message": "Method not found: no/such", "data": {"method": "no/such"}},
    }


async def test_a_notification_is_accepted_and_has_no_body(client: httpx.AsyncClient) -> None:
    wire = Wire(client, MOCK)
    await wire.begin()
    answer = await wire.post({"method": "session/cancel", "params": {"sessionId": "nobody"}}, 202)
    assert answer.content == b""


async def test_a_token_that_reaches_some_sessions_only_has_no_connection(
    served: Served, client: httpx.AsyncClient
) -> None:
    made = await client.post("/api/tokens", json={"name": "some", "scopes": ["drive"], "projects": ["/x"]})
    async with served.client(made.json()["token"]) as limited:
        answer = await limited.post(MOCK, json={"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}})
        assert answer.status_code == 403
        assert (await limited.get("/v1/acp")).status_code == 403


# ------------------------------------------------------------------------------------------------- streams


async def test_a_stream_goes_on_behind_the_last_number_from_any_point(
    client: httpx.AsyncClient, served: Served
) -> None:
    wire = Wire(client, MOCK)
    await wire.begin()
    session = await wire.open(served.work)
    await wire.say(session, "stream 30")
    async with stream(client, STREAM) as events:
        whole = await until(events, is_answer(3))
    for point in (1, len(whole) // 2, len(whole) - 1):
        async with stream(client, STREAM, **{"last-event-id": str(point)}) as events:
            assert await until(events, is_answer(3)) == whole[point:]


async def test_what_retention_has_cut_is_told_as_a_gap(tmp_path: Path) -> None:
    store = MemoryStore()
    async with serve(tmp_path, odd(), store=store) as served, served.client() as client:
        wire = Wire(client, "/v1/acp/s1?agent=odd")
        await wire.begin()
        await wire.call("x/burst", {"count": 3000})
        before = (await store.journal("acp/servers/s1").read(0)).last
        assert before > 3000
    while (await store.retain(RetentionPolicy(journal_bytes=10_000))).more:
        pass
    async with (
        serve(tmp_path, odd(), store=store) as served,
        served.client() as client,
        stream(client, STREAM, **{"last-event-id": "5"}) as events,
    ):
        first = await events.next()
        assert first is not None
        assert first.event == "gap"
        assert (first.data["from"], first.data["to"] > 1000) == (6, True)
        second = await events.next()
        assert second is not None
        assert number_of(second) == first.data["to"] + 1
    await store.close()


async def test_a_burst_reaches_every_reader_whole_also_one_that_comes_late(tmp_path: Path) -> None:
    async with serve(tmp_path, odd()) as served, served.client() as client:
        wire = Wire(client, "/v1/acp/s1?agent=odd")
        await wire.begin()
        async with stream(client, STREAM) as early, stream(client, STREAM) as late:
            answering = asyncio.create_task(wire.call("x/burst", {"count": 10_000}))
            first = await until(early, is_answer(2))
            assert (await answering)["count"] == 10_000
            second = await until(late, is_answer(2))
        ticks = [each.data["params"]["index"] for each in first if each.data.get("method") == "x/tick"]
        assert ticks == list(range(10_000))
        assert [each.id for each in first] == [each.id for each in second]


async def test_a_silent_stream_says_that_it_lives(tmp_path: Path) -> None:
    settings = Settings(http=HttpSettings(heartbeat_s=0.1))
    async with serve(tmp_path, settings) as served, served.client() as client:
        await Wire(client, MOCK).begin()
        async with asyncio.timeout(30), client.stream("GET", STREAM) as response:
            async for line in response.aiter_lines():
                if line == ": heartbeat":
                    break


# -------------------------------------------------------------------------------------------- long prompts


async def test_an_answer_can_be_had_on_the_stream_alone(client: httpx.AsyncClient, served: Served) -> None:
    wire = Wire(client, MOCK)
    await wire.begin()
    session = await wire.open(served.work)
    async with stream(client, STREAM) as events:
        message = {"id": "later", "method": "session/prompt", "params": prompt(session, "hello")}
        accepted = await wire.post(message, 202, prefer="respond-async")
        assert accepted.headers["preference-applied"] == "respond-async"
        seen = await until(events, is_answer("later"))
        assert seen[-1].data["result"]["stopReason"] == "end_turn"
        assert text_of(seen) == "mock: hello"


async def test_silence_is_a_timeout_and_the_answer_still_comes_on_the_stream(tmp_path: Path) -> None:
    async with serve(tmp_path) as served, served.client() as client:
        wire = Wire(client, MOCK)
        await wire.begin()
        session = await wire.open(served.work)
        served.api.acp.idle_s = 0.3
        async with stream(client, STREAM) as events:
            message = {"id": "h", "method": "session/prompt", "params": prompt(session, "hang")}
            late = await wire.post(message, 504)
            assert late.json()["type"] == "urn:sandbox-agent:error:timeout"
            await wire.post({"method": "session/cancel", "params": {"sessionId": session}}, 202)
            seen = await until(events, is_answer("h"))
            assert seen[-1].data["result"]["stopReason"] == "cancelled"


async def test_signs_of_life_and_open_questions_keep_a_call_waiting(tmp_path: Path) -> None:
    async with serve(tmp_path, odd()) as served, served.client() as client:
        wire = Wire(client, "/v1/acp/s1?agent=odd")
        await wire.begin()
        served.api.acp.idle_s = 3.0
        await wire.call("x/slow")
        async with stream(client, STREAM) as events:
            asking = asyncio.create_task(wire.call("x/ask"))
            asked = (await until(events, is_method("x/question")))[-1].data
            done, _ = await asyncio.wait((asking,), timeout=3.5)
            assert not done, "a question to a person has all the time in the world"
            await wire.post({"id": asked["id"], "result": "yes"}, 202)
            assert (await asking)["answer"] == "yes"


async def test_two_clients_may_use_the_same_id_on_one_server(client: httpx.AsyncClient, served: Served) -> None:
    one, two = Wire(client, MOCK), Wire(client, MOCK)
    await one.begin()
    first, second = await one.open(served.work), await one.open(served.work)
    hanging = {"id": 5, "method": "session/prompt", "params": prompt(first, "hang")}
    waiting = asyncio.create_task(one.post(hanging))
    async with stream(client, STREAM) as events:
        await until(events, lambda told: "hang begin" in json.dumps(told.data))
    quick = await two.post({"id": 5, "method": "session/prompt", "params": prompt(second, "hello")})
    assert (quick.json()["id"], quick.json()["result"]["stopReason"]) == (5, "end_turn")
    await one.post({"method": "session/cancel", "params": {"sessionId": first}}, 202)
    assert (await waiting).json()["result"]["stopReason"] == "cancelled"


async def test_a_caller_that_hangs_up_harms_nobody(client: httpx.AsyncClient, served: Served) -> None:
    wire = Wire(client, MOCK)
    await wire.begin()
    session = await wire.open(served.work)
    message = {"id": "x", "method": "session/prompt", "params": prompt(session, "hang")}
    waiting = asyncio.create_task(wire.post(message))
    async with stream(client, STREAM) as events:
        await until(events, lambda told: "hang begin" in json.dumps(told.data))
        waiting.cancel()
        await asyncio.wait((waiting,))
        await wire.post({"method": "session/cancel", "params": {"sessionId": session}}, 202)
        assert (await until(events, is_answer("x")))[-1].data["result"]["stopReason"] == "cancelled"


# --------------------------------------------------------------------------------------- relayed commands


async def test_any_method_passes_to_a_configured_command(tmp_path: Path) -> None:
    async with serve(tmp_path, odd()) as served, served.client() as client:
        wire = Wire(client, "/v1/acp/s1?agent=odd")
        await wire.begin()
        params = {"deep": [1, {"2": None}], "text": "ä"}
        assert await wire.call("anything/at_all", params) == {"method": "anything/at_all", "params": params}
        async with stream(client, STREAM) as events:
            await wire.post({"method": "x/note", "params": {}}, 202)
            heard = await until(events, is_method("x/heard"))
            assert heard[-1].data["params"] == {"method": "x/note"}


async def test_noise_of_a_command_is_told_and_harms_nothing(tmp_path: Path) -> None:
    async with serve(tmp_path, odd()) as served, served.client() as client:
        wire = Wire(client, "/v1/acp/s1?agent=odd")
        await wire.begin()
        await wire.call("x/garbage")
        async with stream(client, STREAM) as events:
            seen = await until(events, is_answer(2))
        noise = [each.data["params"] for each in seen if each.data.get("method") == "_adapter/invalid_stdout"]
        assert [each["raw"] for each in noise] == ["this is not JSON", "[1]"]
        assert all(each["error"] for each in noise)


async def test_a_message_of_a_command_that_cannot_be_decoded_leaves_neither_side_waiting(tmp_path: Path) -> None:
    async with serve(tmp_path, odd()) as served, served.client() as client:
        wire = Wire(client, "/v1/acp/s1?agent=odd")
        await wire.begin()
        refused = await wire.call("x/deep", {"ask": True})
        assert (refused["id"], refused["error"]["code"]) == ("q1", -32700)
        message: Json = {"id": "mine", "method": "x/deep", "params": {}}
        answer = (await wire.post(message)).json()
        assert (answer["id"], answer["error"]["code"]) == ("mine", -32700)


async def test_a_line_of_eight_megabytes_is_delivered(tmp_path: Path) -> None:
    async with serve(tmp_path, odd()) as served, served.client() as client:
        wire = Wire(client, "/v1/acp/s1?agent=odd")
        await wire.begin()
        async with stream(client, STREAM) as events:
            await wire.call("x/big")
            seen = await until(events, is_answer(2))
        assert len(seen[-2].data["params"]["text"]) == 8 * 1024 * 1024


async def test_a_large_body_is_taken(client: httpx.AsyncClient, served: Served) -> None:
    wire = Wire(client, MOCK)
    await wire.begin()
    session = await wire.open(served.work)
    assert await wire.say(session, "blocks " + "x" * (5 * 1024 * 1024)) == "end_turn"


@pytest.mark.parametrize("method", ["x/crash", "x/kill"])
async def test_the_death_of_a_command_answers_whoever_waits_and_it_starts_again(tmp_path: Path, method: str) -> None:
    async with serve(tmp_path, odd()) as served, served.client() as client:
        wire = Wire(client, "/v1/acp/s1?agent=odd")
        pid = (await wire.begin())["pid"]
        answer = (await wire.post({"id": "x", "method": method, "params": {}})).json()
        assert answer["error"]["code"] == -32603
        assert answer["error"]["data"]["kind"] == "agent_process_exited"
        async with stream(client, STREAM) as events:
            seen = await until(events, is_answer("x"))
        exited = seen[-2].data
        assert exited["method"] == "_adapter/agent_exited"
        assert exited["params"]["success"] is False
        if method == "x/crash":
            assert (exited["params"]["code"], "a last word" in exited["params"]["stderr"]) == (7, True)
        assert (await wire.begin())["pid"] != pid, "the next message starts it again"


@pytest.mark.parametrize("manner", [(), ("deaf",)], ids=["obedient", "deaf"])
async def test_ending_a_connection_ends_its_process(tmp_path: Path, manner: tuple[str, ...]) -> None:
    async with serve(tmp_path, odd(*manner)) as served, served.client() as client:
        wire = Wire(client, "/v1/acp/s1?agent=odd")
        pid = (await wire.begin())["pid"]
        silent = asyncio.create_task(wire.post({"id": "s", "method": "x/silent", "params": {}}))
        await wire.call("x/echo")
        assert (await client.delete(STREAM)).status_code == 204
        await until_gone(pid)
        assert "closed" in (await silent).json()["error"]["message"]
        assert (await get(client, "/v1/acp"))["servers"] == []


async def test_a_command_that_is_not_there_is_a_404_that_says_so(tmp_path: Path) -> None:
    settings = Settings(acp_agents={"gone": odd().acp_agents["odd"].__class__(command=("/no/such/program",))})
    async with serve(tmp_path, settings) as served, served.client() as client:
        answer = await client.post("/v1/acp/s1?agent=gone", json={"jsonrpc": "2.0", "id": 1, "method": "initialize"})
        assert (answer.status_code, answer.json()["type"]) == (404, "urn:sandbox-agent:error:agent_not_installed")
        assert "acp_agents.gone" in answer.json()["detail"]
        assert (await get(client, "/v1/acp"))["servers"] == []


# ------------------------------------------------------------------------------------------------- restart


async def test_a_client_goes_on_after_a_restart_of_the_server(tmp_path: Path) -> None:
    store = MemoryStore()
    async with serve(tmp_path, store=store) as served, served.client() as client:
        wire = Wire(client, MOCK)
        await wire.begin()
        session = await wire.open(served.work)
        assert await wire.say(session, "hello") == "end_turn"
        async with stream(client, STREAM) as events:
            last = (await until(events, is_answer(3)))[-1]
    async with serve(tmp_path, store=store) as served, served.client() as client:
        assert [each["serverId"] for each in (await get(client, "/v1/acp"))["servers"]] == ["s1"]
        wire = Wire(client, STREAM)
        async with stream(client, STREAM, **{"last-event-id": last.id}) as events:
            assert await wire.say(session, "again") == "end_turn"
            seen = await until(events, is_answer(1))
        assert number_of(seen[0]) == number_of(last) + 1
        assert text_of(seen) == "mock: again"
    await store.close()


async def test_a_connection_that_rests_is_taken_up_again(client: httpx.AsyncClient, served: Served) -> None:
    wire = Wire(client, MOCK)
    await wire.begin()
    session = await wire.open(served.work)
    served.api.acp.servers.idle_s = -1.0
    await Wire(client, "/v1/acp/s2?agent=mock").begin()
    assert served.api.acp.servers.since("mock") is not None
    assert {each["serverId"] for each in (await get(client, "/v1/acp"))["servers"]} == {"s1", "s2"}
    assert await wire.say(session, "hello") == "end_turn"


async def test_the_end_of_the_server_leaves_no_command_behind(tmp_path: Path) -> None:
    async with serve(tmp_path, odd("deaf")) as served, served.client() as client:
        pid = (await Wire(client, "/v1/acp/s1?agent=odd").begin())["pid"]
    assert process_is_gone(pid)
