"""`footplate store` as an operator uses it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from footplate.events.ids import SessionId
from footplate.events.model import Envelope, SessionOpened
from footplate.events.wording import format_size
from footplate.store.sqlite import SqliteStore


@pytest.fixture
async def data(tmp_path: Path) -> Path:
    """A data folder with one session in its store."""
    async with await SqliteStore.open(tmp_path / "data" / "store") as store:
        session = SessionId("S1")
        lease = await store.claim(session)
        opened = SessionOpened(engine="mock", cwd="/x")
        envelope = Envelope(seq=1, time=1.0, session=session, epoch=lease.epoch, event=opened)
        await store.append(session, lease.epoch, 0, [envelope], durable=True)
    return tmp_path / "data"


def _store(data: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "footplate", "store", *arguments],
        env={"HOME": str(data.parent), "PATH": "/usr/bin:/bin", "FOOTPLATE_DATA_DIR": str(data)},
        cwd=data.parent,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_a_backup_is_a_store_of_its_own(data: Path) -> None:
    target = data.parent / "copy" / "store" / "store.db"
    target.parent.mkdir(parents=True)
    made = _store(data, "backup", str(target))
    assert (made.returncode, made.stdout) == (0, f"{target}: {format_size(target.stat().st_size)}\n")
    assert _store(target.parent.parent, "check").stdout == "the store is sound\n"
    again = _store(data, "backup", str(target))
    assert again.returncode == 2
    assert str(target) in again.stderr


def test_a_session_moves_by_export_and_import(data: Path) -> None:
    lines = _store(data, "export", "S1").stdout
    assert '"SessionOpened"' in lines
    file = data.parent / "session.jsonl"
    file.write_text(lines)
    elsewhere = data.parent / "elsewhere"
    done = _store(elsewhere, "import", str(file), "--json")
    assert msgspec.json.decode(done.stdout) == {"session": "S1"}
    assert _store(elsewhere, "export", "S1").stdout.splitlines()[1:] == lines.splitlines()[1:]
    assert _store(elsewhere, "import", str(file)).returncode == 2


def test_an_unknown_session_is_told_by_id(data: Path) -> None:
    done = _store(data, "export", "nobody")
    assert done.returncode == 2
    assert "nobody" in done.stderr


def test_tidying_says_what_it_removed(data: Path) -> None:
    removed = msgspec.json.decode(_store(data, "tidy", "--json").stdout)
    assert removed["sessions"] == 0


async def test_a_store_in_use_is_told_with_its_holder(data: Path) -> None:
    async with await SqliteStore.open(data / "store"):
        done = _store(data, "check")
    assert done.returncode == 1
    assert "held by" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_damaged_store_is_told_and_not_repaired_in_silence(data: Path) -> None:
    (data / "store" / "store.db").write_bytes(b"this is not a database" * 1000)
    done = _store(data, "check")
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert done.stderr
