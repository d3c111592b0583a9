"""Where the real agents are that the tests run: native binaries below a pinned npm folder."""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import msgspec

ClaudeVersion = Literal["new", "old"]


class _Package(msgspec.Struct, frozen=True):
    version: str


def claude_binary(folder: Path, version: ClaudeVersion) -> Path:
    """The native Claude CLI that `folder` pins under the alias `claude-<version>`.

    The npm packages hold a launcher whose install script would copy the binary; npm runs no install scripts
    here, so the binary is taken from the platform's own package. Which of the two versions npm puts at the
    top and which below its alias is up to the lock file, hence the check of the version.
    """
    modules = (folder / "node_modules").resolve()
    alias = modules / f"claude-{version}"
    wanted = _version_of(alias)
    for home in (alias / "node_modules", modules):
        for name in _platform_packages():
            package = home / "@anthropic-ai" / name
            binary = package / "claude"
            if binary.is_file() and _version_of(package) == wanted:
                return binary
    raise FileNotFoundError(
        f"no Claude CLI '{version}' for {sys.platform} {platform.machine()} below {modules}: "
        f"run `make test` (or `npm ci` in {folder}) to install the agents"
    )


def _version_of(package: Path) -> str | None:
    try:
        text = (package / "package.json").read_bytes()
    except FileNotFoundError:
        return None
    return msgspec.json.decode(text, type=_Package).version


def _platform_packages() -> Iterator[str]:
    """The names under which npm may have put the binary for this machine, likeliest first."""
    machine = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64"}.get(platform.machine().lower(), "arm64")
    name = f"claude-code-{sys.platform}-{machine}"
    if sys.platform != "linux":
        yield name
    elif platform.libc_ver()[0] == "glibc":
        yield from (name, f"{name}-musl")
    else:
        yield from (f"{name}-musl", name)
