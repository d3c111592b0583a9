"""Functions of the page as a program: JSON lines in, JSON lines out, so that Python tests can compare twins."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest

WEB = Path(__file__).resolve().parent.parent / "web"


def bundle(name: str, source: str, folder: Path) -> Path:
    """Bundle a TypeScript entry that imports from `../src`; skips the test where there is no Node."""
    if shutil.which("node") is None:
        pytest.skip("NO NODE: the page's functions are not compared with ours")
    assert (WEB / "node_modules" / "rolldown").exists(), "run `make page`"
    entry = WEB / "node_modules" / f".{name}.ts"
    entry.write_text(source)
    made = folder / f"{name}.mjs"
    command = ["node_modules/.bin/rolldown", str(entry), "--format", "esm", "--platform", "node", "--file", str(made)]
    subprocess.run(command, cwd=WEB, check=True, capture_output=True, timeout=60)
    return made


def run_lines(program: Path, lines: Iterable[bytes]) -> list[object]:
    """Run the program on these lines; one JSON value for each."""
    given = b"\n".join(lines) + b"\n"
    ran = subprocess.run(["node", str(program)], input=given, capture_output=True, check=True, timeout=60)
    return [json.loads(line) for line in ran.stdout.splitlines()]


def bundle_function(name: str, imported: str, call: str, folder: Path) -> Path:
    """A program that gives each line, parsed as the page parses it, as `given` to the TypeScript expression `call`."""
    source = f"""
import {{ createInterface }} from "node:readline";
import {{ readJson }} from "../src/api/json";
{imported}

const answers = [];
for await (const line of createInterface({{ input: process.stdin }})) {{
  const given = readJson(line);
  answers.push(JSON.stringify({call}));
}}
process.stdout.write(answers.join("\\n") + "\\n");
"""
    return bundle(name, source, folder)


def call_page(program: Path, given: Iterable[object]) -> list[object]:
    """The page's answer for each value."""
    return run_lines(program, (json.dumps(each).encode() for each in given))
