"""Round trips of a prompt through both servers, to the same external agent: one client, and many at once.

A client has a connection of its own (an agent process of its own) and its stream open, as the published SDK has. The
agent says one chunk and answers; what is measured is from the POST to its answer.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Sequence
from contextlib import ExitStack, closing
from typing import Final

import msgspec

from bench.servers import OURS, THEIRS, Contestant, Server, against, all_running, times_less
from bench.sheet import Sheet, middle, spread
from bench.stage import NotMeasured
from bench.wire import Answers, Reader, Watch, prompt, quantile

WARM_UP: Final = 5
ALONE: Final = 1.5
MANY: Final = 1.0
HEAD: Final = ("clients", "server", "p50 ms", "lowest-highest", "p99 ms", "lowest-highest", "prompts/s", "CPU us each")


class Scale(msgspec.Struct, frozen=True, kw_only=True):
    """How much is measured: how many clients at once, and how many prompts of all of them together in a round."""

    clients: tuple[int, ...] = (1, 50)
    prompts: int = 2000
    rounds: int = 5


QUICK: Final = Scale(clients=(1, 5), prompts=50, rounds=1)


class Round(msgspec.Struct, frozen=True, kw_only=True):
    """One round of one server."""

    p50: float
    p99: float
    rate: float
    cpu_us: float


Rounds = defaultdict[tuple[int, str], list[Round]]


def measure_prompts(scale: Scale, found: Sequence[Contestant]) -> Sheet:
    """Both servers run all the time and take turns, each round with the other one first."""
    title = f"a prompt to an external agent, {scale.prompts} a round, median of {scale.rounds}"
    rounds: Rounds = defaultdict(list)
    try:
        with all_running(found) as servers:
            for number in range(scale.rounds):
                for clients in scale.clients:
                    for server in servers if number % 2 == 0 else servers[::-1]:
                        rounds[clients, server.name].append(_round(server, clients, scale.prompts, number))
    except NotMeasured as why:
        return Sheet(name="prompts", title=title, why=str(why))
    return _sheet(title, rounds, scale)


def _round(server: Server, clients: int, prompts: int, number: int) -> Round:
    with ExitStack() as stack:
        drivers: list[_Driver] = []
        watch = stack.enter_context(closing(Watch()))
        for client in range(clients):
            name = f"prompts-{number}-{clients}-{client}"
            server.begin(name)
            stack.callback(_end, server, name)
            answers = stack.enter_context(closing(Answers(server.port)))
            reader = stack.enter_context(closing(Reader(server.port, f"/v1/acp/{name}")))
            drivers.append(driver := _Driver(name, answers, max(1, prompts // clients)))
            watch.add(reader.socket, reader.take)
            watch.add(answers.socket, driver.take)
        before, began = server.cpu_s(), time.monotonic()
        for driver in drivers:
            driver.ask()
        if not watch.until(lambda: all(driver.done for driver in drivers)):
            raise NotMeasured(f"{server.name} gave no answer any more")
        spent_s, took_s = server.cpu_s() - before, time.monotonic() - began
        samples = [each for driver in drivers for each in driver.samples[min(WARM_UP, len(driver.samples) // 2) :]]
        total = sum(len(driver.samples) for driver in drivers)
    return Round(
        p50=quantile(samples, 0.5),
        p99=quantile(samples, 0.99),
        rate=total / took_s,
        cpu_us=spent_s / total * 1e6,
    )


def _end(server: Server, name: str) -> None:
    if server.name == OURS:  # the other one never answers this while the agent lives; it goes with the server
        server.call("DELETE", f"/v1/acp/{name}")


class _Driver:
    """One client: prompt after prompt."""

    def __init__(self, name: str, answers: Answers, count: int) -> None:
        self._name = name
        self._answers = answers
        self._left = count
        self._asked = 0.0
        self.samples: list[float] = []

    @property
    def done(self) -> bool:
        """Whether it has all its answers."""
        return not self._left

    def ask(self) -> None:
        """Send the next prompt."""
        request = prompt(self._name, 1, 10 + self._left)
        self._asked = time.perf_counter()
        self._answers.ask(request)

    def take(self) -> None:
        """There is something to read."""
        if not self._answers.take():
            return
        self.samples.append((time.perf_counter() - self._asked) * 1e3)
        self._left -= 1
        if self._left:
            self.ask()


def _sheet(title: str, rounds: Rounds, scale: Scale) -> Sheet:
    p50 = {key: [each.p50 for each in found] for key, found in rounds.items()}
    p99 = {key: [each.p99 for each in found] for key, found in rounds.items()}
    rate = {key: [each.rate for each in found] for key, found in rounds.items()}
    cpu = {key: [each.cpu_us for each in found] for key, found in rounds.items()}
    return Sheet(
        name="prompts",
        title=title,
        head=HEAD,
        rows=tuple(_cells(*key, found) for key, found in rounds.items()),
        samples={
            f"{clients} clients, {name}, {what}": found[clients, name]
            for clients, name in rounds
            for what, found in (("p50 ms", p50), ("p99 ms", p99), ("prompts/s", rate), ("CPU us", cpu))
        },
        goals=tuple(
            against(
                times_less,
                f"prompts: {what} of {clients} within {limit:g}x of {THEIRS}",
                (found.get((clients, OURS)), found.get((clients, THEIRS))),
                limit,
            )
            for clients, limit in zip(scale.clients, (ALONE, MANY), strict=False)
            for what, found in (("p50", p50), ("p99", p99))
        ),
    )


def _cells(clients: int, name: str, found: list[Round]) -> tuple[str, ...]:
    p50, p99 = [each.p50 for each in found], [each.p99 for each in found]
    return (
        str(clients),
        name,
        middle(p50, ".2f"),
        spread(p50, ".2f"),
        middle(p99, ".2f"),
        spread(p99, ".2f"),
        middle([each.rate for each in found], ".0f"),
        middle([each.cpu_us for each in found], ".0f"),
    )
