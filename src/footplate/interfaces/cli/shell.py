"""`footplate ps shell`: a terminal of a service in this terminal: keys, sizes, a key to leave, and how it ended."""

from __future__ import annotations

import asyncio
import base64
import os
import signal
import sys
import termios
import tty
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

import click
import msgspec

from footplate.interfaces.cli.chat.stdin import Input
from footplate.interfaces.cli.client import Client, address_options, with_client
from footplate.interfaces.cli.failing import FAILED
from footplate.interfaces.cli.ps import ARGUMENTS, Process
from footplate.interfaces.cli.signals import TERMINATED
from footplate.tasks import spawn

if TYPE_CHECKING:
    from websockets.asyncio.client import ClientConnection

STDIN, STDOUT = 0, 1
LEAVE: Final = b"\x1d"
"""Ctrl-], as telnet has it: no shell and few programs want it."""
END_OF_INPUT: Final = b"\x04"
HANGUP: Final = 129
SHELL: Final = ("/bin/sh", "-c", 'exec "${SHELL:-/bin/sh}"')
"""The shell of the service's user, whichever that is."""


class Frame(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What a terminal says beside its output."""

    type: str
    exit_code: int | None = None
    message: str = ""


class Left(msgspec.Struct, frozen=True, kw_only=True):
    """How a visit ended: with the program (and its exit code), or before it."""

    ended: bool
    code: int = 0


@click.command("shell", context_settings=ARGUMENTS)
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
@click.option("--process", default="", metavar="ID", help="Come back to a terminal that is there.")
@click.option("--cwd", default="", metavar="D", help="The folder; default: this one, or at --url the server's.")
@address_options
def shell_command(command: tuple[str, ...], process: str, cwd: str, url: str, token: str) -> None:
    """Sit at a terminal of a service: a shell there, or COMMAND. Its exit code is ours.

    Ctrl-] leaves; the program goes on, and --process comes back to it, also from another machine. Where no
    server runs, it ends with this command.

    \b
    Examples:
      footplate ps shell -- ls -l
      footplate ps shell --process proc_1
    """
    if command and process:
        raise click.UsageError("COMMAND starts a program, --process comes back to one; give one of them")
    sys.exit(with_client(url, token, lambda client: _visit(client, command, process, cwd or _here(url))))


def _here(url: str) -> str:
    return "" if url else os.path.abspath(".")  # noqa: PTH100 - asks no disk


async def _visit(client: Client, command: tuple[str, ...], process: str, cwd: str) -> int:
    name = process or await _start(client, command, cwd)
    path = f"/v1/processes/{quote(name, safe='')}"
    async with client.socket(f"{path}/terminal/ws") as socket:
        with raw_terminal():
            left = await Seat(socket).sit()
    if left.ended and not process:
        await client.send("DELETE", path)
    elif not left.ended and not client.embedded:
        click.echo(f"\nleft; `footplate ps shell --process {name}` comes back", err=True)
    return left.code


async def _start(client: Client, command: tuple[str, ...], cwd: str) -> str:
    program, *args = command or SHELL
    columns, rows = _size()
    body: dict[str, object] = {"command": program, "args": args, "tty": True, "interactive": True}
    body |= {"cols": columns, "rows": rows, "env": {"TERM": os.environ.get("TERM", "dumb")}}
    return (await client.post("/v1/processes", Process, {**body, **({"cwd": cwd} if cwd else {})})).id


def _size() -> tuple[int, int]:
    try:
        size = os.get_terminal_size(STDOUT)
    except OSError:
        return 80, 24
    return size.columns or 80, size.lines or 24


@contextmanager
def raw_terminal() -> Iterator[None]:
    """Every key is for the other side; whatever happens, the terminal is given back as it was."""
    if not os.isatty(STDIN):
        yield
        return
    before = termios.tcgetattr(STDIN)
    tty.setraw(STDIN, termios.TCSADRAIN)  # what was typed ahead is kept
    try:
        yield
    finally:
        termios.tcsetattr(STDIN, termios.TCSADRAIN, before)


class Seat:
    """One visit to a terminal: what is shown there is written here, what is typed here goes there."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._keys: asyncio.Queue[bytes] = asyncio.Queue()
        self._code = 0

    async def sit(self) -> Left:
        """Stay until the program ends, the person leaves, or a signal comes."""
        loop = asyncio.get_running_loop()
        for number, code in ((signal.SIGTERM, TERMINATED), (signal.SIGHUP, HANGUP)):
            loop.add_signal_handler(number, self._end, code)
        loop.add_signal_handler(signal.SIGWINCH, self._keys.put_nowait, b"")
        source = Input(STDIN, lambda data: self._keys.put_nowait(data or END_OF_INPUT))
        source.start()
        showing = spawn(self._show(), name="terminal", awaited=True)
        typing = spawn(self._type(), name="keys", awaited=True)
        try:
            await asyncio.wait((showing, typing), return_when=asyncio.FIRST_COMPLETED)
        finally:
            source.stop()
            for task in (showing, typing):
                task.cancel()
            await asyncio.wait((showing, typing))
        return Left(ended=False, code=self._code) if showing.cancelled() else showing.result()

    def _end(self, code: int) -> None:
        self._code = code
        self._keys.put_nowait(LEAVE)

    async def _show(self) -> Left:
        async for message in self._socket:
            if isinstance(message, bytes):
                _write(message)
                continue
            frame = msgspec.json.decode(message, type=Frame)
            if frame.type == "exit":
                return Left(ended=True, code=FAILED if frame.exit_code is None else frame.exit_code)
            if frame.type == "error":
                click.echo(f"\r\nfootplate: {frame.message}\r", err=True)
        click.echo("\r\nfootplate: the server went away\r", err=True)
        return Left(ended=False, code=FAILED)

    async def _type(self) -> None:
        """Send keys and sizes, until the key that leaves; an empty piece is another size."""
        await self._resize()
        while True:
            data = await self._keys.get()
            typed, leave, _ = data.partition(LEAVE)
            if not data:
                await self._resize()
            if typed:
                await self._send({"type": "input", "data": base64.b64encode(typed).decode(), "encoding": "base64"})
            if leave:
                return

    async def _resize(self) -> None:
        columns, rows = _size()
        await self._send({"type": "resize", "cols": columns, "rows": rows})

    async def _send(self, frame: dict[str, object]) -> None:
        await self._socket.send(msgspec.json.encode(frame).decode())


def _write(data: bytes) -> None:
    while data:
        data = data[os.write(STDOUT, data) :]
