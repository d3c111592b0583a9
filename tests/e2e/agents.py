"""The world of a real agent other than Claude: its program, its settings, and the scripted model in its own dialect."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from footplate.testing.closed import MINIMAL_PATH, prepare_home
from footplate.testing.messages import LoggedRequest, ScriptedMessages

MODULES = Path(__file__).resolve().parent.parent / "agents" / "node_modules"
PROGRAMS = {
    "opencode": "opencode-linux-x64/bin/opencode",
    "gemini": ".bin/gemini",
    "qwen": ".bin/qwen",
    "codex": ".bin/codex",
}
SHELL_TOOLS = {"opencode": "bash", "gemini": "run_shell_command", "qwen": "run_shell_command", "codex": "exec_command"}
KEY = "not-a-real-key"
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
        getattr(self, f"_prepare_{agent}")(api.url_for(key))

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

    def _prepare_codex(self, url: str) -> None:
        folder = self.home / ".codex"
        folder.mkdir()
        settings = {
            "model": "scripted-1",
            "model_provider": "scripted",
            "sandbox_mode": "danger-full-access",  # its sandbox cannot be set up below a temporary folder
        }
        provider = {"name": "Scripted", "base_url": f"{url}/v1", "env_key": "OPENAI_API_KEY", "wire_api": "responses"}
        lines = [f"{name} = {json.dumps(value)}" for name, value in settings.items()]
        lines += ["[model_providers.scripted]", *(f"{name} = {json.dumps(value)}" for name, value in provider.items())]
        (folder / "config.toml").write_text("\n".join(lines) + "\n")
        self.env["OPENAI_API_KEY"] = KEY

    def _prepare_opencode(self, url: str) -> None:
        model = {"name": "Scripted 1", "limit": {"context": 100_000, "output": 8_000}}
        provider = {
            "npm": "@ai-sdk/openai-compatible",
            "name": "Scripted",
            "options": {"baseURL": f"{url}/v1", "apiKey": KEY},
            "models": {"scripted-1": model},
        }
        config = {
            "model": "scripted/scripted-1",
            "small_model": "scripted/scripted-1",
            "provider": {"scripted": provider},
            "permission": {"bash": "ask", "edit": "ask"},
            "autoupdate": False,
            "share": "disabled",
        }
        folder = self.home / ".config" / "opencode"
        folder.mkdir(parents=True)
        (folder / "opencode.json").write_text(json.dumps(config))
        for name in ("MODELS_FETCH", "AUTOUPDATE", "DEFAULT_PLUGINS", "LSP_DOWNLOAD"):
            self.env[f"OPENCODE_DISABLE_{name}"] = "1"

    def _prepare_gemini(self, url: str) -> None:
        folder = self.home / ".gemini"
        folder.mkdir()
        settings = {
            "general": {"disableAutoUpdate": True, "enableAutoUpdate": False},
            "privacy": {"usageStatisticsEnabled": False},
            "model": {"name": "gemini-2.5-flash"},
            "security": {"folderTrust": {"enabled": False}},
        }
        (folder / "settings.json").write_text(json.dumps(settings))
        self.env |= {"GEMINI_API_KEY": KEY, "GOOGLE_GEMINI_BASE_URL": url}

    def _prepare_qwen(self, url: str) -> None:
        folder = self.home / ".qwen"
        folder.mkdir()
        settings = {"general": {"disableAutoUpdate": True}, "privacy": {"usageStatisticsEnabled": False}}
        (folder / "settings.json").write_text(json.dumps(settings))
        self.env |= {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": f"{url}/v1", "OPENAI_MODEL": "scripted-1"}
