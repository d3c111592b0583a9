"""The bulletin: what happens in any session, as it is stored, for those who look at all of them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from footplate.events.model import Envelope

Reader = Callable[[Sequence[Envelope]], None]
log = logging.getLogger(__name__)


class Bulletin:
    """Readers of every session's lasting events. A reader must not wait."""

    def __init__(self) -> None:
        self._readers: list[Reader] = []

    def subscribe(self, reader: Reader) -> Callable[[], None]:
        """Call the reader with everything from here on. Returns a function that ends that."""
        self._readers.append(reader)
        return lambda: self._readers.remove(reader)

    def post(self, envelopes: Sequence[Envelope]) -> None:
        """Give the events to every reader. One that raises is logged: the session that appended them goes on."""
        for reader in tuple(self._readers):
            try:
                reader(envelopes)
            except Exception:
                log.exception("session %s: a reader of all sessions failed", envelopes[0].session)
