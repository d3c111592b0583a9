"""What an agent may use: limits as values, limits that the kernel holds, and what a tree of real processes uses."""

from __future__ import annotations

import resource
from pathlib import Path

import msgspec
import pytest

from footplate.config.settings import CommonSettings
from footplate.errors import SpawnFailed
from footplate.host.child import Process
from footplate.host.confinement import confine
from footplate.host.process import Keeper, Spawn
from footplate.host.program import allow_files
from footplate.host.resources import (
    Excess,
    ResourceLimits,
    Tree,
    Usage,
    children_of,
    excess,
    read_resources,
    share,
    stricter,
)
from footplate.host.sandbox import LAYERS, Sandbox
from footplate.host.table import Table, look
from tests.bubblewrap import need_bubblewrap

from .conftest import ENV, Run, Until

# ---- as values ----


@pytest.mark.parametrize(
    ("limits", "name"),
    [
        (ResourceLimits(), None),
        (ResourceLimits(memory_mb=100, cpu_s=10, processes=5), None),
        (ResourceLimits(memory_mb=99), "agent memory"),
        (ResourceLimits(cpu_s=9), "agent cpu"),
        (ResourceLimits(processes=4), "agent processes"),
    ],
)
def test_the_limit_that_is_over_is_named(limits: ResourceLimits, name: str | None) -> None:
    over = excess(limits, Usage(memory_mb=100, cpu_s=10.0, processes=5))
    assert (over.name if over else None) == name


def test_an_excess_says_how_much_of_what() -> None:
    assert excess(ResourceLimits(memory_mb=512), Usage(memory_mb=700)) == Excess(
        name="agent memory", text="the agent uses 700 MB of 512 MB memory"
    )
    over = excess(ResourceLimits(cpu_s=3600), Usage(cpu_s=3725.4))
    assert over == Excess(name="agent cpu", text="the agent used 1h 02m of 1h 00m CPU time")


def test_the_scarcest_limit_counts() -> None:
    usage = Usage(memory_mb=50, cpu_s=1.0, processes=9)
    assert share(ResourceLimits(memory_mb=100, cpu_s=10, processes=10), usage) == 0.9
    assert share(ResourceLimits(), usage) == 0.0


def test_of_two_limits_the_smaller_holds() -> None:
    one, two = ResourceLimits(memory_mb=10, cpu_s=5), ResourceLimits(memory_mb=20, processes=3)
    assert stricter(one, two) == stricter(two, one) == ResourceLimits(memory_mb=10, cpu_s=5, processes=3)


def test_limits_come_from_the_settings_of_an_engine() -> None:
    section = {"memory_mb": 1, "cpu_s": 2, "processes": 3, "open_files": 4}
    assert read_resources(msgspec.convert(section, CommonSettings)) == ResourceLimits(
        memory_mb=1, cpu_s=2, processes=3, open_files=4
    )
    assert not read_resources(CommonSettings()).watched


# ---- in the kernel ----


async def _say(keeper: Keeper, script: str, **bounds: object) -> list[str]:
    spec = Spawn(argv=("sh", "-c", script), env=ENV, cwd="/", **bounds)  # type: ignore[arg-type]
    process = await keeper.spawn(spec)
    block = await process.read()
    assert block is not None
    await process.end()
    return block.lines.decode().split()


async def test_the_kernel_holds_each_process_to_its_limits(keeper: Keeper) -> None:
    limits = ResourceLimits(cpu_s=7, open_files=64).kernel_limits()
    assert await _say(keeper, "echo $(ulimit -t) $(ulimit -n)", limits=limits) == ["37", "64"]


async def test_a_limit_above_our_own_is_cut_to_it(keeper: Keeper) -> None:
    ours = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    assert await _say(keeper, "ulimit -Hn", limits={"RLIMIT_NOFILE": ours + 1}) == [str(ours)]


async def test_a_service_may_open_as_many_files_as_the_system_allows_and_its_agents_as_many_as_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    monkeypatch.setattr("footplate.host.program._own_files", None)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, before[1]))
    try:
        allow_files()
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (before[1], before[1])
        async with Keeper.start() as keeper:
            assert await _say(keeper, "echo $(ulimit -Sn) $(ulimit -Hn)") == ["256", str(before[1])]
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


async def test_a_limit_that_does_not_exist_is_refused(keeper: Keeper) -> None:
    with pytest.raises(SpawnFailed, match="RLIMIT_LUCK"):
        await keeper.spawn(Spawn(argv=("true",), env=ENV, cwd="/", limits={"RLIMIT_LUCK": 1}))


async def test_the_kernel_takes_an_agent_before_the_service(keeper: Keeper) -> None:
    (text,) = await _say(keeper, "cat /proc/self/oom_score_adj")
    ours = int(text)
    assert await _say(keeper, "cat /proc/self/oom_score_adj", oom_score_adj=ours + 50) == [str(ours + 50)]
    assert await _say(keeper, "cat /proc/self/oom_score_adj", oom_score_adj=ours - 50) == [str(ours)]


# ---- measured ----


def _tree(process: Process) -> Tree:
    return Tree(process.pid, process.marker, layers=process.layers)


FAMILY = "sleep 1000 & (setsid sleep 1000 & ); echo ready; cat > /dev/null"
"""A shell with a child, a stray that moved to a session of its own, and a command: four processes."""


async def test_a_tree_is_the_agent_with_all_that_it_started_and_nobody_else(run: Run, until: Until) -> None:
    one, two = await run(FAMILY), await run(FAMILY)
    for process in (one, two):
        await process.read()
    await until(lambda: [_tree(process).usage().processes for process in (one, two)] == [4, 4])
    assert not _tree(one).members() & _tree(two).members()
    both = _tree(one).members() | _tree(two).members()
    await until(lambda: both == Table().below([look(one.pid).ppid]))  # type: ignore[union-attr]
    await one.end()
    assert _tree(one).usage() == Usage(processes=1)  # there is nothing to measure any more
    await two.end()


EATER = "import sys; data = bytearray(96 << 20); print('full', flush=True); sys.stdin.read()"


async def test_memory_counts_what_children_hold_and_shared_pages_once(keeper: Keeper) -> None:
    fork = f"import os; {EATER.replace('print', 'os.fork() or os.fork(); print')}"
    spec = Spawn(argv=("/usr/bin/env", "python3", "-c", fork), env=ENV, cwd="/")
    process = await keeper.spawn(spec)
    lines = 0
    while lines < 3:
        block = await process.read()
        assert block is not None
        lines += block.lines.count(b"\n")
    tree = _tree(process)
    assert tree.usage().memory_mb > 3 * 96
    assert 96 < tree.usage(exact=True).memory_mb < 2 * 96
    await process.end()


async def test_cpu_time_counts_also_children_that_are_gone(run: Run, until: Until) -> None:
    process = await run("(i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done); echo ready; cat > /dev/null")
    await process.read()
    await until(lambda: _tree(process).usage().cpu_s > 0.1)
    await process.end()


def _states(pids: set[int]) -> set[bytes]:
    return {seen.state for seen in map(look, pids) if seen}


async def test_freezing_spares_the_agent_itself(run: Run, until: Until) -> None:
    process = await run(FAMILY)
    await process.read()
    tree = _tree(process)
    await until(lambda: len(tree.members()) == 4)
    tree.freeze()
    await until(lambda: _states(tree.members() - {process.pid}) == {b"T"})
    assert _states({process.pid}) != {b"T"}
    await process.end()


async def test_freezing_spares_the_layers_of_a_sandbox(keeper: Keeper, tmp_path: Path, until: Until) -> None:
    need_bubblewrap()
    project = tmp_path / "project"
    project.mkdir()
    env = {**ENV, "HOME": str(tmp_path)}
    argv = confine(["sh", "-c", FAMILY], sandbox=Sandbox(), env=env, cwd=str(project))
    process = await keeper.spawn(Spawn(argv=argv, env=env, cwd=str(project), layers=LAYERS))
    await process.read()
    tree = _tree(process)
    await until(lambda: tree.usage().processes == 4)
    tree.freeze()
    (first,) = children_of(process.pid)
    agent = Table().inside(process.pid, LAYERS)
    assert agent is not None
    spared = {process.pid, first, agent.pid}
    await until(lambda: _states(tree.members() - spared) == {b"T"})
    assert b"T" not in _states(spared)
    await process.end()
