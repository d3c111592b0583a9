"""The generated structs are what the script writes, and they read and write what the published schema allows."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import msgspec
import pytest

from footplate.acp.reading import read_update
from footplate.acp.schema.updates import SessionNotification

ROOT = Path(__file__).resolve().parents[3]
MODULES = sorted(path.stem for path in (ROOT / "src/footplate/acp/schema").glob("[a-z]*.py"))
RECORDED = sorted((ROOT / "tests/fixtures/acp").rglob("*.jsonl"))


def test_the_modules_are_what_the_script_writes() -> None:
    script = [sys.executable, str(ROOT / "scripts/acp_types.py"), "--check"]
    checked = subprocess.run(script, capture_output=True, text=True, timeout=50, check=False)
    assert checked.returncode == 0, checked.stderr


@pytest.mark.parametrize("module", MODULES)
def test_every_struct_can_be_read_and_written(module: str) -> None:
    loaded = import_module(f"footplate.acp.schema.{module}")
    structs = [each for each in vars(loaded).values() if isinstance(each, type) and issubclass(each, msgspec.Struct)]
    assert structs
    for struct in structs:
        msgspec.json.Decoder(struct)


def test_the_structs_are_not_imported_for_the_command_line() -> None:
    code = "import sys, footplate.interfaces.cli.app; print([m for m in sys.modules if 'acp.schema' in m])"
    seen = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=50, check=True)
    assert seen.stdout.strip() == "[]"


def recorded_updates() -> list[bytes]:
    """The parameters of every update that real agents were recorded to send."""
    found = []
    for path in RECORDED:
        for line in path.read_bytes().splitlines():
            message = msgspec.json.decode(line, type=Recorded).msg
            if message.method == "session/update":
                found.append(bytes(message.params))
    return found


class Message(msgspec.Struct, frozen=True):
    method: str = ""
    params: msgspec.Raw = msgspec.Raw(b"null")


class Recorded(msgspec.Struct, frozen=True):
    msg: Message = Message()


def test_every_recorded_update_is_known() -> None:
    updates = recorded_updates()
    assert len(updates) > 100
    for params in updates:
        assert isinstance(read_update(params), SessionNotification), params
