"""Several pages and a server that comes and goes: all stay in step, nothing is lost, the first answer wins."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from tests.e2e.pages import visit
from tests.e2e.server import running_server
from tests.e2e.test_page_terminals import Desk

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180), pytest.mark.asyncio(loop_scope="session")]


async def test_two_pages_stay_in_step_and_a_late_click_hears_who_was_first(browser: Browser, tmp_path: Path) -> None:
    with running_server(tmp_path) as server:
        async with visit(browser, server) as one, visit(browser, server) as other:
            await one.arrive()
            await one.start(tmp_path)
            await other.arrive(one.page.url.removeprefix(server.url))
            await one.say("from the first page")
            await other.sees("mock: from the first page")
            await other.say("permission")
            await expect(one.page.get_by_role("button", name="Allow once")).to_be_visible()
            await expect(one.page).to_have_title(re.compile(r"^\(1\)"))
            await other.page.route("**/api/events", lambda route: route.abort())  # what it shows is a moment old
            late = other.page.get_by_role("button", name="Allow once")
            await expect(late).to_be_visible()
            await other.page.route(
                "**/answer", lambda route: _after(route, one.page.get_by_role("button", name="Allow once"))
            )
            await late.click()
            await expect(other.page.get_by_text(re.compile(r"Too late: answered by \S+ from web\."))).to_be_visible()
            other.excuse("409")
            await expect(one.page.locator(".outcome")).to_contain_text("the agent has it")
            await expect(other.page.locator(".outcome")).to_contain_text("the agent has it")
            await expect(one.page.get_by_role("button", name="Allow once")).to_have_count(0)
            await expect(other.page.get_by_role("button", name="Allow once")).to_have_count(0)
            await one.page.locator(".session-head").get_by_role("button", name=re.compile("^Actions for")).click()
            await one.page.get_by_role("menuitem", name="Archive", exact=True).click()
            await expect(other.page.locator(".session-row")).to_have_count(0)


async def test_an_effort_that_one_page_sets_is_seen_on_the_other_and_after_a_reload(
    browser: Browser, tmp_path: Path
) -> None:
    with running_server(tmp_path) as server:
        async with visit(browser, server) as one, visit(browser, server) as other:
            await one.arrive()
            await one.start(tmp_path)
            await other.arrive(one.page.url.removeprefix(server.url))
            await one.page.get_by_role("combobox", name="Effort").select_option("high")
            await expect(other.page.get_by_role("combobox", name="Effort")).to_have_value("high")
            await one.page.reload()
            await expect(one.page.get_by_role("combobox", name="Effort")).to_have_value("high")


async def _after(route: object, first: object) -> None:
    """Let somebody else answer before this answer goes on its way."""
    await first.click()  # type: ignore[attr-defined]
    await expect(first).to_have_count(0)  # type: ignore[call-overload]
    await route.continue_()  # type: ignore[attr-defined]


async def test_a_reload_in_the_middle_of_a_stream_and_of_a_request_loses_nothing(
    browser: Browser, tmp_path: Path
) -> None:
    with running_server(tmp_path) as server:
        async with visit(browser, server) as person:
            page = person.page
            await person.arrive()
            await person.start(tmp_path)
            await person.say("stream 400 5")
            await person.sees("chunk 40")
            await page.reload()
            await person.sees("chunk 399")
            said = await page.locator(".said.agent").last.inner_text()
            assert re.findall(r"chunk (\d+)", said) == [str(number) for number in range(400)]
            await person.say("question")
            await expect(page.get_by_role("radio", name="Green")).to_be_visible()
            await page.reload()
            await page.get_by_role("radio", name="Green").check()
            await page.get_by_role("button", name="Send answer").click()
            await person.sees("question: Green")


async def test_a_server_that_dies_and_comes_back_is_picked_up_where_it_was(browser: Browser, tmp_path: Path) -> None:
    env = {"FOOTPLATE__RUNTIME__REATTACH_GRACE_S": "60", "SHELL": "/bin/sh"}
    with running_server(tmp_path, "--new-token", env=env) as server:
        port, token = server.url.rpartition(":")[2], server.token
        async with visit(browser, server) as person:
            page = person.page
            await person.arrive()
            await person.start(tmp_path)
            await person.say("before it dies")
            await person.sees("mock: before it dies")
            desk = Desk(person)
            await page.get_by_role("button", name="Workspace", exact=True).click()
            await desk.tab("Terminals")
            await page.get_by_role("button", name="Open a shell here").click()
            await desk.type("kept=alive; echo rea''dy")
            await desk.shows("ready")
            person.outages = True
            server.process.kill()
            server.process.wait()
            await expect(page.get_by_text("The server cannot be reached.")).to_be_visible()
            await person.picture("disconnected")
            with running_server(tmp_path, "--port", port, "--token", token, env=env):
                await expect(page.locator(".terminal-state")).to_have_count(0)
                await desk.type("echo still $kept")
                await desk.shows("still alive")
                await page.get_by_role("button", name="End Shell 1").click()
                await page.get_by_role("dialog").get_by_role("button", name="End terminal").click()
                await expect(page.get_by_text("No terminal is open in this folder.")).to_be_visible()
                await page.get_by_role("button", name="Close the panel").click()
                await expect(page.get_by_text("Connected", exact=True)).to_be_visible()
                await person.say("after it came back")
                await person.sees("mock: after it came back")
                await person.sees("mock: before it dies")
            person.outages = True
