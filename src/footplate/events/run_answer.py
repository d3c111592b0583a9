"""The answer of a run: the result's own text, else the agent's latest words, and what it reported afterwards."""

from __future__ import annotations

from footplate.events.model import Message, MessageDelta


class LatestWords:
    """The latest text of the main agent, finished or not; closed once the run has its result."""

    def __init__(self) -> None:
        self._text = ""
        self._writing: tuple[str, int] | None = None
        self._partial: list[str] = []
        self._reports: list[str] = []
        self._closed = False

    def close(self) -> None:
        """The result is there: later messages belong to other turns."""
        self._closed = True

    def report(self, text: str) -> None:
        """What the agent said in a turn that it started by itself after the result."""
        if self._closed and text:
            self._reports.append(text)

    def hear_piece(self, event: MessageDelta) -> None:
        """A piece of a text; another part's first piece begins anew."""
        if self._closed or event.parent is not None:
            return
        part = (event.message, event.part)
        if event.reset or part != self._writing:
            self._partial.clear()
        self._writing = part
        self._partial.append(event.text)

    def hear(self, event: Message) -> None:
        """A finished text; the engine's own stand-ins do not count."""
        if self._closed or event.parent is not None:
            return
        self._partial.clear()
        if event.text.strip() and not event.synthetic:
            self._text = event.text

    def answer(self, result: str) -> str:
        """The answer: the result's text or the latest words, then the reports, as paragraphs."""
        own = result or "".join(self._partial) or self._text
        return "\n\n".join(text for text in (own, *self._reports) if text)
