"""The workspace of a session on the page: files, git and what the session changed, through the public API."""

from __future__ import annotations

import base64
import re
from pathlib import Path

import pytest
from playwright.async_api import Browser, FilePayload, Locator, expect

from footplate.host.git import Git
from tests.e2e.pages import PHONE, Visit, visit
from tests.e2e.server import running_server
from tests.e2e.test_page_looks import serious_issues
from tests.unit.repositories import closed, commit, make_repository

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300), pytest.mark.asyncio(loop_scope="session")]

APP = '''"""A till: it adds what was bought and says what is to be paid."""

from dataclasses import dataclass, field


@dataclass
class Till:
    """What was put on the counter so far."""

    prices: list[float] = field(default_factory=list)
    discount: float = 0.0

    def add(self, price: float, count: int = 1) -> None:
        if price < 0:
            raise ValueError(f"a price of {price} is none")
        self.prices += [price] * count

    @property
    def total(self) -> float:
        # Rounded once, at the end: cents would be lost otherwise.
        return round(sum(self.prices) * (1 - self.discount), 2)


if __name__ == "__main__":
    till = Till(discount=0.05)
    till.add(2.40, count=3)
    print(f"To pay: {till.total:.2f}")
'''
DOT = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def _shop(folder: Path, environ: dict[str, str]) -> Git:
    """A small repository with a file of each kind."""
    git = make_repository(folder, environ)
    commit(git, "src/app.py", APP)
    commit(git, "docs/guide.md", "# Guide\n\nAdd prices, get a **total**.\n")
    commit(git, "windows.txt", "one\r\ntwo\r\n")
    (folder / "latest").symlink_to("docs")
    git.run("add", "latest")
    git.run("commit", "-q", "-m", "link the docs")
    (folder / "logo.png").write_bytes(DOT)
    (folder / "data.bin").write_bytes(b"\0\1\2")
    (folder / ".env").write_text("KEY=\n")
    return git


async def test_a_session_is_looked_into_from_its_workspace(browser: Browser, tmp_path: Path) -> None:
    environ = closed(tmp_path)
    work = tmp_path / "shop"
    git = _shop(work, environ)
    with running_server(tmp_path, env=environ) as server:
        async with visit(browser, server, reduced_motion="reduce") as person:
            await person.arrive()
            await person.start(work, prompt="edit src/app.py")
            await person.sees("edit done")
            await _read(person)
            await _edit(person, work)
            await _arrange(person, work)
            await _commit(person, git)
            await _branch_off(person, work)
            await _look_at_changes(person, work)
            person.excuse("412")
            address = person.page.url.removeprefix(server.url)
        async with visit(browser, server) as guest:
            await _come_with_less(guest, address)


def _tree(person: Visit) -> Locator:
    return person.page.get_by_role("tree", name="Files of the session's folder")


def _row(person: Visit, name: str) -> Locator:
    return _tree(person).get_by_role("treeitem", name=name)


async def _read(person: Visit) -> None:
    """The tree by mouse and by keyboard; text in colours, a picture, what is neither."""
    page, press = person.page, person.page.keyboard.press
    await page.get_by_role("log").focus()
    await press("f")
    await expect(page.get_by_role("tab", name="Files")).to_be_focused()
    await expect(_row(person, "docs, Folder")).to_have_attribute("aria-expanded", "false")
    await expect(_row(person, ".env")).to_have_count(0)
    await page.get_by_role("button", name="Show hidden files").click()
    await expect(_row(person, ".env")).to_be_visible()
    await _row(person, "docs, Folder").focus()
    await press("End")
    await expect(_row(person, "windows.txt")).to_be_focused()
    await press("Home")
    await press("ArrowDown")
    await press("ArrowDown")
    await expect(_row(person, "src, Folder")).to_be_focused()
    await press("ArrowRight")
    await expect(_row(person, "app.py")).to_have_attribute("aria-level", "2")
    await press("ArrowRight")
    await expect(_row(person, "app.py")).to_be_focused()
    await press("Enter")
    await expect(page.locator(".source .hl-keyword").first).to_have_text("from")
    await expect(page.locator(".source .gutter")).to_have_text(re.compile(r"^1\n2\n.*\n27$", re.DOTALL))
    await person.picture("workspace-files")
    await page.get_by_role("button", name="Use the whole width").click()
    await expect(person.field).to_be_hidden()
    await person.picture("workspace")
    await page.get_by_role("button", name="Beside the conversation").click()
    await _row(person, "logo.png").click()
    await expect(page.get_by_role("img", name="logo.png")).to_have_js_property("naturalWidth", 1)
    await _row(person, "data.bin").click()
    await expect(page.get_by_text("This file is not text.")).to_be_visible()
    async with page.expect_download() as download:
        await page.get_by_role("button", name="Download").click()
    assert (await (await download.value).path()).read_bytes() == b"\0\1\2"
    await _row(person, "latest").click()
    await expect(_row(person, "guide.md")).to_have_attribute("aria-level", "2")
    await _row(person, "latest, Folder").click()
    await expect(_row(person, "guide.md")).to_have_count(0)
    await _row(person, "docs, Folder").click()
    await _row(person, "guide.md").click()
    await page.get_by_role("button", name="Rendered").click()
    await expect(page.locator(".file-prose strong")).to_have_text("total")


async def _edit(person: Visit, work: Path) -> None:
    """What is saved is what was typed, over the version that was read and over no other; nothing is lost unasked."""
    page, press = person.page, person.page.keyboard.press
    await _row(person, "windows.txt").click()
    await page.get_by_role("button", name="Edit", exact=True).click()
    field = page.get_by_role("textbox", name="Text of windows.txt")
    await expect(field).to_be_focused()
    await press("Control+End")
    await page.keyboard.type("  three")
    await press("Enter")
    await page.keyboard.type("four")
    await press("Control+s")
    await expect(page.get_by_text("Saved.")).to_be_visible()
    assert (work / "windows.txt").read_bytes() == b"one\r\ntwo\r\n  three\r\n  four"
    await field.fill("mine\n")
    await expect(page.locator(".file-head").get_by_title("Not saved yet")).to_be_visible()
    assert not await page.evaluate("dispatchEvent(new Event('beforeunload', { cancelable: true }))")
    await _row(person, "logo.png").click()
    dialog = page.get_by_role("dialog", name="Discard")
    await dialog.get_by_role("button", name="Cancel").click()
    await page.get_by_role("tab", name="Git").click()
    await page.get_by_role("tab", name="Files").click()
    await expect(field).to_have_value("mine\n")
    (work / "windows.txt").write_text("theirs\n")
    await page.get_by_role("button", name="Save", exact=True).click()
    await expect(page.get_by_role("alert")).to_contain_text("Somebody changed this file")
    await page.get_by_text("From what is there to what you have").click()
    await expect(page.locator(".conflict tr.removed")).to_contain_text("theirs")
    assert await serious_issues(page) == []
    await person.picture("workspace-conflict")
    assert (work / "windows.txt").read_text() == "theirs\n"
    await page.get_by_role("button", name="Save mine over it").click()
    await expect(page.get_by_role("alert")).to_have_count(0)
    await page.get_by_role("button", name="Stop editing").click()
    await expect(page.locator(".source .code")).to_have_text("mine\n")
    assert (work / "windows.txt").read_bytes() == b"mine\r\n"


async def _arrange(person: Visit, work: Path) -> None:
    """Upload by the button and by a drop, new folder and file, rename, delete after a yes."""
    page = person.page
    await _row(person, "docs, Folder").click()
    sent = FilePayload(name="prices.csv", mimeType="text/csv", buffer=b"1,2\n")
    await page.locator('.files-side input[type="file"]').set_input_files([sent])
    await expect(page.get_by_text("1 file uploaded.")).to_be_visible()
    assert (work / "docs" / "prices.csv").read_text() == "1,2\n"
    again = FilePayload(name="prices.csv", mimeType="text/csv", buffer=b"3,4\n")
    await page.locator('.files-side input[type="file"]').set_input_files([again])
    await page.get_by_role("dialog", name="Replace").get_by_role("button", name="Replace").click()
    await expect(page.get_by_text("1 file uploaded.")).to_have_count(2)
    assert (work / "docs" / "prices.csv").read_text() == "3,4\n"
    dropped = await page.evaluate_handle(
        "() => { const all = new DataTransfer(); all.items.add(new File(['hi'], 'dropped.txt')); return all; }"
    )
    await _row(person, "src, Folder").dispatch_event("drop", {"dataTransfer": dropped})
    await expect(_row(person, "dropped.txt")).to_be_visible()
    assert (work / "src" / "dropped.txt").read_text() == "hi"
    await _row(person, "README").click()
    await page.get_by_role("button", name="New file").click()
    await page.get_by_role("textbox", name="Name, below the folder").fill("../outside.txt")
    await page.get_by_role("button", name="Create").click()
    await expect(page.get_by_role("alert")).to_contain_text("A name without")
    await page.get_by_role("textbox", name="Name, below the folder").fill("tests/test_app.py")
    await page.get_by_role("button", name="Create").click()
    await expect(page.get_by_role("textbox", name="Text of test_app.py")).to_be_focused()
    await page.keyboard.type("import app\n")
    await page.get_by_role("button", name="Save", exact=True).click()
    await expect(page.get_by_text("Not saved yet")).to_have_count(0)
    await page.get_by_role("button", name="Stop editing").click()
    assert (work / "tests" / "test_app.py").read_text() == "import app\n"
    await _row(person, "dropped.txt").focus()
    await page.keyboard.press("F2")
    await page.get_by_role("textbox", name="New name").fill("kept.txt")
    await page.get_by_role("dialog").get_by_role("button", name="Rename").click()
    await _row(person, "kept.txt").click()
    await page.get_by_role("button", name="Actions for kept.txt").click()
    await page.get_by_role("menuitem", name="Delete").click()
    await page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    await expect(_row(person, "kept.txt")).to_have_count(0)
    assert sorted(each.name for each in (work / "src").iterdir()) == ["app.py"]


async def _commit(person: Visit, git: Git) -> None:
    """Stage one file, see its diff, unstage, commit what is staged; the log shows it."""
    page = person.page
    await page.get_by_role("tab", name="Git").click()
    left, taken = page.get_by_role("region", name="Not staged"), page.get_by_role("region", name="Staged", exact=True)
    await left.get_by_role("button", name=re.compile("windows.txt$")).first.click()
    await expect(left.locator("tr.added")).to_contain_text("mine")
    await page.get_by_role("button", name="Stage all").click()
    await expect(left).to_have_count(0)
    await page.get_by_role("button", name="Unstage .env").click()
    await expect(left.locator(".change")).to_have_count(1)
    await expect(taken.get_by_role("button", name="added tests/test_app.py")).to_be_visible()
    await page.get_by_role("textbox", name="Commit message").fill("Tidy the shop\n\nBy hand, on the page.")
    assert await serious_issues(page) == []
    await person.picture("workspace-git")
    await page.get_by_role("button", name="Commit", exact=True).click()
    await expect(page.get_by_text("Committed: Tidy the shop")).to_be_visible()
    await expect(taken).to_have_count(0)
    assert git.line("log", "-1", "--format=%s|%b").startswith("Tidy the shop|By hand")
    assert git.line("status", "--porcelain") == "?? .env"
    log = page.get_by_role("region", name="Commits")
    await log.get_by_role("button", name=re.compile("^Tidy the shop")).click()
    await expect(log.locator(".diff")).to_have_count(3)
    await expect(log.get_by_text("Not text: nothing to compare.").first).to_be_visible()
    await expect(page.get_by_role("region", name="Worktrees")).to_contain_text("this one")


async def _branch_off(person: Visit, work: Path) -> None:
    """A repository with a short name: a branch gets a folder of its own, a session may begin there, it goes again."""
    page = person.page
    trees = page.get_by_role("region", name="Worktrees")
    await expect(trees).to_contain_text("footplate init NAME")
    head = {"authorization": f"Bearer {person.server.token}"}
    named = await page.request.post(
        f"{person.server.url}/api/projects", headers=head, data={"alias": "shop", "path": str(work)}
    )
    assert named.ok, await named.text()
    await page.reload()
    await trees.get_by_role("button", name="New worktree").click()
    await page.get_by_role("textbox", name="Branch").fill("summer sale")
    await page.get_by_role("button", name="Make").click()
    await expect(page.get_by_role("alert").filter(has_text="summer sale")).to_be_visible()
    await page.get_by_role("textbox", name="Branch").fill("summer")
    await page.get_by_role("button", name="Make").click()
    dialog = page.get_by_role("dialog", name="New session")
    await expect(dialog.get_by_label("Folder").first).to_have_value(re.compile("/summer$"))
    await page.keyboard.press("Escape")
    await expect(trees.get_by_role("listitem")).to_have_count(2)
    await person.picture("workspace-worktrees")
    await trees.get_by_role("button", name="Remove the worktree of summer").click()
    await page.get_by_role("button", name="Remove", exact=True).click()
    await expect(trees.get_by_role("listitem")).to_have_count(1)
    person.excuse("400")


async def _look_at_changes(person: Visit, work: Path) -> None:
    """What the session's edits did, from its log, and what git sees; the tabs work by keyboard and have addresses."""
    page = person.page
    await page.get_by_role("tab", name="Git").press("ArrowRight")
    await expect(page.get_by_role("tab", name="Changes")).to_be_focused()
    assert page.url.endswith("/changes")
    panel = page.get_by_role("tabpanel", name="Changes")
    await expect(panel.locator(".change-name", has_text="app.py")).to_have_attribute("aria-expanded", "true")
    await expect(panel.locator("tr.added")).to_contain_text("2")
    await panel.get_by_role("button", name="Since it began").click()
    await panel.locator(".change-name", has_text="windows.txt").click()
    await expect(panel.locator("tr.added")).to_contain_text("mine")
    await page.reload()
    await expect(panel.locator(".change-name", has_text="windows.txt")).to_be_visible()
    await panel.get_by_role("button", name="Edits of the agent").click()
    await expect(panel.locator("tr.added")).to_contain_text("2")
    await page.keyboard.press("t")
    await expect(page.locator('html[data-theme="dark"]')).to_be_attached()
    assert await serious_issues(page) == []
    await panel.get_by_role("button", name="Open app.py").click()
    await expect(_row(person, "app.py")).to_have_attribute("aria-selected", "true")
    await expect(page.locator(".source .hl-keyword").first).to_be_visible()
    assert await serious_issues(page) == []
    await person.picture("workspace-dark")
    await page.set_viewport_size(PHONE)
    await page.get_by_role("button", name="Edit", exact=True).click()
    await expect(page.get_by_role("textbox", name="Text of app.py")).to_be_focused()
    await person.picture("workspace-phone-edit")
    await page.get_by_role("button", name="Stop editing").click()
    await page.get_by_role("button", name="Back to the files").click()
    await expect(_row(person, "app.py")).to_be_visible()
    assert not await page.evaluate("document.documentElement.scrollWidth > innerWidth")
    await person.picture("workspace-phone")
    await page.get_by_role("tab", name="Git").click()
    await expect(page.get_by_role("region", name="Commits")).to_contain_text("Tidy the shop")
    await person.picture("workspace-phone-git")


async def _come_with_less(guest: Visit, address: str) -> None:
    """A token that only reads is told what it lacks, and no call is made in vain."""
    page = guest.page
    body = {"name": "guest", "scopes": ["read"]}
    owner = {"authorization": f"Bearer {guest.server.token}"}
    made = await page.request.post(f"{guest.server.url}/api/tokens", data=body, headers=owner)
    await guest.arrive(address, token=(await made.json())["token"])
    panel = page.get_by_role("tabpanel")
    await expect(panel).to_contain_text("no scope “drive”")
    await page.get_by_role("tab", name="Files").click()
    await expect(panel).to_contain_text("no scope “files”")
    await page.get_by_role("tab", name="Changes").click()
    await expect(panel.locator("tr.added")).to_contain_text("2")
    assert not [url for url in guest.asked if "/v1/fs/" in url or "/api/git/" in url]
