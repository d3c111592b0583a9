"""The world of a real agent other than Claude: its program, its settings, and the scripted model in its own dialect."""

from __future__ import annotations

import shutil
from pathlib import Path

from footplate.testing.closed import MINIMAL_PATH, prepare_home
from footplate.testing.homes import PREPARE
from footplate.testing.messages import LoggedRequest, ScriptedMessages

MODULES = Path(__file__).resolve().parent.parent / "agents" / "node_modules"
PROGRAMS = {
    "opencode": "opencode-linux-x64/bin/opencode",
    "gemini": ".bin/gemini",
    "qwen": ".bin/qwen",
    "codex": ".bin/codex",
}
SHELL_TOOLS = {"opencode": "bash", "gemini": "run_shell_command", "qwen": "run_shell_command", "codex": "exec_command"}
WAIT_S = 60.0


class AgentWorld:
    """A home, a folder to work in, an agent and a model: everything it sees."""

    def __init__(self, folder: Path, api: ScriptedMessages, key: str, agent: str) -> None:
        self.home = prepare_home(folder / "home")
        self.work = folder / "work"
        self.work.mkdir()
        self.agent = agent
        self.key = key
        self._api = api
        tools = self.home / "bin"
        tools.mkdir()
        (tools / agent).symlink_to((MODULES / PROGRAMS[agent]).resolve())
        node = shutil.which("node")
        path = f"{tools}:{Path(node).parent}:{MINIMAL_PATH}" if node else f"{tools}:{MINIMAL_PATH}"
        self.env = {
            "HOME": str(self.home),
            "PATH": path,
            "LANG": "C.UTF-8",
            "TZ": "UTC",
            "FOOTPLATE_DATA_DIR": str(folder / "data"),
        }
        self.env |= PREPARE[agent](self.home, api.url_for(key))

    def requests(self) -> tuple[LoggedRequest, ...]:
        """What the model was asked so far."""
        return self._api.log(self.key)

    def bodies(self) -> tuple[dict[str, object], ...]:
        """The whole requests that the model was asked so far."""
        return self._api.bodies(self.key)

    def wait_for_requests(self, count: int) -> None:
        """Wait until the model was asked for its words so many times."""
        self._api.wait_for(self.key, count=count, timeout=WAIT_S)

    def shell(self, command: str) -> tuple[str, dict[str, object]]:
        """The call by which this agent runs a command."""
        if self.agent == "codex":
            return SHELL_TOOLS[self.agent], {"cmd": command}
        return SHELL_TOOLS[self.agent], {"command": command, "description": "a command"}
