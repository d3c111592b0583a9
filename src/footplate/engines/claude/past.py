"""The past of a session as events: what the CLI's file says happened, told as a live translator would have. Pure.

The same parts that read the live stream read the entries: `Messages` what the model said, `Inputs` what was said to it,
the `Ledger` opens and closes. Only turns are ours to find here, because the file knows none: a prompt begins one, the
next prompt or the end of the file ends it. What the model's last message and the CLI's own words say of a turn's end is
its verdict; a turn that ends in neither was cut off.

Left out, with a reason each: entries of sub-agents (they have files of their own; the call that started one and its
result are told), what the CLI says to the model on its own (`isMeta`), the summary after a compaction (what it sums up
is told itself), `No response requested.` (the CLI's filler after a resume). Requests are in no file; usage and cost
neither, in a form that could be trusted. The permission mode is left out on purpose: whoever continues chooses it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

import msgspec

from footplate.engines.claude.inputs import INTERRUPTED, LOCAL_COMMAND, Inputs
from footplate.engines.claude.ledger import Ledger, Trigger
from footplate.engines.claude.lenient import read, read_struct
from footplate.engines.claude.messages import SYNTHETIC, Messages
from footplate.engines.claude.outcomes import read_content
from footplate.engines.claude.prompts import Prompts
from footplate.engines.claude.results import STOPS
from footplate.engines.claude.transcript import BOUNDARY, Entry, blocks_of
from footplate.engines.claude.wire import TEXT, Assistant, AssistantBody, Decision, User, UserBody
from footplate.events.base import ResumeToken
from footplate.events.content import text_of
from footplate.events.ids import EngineSessionId
from footplate.events.model import EngineAttached, EngineDetached, Event, StopReason, TitleChanged, TurnEnded
from footplate.events.wording import format_count

ENGINE: Final = "claude"
FILLER: Final = "No response requested."
CUT_OFF: Final = "the session stopped before the turn ended"
READ: Final = "this is where its file ends"
NOTIFICATION: Final = "task-notification"
COMMAND: Final = re.compile(r"<command-name>(?P<name>.*?)</command-name>", re.DOTALL)
ARGUMENTS: Final = re.compile(r"<command-args>(?P<args>.*?)</command-args>", re.DOTALL)
DECISION: Final = msgspec.json.Decoder(Decision)
TRIGGERS: Final[dict[str, Trigger]] = {"manual": "manual", "auto": "auto"}


class PastEvent(msgspec.Struct, frozen=True, gc=False):
    """An event of the past, and when it happened."""

    time: float
    event: Event


class Verdict(msgspec.Struct, frozen=True):
    """How a turn ended, as far as the file tells."""

    ok: bool
    stop: StopReason
    error: str = ""
    kind: str = ""


LOST: Final = Verdict(ok=False, stop="lost", error=CUT_OFF, kind="lost")


class Past:
    """One session's entries, in the order of its thread, as events. `take` each, then `finish`."""

    def __init__(self, session: str) -> None:
        self._token = ResumeToken(engine=ENGINE, value=EngineSessionId(session))
        self._ledger = Ledger(cwd="", turn_prefix="turn-", first_turn=1)
        inputs = Inputs(self._ledger, Prompts(self._ledger), live=False)
        self._inputs = inputs
        self._messages = Messages(self._ledger, inputs, lambda: self._line)
        self._line = b""
        self._last: Entry | None = None
        self._command = False
        self._attached = False
        self._before = 0.0
        self._now = 0.0
        self._ended = 0

    def take(self, entry: Entry, line: bytes) -> list[PastEvent]:
        """What one entry means; nothing for most."""
        self._ledger.out = []
        self._line = line
        self._before, self._now = self._now, max(self._now, entry.time or 0.0)
        self._ended = 0
        if not entry.is_sidechain:
            self._ledger.cwd = entry.cwd or self._ledger.cwd
            match entry.type:
                case "user":
                    self._user(entry)
                case "assistant":
                    self._assistant(entry)
                case "system":
                    self._system(entry)
        return self._told()

    def finish(self, *, title: str = "", strange: Iterable[str] = (), unreadable: int = 0) -> list[PastEvent]:
        """The file is at its end: close what is open, and say what could not be read."""
        self._ledger.out = []
        self._ended = 0
        self._end_turn()
        if title:
            self._ledger.out.append(TitleChanged(title=title))
        kinds = ", ".join(sorted(strange))
        if kinds:
            self._ledger.notice("debug", f"entries of kinds not known here: {kinds}", code="strange_entries")
        if unreadable:
            text = f"{format_count(unreadable, 'line')} of the session's file could not be read"
            self._ledger.notice("warning", text, code="unreadable_entries")
        if self._attached:
            self._ledger.out.append(EngineDetached(reason=READ))
        return self._told()

    def _told(self) -> list[PastEvent]:
        """What came of an entry, at its time; the end of the turn before happened with the entry before."""
        times = (self._before if number < self._ended else self._now for number in range(len(self._ledger.out)))
        return [PastEvent(time, event) for time, event in zip(times, self._ledger.out, strict=True)]

    def _attach(self, entry: Entry) -> None:
        if not self._attached:
            self._attached = True
            self._ledger.out.append(
                EngineAttached(
                    engine=ENGINE,
                    engine_session_id=self._token.value,
                    version=entry.version,
                    cwd=entry.cwd,
                )
            )

    # -------------------------------------------------------------------------------------------- entries

    def _user(self, entry: Entry) -> None:
        results = any(block.type.endswith("tool_result") for block in blocks_of(entry.message.content))
        if not results and (entry.is_meta or entry.is_compact_summary):
            return
        self._attach(entry)
        text = plain_text(entry)
        if results or LOCAL_COMMAND.fullmatch(text) or text.startswith(INTERRUPTED):
            self._inputs.user(_as_user(entry, synthetic=True))
            self._last = entry if text.startswith(INTERRUPTED) else self._last
            return
        self._end_turn()
        self._last = None
        command = spoken_command(text)
        self._command = bool(command)
        if entry.origin is not None and entry.origin.kind == NOTIFICATION:
            self._ledger.open_turn(origin="task")
            self._inputs.user(_as_user(entry, synthetic=True))
        else:
            self._inputs.user(_as_user(entry, synthetic=False, text=command))

    def _assistant(self, entry: Entry) -> None:
        if entry.message.model == SYNTHETIC and plain_text(entry) == FILLER:
            return
        self._attach(entry)
        self._last = entry
        self._messages.assistant(
            Assistant(
                message=AssistantBody(
                    id=entry.message.id or entry.uuid, model=entry.message.model, content=entry.message.content
                ),
                uuid=entry.uuid,
                error=entry.error,
            )
        )

    def _system(self, entry: Entry) -> None:
        if entry.subtype == BOUNDARY:
            figures = entry.compact_metadata
            trigger = TRIGGERS.get(figures.trigger, "")
            self._ledger.start_compaction(trigger)
            self._ledger.end_compaction(ok=True, trigger=trigger, before=figures.pre_tokens, after=figures.post_tokens)
            return
        text = read(TEXT, entry.content) or ""
        local = LOCAL_COMMAND.fullmatch(text)
        if local is not None:
            self._ledger.notice("info", local[2].strip(), code="local_command")
        elif text:
            self._ledger.notice("debug", text, code=entry.subtype)

    # ---------------------------------------------------------------------------------------------- turns

    def _end_turn(self) -> None:
        turn = self._ledger.turn
        if turn is None:
            return
        verdict = self._judge()
        if verdict.stop == "lost":
            self._ledger.close_all(CUT_OFF)
        else:
            self._ledger.close_turn(interrupted=verdict.stop == "interrupted")
        self._ledger.out.append(
            TurnEnded(
                turn=turn.id,
                ok=verdict.ok,
                answer="".join(self._messages.answer),
                error=verdict.error,
                error_kind=verdict.kind,
                stop_reason=verdict.stop,
                resume=self._token,
                origin=turn.origin,
                prompts=tuple(turn.prompts),
            )
        )
        self._ledger.turn = None
        self._messages.answer = []
        self._ended = len(self._ledger.out)

    def _judge(self) -> Verdict:
        """How the turn ended, by its last words."""
        last = self._last
        if last is not None and last.type == "user":
            return Verdict(ok=False, stop="interrupted", error="interrupted", kind="interrupted")
        if last is None:
            return Verdict(ok=True, stop="end_turn") if self._command else LOST
        if last.is_api_error_message:
            error = plain_text(last) or "the API failed"
            return Verdict(ok=False, stop="error", error=error, kind=last.error or "error")
        if last.message.stop_reason == "tool_use" or any(
            block.type.endswith("tool_use") for block in blocks_of(last.message.content)
        ):
            return LOST
        return Verdict(ok=True, stop=STOPS.get(last.message.stop_reason or "", "other"))


def plain_text(entry: Entry) -> str:
    """What an entry says, as text."""
    return text_of(read_content(entry.message.content))


def spoken_command(text: str) -> str:
    """The slash command that the text wraps, as it was typed; empty when it is none."""
    name = COMMAND.search(text) if text.lstrip().startswith(("<command-name>", "<command-message>")) else None
    if name is None:
        return ""
    args = ARGUMENTS.search(text)
    return f"{name['name'].strip()} {args['args'].strip() if args else ''}".strip()


def is_prompt(entry: Entry) -> bool:
    """Whether somebody's words stand in the entry: no results of tools, nothing that the CLI says by itself."""
    if entry.type != "user" or entry.is_meta or entry.is_sidechain or entry.is_compact_summary:
        return False
    if any(block.type.endswith("tool_result") for block in blocks_of(entry.message.content)):
        return False
    text = plain_text(entry)
    return bool(text) and not text.startswith((INTERRUPTED, "<local-command-"))


def _as_user(entry: Entry, *, synthetic: bool, text: str = "") -> User:
    """The entry as the line that the live stream would have had for it."""
    content = msgspec.Raw(msgspec.json.encode(text)) if text else entry.message.content
    return User(
        message=UserBody(content=content),
        uuid=entry.uuid,
        synthetic=synthetic,
        replay=not synthetic,
        tool_use_result=entry.tool_use_result,
        tool_result_meta=_meta(entry),
    )


def _meta(entry: Entry) -> msgspec.Raw | None:
    """What 2.1.325 notes of a permission, in the form in which the live stream has it."""
    decision = read_struct(DECISION, entry.permission_decision)
    if decision is None:
        return None
    metas = [
        {"id": block.tool_use_id, "permission_decision": decision}
        for block in blocks_of(entry.message.content)
        if block.tool_use_id
    ]
    return msgspec.Raw(msgspec.json.encode(metas))
