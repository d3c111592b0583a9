"""Sweeping without the keeper: the second line, for when the keeper itself was killed. Standard library only."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from footplate.events.wording import format_count, format_size

from .table import PAUSE_S, Sweep, Table, look

NAME_LENGTH: Final = 80

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Swept:
    """What one sweep killed, and what it could not kill."""

    marker: str
    pids: tuple[int, ...]
    survivors: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Reaped:
    """What was left over and is ended or removed: a line for each process, and the files with their size."""

    lines: tuple[str, ...] = ()
    swept: tuple[Swept, ...] = ()
    files: tuple[Path, ...] = ()
    size: int = 0

    def describe(self) -> tuple[str, ...]:
        """All of it, one line each; the files together."""
        if not self.files:
            return self.lines
        files = format_count(len(self.files), "left-over file")
        return (*self.lines, f"removed {files} ({format_size(self.size)})")


@dataclass(frozen=True, slots=True)
class Record:
    """What a keeper left in writing: who it was, and the markers of its agents."""

    path: Path
    pid: int
    start_time: int
    marker: str
    markers: frozenset[str]
    keeps: bool = False
    version: int = 1

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
    keeps, version = bool(content.get("keeps")), int(content["v"])
    return Record(path, content["pid"], content["start_time"], content["marker"], markers, keeps, version)


def _sweep_record(record: Record, alive: list[int], names: dict[int, str] | None = None) -> Swept:
    swept = _sweep(record.marker, lambda table: table.marked(record.fits) - table.below(alive), names)
    if not swept.survivors:
        record.path.unlink(missing_ok=True)
    return swept


def _sweep(marker: str, choose: Callable[[Table], set[int]], names: dict[int, str] | None = None) -> Swept:
    def chosen(table: Table) -> set[int]:
        found = choose(table)
        if names is not None:
            names.update({pid: name_of(pid) for pid in found if pid not in names})
        return found

    sweep = Sweep(chosen)
    while not sweep.step(Table()):
        time.sleep(PAUSE_S)
    return Swept(marker, tuple(sorted(sweep.killed)), tuple(sorted(sweep.survivors)))


def name_of(pid: int) -> str:
    """The command line of a process, cut short; empty when it is gone."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return ""
    return words.replace(b"\0", b" ").decode("utf-8", "replace").strip()[:NAME_LENGTH]


def collect_leftovers(state_dir: str | Path) -> Reaped:
    """End what keepers that were killed have left running, remove what they have left lying; blocks.

    Nothing is touched that belongs to a keeper which is alive.
    """
    folder = Path(state_dir) / "keepers"
    names: dict[int, str] = {}
    records = read_records(Path(state_dir))
    alive = [record for record in records if record.alive()]
    numbers = [record.pid for record in alive]
    swept = [_sweep_record(record, numbers, names) for record in records if record not in alive]
    lines = [f"ended a process that was left over: {pid} {names[pid]}" for each in swept for pid in each.pids]
    lines += [f"could not end a leftover process: {pid} {names[pid]}" for each in swept for pid in each.survivors]
    files = left_files(folder, {record.marker for record in alive})
    size = sum(path.stat().st_size for path in files)
    _remove(files, folder)
    return Reaped(tuple(lines), tuple(swept), tuple(files), size)


def _remove(files: Iterable[Path], folder: Path) -> None:
    for path in files:
        path.unlink(missing_ok=True)
    for path in folder.glob("*/"):
        if not any(folder.glob(f"{path.name}.sock")) and not any(path.iterdir()):
            path.rmdir()


def left_files(folder: Path, alive: set[str]) -> list[Path]:
    """Spools, sockets and half-written records of keepers that are gone."""
    found = [path for path in folder.glob("*/*") if path.parent.name not in alive and path.is_file()]
    found += [path for path in folder.glob("*.sock") if path.stem not in alive]
    return sorted(found + list(folder.glob("*.json.new")))
