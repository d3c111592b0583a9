"""`footplate audit`: who did what, from where, and what exactly was allowed; and whether the log is whole."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Final, TypeVar, cast, get_args

import click
import msgspec

from footplate.events.base import OptionalRaw
from footplate.events.ids import RequestId
from footplate.events.requests import Allow, Answer, Choose, Request, RequestKind, RequestOption
from footplate.events.wording import describe_answer
from footplate.interfaces.cli.client import Client, service_options, with_client
from footplate.interfaces.cli.lines import one_line
from footplate.interfaces.cli.tables import render_table
from footplate.interfaces.cli.working import working
from footplate.store.chain import UNREADABLE, AuditHead, AuditRow, Break, ChainCheck

PAGE: Final = 1000
HEADINGS: Final = ("NUMBER", "TIME", "ACT", "BY", "FROM", "WHAT")
NARROW: Final = 24
WIDE: Final = 1000
TITLE: Final = 200
TOKEN: Final = 6
KINDS: Final[tuple[RequestKind, ...]] = get_args(RequestKind)
BROKEN: Final = 1
"""The exit code of a log that is not whole."""


T = TypeVar("T")


class Entry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One record as the service sends it, and as `export` writes it."""

    number: int
    hash: str
    record: OptionalRaw = None
    damaged: bytes = b""

    def row(self) -> AuditRow:
        """The record as it is stored."""
        body = self.damaged if self.record is None else bytes(self.record)
        return AuditRow(number=self.number, hash=self.hash, body=body)


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """Some of them."""

    records: tuple[Entry, ...]
    after: int | None
    head: AuditHead
    noted: tuple[AuditHead, ...] = ()
    damaged: tuple[str, ...] = ()
    compared: bool = True


class Fields(msgspec.Struct, frozen=True, kw_only=True):
    """What a list shows of a record."""

    time: float = 0.0
    act: str = "?"
    by: str = ""
    token: str = ""
    surface: str = ""
    origin: str = ""
    session: str = ""
    target: str = ""
    kind: str = ""
    tool: str = ""
    title: str = ""
    answer: OptionalRaw = None
    chosen: str = ""
    option: OptionalRaw = None
    input: OptionalRaw = None
    asked_input: OptionalRaw = None
    detail: dict[str, object] = {}

    def subject(self) -> str:
        """What was done, and to what."""
        if self.act == "answer" and self.answer is not None:
            changed = f"changed to {describe_changes(self.asked_input, self.input)}" if self.asked_input else ""
            parts = (self.describe_answer(), f"{self.tool} {self.title}"[:TITLE].strip(), changed)
            return " · ".join(filter(None, parts))
        detail = "; ".join(
            f"{name} {_words(value)}"
            for name, value in self.detail.items()
            if value not in (None, [], "") and not name.startswith("sha256")
        )
        return " ".join(part for part in (self.target or self.session, detail) if part)

    def describe_answer(self) -> str:
        """What was answered, in the words of every surface; `answered` for what a later version has recorded."""
        answer = _parse(self.answer, Answer)
        if answer is None:
            return "answered"
        if isinstance(answer, Allow) and self.asked_input is not None:
            answer = msgspec.structs.replace(answer, updated_input=self.input)
        option = _parse(self.option, RequestOption)
        if option is None and isinstance(answer, Choose) and self.chosen:
            option = RequestOption(id=answer.option, label=self.chosen)
        kind = next((each for each in KINDS if each == self.kind), KINDS[0])
        request = Request(id=RequestId(self.target), kind=kind, title="", options=(option,) if option else ())
        return describe_answer(answer, request)

    def who(self) -> str:
        """The name, and for a token that was issued the end of its id: names can be chosen."""
        if not self.token:
            return _cut(self.by)
        return f"{_cut(self.by, NARROW - TOKEN - 2)} #{one_line(self.token[-TOKEN:])}"


def describe_changes(asked: OptionalRaw, given: OptionalRaw) -> str:
    """The values of an input that a person changed."""
    before, after = _parse(asked, dict), _parse(given, dict)
    if before is None or after is None:
        return _short(given or b"null")
    parts = [
        f"{name} {_short(msgspec.json.encode(value))}" for name, value in after.items() if before.get(name) != value
    ]
    parts += [f"no {name}" for name in before if name not in after]
    return ", ".join(parts) or "the same"


def _short(value: bytes | msgspec.Raw) -> str:
    text = bytes(value).decode(errors="replace")
    return text if len(text) <= TITLE else f"{text[:TITLE]}…"


def _parse(raw: OptionalRaw, shape: Any) -> Any:
    """The value as that; None where it is something else."""
    try:
        return None if raw is None else msgspec.json.decode(raw, type=shape)
    except UNREADABLE:
        return None


def _words(value: object) -> str:
    return ", ".join(map(_words, value[:WIDE])) if isinstance(value, list) else str(value)


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
    query: dict[str, object] = {"limit": limit, "act": acts, "session": session, "by": by}
    if as_json:
        page, entries = with_client(url, token, lambda client: _read(client, query, after, _copy))
        click.echo(msgspec.json.encode(msgspec.structs.replace(page, records=entries)))
        return
    page, rows = with_client(url, token, lambda client: _read(client, query, after, _columns))
    click.echo(render_table(HEADINGS, rows) if rows else "no records", err=not rows)
    if page.after is not None and rows and after is not None:
        click.echo(f"more: footplate audit list --after {page.after}", err=True)


async def _read(
    client: Client, query: Mapping[str, object], after: int | None, keep: Callable[[Entry], T]
) -> tuple[Page, tuple[T, ...]]:
    """The records that are asked for, as `keep` gives them, and the page with the last of them."""
    if after is not None:
        page = await client.get("/api/audit", Page, {**query, "after": after})
        return page, tuple(map(keep, page.records))
    # Records are read in their order: to find the newest that fit a filter, all are looked at.
    limit = cast("int", query["limit"])
    filtered = any(query[name] for name in ("act", "session", "by"))
    kept: deque[T] = deque(maxlen=limit)
    async for page in _pages(client, {**query, "limit": PAGE} if filtered else {**query, "tail": limit}):
        kept.extend(map(keep, page.records))
    return page, tuple(kept)


def _copy(entry: Entry) -> Entry:
    """The record without the page that it came with."""
    return msgspec.structs.replace(entry, record=None if entry.record is None else msgspec.Raw(bytes(entry.record)))


def _columns(entry: Entry) -> tuple[str, ...]:
    try:
        fields = msgspec.json.decode(entry.record or b"", type=Fields)
    except UNREADABLE:
        fields = None
    when = "" if fields is None else _local_time(fields.time)
    if fields is None or not when:
        return (str(entry.number), "", "?", "", "", "this record was changed; run `footplate audit verify`")
    place = " ".join(part for part in (fields.surface, fields.origin) if part)
    return (str(entry.number), when, one_line(fields.act), fields.who(), _cut(place), _cut(fields.subject(), WIDE))


def _cut(text: str, most: int = NARROW) -> str:
    """The text as far as the column goes; `--json` has all of it."""
    shown = one_line(text[:most])
    return shown if len(text) <= most and len(shown) <= most else shown[: most - 1] + "…"


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
        check, compared = _verify_file(path, hashes), False
    else:
        check, compared = with_client(url, token, lambda client: _verify(client, hashes))
    breaks = check.finish()
    if as_json:
        facts = {
            "ok": not breaks,
            "records": check.count,
            "first": check.first,
            "head": check.head,
            "compared": compared,
            "removed": check.removed,
            "breaks": breaks,
        }
        click.echo(msgspec.json.encode(facts))
    else:
        for line in _report(check):
            click.echo(line)
        if path is None and not compared:
            click.echo("the service had no noted record to compare with: an end that was cut off shows with --head")
        verdict = "is not whole" if breaks else "is whole"
        click.echo(f"{check.count} records: the audit log {verdict}; newest {check.head.number} {check.head.hash}")
    if breaks:
        raise SystemExit(BROKEN)


def _report(check: ChainCheck) -> Iterable[str]:
    """What is wrong, and which records are not there though nothing is."""
    yield from (broken.text for broken in check.breaks)
    for removed in check.removed:
        records = "record {0} was" if removed.first == removed.last else "records {0} to {1} were"
        when = _local_time(removed.time) or "an unknown time"
        yield f"{records.format(removed.first, removed.last)} removed by the checkpoint {removed.checkpoint} of {when}"
    if check.starts_late:
        yield f"the file begins with record {check.first}"


def _local_time(time: float) -> str:
    """The time of a record; empty for one that no calendar has."""
    try:
        return datetime.fromtimestamp(time).astimezone().strftime("%Y-%m-%d %H:%M:%S")
    except (ValueError, OverflowError, OSError):
        return ""


def _verify_file(path: Path, hashes: tuple[str, ...]) -> ChainCheck:
    """Verify a file that `export` wrote. Raises a usage error for one without any record."""
    check, problems = ChainCheck(hashes=hashes, partial=True), list[Break]()
    for number, entry in enumerate(read_export(path), 1):
        if isinstance(entry, Entry):
            check.feed([entry.row()])
        else:
            text = f"line {number} is no record: {entry}"
            problems.append(Break(kind="damaged", number=check.head.number + 1, text=text))
    if not check.count:
        found = problems[0].text if problems else "it is empty"
        raise click.BadParameter(f"{path} has no record of `audit export`: {found}", param_hint="--file")
    check.breaks += problems
    return check


async def _verify(client: Client, hashes: tuple[str, ...]) -> tuple[ChainCheck, bool]:
    """The chain of a service, and whether it had a noted record to compare with when it started."""
    check: ChainCheck | None = None
    count, compared = 0, True
    async with working("verifying", lambda: f"{count} records"):
        async for page in _pages(client, {"after": 0, "limit": PAGE}):
            if check is None:
                check = ChainCheck(expected=page.noted, hashes=hashes, damaged=page.damaged)
            check.feed(entry.row() for entry in page.records)
            count, compared = check.count, page.compared
    if check is not None and check.has_gaps:  # retention removes the oldest records, and may have overtaken us
        page = await client.get("/api/audit", Page, {"after": 0, "limit": 1})
        check.oldest = min((entry.number for entry in page.records), default=0)
    return check or ChainCheck(hashes=hashes), compared


async def _pages(client: Client, query: Mapping[str, object]) -> AsyncIterator[Page]:
    """The page that the query asks for, and those after it."""
    page = await client.get("/api/audit", Page, query)
    yield page
    while page.after is not None:
        page = await client.get("/api/audit", Page, {**query, "tail": None, "after": page.after})
        yield page


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
        async for page in _pages(client, {"after": after, "limit": PAGE}):
            for entry in page.records:
                write(msgspec.json.encode(entry) + b"\n")
        sys.stdout.buffer.flush()

    with_client(url, token, work)


def read_export(path: Path) -> Iterable[Entry | str]:
    """The records of a file that `export` wrote, and for a line that is none what is wrong with it."""
    with path.open("rb") as lines:
        for line in lines:
            try:
                yield msgspec.json.decode(line, type=Entry)
            except UNREADABLE as problem:
                yield str(problem)
