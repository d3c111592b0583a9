"""The native session API on the mock agent: what a program does with sessions, call by call."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import httpx
import msgspec
import pytest

from footplate.events.requests import Allow
from footplate.interfaces.http.requests import AnswerBody
from footplate.runtime.spec import SPECS, SessionSpec
from footplate.sdk.asking import encode_answer
from footplate.store.memory import MemoryStore
from tests.unit.interfaces.http.reading import Json, get, post, run_turn, stream
from tests.unit.interfaces.http.served import Served, serve


@pytest.fixture
async def session(served: Served, client: httpx.AsyncClient) -> str:
    """A new session with the mock agent."""
    made = await post(client, "/api/sessions", 201, engine="mock", cwd=str(served.work), title="first")
    assert (made["engine"], made["title"], made["cwd"]) == ("mock", "first", str(served.work))
    return str(made["id"])


async def test_a_prompt_is_accepted_and_its_turn_is_read_from_the_stream(
    client: httpx.AsyncClient, session: str
) -> None:
    told = await run_turn(client, session, "hello")
    assert told[-1].data["event"]["ok"] is True
    assert told[-1].data["event"]["answer"] == "mock: hello"
    numbers = [each.data["seq"] for each in told]
    assert numbers == sorted(numbers)
    assert [each.id for each in told] == [
        "" if each.event == "MessageDelta" else f"{each.data['seq']}.{each.data.get('epoch', 1)}" for each in told
    ]
    view = await get(client, f"/api/sessions/{session}")
    assert (view["id"], view["usage"]["turns"]) == (session, 1)
    assert view["engine_session_id"]
    assert view["resume_line"].startswith("mock --resume")


async def test_a_stream_goes_on_from_the_last_event_that_was_seen(client: httpx.AsyncClient, session: str) -> None:
    await run_turn(client, session, "one")
    page = await get(client, f"/api/sessions/{session}/events", follow=0)
    durable = [each["seq"] for each in page["events"]]
    assert durable == list(range(1, page["after"] + 1))
    middle = durable[len(durable) // 2]
    async with stream(client, f"/api/sessions/{session}/events", **{"last-event-id": str(middle)}) as events:
        rest = await events.until(lambda told: told.data["seq"] == durable[-1])
    assert [each.id for each in rest] == [f"{number}.1" for number in range(middle + 1, durable[-1] + 1)]
    assert rest[0].data == page["events"][middle]


async def test_a_cursor_that_the_log_does_not_have_is_reset_in_so_many_words(
    client: httpx.AsyncClient, session: str
) -> None:
    async with stream(client, f"/api/sessions/{session}/events?after=4711") as events:
        told = await events.until_event("SessionOpened")
    assert [each.event for each in told] == ["reset", "SessionOpened"]
    assert told[0].data["asked"] == 4711
    lost = await get(client, f"/api/sessions/{session}/events", 410, follow=0, after=4711)
    assert lost["type"] == "urn:sandbox-agent:error:cursor_lost"
    bad = await client.get(f"/api/sessions/{session}/events", headers={"last-event-id": "x"})
    assert bad.status_code == 400


async def test_a_reader_that_has_events_which_a_power_cut_removed_is_reset(tmp_path: Path) -> None:
    store = MemoryStore()
    async with serve(tmp_path, store=store) as served, served.client() as client:
        session = (await post(client, "/api/sessions", 201, engine="mock", cwd=str(served.work)))["id"]
        await run_turn(client, session, "one")
    async with serve(tmp_path, store=store) as served, served.client() as client:
        await run_turn(client, session, "two")
        page = await get(client, f"/api/sessions/{session}/events", follow=0)
        last, epoch = page["events"][-1]["seq"], page["events"][-1]["epoch"]
        assert (page["after"], page["epoch"], epoch > 1) == (last, epoch, True)
        older = next(each for each in page["events"] if each["event"]["type"] == "TurnEnded")
        # the same number in the first epoch: what a reader has that was connected before the power was cut
        for cursor in (f"{last}.1", f"{last - 1}.1", f"{last + 7}.{epoch}"):
            async with stream(client, f"/api/sessions/{session}/events", **{"last-event-id": cursor}) as events:
                told = await events.until_event("SessionOpened")
            assert [each.event for each in told] == ["reset", "SessionOpened"]
            assert (told[0].id, told[0].data["asked"]) == ("0", int(cursor.partition(".")[0]))
            number, _, seen = cursor.partition(".")
            lost = await get(client, f"/api/sessions/{session}/events", 410, follow=0, after=number, epoch=seen)
            assert lost["type"].endswith("cursor_lost")
        async with stream(client, f"/api/sessions/{session}/events?after={last}&epoch=1&view=runs") as events:
            told = await events.until_event("completed")
        assert [each.event for each in told[:2]] == ["reset", "started"]
        for cursor in (f"{older['seq']}.1", str(last - 1), f"{last - 1}.{epoch}"):
            async with stream(client, f"/api/sessions/{session}/events", **{"last-event-id": cursor}) as events:
                rest = await events.until(lambda told: told.data["seq"] == last)
            assert rest[0].data["seq"] == int(cursor.partition(".")[0]) + 1
        empty = await get(client, f"/api/sessions/{session}/events", follow=0, after=last, epoch=epoch)
        assert (empty["events"], empty["after"], empty["epoch"]) == ([], last, epoch)
    await store.close()


async def test_who_joins_in_the_middle_of_a_sentence_gets_it_whole(client: httpx.AsyncClient, session: str) -> None:
    async with stream(client, f"/api/sessions/{session}/events") as first:
        await post(client, f"/api/sessions/{session}/prompt", 202, content="hang")
        await first.until_event("MessageDelta")
        async with stream(client, f"/api/sessions/{session}/events") as second:
            told = await second.until_event("MessageDelta")
        assert told[-1].data["event"]["text"] == "hang begin"
        assert told[-1].data["event"]["reset"] is True
        await post(client, f"/api/sessions/{session}/interrupt", 202)
        await first.until_event("TurnEnded")


async def test_the_short_story_of_a_session_is_started_action_completed(
    client: httpx.AsyncClient, session: str
) -> None:
    await run_turn(client, session, "tool")
    async with stream(client, f"/api/sessions/{session}/events?view=runs") as events:
        told = await events.until_event("completed")
    assert told[0].event == "started"
    assert {"action"} <= {each.event for each in told}
    assert told[-1].data["ok"] is True
    page = await get(client, f"/api/sessions/{session}/events", follow=0, view="runs")
    assert page["events"][-1]["answer"] == told[-1].data["answer"]
    middle = next(place for place, each in enumerate(told) if each.event == "action" and each.id)
    async with stream(client, f"/api/sessions/{session}/events?view=runs", **{"last-event-id": told[middle].id}) as on:
        rest = await on.until_event("completed")
    assert [each.data for each in rest] == [each.data for each in told[middle + 1 :]]


async def test_messages_wait_in_line_and_can_be_moved_and_taken_back(client: httpx.AsyncClient, session: str) -> None:
    async with stream(client, f"/api/sessions/{session}/events") as events:
        await post(client, f"/api/sessions/{session}/prompt", 202, content="hang")
        await events.until_event("TurnStarted")
        places = [
            await post(client, f"/api/sessions/{session}/prompt", 202, content=text, idempotency_key=text)
            for text in ("a", "b", "c")
        ]
        again = await post(client, f"/api/sessions/{session}/prompt", 202, content="a", idempotency_key="a")
        assert [place["position"] for place in places] == [0, 1, 2]
        assert again == places[0]
        moved = await post(client, f"/api/sessions/{session}/queue/order", prompts=["c", "a"])
        assert [each["id"] for each in moved["prompts"]] == ["c", "a", "b"]
        taken = await client.delete(f"/api/sessions/{session}/queue/b")
        assert taken.status_code == 204
        missing = await client.delete(f"/api/sessions/{session}/queue/b")
        assert (missing.status_code, missing.json()["details"]["resource"]) == (404, "prompt")
        waiting = await get(client, f"/api/sessions/{session}/queue")
        assert [each["id"] for each in waiting["prompts"]] == ["c", "a"]
        await post(client, f"/api/sessions/{session}/interrupt", 202)
        told = await events.until(
            lambda each: each.event == "TurnEnded" and each.data["event"].get("answer") == "mock: a"
        )
    answers = [each.data["event"].get("answer") for each in told if each.event == "TurnEnded"]
    assert answers[-2:] == ["mock: c", "mock: a"]


async def _until_asked(client: httpx.AsyncClient, session: str, text: str = "permission") -> Json:
    async with stream(client, f"/api/sessions/{session}/events") as events:
        await post(client, f"/api/sessions/{session}/prompt", 202, content=text)
        told = await events.until_event("RequestOpened")
    request: Json = told[-1].data["event"]["request"]
    return request


async def test_the_first_answer_wins_and_the_second_is_told_whose_it_was(
    client: httpx.AsyncClient, session: str
) -> None:
    request = await _until_asked(client, session)
    listed = await get(client, "/api/requests", state="open")
    assert [each["id"] for each in listed["requests"]] == [request["id"]]
    one = await get(client, f"/api/requests/{request['id']}")
    assert one == listed["requests"][0]
    assert (one["session"], one["kind"], one["state"]) == (session, "permission", "open")
    assert {each["id"] for each in one["options"]} == {"allow", "always", "reject"}

    answered = await post(client, f"/api/requests/{request['id']}/answer", option="allow")
    assert answered["answered_by"] == "operator"
    assert answered["answered_from"] == "api"
    assert (one.get("answer"), answered["answer"]) == (None, {"type": "choose", "option": "allow"})
    late = await post(client, f"/api/requests/{request['id']}/answer", 409, behavior="deny")
    assert late["type"] == "urn:sandbox-agent:error:request_closed"
    assert (late["answered_by"], late["answered_from"]) == ("operator", "api")
    assert late["answered_at"] == answered["answered_at"]
    async with stream(client, f"/api/sessions/{session}/events") as events:
        told = await events.until_event("TurnEnded")
    assert told[-1].data["event"]["answer"].endswith("permission: allow")


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"option": "allow", "behavior": "allow"},
        {"behavior": "perhaps"},
        {"answers": {"q": 1}},
        {"decline": False},
        {"nonsense": 1},
    ],
)
async def test_an_answer_is_exactly_one_kind_of_answer(
    client: httpx.AsyncClient, session: str, body: dict[str, object]
) -> None:
    request = await _until_asked(client, session)
    refused = await client.post(f"/api/requests/{request['id']}/answer", json=body)
    assert refused.status_code == 422
    assert (await get(client, f"/api/requests/{request['id']}"))["state"] == "open"


async def test_questions_are_answered_by_label(client: httpx.AsyncClient, session: str) -> None:
    request = await _until_asked(client, session, "question")
    question = request["questions"][0]
    label = question["choices"][0]["label"]
    await post(client, f"/api/requests/{request['id']}/answer", answers={question["text"]: label})
    async with stream(client, f"/api/sessions/{session}/events") as events:
        told = await events.until_event("TurnEnded")
    assert label in told[-1].data["event"]["answer"]


async def test_several_requests_get_one_answer_and_each_says_what_became_of_it(
    served: Served, client: httpx.AsyncClient
) -> None:
    asked = []
    for _ in range(2):
        made = await post(client, "/api/sessions", 201, engine="mock", cwd=str(served.work))
        asked.append((await _until_asked(client, made["id"]))["id"])
    given = await post(client, "/api/requests/answer", requests=[*asked, "nothing"], behavior="allow")
    assert [each["id"] for each in given["results"]] == [*asked, "nothing"]
    assert [each.get("problem", {}).get("status") for each in given["results"]] == [None, None, 404]


async def test_one_stream_tells_of_everything_that_needs_somebody(client: httpx.AsyncClient, session: str) -> None:
    async with stream(client, "/api/events") as news:
        first = await news.next()
        assert first is not None
        assert first.event == "snapshot"
        request = await _until_asked(client, session)
        told = await news.until(lambda each: each.data.get("event") == "RequestOpened")
        assert told[-1].data["request"]["id"] == request["id"]
        await news.until(lambda each: each.data.get("info", {}).get("state") == "waiting")
        async with stream(client, "/api/events") as late:
            snapshot = await late.next()
            assert snapshot is not None
            assert [each["id"] for each in snapshot.data["requests"]] == [request["id"]]
            assert [each["id"] for each in snapshot.data["sessions"]] == [session]
        await post(client, f"/api/requests/{request['id']}/answer", option="reject")
        await news.until(lambda each: each.data.get("request", {}).get("state") == "applied")


async def test_a_command_of_a_person_runs_in_the_folder_and_the_agent_hears_of_it(
    served: Served, client: httpx.AsyncClient, session: str
) -> None:
    ran = await post(client, f"/api/sessions/{session}/command", command="echo out; echo err >&2; pwd; exit 3")
    assert ran == {
        "command": "echo out; echo err >&2; pwd; exit 3",
        "output": f"out\nerr\n{served.work}\n",
        "exit_code": 3,
        "truncated": False,
    }
    told = await run_turn(client, session, "blocks")
    assert "2" in told[-1].data["event"]["answer"]


async def test_mode_model_effort_limits_title_and_archive_are_set_and_seen(
    client: httpx.AsyncClient, session: str
) -> None:
    unknown = await post(client, f"/api/sessions/{session}/mode", 400, mode="nope")
    assert "one of default, plan" in unknown["detail"]
    await post(client, f"/api/sessions/{session}/mode", 204, mode="plan")
    await post(client, f"/api/sessions/{session}/model", 204, model="mock-fast")
    await post(client, f"/api/sessions/{session}/effort", 204, effort="high")
    await run_turn(client, session, "echo hello")
    await post(client, f"/api/sessions/{session}/option", 204, option="thought_level", value="low")
    options = {each["id"]: each["value"] for each in (await get(client, f"/api/sessions/{session}"))["options"]}
    assert options["thought_level"] == "low"
    for wrong in ({"option": "thought_level", "value": "huge"}, {"option": "nonsense", "value": "x"}):
        await post(client, f"/api/sessions/{session}/option", 400, **wrong)
    await post(client, f"/api/sessions/{session}/limits", 204, turns=2)
    renamed = await post(client, f"/api/sessions/{session}/title", title="second")
    assert renamed["title"] == "second"
    view = await get(client, f"/api/sessions/{session}")
    assert (view["mode"], view["model"], view["effort"], view["title"]) == ("plan", "mock-fast", "low", "second")
    assert view["session_limits"]["turns"] == 2
    await post(client, f"/api/sessions/{session}/archive")
    assert (await get(client, "/api/sessions"))["sessions"] == []
    assert [each["id"] for each in (await get(client, "/api/sessions", archived=1))["sessions"]] == [session]
    await post(client, f"/api/sessions/{session}/archive", archived=False)
    assert [each["id"] for each in (await get(client, "/api/sessions"))["sessions"]] == [session]


async def test_sessions_are_listed_in_pages_and_found_by_what_is_known_of_them(
    served: Served, client: httpx.AsyncClient
) -> None:
    other = served.work / "other"
    other.mkdir()
    made = []
    for at in range(5):
        cwd = str(other if at % 2 else served.work)
        made.append((await post(client, "/api/sessions", 201, engine="mock", cwd=cwd, title=f"number {at}"))["id"])
    seen: list[str] = []
    after = None
    while True:
        page = await get(client, "/api/sessions", limit=2, **({"after": after} if after else {}))
        seen += [each["id"] for each in page["sessions"]]
        after = page["after"]
        if after is None:
            break
    assert sorted(seen) == sorted(made)
    assert len((await get(client, "/api/sessions", cwd=str(other)))["sessions"]) == 2
    assert [each["id"] for each in (await get(client, "/api/sessions", q="NUMBER 3"))["sessions"]] == [made[3]]
    assert (await get(client, "/api/sessions", engine="claude"))["sessions"] == []
    assert len((await get(client, "/api/sessions", state=["idle", "running"]))["sessions"]) == 5


async def test_a_session_is_closed_exported_and_deleted(client: httpx.AsyncClient, session: str) -> None:
    await run_turn(client, session, "hello")
    closed = await post(client, f"/api/sessions/{session}/close", reason="done")
    assert (closed["state"], closed["closed_reason"]) == ("closed", "done")
    export = await client.get(f"/api/sessions/{session}/export")
    lines = [json.loads(line) for line in export.text.splitlines()]
    assert export.headers["content-type"].startswith("application/jsonl")
    assert len(lines) > 5
    assert (await client.delete(f"/api/sessions/{session}")).status_code == 204
    gone = await get(client, f"/api/sessions/{session}", 404)
    assert (gone["type"], gone["sessionId"]) == ("urn:sandbox-agent:error:session_not_found", session)


async def test_what_is_asked_about_a_session_is_answered_or_refused_clearly(
    client: httpx.AsyncClient, session: str
) -> None:
    await run_turn(client, session, "usage")
    usage = await get(client, f"/api/sessions/{session}/usage")
    assert usage["totals"]["turns"] == 1
    assert "used" in (await get(client, f"/api/sessions/{session}/context"))["meter"]
    assert "commands" in await get(client, f"/api/sessions/{session}/commands")
    assert (await get(client, f"/api/sessions/{session}/rules")) == {"operator": [], "session": []}
    assert (await get(client, f"/api/sessions/{session}/diff")) == {"changes": []}
    refused = await get(client, f"/api/sessions/{session}/suggest", 400, q="a")
    assert refused["type"] == "urn:sandbox-agent:error:unsupported_option"


@pytest.mark.parametrize(
    ("body", "status", "kind"),
    [
        ({"engine": "nobody", "cwd": "/"}, 400, "unsupported_agent"),
        ({"engine": "mock", "cwd": "/no/such/folder"}, 400, "invalid_request"),
        ({"engine": "mock", "cwd": "relative"}, 400, "invalid_request"),
        ({"engine": "mock", "cwd": "/", "mode": "nonsense"}, 400, "invalid_request"),
        ({"engine": "mock"}, 400, "invalid_request"),
        ({"engine": "mock", "cwd": "/", "limits": {"turns": 0}}, 422, "invalid_request"),
        ({"engine": "mock", "cwd": "/", "surprise": 1}, 422, "invalid_request"),
    ],
)
async def test_a_session_that_cannot_be_is_refused_with_the_reason(
    client: httpx.AsyncClient, body: dict[str, object], status: int, kind: str
) -> None:
    refused = await post(client, "/api/sessions", status, **body)
    assert refused["type"] == f"urn:sandbox-agent:error:{kind}"
    assert refused["detail"]


async def test_a_limited_token_sees_and_drives_its_own_sessions_only(
    served: Served, client: httpx.AsyncClient, session: str
) -> None:
    other = served.work / "other"
    other.mkdir()
    theirs = (await post(client, "/api/sessions", 201, engine="mock", cwd=str(other)))["id"]
    made = await post(client, "/api/tokens", 201, name="guest", scopes=["read"], sessions=[session])
    assert made["link"] == f"/ui/#token={made['token']}"
    async with served.client(made["token"]) as guest:
        assert [each["id"] for each in (await get(guest, "/api/sessions"))["sessions"]] == [session]
        await get(guest, f"/api/sessions/{session}")
        await get(guest, f"/api/sessions/{theirs}", 403)
        await post(guest, f"/api/sessions/{session}/prompt", 403, content="hello")
        await get(guest, "/api/tokens", 403)
        async with stream(guest, "/api/events") as news:
            await news.next()
            await run_turn(client, theirs, "hello")
            await post(client, f"/api/sessions/{session}/title", title="seen")
            told = await news.until(lambda each: each.data["event"] == "TitleChanged")
            assert {each.data["session"] for each in told} == {session}
    project = await post(client, "/api/tokens", 201, name="project", scopes=["drive"], projects=[str(other)])
    async with served.client(project["token"]) as driver:
        assert [each["id"] for each in (await get(driver, "/api/sessions"))["sessions"]] == [theirs]
        await post(driver, "/api/sessions", 201, engine="mock", cwd=str(other))
        await post(driver, "/api/sessions", 403, engine="mock", cwd=str(served.work))
    listed = await get(client, "/api/tokens")
    assert [each["name"] for each in listed["tokens"]] == ["guest", "project"]
    assert "hash" not in listed["tokens"][0]
    assert (await client.delete(f"/api/tokens/{made['info']['id']}")).status_code == 204
    async with served.client(made["token"]) as guest:
        await get(guest, "/api/sessions", 401)


async def test_many_readers_of_one_session_all_get_every_event_in_order(
    client: httpx.AsyncClient, session: str
) -> None:
    async def read() -> list[str]:
        async with stream(client, f"/api/sessions/{session}/events") as events:
            told = await events.until_event("TurnEnded")
        return [each.data["event"]["text"] for each in told if each.event == "Message"]

    readers = [asyncio.create_task(read()) for _ in range(20)]
    await post(client, f"/api/sessions/{session}/prompt", 202, content="stream 50")
    found = await asyncio.gather(*readers)
    assert all(each == found[0] for each in found)
    assert "chunk 49" in found[0][-1]


async def test_a_session_that_is_put_aside_or_deleted_is_news(client: httpx.AsyncClient, session: str) -> None:
    async with stream(client, "/api/events") as news:
        await post(client, f"/api/sessions/{session}/archive", archived=True)
        told = await news.until(lambda each: each.data.get("event") == "SessionArchived")
        assert (told[-1].data["session"], told[-1].data["info"]["archived"]) == (session, True)
        assert (await client.delete(f"/api/sessions/{session}")).status_code == 204
        told = await news.until(lambda each: each.data.get("event") == "SessionDeleted")
        assert told[-1].data["session"] == session


async def test_the_effort_of_a_session_is_shown_wherever_its_model_is(
    client: httpx.AsyncClient, served: Served
) -> None:
    made = await post(client, "/api/sessions", 201, engine="mock", cwd=str(served.work), effort="high")
    path = f"/api/sessions/{made['id']}"
    assert made["effort"] == "high"
    assert (await get(client, path))["effort"] == "high"
    await post(client, f"{path}/effort", 204, effort="low")
    assert (await get(client, path))["effort"] == "low"
    assert [each["effort"] for each in (await get(client, "/api/sessions"))["sessions"]] == ["low"]
    page = await get(client, f"{path}/events", follow=0)
    assert page["events"][-1]["event"] == {"type": "EffortChanged", "effort": "low"}
    refused = await client.post(f"{path}/effort", json={"effort": "banana"})
    assert (refused.status_code, "one of low, high" in refused.json()["detail"]) == (400, True)
    body = {"engine": "mock", "cwd": str(served.work), "effort": "banana"}
    assert (await client.post("/api/sessions", json=body)).status_code == 400
    assert (await get(client, path))["effort"] == "low"


# --------------------------------------------------------------------------------------------- chosen ids


async def test_a_session_of_a_chosen_id_is_opened_once_whoever_asks(served: Served, client: httpx.AsyncClient) -> None:
    body = {"engine": "mock", "cwd": str(served.work), "title": "nightly"}
    answers = await asyncio.gather(*(client.put("/api/sessions/job-7", json=body) for _ in range(8)))
    assert [(each.status_code, each.json()["id"]) for each in answers] == [(200, "job-7")] * 8
    assert [row["id"] for row in (await get(client, "/api/sessions"))["sessions"]] == ["job-7"]
    unknown = await client.put("/api/sessions/job-7", json={**body, "mode": "nope"})
    assert (unknown.status_code, "one of default, plan" in unknown.text) == (400, True)
    changed = await client.put("/api/sessions/job-7", json={"mode": "plan", "model": "mock-fast", "title": "other"})
    assert (changed.status_code, changed.json()["title"]) == (200, "nightly")
    view = await get(client, "/api/sessions/job-7")
    assert (view["mode"], view["model"]) == ("plan", "mock-fast")
    assert (await run_turn(client, "job-7", "hello"))[-1].data["event"]["answer"] == "mock: hello"


@pytest.mark.parametrize("name", ["a b", ".hidden", "-x", "x" * 65, "a%2Fb"])
async def test_an_id_that_cannot_be_one_is_refused_with_what_can(
    served: Served, client: httpx.AsyncClient, name: str
) -> None:
    answer = await client.put(f"/api/sessions/{name}", json={"engine": "mock", "cwd": str(served.work)})
    assert answer.status_code == 400
    assert "cannot be used; expected 1 to 64 letters, digits" in answer.json()["detail"]
    assert (await get(client, "/api/sessions"))["sessions"] == []


async def test_an_id_is_free_again_once_its_session_is_deleted(served: Served, client: httpx.AsyncClient) -> None:
    body = {"engine": "mock", "cwd": str(served.work)}
    await client.put("/api/sessions/job-7", json=body)
    await run_turn(client, "job-7", "hello")
    gone, made = await asyncio.gather(
        client.delete("/api/sessions/job-7"), client.put("/api/sessions/job-7", json=body)
    )
    assert (gone.status_code, made.status_code) == (204, 200)
    fresh = await client.put("/api/sessions/job-7", json=body)
    assert (fresh.json()["id"], fresh.json()["turns"]) == ("job-7", 0)


async def test_what_a_service_that_died_left_of_a_session_does_not_keep_its_id(
    served: Served, client: httpx.AsyncClient
) -> None:
    spec = msgspec.json.encode(SessionSpec(engine="mock", cwd="/gone"))
    await served.api.store.documents(SPECS).put("job-7", spec)
    made = await client.put("/api/sessions/job-7", json={"engine": "mock", "cwd": str(served.work)})
    assert (made.status_code, made.json()["cwd"]) == (200, str(served.work))


@pytest.mark.parametrize("engine", ["claude", "codex", "mock"])
async def test_options_that_are_set_before_the_agent_is_started_are_checked_and_kept(
    served: Served, client: httpx.AsyncClient, engine: str
) -> None:
    made = await post(client, "/api/sessions", 201, engine=engine, cwd=str(served.work))
    path = f"/api/sessions/{made['id']}"
    mode = {"codex": "read-only"}.get(engine, "plan")
    for option, value in (("mode", mode), ("model", "some-model"), ("effort", "high")):
        await post(client, f"{path}/option", 204, option=option, value=value)
    view = await get(client, path)
    assert (view["mode"], view["model"], view["effort"]) == (mode, "some-model", "high")
    await post(client, f"{path}/option", 204, option="thought_level", value="low")
    wrong = [("mode", "nonsense"), ("effort", "nonsense"), ("nonsense", "x")]
    for option, value in (*wrong, *([("fast", "perhaps")] if engine == "claude" else [])):
        problem = await post(client, f"{path}/option", 400, option=option, value=value)
        assert "expected one of" in problem["detail"]
    if engine == "claude":
        await post(client, f"{path}/option", 204, option="fast", value="on")
    live = await served.api.hub.get(made["id"])
    assert live.spec.choices == ({"fast": "on"} if engine == "claude" else {})
    view = await get(client, path)
    assert (view["mode"], view["model"], view["effort"]) == (mode, "some-model", "low")


@pytest.mark.parametrize(
    "body",
    [
        {"engine": "claude", "resume": "codex resume abc"},
        {"engine": "claude", "resume": "two words"},
        {"engine": "claude", "resume": "--model x"},
        {"engine": "claude", "resume": "--model"},
        {"engine": "claude", "resume": "``"},
    ],
)
async def test_a_text_that_names_no_conversation_of_the_engine_is_refused(
    served: Served, client: httpx.AsyncClient, body: dict[str, str]
) -> None:
    problem = await post(client, "/api/sessions", 400, cwd=str(served.work), **body)
    assert f"resume: {body['resume']!r} cannot be used" in problem["detail"]
    assert (await get(client, "/api/sessions"))["sessions"] == []


@pytest.mark.parametrize(
    ("body", "engine", "conversation"),
    [
        ({"engine": "claude", "resume": "abc"}, "claude", "abc"),
        ({"engine": "claude", "resume": "`abc"}, "claude", "abc"),
        ({"engine": "claude", "resume": "`claude --resume abc"}, "claude", "abc"),
        (
            {"resume": "codex resume 0196e0a4-0000-7000-8000-000000000001"},
            "codex",
            "0196e0a4-0000-7000-8000-000000000001",
        ),
    ],
)
async def test_a_conversation_is_named_by_its_id_or_its_resume_line(
    served: Served, client: httpx.AsyncClient, body: dict[str, str], engine: str, conversation: str
) -> None:
    made = await post(client, "/api/sessions", 201, cwd=str(served.work), **body)
    view = await get(client, f"/api/sessions/{made['id']}")
    assert view["resume"] == {"engine": engine, "value": conversation}


async def test_an_effort_is_taken_back_by_an_empty_one(served: Served, client: httpx.AsyncClient) -> None:
    made = await post(client, "/api/sessions", 201, engine="mock", cwd=str(served.work), effort="high")
    path = f"/api/sessions/{made['id']}"
    await post(client, f"{path}/effort", 204, effort="")
    assert (await get(client, path))["effort"] == ""
    await run_turn(client, made["id"], "hello")
    options = {each["id"]: each["value"] for each in (await get(client, path))["options"]}
    assert options["thought_level"] == "low", "the default of the agent"


async def test_choices_of_a_session_are_known_before_its_agent_is_started(
    served: Served, client: httpx.AsyncClient
) -> None:
    made = await post(client, "/api/sessions", 201, engine="mock", cwd=str(served.work), mode="plan", effort="high")
    view = await get(client, f"/api/sessions/{made['id']}")
    assert view["options"] == []
    assert {each["category"]: each["value"] for each in view["choices"]} == {
        "model": "mock",
        "mode": "plan",
        "thought_level": "high",
    }
    await run_turn(client, made["id"], "hello")
    view = await get(client, f"/api/sessions/{made['id']}")
    assert view["choices"] == view["options"] != []


def test_a_changed_input_is_taken_with_its_numbers_as_they_are_written() -> None:
    given = Allow(updated_input=msgspec.Raw(b'{"amount":1e400,"account":1234567890123456789,"rate":1.0}'))
    body = msgspec.json.decode(msgspec.json.encode(encode_answer(given)), type=AnswerBody)
    assert body.answer() == given
