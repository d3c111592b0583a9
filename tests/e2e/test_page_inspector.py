"""What is behind the page: the raw events of a session, the agents and their install, the server and its tokens."""

from __future__ import annotations

import json
import re
import threading
from pathlib import Path

import pytest
from playwright.async_api import Browser, Page, expect

from footplate.store.transfer import Reader
from tests.e2e.pages import PHONE, Visit, visit
from tests.e2e.server import running_server
from tests.e2e.test_page_looks import serious_issues
from tests.unit.runtime.shelf import TINY, Shelf, open_shelf

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180), pytest.mark.asyncio(loop_scope="session")]

DRILL = ("permission", "question", "interrupt", "resume")
KEEP_CLIPBOARD = """
Object.defineProperty(navigator, "clipboard", {
  value: { writeText: async (text) => { window.copied = text; }, readText: async () => window.copied ?? "" },
});
"""
"""A browser without a window has no clipboard; what the page would put there is kept for the test."""


async def test_events_agents_server_and_tokens_are_looked_into(browser: Browser, tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    with open_shelf() as shelf:
        shelf.registry(shelf.binary("tiny", "1.0.0", TINY))
        env = {
            "FOOTPLATE__AGENTS__REGISTRIES": json.dumps([f"{shelf.url}/registry.json"]),
            "FOOTPLATE__AGENTS__REGISTRY_AGE_S": "0",
        }
        with running_server(tmp_path, env=env) as server:
            async with visit(browser, server, bypass_csp=True) as person:
                await person.page.add_init_script(KEEP_CLIPBOARD)
                await person.arrive()
                await person.start(work, prompt="hello there")
                await person.sees("mock: hello")
                await _look_at_events(person)
                await _install(person, shelf)
                guest = await _make_token(person)
            async with visit(browser, server, viewport=PHONE, color_scheme="dark", is_mobile=True) as person:
                await person.arrive("/ui/agents", token=guest)
                await _lacks_the_scope(person)


async def _look_at_events(person: Visit) -> None:
    """Filter, payloads, times, the log as a fixture, live events."""
    page = person.page
    await page.get_by_role("button", name="Workspace", exact=True).click()
    await page.get_by_role("tab", name="Events").click()
    log = page.get_by_role("log", name="Event log")
    await expect(log.get_by_role("button", name="SessionOpened")).to_be_visible()
    await expect(log.locator(".gap").nth(1)).to_contain_text("+")
    await page.get_by_role("combobox", name="Type of event").select_option("UserMessage")
    await expect(log.locator(".event")).to_have_count(1)
    await log.get_by_role("button", name="UserMessage").click()
    await expect(log.locator(".payload pre")).to_contain_text('"type": "UserMessage"')
    await person.say("a second word")
    await expect(log.locator(".event")).to_have_count(2)
    await page.get_by_role("combobox", name="Type of event").select_option("")
    await page.get_by_role("searchbox", name="Find in events").fill("SECOND word")
    await expect(log.get_by_role("button", name="SessionOpened")).to_have_count(0)
    await expect(log.get_by_role("button", name="TurnEnded")).to_be_visible()
    await page.get_by_role("searchbox", name="Find in events").fill("")
    assert await serious_issues(page) == []
    await person.picture("events")
    await page.locator(".event-tools").get_by_role("button", name="Copy").click()
    await page.get_by_role("menuitem", name="Copy as fixture").click()
    title, *lines = (await _copied(page)).encode().splitlines()
    reader = Reader(title)
    events = [reader.feed(line) for line in lines]
    reader.finish()
    assert str(reader.session) in page.url
    assert len(events) > 10


async def _copied(page: Page) -> str:
    await page.wait_for_function("window.copied !== undefined")
    text = await page.evaluate("() => { const text = window.copied; delete window.copied; return text; }")
    assert isinstance(text, str)
    return text


async def _install(person: Visit, shelf: Shelf) -> None:
    """An agent of a registry, with what it does on the way, also after a reload; one is examined; and away again."""
    page = person.page
    await page.get_by_role("button", name="New session").first.click()
    await page.get_by_role("button", name="Install more agents").click()
    row = page.locator('.agent[data-agent="tiny"]')
    await expect(row).to_contain_text("not installed")
    gate = shelf.holds["/tiny-1.0.0.tar.gz"] = threading.Event()
    await row.get_by_role("button", name="Install 1.0.0").click()
    await expect(row.get_by_role("status")).to_contain_text("fetching binary")
    await page.reload()
    await expect(row.get_by_role("status")).to_contain_text("fetching binary")
    await person.picture("agents-installing")
    gate.set()
    await expect(row.get_by_role("button", name="Remove")).to_be_visible()
    await expect(row).to_contain_text("1.0.0")
    assert await serious_issues(page) == []
    mock = page.locator('.agent[data-agent="mock"]')
    await mock.get_by_role("button", name="Examine").click()
    await expect(mock).to_contain_text("It does all that it should.", timeout=90_000)
    await expect(mock.locator(".checks li")).to_have_text([re.compile(name) for name in DRILL])
    await person.picture("agents-examined")
    await row.get_by_role("button", name="Remove").click()
    await page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    await expect(row).to_contain_text("not installed")


async def _make_token(person: Visit) -> str:
    """The server's own examination; a token with one scope is made and seen once, another is revoked."""
    page = person.page
    await page.get_by_role("link", name="Connected").click()
    await expect(page.get_by_text("admin, answer, drive, files, read")).to_be_visible()
    await page.get_by_role("button", name="Examine the server").click()
    await expect(page.get_by_text("Everything is well.")).to_be_visible()
    await page.get_by_text("New token").click()
    form = page.locator(".new-token")
    for name in ("for nobody", "a guest"):
        await form.get_by_label("Name").fill(name)
        for scope in ("answer", "drive"):
            await form.get_by_role("checkbox", name=scope).first.set_checked(False)
        await form.get_by_role("button", name="Make the token").click()
        await expect(page.get_by_text(f"The token “{name}” is made.")).to_be_visible()
    assert await serious_issues(page) == []
    await person.picture("server")
    await page.get_by_role("button", name="Copy token").click()
    token = await _copied(page)
    assert token.startswith("fp")
    await page.get_by_role("button", name="I have it").click()
    await expect(page.get_by_text(token)).to_have_count(0)
    await page.get_by_role("button", name="Revoke for nobody").click()
    await page.get_by_role("dialog").get_by_role("button", name="Revoke").click()
    await expect(page.get_by_role("button", name="Revoke for nobody")).to_have_count(0)
    await expect(page.get_by_role("button", name="Revoke a guest")).to_be_visible()
    return token


async def _lacks_the_scope(person: Visit) -> None:
    """Whoever may only read is told so in words."""
    page = person.page
    row = page.locator('.agent[data-agent="tiny"]')
    await row.get_by_role("button", name="Install 1.0.0").click()
    await expect(row.get_by_role("alert")).to_contain_text("admin")
    await person.picture("phone-agents-dark")
    await page.get_by_role("button", name="All sessions").click()
    await page.locator(".session-row a").click()
    await page.get_by_role("button", name="Workspace", exact=True).click()
    await page.get_by_role("tab", name="Events").click()
    await expect(page.get_by_role("log", name="Event log").get_by_role("button", name="TurnEnded").last).to_be_visible()
    await person.picture("phone-events-dark")
    await page.get_by_role("button", name="Close the panel").click()
    await page.get_by_role("button", name="All sessions").click()
    await page.get_by_role("link", name="Connected").click()
    await expect(page.get_by_role("region", name="Tokens")).to_contain_text("This token may not do that.")
    await person.picture("phone-server-dark")
    wide = await page.evaluate("document.documentElement.scrollWidth > innerWidth")
    assert not wide
    person.excuse("403")
