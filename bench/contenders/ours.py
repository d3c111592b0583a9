"""Ours, the full way: keeper, pipes on the event loop, splitter, decoder, translator, runner; every event consumed.

The counterpart of what the SDKs do: it starts the fake CLI, says `initialize`, sends the prompt and takes the events.
"""

from __future__ import annotations

import asyncio
import os
import resource
import sys
from pathlib import Path
from typing import Final

from bench.contenders.report import report, spent
from footplate.engines.base import Installed, Options
from footplate.engines.catalog import make_engine
from footplate.events.commands import SendPrompt
from footplate.events.content import TextBlock
from footplate.events.ids import PromptId
from footplate.host.process import Keeper
from footplate.runtime.runner import Runner

PROMPT: Final = SendPrompt(key="play", prompt=PromptId("play"), content=(TextBlock(text="play"),))
PAGE_KB: Final = resource.getpagesize() // 1024
SAMPLED: Final = 16
"""Memory is looked at once in so many batches."""


class Consumer:
    """Counts events, and looks at the memory of the process on the way if asked to."""

    def __init__(self, *, watch: bool) -> None:
        self.events = 0
        self._watch = watch
        self._batches = 0
        self._rss_kb: list[int] = []

    async def consume(self, runner: Runner) -> None:
        """Take everything until the agent is gone."""
        async for batch in runner.batches():
            self.events += len(batch)
            if self._watch and self._batches % SAMPLED == 0:
                self._rss_kb.append(resident_kb())
            self._batches += 1

    def quarters(self) -> list[int]:
        """Resident size at the start, after each quarter and at the end."""
        last = len(self._rss_kb) - 1
        return [self._rss_kb[last * quarter // 4] for quarter in range(5)] if self._rss_kb else []


async def run(fake: str, consumer: Consumer) -> None:
    """One conversation with the fake CLI, from its start to its end."""
    engine = make_engine("claude")
    installed = Installed(engine="claude", program=fake, version="2.1.325")
    options = Options(cwd=str(Path.cwd()), partial=True)
    async with Keeper.start() as keeper:
        runner = await Runner.start(engine, installed, options, keeper=keeper, environ=os.environ)
        runner.send(PROMPT)
        await consumer.consume(runner)


def resident_kb() -> int:
    """The memory that this process holds now."""
    return int(Path("/proc/self/statm").read_bytes().split()[1]) * PAGE_KB


def main(fake: str, *flags: str) -> None:
    """Run and report; with `--memory` also the resident size on the way."""
    consumer = Consumer(watch="--memory" in flags)
    begun = spent()
    asyncio.run(run(fake, consumer))
    report(consumer.events, spent() - begun, consumer.quarters())


if __name__ == "__main__":
    main(*sys.argv[1:])
