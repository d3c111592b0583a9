from __future__ import annotations

import platform
import sys
from pathlib import Path

import msgspec
import pytest

from footplate.testing.agents import claude_binary

MACHINE = "x64" if platform.machine().lower() in {"x86_64", "amd64"} else "arm64"
NATIVE = f"claude-code-{sys.platform}-{MACHINE}"


def put_package(folder: Path, version: str, *, binary: bool) -> None:
    folder.mkdir(parents=True)
    (folder / "package.json").write_bytes(msgspec.json.encode({"name": "p", "version": version}))
    if binary:
        (folder / "claude").touch()


def test_each_version_has_its_own_binary_wherever_npm_put_it(tmp_path: Path) -> None:
    modules = tmp_path / "node_modules"
    put_package(modules / "claude-new", "2.0.0", binary=False)
    put_package(modules / "claude-old", "1.0.0", binary=False)
    top = modules / "@anthropic-ai" / NATIVE
    below = modules / "claude-old" / "node_modules" / "@anthropic-ai" / NATIVE
    put_package(top, "2.0.0", binary=True)
    put_package(below, "1.0.0", binary=True)
    assert claude_binary(tmp_path, "new") == top / "claude"
    assert claude_binary(tmp_path, "old") == below / "claude"


def test_a_binary_of_another_version_is_not_taken(tmp_path: Path) -> None:
    modules = tmp_path / "node_modules"
    put_package(modules / "claude-old", "1.0.0", binary=False)
    put_package(modules / "@anthropic-ai" / NATIVE, "2.0.0", binary=True)
    with pytest.raises(FileNotFoundError):
        claude_binary(tmp_path, "old")


def test_a_missing_install_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="run `make test`"):
        claude_binary(tmp_path, "new")
