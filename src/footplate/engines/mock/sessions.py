"""Sessions of the mock agent: their options, their history, and where that history outlives a process."""

from __future__ import annotations

import asyncio
import re
import secrets
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Protocol

import msgspec

from footplate.acp.schema.choices import SessionConfigOption, SessionConfigSelectChoice, SessionMode, SessionModeState

MODES: Final = {"default": "Default", "plan": "Plan", "bypassPermissions": "Bypass permissions"}
MODELS: Final = {"mock": "Mock", "mock-fast": "Mock, fast"}
EFFORTS: Final = {"low": "Low", "high": "High"}
KEPT_ANSWER: Final = 2000
_MINTED: Final = re.compile(r"mock-([0-9a-f]{16})-([0-9a-f]{8})")


class Exchange(msgspec.Struct, frozen=True):
    """One prompt and the beginning of what was answered."""

    prompt: str
    answer: str = ""


class Saved(msgspec.Struct, frozen=True):
    """What is kept of a session."""

    cwd: str
    exchanges: tuple[Exchange, ...] = ()


class Memory(Protocol):
    """Where sessions are kept beyond one connection."""

    def load(self, session: str) -> Saved | None:
        """What was kept under that id."""
        ...

    def save(self, session: str, saved: Saved) -> None:
        """Keep it."""
        ...

    def ids(self) -> list[str]:
        """Every id that something is kept of."""
        ...


class RamMemory:
    """Sessions that live as long as this process."""

    def __init__(self) -> None:
        self._saved: dict[str, Saved] = {}

    def load(self, session: str) -> Saved | None:
        """What was kept under that id."""
        return self._saved.get(session)

    def save(self, session: str, saved: Saved) -> None:
        """Keep it."""
        self._saved[session] = saved

    def ids(self) -> list[str]:
        """Every id that something is kept of."""
        return list(self._saved)


class FolderMemory:
    """Sessions as small JSON files, one each. An unreadable file is a session without a history."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def load(self, session: str) -> Saved | None:
        """What was kept under that id."""
        try:
            return msgspec.json.decode((self._folder / f"{session}.json").read_bytes(), type=Saved)
        except (OSError, msgspec.MsgspecError):
            return None

    def save(self, session: str, saved: Saved) -> None:
        """Keep it: as a whole, also when we are killed meanwhile."""
        self._folder.mkdir(parents=True, exist_ok=True)
        fresh = self._folder / f"{session}.json.new"
        fresh.write_bytes(msgspec.json.encode(saved))
        fresh.replace(self._folder / f"{session}.json")

    def ids(self) -> list[str]:
        """Every id that something is kept of."""
        return sorted(path.stem for path in self._folder.glob("mock-*.json"))


IN_THIS_PROCESS: Final = RamMemory()


def choose_memory(env: Mapping[str, str]) -> Memory:
    """Files in the data folder when the agent was told of one, else this process."""
    folder = env.get("FOOTPLATE_DATA_DIR")
    return FolderMemory(Path(folder) / "mock") if folder else IN_THIS_PROCESS


def mint_id() -> str:
    """A new session's id. Its last part checks the rest, so that an agent knows its kind's ids without a record."""
    body = secrets.token_hex(8)
    return f"mock-{body}-{zlib.crc32(body.encode()):08x}"


def is_minted(session: str) -> bool:
    """Whether some mock agent made this id."""
    match = _MINTED.fullmatch(session)
    return match is not None and f"{zlib.crc32(match[1].encode()):08x}" == match[2]


class Session:
    """One conversation: options, history, and its turns, of which the first runs and the others wait."""

    def __init__(self, name: str, saved: Saved) -> None:
        self.id = name
        self.cwd = saved.cwd
        self.exchanges = list(saved.exchanges)
        self.mode = "default"
        self.model = "mock"
        self.effort = "low"
        self.cancels: list[asyncio.Event] = []
        self.turn = asyncio.Lock()

    def modes(self) -> SessionModeState:
        """The mode in force and those that can be."""
        available = tuple(SessionMode(id=mode, name=name) for mode, name in MODES.items())
        return SessionModeState(current_mode_id=self.mode, available_modes=available)

    def config_options(self) -> tuple[SessionConfigOption, ...]:
        """All options with their values."""
        return (
            _select("model", "Model", "model", self.model, MODELS),
            _select("mode", "Mode", "mode", self.mode, MODES),
            _select("thought_level", "Thinking", "thought_level", self.effort, EFFORTS),
        )

    def configure(self, option: str, value: str | bool) -> bool:
        """Set one option; False when there is no such option or value."""
        known: Mapping[str, Mapping[str, str]] = {"model": MODELS, "mode": MODES, "thought_level": EFFORTS}
        if not isinstance(value, str) or value not in known.get(option, {}):
            return False
        if option == "model":
            self.model = value
        elif option == "mode":
            self.mode = value
        else:
            self.effort = value
        return True

    def begin(self, prompt: str) -> None:
        """Add an exchange to the history, before anything is said in it: its number is used up."""
        self.exchanges.append(Exchange(prompt))

    def remember(self, answer: str) -> None:
        """Complete the exchange that began last."""
        self.exchanges[-1] = Exchange(self.exchanges[-1].prompt, answer[:KEPT_ANSWER])

    def saved(self) -> Saved:
        """What is to be kept of it."""
        return Saved(self.cwd, tuple(self.exchanges))


def _select(option: str, name: str, category: str, value: str, values: Mapping[str, str]) -> SessionConfigOption:
    choices = tuple(SessionConfigSelectChoice(value=key, name=label) for key, label in values.items())
    return SessionConfigOption(
        id=option, name=name, type="select", category=category, current_value=value, options=choices
    )
