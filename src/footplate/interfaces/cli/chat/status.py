"""The status line: state, mode, model, cost, context, queue, in as many columns as there are. Pure."""

from __future__ import annotations

import time

from footplate.events.view import Meter, SessionView, ToolItem
from footplate.events.wording import format_duration, format_money, format_share, format_tokens
from footplate.interfaces.cli.chat.text import fit, flat, width_of


def state_words(view: SessionView, now: float) -> str:
    """What the session does or waits for, as the protocol tells it."""
    if view.state == "waiting" or view.waiting_for == "you":
        return "waiting for you"
    if view.waiting_for == "limit":
        reset = max((limit.resets_at or 0.0 for limit in view.limits if limit.status == "reached"), default=0.0)
        until = view.until or reset
        return f"limit until {time.strftime('%H:%M', time.localtime(until))}" if until else "limit reached"
    if view.state == "running":
        what = f"tool {_tool(view)}".strip() if view.waiting_for == "tool" else "model"
        started = next((turn.started_at for turn in reversed(view.turns) if turn.id == view.turn), now)
        return f"{what} {format_duration(int(max(now - started, 0.0)))}"
    return "ready" if view.state == "idle" else view.state


def _tool(view: SessionView) -> str:
    for item in reversed(view.items):
        if isinstance(item, ToolItem) and item.status == "running":
            return fit(flat(item.title or item.name), 30)
    return ""


def cost_of(view: SessionView) -> str:
    """What the session has cost."""
    return format_money(view.cost_usd)


def context_words(meter: Meter) -> str:
    """How full the context is."""
    if meter.used is None:
        return ""
    if not meter.size:
        return f"ctx {format_tokens(meter.used)}"
    return f"ctx {format_share(meter.used, meter.size)} of {format_tokens(meter.size)}"


def status_line(view: SessionView, columns: int, now: float) -> str:
    """The parts that fit, the most telling ones first to stay."""
    queued = f"{len(view.queue)} queued" if view.queue else ""
    parts = [  # as shown, with how long each stays when it gets narrow
        (0, state_words(view, now)),
        (1, queued),
        (4, flat(view.mode)),
        (5, flat(view.model)),
        (3, cost_of(view)),
        (2, context_words(view.meter)),
    ]
    kept = [(rank, text) for rank, text in parts if text]
    while len(kept) > 1 and width_of(" · ".join(text for _, text in kept)) > columns:
        kept.remove(max(kept))
    return fit(" · ".join(text for _, text in kept), columns)


def usage_lines(view: SessionView) -> list[str]:
    """The figures in full."""
    used = view.usage
    cache = f"cache {format_tokens(used.cache_read_tokens)} read, {format_tokens(used.cache_write_tokens)} written"
    found = [
        f"turns {used.turns} · {format_duration(used.duration_ms / 1000)} · {cost_of(view) or 'cost not told'}",
        f"tokens in {format_tokens(used.input_tokens)} · out {format_tokens(used.output_tokens)} · {cache}",
    ]
    if view.meter.used is not None:
        size = format_tokens(view.meter.size) if view.meter.size else "unknown"
        found.append(f"context {format_tokens(view.meter.used)} of {size} tokens")
    found += [flat(f"limit {limit.name or limit.kind}: {limit.status} {limit.text}") for limit in view.limits]
    return found
