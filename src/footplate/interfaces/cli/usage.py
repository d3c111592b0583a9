"""`footplate usage`: what sessions have used, by day, session, model or engine, with a plot."""

from __future__ import annotations

import shutil
from typing import Final, Literal, get_args

import click
import msgspec

from footplate.events.wording import format_money, format_tokens
from footplate.interfaces.cli.client import service_options, with_client
from footplate.interfaces.cli.lines import clip, one_line

By = Literal["day", "session", "model", "engine"]
BAR: Final = "█"
LEAST_BAR: Final = 8


class Use(msgspec.Struct, frozen=True, kw_only=True):
    """One row of the report, as far as it is shown."""

    name: str
    title: str = ""
    turns: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None


class EngineUse(msgspec.Struct, frozen=True, kw_only=True):
    """One engine's row."""

    engine: str
    turns: int
    cost_usd: float


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What the service tells."""

    total: Use
    days: tuple[Use, ...]
    models: tuple[Use, ...]
    sessions: tuple[Use, ...]
    engines: tuple[EngineUse, ...]

    def rows(self, by: By) -> tuple[Use, ...]:
        """The rows of one kind."""
        if by == "engine":
            return tuple(Use(name=each.engine, turns=each.turns, cost_usd=each.cost_usd) for each in self.engines)
        return {"day": self.days, "session": self.sessions, "model": self.models}[by]


@click.command("usage", short_help="What sessions have used: turns, tokens, money.")
@click.option("--by", type=click.Choice(get_args(By)), default="day", show_default=True, help="What to add up by.")
@click.option(
    "--days", type=click.FloatRange(min=0), default=30.0, show_default=True, metavar="N", help="How far back; 0: all."
)
@service_options
def usage_command(by: By, days: float, url: str, token: str, as_json: bool) -> None:
    """Show what sessions have used: a bar for each day, session, model or engine.

    The bars are of money where the agents told it, else of turns.

    \b
    Examples:
      footplate usage
      footplate usage --by model --days 7
    """
    raw = with_client(url, token, lambda client: client.send("GET", "/api/usage", query={"days": days}))
    if as_json:
        click.echo(raw)
        return
    report = msgspec.json.decode(raw, type=Report)
    rows = report.rows(by)
    for line in render_plot(rows, shutil.get_terminal_size((80, 24)).columns):
        click.echo(line)
    click.echo(_figures(report.total, "total") if rows else "nothing was used", err=not rows)


def render_plot(rows: tuple[Use, ...], width: int) -> list[str]:
    """A line for each: its name, a bar, its figures; bars have what room the rest leaves."""
    by_cost = any(row.cost_usd for row in rows)
    amounts = [(row.cost_usd or 0.0) if by_cost else float(row.turns) for row in rows]
    most = max(amounts, default=0.0) or 1.0
    names = [clip(one_line(row.title or row.name), max(10, width // 3)) for row in rows]
    wide = max(map(len, names), default=0)
    for parts in (3, 2, 1):
        figures = [_figures(row, "", parts) for row in rows]
        room = width - wide - max(map(len, figures), default=0) - 4
        if room >= LEAST_BAR:
            break
    room = max(LEAST_BAR, room)
    bars = [BAR * (max(1, round(amount / most * room)) if amount else 0) for amount in amounts]
    return [
        f"{name:<{wide}}  {bar:<{room}}  {told}".rstrip()[:width]
        for name, bar, told in zip(names, bars, figures, strict=True)
    ]


def _figures(row: Use, name: str, parts: int = 3) -> str:
    """Money, turns and tokens, as far as they are known; only so many parts of it where there is little room."""
    tokens = row.input_tokens + row.output_tokens
    turns = f"{row.turns} turn{'s' * (row.turns != 1)}"
    told = [
        each
        for each in (format_money(row.cost_usd), turns, f"{format_tokens(tokens)} tokens" if tokens else "")
        if each
    ]
    return "  ".join(([name] if name else []) + told[:parts])
