"""A transcript of a page (`$ command`, then what it prints), played in a real shell and compared line by line.

Ids, temporary folders and spans of time differ from run to run. An id that was printed is what a person would copy:
where a later command names the page's id, the one that was printed in its place is meant.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

END_OF_ID = re.compile(r"\b[0-9A-HJKMNP-TV-Z]{8}\b")
"""How lists name a session."""
ID = re.compile(r"(?:req_)?[0-9A-HJKMNP-TV-Z]{26}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
FOLDER = re.compile(r"\S*/footplate-try-\w+")
SPAN = re.compile(r"\b\d+(?:\.\d+)?s\b")
TOOK = re.compile(r" \(\d+\.\d+s\)$")
"""Only what took long says how long it took."""

STATE = re.compile(r"^(?:answered|applied)$")
"""An answer counts once it is taken; a moment later the agent has applied it."""

GAP = re.compile(r" {2,}")
END = "-- end of the command --"


class Step(NamedTuple):
    """A command, and the lines it prints."""

    command: str
    printed: list[str]


def read_section(page: Path, heading: str) -> str:
    """The text below a heading of a page."""
    _, found, rest = page.read_text().partition(f"\n## {heading}\n")
    assert found, f"{page.name} has no heading {heading!r}"
    return rest.partition("\n## ")[0]


def blocks_of(text: str, language: str) -> list[str]:
    """The fenced blocks of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def read_steps(block: str) -> list[Step]:
    """The commands of a transcript."""
    steps: list[Step] = []
    for line in block.splitlines():
        if line.startswith("$ "):
            steps.append(Step(line[2:], []))
        else:
            steps[-1].printed.append(line)
    return steps


class Shell:
    """One shell, so that variables live on, with what was copied so far."""

    def __init__(self, folder: Path, env: Mapping[str, str]) -> None:
        self._copied: dict[str, str] = {}
        self._process = subprocess.Popen(
            ["/bin/bash", "--norc"],
            cwd=folder,
            env=dict(env),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def play(self, block: str, *, before_each: Callable[[], None] = lambda: None) -> None:
        """Run every command of a transcript; each must succeed and print what the page says."""
        for step in read_steps(block):
            before_each()
            code, printed = self.run(ID.sub(lambda found: self._copied.get(found[0], found[0]), step.command))
            assert code == 0, f"{step.command}: {printed}"
            self._compare(step, printed)

    def run(self, command: str) -> tuple[int, list[str]]:
        """Run one command as it stands: its exit code, and what it printed."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{{ {command}\n}} </dev/null; echo; echo '{END}' $?\n")
        self._process.stdin.flush()
        printed: list[str] = []
        for line in self._process.stdout:
            if line.startswith(END):
                return int(line.removeprefix(END)), "\n".join(printed).rstrip().splitlines()
            printed.append(line.rstrip())
        raise AssertionError(f"the shell ended: {printed}")

    def _compare(self, step: Step, printed: list[str]) -> None:
        assert _steady(printed) == _steady(step.printed), f"{step.command} printed {printed}"
        for line, told in zip(step.printed, printed, strict=True):
            self._copied.update(zip(ID.findall(line), ID.findall(told), strict=True))

    def __enter__(self) -> Shell:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate("", timeout=30)


def _steady(lines: list[str]) -> list[str]:
    """Lines without what differs from run to run, and without gaps that depend on how wide that is."""
    for differs, word in (
        (TOOK, ""),
        (FOLDER, "FOLDER"),
        (ID, "ID"),
        (END_OF_ID, "ID"),
        (SPAN, "0s"),
        (STATE, "answered"),
        (GAP, "  "),
    ):
        lines = [differs.sub(word, line) for line in lines]
    return lines
