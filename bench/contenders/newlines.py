"""The bare limit: read the pipe and count newlines."""

from __future__ import annotations

import sys

from bench.contenders.pipe import play
from bench.contenders.report import report, spent


def main(fake: str) -> None:
    """Count the lines."""
    begun = spent()
    with play(fake) as chunks:
        lines = sum(chunk.count(b"\n") for chunk in chunks)
    report(lines, spent() - begun)


if __name__ == "__main__":
    main(sys.argv[1])
