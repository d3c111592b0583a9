"""The bridge goes and comes back: nothing is lost, nothing is doubled, whatever state it was in."""

from __future__ import annotations

import msgspec
import pytest

from footplate.config.settings import Settings
from footplate.errors import LockHeld
from footplate.interfaces.telegram.opening import open_bridge, token_lock
from footplate.runtime.service import open_service
from footplate.runtime.spec import SessionSpec
from footplate.store.base import LIST_LIMIT
from tests.chat.bench import FAST, Bench, answered, asked
from tests.unit.runtime.following import until_asked


async def test_what_was_written_while_it_was_down_runs_once_and_in_order(bench: Bench) -> None:
    for number in range(3):
        await bench.me.write(f"message {number}")
    async with bench.bridge():
        await answered(bench, "mock: message 2")
        finals = [text for text in bench.me.texts if text.startswith("done")]
        assert [text.split("mock: ")[1].splitlines()[0] for text in finals] == ["message 0", "message 1", "message 2"]
    async with bench.bridge():
        await bench.me.write("after")
        await answered(bench, "mock: after")
        assert len(bench.me.answers) == 4


async def test_a_press_from_while_it_was_down_counts_and_is_answered(bench: Bench) -> None:
    settings = bench.settings()
    async with open_service(bench.environ, settings) as service:
        async with open_bridge(service, settings, pace=FAST, poll_s=1):
            await asked(bench)
        press = await bench.me.press("Allow once")
        async with open_bridge(service, settings, pace=FAST, poll_s=1):
            await answered(bench, "permission: allow")
            await bench.bots.until(lambda: bench.me.toast(press) is not None)


async def test_the_same_message_and_buttons_work_after_a_restart_with_a_request_open(bench: Bench) -> None:
    settings = bench.settings()
    async with open_service(bench.environ, settings) as service:
        async with open_bridge(service, settings, pace=FAST, poll_s=1):
            first = await asked(bench)
        async with open_bridge(service, settings, pace=FAST, poll_s=1):
            await bench.me.press("Allow once", on=first)
            await answered(bench, "permission: allow")
            assert sum("permission · mock" in text for text in bench.me.texts) == 1
            assert "allowed once by user7" in bench.me.find("permission · mock").text


async def test_a_turn_that_ends_while_the_bridge_is_down_is_answered_when_it_is_back(bench: Bench) -> None:
    settings = bench.settings()
    async with open_service(bench.environ, settings) as service:
        async with open_bridge(service, settings, pace=FAST, poll_s=1):
            await bench.me.write("slow 500")
            await bench.bots.until(lambda: bench.me.sees("working"))
        row = (await service.hub.sessions()).items[0]
        session = await service.hub.get(row.session)
        async for delivery in session.subscribe():
            if b'"TurnEnded"' in delivery.body:
                break
        assert not bench.me.sees("slow end")
        async with open_bridge(service, settings, pace=FAST, poll_s=1):
            await answered(bench, "slow end")
            assert len(bench.me.answers) == 1


async def test_a_message_that_is_dealt_with_again_after_its_answer_changes_nothing(bench: Bench) -> None:
    settings = bench.settings(final_notify=False)
    async with open_service(bench.environ, settings) as service:
        async with open_bridge(service, settings, pace=FAST, poll_s=1):
            written = await bench.me.write("hello")
            await answered(bench, "mock: hello")
        update = {"update_id": 1001, "message": bench.bots.world.message(written)}  # a crash has left it there
        inbox = service.services.store.documents(f"telegram/{bench.bots.world.bot}/inbox")
        await inbox.put(f"{1001:020}", msgspec.json.encode(update))
        async with open_bridge(service, settings, pace=FAST, poll_s=1):
            await bench.me.write("after")
            await answered(bench, "mock: after")
            assert ["done" in text.splitlines()[0] for text in bench.me.texts] == [True, True]
            assert "mock: hello" in bench.me.texts[0]


@pytest.mark.parametrize("fault", [{"status": 500, "times": 3}, {"drop": "after"}, {"drop": "before"}])
async def test_an_answer_that_could_not_be_delivered_comes_once_after_a_restart(
    bench: Bench, fault: dict[str, object]
) -> None:
    settings: Settings = bench.settings(drain_s=0.0)
    bench.bots.fail(method="sendMessage", text="done", **fault)
    async with open_service(bench.environ, settings) as service:
        async with open_bridge(service, settings, pace=FAST, poll_s=1):
            await bench.me.write("hello")
            await bench.bots.until(lambda: any("done" in str(c.parameters) for c in bench.bots.calls("sendMessage")))
        async with open_bridge(service, settings, pace=FAST, poll_s=1):
            await answered(bench, "mock: hello")
            assert len(bench.me.answers) == 1


async def test_a_turn_that_died_with_the_service_leaves_no_working_message(bench: Bench) -> None:
    async with bench.bridge():
        await bench.me.write("hang")
        await bench.bots.until(lambda: bench.me.sees("working"))
    async with bench.bridge():
        await bench.bots.until(lambda: not bench.me.sees("working") and len(bench.me.answers) == 1)
        await bench.me.write("still there?")
        await answered(bench, "mock: still there?")


async def test_a_prompt_whose_session_fails_is_answered_by_the_session_that_is_opened_again(bench: Bench) -> None:
    settings = bench.settings()
    async with open_service(bench.environ, settings) as service, open_bridge(service, settings, pace=FAST, poll_s=1):
        await bench.me.write("hang")
        await bench.bots.until(lambda: bench.me.sees("working"))
        (failing,) = service.hub.live
        failing._failed(OSError("the disk is gone"))
        await bench.bots.until(lambda: not bench.me.sees("working") and len(bench.me.answers) == 1)
        assert service.hub.live != (failing,)
        await bench.me.write("still there?")
        await answered(bench, "mock: still there?")


@pytest.mark.parametrize("by", ["button", "command"])
async def test_prompts_behind_a_turn_that_died_with_the_service_wait_for_continue(bench: Bench, by: str) -> None:
    async with bench.bridge():
        await bench.me.write("hang")
        await bench.bots.until(lambda: bench.me.sees("working"))
        await bench.me.write("one")
        await bench.me.write("two")
        await bench.bots.until(lambda: sum("queued" in text for text in bench.me.texts) == 2)
    async with bench.bridge():
        await bench.bots.until(lambda: bench.me.sees("2 prompts wait: the turn before was lost"))
        await bench.bots.until(lambda: not any("steer" in bubble.labels for bubble in bench.me.answers))
        if by == "button":
            press = await bench.me.press("Continue")
            await bench.bots.until(lambda: bench.me.toast(press) == "continued")
        else:
            await bench.me.write("/continue")
            await bench.bots.until(lambda: "continued" in bench.me.texts)
        await answered(bench, "mock: two")
        finals = [text for text in bench.me.texts if text.startswith("done")]
        assert [text.split("mock: ")[1].splitlines()[0] for text in finals] == ["one", "two"]
        await bench.bots.until(lambda: not bench.me.sees("2 prompts wait"))
        await bench.me.write("/continue")
        await bench.bots.until(lambda: bench.me.sees("no prompt waits"))


async def test_the_notice_of_paused_prompts_goes_with_the_last_of_them(bench: Bench) -> None:
    async with bench.bridge():
        await bench.me.write("hang")
        await bench.bots.until(lambda: bench.me.sees("working"))
        await bench.me.write("one")
        await bench.bots.until(lambda: bench.me.sees("queued"))
    async with bench.bridge():
        await bench.bots.until(lambda: bench.me.sees("1 prompt waits"))
        await bench.me.press("cancel")
        await bench.bots.until(lambda: bench.me.sees("dropped from queue") and not bench.me.sees("1 prompt waits"))


async def test_two_bridges_of_one_bot_are_refused(bench: Bench) -> None:
    settings = bench.settings()
    async with bench.bridge():
        with pytest.raises(LockHeld, match="Telegram bridge"):
            async with token_lock(settings.telegram.bot_token):
                pass


async def test_every_request_is_shown_after_a_restart_also_with_more_sessions_than_a_page_lists(bench: Bench) -> None:
    settings = bench.settings(all_requests=True)
    number = LIST_LIMIT + 1
    async with open_service(bench.environ, settings) as service:
        for _ in range(number):
            session = await service.hub.create(SessionSpec(engine="mock", cwd=str(bench.work)))
            await session.prompt("permission")
            await until_asked(session)
        async with open_bridge(service, settings, pace=FAST, poll_s=1):
            await bench.bots.until(lambda: sum("permission · mock" in text for text in bench.me.texts) == number)
