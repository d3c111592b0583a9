"""`footplate requests`: what waits for a person in all sessions: list, look, watch, answer."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import quote

import click
import msgspec

from footplate.events.inputs import change_request, split_input
from footplate.events.requests import Request
from footplate.events.rules import session_meaning
from footplate.events.wording import describe_answer, describe_answerer, describe_ending
from footplate.interfaces.cli.chat.asking import input_lines, request_body
from footplate.interfaces.cli.chat.text import rows_of
from footplate.interfaces.cli.client import Client, service_options, with_client
from footplate.interfaces.cli.lines import exact_line, one_line
from footplate.interfaces.cli.tables import fold, render_age, render_table, screen_width
from footplate.sdk.shapes import RequestInfo

SHARED = tuple({field.name for field in msgspec.structs.fields(Request)} & set(RequestInfo.__struct_fields__))
STATES = ("open", "answered", "applied", "rejected", "withdrawn", "unanswered")


class AskedList(msgspec.Struct, frozen=True, kw_only=True):
    """Some requests."""

    requests: tuple[RequestInfo, ...]


@click.group("requests", short_help="What waits for you in all sessions: list, watch, answer.")
def requests_group() -> None:
    """What agents ask: permissions, questions, plans. A request waits for as long as it must.

    \b
    Examples:
      footplate requests list
      footplate requests answer req_01M8... --allow
      footplate requests answer req_01M8... --deny --message "use the staging database"
    """


@requests_group.command("list")
@click.option("--state", "states", type=click.Choice(STATES), multiple=True, default=("open",), help="Default: open.")
@click.option("--session", default="", metavar="S", help="Only those of this session.")
@service_options
def list_command(states: tuple[str, ...], session: str, url: str, token: str, as_json: bool) -> None:
    """List requests, the oldest first.

    \b
    Example:
      footplate requests list --state open --state answered
    """
    query = {"state": states, "session": session}
    raw = with_client(url, token, lambda client: client.send("GET", "/api/requests", query=query))
    if as_json:
        click.echo(raw)
        return
    found = msgspec.json.decode(raw, type=AskedList).requests
    click.echo(render_requests(found) if found else "nothing waits for you", err=not found)


SESSION_END = 8
"""So much of a session's id is shown; `footplate attach` takes the end of one."""


def render_requests(requests: Sequence[RequestInfo], *, now: float | None = None, width: int = 0) -> str:
    """A line for each."""
    rows = [
        (each.id, each.kind, render_age(each.opened_at, now), each.session[-SESSION_END:], each.title)
        for each in requests
    ]
    return render_table(("ID", "KIND", "AGE", "SESSION", "TITLE"), rows, width)


@requests_group.command("show")
@click.argument("request")
@service_options
def show_command(request: str, url: str, token: str, as_json: bool) -> None:
    """Show REQUEST: the tool, the whole input or change, and the ways to answer it.

    Hidden characters, such as those that change the direction of text, are shown as code points: ⟨U+202E⟩.

    \b
    Example:
      footplate requests show req_01M8...
    """
    raw = with_client(url, token, lambda client: client.send("GET", _path(request)))
    click.echo(raw if as_json else render_request(msgspec.json.decode(raw, type=RequestInfo)))


def _path(request: str, *more: str) -> str:
    return "/".join(("/api/requests", quote(request, safe=""), *more))


def render_head(info: RequestInfo, *, width: int = 0) -> str:
    """Which request it is, how far it got, and what was answered by whom."""
    state = describe_ending(info.state, info.ended_reason) or info.state
    who = {"by": info.answered_by, "surface": info.answered_from}
    if info.answer is not None:
        far = f"{describe_answer(info.answer, _asked(info), **who)}, {state}"
    else:
        far = f"{state} {describe_answerer(**who)}".rstrip()
    return fold(f"{info.kind} {info.id} ({far}): {one_line(info.title)}", rest="  ", width=width)


def _asked(info: RequestInfo) -> Request:
    return Request(**{field: getattr(info, field) for field in SHARED})


def render_request(info: RequestInfo, *, width: int = 0) -> str:
    """A request for a person: everything that an answer is about, whole."""
    lines = [render_head(info, width=width)]
    facts = {"session": info.session, "tool": info.tool, "agent": info.agent}
    lines += [f"  {name}: {one_line(fact)}" for name, fact in facts.items() if fact]
    room = width or screen_width()
    lines += [row for line in request_body(_asked(info), indent=1) for row in rows_of(line, room, color=False)]
    if (changed := change_request(_asked(info), info.answer, info.state)) is not None:
        lines.append("  with the edits of the answer it runs with this input:")
        lines += [row for line in input_lines(split_input(changed), 2) for row in rows_of(line, room, color=False)]
    if session := session_meaning(_asked(info)):
        lines.append(f"  --allow --scope session  {exact_line(session)}")
    lines += [f"  --option {one_line(option.id)}  {exact_line(option.label)}" for option in info.options]
    lines += [f"  --answer '{one_line(question.text)}=...'" for question in info.questions]
    return "\n".join(lines)


@requests_group.command("answer")
@click.argument("request")
@click.option("--allow", "behavior", flag_value="allow", help="Allow it.")
@click.option("--deny", "behavior", flag_value="deny", help="Deny it.")
@click.option("--scope", type=click.Choice(["once", "session", "always"]), help="With --allow: for how long.")
@click.option("--option", default="", metavar="ID", help="One of its options.")
@click.option("--answer", "answers", multiple=True, metavar="Q=A", help="The answer to a question; may be given again.")
@click.option("--decline", is_flag=True, help="Answer no question.")
@click.option("--message", default="", metavar="TEXT", help="With --deny or --decline: what the agent is told.")
@click.option("--stop", is_flag=True, help="With --deny: stop the turn, too.")
@service_options
def answer_command(request: str, url: str, token: str, as_json: bool, **given: object) -> None:
    """Answer REQUEST. The first answer wins; exit code 2 and who was first when yours comes late.

    \b
    Examples:
      footplate requests answer req_01M8... --allow --scope session
      footplate requests answer req_01M8... --deny --message "use staging"
    """
    body = build_answer(**given)  # type: ignore[arg-type]
    raw = with_client(url, token, lambda client: client.send("POST", _path(request, "answer"), body=body))
    click.echo(raw if as_json else f"{msgspec.json.decode(raw, type=RequestInfo).state}")


def build_answer(
    *,
    behavior: str | None,
    scope: str | None,
    option: str,
    answers: tuple[str, ...],
    decline: bool,
    message: str,
    stop: bool,
) -> dict[str, object]:
    """The answer as the service takes it. Raises a usage error unless it is exactly one kind of answer."""
    kinds = (behavior is not None, bool(option), bool(answers), decline)
    if sum(kinds) != 1:
        raise click.UsageError("give one of --allow, --deny, --option, --answer, --decline")
    if option:
        return {"option": option}
    if answers:
        return {"answers": _answers(answers)}
    if decline:
        return {"decline": True, "message": message}
    body: dict[str, object] = {"behavior": behavior, "message": message, "interrupt": stop}
    return {**body, "scope": scope} if scope else body


def _answers(given: tuple[str, ...]) -> dict[str, str | list[str]]:
    """A question that is named twice has several answers."""
    found: dict[str, str | list[str]] = {}
    for each in given:
        question, mark, text = each.rpartition("=")
        if not mark:
            raise click.UsageError(f"{each!r} has no =; write the question, = and the answer")
        before = found.get(question)
        found[question] = text if before is None else [*([before] if isinstance(before, str) else before), text]
    return found


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """What waits when one begins to watch."""

    requests: tuple[msgspec.Raw, ...]


class News(msgspec.Struct, frozen=True, kw_only=True):
    """What happened to a request."""

    request: msgspec.Raw = msgspec.Raw(b"null")


@requests_group.command("watch")
@service_options
def watch_command(url: str, token: str, as_json: bool) -> None:
    """Print what waits, and then each request, whole when it is opened, in a line when it is answered and applied.

    Ends with Ctrl-C.

    \b
    Example:
      footplate requests watch --json
    """

    async def work(client: Client) -> None:
        kind = ""
        async for line in client.lines("/api/events"):
            name, _, value = line.partition(": ")
            if name == "event":
                kind = value
            elif name == "data":
                _show(kind, value, as_json=as_json)

    with_client(url, token, work)


def _show(kind: str, value: str, *, as_json: bool) -> None:
    requests: tuple[msgspec.Raw, ...] = ()
    if kind == "snapshot":
        requests = msgspec.json.decode(value, type=Snapshot).requests
    elif kind == "request":
        requests = (msgspec.json.decode(value, type=News).request,)
    for raw in requests:
        if as_json:
            click.echo(bytes(raw))
        elif (info := msgspec.json.decode(raw, type=RequestInfo | None)) is not None:
            click.echo(render_request(info) if info.state == "open" else render_head(info))
