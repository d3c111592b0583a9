"""Whether something that an agent said is not stored yet: one byte in a file, which outlives a service that is killed.

It is set before the agent's pipe is read, before events are given to the store and before a frame is written to the
agent. It is cleared when all of that is stored and written. So where it is clear nothing was lost in either direction,
whenever the service was killed; the price is a write to memory.
"""

from __future__ import annotations

import mmap
from pathlib import Path
from typing import Final

FOLDER: Final = "unstored"
CLEAR, SET = 0, 1


class Unstored:
    """The mark of one session's agent. It is set at first: nothing is known of the agent."""

    def __init__(self, data: Path, session: str) -> None:
        path = _path(data, session)
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with path.open("w+b") as file:
            file.write(bytes([SET]))
            file.flush()
            self._map = mmap.mmap(file.fileno(), 1)
        self._byte: mmap.mmap | bytearray = self._map

    def set(self) -> None:
        """Something is about to come that is not stored."""
        self._byte[0] = SET

    def clear(self) -> None:
        """All that came is stored."""
        self._byte[0] = CLEAR

    def leave(self) -> None:
        """Let go of it as it is, for the next service; nothing of what is said from here on is written."""
        self._byte = bytearray(1)
        self._map.close()


def is_whole(data: Path, session: str) -> bool:
    """Whether all that the agent of a session said is stored; False where nobody kept count."""
    try:
        return _path(data, session).read_bytes() == bytes([CLEAR])
    except FileNotFoundError:
        return False


def forget(data: Path, session: str) -> None:
    """Its agent is gone."""
    _path(data, session).unlink(missing_ok=True)


def _path(data: Path, session: str) -> Path:
    return data / FOLDER / session
