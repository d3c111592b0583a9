"""Installs of our own: the CLI from the npm registry into the data folder, used when no other is found."""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from footplate.config.places import data_folder
from footplate.engines.base import Spawn
from footplate.errors import InstallFailed, InvalidValue
from footplate.host.environment import build_environment

NAME: Final = "claude"
PACKAGE: Final = "@anthropic-ai/claude-code"
PASSED: Final = ("npm_config_*", "NPM_CONFIG_*", "NODE_*")
PLAIN: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-+")


def install_folder(environ: Mapping[str, str]) -> Path:
    """Where our own install lies."""
    return data_folder(environ) / "installs" / NAME


def own_program(environ: Mapping[str, str]) -> str:
    """The program of our own install; empty when there is none."""
    program = install_folder(environ) / "bin" / NAME
    return str(program) if program.exists() else ""


def plan_install(environ: Mapping[str, str], version: str) -> Spawn:
    """The npm command that fetches it. No install script runs: the binary comes in a package of its own."""
    if version and not PLAIN.issuperset(version):
        raise InvalidValue("agentVersion", version, "a version like 2.1.325, or `latest`")
    folder = install_folder(environ)
    folder.mkdir(parents=True, exist_ok=True)
    wanted = f"{PACKAGE}@{version or 'latest'}"
    argv = ("npm", "install", "--prefix", str(folder), "--no-audit", "--no-fund", "--ignore-scripts", wanted)
    return Spawn(argv=argv, env=build_environment(environ, allow=PASSED), cwd=str(folder), stdin=False)


def settle_install(environ: Mapping[str, str]) -> str:
    """Put the fetched program where `own_program` looks for it; its path. Raises `InstallFailed`."""
    folder = install_folder(environ)
    found = next((path for path in _candidates(folder / "node_modules") if path.is_file()), None)
    if found is None:
        raise InstallFailed(NAME, f"npm brought no program for {sys.platform} {platform.machine()}")
    place = folder / "bin" / NAME
    place.parent.mkdir(exist_ok=True)
    fresh = place.with_suffix(".new")
    fresh.unlink(missing_ok=True)
    fresh.symlink_to(found)
    fresh.replace(place)
    found.chmod(0o755)
    return str(place)


def _candidates(modules: Path) -> Iterator[Path]:
    machine = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64"}.get(platform.machine().lower(), "arm64")
    name = f"claude-code-{sys.platform}-{machine}"
    glibc = platform.libc_ver()[0] == "glibc"
    for package in (name, f"{name}-musl") if glibc or sys.platform != "linux" else (f"{name}-musl", name):
        yield modules / "@anthropic-ai" / package / "claude"
        yield modules / PACKAGE / "node_modules" / "@anthropic-ai" / package / "claude"
