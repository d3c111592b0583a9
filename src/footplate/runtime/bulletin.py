"""The bulletin: what happens in any session, as it is stored, for those who look at all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from footplate.events.model import Envelope

Reader = Callable[[Sequence[Envelope]], None]


class Bulletin:
    """Readers of every session's lasting events. A reader must not wait, and must not raise."""

    def __init__(self) -> None:
        self._readers: list[Reader] = []

    def subscribe(self, reader: Reader) -> Callable[[], None]:
        """Have it told of everything from here on. Returns what ends that."""
        self._readers.append(reader)
        return lambda: self._readers.remove(reader)

    def post(self, envelopes: Sequence[Envelope]) -> None:
        """Tell every reader."""
        for reader in tuple(self._readers):
            reader(envelopes)
