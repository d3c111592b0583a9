"""`footplate doctor`: what runs, what is kept, what was left over, and what to do about it."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import cast

import click
import msgspec

from footplate.runtime.checkup import CHECKS, Check, Finding, examine
from footplate.runtime.wiring import Wiring, load

FAILED = 1
MARKS = {"ok": "ok  ", "warn": "warn", "fail": "FAIL"}


@click.command("doctor", short_help="Say what runs, what is kept and what is wrong.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def doctor_command(as_json: bool) -> None:
    """Look at the data folder, the keepers and their agents; change nothing. Exit code 1 when a check fails.

    Works whether a service runs or not.

    \b
    Example:
      footplate doctor --json
    """
    further = tuple(cast("Check", load(name)) for name in _wiring().checks)
    findings = asyncio.run(examine(os.environ, (*CHECKS, *further)))
    ok = all(finding.status != "fail" for finding in findings)
    if as_json:
        click.echo(msgspec.json.encode({"ok": ok, "findings": findings}))
    else:
        for finding in findings:
            _say(finding)
    sys.exit(0 if ok else FAILED)


def _wiring() -> Wiring:
    found = click.get_current_context().obj
    return found if isinstance(found, Wiring) else Wiring()


def _say(finding: Finding) -> None:
    first, *more = finding.text.splitlines()
    click.echo(f"{MARKS[finding.status]}  {finding.name}: {first}")
    for line in more:
        click.echo(f"      {line}")
    if finding.advice:
        click.echo(f"      -> {finding.advice}")
