"""Adds what recordings of an agent hold to its known shapes, by which `footplate agents doctor` tells what is new.

python scripts/known_shapes.py claude tests/fixtures/claude/2.1.325/*.jsonl

A recording has a line of the agent per line; or lines of both sides as `{"dir": ..., "msg": ...}`, of which those of
the agent are taken. The list `acp` is for agents that have none of their own: what any agent says goes in there.
"""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec

from footplate.testing.shapes import read_known, shape_of

FOLDER = Path(__file__).resolve().parent.parent / "src" / "footplate" / "testing" / "known_shapes"
HEAD = "# Kinds of lines and fields that were seen of this agent. Written by scripts/known_shapes.py.\n"


def _said(line: bytes) -> bytes:
    """The line as the agent said it; empty when it was said to the agent."""
    if not line.startswith(b'{"dir"'):
        return line.strip()
    told = msgspec.json.decode(line, type=dict[str, msgspec.Raw])
    whose = msgspec.json.decode(told["dir"], type=str)
    return bytes(told["msg"]) if whose in ("in", "agent->client") else b""


def main(engine: str, *recordings: str) -> None:
    """Write the list again with what is in the recordings."""
    list_ = FOLDER / f"{engine}.txt"
    known = set(read_known(list_.read_text(encoding="utf-8"))) if list_.exists() else set()
    for name in recordings:
        for line in filter(None, map(_said, Path(name).read_bytes().splitlines())):
            known |= shape_of(line)
    list_.write_text(HEAD + "".join(f"{path}\n" for path in sorted(known)), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
