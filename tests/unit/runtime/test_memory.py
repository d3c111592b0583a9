"""An agent that uses too much is ended and it is told; a machine that is short of memory is noticed."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import msgspec
import pytest

from footplate.config.settings import CommonSettings
from footplate.engines.base import Exit, Spawn
from footplate.events.model import LimitReached
from footplate.host.process import Keeper
from footplate.host.resources import ResourceLimits
from footplate.runtime import memory
from footplate.runtime.limits import Limits, agent_resources
from footplate.runtime.memory import Memory, choose_evictions, measure_memory, memory_is_short
from footplate.runtime.wires import open_wire

ENV = {"PATH": os.environ["PATH"]}
EATER = "import time; data = bytearray({mb} << 20); print('full', flush=True); time.sleep(1000)"


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look often, so that no test waits long."""
    monkeypatch.setattr(memory, "CALM_S", 0.02)
    monkeypatch.setattr(memory, "CLOSE_S", 0.01)


async def _end(script: str, limits: ResourceLimits) -> Exit:
    """Run a shell script as an agent until it ends."""
    async with Keeper.start() as keeper:
        wire = await open_wire(Spawn(argv=("sh", "-c", script), env=ENV, cwd="/"), keeper, limits=limits)
        async with asyncio.timeout(20):
            while await wire.read() is not None:
                pass
        return await wire.end()


async def test_an_agent_whose_child_eats_memory_is_ended_and_it_is_told() -> None:
    script = f'trap "echo asked; exit 3" TERM; python3 -c "{EATER.format(mb=200)}" & wait'
    ending = await _end(script, ResourceLimits(memory_mb=120))
    (told,) = ending.limits
    assert (told.kind, told.status, told.name) == ("other", "reached", "agent memory")
    assert told.text.endswith("MB of 120 MB memory")
    assert ending.code == 3  # it was asked to go, and went
    assert ending.reason == f"it was stopped: {told.text}"


async def test_an_agent_that_starts_too_many_processes_is_ended_and_it_is_told() -> None:
    ending = await _end("for i in 1 2 3 4 5 6; do sleep 1000 & done; wait", ResourceLimits(processes=5))
    (told,) = ending.limits
    assert told.name == "agent processes"
    assert told.text in {f"the agent runs {count} of at most 5 processes" for count in (6, 7)}


async def test_an_agent_that_uses_too_much_cpu_is_ended_and_it_is_told() -> None:
    ending = await _end("while :; do :; done", ResourceLimits(cpu_s=1))
    assert [each.name for each in ending.limits] == ["agent cpu"]


async def test_an_agent_within_its_limits_is_left_alone() -> None:
    ending = await _end("sleep 0.2; exit 4", ResourceLimits(memory_mb=500, cpu_s=60, processes=10))
    assert ending == Exit(code=4, reason="exit code 4")


def test_a_limit_that_was_reached_reads_back_the_same() -> None:
    told = LimitReached(kind="other", status="reached", name="agent memory", text="the agent uses 2 MB of 1 MB memory")
    assert msgspec.json.decode(msgspec.json.encode(told), type=LimitReached) == told


def test_a_session_and_its_engine_both_limit_the_agent() -> None:
    common = CommonSettings(memory_mb=500, processes=50)
    assert agent_resources(Limits(memory_mb=900, cpu_s=60), common) == ResourceLimits(
        memory_mb=500, cpu_s=60, processes=50
    )


# ---- the machine ----


def _machine(root: Path, *, total: int, available: int, cgroup: str = "", **files: str) -> Path:
    texts = {
        "proc/meminfo": f"MemTotal: {total * 1024} kB\nMemFree: 1 kB\nMemAvailable: {available * 1024} kB\n",
        "proc/self/cgroup": cgroup,
        **{f"sys/fs/cgroup/{name.replace('__', '/').replace('_DOT_', '.')}": text for name, text in files.items()},
    }
    for name, text in texts.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


@pytest.mark.parametrize(
    ("total", "available", "short"),
    [(16_000, 8_000, False), (16_000, 1_100, False), (16_000, 1_000, True), (2_000, 130, False), (2_000, 110, True)],
)
def test_memory_is_short_when_little_is_left(tmp_path: Path, total: int, available: int, short: bool) -> None:
    assert memory_is_short(_machine(tmp_path, total=total, available=available)) is short


def _bytes(mb: int) -> str:
    return f"{mb * 1024 * 1024}\n"


def test_the_limit_of_a_control_group_counts(tmp_path: Path) -> None:
    files = {
        "app__memory_DOT_max": _bytes(2000),
        "app__memory_DOT_current": _bytes(1950),
        "app__memory_DOT_stat": f"anon 1\ninactive_file {_bytes(20)}",
    }
    root = _machine(tmp_path, total=64_000, available=32_000, cgroup="0::/app\n", **files)
    assert measure_memory(root) == Memory(total_mb=2000, available_mb=70)
    assert memory_is_short(root)


def test_the_limit_of_a_control_group_of_the_older_kind_counts(tmp_path: Path) -> None:
    files = {
        "memory__memory_DOT_limit_in_bytes": _bytes(2000),
        "memory__memory_DOT_usage_in_bytes": _bytes(500),
        "memory__memory_DOT_stat": "inactive_file 0\n",
    }
    root = _machine(tmp_path, total=64_000, available=32_000, cgroup="4:memory:/of/the/host\n0::/\n", **files)
    assert measure_memory(root) == Memory(total_mb=2000, available_mb=1500)


def test_a_control_group_without_a_limit_does_not_count(tmp_path: Path) -> None:
    files = {"memory_DOT_max": "max\n", "memory_DOT_current": _bytes(1), "memory_DOT_stat": ""}
    root = _machine(tmp_path, total=64_000, available=32_000, cgroup="0::/\n", **files)
    assert measure_memory(root) == Memory(total_mb=64_000, available_mb=32_000)


def test_where_nobody_tells_memory_is_not_short(tmp_path: Path) -> None:
    assert measure_memory(tmp_path) is None
    assert not memory_is_short(tmp_path)


def test_this_machine_tells() -> None:
    found = measure_memory()
    assert found is not None
    assert 0 < found.available_mb <= found.total_mb


# ---- who goes ----


class Idle(msgspec.Struct, frozen=True):
    idle_since: float
    attached: bool = True
    working: bool = False
    resumable: bool = True


def test_who_was_idle_for_too_long_goes() -> None:
    sessions = [Idle(0.0), Idle(950.0), Idle(0.0, working=True), Idle(0.0, attached=False)]
    assert choose_evictions(sessions, now=1000.0, idle_s=600.0, short=False) == [Idle(0.0)]


@pytest.mark.parametrize("short", [False, True])
def test_who_could_not_be_resumed_stays(short: bool) -> None:
    assert choose_evictions([Idle(0.0, resumable=False)], now=1000.0, idle_s=600.0, short=short) == []


def test_when_memory_is_short_who_is_idle_longest_goes_one_at_a_time() -> None:
    sessions = [Idle(980.0), Idle(950.0), Idle(0.0, working=True)]
    assert choose_evictions(sessions, now=1000.0, idle_s=600.0, short=True) == [Idle(950.0)]
    assert choose_evictions(sessions[:1], now=983.0, idle_s=600.0, short=True) == []
