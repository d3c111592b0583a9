"""The newcomer's journey through the page: from the printed link to an answered request, on the mock and on Claude."""

from __future__ import annotations

import base64
import re
from pathlib import Path

import pytest
from playwright.async_api import Browser, FilePayload, expect

from footplate.testing.messages import Step, script, tool
from tests.e2e.pages import Visit, visit
from tests.e2e.server import running_server
from tests.e2e.world import World

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180), pytest.mark.asyncio(loop_scope="session")]


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
    await _rename(person, "My first session")
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


async def _rename(person: Visit, title: str) -> None:
    page = person.page
    await _choose(person, "Rename")
    await page.get_by_role("textbox", name="Title").fill(title)
    await page.get_by_role("button", name="Save").click()
    await expect(page.get_by_role("heading", name=title)).to_be_visible()


async def _choose(person: Visit, action: str) -> None:
    await person.page.locator(".session-head").get_by_role("button", name=re.compile("^Actions for")).click()
    await person.page.get_by_role("menuitem", name=action, exact=True).click()


GREETING = """def greet(name):
    print("Hey", name)


greet("world")
"""
WORDS = """I read `greeting.py`. The greeting can be made polite in one place:

1. `greet` gets a proper sentence and returns it
2. the caller prints it
3. then I run it once to see that it works"""


async def test_a_real_claude_session_from_the_first_word_to_the_last(browser: Browser, world: World) -> None:
    work = world.work / "greetings"
    work.mkdir()
    file = work / "greeting.py"
    file.write_text(GREETING)
    change: dict[str, object] = {
        "file_path": str(file),
        "old_string": '    print("Hey", name)\n\n\ngreet("world")',
        "new_string": '    return f"Good evening, {name}."\n\n\nprint(greet("world"))',
    }
    steps = script(
        "Ready when you are.",
        Step(thinking="Look first.", tools=[("Read", {"file_path": str(file)})]),
        Step(text=WORDS, tools=[("Edit", change)]),
        tool("Bash", {"command": "python3 greeting.py", "description": "Run it once"}),
        "Done: **one** change.\n\n```python\nprint(greet('world'))\n```",
    )
    with running_server(world.work.parent, env=world.env) as server:
        async with visit(browser, server) as person:
            page = person.page
            await person.arrive()
            await person.start(work, engine="Claude Code", prompt=steps)
            await person.sees("Ready when you are.")
            await _rename(person, "Polite greetings")
            await person.say("Make the greeting polite, and show me that it works.")
            card = page.locator('.card[data-asks="true"]')
            await expect(card).to_contain_text("greeting.py")
            await expect(card.locator("tr.added").first).to_contain_text("Good evening")
            await person.picture("permission")
            await card.get_by_role("button", name="Split").click()
            await expect(card.locator("table.split")).to_be_visible()
            await card.get_by_role("button", name="Unified").click()
            await page.get_by_role("button", name="Allow once").click()
            await expect(card).to_contain_text("python3 greeting.py")
            assert "Good evening" in file.read_text()
            await page.get_by_role("button", name="Allow once").click()
            await person.sees("Done:")
            await person.sees("Good evening, world.")
            await expect(page.locator(".hl-built_in, .hl-string").first).to_be_visible()
            await person.picture("conversation")
            await _type_with_help(person)


async def _type_with_help(person: Visit) -> None:
    """Commands of one's own, the engine's commands, files, a picture; model and mode are in sight."""
    page = person.page
    await expect(page.get_by_role("combobox", name="Permissions")).to_be_visible()
    await expect(page.get_by_role("combobox", name="Model")).to_be_visible()
    await person.say("!echo by hand")
    await person.sees("by hand")
    await person.field.fill("/comp")
    await expect(page.get_by_role("option", name="/compact")).to_be_visible()
    await person.field.fill("look at @gree")
    await expect(page.get_by_role("option", name="greeting.py")).to_be_visible()
    await person.field.press("Tab")
    await expect(person.field).to_have_value(re.compile("^look at @greeting.py"))
    picture = FilePayload(name="dot.png", mimeType="image/png", buffer=DOT)
    await page.locator('.composer input[type="file"]').set_input_files([picture])
    await expect(page.get_by_role("button", name="Remove dot.png")).to_be_visible()
    await person.field.fill(script("I see a picture."))
    await person.field.press("Enter")
    await person.sees("I see a picture.")
    await expect(page.locator(".said.you img")).to_be_visible()


DOT = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)
