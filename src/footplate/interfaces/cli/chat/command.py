"""`footplate chat`: open or continue a session in this terminal, in a pipe, or as JSON lines."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from typing import Final

import click
import msgspec

from footplate.config.settings import load_settings
from footplate.engines.commands import with_agents
from footplate.events.ids import SessionId
from footplate.interfaces.cli.chat.doing import Me
from footplate.interfaces.cli.chat.json_lines import JsonChat
from footplate.interfaces.cli.chat.opening import Wanted, choose_session, open_backend
from footplate.interfaces.cli.chat.plain import PlainChat
from footplate.interfaces.cli.chat.remote import RemoteBackend
from footplate.interfaces.cli.chat.screen import Screen
from footplate.interfaces.cli.chat.stdin import read_lines
from footplate.interfaces.cli.chat.terminal import TerminalChat
from footplate.interfaces.cli.client import address_options
from footplate.interfaces.cli.failing import guarded
from footplate.interfaces.cli.places import PLACE_OPTIONS, choose_place
from footplate.interfaces.cli.signals import TERMINATED
from footplate.runtime.backend import ChatBackend

STDIN, STDOUT = 0, 1
ENDINGS: Final = {signal.SIGTERM: TERMINATED, signal.SIGHUP: 129}


class Endings:
    """The signals that end a chat: its task is cancelled, so that everything is put away in order."""

    def __init__(self, task: asyncio.Task[object]) -> None:
        self._task = task
        self.code: int | None = None

    def end(self, code: int) -> None:
        """Leave with that exit code."""
        self.code = code
        self._task.cancel()


async def _go(wanted: Wanted, *, as_json: bool, url: str = "", token: str = "") -> int:
    task = asyncio.current_task()
    if task is None:  # pragma: no cover - a coroutine always runs in a task here
        raise RuntimeError("a chat needs a task")
    endings, loop = Endings(task), asyncio.get_running_loop()
    for number, code in ENDINGS.items():
        loop.add_signal_handler(number, endings.end, code)
    environ = dict(os.environ)
    settings = with_agents(load_settings(environ), environ)
    try:
        opened = RemoteBackend.open(url, token) if url else open_backend(environ, settings)
        async with opened as backend:
            session = await choose_session(backend, wanted, settings)
            return await _chat(backend, session, as_json=as_json, again="attach" if url else "chat")
    except asyncio.CancelledError:
        if endings.code is None:
            raise
        return endings.code


async def _chat(backend: ChatBackend, session: SessionId, *, as_json: bool, again: str) -> int:
    terminal = os.ttyname(STDIN) if os.isatty(STDIN) else ""
    me = Me.of(terminal=terminal, pid=os.getpid())
    if as_json:
        return await JsonChat(backend, me, sys.stdout).run(session, read_lines(STDIN))
    dumb = os.environ.get("TERM", "dumb") == "dumb"
    if not terminal or not os.isatty(STDOUT) or dumb:
        return await PlainChat(backend, me, sys.stdout, patient=not terminal).run(session, read_lines(STDIN))
    chat = TerminalChat(backend, me, Screen(STDIN, STDOUT), color="NO_COLOR" not in os.environ)
    code = await chat.run(session)
    click.echo(f"session {session}: `footplate {again} {session}` goes on with it")
    return code


@click.command("chat", short_help="Talk with an agent in this terminal.")
@click.option("--engine", default="", metavar="E", help="Which agent: claude, codex, mock, or one you installed.")
@click.option("--model", default="", metavar="M", help="The model, as the engine names it.")
@click.option("--mode", default="", metavar="P", help="The permission mode.")
@click.option("--effort", default="", metavar="L", help="How hard the model thinks.")
@click.option("--cwd", default="", metavar="D", help="The folder to work in; default: this one.")
@PLACE_OPTIONS[0]
@PLACE_OPTIONS[1]
@click.option("--resume", default="", metavar="ID", help="Go on with a session of the engine: its id or resume line.")
@click.option("--max-budget", type=float, metavar="USD", help="A limit of a new session: what it may cost.")
@click.option("--max-turns", type=int, metavar="N", help="A limit of a new session: how many turns it may have.")
@click.option(
    "--on-limit",
    type=click.Choice(["stop", "ask"]),
    default="stop",
    help="What a new session does at a limit: stop (default), or ask whether it may go on.",
)
@click.option("--json", "as_json", is_flag=True, help="Events out and commands in as JSON lines, for programs.")
@click.argument("session", default="")
def chat_command(as_json: bool, project: str, branch: str, **options: object) -> None:
    """Talk with an agent in this terminal: a new session, or SESSION (its id, its title, or the end of its id).

    What the agent asks is answered by key: y once, s for the session, a always, e edit the input first,
    n deny, x deny and stop; p grants what a plan asks for. Lines typed while it works are queued.
    /help lists the commands; !command runs in the session's folder. Ctrl-C stops the turn, twice
    leaves; Ctrl-D leaves; the session stays. In a second terminal the same session shows the same,
    and takes answers too.

    \b
    Examples:
      footplate chat
      footplate chat --engine mock
      footplate chat --project shop --branch fix/login
      footplate chat --resume "claude --resume 0d5b..."
      printf 'permission\\ny\\n' | footplate chat --engine mock
    """
    wanted = msgspec.convert(options, Wanted)
    if wanted.session and wanted.resume:
        raise click.UsageError("SESSION and --resume name two sessions; give one of them")
    if wanted.session and project:
        raise click.UsageError("SESSION has its folder; --project is for a new one")

    def work() -> int:
        place = choose_place(project, branch, cwd=wanted.cwd, engine=wanted.engine, resume=wanted.resume)
        placed = msgspec.structs.replace(wanted, cwd=place.cwd, engine=place.engine)
        return asyncio.run(_go(placed, as_json=as_json))

    sys.exit(guarded(work))


@click.command("attach", short_help="Go on with a session in this terminal.")
@click.argument("session")
@address_options
@click.option("--json", "as_json", is_flag=True, help="Events out and commands in as JSON lines, for programs.")
def attach_command(session: str, url: str, token: str, as_json: bool) -> None:
    """Go on with SESSION (its id, its title, or the end of its id) in this terminal, beside whoever else is in it.

    Of this machine, or of the server at --url: then its agent works there, and is seen and answered here.

    \b
    Examples:
      footplate attach VDMWQR8
      footplate attach VDMWQR8 --url http://127.0.0.1:2468 --token T
    """
    wanted = Wanted(session=session)
    sys.exit(guarded(lambda: asyncio.run(_go(wanted, as_json=as_json, url=url, token=token))))
