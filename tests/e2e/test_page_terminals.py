"""Terminals and processes on the page: a real shell that outlives the page, and commands with their output and end."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.async_api import Browser, Locator, WebSocketRoute, expect

from tests.e2e.pages import PHONE, Visit, visit
from tests.e2e.server import running_server
from tests.e2e.test_page_inspector import KEEP_CLIPBOARD
from tests.e2e.test_page_looks import serious_issues

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180), pytest.mark.asyncio(loop_scope="session")]

PROMPT = re.compile("[$#] ")


class Desk:
    """The workspace of a session with its terminals."""

    def __init__(self, person: Visit) -> None:
        self.person = person
        self.page = person.page

    @property
    def screen(self) -> Locator:
        """What the terminal shows."""
        return self.page.locator(".xterm-rows")

    async def tab(self, name: str) -> None:
        """Go to a part of the workspace."""
        await self.page.get_by_role("tab", name=name).click()

    async def type(self, line: str) -> None:
        """Type a line into the terminal."""
        await self.page.get_by_role("textbox", name="Terminal", exact=True).focus()
        await self.page.keyboard.type(line)
        await self.page.keyboard.press("Enter")

    async def shows(self, text: str | re.Pattern[str]) -> None:
        """Wait until the terminal shows it."""
        await expect(self.screen.get_by_text(text).last).to_be_visible()


async def test_a_shell_and_processes_live_on_the_server_and_are_driven_on_the_page(
    browser: Browser, tmp_path: Path
) -> None:
    work = tmp_path / "work"
    work.mkdir()
    with running_server(tmp_path, env={"SHELL": "/bin/sh"}) as server:
        async with visit(browser, server) as person:
            await person.page.add_init_script(KEEP_CLIPBOARD)
            await person.arrive()
            await person.start(work)
            desk = Desk(person)
            await desk.page.get_by_role("button", name="Workspace", exact=True).click()
            await _use_a_shell(desk, work)
            await _have_two(desk)
            await _run_commands(desk)
            link = desk.page.url.removeprefix(server.url)
            guest = await desk.page.evaluate(MAKE_READER)
        async with visit(browser, server, color_scheme="dark", bypass_csp=True) as person:
            lines: list[WebSocketRoute] = []
            await person.page.route_web_socket(re.compile("terminal/ws"), lambda line: _pass_on(line, lines))
            await person.arrive(link)
            await _look_again(Desk(person))
            await _cut(Desk(person), lines)
        async with visit(browser, server, viewport=PHONE, has_touch=True, is_mobile=True) as person:
            await person.arrive(link.replace("processes", "terminals"))
            await _on_a_phone(Desk(person))
            await person.arrive(link, token=str(guest))
            await person.page.reload()
            await expect(person.page.get_by_text("no scope “drive”")).to_be_visible()


MAKE_READER = """
async () => {
  const authorization = `Bearer ${localStorage.getItem("footplate.token")}`;
  const headers = { authorization, "content-type": "application/json" };
  const body = JSON.stringify({ name: "reader", scopes: ["read"] });
  return (await (await fetch("/api/tokens", { method: "POST", headers, body })).json()).token;
}
"""


async def _use_a_shell(desk: Desk, work: Path) -> None:
    """A command and its output, colours under the policy, another size, a cut line, a reload."""
    page = desk.page
    await desk.tab("Terminals")
    await page.get_by_role("button", name="Open a shell here").click()
    await expect(desk.screen).to_contain_text(PROMPT)
    await desk.type("pwd; seen=before-the-reload")
    await desk.shows(str(work))
    await desk.type(r"printf '\033[38;2;200;30;30mscarlet\033[0m \033[32mgreen\033[0m\n'")
    scarlet = desk.screen.locator("span").get_by_text("scarlet", exact=True)
    await expect(scarlet).to_have_css("color", "rgb(200, 30, 30)")
    await expect(desk.screen.locator(".xterm-fg-2")).to_have_css("color", "rgb(27, 122, 61)")
    await desk.type("clear; ls --color=always -p /usr; seq -s ' ' 24")
    await desk.shows("23 24")
    await desk.person.picture("terminal")
    await desk.type("stty size")
    await desk.shows(re.compile(r"^\d+ \d+$"))
    before = await desk.screen.get_by_text(re.compile(r"^\d+ \d+$")).last.inner_text()
    await page.get_by_role("button", name="Use the whole width").click()
    await desk.type('clear; until [ "$(stty size)" != \'' + before.strip() + "' ]; do sleep 0.1; done; echo wi''der")
    await desk.shows("wider")
    await page.get_by_role("button", name="Beside the conversation").click()
    await page.reload()
    await desk.shows("wider")
    await desk.type("echo again $seen")
    await desk.shows("again before-the-reload")


async def _have_two(desk: Desk) -> None:
    """Several at once; copy and paste; one ends by itself, one is ended."""
    page = desk.page
    await page.get_by_role("button", name="New terminal").click()
    await expect(page.locator(".terminal-tabs li")).to_have_count(2)
    await expect(desk.screen).to_contain_text(PROMPT)
    await page.evaluate("text => { window.copied = text; }", "echo pas''ted")
    await page.get_by_role("button", name="Paste").click()
    await page.keyboard.press("Enter")
    await desk.shows("pasted")
    await desk.screen.get_by_text("pasted", exact=True).dblclick(force=True)
    await page.keyboard.press("Control+c")
    assert await page.evaluate("window.copied") == "pasted"
    await page.keyboard.press("Control+F6")
    await expect(page.get_by_role("button", name="Shell 2", exact=True)).to_be_focused()
    await desk.type("exit 3")
    await expect(page.get_by_text("Ended with exit code 3.")).to_be_visible()
    await page.get_by_role("button", name="End Shell 2").click()
    await expect(page.locator(".terminal-tabs li")).to_have_count(1)
    await desk.shows("again before-the-reload")


async def _run_commands(desk: Desk) -> None:
    """A command with its output as it comes, its exit code; one is stopped, one killed."""
    page = desk.page
    await desk.tab("Processes")
    field = page.get_by_role("textbox", name="Command to start")
    await field.fill("echo on stdout; echo on stderr >&2; until [ -e go ]; do sleep 0.1; done; echo late; exit 4")
    await field.press("Enter")
    row = page.locator(".process").first
    await expect(row.get_by_role("log")).to_contain_text("on stdout")
    await expect(row.locator(".stderr")).to_have_text("on stderr\n")
    await field.fill("touch go")
    await field.press("Enter")
    row = page.locator(".process").filter(has_text="on stdout")
    await row.locator(".process-name").click()
    await expect(row.get_by_role("log")).to_contain_text("late")
    await expect(row.locator(".process-name .hint")).to_contain_text("exit 4")
    await desk.person.picture("processes")
    for name, action in (("sleep 301", "Stop"), ("sleep 302", "Kill")):
        await field.fill(name)
        await field.press("Enter")
        await page.get_by_role("button", name=f"{action} {name}").click()
        row = page.locator(".process").filter(has_text=name)
        await expect(row.locator(".process-name .hint")).to_contain_text("ended by a signal")
        await row.get_by_role("button", name=f"Forget {name}").click()
        await expect(row).to_have_count(0)


async def _look_again(desk: Desk) -> None:
    """Another browser finds the same terminal; nothing in either part keeps somebody out."""
    await expect(
        desk.page.locator(".process").filter(has_text="on stdout").locator(".process-name .hint")
    ).to_contain_text("exit 4")
    assert await serious_issues(desk.page) == []
    await desk.page.locator(".process").filter(has_text="Shell 1").locator(".process-name").click()
    await desk.shows("again before-the-reload")
    assert await serious_issues(desk.page) == []
    await desk.person.picture("terminal-dark")


def _pass_on(line: WebSocketRoute, lines: list[WebSocketRoute]) -> None:
    """Between the page and the server, so that the line can be cut."""
    line.connect_to_server()
    lines.append(line)


async def _cut(desk: Desk, lines: list[WebSocketRoute]) -> None:
    """A line that is cut comes back by itself, with the screen as it is; a screen reader gets the rows as text."""
    await desk.page.get_by_label("Screen reader").check()
    await expect(desk.page.locator(".xterm-accessibility")).to_contain_text("again before-the-reload")
    desk.person.outages = True
    asked = re.compile(r"/v1/processes/proc_\d+$")
    await desk.page.route(asked, lambda route: route.abort())
    await lines[0].close(code=1011)
    await expect(desk.page.get_by_text("The line to the terminal is cut.")).to_be_visible()
    await desk.page.unroute(asked)
    await expect(desk.page.locator(".terminal-state")).to_have_count(0)
    assert len(lines) == 2
    await desk.type("echo $seen and back")
    await desk.shows("before-the-reload and back")
    await expect(desk.screen.get_by_text("again before-the-reload", exact=True)).to_have_count(1)


async def _on_a_phone(desk: Desk) -> None:
    """Keys that a phone does not have; the terminal is ended after a question."""
    page = desk.page
    await desk.shows("again before-the-reload")
    await desk.type("clear; echo asl''eep; sleep 300")
    await desk.shows("asleep")
    await page.get_by_role("button", name="Control C").tap()
    await expect(desk.screen).to_contain_text(PROMPT)  # a shell that handles the signal may drop what is typed before
    await desk.type("echo fr''ee")
    await desk.shows("free")
    await desk.person.picture("phone-terminal")
    wide = await page.evaluate("document.documentElement.scrollWidth > innerWidth")
    assert not wide
    await page.get_by_role("button", name="End Shell 1").tap()
    await page.get_by_role("dialog").get_by_role("button", name="End terminal").tap()
    await expect(page.get_by_text("No terminal is open in this folder.")).to_be_visible()
