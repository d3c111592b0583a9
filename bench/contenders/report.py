"""What a contender prints when it is done. Standard library only: the Python SDK's process imports it too."""

from __future__ import annotations

import json
import resource


def spent() -> float:
    """Seconds of CPU, user and system, of this process so far; its children do not count."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def report(events: int, cpu_s: float, rss_kb: list[int] | None = None) -> None:
    """Print the one line that the bench reads. `cpu_s` is without imports; an empty stream finds the rest."""
    print(json.dumps({"cpu_s": cpu_s, "events": events, "rss_kb": rss_kb or []}))
