"""The pure part of ours: whole lines cut from the pipe and translated to typed events, without an event loop."""

from __future__ import annotations

import sys

from bench.contenders.pipe import play
from bench.contenders.report import report, spent
from footplate.engines.claude.translate import Translator
from footplate.host.lines import LineSplitter


def main(fake: str) -> None:
    """Translate everything and throw the events away."""
    begun = spent()
    splitter = LineSplitter()
    translator = Translator()
    events = 0
    with play(fake) as chunks:
        for chunk in chunks:
            events += len(translator.feed(splitter.feed(chunk)))
    report(events, spent() - begun)


if __name__ == "__main__":
    main(sys.argv[1])
