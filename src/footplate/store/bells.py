"""Wake-ups within one process: who waits for news of a key is rung when there are some."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from contextlib import contextmanager


class Bells:
    """Bells by key. Listen first, look second, wait third: then no news is missed."""

    def __init__(self) -> None:
        self._waiting: dict[str, set[asyncio.Future[None]]] = {}

    @contextmanager
    def listen(self, key: str) -> Iterator[asyncio.Future[None]]:
        """A future that is done at the next ring of the key."""
        bell: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(key, set()).add(bell)
        try:
            yield bell
        finally:
            bell.cancel()
            waiting = self._waiting.get(key)
            if waiting is not None:
                waiting.discard(bell)
                if not waiting:
                    del self._waiting[key]

    def heard(self, keys: Iterable[str]) -> list[str]:
        """Those of the keys that somebody listens for now. From any thread: who listens later looks later."""
        return [key for key in keys if key in self._waiting]

    def ring(self, keys: Iterable[str]) -> None:
        """Wake everyone who listens for one of the keys."""
        for key in keys:
            for bell in self._waiting.pop(key, ()):
                if not bell.done():
                    bell.set_result(None)

    def ring_all(self) -> None:
        """Wake everyone."""
        self.ring(tuple(self._waiting))


AUDIT_BELL = "audit"
"""The key that rings when the audit log grows."""


def session_bell(session: str) -> str:
    """The key that rings when a session's log grows or goes."""
    return f"session {session}"


def journal_bell(name: str) -> str:
    """The key that rings when a journal grows or goes."""
    return f"journal {name}"


def queue_bell(namespace: str) -> str:
    """The key that rings when a queue may have something to hand out."""
    return f"queue {namespace}"
