"""How the events about a session as a whole change its view: engine, state, settings, queue, limits, notices."""

from __future__ import annotations

from typing import assert_never

from msgspec.structs import replace

from footplate.events import model as m
from footplate.events.base import Level, ResumeToken
from footplate.events.draft import Draft, Stamp
from footplate.events.ids import ToolCallId
from footplate.events.view import (
    CommandItem,
    CompactionItem,
    ExitView,
    LimitView,
    NoticeItem,
    QueuedPrompt,
    RewindItem,
    ToolItem,
)


def session_opened(draft: Draft, event: m.SessionOpened, at: Stamp) -> None:
    draft.facts = replace(
        draft.facts,
        session=at.session,
        opened_at=at.time,
        engine=event.engine,
        cwd=event.cwd,
        title=event.title,
        model=event.model,
        mode=event.mode,
        effort=event.effort,
        resume=event.resumed,
        forked_from=event.forked_from,
    )


def engine_attached(draft: Draft, event: m.EngineAttached, _at: Stamp) -> None:
    """What the event leaves empty keeps its value; lists are told whole or not at all."""
    before = draft.facts
    draft.facts = replace(
        before,
        attached=True,
        engine=event.engine,
        resume=ResumeToken(engine=event.engine, value=event.engine_session_id),
        resumable=event.resumable,
        version=event.version or before.version,
        model=event.model or before.model,
        mode=event.mode or before.mode,
        cwd=event.cwd or before.cwd,
        output_style=event.output_style or before.output_style,
        credentials=event.credentials or before.credentials,
        tools=event.tools or before.tools,
        mcp_servers=event.mcp_servers or before.mcp_servers,
        agents=event.agents or before.agents,
        commands=before.commands or tuple(m.SlashCommand(name=name) for name in event.commands),
    )


def engine_detached(draft: Draft, event: m.EngineDetached, at: Stamp) -> None:
    gone = ExitView(
        reason=event.reason, at=at.time, exit_code=event.exit_code, signal=event.signal, stderr=event.stderr
    )
    draft.facts = replace(draft.facts, attached=False, exit=gone)
    draft.drop_live(main_only=False)
    for name, held in draft.requests.items():
        if not held.request.limit:  # what the session itself asks does not go with the process
            draft.requests[name] = replace(held, detached=True)


def state_changed(draft: Draft, event: m.StateChanged, _at: Stamp) -> None:
    draft.facts = replace(draft.facts, state=event.state, waiting_for=event.waiting_for, until=event.until)


def mode_changed(draft: Draft, event: m.ModeChanged, _at: Stamp) -> None:
    draft.facts = replace(draft.facts, mode=event.mode)


def model_changed(draft: Draft, event: m.ModelChanged, _at: Stamp) -> None:
    draft.facts = replace(draft.facts, model=event.model)


def effort_changed(draft: Draft, event: m.EffortChanged, _at: Stamp) -> None:
    draft.facts = replace(draft.facts, effort=event.effort)


def config_changed(draft: Draft, event: m.ConfigChanged, _at: Stamp) -> None:
    draft.facts = replace(draft.facts, options=event.options)


def commands_changed(draft: Draft, event: m.CommandsChanged, _at: Stamp) -> None:
    draft.facts = replace(draft.facts, commands=event.commands)


def title_changed(draft: Draft, event: m.TitleChanged, _at: Stamp) -> None:
    draft.facts = replace(draft.facts, title=event.title)


def session_closed(draft: Draft, event: m.SessionClosed, _at: Stamp) -> None:
    draft.facts = replace(
        draft.facts, state="closed", waiting_for="", until=None, attached=False, closed_reason=event.reason
    )
    draft.drop_live(main_only=False)


# -------------------------------------------------------------------------------------------------- queue


def prompt_queued(draft: Draft, event: m.PromptQueued, at: Stamp) -> None:
    """A new prompt goes to the end; one that waits already moves to the position it is told again with."""
    draft.accepted.add(event.prompt)
    waiting = [held for held in draft.queue if held.id == event.prompt]
    if not waiting:
        draft.queue.append(QueuedPrompt(id=event.prompt, content=event.content, at=at.time))
        return
    draft.leave_queue((event.prompt,))
    place = max(0, min(event.position, len(draft.queue)))
    draft.queue.insert(place, replace(waiting[0], content=event.content))


def prompt_left(draft: Draft, event: m.PromptWithdrawn, _at: Stamp) -> None:
    draft.leave_queue((event.prompt,))


# -------------------------------------------------------------------------------------------------- rules


def rule_added(draft: Draft, event: m.RuleAdded, _at: Stamp) -> None:
    """A rule that is told again takes its own place."""
    kept = tuple(rule for rule in draft.facts.rules if rule.id != event.rule.id)
    draft.facts = replace(draft.facts, rules=(*kept, event.rule))


def rule_revoked(draft: Draft, event: m.RuleRevoked, _at: Stamp) -> None:
    draft.facts = replace(draft.facts, rules=tuple(rule for rule in draft.facts.rules if rule.id != event.rule))


# ------------------------------------------------------------------------------------- figures and limits


def usage_reported(draft: Draft, event: m.UsageReported, _at: Stamp) -> None:
    before = draft.facts.meter
    meter = replace(
        before,
        used=before.used if event.context_used is None else event.context_used,
        size=before.size if event.context_size is None else event.context_size,
        cost_usd=before.cost_usd if event.cost_usd is None else event.cost_usd,
        model=event.model or before.model,
    )
    draft.facts = replace(draft.facts, meter=meter)


def limit_reached(draft: Draft, event: m.LimitReached, at: Stamp) -> None:
    """The latest word on a limit counts; each word is told in the timeline too."""
    key = (event.kind, event.name)
    match event.status:
        case "clear":
            draft.limits.pop(key, None)
        case "warning" | "reached":
            draft.limits[key] = LimitView(
                kind=event.kind,
                name=event.name,
                status=event.status,
                at=at.time,
                resets_at=event.resets_at,
                utilization=event.utilization,
                text=event.text,
            )
        case _:
            assert_never(event.status)
    level: Level = "info" if event.status == "clear" else "warning"
    _tell(draft, at, level=level, text=event.text or event.name or event.kind, code="limit", detail=event.status)


def parked(draft: Draft, event: m.Parked, at: Stamp) -> None:
    draft.facts = replace(draft.facts, state="parked", until=event.until)
    _tell(draft, at, level="info", text=event.reason, code="parked")


# -------------------------------------------------------------------------------------------- told in line


def _tell(
    draft: Draft,
    at: Stamp,
    *,
    level: Level,
    text: str,
    code: str = "",
    detail: str = "",
    call: ToolCallId | None = None,
) -> None:
    draft.put(
        NoticeItem(
            id=f"notice-{at.seq}",
            turn=draft.turn_of(at),
            at=at.time,
            level=level,
            text=text,
            code=code,
            detail=detail,
            call=call,
        )
    )


def notice(draft: Draft, event: m.Notice, at: Stamp) -> None:
    """A summary of calls is stored as their note; without any of them in the view it is an item of its own."""
    items = [item for item in (draft.item(ToolItem, call) for call in event.calls) if item is not None]
    for item in items:
        draft.put(replace(item, note="; ".join(filter(None, (item.note, event.text)))))
    if items:
        return
    _tell(draft, at, level=event.level, text=event.text, code=event.code, detail=event.detail, call=event.call)


def unparsed(draft: Draft, event: m.Unparsed, at: Stamp) -> None:
    draft.facts = replace(draft.facts, unparsed=draft.facts.unparsed + 1)
    _tell(draft, at, level="warning", text=event.reason, code="unparsed", detail=event.raw)


def compaction_started(draft: Draft, event: m.CompactionStarted, at: Stamp) -> None:
    draft.put(CompactionItem(id=f"compaction-{at.seq}", turn=draft.turn_of(at), at=at.time, trigger=event.trigger))


def compaction_ended(draft: Draft, event: m.CompactionEnded, at: Stamp) -> None:
    """Ends the compaction that runs, or tells of one that nobody saw start; the meter shows the shorter context."""
    item = draft.running_compaction() or CompactionItem(id=f"compaction-{at.seq}", turn=draft.turn_of(at), at=at.time)
    draft.put(
        replace(
            item,
            trigger=event.trigger or item.trigger,
            status="done" if event.ok else "failed",
            tokens_before=event.tokens_before,
            tokens_after=event.tokens_after,
            error=event.error,
            ended_at=at.time,
        )
    )
    if event.tokens_after is not None:
        draft.facts = replace(draft.facts, meter=replace(draft.facts.meter, used=event.tokens_after))


def command_ran(draft: Draft, event: m.CommandRan, at: Stamp) -> None:
    draft.put(
        CommandItem(
            id=f"command-{at.seq}",
            turn=draft.turn_of(at),
            at=at.time,
            command=event.command,
            output=event.output,
            exit_code=event.exit_code,
            truncated=event.truncated,
        )
    )


def files_rewound(draft: Draft, event: m.FilesRewound, at: Stamp) -> None:
    draft.put(
        RewindItem(id=f"rewind-{at.seq}", turn=draft.turn_of(at), at=at.time, message=event.message, files=event.files)
    )
