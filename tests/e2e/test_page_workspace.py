"""The workspace of a session on the page: files, git and what the session changed, through the public API."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from tests.e2e.pages import Visit, visit
from tests.e2e.server import running_server

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180), pytest.mark.asyncio(loop_scope="session")]


async def test_a_session_is_looked_into_from_its_workspace(browser: Browser, tmp_path: Path) -> None:
    work = tmp_path / "shop"
    work.mkdir()
    with running_server(tmp_path) as server:
        async with visit(browser, server) as person:
            await person.arrive()
            await person.start(work, prompt="edit notes.txt")
            await person.sees("edit done")
            await _look_at_changes(person)


async def _look_at_changes(person: Visit) -> None:
    """What the session's edits did, from its log; the tab strip works by keyboard and has addresses."""
    page = person.page
    await page.get_by_role("button", name="Workspace").click()
    strip = page.get_by_role("tablist", name="Parts of the workspace")
    await strip.get_by_role("tab", name="Changes").click()
    assert page.url.endswith("/changes")
    panel = page.get_by_role("tabpanel", name="Changes")
    await expect(panel.get_by_role("button", name="notes.txt")).to_have_attribute("aria-expanded", "true")
    await expect(panel.locator("tr.added")).to_contain_text("2")
    await expect(panel.locator("tr.removed")).to_contain_text("two")
    await page.reload()
    await expect(panel.locator("tr.added")).to_contain_text("2")
    await person.picture("workspace-changes")
