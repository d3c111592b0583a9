"""Docs as tests: links lead somewhere, generated pages are fresh, every page is reachable, examples run."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
from pathlib import Path

import msgspec
import pytest

from footplate.config.keys import flatten
from footplate.config.settings import CommonSettings, Settings
from footplate.engines.known_agents import KNOWN, OFFERS
from footplate.engines.mock.triggers import TRIGGERS
from footplate.engines.sections import section_shapes
from footplate.interfaces.cli.app import COMMANDS

ROOT = Path(__file__).resolve().parent.parent.parent.parent
PAGES = sorted([ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").rglob("*.md")])
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def _links(page: Path) -> list[Path]:
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    targets = [target for target in LINK.findall(text) if "://" not in target and not target.startswith("#")]
    return [(page.parent / target.split("#")[0]).resolve() for target in targets]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_link_leads_somewhere(page: Path) -> None:
    assert [target for target in _links(page) if not target.exists()] == []


def _anchors(page: Path) -> set[str]:
    """The headings of a page as a link names them."""
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    headings = re.findall(r"^#+ +(.*?) *$", text, re.MULTILINE)
    plain = [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading) for heading in headings]
    return {re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", each).strip().lower()) for each in plain}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_link_to_a_heading_finds_it(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    named = [target.split("#") for target in LINK.findall(text) if "#" in target and "://" not in target]
    found = [(page.parent / path if path else page, anchor) for path, anchor in named]
    assert [
        f"{path.name}#{anchor}" for path, anchor in found if path.suffix == ".md" and anchor not in _anchors(path)
    ] == []


def test_the_page_of_claude_names_every_way_to_install_it_and_the_login() -> None:
    text = (ROOT / "docs" / "how-to" / "claude.md").read_text().replace("\\|", "|")
    offer = KNOWN["claude"]
    expected = [*(f"`{command}`" for command in offer.commands), "run `claude` once to log in"]
    assert [command for command in expected if command not in text] == []


def test_every_page_can_be_reached_from_the_readme() -> None:
    seen: set[Path] = set()
    waiting = [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        if page in seen:
            continue
        seen.add(page)
        if page.is_dir():
            waiting += sorted(page.glob("*.md"))
        elif page.suffix == ".md":
            waiting += _links(page)
    assert [page for page in PAGES if page not in seen] == []


@pytest.mark.parametrize("script", ["reference.py", "schema.py", "dependencies.py", "api_pages.py"])
def test_the_generated_pages_are_fresh(script: str) -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / script, "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_command_is_in_the_reference() -> None:
    page = (ROOT / "docs" / "reference" / "cli.md").read_text()
    assert [name for name in COMMANDS if f"## footplate {name}\n" not in page] == []


WITH_A_SERVICE = ("python-sdk.md", "build-a-product.md", "budgets.md")
"""Pages whose examples start a service: e2e/test_python_sdk_pages.py runs them."""


def _python_examples() -> list[tuple[str, str]]:
    found = []
    for page in (page for page in PAGES if page.name not in WITH_A_SERVICE):
        for number, code in enumerate(re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)):
            found.append((f"{page.relative_to(ROOT).as_posix()}#{number}", textwrap.dedent(code)))
    return found


@pytest.mark.parametrize(("name", "code"), _python_examples(), ids=[name for name, _ in _python_examples()])
def test_every_python_example_runs(name: str, code: str, tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "FOOTPLATE_DATA_DIR": str(tmp_path / "data")}
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, f"{name}: {done.stderr}"


def test_every_setting_is_in_the_reference() -> None:
    page = (ROOT / "docs" / "reference" / "settings.md").read_text()
    keys = [key for key, _ in flatten(msgspec.to_builtins(Settings()))]
    shapes: list[type[msgspec.Struct]] = [CommonSettings, *section_shapes().values()]
    names = {key.rpartition(".")[2] for key in keys if key != "engines"}
    names |= {field.name for shape in shapes for field in msgspec.structs.fields(shape)}
    assert [name for name in sorted(names) if f"| `{name}` |" not in page] == []


@pytest.mark.parametrize("agent", [*(offer.id for offer in OFFERS), "mock"])
def test_every_agent_has_a_page(agent: str) -> None:
    page = (ROOT / "docs" / "how-to" / f"{agent}.md").read_text()
    assert f"(how-to/{agent}.md)" in (ROOT / "docs" / "README.md").read_text()
    assert "```sh\n" in page


def test_every_word_of_the_mock_agent_is_told() -> None:
    page = (ROOT / "docs" / "how-to" / "mock.md").read_text()
    assert [word for word in TRIGGERS if f"`{word}`" not in page and f"`{word} " not in page] == []


@pytest.mark.parametrize("picture", sorted((ROOT / "docs" / "images").glob("*.svg")), ids=lambda path: path.name)
def test_a_picture_asks_nobody_and_is_told_in_words(picture: Path) -> None:
    drawn = picture.read_text()
    assert re.findall(r"https?://[^\"]*", drawn) == ["http://www.w3.org/2000/svg"]
    assert "<script" not in drawn
    assert "<title>" in drawn


DATE = re.compile(r"\d{4}-\d\d-\d\d")
COMMIT = re.compile(r"[0-9a-f]{7,40}")
STATES = {"open", "mended", "worked around"}


def test_friction_is_told_whole() -> None:
    """Date, commit, what was being built, what was tried, what came of it, and how it stands."""
    page = (ROOT / "docs" / "friction.md").read_text()
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in page.splitlines() if line.startswith("| 2")
    ]
    assert rows
    assert [row for row in rows if len(row) != 6 or not all(row)] == []
    assert [row for row in rows if not (DATE.fullmatch(row[0]) and COMMIT.fullmatch(row[1]) and row[5] in STATES)] == []
