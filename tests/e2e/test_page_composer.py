"""The message field while the agent works: messages wait, change places, are taken back; the plan is in sight."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from footplate.testing.messages import script, tool
from tests.e2e.pages import visit
from tests.e2e.server import running_server
from tests.e2e.test_history import plain
from tests.e2e.world import World

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


GIVE = """([target, kind, name, media, text]) => {
  const files = new DataTransfer();
  files.items.add(new File([text], name, { type: media }));
  const given = kind === "paste" ? { clipboardData: files } : { dataTransfer: files };
  const event = kind === "paste" ? new ClipboardEvent(kind, { bubbles: true, cancelable: true, ...given })
                                 : new DragEvent(kind, { bubbles: true, cancelable: true, ...given });
  document.querySelector(target).dispatchEvent(event);
}"""


async def test_a_conversation_of_a_terminal_is_adopted_given_files_and_steered(browser: Browser, world: World) -> None:
    first = script("I began in a terminal.", say="A word from the terminal")
    await asyncio.to_thread(plain, world, first)
    with running_server(world.work.parent, env=world.env) as server:
        async with visit(browser, server) as person:
            page = person.page
            await person.arrive()
            await page.get_by_role("button", name="New session").first.click()
            await page.get_by_role("button", name="From a terminal").click()
            await page.get_by_role("button", name="Adopt").click()
            await person.sees("I began in a terminal.")
            await page.evaluate(
                GIVE, [".composer textarea", "paste", "notes.txt", "text/plain", "The pasted colour is blue."]
            )
            await page.evaluate(GIVE, [".composer", "drop", "list.txt", "text/plain", "The dropped fruit is a pear."])
            await expect(page.get_by_role("button", name="Remove notes.txt")).to_be_visible()
            await expect(page.get_by_role("button", name="Remove list.txt")).to_be_visible()
            slow = {"command": "for i in $(seq 50); do test -e go && break; sleep 0.1; done; echo over"}
            await person.field.fill(script(tool("Bash", slow), "The end of it."))
            await person.field.press("Enter")
            await page.get_by_role("button", name="Allow once").click()
            await expect(page.locator(".said.you", has_text="notes.txt")).to_be_visible()
            await person.field.fill("And mind the gap.")
            await page.get_by_role("button", name="Steer", exact=True).click()
            (world.work / "go").touch()
            await person.sees("The end of it.")
            asked = str(world.bodies())
            assert "The pasted colour is blue." in asked
            assert "The dropped fruit is a pear." in asked
            assert "And mind the gap." in asked
            await expect(page.get_by_role("region", name="Next up")).to_have_count(0)
