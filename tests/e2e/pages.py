"""The web page in a real browser: a visit to a running server that fails on any error the page makes."""

from __future__ import annotations

import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from playwright.async_api import Browser, BrowserContext, Locator, Page, ViewportSize, async_playwright, expect

from footplate.interfaces.http.ui import load_page
from tests.e2e.server import RunningServer

ROOT = Path(__file__).resolve().parent.parent.parent
PICTURES = Path(os.environ.get("FOOTPLATE_PICTURES") or ROOT / ".pytest_cache" / "pictures")
"""Where the tests put pictures of the page's main states."""

BROWSERS = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
FLAGS = (
    *("--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--disable-dev-shm-usage"),
)
DESK: ViewportSize = {"width": 1280, "height": 820}
PHONE: ViewportSize = {"width": 390, "height": 844}
PATIENCE_MS = 20_000


def find_browser() -> str:
    """The browser's program; without one a person's run is skipped, loudly, and CI fails."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is not None:
        return found
    words = "NO BROWSER: the page is not tested; install chromium (`apt-get install chromium`)"
    if os.environ.get("CI") == "true":
        pytest.fail(words)
    pytest.skip(words)


@asynccontextmanager
async def open_browser() -> AsyncIterator[Browser]:
    """A browser without a window."""
    program = find_browser()
    assert load_page(), "the page is not built: run `make page`"
    flags = [*FLAGS, *(["--no-sandbox"] if os.geteuid() == 0 else [])]
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=program, args=flags)
        try:
            yield browser
        finally:
            await browser.close()


class Visit:
    """One person at one browser: the page, and everything that went wrong on it."""

    def __init__(self, context: BrowserContext, page: Page, server: RunningServer) -> None:
        self.context = context
        self.page = page
        self.server = server
        self.wrong: list[str] = []
        self.asked: list[str] = []
        self.outages = False
        self.name = ""
        self._watch(page)

    def _watch(self, page: Page) -> None:
        page.on("pageerror", lambda error: self.wrong.append(f"exception: {error}"))
        page.on("console", lambda line: self._hear(line.type, f"{line.text} {line.location.get('url', '')}"))
        page.on("request", lambda request: self.asked.append(request.url))

    def _hear(self, kind: str, text: str) -> None:
        if kind != "error" or (self.outages and ("ERR_" in text or "network" in text.lower())):
            return
        self.wrong.append(f"console: {text}")

    def excuse(self, words: str) -> None:
        """What a refused call makes the browser say is no error of the page."""
        self.wrong = [line for line in self.wrong if words not in line]

    async def arrive(self, path: str = "/ui/", *, token: str = "") -> None:
        """Open the link that the server printed."""
        await self.page.goto(f"{self.server.url}{path}#token={token or self.server.token}")
        await expect(self.page.get_by_text("Connected")).to_be_attached()

    async def start(self, folder: Path, *, engine: str = "Mock agent", prompt: str = "") -> None:
        """A new session through the dialog."""
        page, before = self.page, self.page.url
        await page.get_by_role("button", name="New session").first.click()
        dialog = page.get_by_role("dialog", name="New session")
        await dialog.get_by_text(engine).click()
        await dialog.get_by_label("Folder").first.fill(str(folder))
        await dialog.get_by_label("What should it do?").fill(prompt)
        await dialog.get_by_role("button", name="Start").click()
        await page.wait_for_url(lambda url: url != before)  # until then the field is that of the session before
        await expect(self.field).to_be_visible()

    @property
    def field(self) -> Locator:
        """Where a message is typed."""
        return self.page.get_by_role("textbox", name="Message to the agent")

    @property
    def conversation(self) -> Locator:
        """What was said."""
        return self.page.get_by_role("log", name="Conversation")

    async def say(self, text: str) -> None:
        """Type a message and send it."""
        await self.field.fill(text)
        await self.field.press("Enter")

    async def sees(self, text: str) -> None:
        """Wait until the agent said it, or a card shows it."""
        told = self.conversation.locator(".said.agent, .card").get_by_text(text)
        await expect(told.last).to_be_visible()

    async def picture(self, name: str) -> None:
        """Keep a picture of the page as it stands."""
        await self.page.screenshot(path=PICTURES / f"{name}.png", animations="disabled")


@asynccontextmanager
async def visit(browser: Browser, server: RunningServer, **options: object) -> AsyncIterator[Visit]:
    """A browser profile of its own; leaving fails when the page did something wrong or asked anybody else."""
    given = {"viewport": DESK, "color_scheme": "light", "locale": "en-GB", "service_workers": "block", **options}
    context = await browser.new_context(**given)  # type: ignore[arg-type]
    context.set_default_timeout(PATIENCE_MS)
    made = Visit(context, await context.new_page(), server)
    try:
        yield made
        assert made.wrong == [], made.wrong
        foreign = [url for url in made.asked if not url.startswith((server.url, "data:", "blob:"))]
        assert foreign == []
    finally:
        await context.close()


expect.set_options(timeout=PATIENCE_MS)
