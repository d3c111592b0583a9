"""`footplate doctor` as an operator uses it: beside a service, after it, and after a keeper that was killed."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from footplate.host.keepers import Keepers
from footplate.host.process import Spawn
from footplate.host.sweep import collect_leftovers, read_records
from footplate.host.table import look

pytestmark = pytest.mark.e2e

AGENT = Spawn(
    argv=("sh", "-c", "setsid sleep 300 & echo $!; read go; echo some output; exec sleep 300"),
    env={"PATH": os.environ["PATH"]},
    cwd="/",
    kept=True,
    about={"session": "01SESSION"},
)


async def doctor(data: Path, *arguments: str) -> tuple[int | None, str]:
    env = {
        "HOME": str(data.parent),
        "PATH": os.environ["PATH"],
        "FOOTPLATE_DATA_DIR": str(data),
        "FOOTPLATE__DEFAULT_ENGINE": "mock",
    }
    command = [sys.executable, "-m", "footplate", "doctor", "--port", "0", *arguments]
    program = await asyncio.create_subprocess_exec(*command, env=env, stdout=asyncio.subprocess.PIPE)
    said, _ = await program.communicate()
    return program.returncode, said.decode()


async def findings(data: Path) -> dict[str, dict[str, Any]]:
    code, said = await doctor(data, "--json")
    told = msgspec.json.decode(said)
    assert (code, told["ok"]) == (0, True)
    return {finding["name"]: finding for finding in told["findings"]}


async def test_without_anything_all_is_well(tmp_path: Path) -> None:
    code, said = await doctor(tmp_path / "data")
    assert code == 0
    assert said.splitlines()[3:5] == [
        "ok    keeper: none runs: no agent is kept",
        "ok    leftovers: nothing was left over",
    ]


async def test_what_a_keeper_holds_is_shown_beside_its_service_and_after_it(tmp_path: Path) -> None:
    data = tmp_path / "data"
    keepers = await Keepers.open(data, grace_s=120.0)
    process = await keepers.spawn(AGENT)
    child = await process.read()
    assert child is not None
    found = (await findings(data))["keeper"]
    facts = found["facts"]
    assert (found["status"], facts["driver"], facts["grace_s"], facts["retiring"]) == ("ok", os.getpid(), 120.0, False)
    assert 0 < facts["memory_kb"] < 15_000
    [agent] = facts["agents"]
    assert (agent["pid"], agent["alive"], agent["attached"]) == (process.pid, True, True)
    assert agent["about"] == {"session": "01SESSION"}
    await process.write(b"go\n")
    await keepers.leave()
    [spool] = (data / "keepers").glob("*/")
    async with asyncio.timeout(30):
        while not [file for file in spool.iterdir() if file.stat().st_size == 12]:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    _, said = await doctor(data)
    assert "no service for" in said
    assert f"pid {process.pid}, runs, session 01SESSION, 12 B in its spool" in said
    keepers = await Keepers.open(data, grace_s=120.0)
    await keepers.close()
    assert look(process.pid) is None


async def test_what_a_killed_keeper_left_is_shown_and_left_alone(tmp_path: Path) -> None:
    data = tmp_path / "data"
    keepers = await Keepers.open(data, grace_s=120.0)
    process = await keepers.spawn(AGENT)
    child = await process.read()
    assert child is not None
    await keepers.leave()
    [record] = read_records(data)
    os.kill(record.pid, signal.SIGKILL)
    async with asyncio.timeout(30):
        while look(record.pid) or look(process.pid):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    found = (await findings(data))["leftovers"]
    assert found["status"] == "warn"
    pid = int(child.lines)
    assert found["facts"]["pids"] == [pid]
    assert look(pid) is not None
    reaped = await asyncio.to_thread(collect_leftovers, data)
    assert [each.pids for each in reaped.swept] == [(pid,)]


async def test_a_folder_that_cannot_be_used_fails_and_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("in the way")
    code, said = await doctor(tmp_path / "data")
    assert code == 1
    assert "FAIL  data folder" in said
    assert "FOOTPLATE_DATA_DIR" in said
