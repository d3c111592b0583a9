"""What the tests of the host share: a keeper, a way to wait for facts, and a look at what is left."""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Protocol

import pytest

from footplate.host.child import Process
from footplate.host.process import Keeper, Spawn
from footplate.host.table import Table, look

SOURCE = str(Path(__file__).parents[3] / "src")
ENV = {"PATH": os.environ["PATH"]}


def open_fds() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


async def no_agents(keeper: Keeper) -> None:
    """Wait until the keeper keeps nobody."""
    async with asyncio.timeout(10):
        while await keeper.agents():  # noqa: ASYNC110  the keeper tells when asked
            await asyncio.sleep(0)


class Until(Protocol):
    async def __call__(self, fact: Callable[[], object], *, deadline: float = 10.0) -> None: ...


class Run(Protocol):
    async def __call__(self, script: str, *, high_water: int = 4 << 20, marker: str | None = None) -> Process: ...


class RunService(Protocol):
    def __call__(self, script: str, *argv: str) -> subprocess.Popen[bytes]: ...


@pytest.fixture(autouse=True)
def no_process_left() -> Iterator[None]:
    """After every test: no process below us that was not there before (a scripted model lives with the session)."""
    before = Table().below([os.getpid()])
    yield
    deadline = time.monotonic() + 5
    while (left := Table().below([os.getpid()]) - before) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert left == set()


@pytest.fixture
async def keeper() -> AsyncIterator[Keeper]:
    async with Keeper.start() as keeper:
        yield keeper
    assert keeper.gone is not None


@pytest.fixture
def run(keeper: Keeper) -> Run:
    """Run a shell script as an agent."""

    async def spawn(script: str, *, high_water: int = 4 << 20, marker: str | None = None) -> Process:
        spec = Spawn(argv=("sh", "-c", script), env=ENV, cwd="/", marker=marker)
        return await keeper.spawn(spec, high_water=high_water)

    return spawn


@pytest.fixture
def until() -> Until:
    """Wait until a fact is so, with a deadline."""

    async def wait(fact: Callable[[], object], *, deadline: float = 10.0) -> None:
        async with asyncio.timeout(deadline):
            while not fact():  # noqa: ASYNC110  facts about other processes have no event
                await asyncio.sleep(0.005)

    return wait


@pytest.fixture
def token() -> str:
    """Give a word for markers that no other run of the tests on this machine uses."""
    return secrets.token_hex(6)


@pytest.fixture
def gone() -> Callable[[int], bool]:
    return lambda pid: look(pid) is None


@pytest.fixture
def run_service() -> Iterator[RunService]:
    """Run a Python script in a process of its own that can import footplate; it is killed afterwards."""
    started: list[subprocess.Popen[bytes]] = []

    def start(script: str, *argv: str) -> subprocess.Popen[bytes]:
        service = subprocess.Popen(
            [sys.executable, "-c", script, *argv],
            env={**ENV, "PYTHONPATH": SOURCE},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        started.append(service)
        return service

    yield start
    for service in started:
        service.send_signal(signal.SIGKILL)
        service.wait()
        for pipe in (service.stdin, service.stdout):
            if pipe:
                pipe.close()
