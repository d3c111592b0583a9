"""The page for everybody: on a phone, by keyboard alone, in the dark, for a screen reader."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.async_api import Browser, Page, expect

from tests.e2e.pages import PHONE, ROOT, visit
from tests.e2e.server import running_server

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180), pytest.mark.asyncio(loop_scope="session")]

AXE = ROOT / "web" / "node_modules" / "axe-core" / "axe.min.js"


async def serious_issues(page: Page) -> list[str]:
    """What axe-core finds that keeps somebody from using the page."""
    if not await page.evaluate("typeof axe !== 'undefined'"):
        await page.evaluate(AXE.read_text() + "; undefined")
    found = await page.evaluate("async () => (await axe.run(document, { resultTypes: ['violations'] })).violations")
    return [
        f"{issue['id']}: {node['html'][:160]} {node['failureSummary'][:200]}"
        for issue in found
        if issue["impact"] in ("serious", "critical")
        for node in issue["nodes"]
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_axe_finds_no_serious_issue_on_the_main_screens(browser: Browser, tmp_path: Path, scheme: str) -> None:
    with running_server(tmp_path) as server:
        async with visit(browser, server, color_scheme=scheme, bypass_csp=True, reduced_motion="reduce") as person:
            page = person.page
            await person.arrive()
            await expect(page.locator(f'html[data-theme="{scheme}"]')).to_be_attached()
            assert await serious_issues(page) == []
            await page.get_by_role("button", name="New session").first.click()
            await expect(page.get_by_text("Mock agent")).to_be_visible()
            assert await serious_issues(page) == []
            await page.keyboard.press("Escape")
            await person.start(
                tmp_path, prompt="# A heading\n\n- one\n- two\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n`code`"
            )
            await person.sees("A heading")
            for word in ("think", "edit notes.txt", "subagent", "error", "usage", "question"):
                await person.say(word)
            await expect(page.get_by_role("button", name="Send answer")).to_be_visible()
            assert await serious_issues(page) == []
            await page.get_by_role("radio", name="Blue").check()
            await page.get_by_role("button", name="Send answer").click()
            await person.sees("question: Blue")
            await person.say("permission")
            await expect(page.get_by_role("button", name="Allow once")).to_be_visible()
            await page.get_by_role("button", name="Details").click()
            await expect(page.get_by_text("Turns")).to_be_visible()
            assert await serious_issues(page) == []
            await person.picture(f"session-{scheme}")
            await page.keyboard.press("Control+k")
            await expect(page.get_by_role("combobox", name="Go to a session")).to_be_visible()
            assert await serious_issues(page) == []
            await person.picture(f"palette-{scheme}")


async def test_a_phone_shows_one_thing_at_a_time_and_does_everything(browser: Browser, tmp_path: Path) -> None:
    with running_server(tmp_path) as server:
        async with visit(browser, server, viewport=PHONE, has_touch=True, is_mobile=True) as person:
            page = person.page
            await person.arrive()
            await person.start(tmp_path, prompt="hello from the tram")
            await person.sees("mock: hello from the tram")
            await expect(page.get_by_role("searchbox")).to_be_hidden()
            await person.say("permission")
            allow = page.get_by_role("button", name="Allow once")
            await expect(allow).to_be_in_viewport()
            box = await allow.bounding_box()
            assert box is not None
            assert box["height"] >= 36
            await person.picture("phone-permission")
            await allow.tap()
            await person.sees("permission: allow")
            wide = await page.evaluate("document.documentElement.scrollWidth > innerWidth")
            assert not wide
            await page.get_by_role("button", name="All sessions").tap()
            await expect(page.get_by_role("searchbox")).to_be_visible()
            await person.picture("phone-list")


async def test_everything_is_done_with_the_keyboard_alone(browser: Browser, tmp_path: Path) -> None:
    with running_server(tmp_path) as server:
        async with visit(browser, server) as person:
            page, press, type_ = person.page, person.page.keyboard.press, person.page.keyboard.type
            await person.arrive()
            await press("n")
            dialog = page.get_by_role("dialog", name="New session")
            await expect(dialog.get_by_text("Mock agent")).to_be_visible()
            await dialog.get_by_label("Folder").first.focus()
            await press("Control+a")
            await type_(str(tmp_path))
            await press("Enter")
            await expect(person.field).to_be_focused()
            await type_("permission")
            await press("Enter")
            await expect(page.get_by_role("button", name="Allow once")).to_be_visible()
            await page.get_by_role("log").focus()
            await press("d")
            await expect(page.get_by_role("textbox", name="Deny with a message")).to_be_focused()
            await type_("not now")
            await press("Enter")
            await person.sees("permission: reject")
            await page.get_by_role("log").focus()
            await press("i")
            await type_("permission")
            await press("Enter")
            await expect(page.get_by_role("button", name="Allow once")).to_be_visible()
            await page.get_by_role("log").focus()
            await press("w")
            await press("a")
            await person.sees("permission: allow")
            await press("i")
            await type_("hang")
            await press("Enter")
            await person.sees("hang begin")
            await type_("first in the queue")
            await press("Enter")
            await expect(page.get_by_role("region", name="Next up")).to_contain_text("first in the queue")
            await press("Escape")
            await press("Escape")
            await person.sees("mock: first in the queue")
            await press("ArrowUp")
            await expect(person.field).to_have_value("first in the queue")
            await person.field.fill("")
            await press("Control+k")
            await expect(page.get_by_role("dialog", name="Command palette")).to_be_visible()
            await type_("theme dark")
            await press("Enter")
            await expect(page.locator('html[data-theme="dark"]')).to_be_attached()
            await page.get_by_role("log").focus()
            await press("?")
            await expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
            await press("Escape")
            await expect(page.get_by_role("dialog", name="Keys")).to_have_count(0)
