"""What a server costs before anybody does anything with it, and with a thousand sessions of the built-in mock agent.

The thousand sessions are ours alone: the other server's mock only echoes what it is sent and knows no sessions.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from typing import Final

import msgspec

from bench.servers import OURS, THEIRS, Contestant, Server, against, running, times_less
from bench.sheet import Sheet, below, middle, spread
from bench.stage import NotMeasured

START_FACTOR: Final = 2.0
IDLE_MB: Final = 60.0
SESSIONS_MB: Final = 250.0
HEAD: Final = ("", "server", "median", "lowest-highest")
START, IDLE, LIVE = "start to healthy, ms", "idle, MB", "sessions live, MB"


class Scale(msgspec.Struct, frozen=True, kw_only=True):
    """How much is measured."""

    starts: int = 15
    sessions: int = 1000
    rounds: int = 3


QUICK: Final = Scale(starts=2, sessions=20, rounds=1)
Samples = defaultdict[tuple[str, str], list[float]]


def measure_serving(scale: Scale, found: Sequence[Contestant]) -> Sheet:
    """Every start is one of a fresh process, with a folder that has been used before; the two take turns."""
    title = f"{scale.starts} starts, {scale.sessions} mock sessions, median of {scale.rounds}"
    able = [each for each in found if not each.why]
    samples: Samples = defaultdict(list)
    try:
        for number in range(1 + scale.starts):
            for contestant in able if number % 2 == 0 else able[::-1]:
                with running(contestant) as server:
                    if number:  # the first start fills the caches and the folder
                        samples[START, contestant.name].append(server.healthy_ms)
                        samples[IDLE, contestant.name].append(server.rss_mb())
        for _ in range(scale.rounds):
            samples[LIVE, OURS].append(_live(able[0], scale.sessions))
    except NotMeasured as why:
        return Sheet(name="serving", title=title, why=str(why))
    return _sheet(title, samples, scale)


def _live(contestant: Contestant, sessions: int) -> float:
    """The memory with so many sessions, each of which has answered one prompt."""
    with running(contestant) as server:
        server.rpc("live", "initialize", {"protocolVersion": 1, "clientCapabilities": {}}, agent="mock")
        for number in range(sessions):
            _begin(server, number)
        return server.rss_mb()


def _begin(server: Server, number: int) -> None:
    made = server.rpc("live", "session/new", {"cwd": str(server.home), "mcpServers": []}, rpc_id=2 * number + 2)
    session = json.loads(made)["result"]["sessionId"]
    prompt = {"sessionId": session, "prompt": [{"type": "text", "text": "hello"}]}
    answer = json.loads(server.rpc("live", "session/prompt", prompt, rpc_id=2 * number + 3))
    if "result" not in answer:
        raise NotMeasured(f"{server.name}: a prompt was answered {answer}")


def _sheet(title: str, samples: Samples, scale: Scale) -> Sheet:
    return Sheet(
        name="serving",
        title=title,
        head=HEAD,
        rows=tuple((what, name, *_cells(found)) for (what, name), found in samples.items()),
        samples={f"{what}, {name}": found for (what, name), found in samples.items()},
        goals=(
            against(
                times_less,
                f"serving: from start to healthy under {START_FACTOR:g}x {THEIRS}",
                (samples.get((START, OURS)), samples.get((START, THEIRS))),
                START_FACTOR,
            ),
            below(f"serving: less than {IDLE_MB:g} MB when idle", samples[IDLE, OURS], IDLE_MB, " MB"),
            below(
                f"serving: less than {SESSIONS_MB:g} MB with {scale.sessions} live mock sessions",
                samples[LIVE, OURS],
                SESSIONS_MB,
                " MB",
            ),
        ),
    )


def _cells(samples: Sequence[float]) -> tuple[str, str]:
    return middle(samples, ".1f"), spread(samples, ".1f")
