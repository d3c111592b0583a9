"""`footplate requests`: what waits for a person in all sessions: list, look, watch, answer."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import quote

import click
import msgspec

from footplate.interfaces.cli.client import Client, service_options, with_client
from footplate.interfaces.cli.lines import one_line
from footplate.interfaces.cli.tables import fold, render_age, render_table

STATES = ("open", "answered", "applied", "rejected", "withdrawn", "unanswered")


class Option(msgspec.Struct, frozen=True, kw_only=True):
    """One way to answer."""

    id: str
    label: str = ""


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """One answer to a question."""

    label: str


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """One question."""

    text: str
    choices: tuple[Choice, ...] = ()


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """A request, as far as it is shown."""

    id: str
    session: str
    kind: str
    state: str
    opened_at: float
    title: str
    tool: str = ""
    description: str = ""
    plan: str = ""
    options: tuple[Option, ...] = ()
    questions: tuple[Question, ...] = ()
    answered_by: str = ""


class AskedList(msgspec.Struct, frozen=True, kw_only=True):
    """Some requests."""

    requests: tuple[Asked, ...]


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


def render_requests(requests: Sequence[Asked], *, now: float | None = None, width: int = 0) -> str:
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
    """Show REQUEST with the ways to answer it.

    \b
    Example:
      footplate requests show req_01M8...
    """
    raw = with_client(url, token, lambda client: client.send("GET", _path(request)))
    click.echo(raw if as_json else render_request(msgspec.json.decode(raw, type=Asked)))


def _path(request: str, *more: str) -> str:
    return "/".join(("/api/requests", quote(request, safe=""), *more))


def render_request(asked: Asked, *, width: int = 0) -> str:
    """A request for a person."""
    lines = [fold(f"{asked.kind} {asked.id} ({asked.state}): {one_line(asked.title)}", rest="  ", width=width)]
    told = (asked.description or asked.plan).splitlines()
    lines += [fold(one_line(line), first="  ", rest="  ", width=width) for line in told]
    lines += [f"  --option {option.id}  {option.label}" for option in asked.options]
    for question in asked.questions:
        labels = ", ".join(choice.label for choice in question.choices)
        lines.append(f"  --answer '{question.text}=...'  {labels}")
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
    click.echo(raw if as_json else f"{msgspec.json.decode(raw, type=Asked).state}")


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

    requests: tuple[Asked, ...]


class News(msgspec.Struct, frozen=True, kw_only=True):
    """What happened to a request."""

    request: Asked | None = None


@requests_group.command("watch")
@service_options
def watch_command(url: str, token: str, as_json: bool) -> None:
    """Print what waits, and then each request as it is opened, answered and applied, until Ctrl-C.

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
    asked: tuple[Asked, ...] = ()
    if kind == "snapshot":
        asked = msgspec.json.decode(value, type=Snapshot).requests
    elif kind == "request":
        told = msgspec.json.decode(value, type=News).request
        asked = () if told is None else (told,)
    for each in asked:
        click.echo(msgspec.json.encode(each) if as_json else render_request(each))
