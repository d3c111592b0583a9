"""Bare `msgspec` decoding of the same blocks: untyped, or with our wire types. Only the decoding is timed."""

from __future__ import annotations

import sys
import time
from typing import Any

import msgspec

from bench.contenders.pipe import play
from bench.contenders.report import report
from footplate.host.lines import LineSplitter


def decoder(kind: str) -> msgspec.json.Decoder[Any]:
    """The decoder of that kind."""
    if kind == "untyped":
        return msgspec.json.Decoder()
    from footplate.engines.claude.wire import LINES  # noqa: PLC0415 - the untyped kind runs without

    return LINES


def main(kind: str, fake: str) -> None:
    """Decode block by block and throw the frames away."""
    decode_lines = decoder(kind).decode_lines
    splitter = LineSplitter()
    frames, cpu_s = 0, 0.0
    with play(fake) as chunks:
        for chunk in chunks:
            block = splitter.feed(chunk).lines
            begun = time.thread_time()
            frames += len(decode_lines(block))
            cpu_s += time.thread_time() - begun
    report(frames, cpu_s)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
