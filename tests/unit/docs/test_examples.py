"""Docs as tests: every block of code is what it says it is. Settings are read, commands are parsed, JSON is JSON.

What is run besides: `python` blocks (test_pages.py, e2e/test_python_sdk_pages.py), `sh` blocks of the pages about the
server (test_curl.py, test_curl_sessions.py), the README's first minute (e2e/test_first_minute.py), the examples
(e2e/test_examples.py). A block that nobody can run here says `not-run`.
"""

from __future__ import annotations

import json
import re
import shlex
import textwrap
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import click
import pytest

from footplate.config.writing import check_text
from footplate.engines.sections import check_sections
from footplate.main import command_line

ROOT = Path(__file__).resolve().parents[3]
PAGES = sorted(
    [
        ROOT / "README.md",
        *(page for page in (ROOT / "docs").rglob("*.md") if page.name not in ("cli.md", "events.md")),
        *(ROOT / "examples").rglob("*.md"),
    ]
)
LANGUAGES = {
    "", "console", "dockerfile", "ini", "js", "json", "lua", "mermaid", "nginx", "python", "sh", "text", "toml", "ts",
}  # fmt: skip
FENCE = re.compile(r"^(?P<indent> *)```(?P<info>[^\n]*)\n(?P<code>.*?)^(?P=indent)```", re.DOTALL | re.MULTILINE)
PUNCTUATION = "();<>|&"
SET = re.compile(r"\w+=.*")
PLUGINS = ("tally",)
"""Engines that examples bring."""


class Block(NamedTuple):
    """A block of code of a page."""

    where: str
    language: str
    code: str


def _blocks() -> Iterator[Block]:
    for page in PAGES:
        for number, found in enumerate(FENCE.finditer(page.read_text())):
            language = found["info"].partition(" ")[0]
            name = f"{page.relative_to(ROOT).as_posix()}#{number}"
            yield Block(name, language, textwrap.dedent(found["code"]))


BLOCKS = list(_blocks())


def _named(block: Block) -> str:
    return block.where


def test_every_block_says_what_it_is() -> None:
    assert {block.where: block.language for block in BLOCKS if block.language not in LANGUAGES} == {}


@pytest.mark.parametrize("block", [block for block in BLOCKS if block.language == "json"], ids=_named)
def test_json_is_json(block: Block) -> None:
    try:
        json.loads(block.code)
    except json.JSONDecodeError:
        assert [json.loads(line) for line in block.code.splitlines()]


@pytest.mark.parametrize("block", [block for block in BLOCKS if block.language == "toml"], ids=_named)
def test_settings_can_be_read(block: Block) -> None:
    if "project" in tomllib.loads(block.code):
        return  # of a package, not ours
    check_sections(check_text(Path(block.where), block.code), {})


def _commands() -> Iterator[tuple[str, list[str]]]:
    """Every command line of ours in a block for a shell."""
    for block in BLOCKS:
        if block.language not in ("sh", "console", "text", ""):
            continue
        for line in block.code.replace("\\\n", " ").splitlines():
            typed = line.removeprefix("$ ")
            if block.language != "sh" and typed == line:
                continue
            for words in _simple_commands(typed):
                if Path(words[0]).name == "footplate" and len(words) > 1:
                    yield block.where, words[1:]


def _simple_commands(line: str) -> Iterator[list[str]]:
    """The commands that a shell would see in a line, without what is set before them."""
    lexer = shlex.shlex(re.sub(r"\s#\s.*", "", line), posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    lexer.commenters = ""
    words: list[str] = []
    for word in (*lexer, ";"):
        if not word.strip(PUNCTUATION):
            if words:
                yield words
            words = []
        elif words or not SET.fullmatch(word):
            words.append(word)


@pytest.mark.parametrize(
    ("where", "words"), list(_commands()), ids=lambda value: value if isinstance(value, str) else " ".join(value)
)
def test_every_command_that_is_shown_can_be_given(where: str, words: list[str]) -> None:
    """The command is there and takes these options. It is not run."""
    command: click.Command = command_line()
    context = click.Context(command, info_name="footplate")
    while words and isinstance(command, click.Group):
        found = command.get_command(context, words[0])
        if found is None:
            assert words[0].startswith("-") or words[0] in PLUGINS, f"{where}: there is no command {words[0]}"
            return
        command, words = found, words[1:]
    try:
        command.make_context("footplate", words, parent=context)
    except click.BadParameter as problem:
        if "does not exist" not in problem.message:  # a file of the reader's
            raise
    except click.exceptions.NoArgsIsHelpError:
        assert isinstance(command, click.Group)
