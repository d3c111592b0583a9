"""A gigabyte out of and into both servers: how fast, and how much memory the server takes for it."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import msgspec

from bench.servers import OURS, THEIRS, Contestant, Server, against, all_running, times_more
from bench.sheet import Sheet, below, middle, spread
from bench.stage import NotMeasured, Stage
from bench.wire import Transfer, download, upload

FACTOR: Final = 2.0
FLAT_MB: Final = 32.0
PIECE: Final = 1024 * 1024
DOWN, UP = "download", "upload"
HEAD: Final = ("file", "server", "MB/s", "lowest-highest", "CPU s", "memory added, MB", "lowest-highest")


class Scale(msgspec.Struct, frozen=True, kw_only=True):
    """How much is measured."""

    size: int = 1_000_000_000
    rounds: int = 3


QUICK: Final = Scale(size=20_000_000, rounds=1)


class Round(msgspec.Struct, frozen=True, kw_only=True):
    """One file through one server; `refused` is the status, if it was."""

    mb_s: float
    added_mb: float
    cpu_s: float
    refused: int = 0


Rounds = defaultdict[tuple[str, str], list[Round]]


def measure_files(stage: Stage, scale: Scale, found: Sequence[Contestant]) -> Sheet:
    """Both servers take turns; the file to be read is in the memory of the system for both."""
    title = f"a file of {scale.size / 1e9:g} GB, median of {scale.rounds}"
    rounds: Rounds = defaultdict(list)
    source, target = stage.home / "large", stage.home / "landed"
    _fill(source, scale.size)
    try:
        with all_running(found) as servers:
            for number in range(scale.rounds):
                for server in servers if number % 2 == 0 else servers[::-1]:
                    rounds[DOWN, server.name].append(_download(server, source, scale.size))
                    rounds[UP, server.name].append(_upload(server, target, scale.size))
                    target.unlink(missing_ok=True)
    except NotMeasured as why:
        return Sheet(name="files", title=title, why=str(why))
    finally:
        source.unlink()
    return _sheet(title, rounds)


def _fill(path: Path, size: int) -> None:
    with path.open("wb") as file:
        while size:
            size -= file.write(os.urandom(min(PIECE, size)))


def _download(server: Server, path: Path, size: int) -> Round:
    return _measure(server, lambda: download(server.port, f"/v1/fs/file?path={path}"), size)


def _upload(server: Server, path: Path, size: int) -> Round:
    return _measure(server, lambda: upload(server.port, f"/v1/fs/file?path={path}", size), size)


def _measure(server: Server, transfer: Callable[[], Transfer], size: int) -> Round:
    server.forget_peak()
    memory, cpu = server.peak_mb(), server.cpu_s()
    done = transfer()
    added, spent = server.peak_mb() - memory, server.cpu_s() - cpu
    if done.status >= 300:
        return Round(mb_s=0.0, added_mb=added, cpu_s=spent, refused=done.status)
    if done.size != size:
        raise NotMeasured(f"{server.name}: {done.size} bytes of {size} came")
    return Round(mb_s=done.mb_s, added_mb=added, cpu_s=spent)


def _sheet(title: str, rounds: Rounds) -> Sheet:
    rate = {key: [each.mb_s for each in found if not each.refused] for key, found in rounds.items()}
    added = {key: [each.added_mb for each in found] for key, found in rounds.items()}
    return Sheet(
        name="files",
        title=title,
        head=HEAD,
        rows=tuple(_cells(*key, found) for key, found in rounds.items()),
        samples={
            f"{what}, {name}, {figure}": found[what, name]
            for what, name in rounds
            for figure, found in (("MB/s", rate), ("memory added, MB", added))
        },
        goals=(
            against(
                times_more,
                f"files: download at least {FACTOR:g}x the rate of {THEIRS}",
                (rate.get((DOWN, OURS)), rate.get((DOWN, THEIRS))),
                FACTOR,
            ),
            *(
                below(f"files: {what} adds less than {FLAT_MB:g} MB of memory", added[what, OURS], FLAT_MB, " MB")
                for what in (DOWN, UP)
            ),
        ),
    )


def _cells(what: str, name: str, found: list[Round]) -> tuple[str, ...]:
    refused = next((each.refused for each in found if each.refused), 0)
    rate, added = [each.mb_s for each in found], [each.added_mb for each in found]
    return (
        what,
        name,
        f"refused: {refused}" if refused else middle(rate, ".0f"),
        "" if refused else spread(rate, ".0f"),
        middle([each.cpu_s for each in found], ".2f"),
        middle(added, ".1f"),
        spread(added, ".1f"),
    )
