"""Our sessions as an ACP agent, on the mock engine: every method, the order of messages, who answers what."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from footplate.events.ids import SessionId
from footplate.events.requests import Choose, Deny
from footplate.runtime.acp.client import Manner
from footplate.runtime.acp.guests import EDITOR
from footplate.runtime.hub import Hub
from footplate.runtime.services import Services
from footplate.runtime.spec import SessionSpec
from tests.unit.runtime.acp.client import RpcFailed, connected, with_forgetful
from tests.unit.runtime.following import until_asked, until_ended

FORMS: dict[str, object] = {"elicitation": {"form": {}}}


async def test_it_says_truly_what_it_can(hub: Hub, services: Services) -> None:
    async with connected(hub, services) as client:
        told = client.heard[0]["result"]
        assert told["protocolVersion"] == 1
        assert told["authMethods"] == []
        assert told["agentCapabilities"]["loadSession"] is True
        assert "fork" not in told["agentCapabilities"]["sessionCapabilities"]


async def test_a_new_session_tells_its_modes_and_options(hub: Hub, services: Services, tmp_path: Path) -> None:
    async with connected(hub, services) as client:
        opened = await client.call("session/new", cwd=str(tmp_path), mcpServers=[])
        assert [mode["id"] for mode in opened["modes"]["availableModes"]] == ["default", "plan", "bypassPermissions"]
        assert {option["id"]: option["currentValue"] for option in opened["configOptions"]} == {
            "model": "mock",
            "mode": "default",
            "thought_level": "low",
        }


async def test_a_prompt_streams_and_is_answered_behind_its_updates(
    hub: Hub, services: Services, tmp_path: Path
) -> None:
    async with connected(hub, services) as client:
        session = await client.open(tmp_path)
        rpc_id = await client.prompt(session, "stream 40")
        assert (await client.answer(rpc_id))["stopReason"] == "end_turn"
        assert client.text(session) == "".join(f"chunk {index}" for index in range(40))
        told = [each.get("id") if "method" not in each else "update" for each in client.heard]
        assert told.index(rpc_id) == len(told) - 1 - told[::-1].index(rpc_id)
        assert "update" not in told[told.index(rpc_id) :], "the answer stands behind every update"


async def test_a_permission_is_asked_and_answered(hub: Hub, services: Services, tmp_path: Path) -> None:
    async with connected(hub, services) as client:
        session = await client.open(tmp_path)
        rpc_id = await client.prompt(session, "permission")
        asked = await client.asked()
        call = asked["params"]["toolCall"]
        assert (call["kind"], call["status"], call["rawInput"]["command"]) == (
            "execute",
            "pending",
            "touch example.txt",
        )
        assert [each["kind"] for each in asked["params"]["options"]] == ["allow_once", "allow_always", "reject_once"]
        await client.reply(asked, {"outcome": {"outcome": "selected", "optionId": "allow"}})
        assert (await client.answer(rpc_id))["stopReason"] == "end_turn"
        assert client.text(session) == "permission: allow"
        assert [each["status"] for each in client.updates(session, "tool_call")] == ["pending"]
        assert client.updates(session, "tool_call_update")[-1]["status"] == "completed"


async def test_a_cancelled_permission_with_nobody_else_watching_ends_the_turn(
    hub: Hub, services: Services, tmp_path: Path
) -> None:
    async with connected(hub, services) as client:
        session = await client.open(tmp_path)
        rpc_id = await client.prompt(session, "permission")
        await client.reply(await client.asked(), {"outcome": {"outcome": "cancelled"}})
        assert (await client.answer(rpc_id))["stopReason"] == "cancelled"


async def test_a_cancelled_permission_stays_open_for_whoever_else_watches(
    hub: Hub, services: Services, tmp_path: Path
) -> None:
    async with connected(hub, services) as client:
        name = SessionId(await client.open(tmp_path))
        rpc_id = await client.prompt(name, "permission")
        asked = await client.asked()
        live = await hub.get(name)
        phone = live.subscribe(live.view().last_seq)
        try:
            await client.reply(asked, {"outcome": {"outcome": "cancelled"}})
            await client.call("session/list")
            request = live.view().requests[0]
            assert request.state == "open"
            await live.answer(request.request.id, Choose(option="always"), by="me", surface="phone")
        finally:
            phone.close()
        assert (await client.answer(rpc_id))["stopReason"] == "end_turn"
        assert client.text(name) == "permission: always"


async def test_an_answer_from_elsewhere_takes_the_question_back_and_a_late_answer_is_dropped(
    hub: Hub, services: Services, tmp_path: Path
) -> None:
    async with connected(hub, services) as client:
        name = SessionId(await client.open(tmp_path))
        rpc_id = await client.prompt(name, "permission")
        asked = await client.asked()
        live = await hub.get(name)
        request = live.view().requests[0].request.id
        await live.answer(request, Choose(option="allow"), by="me", surface="phone")
        taken = await client.asked("$/cancel_request")
        assert taken["params"] == {"requestId": asked["id"]}
        await client.reply(asked, {"outcome": {"outcome": "selected", "optionId": "reject"}})
        assert (await client.answer(rpc_id))["stopReason"] == "end_turn"
        assert client.text(name) == "permission: allow"


async def test_a_question_is_a_form_where_the_client_has_forms(hub: Hub, services: Services, tmp_path: Path) -> None:
    async with connected(hub, services, can=FORMS) as client:
        session = await client.open(tmp_path)
        rpc_id = await client.prompt(session, "question")
        asked = await client.asked("elicitation/create")
        fields = asked["params"]["requestedSchema"]["properties"]
        assert [each["const"] for each in fields["question_0"]["oneOf"]] == ["Red", "Green", "Blue"]
        await client.reply(asked, {"action": "accept", "content": {"question_0": "Blue"}})
        assert (await client.answer(rpc_id))["stopReason"] == "end_turn"
        assert client.text(session) == "question: Blue"


async def test_a_question_is_a_choice_of_options_where_the_client_has_none(
    hub: Hub, services: Services, tmp_path: Path
) -> None:
    async with connected(hub, services) as client:
        session = await client.open(tmp_path)
        rpc_id = await client.prompt(session, "question")
        asked = await client.asked()
        names = {each["name"]: each["optionId"] for each in asked["params"]["options"]}
        assert list(names) == ["Red", "Green", "Blue", "Answer in my next message", "Skip"]
        await client.reply(asked, {"outcome": {"outcome": "selected", "optionId": names["Green"]}})
        assert (await client.answer(rpc_id))["stopReason"] == "end_turn"
        assert client.text(session) == "question: Green"


async def test_a_client_that_has_no_forms_after_all_is_asked_by_options(
    hub: Hub, services: Services, tmp_path: Path
) -> None:
    async with connected(hub, services, can=FORMS) as client:
        session = await client.open(tmp_path)
        rpc_id = await client.prompt(session, "question")
        await client.fail(await client.asked("elicitation/create"), -32601)
        asked = await client.asked()
        await client.reply(asked, {"outcome": {"outcome": "selected", "optionId": "choice-0"}})
        assert (await client.answer(rpc_id))["stopReason"] == "end_turn"
        assert client.text(session) == "question: Red"


async def test_a_client_that_cannot_show_a_question_is_no_refusal_of_the_person(
    hub: Hub, services: Services, tmp_path: Path
) -> None:
    async with connected(hub, services) as client:
        name = SessionId(await client.open(tmp_path))
        rpc_id = await client.prompt(name, "permission")
        await client.fail(await client.asked(), -32603)
        assert (await client.answer(rpc_id))["stopReason"] == "end_turn"
        answered = (await hub.get(name)).view().closed_requests[0].answer
        assert isinstance(answered, Deny)
        assert "nobody has declined" in answered.message


async def test_cancel_stops_the_turn_and_what_waits_behind_it(hub: Hub, services: Services, tmp_path: Path) -> None:
    async with connected(hub, services) as client:
        session = await client.open(tmp_path)
        first = await client.prompt(session, "hang")
        second = await client.prompt(session, "second")
        await client.hear(lambda _: client.text(session) == "hang begin")
        await client.notify("session/cancel", {"sessionId": session})
        assert (await client.answer(first))["stopReason"] == "cancelled"
        assert (await client.answer(second))["stopReason"] == "cancelled"
        assert await client.say(session, "again") == "end_turn"


async def test_a_cancel_right_behind_its_prompt_is_not_lost(hub: Hub, services: Services, tmp_path: Path) -> None:
    async with connected(hub, services) as client:
        session = await client.open(tmp_path)
        rpc_id = await client.prompt(session, "hang")
        await client.notify("session/cancel", {"sessionId": session})
        assert (await client.answer(rpc_id))["stopReason"] == "cancelled"


async def test_a_second_prompt_waits_for_the_first(hub: Hub, services: Services, tmp_path: Path) -> None:
    async with connected(hub, services) as client:
        session = await client.open(tmp_path)
        ids = [await client.prompt(session, text) for text in ("slow 50", "second", "third")]
        for rpc_id in ids:
            assert (await client.answer(rpc_id))["stopReason"] == "end_turn"
        assert client.text(session) == "slow beginslow endmock: secondmock: third"


async def test_two_sessions_run_side_by_side(hub: Hub, services: Services, tmp_path: Path) -> None:
    async with connected(hub, services) as client:
        one, two = await asyncio.gather(client.open(tmp_path), client.open(tmp_path))
        hanging = await client.prompt(one, "hang")
        assert await client.say(two, "hello") == "end_turn"
        assert client.text(two) == "mock: hello"
        await client.notify("session/cancel", {"sessionId": one})
        assert (await client.answer(hanging))["stopReason"] == "cancelled"


async def test_a_mode_is_set_and_told_before_the_answer(hub: Hub, services: Services, tmp_path: Path) -> None:
    async with connected(hub, services) as client:
        session = await client.open(tmp_path)
        await client.call("session/set_mode", sessionId=session, modeId="plan")
        assert client.updates(session, "current_mode_update") == [
            {"sessionUpdate": "current_mode_update", "currentModeId": "plan"}
        ]
        with pytest.raises(RpcFailed, match="nonsense") as refused:
            await client.call("session/set_mode", sessionId=session, modeId="nonsense")
        assert refused.value.code == -32602


async def test_options_are_set_by_their_ids(hub: Hub, services: Services, tmp_path: Path) -> None:
    async with connected(hub, services) as client:
        session = await client.open(tmp_path)
        told = await client.call("session/set_config_option", sessionId=session, configId="model", value="mock-fast")
        assert {each["id"]: each["currentValue"] for each in told["configOptions"]}["model"] == "mock-fast"
        told = await client.call("session/set_config_option", sessionId=session, configId="thought_level", value="high")
        assert {each["id"]: each["currentValue"] for each in told["configOptions"]}["thought_level"] == "high"
        assert (await hub.get(SessionId(session))).view().effort == "high"
        await client.call("session/set_model", sessionId=session, modelId="mock")
        for config, value in (("nonsense", "x"), ("model", "gpt")):
            with pytest.raises(RpcFailed) as refused:
                await client.call("session/set_config_option", sessionId=session, configId=config, value=value)
            assert refused.value.code == -32602


async def test_load_tells_the_past_and_resume_does_not(hub: Hub, services: Services, tmp_path: Path) -> None:
    async with connected(hub, services) as client:
        session = await client.open(tmp_path)
        await client.say(session, "hello")
        await client.say(session, "tool")
    async with connected(hub, services) as client:
        await client.call("session/load", sessionId=session, cwd=str(tmp_path), mcpServers=[])
        kinds = [each["sessionUpdate"] for each in client.updates(session)]
        assert [kind for kind in kinds if kind not in ("config_option_update", "available_commands_update")] == [
            "session_info_update",
            "user_message_chunk",
            "agent_message_chunk",
            "user_message_chunk",
            "tool_call",
            "tool_call_update",
            "agent_message_chunk",
        ]
        assert client.text(session) == "mock: hellotool done"
        assert await client.say(session, "more") == "end_turn"
    async with connected(hub, services) as client:
        await client.call("session/resume", sessionId=session, cwd=str(tmp_path))
        assert client.text(session) == ""
        assert await client.say(session, "history") == "end_turn"


@pytest.mark.parametrize("method", ["session/resume", "session/load"])
async def test_a_slow_client_that_opens_its_session_again_gets_the_answer_to_its_prompt(
    method: str, hub: Hub, services: Services, tmp_path: Path
) -> None:
    async with connected(hub, services) as client:
        name = SessionId(await client.open(tmp_path))
        live = await hub.get(name)
        prompted = await client.prompt(name, "stream 40")
        await client.hear(lambda _: client.text(name) != "")
        client.reads.clear()
        await until_ended(live)
        opened = await client.post(method, {"sessionId": name, "cwd": str(tmp_path), "mcpServers": []})
        await asyncio.sleep(0)
        client.reads.set()
        await client.answer(opened)
        assert (await client.answer(prompted))["stopReason"] == "end_turn"
        if method == "session/resume":
            assert client.text(name) == "".join(f"chunk {index}" for index in range(40)), "each part came once"


async def test_a_session_of_before_takes_prompts_without_being_loaded(
    hub: Hub, services: Services, tmp_path: Path
) -> None:
    async with connected(hub, services) as client:
        session = await client.open(tmp_path)
        await client.say(session, "hello")
    async with connected(hub, services) as client:
        assert await client.say(session, "again") == "end_turn"
        assert client.text(session) == "mock: again"


async def test_whoever_joins_is_asked_what_is_open(hub: Hub, services: Services, tmp_path: Path) -> None:
    live = await hub.create(SessionSpec(engine="mock", cwd=str(tmp_path)))
    await live.prompt("permission")
    await until_asked(live)
    async with connected(hub, services) as client:
        await client.call("session/load", sessionId=live.id, cwd=str(tmp_path), mcpServers=[])
        asked = await client.asked()
        assert [each["content"]["text"] for each in client.updates(live.id, "user_message_chunk")] == ["permission"]
        await client.reply(asked, {"outcome": {"outcome": "selected", "optionId": "reject"}})
        ended = await until_ended(live)
        assert ended.answer == "permission: reject"


async def test_what_others_say_to_the_session_is_told(hub: Hub, services: Services, tmp_path: Path) -> None:
    async with connected(hub, services) as client:
        name = SessionId(await client.open(tmp_path))
        await (await hub.get(name)).prompt("from the phone")
        await client.hear(lambda _: client.text(name) == "mock: from the phone")
        said = client.updates(name, "user_message_chunk")
        assert [each["content"]["text"] for each in said] == ["from the phone"]
        await client.say(name, "from here")
        assert len(client.updates(name, "user_message_chunk")) == 1, "nobody is told his own words"


async def test_sessions_are_listed_closed_and_deleted(hub: Hub, services: Services, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    async with connected(hub, services) as client:
        one, two = await client.open(tmp_path), await client.open(other)
        listed = (await client.call("session/list"))["sessions"]
        assert {each["sessionId"]: each["cwd"] for each in listed} == {one: str(tmp_path), two: str(other)}
        only = (await client.call("session/list", cwd=str(other)))["sessions"]
        assert [each["sessionId"] for each in only] == [two]
        await client.call("session/close", sessionId=one)
        assert len((await client.call("session/list"))["sessions"]) == 2
        assert await client.say(one, "still there") == "end_turn"
        await client.call("session/delete", sessionId=one)
        assert [each["sessionId"] for each in (await client.call("session/list"))["sessions"]] == [two]
        with pytest.raises(RpcFailed) as unknown:
            await client.say(one, "gone")
        assert (unknown.value.code, unknown.value.data["sessionId"]) == (-32002, one)  # type: ignore[index]


async def test_a_closed_session_whose_agent_cannot_resume_keeps_its_process(services: Services, tmp_path: Path) -> None:
    forgetful = with_forgetful(services)
    async with Hub.open(forgetful) as hub, connected(hub, forgetful, "forgetful") as client:
        session = await client.open(tmp_path)
        await client.say(session, "hello")
        await client.call("session/close", sessionId=session)
        await client.call("session/resume", sessionId=session, cwd=str(tmp_path), mcpServers=[])
        await client.say(session, "again")
        assert client.text(session) == "prompt 1prompt 2"


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("no/such_method", {}, -32601),
        ("session/new", {"cwd": 5}, -32602),
        ("session/new", {"cwd": "relative", "mcpServers": []}, -32602),
        ("session/new", {"cwd": "/no/such/folder", "mcpServers": []}, -32602),
        ("session/load", {"sessionId": "nobody", "cwd": "/", "mcpServers": []}, -32002),
        ("session/prompt", {"sessionId": "nobody", "prompt": [{"type": "text", "text": "hi"}]}, -32002),
        ("session/fork", {"sessionId": "nobody", "cwd": "/"}, -32002),
        ("authenticate", {"methodId": "nonsense"}, -32602),
        ("_sandboxagent/session/events", {"sessionId": "x"}, -32601),
    ],
)
async def test_what_cannot_be_gets_an_error_with_its_code(
    hub: Hub, services: Services, method: str, params: dict[str, object], code: int
) -> None:
    async with connected(hub, services) as client:
        with pytest.raises(RpcFailed) as refused:
            await client.call(method, **params)
        assert refused.value.code == code


@pytest.mark.parametrize(
    ("line", "code"), [(b"{", -32700), (b"[1]", -32600), (b'{"jsonrpc":"2.0","id":1}', -32600), (b"\xff", -32700)]
)
async def test_a_line_that_is_no_message_is_told_so(hub: Hub, services: Services, line: bytes, code: int) -> None:
    async with connected(hub, services) as client:
        await client.agent.receive(line, EDITOR)
        answer = await client.hear(lambda each: each.get("id", 0) is None)
        assert answer["error"]["code"] == code


async def test_a_request_that_is_not_utf_8_is_refused_under_its_id(
    hub: Hub, services: Services, tmp_path: Path
) -> None:
    async with connected(hub, services) as client:
        session = await client.open(tmp_path)
        begun = b'{"jsonrpc":"2.0","id":"bad","method":"session/prompt","params":{"sessionId":"x","prompt":[]'
        for rest in (b',"_meta":{"a":"\xff"}}}', b',"\xe9":1}}'):
            await client.agent.receive(begun + rest, EDITOR)
            answer = await client.hear(lambda each: each.get("id") == "bad")
            assert answer["error"]["code"] == -32700
        await client.agent.receive(b'{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"\xff"}}', EDITOR)
        assert (await client.hear(lambda each: each.get("id", 0) is None))["error"]["code"] == -32700
        assert await client.say(session, "still here") == "end_turn"


async def test_an_error_of_the_agent_is_an_error_of_the_prompt(hub: Hub, services: Services, tmp_path: Path) -> None:
    async with connected(hub, services) as client:
        session = await client.open(tmp_path)
        with pytest.raises(RpcFailed, match="requested") as failed:
            await client.say(session, "error")
        assert failed.value.code == -32603
        assert await client.say(session, "still here") == "end_turn"


async def test_the_death_of_the_agent_is_told_and_the_next_prompt_goes_on(
    hub: Hub, services: Services, tmp_path: Path
) -> None:
    async with connected(hub, services, manner=Manner(adapter=True)) as client:
        session = await client.open(tmp_path)
        with pytest.raises(RpcFailed):
            await client.say(session, "crash 7")
        exited = await client.asked("_adapter/agent_exited")
        assert (exited["params"]["success"], exited["params"]["code"]) == (False, 7)
        assert await client.say(session, "again") == "end_turn"
        await client.say(session, "garbage")
        assert (await client.asked("_adapter/invalid_stdout"))["params"]["raw"]


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ({"outcome": "answered", "answers": {"question_0": "Blue"}}, "question: Blue"),
        ({"outcome": "rejected"}, "question: declined"),
        (None, "question: Red"),
    ],
)
async def test_questions_go_by_the_older_transports_own_request(
    hub: Hub, services: Services, tmp_path: Path, answer: dict[str, object] | None, told: str
) -> None:
    async with connected(hub, services, manner=Manner(extensions=True)) as client:
        session = await client.open(tmp_path)
        rpc_id = await client.prompt(session, "question")
        asked = await client.asked("_sandboxagent/session/request_question")
        assert [each["label"] for each in asked["params"]["questions"][0]["options"]] == ["Red", "Green", "Blue"]
        if answer is not None:
            await client.reply(asked, answer)
        else:
            await client.fail(asked, -32601)
            outcome = {"outcome": {"outcome": "selected", "optionId": "choice-0"}}
            await client.reply(await client.asked(), outcome)
        assert (await client.answer(rpc_id))["stopReason"] == "end_turn"
        assert client.text(session) == told


async def test_the_older_transports_methods(hub: Hub, services: Services, tmp_path: Path) -> None:
    manner = Manner(extensions=True, all_engines=True)
    async with connected(hub, services, manner=manner) as client:
        offered = client.heard[0]["result"]["agentCapabilities"]["_meta"]["sandboxagent.dev"]["extensions"]
        assert "_sandboxagent/session/terminate" in offered
        session = await client.open(tmp_path)
        await client.say(session, "hello")
        models = await client.call("_sandboxagent/session/list_models", sessionId=session)
        assert [each["value"] for each in models["models"]] == ["mock", "mock-fast"]
        noted = await client.call(
            "_sandboxagent/session/set_metadata", sessionId=session, metadata={"title": "A title", "skill": 1}
        )
        assert noted["_meta"]["sandboxagent.dev"] == {"title": "A title", "skill": 1}
        assert [each["title"] for each in client.updates(session, "session_info_update")] == ["hello", "A title"]
        first = await client.call("_sandboxagent/session/events", sessionId=session, limit=2)
        rest = await client.call("_sandboxagent/session/events", sessionId=session, after=first["nextAfter"])
        numbers = [each["seq"] for page in (first, rest) for each in page["events"]]
        assert numbers == list(range(1, len(numbers) + 1))
        await client.call("_sandboxagent/session/detach", sessionId=session)
        await client.call("_sandboxagent/session/terminate", sessionId=session)
        with pytest.raises(RpcFailed):
            await client.say(session, "over")


async def test_the_rest_of_the_mocks_script_is_valid_acp(hub: Hub, services: Services, tmp_path: Path) -> None:
    async with connected(hub, services, can={"session": {"notices": {}}}) as client:
        session = await client.open(tmp_path)
        for text in ("think", "plan", "edit example.txt", "usage", "subagent", "stderr", "tool"):
            assert await client.say(session, text) == "end_turn"
        assert client.updates(session, "plan")[-1]["entries"][0]["status"] == "completed"
        assert client.updates(session, "agent_thought_chunk")
        diffs = [each for each in client.updates(session, "tool_call_update") if each.get("content")]
        assert any(item["type"] == "diff" for each in diffs for item in each["content"])
        assert client.updates(session, "usage_update")[-1]["cost"]["currency"] == "USD"
        nested = [each for each in client.updates(session, "tool_call") if "_meta" in each]
        assert nested[0]["_meta"]["footplate"]["parentToolCallId"]


async def test_mcp_servers_are_refused_by_an_engine_that_takes_none(
    hub: Hub, services: Services, tmp_path: Path
) -> None:
    server = {"name": "files", "command": "/bin/true", "args": [], "env": []}
    async with connected(hub, services) as client:
        with pytest.raises(RpcFailed, match="files") as refused:
            await client.call("session/new", cwd=str(tmp_path), mcpServers=[server])
        assert refused.value.code == -32602
        assert (await client.call("session/list"))["sessions"] == []
