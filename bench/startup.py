"""Start-up: the CPU of our commands as a multiple of an interpreter that does nothing."""

from __future__ import annotations

import os
import statistics
import sys
from collections.abc import Mapping
from typing import Final

import msgspec

from bench.goals import Verdict, judge_limit

NOTHING: Final = "python -c pass"
COMMANDS: Final[dict[str, tuple[str, ...]]] = {
    NOTHING: ("-c", "pass"),
    "import footplate": ("-c", "import footplate"),
    "footplate --help": ("-c", "import sys; from footplate.main import main; sys.exit(main())", "--help"),
}
LIMITS: Final = {"import footplate": 4.0, "footplate --help": 6.0}


class Start(msgspec.Struct, frozen=True, kw_only=True):
    """One command: median CPU and spread in milliseconds, and the multiple of doing nothing."""

    command: str
    cpu_ms: float = 0.0
    lowest: float = 0.0
    highest: float = 0.0
    ratio: float = 0.0
    why: str = ""

    def judge(self) -> Verdict:
        """Against its limit."""
        limit = LIMITS[self.command]
        return judge_limit(f"startup: {self.command} < {limit:g}x {NOTHING}", None if self.why else self.ratio, limit)


def measure_startup(environment: Mapping[str, str], *, rounds: int) -> list[Start]:
    """Every command in turn, so many times; the first round only warms the caches of the disk."""
    samples: dict[str, list[float]] = {command: [] for command in COMMANDS}
    failed: set[str] = set()
    for number in range(rounds + 1):
        for command, arguments in COMMANDS.items():
            code, cpu_ms = _run((sys.executable, *arguments), environment)
            if code:
                failed.add(command)
            elif number:
                samples[command].append(cpu_ms)
    unit = statistics.median(samples[NOTHING])
    return [
        Start(command=command, why="the command failed")
        if command in failed
        else _start(command, samples[command], unit)
        for command in COMMANDS
    ]


def _start(command: str, samples: list[float], unit: float) -> Start:
    median = statistics.median(samples)
    return Start(command=command, cpu_ms=median, lowest=min(samples), highest=max(samples), ratio=median / unit)


def _run(argv: tuple[str, ...], environment: Mapping[str, str]) -> tuple[int, float]:
    """Exit code and CPU in milliseconds of one process with all it waited for."""
    silent = [(os.POSIX_SPAWN_OPEN, stream, os.devnull, os.O_RDWR, 0) for stream in (0, 1, 2)]
    child = os.posix_spawn(argv[0], argv, environment, file_actions=silent)
    _, status, usage = os.wait4(child, 0)
    return os.waitstatus_to_exitcode(status), (usage.ru_utime + usage.ru_stime) * 1000
