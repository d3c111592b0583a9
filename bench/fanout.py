"""Events delivered to many readers of one stream: the external agent says thousands of chunks as fast as it can.

A reader is a bare socket that counts. It has lost something when it was given fewer events than there were; the other
server drops what does not fit its buffer and says nothing, so its rate is that of what did arrive.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Sequence
from contextlib import ExitStack, closing
from typing import Final

import msgspec

from bench.goals import Verdict
from bench.servers import OURS, THEIRS, Contestant, Server, against, all_running, times_more
from bench.sheet import Sheet, middle, spread
from bench.stage import NotMeasured
from bench.wire import Answers, Reader, Watch, prompt

BEFORE: Final = 2
"""Events of `initialize` and `session/new`, which every reader is given first."""

QUIET_S: Final = 3.0
"""When nothing came for so long, what is missing is lost."""

HEAD: Final = ("readers", "server", "events/s", "lowest-highest", "lost %", "lowest-highest", "CPU us each")


class Scale(msgspec.Struct, frozen=True, kw_only=True):
    """How much is measured: how many readers at once, and how many deliveries to all of them in a round."""

    readers: tuple[int, ...] = (1, 100, 500)
    deliveries: int = 1_000_000
    most: int = 20_000
    rounds: int = 5

    def chunks(self, readers: int) -> int:
        """How many chunks the agent says."""
        return min(self.most, max(10, self.deliveries // readers))


QUICK: Final = Scale(readers=(1, 20), deliveries=20_000, most=2000, rounds=1)


class Round(msgspec.Struct, frozen=True, kw_only=True):
    """One round of one server."""

    rate: float
    lost: float
    cpu_us: float


Rounds = defaultdict[tuple[int, str], list[Round]]


def measure_fanout(scale: Scale, found: Sequence[Contestant]) -> Sheet:
    """Both servers run all the time and take turns, each round with the other one first."""
    title = f"events delivered from an external agent, median of {scale.rounds}"
    rounds: Rounds = defaultdict(list)
    try:
        with all_running(found) as servers:
            for number in range(scale.rounds):
                for readers in scale.readers:
                    for server in servers if number % 2 == 0 else servers[::-1]:
                        rounds[readers, server.name].append(_round(server, readers, scale.chunks(readers), number))
    except NotMeasured as why:
        return Sheet(name="fanout", title=title, why=str(why))
    return _sheet(title, rounds, scale)


def _round(server: Server, readers: int, chunks: int, number: int) -> Round:
    name = f"fanout-{number}-{readers}"
    server.begin(name)
    with ExitStack() as stack:
        watch = stack.enter_context(closing(Watch()))
        found = [stack.enter_context(closing(Reader(server.port, f"/v1/acp/{name}"))) for _ in range(readers)]
        answers = stack.enter_context(closing(Answers(server.port)))
        for reader in found:
            watch.add(reader.socket, reader.take)
        if not watch.until(lambda: all(reader.seen >= BEFORE for reader in found)):
            raise NotMeasured(f"{server.name}: a reader was not given how the session began")
        watch.add(answers.socket, answers.take)
        wanted = BEFORE + chunks + 1
        before, began = server.cpu_s(), time.monotonic()
        answers.ask(prompt(name, chunks, 3))
        watch.until(lambda: all(reader.seen >= wanted for reader in found), quiet_s=QUIET_S)
        took_s = max(reader.at for reader in found) - began
        spent_s = server.cpu_s() - before
        given = sum(reader.seen - BEFORE for reader in found)
        sent = (chunks + 1) * readers
    if server.name == OURS:
        server.call("DELETE", f"/v1/acp/{name}")
    return Round(rate=given / took_s, lost=100 * (1 - given / sent), cpu_us=spent_s / max(1, given) * 1e6)


def _sheet(title: str, rounds: Rounds, scale: Scale) -> Sheet:
    rate = {key: [each.rate for each in found] for key, found in rounds.items()}
    lost = {key: [each.lost for each in found] for key, found in rounds.items()}
    cpu = {key: [each.cpu_us for each in found] for key, found in rounds.items()}
    return Sheet(
        name="fanout",
        title=title,
        head=HEAD,
        rows=tuple(_cells(*key, found) for key, found in rounds.items()),
        samples={
            f"{readers} readers, {name}, {what}": found[readers, name]
            for readers, name in rounds
            for what, found in (("events/s", rate), ("lost %", lost), ("CPU us", cpu))
        },
        goals=(
            *(
                against(
                    times_more,
                    f"fanout: {readers} readers, ahead of {THEIRS}",
                    (rate.get((readers, OURS)), rate.get((readers, THEIRS))),
                    1.0,
                )
                for readers in scale.readers
                if readers > 1
            ),
            _judge_loss([each for (_, name), found in lost.items() if name == OURS for each in found]),
        ),
    )


def _cells(readers: int, name: str, found: list[Round]) -> tuple[str, ...]:
    rate, lost = [each.rate for each in found], [each.lost for each in found]
    cpu = [each.cpu_us for each in found]
    return (
        str(readers),
        name,
        middle(rate, ",.0f"),
        spread(rate, ",.0f"),
        middle(lost, ".2f"),
        spread(lost, ".2f"),
        middle(cpu, ".2f"),
    )


def _judge_loss(lost: list[float]) -> Verdict:
    return Verdict(goal="fanout: ours loses nothing", found=f"{max(lost):.2f} %", met=max(lost) == 0.0)
