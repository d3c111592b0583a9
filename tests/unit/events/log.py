"""Logs written by hand: `log() >> event >> event` numbers them as a session does."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from footplate.events.ids import EngineSessionId, SessionId
from footplate.events.model import EngineAttached, Envelope, Event, SessionOpened, is_ephemeral
from footplate.events.reduce import fold
from footplate.events.view import SessionView

SESSION = SessionId("s1")
OPENED = SessionOpened(engine="claude", cwd="/project")
ATTACHED = EngineAttached(engine="claude", engine_session_id=EngineSessionId("e1"))


class Log:
    """Envelopes with dense numbers; the time of each is its number in seconds."""

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self.envelopes: list[Envelope] = []
        self._seq = 0
        for event in events:
            self >> event

    def __rshift__(self, event: Event) -> Log:
        if not is_ephemeral(event):
            self._seq += 1
        self.envelopes.append(Envelope(seq=self._seq, time=float(self._seq), session=SESSION, event=event))
        return self

    def __iter__(self) -> Iterator[Envelope]:
        return iter(self.envelopes)

    def view(self) -> SessionView:
        """What the reducer makes of it."""
        return fold(self.envelopes)


def log() -> Log:
    """A session that is open and attached; its next event has number 3."""
    return Log((OPENED, ATTACHED))
