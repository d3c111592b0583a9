"""Requests by button: permission, question, plan; each tap answers its own request, once."""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec

from footplate.config.acp import AcpAgentSettings
from footplate.config.notify import Hook
from footplate.events.requests import Deny
from footplate.interfaces.telegram.opening import open_bridge
from tests.chat.bench import FAST, GROUP, ME, Bench, answered, asked
from tests.e2e.asking_agent import CONFIRM

ACCEPTED = 'The form: {"action": "accept", "content": {}}'


def asking() -> dict[str, AcpAgentSettings]:
    """The agent of `asking_agent.py`, as the settings name it."""
    program = Path(__file__).parent.parent / "e2e" / "asking_agent.py"
    return {"asking": AcpAgentSettings(command=(sys.executable, str(program)))}


async def test_a_permission_is_one_audible_message_with_its_buttons(bench: Bench) -> None:
    async with bench.bridge():
        ask = await asked(bench)
        assert "touch example.txt" in ask.text
        assert ask.labels == ["Allow once", "Allow for session", "Always", "Deny", "Deny with reason…"]
        assert not ask.silent
        assert len([call for call in bench.bots.calls("sendMessage") if "permission" in str(call.parameters)]) == 1
        await bench.bots.until(lambda: bench.me.sees("waiting for you · mock"))
        press = await bench.me.press("Allow once")
        await answered(bench, "permission: allow")
        assert bench.me.toast(press) == "allowed once"
        ended = bench.me.find("permission · mock")
        assert ended.labels == []
        assert "allowed once by user7 from telegram" in ended.text


async def test_deny_with_a_reason_takes_the_next_reply_to_that_message(bench: Bench) -> None:
    async with bench.bridge():
        ask = await asked(bench)
        await bench.me.press("Deny with reason…")
        await bench.bots.until(lambda: "Reply to this message" in bench.me.find("permission · mock").text)
        await bench.me.write("a prompt beside it")
        await bench.bots.until(lambda: bench.me.sees("queued"))
        await bench.me.write("not today", reply_to=ask)
        await bench.bots.until(lambda: bench.me.sees("denied by user7 from telegram: not today"))
        await answered(bench, "mock: a prompt beside it")


async def test_a_question_is_answered_by_its_button(bench: Bench) -> None:
    async with bench.bridge():
        ask = await asked(bench, "question", "Which colour")
        assert ask.labels == ["Red", "Green", "Blue", "Other…", "Decline"]
        await bench.me.press("Green")
        await answered(bench, "question: Green")
        assert "answered by user7 from telegram: Green" in bench.me.find("question · mock").text


async def test_other_is_a_reply_to_that_message_and_goes_as_an_answer(bench: Bench) -> None:
    async with bench.bridge():
        ask = await asked(bench, "question", "Which colour")
        await bench.me.press("Other…")
        await bench.bots.until(lambda: "Reply to this message" in bench.me.find("question · mock").text)
        await bench.me.write("a rather warm grey", reply_to=ask)
        await answered(bench, "question: a rather warm grey")


async def test_a_question_can_be_declined(bench: Bench) -> None:
    async with bench.bridge():
        await asked(bench, "question", "Which colour")
        await bench.me.press("Decline")
        await answered(bench, "question: declined")


async def test_two_questions_of_two_sessions_in_one_chat_get_their_own_answers(bench: Bench) -> None:
    async with bench.bridge(session_mode="stateless"):
        first = await asked(bench, "question", "Which colour")
        await bench.me.write("question")
        await bench.bots.until(lambda: sum("question · mock" in text for text in bench.me.texts) == 2)
        second = bench.me.find("question · mock")
        assert second.id != first.id
        await bench.me.press("Blue", on=second)
        await bench.bots.until(lambda: bench.me.sees("question: Blue"))
        await bench.me.press("Red", on=first)
        await bench.bots.until(lambda: bench.me.sees("question: Red"))


async def test_data_of_one_request_pressed_on_the_message_of_another_answers_nothing(bench: Bench) -> None:
    async with bench.bridge(session_mode="stateless"):
        first = await asked(bench, "question", "Which colour")
        data = first.buttons[0][0]["callback_data"]
        await bench.me.write("question")
        await bench.bots.until(lambda: sum("question · mock" in text for text in bench.me.texts) == 2)
        second = bench.me.find("question · mock")
        forged = [
            await bench.me.press("Red", on=second, data=data),
            await bench.me.press("Red", data="r:x:c0.0:123456"),
        ]
        await bench.bots.until(lambda: all(bench.me.toast(press) for press in forged))
        assert bench.me.toast(forged[0]) == "this button belongs to another message."
        assert bench.me.toast(forged[1]) == "this button is not known any more."
        assert not bench.me.sees("question: ")
        await bench.me.press("Red", on=first)
        await bench.me.press("Red", on=second)
        await bench.bots.until(lambda: sum("question: Red" in text for text in bench.me.texts) == 2)


async def test_only_allowed_people_may_press(bench: Bench) -> None:
    async with bench.bridge():
        ask = await asked(bench)
        data = ask.buttons[0][0]["callback_data"]
        press = await bench.bots.push_press(666, ask, data)
        await bench.bots.until(lambda: press in bench.bots.toasts)
        assert bench.bots.toasts[press] == "you may not use this bot."
        await bench.me.press("Deny")
        await answered(bench, "permission: reject")


async def test_an_answer_from_elsewhere_updates_the_message_at_once(bench: Bench) -> None:
    async with bench.bridge() as bridge:
        await asked(bench)
        page = await bridge.kit.hub.requests()
        session = await bridge.kit.hub.get(page.items[0].session)
        await session.answer(page.items[0].id, Deny(message="no"), by="ann", surface="the web")
        await bench.bots.until(lambda: bench.me.sees("denied by ann from the web: no"))
        assert bench.me.find("permission · mock").labels == []


async def test_a_second_tap_is_told_who_was_first(bench: Bench) -> None:
    async with bench.bridge():
        ask = await asked(bench)
        data = ask.buttons[0][0]["callback_data"]
        await bench.me.press("Deny")
        await answered(bench, "permission: reject")
        late = await bench.me.press("Allow once", on=ask, data=data)
        await bench.bots.until(lambda: bench.me.toast(late) is not None)
        assert "answered already" in str(bench.me.toast(late)) or "not asked any more" in str(bench.me.toast(late))


async def test_a_request_that_nobody_answers_is_reminded_of_once(bench: Bench) -> None:
    async with bench.bridge(reminder_s=0.3):
        await asked(bench)
        await bench.bots.until(lambda: bench.me.sees("still waiting for you: touch example.txt"))
        await bench.me.press("Allow once")
        await answered(bench, "permission: allow")
        assert sum("still waiting" in text for text in bench.me.texts) == 1
        assert bench.me.room.sounds[0].startswith("permission")
        assert bench.me.room.sounds[1].startswith("still waiting")


async def test_requests_are_shown_again_on_demand(bench: Bench) -> None:
    async with bench.bridge():
        old = await asked(bench)
        await bench.me.write("/requests")
        await bench.bots.until(
            lambda: bench.me.sees("permission · mock") and bench.me.find("permission · mock").id != old.id
        )
        await bench.bots.until(lambda: sum("permission · mock" in text for text in bench.me.texts) == 1)
        await bench.me.press("Allow once")
        await answered(bench, "permission: allow")


async def test_a_request_of_a_session_from_elsewhere_is_shown_in_the_main_chat(bench: Bench) -> None:
    async with bench.bridge() as bridge:
        from footplate.runtime.spec import SessionSpec

        session = await bridge.kit.hub.create(SessionSpec(engine="mock", cwd=str(bench.work)), title="from the desk")
        await session.prompt("permission")
        await bench.bots.until(lambda: bench.me.sees("permission · mock · from the desk"))
        await bench.me.press("Allow once")
        await bench.bots.until(lambda: bench.me.sees("allowed once by user7"))


async def test_a_request_whose_message_fails_is_tried_again_at_once(bench: Bench) -> None:
    bench.bots.fail(method="sendMessage", text="permission", status=500, times=1)
    async with bench.bridge():
        ask = await asked(bench)
        assert "Allow once" in ask.labels
        assert sum("permission · mock" in text for text in bench.me.texts) == 1
        await bench.me.press("Allow once")
        await answered(bench, "permission: allow")


async def test_a_change_that_is_too_large_for_a_message_says_how_large_it_is_and_where_to_see_it(bench: Bench) -> None:
    hook = Hook(kind="command", target="true", link="https://box.test")
    settings = msgspec.structs.replace(bench.settings(), acp_agents=asking(), notify=(hook,))
    async with bench.service(settings) as service, open_bridge(service, settings, pace=FAST, poll_s=2):
        shown = await asked(bench, "/asking edit 1000", "permission · asking")
        row = (await service.hub.requests()).items[0]
        assert "add /work/large.txt +1,000 \N{MINUS SIGN}0" in shown.text
        link = f"https://box.test/ui/sessions/{row.session}"
        told = f"⚠ cut: 1,000 lines, 49 KB in all; see it whole: {link} or `footplate requests show {row.id}`"
        assert told in shown.text
        assert "Allow once" in shown.labels


async def test_a_long_plan_is_whole_in_each_chat_that_its_request_is_brought_to(bench: Bench) -> None:
    settings = msgspec.structs.replace(bench.settings(chat_id=GROUP, allowed_user_ids=(ME,)), acp_agents=asking())
    bench.bots.world.room(GROUP).admins.add(ME)
    group = bench.bots.person(ME, GROUP)
    async with bench.service(settings) as service, open_bridge(service, settings, pace=FAST, poll_s=2):
        await group.write("/asking plan")
        await bench.bots.until(lambda: group.sees("plan · asking"))
        await bench.me.write("/requests")
        await bench.bots.until(lambda: bench.me.sees("plan · asking"))
        card = bench.me.find("plan · asking")
        assert "the whole plan is above" in card.text
        assert "Last step" not in card.text
        sent = [int(str(call.parameters["chat_id"])) for call in bench.bots.calls("sendDocument")]
        assert sent == [GROUP, ME]
        (plan,) = (each for each in bench.me.room.bubbles.values() if each.text == "the whole plan")
        assert plan.id < card.id


async def test_a_form_without_fields_has_buttons_and_hides_no_other_request(bench: Bench) -> None:
    settings = msgspec.structs.replace(bench.settings(session_mode="stateless"), acp_agents=asking())
    async with bench.service(settings) as service, open_bridge(service, settings, pace=FAST, poll_s=2):
        shown = await asked(bench, "/asking form", "question · asking")
        assert CONFIRM in shown.text
        assert shown.labels == ["Yes", "No", "Other…", "Decline"]
        await asked(bench, "/asking list", "permission · asking")
        await bench.me.write("/requests")
        await bench.bots.until(
            lambda: bench.me.sees("question · asking") and bench.me.find("question · asking").id != shown.id
        )
        await bench.bots.until(lambda: sum("permission · asking" in text for text in bench.me.texts) == 1)
        await bench.me.press("Yes", on=bench.me.find("question · asking"))
        await bench.bots.until(lambda: bench.me.sees(ACCEPTED))


async def test_an_agent_that_cannot_start_says_so_in_the_chat(bench: Bench) -> None:
    program = bench.folder / "claude"
    program.write_text("#!/bin/sh\necho 'please run /login'\nexit 1\n")
    program.chmod(0o755)
    bench.environ["PATH"] = f"{bench.folder}:{bench.environ['PATH']}"
    async with bench.bridge():
        await bench.me.write("/claude fix the login bug")
        told = await answered(bench, "error · claude")
        assert "please run /login" in told.text
