"""The agent's lines as events of Footplate: fed whole lines, finished with the process. Pure."""

from __future__ import annotations

import msgspec

from footplate.engines.base import Exit
from footplate.events import model as m
from footplate.events.base import ResumeToken
from footplate.events.ids import EngineSessionId, MessageId, ToolCallId, TurnId
from footplate.host.lines import Block

NAME = "tally"
RAW_LIMIT = 10_000


class Line(msgspec.Struct, frozen=True):
    """Any line of the agent; every field has a default, so that a new one breaks nothing."""

    event: str = ""
    session: str = ""
    id: str = ""
    what: str = ""
    text: str = ""
    result: str = ""
    why: str = ""


class Translator:
    """The story of one process, which is one turn."""

    def __init__(self, *, turn: TurnId, version: str, cwd: str, resumed: bool) -> None:
        self._turn = turn
        self._version = version
        self._cwd = cwd
        self._resumed = resumed
        self._session: EngineSessionId | None = None
        self._open: set[ToolCallId] = set()
        self._over = False

    def feed(self, block: Block) -> list[m.Event]:
        """The events of whole lines; what cannot be read is kept as it came."""
        events: list[m.Event] = []
        for raw in filter(None, block.lines.split(b"\n")):
            try:
                events += self._line(msgspec.json.decode(raw, type=Line), raw)
            except (msgspec.MsgspecError, UnicodeDecodeError) as problem:
                events.append(_unparsed(raw, str(problem)))
        events += [_unparsed(each.head, "the line is too long", each.size) for each in block.oversize]
        return events

    def finish(self, ending: Exit) -> list[m.Event]:
        """The process is gone: a turn that has no end gets one, and says how the process ended."""
        gone = m.EngineDetached(
            reason=ending.reason or "the agent ended", exit_code=ending.code, signal=ending.signal, stderr=ending.stderr
        )
        if self._session is None or self._over:
            return [gone]
        how = f"exit code {ending.code}" if ending.code is not None else f"signal {ending.signal}"
        return [*self._end(ok=False, error=f"the agent died: {how} {ending.stderr}".strip(), reason="lost"), gone]

    def _line(self, line: Line, raw: bytes) -> list[m.Event]:
        call = ToolCallId(f"{self._turn}.{line.id}")
        match line.event:
            case "hello" if self._session is None:
                self._session = EngineSessionId(line.session)
                return [self._attached(self._session), m.TurnStarted(turn=self._turn, origin="prompt")]
            case "begin" if call not in self._open:
                self._open.add(call)
                return [
                    m.ToolStarted(call=call, name=line.what, kind="other", title=f"{line.what} {line.text}".strip())
                ]
            case "end" if call in self._open:
                self._open.discard(call)
                return [m.ToolEnded(call=call, ok=True, outcome="completed")]
            case "answer" if not self._over:
                said = m.Message(message=MessageId(f"{self._turn}.answer"), part=0, text=line.text)
                return [said, *self._end(ok=True, answer=line.text)]
            case "failed" if not self._over:
                return self._end(ok=False, error=line.why or "it failed", reason="error")
        return [_unparsed(raw, f"an unexpected line: {line.event or 'no event'}")]

    def _attached(self, session: EngineSessionId) -> m.EngineAttached:
        return m.EngineAttached(
            engine=NAME,
            engine_session_id=session,
            reason="resumed" if self._resumed else "started",
            version=self._version,
            cwd=self._cwd,
        )

    def _end(self, *, ok: bool, answer: str = "", error: str = "", reason: m.StopReason = "end_turn") -> list[m.Event]:
        """The one end of the turn, after the ends of all that is open in it."""
        self._over = True
        lost: list[m.Event] = [m.ToolEnded(call=call, ok=False, outcome="lost") for call in sorted(self._open)]
        self._open.clear()
        resume = ResumeToken(engine=NAME, value=self._session) if self._session is not None else None
        ended = m.TurnEnded(
            turn=self._turn, ok=ok, answer=answer, error=error, stop_reason=reason, resume=resume, origin="prompt"
        )
        return [*lost, ended]


def _unparsed(raw: bytes, reason: str, size: int = 0) -> m.Unparsed:
    return m.Unparsed(raw=raw[:RAW_LIMIT].decode(errors="replace"), reason=reason, size=size or len(raw))
