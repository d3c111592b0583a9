"""Sweeping without the keeper: the second line, for when the keeper itself was killed. Standard library only."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from .table import PAUSE_S, Sweep, Table, look

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Swept:
    """What one sweep killed, and what it could not kill."""

    marker: str
    pids: tuple[int, ...]
    survivors: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Record:
    """What a keeper left in writing: who it was, and the markers of its agents."""

    path: Path
    pid: int
    start_time: int
    marker: str
    markers: frozenset[str]

    def alive(self) -> bool:
        """Tell whether that very keeper still runs."""
        seen = look(self.pid)
        return seen is not None and seen.start == self.start_time

    def fits(self, marker: str) -> bool:
        """Tell whether a marker belongs to an agent of that keeper."""
        return marker in self.markers or (self.marker != "" and marker.startswith(self.marker + "."))


def sweep_marked(markers: Iterable[str], *, keeper: str = "") -> Swept:
    """Kill what carries one of the markers, or any marker made by that keeper, and all below it; blocks."""
    record = Record(Path(), 0, 0, keeper, frozenset(markers))
    return _sweep(keeper, lambda table: table.marked(record.fits))


def sweep_leftovers(state_dir: str | Path) -> list[Swept]:
    """Kill what keepers that were killed themselves have left, and drop their records; blocks.

    What stands below a keeper that is alive is not touched, whatever it carries.
    """
    records = read_records(Path(state_dir))
    alive = [record.pid for record in records if record.alive()]
    return [_sweep_record(record, alive) for record in records if record.pid not in alive]


def read_records(state_dir: Path) -> list[Record]:
    """Read the records of all keepers; one that vanishes meanwhile is one whose keeper has ended in order."""
    found = []
    for path in sorted((state_dir / "keepers").glob("*.json")):
        try:
            found.append(_read_record(path))
        except FileNotFoundError:
            continue
        except (ValueError, KeyError, TypeError) as error:
            log.warning("a keeper's record cannot be read (cut short by a power failure?): %s: %s", path, error)
            path.unlink(missing_ok=True)
    return found


def _read_record(path: Path) -> Record:
    content = json.loads(path.read_bytes())
    markers = frozenset(content["markers"])
    return Record(path, content["pid"], content["start_time"], content["marker"], markers)


def _sweep_record(record: Record, alive: list[int]) -> Swept:
    swept = _sweep(record.marker, lambda table: table.marked(record.fits) - table.below(alive))
    if not swept.survivors:
        record.path.unlink(missing_ok=True)
    return swept


def _sweep(marker: str, choose: Callable[[Table], set[int]]) -> Swept:
    sweep = Sweep(choose)
    while not sweep.step(Table()):
        time.sleep(PAUSE_S)
    return Swept(marker, tuple(sorted(sweep.killed)), tuple(sorted(sweep.survivors)))
