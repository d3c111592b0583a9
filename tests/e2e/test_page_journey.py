"""The newcomer's journey through the page: from the printed link to an answered request, on the mock and on Claude."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from footplate.testing.messages import Step, script, tool
from tests.e2e.pages import Visit, visit
from tests.e2e.server import running_server
from tests.e2e.world import World

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(120), pytest.mark.asyncio(loop_scope="session")]


async def test_a_newcomer_opens_the_link_starts_a_session_and_answers(browser: Browser, tmp_path: Path) -> None:
    with running_server(tmp_path) as server:
        async with visit(browser, server) as person:
            await person.arrive()
            page = person.page
            assert "token" not in page.url
            await person.start(tmp_path, prompt="hello **there**")
            await person.sees("mock: hello")
            await expect(page.locator(".said.agent strong")).to_have_text("there")
            await person.say("permission")
            await expect(page).to_have_title(re.compile(r"^\(1\) "))
            await page.get_by_role("button", name="Allow once").click()
            await person.sees("permission: allow")
            await expect(page.locator(".outcome")).to_contain_text("Allowed once by")
            await expect(page.locator(".outcome")).to_contain_text("from web")
            await expect(page.locator(".outcome")).to_contain_text("the agent has it")
            await expect(page).not_to_have_title(re.compile(r"^\("))
            await _tidy(person)


async def _tidy(person: Visit) -> None:
    """Rename, fork, archive, delete, from the menu of the session."""
    page = person.page
    await _choose(person, "Rename")
    await page.get_by_role("textbox", name="Title").fill("My first session")
    await page.get_by_role("button", name="Save").click()
    await expect(page.get_by_role("heading", name="My first session")).to_be_visible()
    async with page.expect_download() as download:
        await _choose(person, "Export")
    assert (await download.value).suggested_filename.endswith(".jsonl")
    await _choose(person, "Fork")
    await expect(page.locator(".tab")).to_have_count(2)
    await _choose(person, "Archive")
    await expect(page.locator(".session-row")).to_have_count(1)
    await page.get_by_role("button", name="Archived").click()
    await expect(page.locator(".session-row")).to_have_count(1)
    await page.get_by_role("button", name="All", exact=True).click()
    await page.get_by_role("searchbox", name="Search sessions").fill("nothing like it")
    await expect(page.get_by_text("No session fits.")).to_be_visible()
    await page.get_by_role("searchbox", name="Search sessions").fill("first")
    await page.locator(".session-row a").click()
    await _choose(person, "Delete")
    await page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    await expect(page.locator(".session-row")).to_have_count(0)


async def _choose(person: Visit, action: str) -> None:
    await person.page.locator(".session-head").get_by_role("button", name=re.compile("^Actions for")).click()
    await person.page.get_by_role("menuitem", name=action, exact=True).click()


async def test_a_real_claude_session_from_the_first_word_to_the_last(browser: Browser, world: World) -> None:
    work = world.work
    (work / "notes.txt").write_text("one\ntwo\n")
    with running_server(work.parent, env=world.env) as server:
        async with visit(browser, server) as person:
            page = person.page
            await person.arrive()
            edit = {"file_path": str(work / "notes.txt"), "old_string": "two", "new_string": "three"}
            steps = script(
                Step(thinking="Look first.", tools=[("Read", {"file_path": str(work / "notes.txt")})]),
                tool("Edit", edit),
                "Done: **one** change.\n\n```python\nprint(3)\n```",
            )
            await person.start(work, engine="Claude Code", prompt=steps)
            card = page.locator('.card[data-asks="true"]')
            await expect(card).to_contain_text("notes.txt")
            await expect(card.locator("tr.added")).to_contain_text("three")
            await person.picture("permission")
            await card.get_by_role("button", name="Split").click()
            await expect(card.locator("table.split")).to_be_visible()
            await card.get_by_role("button", name="Unified").click()
            await page.get_by_role("button", name="Allow once").click()
            await person.sees("Done:")
            assert (work / "notes.txt").read_text() == "one\nthree\n"
            await expect(page.locator(".hl-built_in, .hl-number").first).to_be_visible()
            await expect(page.get_by_role("combobox", name="Permissions")).to_be_visible()
            await expect(page.get_by_role("combobox", name="Model")).to_be_visible()
            await person.say("!echo by hand")
            await person.sees("by hand")
            await person.field.fill("/comp")
            await expect(page.get_by_role("option", name="/compact")).to_be_visible()
            await person.field.fill("look at @no")
            await expect(page.get_by_role("option", name="notes.txt")).to_be_visible()
            await person.field.press("Tab")
            await expect(person.field).to_have_value(re.compile("^look at @notes.txt"))
            await person.field.fill("")
