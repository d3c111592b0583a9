"""Programs that play recorded output, so that a stream can be driven like the agent that once wrote it."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Literal


def write_player(
    path: Path,
    output: bytes,
    *,
    version: str,
    reads_first: bool,
    exit_code: int = 0,
    last_words: str = "",
    lingers: Literal["", "until_told", "forever"] = "",
) -> Path:
    """An executable that prints `version` when asked for it, else plays `output` and ends as it is told.

    `reads_first`: it waits for a line on its standard input, as an agent with a live wire does. `lingers`: whether it
    stays after that, until it is told two more things (a prompt, then an interrupt) or for ever. `last_words` go to
    standard error.
    """
    recorded = path.with_suffix(".recorded")
    recorded.write_bytes(output)
    lines = [
        "#!/bin/sh",
        f'case "$1" in --version) echo {shlex.quote(version)}; exit 0;; esac',
        "read -r line" if reads_first else ":",
        f"cat {shlex.quote(str(recorded))}",
        f"echo {shlex.quote(last_words)} >&2" if last_words else ":",
        {"": ":", "until_told": "read -r line; read -r line", "forever": "exec tail -f /dev/null"}[lingers],
        f"exit {exit_code}",
    ]
    path.write_text("\n".join(lines) + "\n")
    path.chmod(0o755)
    return path
