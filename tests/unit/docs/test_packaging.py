"""Docs as tests: install lines name the current minor channel, and the container is what its page says."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from footplate.version import __version__

ROOT = Path(__file__).resolve().parents[3]
CHANNEL = ".".join(__version__.split(".")[:2])
PAGES = sorted(
    [
        ROOT / "README.md",
        ROOT / "Dockerfile",
        *(page for page in (ROOT / "docs").rglob("*.md") if page.parent.name != "decisions"),
        *(ROOT / "examples").rglob("*.md"),
    ]
)
INSTALLER = re.compile(
    r"\b(?:pip3? install|pipx (?:run|install)|uvx|uv (?:tool install|pip install|add)|docker run)\b(.*)"
)
PACKAGE = re.compile(r"(?<![\w./@-])footplate(?P<extra>\[[\w,]+\])?(?P<after>[^\s'\"`]*)")
PINNED = (f"=={CHANNEL}.*", f"-{CHANNEL}*.whl", f":{CHANNEL}")


def _unpinned(line: str) -> list[str]:
    """Every name of our package behind an installer that stands without its channel."""
    found = INSTALLER.search(line)
    if found is None:
        return []
    words = re.split(r"`|\s&&\s|\s#\s", found[1])[0]
    named = [each for each in PACKAGE.finditer(words) if not each["after"].startswith((":/", "-tally"))]
    return [each[0] for each in named if not each["after"].startswith(PINNED)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_install_line_names_the_minor_channel(page: Path) -> None:
    lines = page.read_text().replace("\\\n", " ").splitlines()
    assert [line for line in lines if _unpinned(line)] == []


@pytest.mark.parametrize(
    ("line", "fine"),
    [
        (f"pip install 'footplate=={CHANNEL}.*'", True),
        (f"pip install --pre 'footplate[push]=={CHANNEL}.*' x", True),
        (f".venv/bin/pip install ./footplate-{CHANNEL}*.whl", True),
        (f"docker run -v footplate:/data -e A footplate:{CHANNEL}", True),
        ("pip install ./examples/footplate-tally", True),
        ("pip install .", True),
        ("pip install footplate", False),
        ("pip install 'footplate[push]'", False),
        ("pipx run footplate serve", False),
        ("pip install 'footplate==0.0.*'", False),
        ("docker run -v footplate:/data footplate", False),
    ],
)
def test_the_rule_knows_a_line_without_a_channel(line: str, fine: bool) -> None:
    assert (_unpinned(line) == []) is fine


def test_every_extra_is_told() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    page = (ROOT / "docs" / "how-to" / "install.md").read_text()
    assert [name for name in project["optional-dependencies"] if f"| `{name}` |" not in page] == []


def test_the_version_stands_in_one_place() -> None:
    assert tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dynamic"] == ["version"]
    sources = [*(ROOT / "src").rglob("*.py"), ROOT / "pyproject.toml", ROOT / "web" / "package.json"]
    named = [path.name for path in sources if re.search(rf'"v?{re.escape(__version__)}"', path.read_text())]
    assert named == ["version.py"]


def test_the_container_runs_as_nobody_special() -> None:
    lines = (ROOT / "Dockerfile").read_text().splitlines()
    stage = lines[max(number for number, line in enumerate(lines) if line.startswith("FROM ")) :]
    user = next(number for number, line in enumerate(stage) if line.startswith("USER "))
    assert stage[user] == "USER footplate"
    assert any("useradd --create-home" in line for line in stage[:user])
    assert [line for line in stage[user:] if line.startswith(("USER root", "COPY"))] == []
    assert any(line.startswith("ENTRYPOINT ") for line in stage[user:])


def test_the_container_is_built_from_what_a_wheel_is_made_of() -> None:
    let_in = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    packed = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["sdist"][
        "include"
    ]
    assert {path.strip("/").split("/")[0] for path in packed} <= let_in
    assert [path for path in let_in if not (ROOT / path).exists()] == []


def test_the_list_of_dependencies_has_no_addresses() -> None:
    text = (ROOT / "docs" / "reference" / "dependencies.cdx.json").read_text()
    assert "://" not in text
    assert '"purl": "pkg:pypi/msgspec@' in text
    assert '"purl": "pkg:npm/preact@' in text


NODE = "Node 20.19 or newer (22.12 or newer in the 22 line)"
OLD_AND_NEW = {"18.20.0": 1, "20.18.3": 1, "20.19.0": 0, "21.7.3": 1, "22.11.0": 1, "22.12.0": 0, "24.0.0": 0}


@pytest.mark.skipif(shutil.which("node") is None, reason="NO NODE: the check of its version does not run")
@pytest.mark.parametrize(("version", "code"), OLD_AND_NEW.items())
def test_an_older_node_is_refused_in_one_sentence(version: str, code: int) -> None:
    ran = subprocess.run(["node", "web/check_node.mjs", version], cwd=ROOT, capture_output=True, text=True, check=False)
    told = f"cannot build the web page: Node {version} is too old; install {NODE}\n" if code else ""
    assert (ran.returncode, ran.stderr) == (code, told)


def test_the_node_that_is_asked_for_is_the_one_that_the_page_is_built_with() -> None:
    locked = json.loads((ROOT / "web" / "package-lock.json").read_text())["packages"]["node_modules/vite"]
    assert locked["engines"]["node"] == "^20.19.0 || >=22.12.0"
    assert json.loads((ROOT / "web" / "package.json").read_text())["scripts"]["prebuild"] == "node check_node.mjs"
    for page in ("README.md", "docs/how-to/install.md", "docs/tutorials/web.md"):
        assert NODE in (ROOT / page).read_text(), page
