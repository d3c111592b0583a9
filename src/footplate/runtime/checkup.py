"""What can be told about this installation without a service: small checks, each with a verdict and an advice.

A check is a coroutine function that takes a `Patient` and gives findings; it changes nothing. Those of this floor are
listed in `checkups.py`.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Final, Literal

import msgspec

from footplate.config.places import data_folder
from footplate.config.settings import Settings, load_settings
from footplate.engines.catalog import engine_names, make_engine
from footplate.engines.commands import with_agents
from footplate.errors import ConfigError, HostError
from footplate.events.wording import format_count, format_duration, format_size
from footplate.host.keepers import connect
from footplate.host.messages import KeptAgent, Listed
from footplate.host.sweep import Record, left_files, read_records
from footplate.host.table import Table

Status = Literal["ok", "warn", "fail"]
MEMORY_KB: Final = 15_000


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was looked at: how it is, what that means, and what to do about it."""

    name: str
    status: Status
    text: str
    advice: str = ""
    facts: dict[str, object] = {}


class Patient(msgspec.Struct, frozen=True):
    """What is looked at."""

    environ: Mapping[str, str]
    data: Path
    settings: Settings | None = None
    """None when they cannot be read: `check_settings` says why."""

    port: int = 0
    """The port that a server here is to have; 0: any."""

    drilled: bool = False
    """Whether the agent of new sessions is tried, too."""


Check = Callable[[Patient], Awaitable[list[Finding]]]


def admit(environ: Mapping[str, str], *, port: int = 0, drilled: bool = False) -> Patient:
    """What is to be looked at in this environment."""
    try:
        settings: Settings | None = read_settings(environ)
    except ConfigError:
        settings = None
    return Patient(environ, data_folder(environ), settings, port, drilled)


def read_settings(environ: Mapping[str, str]) -> Settings:
    """Every setting, those of each engine read, too. Raises `ConfigError`."""
    settings = with_agents(load_settings(environ), environ)
    for name in engine_names(settings):
        make_engine(name, settings)
    return settings


async def examine(patient: Patient, checks: tuple[Check, ...]) -> list[Finding]:
    """All findings, in the order of the checks; what cannot be looked at is one, too."""
    findings: list[Finding] = []
    for check in checks:
        try:
            findings += await check(patient)
        except OSError as problem:
            name = check.__name__.removeprefix("check_").replace("_", " ")
            text = f"{problem.filename} cannot be looked at: {problem.strerror}"
            findings.append(Finding(name=name, status="fail", text=text, advice="run as the user whom it belongs to"))
    return findings


async def check_data_folder(patient: Patient) -> list[Finding]:
    """Whether there is a data folder, and it is for us alone to write."""
    return [await asyncio.to_thread(_look_at_folder, patient.data)]


def _look_at_folder(data: Path) -> Finding:
    facts: dict[str, object] = {"path": str(data)}
    there = next(folder for folder in (data, *data.parents) if folder.exists())
    problem = _writing(there)
    if problem:
        advice = "make it a folder that you may write, or name another with FOOTPLATE_DATA_DIR"
        text = f"{there} cannot be written: {problem}"
        return Finding(name="data folder", status="fail", text=text, advice=advice, facts=facts)
    if there != data:
        text = f"{data} is not there yet; it is made when needed"
        return Finding(name="data folder", status="ok", text=text, facts=facts)
    keepers = data / "keepers"
    if keepers.exists() and keepers.stat().st_mode & 0o077:
        advice = f"chmod 700 {keepers}"
        return Finding(
            name="data folder", status="warn", text=f"others may enter {keepers}", advice=advice, facts=facts
        )
    return Finding(name="data folder", status="ok", text=str(data), facts=facts)


def _writing(data: Path) -> str:
    """Why nothing can be written there; a file is made and gone again, since modes do not tell of every disk."""
    try:
        with tempfile.TemporaryFile(dir=data):
            return ""
    except OSError as problem:
        return problem.strerror or str(problem)


async def check_keepers(patient: Patient) -> list[Finding]:
    """Which keepers run, and what each of them holds."""
    records = await asyncio.to_thread(read_records, patient.data)
    alive = [record for record in records if record.alive()]
    if not alive:
        return [Finding(name="keeper", status="ok", text="none runs: no agent is kept")]
    return [await _look_at_keeper(patient.data, record) for record in alive]


async def _look_at_keeper(data: Path, record: Record) -> Finding:
    facts: dict[str, object] = {
        "pid": record.pid,
        "version": record.version,
        "uptime_s": round(uptime(record.start_time), 1),
        "memory_kb": memory_kb(record.pid),
    }
    up, memory = format_duration(round(uptime(record.start_time))), format_size(memory_kb(record.pid) * 1024)
    about = f"pid {record.pid}, version {record.version}, up {up}, {memory}"
    if not record.keeps:
        return Finding(name="keeper", status="ok", text=f"{about}; ends with its service", facts=facts)
    try:
        listed = await _ask(data, record)
    except (OSError, HostError) as problem:
        advice = "it is about to end, or hangs: look again, then end it with SIGTERM"
        text = f"{about}; does not answer: {problem}"
        return Finding(name="keeper", status="warn", text=text, advice=advice, facts=facts)
    facts |= {
        "driver": listed.driver,
        "grace_s": listed.grace_s,
        "away_s": round(listed.away_s, 1),
        "retiring": listed.retiring,
        "agents": [_agent_facts(agent) for agent in listed.agents],
    }
    return _judge_keeper(about, listed, facts)


def _judge_keeper(about: str, listed: Listed, facts: dict[str, object]) -> Finding:
    if listed.driver:
        whose = f"driven by process {listed.driver}"
    else:
        away = format_duration(round(listed.away_s))
        left = format_duration(round(max(0.0, listed.grace_s - listed.away_s)))
        whose = f"no service for {away}, ends its agents in {left}"
    lines = [f"{about}; {whose}{'; retiring' if listed.retiring else ''}; {format_count(len(listed.agents), 'agent')}"]
    lines += [f"  {_agent_line(agent)}" for agent in listed.agents]
    text = "\n".join(lines)
    full = [agent.id for agent in listed.agents if agent.full]
    if full:
        advice = "start the service again: these agents wait until their output is read"
        return Finding(name="keeper", status="warn", text=text, advice=f"{advice} ({', '.join(full)})", facts=facts)
    memory = facts["memory_kb"]
    if isinstance(memory, int) and memory > MEMORY_KB:
        advice = "this is more than a keeper should need: tell us what it holds"
        return Finding(name="keeper", status="warn", text=text, advice=advice, facts=facts)
    return Finding(name="keeper", status="ok", text=text, facts=facts)


def _agent_facts(agent: KeptAgent) -> dict[str, object]:
    named = ("id", "pid", "program", "alive", "kept", "waiting", "attached", "spooled", "full", "problem", "about")
    return {name: getattr(agent, name) for name in named}


def _agent_line(agent: KeptAgent) -> str:
    state = "runs" if agent.alive else "has ended"
    words = [f"agent {agent.id}", f"pid {agent.pid}", state]
    words += [f"{kind} {agent.about[kind]}" for kind in ("session", "process") if kind in agent.about]
    words += ["asks something"] if agent.waiting else []
    words += [] if agent.attached else [f"{format_size(agent.spooled)} in its spool{' (full)' if agent.full else ''}"]
    return ", ".join(words)


async def _ask(data: Path, record: Record) -> Listed:
    keeper = await connect(data, record)
    try:
        await keeper.greet(role="look")
        return await keeper.look()
    finally:
        await keeper.drop()


async def check_leftovers(patient: Patient) -> list[Finding]:
    """What keepers that were killed have left: processes that still run, files that still lie there."""
    return [await asyncio.to_thread(_look_for_leftovers, patient.data)]


def _look_for_leftovers(data: Path) -> Finding:
    records = read_records(data)
    alive = [record for record in records if record.alive()]
    dead = [record for record in records if record not in alive]
    table = Table()
    pids = sorted(table.marked(lambda marker: any(record.fits(marker) for record in dead)) if dead else ())
    pids = [pid for pid in pids if pid not in table.below([record.pid for record in alive])]
    files = left_files(data / "keepers", {record.marker for record in alive})
    size = sum(path.stat().st_size for path in files)
    facts: dict[str, object] = {"pids": pids, "files": [str(path) for path in files], "bytes": size}
    if not pids and not files:
        return Finding(name="leftovers", status="ok", text="nothing was left over", facts=facts)
    processes, kept = format_count(len(pids), "process", "processes"), format_count(len(files), "file")
    text = f"{processes} and {kept} ({format_size(size)}) left by a keeper that was killed"
    advice = "start a service on this data folder: it ends and removes them"
    return Finding(name="leftovers", status="warn", text=text, advice=advice, facts=facts)


def uptime(start_time: int) -> float:
    """For how many seconds a process runs that began so many clock ticks after the machine; 0 when unknown."""
    if not hasattr(time, "CLOCK_BOOTTIME"):
        return 0.0
    return max(0.0, time.clock_gettime(time.CLOCK_BOOTTIME) - start_time / os.sysconf("SC_CLK_TCK"))


def memory_kb(pid: int) -> int:
    """The resident memory of a process; 0 when it is not known."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_bytes().split()[1])
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE") // 1024
