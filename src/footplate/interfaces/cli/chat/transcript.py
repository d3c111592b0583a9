"""A session's events as a growing transcript: each event in, finished lines out. Pure.

Text that streams is shown as it grows: whole rows leave at once, what may still change is `partial`. One stream is
shown live at a time; what streams beside it comes when it is finished, so that two texts never mix.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar, cast

import msgspec

from footplate.events import model as m
from footplate.events.codec import ReadEnvelope
from footplate.events.content import ContentBlock, text_of
from footplate.events.ids import PromptId, RequestId, ToolCallId
from footplate.events.model import Envelope, Unknown
from footplate.events.requests import Request
from footplate.events.tools import CommandDetail, FileChangeDetail, PlanEntry, ToolDetail, ToolKind
from footplate.events.wording import describe_answer, format_count, format_duration, format_money
from footplate.interfaces.cli.chat.asking import changed_lines, request_lines
from footplate.interfaces.cli.chat.diff import MOST_LINES, render_changes
from footplate.interfaces.cli.chat.notes import note_lines, plan_lines
from footplate.interfaces.cli.chat.text import (
    BEGUN_ESCAPE,
    Line,
    Style,
    clean,
    flat,
    lines_of,
    output_lines,
    shorten,
    visible_lines,
    wrap,
)
from footplate.interfaces.cli.lines import one_line

MOST_OUTPUT: Final = 5
MARKS: Final[dict[str, tuple[str, Style]]] = {
    "completed": ("✓", "ok"),
    "failed": ("✗", "failed"),
    "denied": ("✗", "warning"),
    "cancelled": ("✗", "warning"),
    "lost": ("✗", "failed"),
}
E = TypeVar("E")
StreamId = tuple[str, str, int]


class _Call(msgspec.Struct):
    title: str
    kind: ToolKind
    began: float
    depth: int
    detail: ToolDetail | None = None
    changed: RequestId | None = None
    """The request whose answer changed the input: the title is that of what was asked."""


class _Stream(msgspec.Struct):
    """A text being written: `text` so far (clean), of which `shown` characters have left as rows.

    `held` is the beginning of an escape sequence that may still go on.
    """

    depth: int
    style: Style
    text: str = ""
    shown: int = 0
    held: str = ""

    def grow(self, more: str) -> None:
        """Take in a piece as the engine sent it."""
        raw = self.held + more
        begun = BEGUN_ESCAPE.search(raw)
        self.held = begun[0] if begun is not None else ""
        self.text += clean(raw[: len(raw) - len(self.held)])


class Transcript:
    """What has been said and done. `columns` is the width for text that streams; None shows whole lines only."""

    def __init__(self, columns: int | None = None) -> None:
        self.columns = columns
        self._calls: dict[ToolCallId, _Call] = {}
        self._streams: dict[StreamId, _Stream] = {}
        self._live: StreamId | None = None
        self._prompts: dict[PromptId, str] = {}
        self._said: set[PromptId] = set()
        self._plans: dict[ToolCallId | None, tuple[PlanEntry, ...]] = {}
        self._asked: dict[RequestId, Request] = {}
        self._answered = False
        self._turn_began = 0.0
        self._now = 0.0

    @property
    def partial(self) -> Line | None:
        """The row that is being written."""
        stream = self._streams.get(self._live) if self._live is not None else None
        rest = stream.text[stream.shown :] if stream is not None else ""
        return Line(rest, stream.style, stream.depth) if stream is not None and rest else None

    def feed(self, envelope: Envelope | ReadEnvelope) -> list[Line]:
        """One event; the lines that are finished by it."""
        event = envelope.event
        self._now = envelope.time
        if isinstance(event, Unknown):
            return [Line(f"- {flat(event.type)} (of a newer version)", "dim")]
        handler = _TABLE.get(type(event))
        return handler(self, event) if handler is not None else note_lines(event)

    def _depth(self, parent: ToolCallId | None) -> int:
        call = self._calls.get(parent) if parent is not None else None
        return 0 if parent is None else call.depth + 1 if call is not None else 1

    # ----------------------------------------------------------------------------------------- prompts

    def queued(self, event: m.PromptQueued) -> list[Line]:
        """A prompt waits; told only when something is before it."""
        self._prompts[event.prompt] = _words(event.content)
        if not event.position and not self._turn_began:
            return []
        return [Line(f"+ queued: {flat(self._prompts[event.prompt])}", "dim")]

    def withdrawn(self, event: m.PromptWithdrawn) -> list[Line]:
        """A prompt will not run."""
        text = flat(self._prompts.pop(event.prompt, ""))
        why = f" ({flat(event.reason)})" if event.reason else ""
        return [Line(f"- not sent{why}: {text}", "warning")]

    def steered(self, event: m.PromptSteered) -> list[Line]:
        """A prompt went into the running turn."""
        return self._say(event.prompt, "» ")

    def turn_started(self, event: m.TurnStarted) -> list[Line]:
        """A turn begins with what was asked."""
        self._turn_began, self._answered = self._now, False
        lines = [line for prompt in event.prompts for line in self._say(prompt, "> ")]
        if event.origin == "task":
            lines.append(Line("- the agent goes on by itself: background work reported", "dim"))
        return lines

    def user_message(self, event: m.UserMessage) -> list[Line]:
        """A message as the engine took it up; most were shown when their turn began."""
        if event.synthetic or event.parent is not None or event.prompt in self._said:
            return []
        if event.prompt is not None and event.prompt in self._prompts:
            return self._say(event.prompt, "> ")
        return _quote(_words(event.content), "> ")

    def _say(self, prompt: PromptId, mark: str) -> list[Line]:
        self._said.add(prompt)
        return _quote(self._prompts.pop(prompt, ""), mark)

    def turn_ended(self, event: m.TurnEnded) -> list[Line]:
        """A turn is over: its verdict, its time, its price."""
        lines = [line for name in tuple(self._streams) for line in self._finish(name, None)]
        if event.answer and not self._answered:
            lines += lines_of(event.answer)
        if not event.ok:
            lines += visible_lines(f"✗ {event.error or event.stop_reason}", "failed")
        cost = event.usage.cost_usd if event.usage is not None else None
        parts = [format_duration(max(self._now - self._turn_began, 0.0)), format_money(cost)]
        self._turn_began = 0.0
        return [*lines, Line(f"- {' · '.join(part for part in parts if part)}", "dim")]

    # ------------------------------------------------------------------------------------------- text

    def message_delta(self, event: m.MessageDelta | m.ThoughtDelta) -> list[Line]:
        """A text grows."""
        kind = "message" if isinstance(event, m.MessageDelta) else "thought"
        name = (kind, event.message, event.part)
        stream = self._streams.get(name)
        if stream is None:
            style: Style = "" if kind == "message" else "dim"
            stream = self._streams[name] = _Stream(self._depth(event.parent), style)
        if event.reset:
            stream.text = stream.held = ""
        stream.grow(event.text)
        if self._live is None:
            self._live = name
        return self._flow(stream) if self._live == name else []

    def _flow(self, stream: _Stream) -> list[Line]:
        """The rows of a stream that cannot change any more."""
        lines: list[Line] = []
        while (end := stream.text.find("\n", stream.shown)) >= 0:
            lines += [Line(row, stream.style, stream.depth) for row in self._wrap(stream, end)]
            stream.shown = end + 1
        if self.columns is not None:
            for row in self._wrap(stream, len(stream.text))[:-1]:
                lines.append(Line(row, stream.style, stream.depth))
                stream.shown = _after(stream.text, stream.shown, row)
        return lines

    def _wrap(self, stream: _Stream, end: int) -> list[str]:
        text = stream.text[stream.shown : end]
        return [text] if self.columns is None else wrap(text, max(self.columns - 2 * stream.depth, 8))

    def message(self, event: m.Message | m.Thought) -> list[Line]:
        """A text is finished."""
        kind = "message" if isinstance(event, m.Message) else "thought"
        self._answered = self._answered or (kind == "message" and event.parent is None)
        name = (kind, event.message, event.part)
        if isinstance(event, m.Thought) and event.redacted and not event.text:
            return [Line("(thinking, not shown by the engine)", "dim", self._depth(event.parent))]
        if name not in self._streams:
            style: Style = "" if kind == "message" else "dim"
            return lines_of(event.text, style, indent=self._depth(event.parent)) if event.text.strip() else []
        return self._finish(name, event.text)

    def _finish(self, name: StreamId, text: str | None) -> list[Line]:
        """What is left of a stream; a text that differs from what was shown of it is shown again."""
        stream = self._streams.pop(name)
        if self._live == name:
            self._live = None
        if text is not None:
            whole = clean(text)
            if whole[: stream.shown] != stream.text[: stream.shown]:
                stream.shown = 0
            stream.text = whole
        rest = stream.text[stream.shown :]
        return lines_of(rest, stream.style, indent=stream.depth) if rest.strip() else []

    # ------------------------------------------------------------------------------------------- tools

    def tool_started(self, event: m.ToolStarted) -> list[Line]:
        """A call begins; only one that has calls below it is told now."""
        depth = self._depth(event.parent)
        self._calls[event.call] = _Call(event.title or event.name, event.kind, self._now, depth, event.detail)
        return [Line(f"▸ {one_line(event.title or event.name)}", "running", depth)] if event.kind == "subagent" else []

    def tool_updated(self, event: m.ToolUpdated) -> list[Line]:
        """More is known of a call."""
        call = self._calls.get(event.call)
        if call is not None:
            call.title = event.title or call.title
            call.detail = event.detail or call.detail
        return []

    def tool_ended(self, event: m.ToolEnded) -> list[Line]:
        """A call is over: its line, and what it changed or said."""
        call = self._calls.pop(event.call, None)
        if call is None or call.kind == "todo":
            return []
        mark, style = MARKS[event.outcome]
        detail = event.detail or call.detail
        took = max(self._now - call.began, 0.0)
        notes = [
            "as asked; it ran with edits" if call.changed else "",
            "" if event.outcome in ("completed", "failed") else event.outcome,
            flat(event.note),
            f"exit code {detail.exit_code}" if isinstance(detail, CommandDetail) and detail.exit_code else "",
        ]
        text = f"{mark} {one_line(call.title)}" + "".join(f", {note}" for note in notes if note)
        text += f" ({format_duration(took)})" if took >= 0.1 else ""
        return [Line(text, style, call.depth), *self._result(event, detail, call.depth + 1)]

    def _result(self, event: m.ToolEnded, detail: ToolDetail | None, depth: int) -> list[Line]:
        if isinstance(detail, FileChangeDetail) and event.ok:
            return render_changes(detail.changes, indent=depth, most=MOST_LINES)
        output = detail.output if isinstance(detail, CommandDetail) else ""
        if not output and (not event.ok or isinstance(detail, CommandDetail)):
            output = text_of(event.content)
        return shorten(output_lines(output, "dim", indent=depth), MOST_OUTPUT) if output.strip() else []

    def plan_changed(self, event: m.PlanChanged) -> list[Line]:
        """The to-do list."""
        before = self._plans.get(event.parent, ())
        self._plans[event.parent] = event.entries
        return plan_lines(event.entries, before, indent=self._depth(event.parent))

    # ----------------------------------------------------------------------------------------- requests

    def request_opened(self, event: m.RequestOpened) -> list[Line]:
        """The agent asks."""
        request = event.request
        self._asked[request.id] = request
        return request_lines(request, indent=self._depth(event.parent))

    def request_answered(self, event: m.RequestAnswered) -> list[Line]:
        """Somebody answered."""
        request = self._asked.pop(event.request, None)
        title = one_line(request.title) if request is not None else "the request"
        said = describe_answer(event.answer, request, by=event.by, surface=event.surface)
        changed = changed_lines(request, event.answer, indent=1)
        call = self._calls.get(request.call) if request is not None and request.call is not None else None
        if call is not None:
            call.changed = event.request if changed else None
        return [Line(f"= {said} · {title}{', as asked; edited to:' if changed else ''}", "bold"), *changed]

    def request_dropped(self, event: m.RequestRejected | m.RequestWithdrawn | m.RequestUnanswered) -> list[Line]:
        """It ends without an answer, or with one that the agent did not use: then nothing ran with the edits of it."""
        for call in self._calls.values():
            if call.changed == event.request:
                call.changed = None
        return note_lines(event)


def _words(content: tuple[ContentBlock, ...]) -> str:
    pictures = sum(block.__struct_config__.tag == "image" for block in content)
    text = text_of(content)
    return f"{text} [{format_count(pictures, 'image')}]" if pictures else text


def _quote(text: str, mark: str) -> list[Line]:
    lines = lines_of(text, "bold")
    return [Line(f"{mark if not index else '  '}{line.text}", "bold") for index, line in enumerate(lines)]


def _after(text: str, start: int, row: str) -> int:
    """Where the text goes on behind a row of it and the blanks at its end."""
    at = text.index(row, start) + len(row)
    while at < len(text) and text[at] == " ":
        at += 1
    return at


def _on(kind: type[E], handler: Callable[[Transcript, E], list[Line]]) -> tuple[type, Callable[..., list[Line]]]:
    return kind, cast("Callable[..., list[Line]]", handler)


_TABLE: Final[dict[type, Callable[..., list[Line]]]] = dict(
    (
        _on(m.PromptQueued, Transcript.queued),
        _on(m.PromptWithdrawn, Transcript.withdrawn),
        _on(m.PromptSteered, Transcript.steered),
        _on(m.TurnStarted, Transcript.turn_started),
        _on(m.UserMessage, Transcript.user_message),
        _on(m.MessageDelta, Transcript.message_delta),
        _on(m.ThoughtDelta, Transcript.message_delta),
        _on(m.Message, Transcript.message),
        _on(m.Thought, Transcript.message),
        _on(m.ToolStarted, Transcript.tool_started),
        _on(m.ToolUpdated, Transcript.tool_updated),
        _on(m.ToolEnded, Transcript.tool_ended),
        _on(m.PlanChanged, Transcript.plan_changed),
        _on(m.TurnEnded, Transcript.turn_ended),
        _on(m.RequestOpened, Transcript.request_opened),
        _on(m.RequestAnswered, Transcript.request_answered),
        _on(m.RequestRejected, Transcript.request_dropped),
        _on(m.RequestWithdrawn, Transcript.request_dropped),
        _on(m.RequestUnanswered, Transcript.request_dropped),
    )
)
