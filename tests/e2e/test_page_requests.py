"""Every kind of request of the real Claude CLI, answered on the page in every way it offers."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from urllib.parse import urlsplit

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Locator, expect

from footplate.testing.messages import script, tool
from tests.e2e.pages import Visit, visit
from tests.e2e.server import running_server
from tests.e2e.world import World

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180), pytest.mark.asyncio(loop_scope="session")]


@pytest_asyncio.fixture(loop_scope="session")
async def person(browser: Browser, world: World) -> AsyncIterator[Visit]:
    """Somebody in a fresh session of the real CLI."""
    with running_server(world.work.parent, env=world.env) as server:
        async with visit(browser, server) as made:
            await made.arrive()
            await made.start(world.work, engine="Claude Code")
            yield made


def asking(person: Visit) -> Locator:
    """The card that waits."""
    return person.page.locator('.card[data-asks="true"]')


async def bash(person: Visit, command: str, *, then: str) -> Locator:
    """Have the agent want to run a command; the card that asks for it."""
    await person.say(script(tool("Bash", {"command": command, "description": "a test"}), f"{then} $LAST"))
    await expect(asking(person)).to_contain_text(command)
    return asking(person)


async def test_a_permission_is_edited_denied_with_words_and_allowed_by_a_lasting_rule(
    person: Visit, world: World
) -> None:
    card = await bash(person, "touch wrong", then="First:")
    await card.get_by_role("button", name="Edit first").click()
    await card.get_by_role("textbox").fill("touch right && echo CHANGED")
    await card.get_by_role("button", name="Allow as changed").click()
    await person.sees("First: CHANGED")
    assert {each.name for each in world.work.iterdir()} >= {"right"}
    assert not (world.work / "wrong").exists()
    await expect(person.page.locator(".outcome").last).to_contain_text("Allowed with edits")
    ran = person.page.locator(".card.command").last
    await expect(ran.locator(".changed-input .command-line")).to_have_text("$ touch right && echo CHANGED")
    await expect(ran.locator(".as-asked + .card-body .command-line")).to_contain_text("touch wrong")
    await expect(ran.locator(".card-head")).to_contain_text("edited")
    await person.picture("edited-answer")

    card = await bash(person, "touch never", then="Refused:")
    await card.get_by_role("button", name="Edit first").click()
    await card.get_by_role("button", name="Edit all fields as JSON").click()
    await card.get_by_role("textbox").fill("1.0")
    await card.get_by_role("button", name="Allow as changed").click()
    await expect(card.get_by_role("alert")).to_have_text("This is not a JSON object.")
    await card.get_by_role("textbox").fill('{"command": 5}')
    await card.get_by_role("button", name="Allow as changed").click()
    await person.sees("Refused:")
    refused = person.page.locator(".card.command").last
    await expect(refused.locator(".outcome")).to_contain_text("refused the answer")
    await expect(refused.locator(".changed-input")).to_have_count(0)
    await expect(refused.locator(".card-head")).not_to_contain_text("edited")
    assert not (world.work / "never").exists()

    card = await bash(person, "touch refused", then="Second:")
    await card.get_by_role("button", name="Deny…").click()
    await card.get_by_role("textbox").fill("not in this folder")
    await card.get_by_role("button", name="Deny", exact=True).click()
    await person.sees("Second:")
    assert not (world.work / "refused").exists()
    assert any("not in this folder" in json.dumps(body) for body in world.bodies())

    card = await bash(person, "touch lasting-one", then="Third:")
    await card.get_by_role("button", name="Always allow").click()
    menu = person.page.get_by_role("menu")
    await person.picture("always")
    rule = menu.get_by_role("menuitem").filter(has_text="touch").first
    assert "folder" in await rule.inner_text() or "session" in await rule.inner_text()
    await rule.click()
    await person.sees("Third:")
    assert (world.work / "lasting-one").exists()


async def test_deny_and_stop_ends_the_turn_and_a_session_rule_asks_no_more(person: Visit, world: World) -> None:
    card = await bash(person, "touch stopped", then="Never:")
    await card.get_by_role("button", name="Deny…").click()
    await card.get_by_role("button", name="Deny and stop").click()
    await expect(person.page.locator(".outcome").last).to_contain_text("Denied and stopped")
    await expect(person.page.get_by_role("button", name="Stop", exact=True)).to_have_count(0)
    assert not (world.work / "stopped").exists()

    card = await bash(person, "touch made-1", then="Allowed:")
    await card.get_by_role("button", name="Allow for session").click()
    await person.sees("Allowed:")
    await person.say(script(tool("Bash", {"command": "touch made-1", "description": "again"}), "Unasked: $LAST"))
    await person.sees("Unasked:")
    await person.page.get_by_role("button", name="Details").click()
    await expect(person.page.get_by_role("heading", name="Allowed here")).to_be_visible()


async def test_questions_are_answered_by_choice_by_several_and_in_own_words(person: Visit, world: World) -> None:
    page = person.page
    questions = [
        {
            "question": "Which database?",
            "header": "Database",
            "multiSelect": False,
            "options": [
                {"label": "SQLite", "description": "one file", "preview": "CREATE TABLE t (id)"},
                {"label": "Postgres", "description": "a server"},
            ],
        },
        {
            "question": "Which parts?",
            "header": "Parts",
            "multiSelect": True,
            "options": [{"label": "API", "description": ""}, {"label": "Page", "description": ""}],
        },
        {
            "question": "Which name?",
            "header": "Name",
            "multiSelect": False,
            "options": [{"label": "alpha", "description": ""}, {"label": "beta", "description": ""}],
        },
    ]
    await person.say(script(tool("AskUserQuestion", {"questions": questions}), "Thanks: $LAST"))
    send = page.get_by_role("button", name="Send answer")
    await expect(send).to_be_disabled()
    await page.get_by_role("radio", name="SQLite").check()
    await expect(page.locator(".preview")).to_contain_text("CREATE TABLE t (id)")
    await page.get_by_role("checkbox", name="API").check()
    await page.get_by_role("checkbox", name="Page").check()
    await page.get_by_role("textbox", name="Something else: Which name?").fill("gamma")
    await person.picture("question")
    await send.click()
    await person.sees("Thanks:")
    told = json.dumps(world.bodies()[-1])
    assert all(word in told for word in ("SQLite", "API", "Page", "gamma"))


async def test_a_plan_is_sent_back_then_approved_with_another_mode(person: Visit, world: World) -> None:
    page = person.page
    await page.get_by_role("combobox", name="Permissions").select_option("plan")
    first, second = (
        tool("Write", {"file_path": "$PLANFILE", "content": f"# The plan\n\n1. Look\n2. {step}"})
        for step in ("Change `notes.txt`", "Test what is there")
    )
    leave = tool("ExitPlanMode", {})
    await person.say(script(first, leave, second, leave, "Go."))
    await expect(page.get_by_role("heading", name="The plan")).to_be_visible()
    await page.get_by_role("button", name="Revise").click()
    await page.get_by_role("textbox", name="What should be different?").fill("and test it")
    await page.get_by_role("button", name="Send it back").click()
    await expect(page.locator(".request")).to_contain_text("Test what is there")
    await person.picture("plan")
    await page.get_by_label("How to go on after it").select_option("acceptEdits")
    await page.get_by_role("button", name="Approve the plan").click()
    await person.sees("Go.")
    assert any("and test it" in json.dumps(body) for body in world.bodies())
    await expect(page.get_by_role("combobox", name="Permissions")).to_have_value("acceptEdits")


async def test_equal_requests_of_several_sessions_are_answered_in_the_tray_with_one_click(
    person: Visit, world: World
) -> None:
    page = person.page
    await person.say(script(tool("Bash", {"command": "touch shared", "description": "Make the shared file"}), "One."))
    await expect(asking(person)).to_be_visible()
    await person.start(
        world.work,
        engine="Claude Code",
        prompt=script(tool("Bash", {"command": "touch shared", "description": "Make the shared file"}), "Two."),
    )
    await expect(asking(person)).to_be_visible()
    second_session = page.url
    await page.get_by_role("link", name="Footplate").click()
    await expect(page.get_by_role("heading", name="2 wait for you")).to_be_visible()
    await person.picture("tray")
    first = page.locator(".home .request").first
    await first.get_by_role("checkbox", name="Same answer to 1 other equal request").check()
    await first.get_by_role("button", name="Allow once").click()
    await expect(page.locator(".home .request")).to_have_count(0)
    # the list shows first who ended last, so the link is named
    await page.locator(f'.session-row a[href="{urlsplit(second_session).path}"]').click()
    await person.sees("Two.")
