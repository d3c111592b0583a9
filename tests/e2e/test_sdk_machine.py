"""The published `sandbox-agent` SDK 0.4.2, unchanged: files, archives, processes and a terminal of our server."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

from tests.e2e.server import running_server
from tests.e2e.test_sdk import URN, run_script

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]


def test_the_sdk_works_with_files_processes_and_terminals(tmp_path: Path) -> None:
    work, archive = tmp_path / "work", tmp_path / "some.tar"
    work.mkdir()
    (tmp_path / "hello.txt").write_text("hello")
    with tarfile.open(archive, "w") as packed:
        packed.add(tmp_path / "hello.txt", "hello.txt")
    with running_server(tmp_path) as server:
        options = {"NODE_OPTIONS": "--experimental-websocket --no-warnings"}  # what Node 22 has by itself
        found = run_script("machine.mjs", server.url, server.token, str(work), str(archive), env=options)
    assert found["written"] == {"path": f"{work}/a/big", "bytesWritten": 5_000_000}
    assert (found["read"], found["stat"]["size"], found["stat"]["entryType"]) == (5_000_000, 5_000_000, "file")
    assert found["moved"] == {"from": f"{work}/a/big", "to": f"{work}/b/big"}
    assert found["entries"] == ["a", "b"]
    assert found["unpacked"] == {"paths": [f"{work}/up/hello.txt"], "truncated": False}
    assert found["unpackedText"] == "hello"
    assert (found["missing"]["status"], found["missing"]["type"]) == (400, f"{URN}invalid_request")
    assert found["deleted"] == {"path": f"{work}/b"}
    assert found["config"]["maxConcurrentProcesses"] == 64
    ran = found["ran"]
    assert (ran["exitCode"], ran["stdout"], ran["stderr"], ran["timedOut"]) == (3, "out\n", "err\n", False)
    assert (found["followed"], found["input"]) == ("one\ngot it\n", {"bytesWritten": 3})
    assert (found["ended"], found["tail"], found["killed"]) == ("exited", 1, "exited")
    assert found["listed"] == ["proc_2"]
    assert (found["ready"]["type"], found["exit"], found["size"]) == ("ready", {"type": "exit", "exitCode": 7}, True)
