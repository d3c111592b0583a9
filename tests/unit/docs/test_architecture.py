"""The page of the architecture names only what exists: packages, modules, events, states, layers."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import get_args

from footplate.errors import AlreadyAnswered
from footplate.events.model import Event, SessionState
from footplate.host.environment import BASE_NAMES

ROOT = Path(__file__).resolve().parent.parent.parent.parent
PAGE = (ROOT / "docs" / "explanation" / "architecture.md").read_text()
TREE = PAGE.partition("```\nsrc/footplate/\n")[2].partition("```")[0]


def _named() -> list[str]:
    """The files and folders of the tree, as paths below the package."""
    paths: list[str] = []
    packages: dict[int, str] = {}
    for line in TREE.split("\nweb/")[0].splitlines():
        indent = len(line) - len(line.lstrip())
        first, *rest = line.split()
        if indent <= 4:
            packages = {depth: name for depth, name in packages.items() if depth < indent}
            folder = "".join(packages[depth] for depth in sorted(packages))
            paths.append(folder + first)
            if first.endswith("/"):
                packages[indent] = first
        else:
            rest = [first, *rest]
        folder = "".join(packages[depth] for depth in sorted(packages))
        words = " ".join(rest)
        paths += [
            folder + name for name in re.findall(r"\b[a-z_]+(?:\.py|/)(?=[\s)]|$)", re.sub(r"\(.*?\)", "", words))
        ]
    return paths


def test_every_package_and_module_of_the_tree_exists() -> None:
    named = _named()
    assert len(named) > 50
    assert [path for path in named if not (ROOT / "src" / "footplate" / path).exists()] == []


def test_every_package_has_a_place_in_the_tree() -> None:
    packages = {path.parent.name for path in (ROOT / "src" / "footplate").glob("*/__init__.py")}
    assert {name for name in packages if f"\n  {name}/" not in f"\n{TREE}"} == set()


def test_every_event_and_state_is_named_and_no_other() -> None:
    section = PAGE.partition("## Events\n")[2].partition("\nRules:")[0]
    listed = set(re.findall(r"\b[A-Z][A-Za-z]+\b", " ".join(re.findall(r"`([^`]*)`\.", section))))
    assert listed == {kind.__name__ for kind in get_args(Event)}
    for state in get_args(SessionState):
        assert f"`{state}`" in PAGE


def test_the_layers_are_those_that_are_checked() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    layers = settings["tool"]["house"]["layers"].removesuffix(" < __main__").replace("|", " | ")
    assert f"`{layers}`" in PAGE


def test_the_variables_of_agents_are_those_of_the_code() -> None:
    missing = [name for name in BASE_NAMES if name not in PAGE and name.upper() not in PAGE]
    assert missing == []


def test_what_a_second_answer_gets_is_quoted_as_it_is() -> None:
    late = AlreadyAnswered("R", state="applied", by="ada", surface="web", at=None, who="by ada from web")
    assert f'A second answer gets "{late}".' in PAGE
