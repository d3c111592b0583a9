"""The progress message: what runs, for how long, its last steps. Pure."""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from footplate.chat.drawing.rich import Rich, concat, join, plain, span, trim
from footplate.chat.drawing.words import shorten
from footplate.events.run_events import Action, CommandAction, FileChangeAction
from footplate.events.visible import show_line
from footplate.events.wording import format_duration, format_money

Label = Literal["starting", "working", "queued", "done", "error", "cancelled", "steered", "waiting for you", "waiting"]
SHOWN_ACTIONS: Final = 5
TITLE_WIDTH: Final = 300
SHOWN_CHANGES: Final = 3
LIVE_TEXT: Final = 800
PREFIXES: Final = {"tool": "tool: ", "web_search": "searched: ", "subagent": "subagent: "}
HIDDEN_KINDS: Final = frozenset({"turn", "telemetry"})


class ActionLog:
    """The actions of a turn, in the order in which they were first seen."""

    def __init__(self) -> None:
        self._actions: dict[str, Action] = {}

    def add(self, action: Action) -> None:
        """Note a phase of an action; one without an id, or of a kind that nobody wants to see, is passed over."""
        if action.id and action.level != "debug" and action.kind not in HIDDEN_KINDS:
            self._actions[action.id] = action

    @property
    def steps(self) -> int:
        """How many there were."""
        return len(self._actions)

    @property
    def last(self) -> tuple[Action, ...]:
        """Those that are shown."""
        return tuple(self._actions.values())[-SHOWN_ACTIONS:]


class Footer(msgspec.Struct, frozen=True, kw_only=True):
    """What stands at the end of a message: the project's context, and how to go on elsewhere."""

    context: str = ""
    resume: str = ""

    def draw(self) -> Rich:
        """Each on a line of its own, to be copied with a tap."""
        return join("\n", (span("code", self.context), span("code", self.resume)))


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that the message shows."""

    label: Label
    engine: str
    seconds: float = 0.0
    steps: int = 0
    actions: tuple[Action, ...] = ()
    cost_usd: float | None = None
    note: str = ""
    """What it waits for, or why it is as it is."""
    live: str = ""
    """What the agent is just saying, where it is not shown elsewhere."""
    approvals: bool = True
    footer: Footer = Footer()
    steady: bool = False
    """The message cannot be changed and comes anew with each step: no clock, only the last step, no text."""


def draw_header(progress: Progress, *, addition: str = "") -> Rich:
    """`working · claude · 7s · step 3 · $0.02`."""
    parts = [progress.label, progress.engine, format_duration(int(progress.seconds))]
    parts += [f"step {progress.steps}"] if progress.steps else []
    parts += [format_money(progress.cost_usd)] if progress.cost_usd else []
    parts += [] if progress.approvals else ["no approvals"]
    parts += [progress.note] if progress.note else []
    parts += [addition] if addition else []
    return concat(span("bold", parts[0]), plain(" · " + " · ".join(parts[1:])))


def draw_progress(progress: Progress) -> Rich:
    """Header, the last actions, what is being said, footer; blank lines between."""
    if progress.steady:
        return _draw_step(progress)
    lines = join("\n", (draw_action(action) for action in progress.actions[-SHOWN_ACTIONS:]))
    live = plain(_tail(progress.live)) if progress.live else Rich()
    body = join("\n\n", (draw_header(progress), lines, live))
    return join("\n\n", (trim(body, 3500), progress.footer.draw()))


def _draw_step(progress: Progress) -> Rich:
    """`working · claude · ✓ ls -l`: what holds until the next step."""
    words = [progress.engine, *([] if progress.approvals else ["no approvals"])]
    words += [progress.note] if progress.note else []
    label = "working" if progress.label.startswith("waiting") else progress.label
    header = concat(span("bold", label), plain(" · " + " · ".join(words)))
    return join(" · ", (header, *(draw_action(action) for action in progress.actions[-1:])))


def draw_action(action: Action) -> Rich:
    """`✓ ls -l (exit 1)` on one line."""
    return concat(plain(f"{_mark(action)} "), _title(action), plain(_suffix(action)))


def _mark(action: Action) -> str:
    if action.phase == "started":
        return "▸"
    if action.phase == "updated":
        return "↻"
    return "✓" if action.ok else "✗"


def _suffix(action: Action) -> str:
    detail = action.detail
    code = detail.exit_code if isinstance(detail, CommandAction) else None
    return f" (exit {code})" if code else ""


def _title(action: Action) -> Rich:
    title = shorten(show_line(action.title), TITLE_WIDTH)
    if action.kind == "command":
        return span("code", title)
    if isinstance(action.detail, FileChangeAction) and action.detail.changes:
        return _changes(action.detail)
    return plain(PREFIXES.get(action.kind, "") + title)


def _changes(detail: FileChangeAction) -> Rich:
    shown = [
        concat(plain(f"{change.kind} "), span("code", shorten(show_line(change.path), 120)))
        for change in detail.changes[:SHOWN_CHANGES]
    ]
    left = len(detail.changes) - len(shown)
    more = plain(f" …({left} more)") if left > 0 else Rich()
    return concat(plain("files: "), join(", ", shown), more)


def _tail(text: str) -> str:
    return text if len(text) <= LIVE_TEXT else "…" + text[-LIVE_TEXT:]
