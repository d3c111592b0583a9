"""What one chat knows of its session: the view, the transcript, the request to be answered next. Pure."""

from __future__ import annotations

from collections import deque
from typing import Final

from footplate.events.codec import decode_envelope
from footplate.events.ids import PromptId, RequestId
from footplate.events.model import (
    PromptQueued,
    RequestAnswered,
    RequestApplied,
    RequestOpened,
    RequestRejected,
    RequestUnanswered,
    RequestWithdrawn,
)
from footplate.events.reduce import SessionReducer
from footplate.events.view import SessionView
from footplate.interfaces.cli.chat.asking import Dialogue, request_lines
from footplate.interfaces.cli.chat.text import Line
from footplate.interfaces.cli.chat.transcript import Transcript
from footplate.runtime.backend import Standing

MOST_EARLIER: Final = 200
ABOUT_REQUESTS: Final = (
    RequestOpened,
    RequestAnswered,
    RequestApplied,
    RequestRejected,
    RequestWithdrawn,
    RequestUnanswered,
)


class Room:
    """Envelopes in, lines out. Of what was said before we joined only the end is shown."""

    def __init__(self, standing: Standing, columns: int | None = None) -> None:
        self.standing = standing
        self.transcript = Transcript(columns)
        self._reducer = SessionReducer()
        self._seen: set[PromptId] = set()
        self._fresh: set[PromptId] = set()
        self._refused: set[PromptId] = set()
        self._earlier: deque[Line] | None = deque(maxlen=MOST_EARLIER)
        self._left_out = 0
        self._began: dict[RequestId, int] = {}
        """Which line of those from before we joined each request begins with."""
        self._view: SessionView | None = None
        self._dialogue: Dialogue | None = None
        self._asking_changed = True

    @property
    def view(self) -> SessionView:
        """The session as it stands."""
        if self._view is None:
            self._view = self._reducer.view()
        return self._view

    @property
    def joined(self) -> bool:
        """Whether everything from before we joined is taken in."""
        return self._earlier is None

    def take(self, body: bytes) -> list[Line]:
        """One envelope; the lines to show."""
        envelope = decode_envelope(body)
        if not self._reducer.apply(envelope):
            return []
        self._view = None
        if isinstance(envelope.event, PromptQueued):
            self._seen.add(envelope.event.prompt)
            if self.joined:
                self._fresh.add(envelope.event.prompt)
        self._asking_changed = self._asking_changed or isinstance(envelope.event, ABOUT_REQUESTS)
        lines = self.transcript.feed(envelope)
        if self._earlier is None:
            return lines
        if isinstance(envelope.event, RequestOpened):
            self._began[envelope.event.request.id] = self._left_out + len(self._earlier)
        self._left_out += max(len(self._earlier) + len(lines) - MOST_EARLIER, 0)
        self._earlier.extend(lines)
        if self._reducer.last_seq < self.standing.last_seq:
            return []
        kept, self._earlier = list(self._earlier), None
        if not self._left_out:
            return kept
        return [Line(f"… {self._left_out} earlier lines", "dim"), *kept, *self._cut_requests()]

    def _cut_requests(self) -> list[Line]:
        """Open requests that are not whole among the earlier lines, again: nobody answers what was cut."""
        asked = [each.request for each in self.view.requests if each.state == "open"]
        cut = [each for each in asked if self._began.get(each.id, 0) < self._left_out]
        return [line for each in cut for line in request_lines(each)]

    def give_up(self, prompt: PromptId) -> None:
        """The prompt was refused: whatever the log says of it, nobody waits for it."""
        self._refused.add(prompt)

    def expect_queue(self) -> None:
        """Prompts of an earlier service are about to start: the session rests only after them."""
        self._fresh |= {each.id for each in self.view.queue}

    def has_seen(self, prompt: PromptId) -> bool:
        """Whether the log tells of this prompt."""
        return prompt in self._seen

    @property
    def dialogue(self) -> Dialogue | None:
        """The oldest request that is open."""
        if not self.joined:
            return None
        if not self._asking_changed:
            return self._dialogue
        self._asking_changed = False
        asked = next((each.request for each in self.view.requests if each.state == "open"), None)
        if asked is None:
            self._dialogue = None
        elif self._dialogue is None or self._dialogue.request.id != asked.id:
            self._dialogue = Dialogue(asked, self.standing.modes)
        return self._dialogue

    @property
    def asked_detached(self) -> bool:
        """Whether no process waits for the oldest request that is open."""
        return next((each.detached for each in self.view.requests if each.state == "open"), False)

    @property
    def open_requests(self) -> int:
        """How many wait for an answer."""
        return sum(each.state == "open" for each in self.view.requests)

    @property
    def resting(self) -> bool:
        """Whether nothing runs and nothing is about to."""
        view = self.view
        if view.turn is not None or not self.joined:
            return False
        awaited = self._fresh - self._refused  # older ones may be paused
        waiting = [each for each in view.queue if each.id in awaited]
        return not waiting or view.waiting_for == "limit"
