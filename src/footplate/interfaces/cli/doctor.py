"""`footplate doctor`: what runs, what is kept, what was left over, and what to do about it."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Sequence
from typing import cast

import click
import msgspec

from footplate.config.running import DEFAULT_PORT
from footplate.interfaces.cli.tables import fold
from footplate.runtime.checkup import Check, Finding, admit, examine
from footplate.runtime.checkups import CHECKS
from footplate.runtime.wiring import Wiring, load

FAILED = 1
INDENT = " " * 6
MARKS = {"ok": "ok  ", "warn": "warn", "fail": "FAIL"}


@click.command("doctor", short_help="Say what runs, what is kept and what is wrong.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@click.option("--quick", is_flag=True, help="Do not try the agent of new sessions, which takes a few seconds.")
@click.option("--strict", is_flag=True, help="A warning counts as a failure, too.")
@click.option("--port", type=click.IntRange(0, 65535), default=DEFAULT_PORT, show_default=True, metavar="P",
              help="The port that a server is to have; 0 for any.")  # fmt: skip
def doctor_command(as_json: bool, quick: bool, strict: bool, port: int) -> None:
    """Look at settings, data folder, locks, keepers, port and agents; change nothing.

    Of each thing it says how it is, and what to do about what is wrong. The agent of new sessions is tried
    on a scripted model: does it ask before it acts? No key is used. Works whether a service runs or not.
    Exit code 1 when a check fails.

    \b
    Example:
      footplate doctor --json
    """
    further = tuple(cast("Check", load(name)) for name in _wiring().checks)
    patient = admit(os.environ, port=port, drilled=not quick)
    findings = asyncio.run(examine(patient, (*CHECKS, *further)))
    ok = not any(finding.status == "fail" or (strict and finding.status == "warn") for finding in findings)
    if as_json:
        click.echo(msgspec.json.encode({"ok": ok, "findings": findings}))
    else:
        click.echo(render_findings(findings))
    sys.exit(0 if ok else FAILED)


def _wiring() -> Wiring:
    found = click.get_current_context().obj
    return found if isinstance(found, Wiring) else Wiring()


def render_findings(findings: Sequence[Finding], *, width: int = 0) -> str:
    """A finding in a line or more, and below it what to do; broken to the width of a terminal."""
    lines: list[str] = []
    for finding in findings:
        first, *more = finding.text.splitlines()
        lines.append(fold(f"{finding.name}: {first}", first=f"{MARKS[finding.status]}  ", rest=INDENT, width=width))
        lines += [fold(line, first=INDENT, rest=INDENT + "  ", width=width) for line in more]
        if finding.advice:
            lines.append(fold(finding.advice, first=f"{INDENT}-> ", rest=INDENT + "   ", width=width))
    return "\n".join(lines)
