"""What is behind the page: the raw events of a session, the agents and their install, the server and its tokens."""

from __future__ import annotations

import json
import re
import threading
from pathlib import Path

import pytest
from playwright.async_api import Browser, Page, ViewportSize, expect

from footplate.events.ids import SessionId
from footplate.events.model import Envelope, SessionOpened
from footplate.store.sqlite import SqliteStore
from footplate.store.transfer import Reader
from footplate.store.values import RawLines
from tests.e2e.pages import DESK, PHONE, Visit, visit
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
                await _look_at_raw_lines(person)
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


async def _look_at_raw_lines(person: Visit) -> None:
    """Direction, type, the whole line, new lines as they come, copies; back to the events."""
    page = person.page
    await page.get_by_role("button", name="Raw lines").click()
    log = page.get_by_role("log", name="Raw lines")
    await expect(log.get_by_role("button", name="to agent initialize")).to_be_visible()
    await expect(log.get_by_role("button", name="session/update agent_message_chunk").first).to_be_visible()
    await page.get_by_role("combobox", name="Direction").select_option("out")
    await expect(log.locator('.event[data-direction="in"]')).to_have_count(0)
    await expect(log.get_by_role("button", name="to agent session/prompt")).to_have_count(2)
    await log.get_by_role("button", name="to agent session/prompt").first.click()
    await expect(log.locator(".payload pre")).to_contain_text('"method": "session/prompt"')
    await expect(log.locator(".payload")).to_contain_text("After event")
    await log.locator(".payload").get_by_role("button", name="Copy").click()
    assert json.loads(await _copied(page))["method"] == "session/prompt"
    await person.say("a third word")
    await expect(log.get_by_role("button", name="to agent session/prompt")).to_have_count(3)
    await page.get_by_role("combobox", name="Type of line").select_option("session/prompt")
    await expect(page.locator(".stream-state")).to_contain_text("3 of ")
    await page.get_by_role("searchbox", name="Find in loaded lines").fill("THIRD")
    await expect(log.locator(".event")).to_have_count(1)
    await page.locator(".event-tools").get_by_role("button", name="Copy").click()
    await page.get_by_role("menuitem", name="Copy 1 line as shown").click()
    (line,) = (await _copied(page)).splitlines()
    assert "a third word" in line
    await page.get_by_role("combobox", name="Direction").select_option("err")
    await expect(page.get_by_text("No raw lines are stored for this session.")).to_be_visible()
    await page.get_by_role("combobox", name="Direction").select_option("")
    await expect(log.get_by_role("button", name="session/update agent_message_chunk").first).to_be_visible()
    assert await serious_issues(page) == []
    await person.picture("raw-lines")
    await page.get_by_role("button", name="Events", exact=True).click()
    await expect(page.get_by_role("log", name="Event log")).to_be_visible()


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


SESSION = SessionId("01RAWLINES0000000000000000")
LINES = 100_000


async def _seed(data: Path) -> None:
    """A session with a hundred thousand raw lines; each thousandth is one of stderr, the last one is cut."""
    async with await SqliteStore.open(data / "store") as store:
        await store.claim(SESSION)
        opened = SessionOpened(engine="mock", cwd="/", title="a long one")
        envelope = Envelope(seq=1, time=1.8e9, session=SESSION, epoch=1, event=opened)
        await store.append(SESSION, 1, 0, [envelope], durable=True)
        for first in range(1, LINES, 1000):
            lines = b"".join(b'{"type":"stream_event","n":%d}\n' % number for number in range(first, first + 999))
            error = b"\x1b[31mwarning %d\xe2\x80\xae\n" % (first + 999)
            chunks = [RawLines("in", 1.8e9 + first, 1, lines), RawLines("err", 1.8e9 + first, 1, error)]
            await store.append_frames(SESSION, chunks)
        await store.append_frames(SESSION, [RawLines("in", 1.9e9, 1, b'{"type":"assistant","x":"yy\n', 5_000_000)])


@pytest.mark.parametrize("viewport", [DESK, PHONE], ids=["desk", "phone"])
async def test_a_hundred_thousand_raw_lines_are_looked_through(
    browser: Browser, tmp_path: Path, viewport: ViewportSize
) -> None:
    await _seed(tmp_path / "data")
    with running_server(tmp_path) as server:
        async with visit(browser, server, viewport=viewport, is_mobile=viewport is PHONE, bypass_csp=True) as person:
            page = person.page
            await person.arrive()
            await page.goto(f"{server.url}/ui/sessions/{SESSION}/events")
            await page.get_by_role("button", name="Raw lines").click()
            log = page.get_by_role("log", name="Raw lines")
            await expect(page.locator(".stream-state")).to_contain_text("1000 lines")
            last = log.locator(".event").last
            await expect(last).to_contain_text("100001")
            await last.get_by_role("button").click()
            await expect(last).to_contain_text("Only the beginning of this line was stored; it has 5.0 MB.")
            await page.get_by_role("button", name="All lines").click()
            await expect(page.locator(".stream-state")).to_contain_text("100001 lines", timeout=60_000)
            await page.get_by_role("searchbox", name="Find in loaded lines").fill('"n":77777}')
            await expect(log.locator(".event")).to_have_count(1)
            await expect(log.locator(".event")).to_contain_text("77777")
            await page.get_by_role("searchbox", name="Find in loaded lines").fill("")
            await page.get_by_role("combobox", name="Direction").select_option("err")
            await expect(page.locator(".stream-state")).to_contain_text("100 lines")
            await expect(log.locator(".event").last).to_contain_text("⟨U+001B⟩[31mwarning 100000⟨U+202E⟩")
            drawn = await log.locator(".event").count()
            assert drawn < 100, "only what is near the view is drawn"
            assert await serious_issues(page) == []
            width = await page.evaluate("document.documentElement.scrollWidth")
            assert width <= viewport["width"]
            await person.picture(f"raw-lines-{viewport['width']}")
