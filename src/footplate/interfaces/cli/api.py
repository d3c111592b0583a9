"""`footplate api`: any call of the HTTP API, for what has no command of its own; and the names of sandbox-agent."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar
from urllib.parse import quote

import click
import msgspec

from footplate.interfaces.cli.client import Client, json_service_options, with_client
from footplate.interfaces.cli.help_page import dress

METHODS: Final = ("GET", "POST", "PUT", "DELETE")
EXAMPLES: Final = {
    "GET": "GET /api/git/status path=$PWD",
    "POST": """POST /api/sessions --data '{"engine":"mock","cwd":"/"}'""",
    "PUT": """PUT /v1/config/mcp directory=$PWD mcpName=x --data '{"type":"local","command":"x"}'""",
    "DELETE": "DELETE /v1/config/mcp directory=$PWD mcpName=x",
}
F = TypeVar("F", bound=Callable[..., object])


class ApiGroup(click.Group):
    """The subcommands below, and one for each method, however it is written."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*METHODS, *super().list_commands(ctx)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name.upper() in METHODS:
            return dress(_method_command(cmd_name.upper()))
        return super().get_command(ctx, cmd_name)


@click.group("api", cls=ApiGroup, short_help="Any call of the HTTP API.")
def api_group() -> None:
    """Make any call of the API and print its answer. `GET /openapi.json` tells all there are.

    `agents` and `acp` are the calls that users of sandbox-agent know by these names.

    \b
    Examples:
      footplate api GET /api/info
      footplate api agents list
    """


def _method_command(method: str) -> click.Command:
    def command(path: str, query: tuple[str, ...], data: str | None, url: str, token: str) -> None:
        pairs = [each.partition("=") for each in query]
        if not path.startswith("/") or not all(mark for _, mark, _ in pairs):
            raise click.UsageError("a path begins with /, and what follows it is NAME=VALUE")
        given: dict[str, object] = {}
        for name, _, value in pairs:
            given[name] = (*given.get(name, ()), value)  # type: ignore[misc]
        body = None if data is None else _read(sys.stdin.read() if data == "-" else data)
        _call(url, token, method, path, query=given, body=body)

    command.__doc__ = f"""Make the call {method} PATH and print its answer.

    \b
    Example:
      footplate api {EXAMPLES[method]}
    """
    options: tuple[Callable[[F], F], ...] = (
        json_service_options,
        click.option("--data", default=None, metavar="JSON", help="The body; - reads it from standard input."),
        click.argument("query", nargs=-1, metavar="[NAME=VALUE]..."),
        click.argument("path"),
    )
    for option in options:
        command = option(command)
    return click.command(method)(command)


def _call(url: str, token: str, method: str, path: str, *, query: dict[str, object], body: object = None) -> None:
    raw = with_client(url, token, lambda client: client.send(method, path, query=query, body=body))
    sys.stdout.buffer.write(raw)
    if raw and not raw.endswith(b"\n"):
        sys.stdout.buffer.write(b"\n")
    sys.stdout.buffer.flush()


def _read(text: str) -> object:
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError as problem:
        raise click.BadParameter(f"not JSON: {problem}") from problem


# ------------------------------------------------------------------------------------- as sandbox-agent has them


def _endpoint_options(command: F) -> F:
    for option in (
        click.option(
            "-n", "--no-token", is_flag=True, expose_value=False, help="Accepted: without --token none is sent."
        ),
        click.option("-t", "--token", envvar="FOOTPLATE_TOKEN", default="", metavar="T", help="The token for it."),
        click.option(
            "-e",
            "--endpoint",
            "url",
            envvar="FOOTPLATE_URL",
            default="",
            metavar="U",
            help="A server; default: the one here.",
        ),
    ):
        command = option(command)
    return command


json_anyway = click.option("--json", is_flag=True, expose_value=False, help="It is JSON anyway.")


@api_group.group("agents")
def agents_group() -> None:
    """Agents as sandbox-agent lists and installs them; `footplate agents` tells more.

    \b
    Example:
      footplate api agents list
    """


@agents_group.command("list")
@_endpoint_options
@json_anyway
def agents_list_command(url: str, token: str) -> None:
    """List all agents and whether they are installed: GET /v1/agents.

    \b
    Example:
      footplate api agents list
    """
    _call(url, token, "GET", "/v1/agents", query={})


@agents_group.command("report")
@_endpoint_options
@json_anyway
def agents_report_command(url: str, token: str) -> None:
    """Report the models, modes and thought levels of all agents: GET /v1/agents?config=true.

    \b
    Example:
      footplate api agents report
    """
    _call(url, token, "GET", "/v1/agents", query={"config": "true"})


@agents_group.command("install")
@click.argument("agent")
@click.option("-r", "--reinstall", is_flag=True, help="Also when it is there already.")
@click.option("--agent-version", default=None, metavar="V", help="That version.")
@click.option("--agent-process-version", default=None, metavar="V", help="That version of its launcher.")
@_endpoint_options
@json_anyway
def agents_install_command(
    agent: str, reinstall: bool, agent_version: str | None, agent_process_version: str | None, url: str, token: str
) -> None:
    """Install AGENT on the server: POST /v1/agents/AGENT/install.

    \b
    Example:
      footplate api agents install mock
    """
    body = {"reinstall": reinstall, "agentVersion": agent_version, "agentProcessVersion": agent_process_version}
    given = {name: value for name, value in body.items() if value is not None}
    _call(url, token, "POST", f"/v1/agents/{quote(agent, safe='')}/install", query={}, body=given)


@api_group.group("acp")
def acp_group() -> None:
    """Raw messages of the Agent Client Protocol to and from a server.

    \b
    Example:
      footplate api acp post --server-id s1 --agent mock --json-file requests.jsonl
    """


server_id = click.option("--server-id", required=True, metavar="ID", help="A name of your choice for the connection.")


def _acp(server: str) -> str:
    return f"/v1/acp/{quote(server, safe='')}"


@acp_group.command("post")
@server_id
@click.option("--agent", default="", metavar="A", help="Which agent; with the first message.")
@click.option("--json", "text", default=None, metavar="JSON", help="The message.")
@click.option("--json-file", type=click.Path(dir_okay=False, exists=True, path_type=Path), help="A file with it.")
@_endpoint_options
def acp_post_command(
    server_id: str, agent: str, text: str | None, json_file: Path | None, url: str, token: str
) -> None:
    """Send one message and print the answer: POST /v1/acp/ID.

    \b
    Example:
      footplate api acp post --server-id s1 --agent mock --json-file requests.jsonl
    """
    if (text is None) == (json_file is None):
        raise click.UsageError("give one of --json and --json-file")
    body = _read(json_file.read_text(encoding="utf-8") if json_file is not None else text or "")
    _call(url, token, "POST", _acp(server_id), query={"agent": agent}, body=body)


@acp_group.command("stream")
@server_id
@click.option("--last-event-id", default="", metavar="N", help="Those after this number.")
@_endpoint_options
@json_anyway
def acp_stream_command(server_id: str, last_event_id: str, url: str, token: str) -> None:
    """Print the messages that come, a line each, until Ctrl-C: GET /v1/acp/ID.

    \b
    Example:
      footplate api acp stream --server-id s1 --last-event-id 0
    """
    headers = {"last-event-id": last_event_id} if last_event_id else {}

    async def work(client: Client) -> None:
        async for line in client.lines(_acp(server_id), headers={"accept": "text/event-stream", **headers}):
            if line.startswith("data: "):
                click.echo(line.removeprefix("data: "))

    with_client(url, token, work)


@acp_group.command("close")
@server_id
@_endpoint_options
@json_anyway
def acp_close_command(server_id: str, url: str, token: str) -> None:
    """Close the connection: DELETE /v1/acp/ID.

    \b
    Example:
      footplate api acp close --server-id s1
    """
    _call(url, token, "DELETE", _acp(server_id), query={})
