"""`footplate ps`: processes that a service runs for its clients: list, run, start, follow, stop."""

from __future__ import annotations

import base64
import sys
from urllib.parse import quote

import click
import msgspec

from footplate.errors import RequestError
from footplate.interfaces.cli.client import Client, service_options, with_client
from footplate.interfaces.cli.help_page import dress
from footplate.interfaces.cli.tables import render_table


class Process(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One process, as far as it is shown."""

    id: str
    command: str
    args: tuple[str, ...] = ()
    status: str = ""
    pid: int | None = None
    exit_code: int | None = None


class Processes(msgspec.Struct, frozen=True, kw_only=True):
    """All of them."""

    processes: tuple[Process, ...]


class Ran(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A program that ran to its end."""

    stdout: str
    stderr: str
    timed_out: bool
    exit_code: int | None = None


class Piece(msgspec.Struct, frozen=True, kw_only=True):
    """Some output."""

    data: str
    stream: str = "stdout"


class Log(msgspec.Struct, frozen=True, kw_only=True):
    """Output so far."""

    entries: tuple[Piece, ...]


class PsGroup(click.Group):
    """The subcommands below, and `shell`, which is imported when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted([*super().list_commands(ctx), "shell"])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name != "shell":
            return super().get_command(ctx, cmd_name)
        from footplate.interfaces.cli.shell import shell_command  # noqa: PLC0415

        return dress(shell_command)


@click.group("ps", cls=PsGroup, short_help="Processes of a service: list, run, start, follow, stop.")
def ps_group() -> None:
    """Processes that a service runs for its clients; they outlive the command that started them.

    A command that runs without a service (none on this machine, no --url) has processes of its own only.

    \b
    Examples:
      footplate ps list
      footplate ps run -- uname -a
      footplate ps shell -- ls -l
      footplate ps logs proc_1 --follow
    """


@ps_group.command("list")
@service_options
def list_command(url: str, token: str, as_json: bool) -> None:
    """List processes that run, and those that have ended and were not removed.

    \b
    Example:
      footplate ps list
    """
    raw = with_client(url, token, lambda client: client.send("GET", "/v1/processes"))
    if as_json:
        click.echo(raw)
        return
    rows = [
        (
            each.id,
            each.status + ("" if each.exit_code is None else f" {each.exit_code}"),
            str(each.pid or ""),
            " ".join((each.command, *each.args)),
        )
        for each in msgspec.json.decode(raw, type=Processes).processes
    ]
    click.echo(render_table(("ID", "STATUS", "PID", "COMMAND"), rows) if rows else "no processes", err=not rows)


ARGUMENTS = {"ignore_unknown_options": True}


@ps_group.command("run", context_settings=ARGUMENTS)
@click.argument("command")
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
@click.option("--cwd", default="", metavar="D", help="The folder.")
@click.option("--timeout", type=click.FloatRange(min=0.001), default=None, metavar="S", help="Stop it after S seconds.")
@service_options
def run_command(
    command: str, args: tuple[str, ...], cwd: str, timeout: float | None, url: str, token: str, as_json: bool
) -> None:
    """Run COMMAND to its end; its output and its exit code are ours (124 when it took too long).

    \b
    Example:
      footplate ps run --timeout 60 -- df -h
    """
    body: dict[str, object] = {"command": command, "args": args}
    if cwd:
        body["cwd"] = cwd
    if timeout is not None:
        body["timeoutMs"] = round(timeout * 1000)
    raw = with_client(url, token, lambda client: client.send("POST", "/v1/processes/run", body=body))
    ran = msgspec.json.decode(raw, type=Ran)
    if as_json:
        click.echo(raw)
    else:
        click.echo(ran.stdout, nl=False)
        click.echo(ran.stderr, nl=False, err=True)
    sys.exit(124 if ran.timed_out else 1 if ran.exit_code is None else ran.exit_code)


@ps_group.command("start", context_settings=ARGUMENTS)
@click.argument("command")
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
@click.option("--cwd", default="", metavar="D", help="The folder.")
@service_options
def start_command(command: str, args: tuple[str, ...], cwd: str, url: str, token: str, as_json: bool) -> None:
    """Start COMMAND on a server that runs, and print the id of its process.

    \b
    Example:
      footplate ps start -- sleep 3600
    """
    body: dict[str, object] = {"command": command, "args": args, **({"cwd": cwd} if cwd else {})}

    async def work(client: Client) -> bytes:
        if client.embedded:
            raise RequestError("no server runs, and the process would end with this command; `ps run` waits for it")
        return await client.send("POST", "/v1/processes", body=body)

    raw = with_client(url, token, work)
    click.echo(raw if as_json else msgspec.json.decode(raw, type=Process).id)


def _path(process: str, *more: str) -> str:
    return "/".join(("/v1/processes", quote(process, safe=""), *more))


@ps_group.command("show")
@click.argument("process")
@service_options
def show_command(process: str, url: str, token: str, as_json: bool) -> None:
    """Show how PROCESS stands.

    \b
    Example:
      footplate ps show proc_1
    """
    raw = with_client(url, token, lambda client: client.send("GET", _path(process)))
    found = msgspec.json.decode(raw, type=Process)
    code = "" if found.exit_code is None else f" {found.exit_code}"
    click.echo(raw if as_json else f"{found.id}  {found.status}{code}  {' '.join((found.command, *found.args))}")


@ps_group.command("logs")
@click.argument("process")
@click.option("--follow", "-f", is_flag=True, help="Go on with what comes, until the process ends.")
@click.option("--tail", type=click.IntRange(1), default=None, metavar="N", help="Only the last N pieces.")
@service_options
def logs_command(process: str, follow: bool, tail: int | None, url: str, token: str, as_json: bool) -> None:
    """Print the output of PROCESS.

    \b
    Example:
      footplate ps logs proc_1 --tail 20
    """
    query = {"tail": tail}

    async def work(client: Client) -> None:
        if not follow:
            raw = await client.send("GET", _path(process, "logs"), query=query)
            if as_json:
                click.echo(raw)
                return
            for piece in msgspec.json.decode(raw, type=Log).entries:
                _write(piece)
            return
        async for line in client.lines(_path(process, "logs"), {**query, "follow": "true"}):
            if line.startswith("data: "):
                value = line.removeprefix("data: ")
                if as_json:
                    click.echo(value)
                else:
                    _write(msgspec.json.decode(value, type=Piece))

    with_client(url, token, work)


def _write(piece: Piece) -> None:
    stream = sys.stderr if piece.stream == "stderr" else sys.stdout
    stream.buffer.write(base64.b64decode(piece.data))
    stream.buffer.flush()


@ps_group.command("input")
@click.argument("process")
@service_options
def input_command(process: str, url: str, token: str, as_json: bool) -> None:
    """Give PROCESS what comes on standard input.

    \b
    Example:
      echo yes | footplate ps input proc_1
    """
    body = {"data": base64.b64encode(sys.stdin.buffer.read()).decode(), "encoding": "base64"}
    raw = with_client(url, token, lambda client: client.send("POST", _path(process, "input"), body=body))
    if as_json:
        click.echo(raw)


@ps_group.command("stop")
@click.argument("process")
@click.option("--kill", is_flag=True, help="By force.")
@service_options
def stop_command(process: str, kill: bool, url: str, token: str, as_json: bool) -> None:
    """Ask PROCESS to end, with all that it started.

    \b
    Example:
      footplate ps stop proc_1
    """
    raw = with_client(url, token, lambda client: client.send("POST", _path(process, "kill" if kill else "stop")))
    if as_json:
        click.echo(raw)


@ps_group.command("remove")
@click.argument("process")
@service_options
def remove_command(process: str, url: str, token: str, as_json: bool) -> None:
    """Take PROCESS, which has ended, out of the list.

    \b
    Example:
      footplate ps remove proc_1
    """
    with_client(url, token, lambda client: client.send("DELETE", _path(process)))
    if as_json:
        click.echo(msgspec.json.encode({"removed": process}))
