"""The message field while the agent works: messages wait, change places, are taken back; the plan is in sight."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from tests.e2e.pages import visit
from tests.e2e.server import running_server

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180), pytest.mark.asyncio(loop_scope="session")]


async def test_waiting_messages_change_places_and_are_taken_back(browser: Browser, tmp_path: Path) -> None:
    with running_server(tmp_path) as server:
        async with visit(browser, server) as person:
            page = person.page
            await person.arrive()
            await person.start(tmp_path, prompt="hang")
            await person.sees("hang begin")
            queue = page.get_by_role("region", name="Next up").get_by_role("listitem")
            for number, text in enumerate(("one", "two", "three"), 1):
                await person.say(text)
                await expect(queue).to_have_count(number)
            await queue.nth(2).get_by_role("button", name="Move up").click()
            await expect(queue.nth(1)).to_contain_text("three")
            await queue.nth(0).get_by_role("button", name="Take back").click()
            await expect(queue).to_have_count(2)
            await page.reload()
            await expect(queue).to_have_count(2)
            await page.get_by_role("button", name="Stop", exact=True).click()
            await person.sees("mock: two")
            said = await page.locator(".said.agent").all_inner_texts()
            assert [text.strip() for text in said if text.startswith("mock:")] == ["mock: three", "mock: two"]
            await expect(page.get_by_text("Interrupted")).to_be_visible()


async def test_a_plan_and_the_calls_of_a_sub_agent_are_in_sight(browser: Browser, tmp_path: Path) -> None:
    with running_server(tmp_path, env={"FOOTPLATE_MOCK_PACE_MS": "1500"}) as server:
        async with visit(browser, server) as person:
            page = person.page
            await person.arrive()
            await person.start(tmp_path, prompt="plan")
            bar = page.get_by_role("region", name="Plan")
            await expect(bar).to_contain_text("Make the change")
            await bar.get_by_role("button").click()
            await expect(bar.get_by_role("listitem")).to_have_count(3)
            await person.sees("plan done")
            await person.say("subagent")
            card = page.locator(".card.subagent, .card.other", has_text="Find the answer").first
            await expect(card).to_contain_text("1 call")
            await card.get_by_role("button").first.click()
            await expect(card.locator(".nested")).to_contain_text("Search")
