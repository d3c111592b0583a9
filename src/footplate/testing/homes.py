"""Homes in which real agents ask the scripted model: the settings and variables that lead each of them there.

Each function writes what its agent needs into an empty home and gives the variables that it needs beside `HOME` and
`PATH`. None of them lets an agent update itself or tell anybody of its use.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import msgspec

from footplate.testing.closed import closed_environment

KEY: Final = "not-a-real-key"
MODEL: Final = "scripted-1"


def prepare_claude(home: Path, url: str) -> dict[str, str]:
    """Claude needs no file."""
    return closed_environment(home, base_url=url)


def prepare_codex(home: Path, url: str) -> dict[str, str]:
    """A provider of its own; without its sandbox, which cannot be set up below a temporary folder."""
    settings = {"model": MODEL, "model_provider": "scripted", "sandbox_mode": "danger-full-access"}
    provider = {"name": "Scripted", "base_url": f"{url}/v1", "env_key": "OPENAI_API_KEY", "wire_api": "responses"}
    text = "".join(f'{name} = "{value}"\n' for name, value in settings.items())
    text += "[model_providers.scripted]\n" + "".join(f'{name} = "{value}"\n' for name, value in provider.items())
    folder = home / ".codex"
    folder.mkdir()
    (folder / "config.toml").write_text(text)
    return {"OPENAI_API_KEY": KEY}


def prepare_opencode(home: Path, url: str) -> dict[str, str]:
    """A provider of its own, and a question before every command and change."""
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "Scripted",
        "options": {"baseURL": f"{url}/v1", "apiKey": KEY},
        "models": {MODEL: {"name": "Scripted 1", "limit": {"context": 100_000, "output": 8_000}}},
    }
    config = {
        "model": f"scripted/{MODEL}",
        "small_model": f"scripted/{MODEL}",
        "provider": {"scripted": provider},
        "permission": {"bash": "ask", "edit": "ask"},
        "autoupdate": False,
        "share": "disabled",
    }
    _write(home / ".config" / "opencode" / "opencode.json", config)
    names = ("MODELS_FETCH", "AUTOUPDATE", "DEFAULT_PLUGINS", "LSP_DOWNLOAD")
    return {f"OPENCODE_DISABLE_{name}": "1" for name in names}


def prepare_gemini(home: Path, url: str) -> dict[str, str]:
    """Its address is a variable."""
    settings = {
        "general": {"disableAutoUpdate": True, "enableAutoUpdate": False},
        "privacy": {"usageStatisticsEnabled": False},
        "model": {"name": "gemini-2.5-flash"},
        "security": {"folderTrust": {"enabled": False}},
    }
    _write(home / ".gemini" / "settings.json", settings)
    return {"GEMINI_API_KEY": KEY, "GOOGLE_GEMINI_BASE_URL": url}


def prepare_qwen(home: Path, url: str) -> dict[str, str]:
    """As the CLI of OpenAI's compatible providers has it."""
    _write(
        home / ".qwen" / "settings.json",
        {"general": {"disableAutoUpdate": True}, "privacy": {"usageStatisticsEnabled": False}},
    )
    return {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": f"{url}/v1", "OPENAI_MODEL": MODEL}


def prepare_copilot(_home: Path, url: str) -> dict[str, str]:
    """It takes a provider of one's own, and then wants no login."""
    return {
        "COPILOT_PROVIDER_BASE_URL": f"{url}/v1",
        "COPILOT_PROVIDER_API_KEY": KEY,
        "COPILOT_MODEL": MODEL,
        "COPILOT_OFFLINE": "true",
        "COPILOT_AUTO_UPDATE": "false",
    }


def prepare_any(home: Path, url: str) -> dict[str, str]:
    """An agent of which nothing is known: every variable by which agents find a model."""
    return {
        **{name: value for name, value in closed_environment(home, base_url=url).items() if name != "PATH"},
        **prepare_gemini(home, url),
        **prepare_qwen(home, url),
        "OPENAI_API_BASE": f"{url}/v1",
    }


PREPARE: Final[Mapping[str, Callable[[Path, str], dict[str, str]]]] = {
    "claude": prepare_claude,
    "codex": prepare_codex,
    "opencode": prepare_opencode,
    "gemini": prepare_gemini,
    "qwen": prepare_qwen,
    "copilot": prepare_copilot,
}


def _write(file: Path, settings: Mapping[str, object]) -> None:
    file.parent.mkdir(parents=True)
    file.write_bytes(msgspec.json.encode(settings))
