"""`footplate sessions`: list, open, look, drive and end sessions of a service."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar
from urllib.parse import quote

import click
import msgspec

from footplate.events.wording import format_money
from footplate.interfaces.cli.chat.text import prose
from footplate.interfaces.cli.client import Client, json_service_options, service_options, with_client
from footplate.interfaces.cli.frames import frames_command
from footplate.interfaces.cli.lines import visible
from footplate.interfaces.cli.tables import render_age, render_table

F = TypeVar("F", bound=Callable[..., object])
E = TypeVar("E")
STATES = ("starting", "running", "waiting", "idle", "interrupted", "parked", "closed", "failed")


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One session, as far as it is shown."""

    id: str
    engine: str
    state: str
    cwd: str
    title: str = ""
    updated_at: float = 0.0
    cost_usd: float | None = None
    open_requests: int = 0
    failed: bool = False

    @property
    def told_state(self) -> str:
        """The state for people: a session whose last turn failed is not just idle."""
        state = "failed" if self.failed and self.state in ("idle", "interrupted") else self.state
        return f"{state} ({self.open_requests})" if self.open_requests else state


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """How one session stands, as far as it is shown."""

    id: str
    engine: str
    state: str
    cwd: str
    title: str = ""
    model: str = ""
    mode: str = ""
    effort: str = ""


class Rows(msgspec.Struct, frozen=True, kw_only=True):
    """Some sessions."""

    sessions: tuple[Row, ...]
    after: str | None = None


@click.group("sessions", short_help="Sessions of a service: list, open, drive, end.")
def sessions_group() -> None:
    """Sessions: of the server that runs on this machine, of one at --url, or of the data folder when none runs.

    \b
    Examples:
      footplate sessions list --state waiting
      footplate sessions prompt 01M7... "and now the docs"
    """


@sessions_group.command("list")
@click.option("--state", "states", type=click.Choice(STATES), multiple=True, help="Only those; may be given again.")
@click.option("--engine", default="", metavar="E", help="Only those of this engine.")
@click.option("--cwd", default="", metavar="D", help="Only those that work in this folder.")
@click.option("-q", "text", default="", metavar="TEXT", help="Only those with this in title, folder or id.")
@click.option("--asking", is_flag=True, help="Only those with an open request.")
@click.option("--archived", is_flag=True, help="Those that were put aside.")
@click.option("--limit", type=click.IntRange(1, 500), default=50, show_default=True, metavar="N", help="How many.")
@click.option("--after", default="", metavar="C", help="Go on where a list before stopped.")
@service_options
def list_command(states: tuple[str, ...], text: str, url: str, token: str, as_json: bool, **rest: object) -> None:
    """List sessions, the latest active first.

    \b
    Example:
      footplate sessions list --state waiting --state running
    """
    flags = {name: "1" if rest.pop(name) else "" for name in ("asking", "archived")}
    query = {"state": states, "q": text, **flags, **rest}
    raw = with_client(url, token, lambda client: client.send("GET", "/api/sessions", query=query))
    if as_json:
        click.echo(raw)
        return
    found = msgspec.json.decode(raw, type=Rows)
    if found.sessions:
        click.echo(render_sessions(found.sessions))
    else:
        click.echo("no sessions", err=True)
    if found.after is not None:
        click.echo(f"there are more: add --after {found.after}", err=True)


def render_sessions(sessions: Sequence[Row], *, now: float | None = None, width: int = 0) -> str:
    """A line for each."""
    rows = [
        (
            each.id,
            each.told_state,
            each.engine,
            render_age(each.updated_at, now),
            format_money(each.cost_usd),
            each.title or each.cwd,
        )
        for each in sessions
    ]
    return render_table(("ID", "STATE", "ENGINE", "AGE", "COST", "TITLE"), rows, width)


@sessions_group.command("open")
@click.option("--engine", default="", metavar="E", help="Which agent.")
@click.option("--cwd", default="", metavar="D", help="The folder on the server's machine; default: this one.")
@click.option("--project", default="", metavar="P", help="A project of the settings, instead of a folder.")
@click.option("--branch", default="", metavar="B", help="With --project: in a worktree of this branch.")
@click.option("--model", default="", metavar="M", help="The model.")
@click.option("--mode", default="", metavar="P", help="The permission mode.")
@click.option("--effort", default="", metavar="L", help="How hard the model thinks.")
@click.option("--title", default="", metavar="T", help="Its title.")
@click.option("--resume", default="", metavar="ID", help="Go on with a conversation of the engine.")
@click.option("--id", "name", default="", metavar="ID", help="Its id; a session that has it is not opened again.")
@service_options
def open_command(url: str, token: str, as_json: bool, name: str, **body: str) -> None:
    """Open a session and print its id. Its agent starts with the first prompt.

    \b
    Examples:
      footplate sessions open --engine mock --title "the docs"
      footplate sessions open --engine mock --id nightly
    """
    if not body["cwd"] and not body["project"]:
        body["cwd"] = os.path.abspath(".")  # noqa: PTH100 - asks no disk
    given = {name: value for name, value in body.items() if value}
    method, path = ("PUT", _path(name)) if name else ("POST", "/api/sessions")
    _tell(with_client(url, token, lambda client: client.send(method, path, body=given)), as_json=as_json)


def _tell(raw: bytes, *, as_json: bool) -> None:
    """A session that was made or changed: its id, or all of it."""
    click.echo(raw if as_json else msgspec.json.decode(raw, type=Row).id)


@sessions_group.command("show")
@click.argument("session")
@service_options
def show_command(session: str, url: str, token: str, as_json: bool) -> None:
    """Show how SESSION stands.

    \b
    Example:
      footplate sessions show 01M7...
    """
    raw = with_client(url, token, lambda client: client.send("GET", _path(session)))
    if as_json:
        click.echo(raw)
        return
    row = msgspec.json.decode(raw, type=Shown)
    for name in ("id", "title", "state", "engine", "model", "mode", "effort", "cwd"):
        click.echo(f"{name:<8} {getattr(row, name)}")


def _path(session: str, *more: str) -> str:
    return "/".join(("/api/sessions", quote(session, safe=""), *more))


@sessions_group.command("prompt")
@click.argument("session")
@click.argument("text")
@click.option("--mode", type=click.Choice(["queue", "steer", "now"]), default="queue", help="After, into or instead.")
@click.option("--wait", is_flag=True, help="Wait for the end of the turn and print the answer.")
@service_options
def prompt_command(session: str, text: str, mode: str, wait: bool, url: str, token: str, as_json: bool) -> None:
    """Give SESSION a prompt (`-` reads it from standard input). Exit code 1 when the turn fails.

    Where no server runs it waits in any case: the agent ends with the command. In a pipe the answer is exact; on a
    terminal it is without control characters.

    \b
    Examples:
      footplate sessions prompt 01M7... --wait "and now the docs"
      git log -1 | footplate sessions prompt 01M7... -
    """
    content = sys.stdin.read() if text == "-" else text

    async def work(client: Client) -> Ended | None:
        before = (await client.get(_path(session), Standing)).last_seq
        taken = await client.post(_path(session, "prompt"), Taken, {"content": content, "mode": mode})
        return await _until_ended(client, session, before, taken.prompt) if wait or client.embedded else None

    ended = with_client(url, token, work)
    if ended is None:
        return
    if as_json:
        click.echo(msgspec.json.encode(ended))
    elif ended.ok:
        click.echo(prose(ended.answer, terminal=sys.stdout.isatty()), color=True)  # else click takes escapes out
    else:
        click.echo(visible(ended.error))
    sys.exit(0 if ended.ok else 1)


@sessions_group.command("continue")
@click.argument("session")
@service_options
def continue_command(session: str, url: str, token: str, as_json: bool) -> None:
    """Start the prompts of SESSION that a restart has paused.

    It succeeds also if no prompt waits. Without a running server it returns when the prompts have run: the agent ends
    with the command.

    \b
    Example:
      footplate sessions continue 01M7...
    """

    async def work(client: Client) -> bytes:
        before = (await client.get(_path(session), Standing)).last_seq
        raw = await client.send("POST", _path(session, "continue"))
        if client.embedded:
            for prompt in msgspec.json.decode(raw, type=Waiting).prompts:
                await _until_ended(client, session, before, prompt.id)
        return raw

    raw = with_client(url, token, work)
    if as_json:
        click.echo(raw)
        return
    count = len(msgspec.json.decode(raw, type=Waiting).prompts)
    text = f"continued: {count} {'prompt' if count == 1 else 'prompts'}" if count else "no prompt waits"
    click.echo(text, err=not count)


class WaitingPrompt(msgspec.Struct, frozen=True, kw_only=True):
    """A prompt in the queue of a session."""

    id: str


class Waiting(msgspec.Struct, frozen=True, kw_only=True):
    """The prompts in the queue of a session, the next one first."""

    prompts: tuple[WaitingPrompt, ...]


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """Where a session's log ends."""

    last_seq: int


class Taken(msgspec.Struct, frozen=True, kw_only=True):
    """A prompt that was accepted."""

    prompt: str


class Ended(msgspec.Struct, frozen=True, kw_only=True):
    """The end of a turn, as far as it is shown."""

    type: str
    ok: bool = False
    answer: str = ""
    error: str = ""
    prompts: tuple[str, ...] = ()


class Withdrawn(msgspec.Struct, frozen=True, kw_only=True):
    """A prompt that will not run."""

    prompt: str = ""
    reason: str = ""


class Told(msgspec.Struct, Generic[E], frozen=True, kw_only=True):
    """An event of the stream."""

    event: E


async def _until_ended(client: Client, session: str, after: int, prompt: str) -> Ended:
    """Follow the session until the turn of that prompt has ended, or the prompt is withdrawn."""
    kind = ""
    async for line in client.lines(_path(session, "events"), {"after": after}):
        name, _, value = line.partition(": ")
        if name == "event":
            kind = value
        elif name == "data" and kind == "TurnEnded":
            ended = msgspec.json.decode(value, type=Told[Ended]).event
            if prompt in ended.prompts:
                return ended
        elif name == "data" and kind == "PromptWithdrawn":
            withdrawn = msgspec.json.decode(value, type=Told[Withdrawn]).event
            if withdrawn.prompt == prompt:
                return Ended(type="PromptWithdrawn", error=f"the prompt was withdrawn: {withdrawn.reason}")
    return Ended(type="TurnEnded", error="the server went away before the turn ended")


def _post(name: str, path: str, text: str, example: str = "", **argument: str) -> None:
    """A command that posts one value, or none, to a path below a session; `example` is the value of its example."""

    def command(session: str, url: str, token: str, as_json: bool, **given: str) -> None:
        body = {key: given[option] for key, option in argument.items()}
        sent = None if path == "interrupt" else body
        raw = with_client(url, token, lambda client: client.send("POST", _path(session, path), body=sent))
        if as_json:
            click.echo(raw or b"{}")

    command.__doc__ = f"{text}\n\n\b\nExample:\n  footplate sessions {name} 01M7... {example}".rstrip()
    made = service_options(command)
    for option in argument.values():
        made = click.argument(option)(made)
    sessions_group.command(name)(click.argument("session")(made))


_post("interrupt", "interrupt", "Stop the turn that runs in SESSION.")
_post("rename", "title", "Give SESSION another TITLE.", '"the login"', title="title")
_post("mode", "mode", "Set the permission MODE of SESSION.", "plan", mode="mode")
_post("model", "model", "Set the MODEL of SESSION.", "mock-fast", model="model")
_post("effort", "effort", "Set how hard the model of SESSION thinks.", "high", effort="effort")
_post("archive", "archive", "Put SESSION aside; it is left out of the usual list.")
_post("close", "close", "End SESSION; its log stays.")


@sessions_group.command("fork")
@click.argument("session")
@click.option("--title", default="", metavar="T", help="Its title.")
@service_options
def fork_command(session: str, title: str, url: str, token: str, as_json: bool) -> None:
    """Open a session that goes on from where SESSION stands, and print its id.

    \b
    Example:
      footplate sessions fork 01M7... --title "another way"
    """
    body = {"title": title}
    raw = with_client(url, token, lambda client: client.send("POST", _path(session, "fork"), body=body))
    _tell(raw, as_json=as_json)


@sessions_group.command("delete")
@click.argument("session")
@service_options
def delete_command(session: str, url: str, token: str, as_json: bool) -> None:
    """Close SESSION and remove it with its log.

    \b
    Example:
      footplate sessions delete 01M7...
    """
    with_client(url, token, lambda client: client.send("DELETE", _path(session)))
    if as_json:
        click.echo(msgspec.json.encode({"deleted": session}))


@sessions_group.command("export")
@click.argument("session")
@json_service_options
def export_command(session: str, url: str, token: str) -> None:
    """Write the log of SESSION as JSON lines to standard output; `footplate store import` takes it.

    \b
    Example:
      footplate sessions export 01M7... > session.jsonl
    """

    async def work(client: Client) -> None:
        async for line in client.lines(_path(session, "export")):
            click.echo(line)

    with_client(url, token, work)


@sessions_group.command("events")
@click.argument("session")
@click.option("--after", type=click.IntRange(0), default=0, metavar="N", help="Those after this number.")
@click.option("--follow", is_flag=True, help="Go on with what comes.")
@json_service_options
def events_command(session: str, after: int, follow: bool, url: str, token: str) -> None:
    """Print the events of SESSION as JSON lines.

    \b
    Example:
      footplate sessions events 01M7... --after 2
    """

    async def work(client: Client) -> None:
        if follow:
            async for line in client.lines(_path(session, "events"), {"after": after}):
                if line.startswith("data: "):
                    click.echo(line.removeprefix("data: "))
            return
        at = after
        while True:
            page = await client.get(_path(session, "events"), Page, {"after": at, "follow": "0", "limit": 500})
            for event in page.events:
                click.echo(bytes(event))
            if not page.events:
                return
            at = page.after

    with_client(url, token, work)


sessions_group.add_command(frames_command)


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """Some events, as they are."""

    events: tuple[msgspec.Raw, ...]
    after: int
