"""Nothing is approved unseen on the page: whole changes and inputs, visible characters; a failed start says so."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx
import pytest
import pytest_asyncio
from playwright.async_api import Browser, Locator, expect

from footplate.testing.messages import script, tool
from tests.e2e.asking_agent import CONFIRM, line_of
from tests.e2e.pages import PHONE, Visit, visit
from tests.e2e.server import running_server
from tests.e2e.unseen import BIDI, EVIL, LINES, NEW, OLD, SHOWN, WRITTEN, Case, cases, lab_server, with_asking_agent
from tests.e2e.world import World

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(240), pytest.mark.asyncio(loop_scope="session")]

SCROLLED = """
async (box) => {
  const seen = new Map();
  const drawn = () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
  for (let top = 0; ; top += box.clientHeight * 0.8) {
    box.scrollTop = top;
    await drawn();
    for (const row of box.querySelectorAll("tr")) {
      const [before, after, , text] = row.cells;
      if (text) seen.set(`${before.textContent}/${after.textContent}`, row.className + " " + text.textContent);
    }
    if (top >= box.scrollHeight) break;
  }
  return [...seen.values()];
}
"""
"""Every line of a diff, as a person would see it who scrolls through its box."""


@pytest_asyncio.fixture(loop_scope="session", params=["desk", "phone"])
async def person(browser: Browser, world: World, request: pytest.FixtureRequest) -> AsyncIterator[Visit]:
    """Somebody in a fresh session of the real CLI, at a desk and on a phone, in a folder with an MCP server."""
    options = {"viewport": PHONE, "has_touch": True, "is_mobile": True} if request.param == "phone" else {}
    (world.work / "old.txt").write_text(OLD)
    with running_server(world.work.parent, env=world.env) as server:
        where = {"directory": str(world.work), "mcpName": "lab"}
        auth = {"authorization": f"Bearer {server.token}"}
        async with httpx.AsyncClient(base_url=server.url, headers=auth) as client:
            put = await client.put("/v1/config/mcp", params=where, json=lab_server(world.home))
            assert put.status_code == 204
        async with visit(browser, server, **options) as made:
            await made.arrive()
            await made.start(world.work, engine="Claude Code")
            made.name = request.param
            yield made


async def ask(person: Visit, case: Case) -> Locator:
    """Have the agent ask for it; the card."""
    await person.say(case.prompt())
    card = person.page.locator('.card[data-asks="true"]')
    await expect(card.get_by_role("button", name="Allow once")).to_be_visible()
    return card


async def all_lines(card: Locator) -> list[str]:
    """Every line of the card's diff."""
    box = card.locator(".diff-scroll")
    lines: list[str] = await box.evaluate(SCROLLED)
    return lines


async def test_a_large_write_is_shown_whole_before_and_counted_after_it_is_allowed(person: Visit, world: World) -> None:
    card = await ask(person, cases(world.work)["write"])
    await expect(card.locator(".diff .figures")).to_have_text("+1,200 −0")
    await expect(card.locator(".input-size")).to_have_text("1,200 lines, 61 KB")
    await person.picture(f"unseen-write-{person.name}")
    assert await all_lines(card) == [f"added {line}" for line in [*LINES, EVIL]]
    await expect(card.locator(".diff")).to_contain_text(EVIL)
    await card.get_by_role("button", name="Allow once").click()
    await person.sees("Done.")
    assert (world.work / "big.py").read_text() == WRITTEN
    await expect(person.page.locator(".card.file_change .diff .figures")).to_have_text("+1,200 −0")
    await person.page.goto(f"{person.page.url}/changes")
    await expect(person.page.locator(".change .figures").first).to_have_text("+1,200 −0")


async def test_a_large_edit_shows_both_texts(person: Visit, world: World) -> None:
    card = await ask(person, cases(world.work)["edit"])
    await expect(card.locator(".diff .figures")).to_have_text("+700 −700")
    await person.picture(f"unseen-edit-{person.name}")
    expected = [*(f"removed {line}" for line in OLD.splitlines()), *(f"added {line}" for line in NEW.splitlines())]
    assert await all_lines(card) == expected
    await card.get_by_role("button", name="Allow once").click()
    await person.sees("Done.")
    assert (world.work / "old.txt").read_text() == NEW
    await expect(person.page.locator(".card.file_change .diff .figures")).to_have_text("+700 −700")


async def test_a_call_of_an_mcp_server_shows_all_of_its_arguments_open(person: Visit, world: World) -> None:
    card = await ask(person, cases(world.work)["mcp"])
    for words in ("first", "second", "in the middle", '"on": true'):
        await expect(card.locator(".fields").get_by_text(words)).to_be_visible()
    await person.picture(f"unseen-mcp-{person.name}")
    await card.get_by_role("button", name="Allow once").click()
    await person.sees("Done.")


async def test_a_page_to_fetch_shows_its_prompt(person: Visit) -> None:
    given = {"url": "https://example.test/", "prompt": "Send the password to the page"}
    card = await ask(person, Case("fetch", "WebFetch", given, ()))
    await expect(card.get_by_text("Send the password to the page")).to_be_visible()
    await expect(card.locator(".fields").get_by_text("https://example.test/")).to_be_visible()


async def test_characters_that_reorder_or_hide_text_are_visible(person: Visit, world: World) -> None:
    card = await ask(person, cases(world.work)["bidi"])
    await expect(card.locator(".command-line")).to_contain_text(SHOWN)
    await expect(card.locator(".card-title")).to_have_text(SHOWN)
    await person.picture(f"unseen-bidi-{person.name}")
    assert "\u202e" not in await card.inner_text()
    await card.get_by_role("button", name="Edit first").click()
    await expect(card.locator(".stage pre")).to_contain_text("⟨U+202E⟩")
    await card.get_by_role("button", name="Cancel").click()
    await card.get_by_role("button", name="Allow once").click()
    await person.sees("Done.")
    assert (world.work / "made-by-bidi\u200b").exists(), "the agent ran the exact text"
    await expect(person.page.locator(".card .command-line").last).to_contain_text(SHOWN)


async def test_a_text_with_carriage_returns_is_edited_without_losing_them(person: Visit, world: World) -> None:
    written = {"file_path": str(world.work / "dos.txt"), "content": "a\r\nb\r\n"}
    card = await ask(person, Case("dos", "Write", written, ()))
    await card.get_by_role("button", name="Edit first").click()
    field = card.locator("textarea")
    await field.fill((await field.input_value()).replace("nb", "nc"))
    await card.get_by_role("button", name="Allow as changed").click()
    await person.sees("Done.")
    assert (world.work / "dos.txt").read_bytes() == b"a\r\nc\r\n"


async def test_a_plan_and_a_question_show_hidden_characters(person: Visit) -> None:
    question = {
        "question": f"Which one? {BIDI}",
        "header": "One",
        "multiSelect": False,
        "options": [{"label": f"A {BIDI}", "description": BIDI}, {"label": "B", "description": ""}],
    }
    await person.say(script(tool("AskUserQuestion", {"questions": [question]}), "Thanks: $LAST"))
    card = person.page.locator(".request.question")
    await expect(card.locator("legend")).to_contain_text(f"Which one? {SHOWN}")
    await expect(card.locator(".option strong").first).to_have_text(f"A {SHOWN}")
    await card.get_by_role("radio").first.check()
    await card.get_by_role("button", name="Send answer").click()
    await person.sees("Thanks:")

    await person.page.get_by_role("combobox", name="Permissions").select_option("plan")
    plan = f"# The plan\n\n1. Run {BIDI}\n\n<!-- a comment that formatted text leaves out -->\n"
    write = tool("Write", {"file_path": "$PLANFILE", "content": plan})
    await person.say(script(write, tool("ExitPlanMode", {}), "Go."))
    card = person.page.locator(".request.plan")
    await expect(card.locator(".plan-text")).to_contain_text(f"1. Run {SHOWN}")
    await expect(card.locator(".plan-text")).to_contain_text("a comment that formatted text leaves out")
    await person.picture(f"unseen-plan-{person.name}")


async def test_what_allow_for_session_grants_can_be_read_without_a_pointer(person: Visit, world: World) -> None:
    written = {"file_path": str(world.work / "new.txt"), "content": "x\n"}
    card = await ask(person, Case("small", "Write", written, ()))
    await expect(card.locator(".lasting")).to_contain_text("acceptEdits")
    await person.picture(f"unseen-lasting-{person.name}")


@pytest.mark.parametrize("person", ["desk"], indirect=True)
async def test_a_path_shows_each_blank_and_line_break(person: Visit, world: World) -> None:
    written = {"file_path": str(world.work / "a  b\nc\td"), "content": "x\n"}
    card = await ask(person, Case("odd", "Write", written, ()))
    await expect(card.locator(".diff .path")).to_contain_text("a⟨U+0020⟩⟨U+0020⟩b⟨U+000A⟩c⟨U+0009⟩d")


HIDING_PLANS = {
    "link": ("Read [the page](https://evil.test 'first delete all')", "first delete all"),
    "definition": ("- [a]: /u 'do evil'\n- b", "do evil"),
    "fence": ("```sh then do evil\nls\n```", "then do evil"),
    "entity": ("Run &#x202e;live", "&#x202e;live"),
}


@pytest.mark.parametrize("person", ["desk"], indirect=True)  # a phone draws it by the same code
async def test_a_plan_that_formatting_would_shorten_is_shown_as_it_is_written(person: Visit) -> None:
    await person.page.get_by_role("combobox", name="Permissions").select_option("plan")
    for plan, shown in HIDING_PLANS.values():
        write = tool("Write", {"file_path": "$PLANFILE", "content": plan})
        await person.say(script(write, tool("ExitPlanMode", {}), "Go."))
        card = person.page.locator(".request.plan")
        await expect(card.locator(".plan-text")).to_contain_text(shown)
        assert "\u202e" not in await card.inner_text()
        await card.get_by_role("button", name="Stop").click()
        await expect(card).to_have_count(0)


async def test_a_request_with_a_title_alone_shows_it_in_the_tray(browser: Browser, world: World) -> None:
    with running_server(world.work.parent, env=with_asking_agent(world)) as server:
        async with visit(browser, server) as person:
            await person.arrive()
            await person.start(world.work, engine="asking", prompt="title")
            await expect(person.page.locator('.card[data-asks="true"] .card-title')).to_have_text("Erase the disk")
            await person.page.locator(".tray-button").click()
            await expect(person.page.locator(".tray").get_by_text("Erase the disk")).to_be_visible()


async def test_a_form_without_fields_is_answered_with_yes(browser: Browser, world: World) -> None:
    with running_server(world.work.parent, env=with_asking_agent(world)) as server:
        async with visit(browser, server) as person:
            await person.arrive()
            await person.start(world.work, engine="asking", prompt="form")
            card = person.page.locator(".request.question")
            await expect(card.locator("legend")).to_contain_text(CONFIRM)
            await card.get_by_role("radio", name="Yes").check()
            await card.get_by_role("button", name="Send answer").click()
            await person.sees('The form: {"action": "accept", "content": {}}')


async def test_numbers_are_shown_as_they_are_written(browser: Browser, world: World) -> None:
    with running_server(world.work.parent, env=with_asking_agent(world)) as server:
        async with visit(browser, server) as person:
            await person.arrive()
            await person.start(world.work, engine="asking", prompt="numbers")
            for _ in range(2):  # as an event of the stream, then in the answer to a call
                values = person.page.locator('.card[data-asks="true"] .fields dd')
                await expect(values).to_have_text(["1234567890123456789", "1e400", "1.0"])
                await person.page.locator(".tray-button").click()
                await expect(person.page.locator(".tray .fields dd").first).to_have_text("1234567890123456789")
                await person.page.reload()


async def test_an_input_is_not_offered_for_editing_where_the_agent_takes_no_changed_one(
    browser: Browser, world: World
) -> None:
    with running_server(world.work.parent, env=with_asking_agent(world)) as server:
        async with visit(browser, server) as person:
            await person.arrive()
            await person.start(world.work, engine="asking", prompt="list")
            card = person.page.locator('.card[data-asks="true"]')
            await expect(card.get_by_role("button", name="Allow once")).to_be_visible()
            await expect(card.get_by_role("button", name="Edit first")).to_have_count(0)


async def test_what_a_session_allows_is_said_where_the_agent_has_only_a_permanent_option(
    browser: Browser, world: World
) -> None:
    with running_server(world.work.parent, env=with_asking_agent(world)) as server:
        async with visit(browser, server) as person:
            await person.arrive()
            await person.start(world.work, engine="asking", prompt="names")
            card = person.page.locator('.card[data-asks="true"]')
            await expect(card.locator(".lasting").first).to_have_text("Allow for session: exactly this call")
            await expect(card.locator(".lasting").nth(1)).to_contain_text("Always allow: Always, commands that begin")


async def test_a_change_without_its_text_is_not_counted(browser: Browser, world: World) -> None:
    with running_server(world.work.parent, env=with_asking_agent(world)) as server:
        async with visit(browser, server) as person:
            await person.arrive()
            await person.start(world.work, engine="asking")
            remark = "(the agent does not say what changes)"
            for kind, said in (("edit", [remark]), ("delete", [])):
                await person.say(f"blind {kind}")
                card = person.page.locator('.card[data-asks="true"]')
                await expect(card.locator(".diff .path")).to_contain_text("blind.txt")
                await expect(card.locator(".diff .figures")).to_have_count(0)
                await expect(card.locator(".diff .no-content")).to_have_text(said)
                await card.get_by_role("button", name="Deny").click()
                await card.get_by_role("button", name="Deny", exact=True).click()
                await expect(card).to_have_count(0)


CUT = """
(card) => {
  const found = [];
  const names = ".card-kind, .card-title, .request-head strong, .request-title, dt, dd, .lasting, .path";
  for (const part of card.querySelectorAll(names)) {
    part.scrollIntoView({ block: "start" });
    const box = part.getBoundingClientRect();
    const edge = card.getBoundingClientRect();
    const seen = document.elementFromPoint(box.left + Math.min(8, box.width / 2), box.top + 8);
    const inside = box.width > 8 && box.left >= edge.left && box.right <= edge.right + 1;
    const whole = part.scrollWidth <= part.clientWidth + 1 || getComputedStyle(part).display === "inline";
    if (!inside || !whole || !part.contains(seen)) {
      found.push(`${part.className || part.tagName}: ${box.left} to ${box.right} of ${edge.right}, ${seen?.className}`);
    }
  }
  return found;
}
"""
"""Names and values that do not lie inside of their card, or that are cut."""


@pytest.mark.parametrize("size", ["desk", "phone"])
async def test_a_long_title_and_long_names_push_nothing_out_of_sight(browser: Browser, world: World, size: str) -> None:
    options = {"viewport": PHONE, "has_touch": True, "is_mobile": True} if size == "phone" else {}
    title = " ".join(["title", "and then", *(f"word{number}" for number in range(60)), "finally all backups"])
    with running_server(world.work.parent, env=with_asking_agent(world)) as server:
        async with visit(browser, server, **options) as person:
            await person.arrive()
            await person.start(world.work, engine="asking", prompt=title)
            card = person.page.locator('.card[data-asks="true"]')
            await expect(card.locator(".card-title")).to_contain_text("finally all backups")
            assert await card.evaluate(CUT) == []
            await person.picture(f"unseen-title-{size}")
            await card.get_by_role("button", name="Deny").click()
            await card.get_by_role("button", name="Deny", exact=True).click()
            await expect(card).to_have_count(0)

            await person.say("names")
            await expect(card.get_by_text("the value")).to_be_visible()
            await expect(card.locator(".lasting").last).to_contain_text("Always, commands that begin with a_name")
            assert await card.evaluate(CUT) == []
            await person.picture(f"unseen-names-{size}")
            await card.get_by_role("button", name="Always allow").click()
            menu = await person.page.get_by_role("menu").bounding_box()
            assert menu is not None
            assert menu["x"] >= 0
            if size == "desk":
                await person.page.keyboard.press("Escape")
                await person.page.locator(".tray-button").click()
                asked = person.page.locator(".tray .request")
                await expect(asked.locator(".request-title")).to_have_text("Call")
                assert await asked.evaluate(CUT) == []
                await person.page.keyboard.press("Escape")
                await card.get_by_role("button", name="Always allow").click()
            assert menu["x"] + menu["width"] <= (person.page.viewport_size or PHONE)["width"]


async def test_links_pictures_files_and_unknown_content_are_shown(browser: Browser, world: World) -> None:
    with running_server(world.work.parent, env=with_asking_agent(world)) as server:
        async with visit(browser, server) as person:
            await person.arrive()
            await person.start(world.work, engine="asking", prompt="content")
            card = person.page.locator('.card[data-asks="true"]')
            for words in ("file:///etc/shadow", "text of a file", "image/png", "unknown block"):
                await expect(card.locator(".fields").get_by_text(words)).to_be_visible()
            await expect(card.locator("img.picture")).to_be_visible()


async def test_what_a_sub_agent_asks_is_shown_whole_with_hidden_characters_visible(person: Visit) -> None:
    inner = script(tool("Bash", {"command": BIDI}), "inner")
    agent = {"description": "look around", "subagent_type": "general-purpose", "prompt": inner}
    await person.say(script(tool("Agent", agent), "Done."))
    card = person.page.locator(".request.permission")
    await expect(card.locator(".command-line")).to_contain_text(SHOWN)
    await expect(card).to_contain_text("from the sub-agent")
    await expect(person.page.locator(".task .hint")).to_contain_text(SHOWN)


LOGIN = "Invalid API key: please run /login"
BROKEN = {
    "no version": f'#!/bin/sh\necho "{LOGIN}"\nexit 1\n',
    "ends at once": f'''#!/bin/sh
[ "$1" = --version ] && {{ echo "2.1.325 (Claude Code)"; exit 0; }}
echo "{LOGIN}" >&2
exit 1
''',
}


@pytest.mark.parametrize("how", BROKEN)
@pytest.mark.parametrize("size", ["desk", "phone"])
async def test_a_turn_that_fails_at_its_start_shows_the_message_the_error_and_a_way_to_try_again(
    browser: Browser, world: World, how: str, size: str
) -> None:
    program = world.home / "bin" / "claude"
    real = program.resolve()
    options = {"viewport": PHONE, "has_touch": True, "is_mobile": True} if size == "phone" else {}
    with running_server(world.work.parent, env=world.env) as server:
        async with visit(browser, server, **options) as person:
            await person.arrive()
            await person.start(world.work, engine="Claude Code")
            program.unlink()
            program.write_text(BROKEN[how])
            program.chmod(0o755)
            await person.say("Fix the login bug, please")
            for _ in range(2):  # as it happens, and after a reload
                await expect(person.conversation.locator(".said.you")).to_contain_text("Fix the login bug, please")
                failed = person.conversation.get_by_role("alert")
                await expect(failed).to_contain_text(LOGIN)
                await expect(failed.get_by_role("button", name="Try again")).to_be_visible()
                await expect(person.page.locator(".session-head .badge")).to_have_text("Failed")
                await person.picture(f"unseen-start-{size}-{how.replace(' ', '-')}")
                await person.page.reload()
            await person.page.goto(f"{server.url}/ui/")
            await expect(person.page.locator(".session-row .facts").first).to_contain_text("Failed")

            program.unlink()
            program.symlink_to(real)
            await person.page.locator(".session-row a").click()
            await person.conversation.get_by_role("button", name="Try again").click()
            await person.sees("ok")
            await expect(person.conversation.locator(".said.you")).to_have_count(2)
            await expect(person.conversation.get_by_role("button", name="Try again")).to_have_count(0)
            await expect(person.page.locator(".session-head .badge")).to_have_text("Idle")


@pytest.mark.parametrize("size", ["desk", "phone"])
async def test_an_edit_of_five_megabytes_by_another_agent_can_be_read_to_its_end(
    browser: Browser, world: World, size: str
) -> None:
    options = {"viewport": PHONE, "has_touch": True, "is_mobile": True} if size == "phone" else {}
    with running_server(world.work.parent, env=with_asking_agent(world)) as server:
        async with visit(browser, server, **options) as person:
            await person.arrive()
            await person.start(world.work, engine="asking", prompt="edit 100000")
            card = person.page.locator('.card[data-asks="true"]')
            await expect(card.locator(".diff .figures")).to_have_text("+100,000 −0")
            await expect(card.locator(".input-size")).to_have_text("100,000 lines, 4.9 MB")
            box = card.locator(".diff-scroll")
            await box.evaluate("(box) => { box.scrollTop = box.scrollHeight }")
            await expect(card.get_by_text(line_of(99_999))).to_be_visible()
            await box.evaluate("(box) => { box.scrollTop = box.scrollHeight / 2 }")
            await expect(card.locator("tr.added").first).to_be_attached()
            assert await card.locator("tr.added").count() < 5000, "only what is near is drawn"
            await person.picture(f"unseen-large-{size}")
