"""`footplate audit`: who did what, from where, and what exactly was allowed; and whether the log is whole."""

from __future__ import annotations

import base64
import sys
from collections.abc import AsyncIterator, Callable, Iterable
from datetime import datetime
from pathlib import Path
from typing import Final

import click
import msgspec

from footplate.events.base import OptionalRaw
from footplate.interfaces.cli.client import Client, service_options, with_client
from footplate.interfaces.cli.lines import one_line
from footplate.interfaces.cli.tables import render_table
from footplate.interfaces.cli.working import working
from footplate.store.chain import AuditHead, AuditRow, ChainCheck

PAGE: Final = 1000
NARROW: Final = 24
BROKEN: Final = 1
"""The exit code of a log that is not whole."""


class Entry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One record as the service sends it, and as `export` writes it."""

    number: int
    hash: str
    record: OptionalRaw = None
    damaged: str = ""

    def row(self) -> AuditRow:
        """The record as it is stored."""
        body = base64.b64decode(self.damaged) if self.record is None else bytes(self.record)
        return AuditRow(number=self.number, hash=self.hash, body=body)


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """Some of them."""

    records: tuple[Entry, ...]
    after: int | None
    head: AuditHead
    noted: tuple[AuditHead, ...] = ()
    damaged: tuple[str, ...] = ()


class Fields(msgspec.Struct, frozen=True, kw_only=True):
    """What a list shows of a record."""

    time: float = 0.0
    act: str = "?"
    by: str = ""
    surface: str = ""
    origin: str = ""
    session: str = ""
    target: str = ""
    tool: str = ""
    title: str = ""
    answer: dict[str, object] = {}
    detail: dict[str, object] = {}

    def subject(self) -> str:
        """What was done, and to what."""
        if self.act == "answer":
            decision = " ".join(str(self.answer[key]) for key in ("type", "scope", "option") if key in self.answer)
            return f"{decision}: {self.tool} {self.title}".strip()
        detail = "; ".join(
            f"{name} {_words(value)}"
            for name, value in self.detail.items()
            if value not in (None, [], "") and not name.startswith("sha256")
        )
        return " ".join(part for part in (self.target or self.session, detail) if part)


def _words(value: object) -> str:
    return ", ".join(map(_words, value)) if isinstance(value, list) else str(value)


@click.group("audit", short_help="The audit log: list, verify, export.")
def audit_group() -> None:
    """The audit log: every answer, rule, token, login, change of settings, deletion and act of an administrator.

    Each record names the hash of the one before it, so that none can be changed, removed or moved unseen.

    \b
    Examples:
      footplate audit list --act answer
      footplate audit verify
      footplate audit export > audit.jsonl
    """


@audit_group.command("list")
@click.option("--limit", type=click.IntRange(1, PAGE), default=50, show_default=True, help="How many at the most.")
@click.option("--after", type=click.IntRange(0), help="Those after record N; default: the newest.", metavar="N")
@click.option("--act", "acts", multiple=True, help="Only these acts, such as answer or token.create; repeatable.")
@click.option("--session", default="", metavar="S", help="Only those of this session.")
@click.option("--by", default="", metavar="NAME", help="Only those of this person or token.")
@service_options
def list_command(
    limit: int, after: int | None, acts: tuple[str, ...], session: str, by: str, url: str, token: str, as_json: bool
) -> None:
    """List records, the oldest first; without --after the newest.

    \b
    Example:
      footplate audit list --by phone --limit 20
    """
    filtered = bool(acts or session or by)
    query: dict[str, object] = {"limit": limit, "act": acts, "session": session, "by": by}

    async def work(client: Client) -> Page:
        if after is None and filtered:
            return await _read_newest(client, query, limit)
        place = {"tail": limit} if after is None else {"after": after}
        return await client.get("/api/audit", Page, {**query, **place})

    page = with_client(url, token, work)
    if as_json:
        click.echo(msgspec.json.encode(page))
        return
    click.echo(render_records(page.records) if page.records else "no records", err=not page.records)
    if page.after is not None and page.records and after is not None:
        click.echo(f"more: footplate audit list --after {page.after}", err=True)


async def _read_newest(client: Client, query: dict[str, object], limit: int) -> Page:
    """The newest records that fit. Records are read in their order, so all are looked at."""
    kept: list[Entry] = []
    after: int | None = 0
    while after is not None:
        page = await client.get("/api/audit", Page, {**query, "limit": PAGE, "after": after})
        kept = [*kept, *page.records][-limit:]
        after = page.after
    return msgspec.structs.replace(page, records=tuple(kept))


def render_records(entries: Iterable[Entry], *, width: int = 0) -> str:
    """A line for each."""
    rows = [_columns(entry) for entry in entries]
    return render_table(("NUMBER", "TIME", "ACT", "BY", "FROM", "WHAT"), rows, width)


def _columns(entry: Entry) -> tuple[str, ...]:
    if entry.record is None:
        return (str(entry.number), "", "?", "", "", "this record was changed; run `footplate audit verify`")
    fields = msgspec.json.decode(entry.record, type=Fields)
    when = datetime.fromtimestamp(fields.time).astimezone().strftime("%Y-%m-%d %H:%M:%S")
    place = " ".join(part for part in (fields.surface, fields.origin) if part)
    return (str(entry.number), when, fields.act, _cut(fields.by), _cut(place), one_line(fields.subject()))


def _cut(text: str) -> str:
    """The text as far as a narrow column goes; `--json` has all of it."""
    text = one_line(text)
    return text if len(text) <= NARROW else text[: NARROW - 1] + "…"


@audit_group.command("verify")
@click.option("--head", "hashes", multiple=True, metavar="HASH", help="A hash that was seen before; repeatable.")
@click.option(
    "--file",
    "path",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Verify what `export` wrote instead of the log of a service.",
)
@service_options
def verify_command(hashes: tuple[str, ...], path: Path | None, url: str, token: str, as_json: bool) -> None:
    """Verify that no record was changed, removed or moved. Exit code 1 when one was.

    A log whose end was cut off is sound in itself. It is compared with the newest hash that the service has noted in
    the file `audit-head` of the data folder, and with the hashes that you give: the service writes the newest one to
    its log once a day.

    \b
    Examples:
      footplate audit verify
      footplate audit verify --head 3f7a...
      footplate audit verify --file audit.jsonl
    """
    for digest in hashes:
        if len(digest) != 64 or not set(digest) <= set("0123456789abcdef"):
            raise click.BadParameter(f"{digest!r}: expected a hash of 64 hexadecimal digits", param_hint="--head")
    if path is not None:
        check = ChainCheck(hashes=hashes)
        check.feed(entry.row() for entry in read_export(path))
    else:
        check = with_client(url, token, lambda client: _verify(client, hashes))
    breaks = check.finish()
    if as_json:
        facts = {"ok": not breaks, "records": check.count, "head": check.head, "breaks": breaks}
        click.echo(msgspec.json.encode(facts))
    else:
        for broken in breaks:
            click.echo(broken.text)
        verdict = "is not whole" if breaks else "is whole"
        click.echo(f"{check.count} records: the audit log {verdict}; newest {check.head.number} {check.head.hash}")
    if breaks:
        raise SystemExit(BROKEN)


async def _verify(client: Client, hashes: tuple[str, ...]) -> ChainCheck:
    check: ChainCheck | None = None
    count = 0
    async with working("verifying", lambda: f"{count} records"):
        async for page in _pages(client, 0):
            if check is None:
                check = ChainCheck(expected=page.noted, hashes=hashes, damaged=page.damaged)
            check.feed(entry.row() for entry in page.records)
            count = check.count
    return check or ChainCheck(hashes=hashes)


async def _pages(client: Client, after: int) -> AsyncIterator[Page]:
    cursor: int | None = after
    while cursor is not None:
        page = await client.get("/api/audit", Page, {"after": cursor, "limit": PAGE})
        yield page
        cursor = page.after


@audit_group.command("export")
@click.option("--after", type=click.IntRange(0), default=0, metavar="N", help="Only records after number N.")
@service_options
def export_command(after: int, url: str, token: str, as_json: bool) -> None:  # noqa: ARG001 - output is always JSON
    """Write the records to standard output, one JSON object per line. Output is always JSON.

    \b
    Example:
      footplate audit export --after 1000 > audit.jsonl
    """
    write: Callable[[bytes], object] = sys.stdout.buffer.write

    async def work(client: Client) -> None:
        async for page in _pages(client, after):
            for entry in page.records:
                write(msgspec.json.encode(entry) + b"\n")
        sys.stdout.buffer.flush()

    with_client(url, token, work)


def read_export(path: Path) -> Iterable[Entry]:
    """The records of a file that `export` wrote. Raises a usage error for one that it did not write."""
    with path.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            try:
                yield msgspec.json.decode(line, type=Entry)
            except msgspec.MsgspecError as problem:
                text = f"{path}, line {number}: expected a line of `audit export` ({problem})"
                raise click.BadParameter(text, param_hint="--file") from None
