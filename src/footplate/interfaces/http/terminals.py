"""A terminal over a WebSocket: its screen first, then what comes; input, sizes and the end in the other direction.

Output is binary frames, everything else is text frames with JSON. Closing the socket leaves the process running; who
comes back is shown the screen again. One who is too slow for the output loses none of the screen: when what it has not
seen is no longer kept, it is shown the screen anew.
"""

from __future__ import annotations

import asyncio
from typing import Final

import msgspec
from starlette.websockets import WebSocket, WebSocketDisconnect

from footplate.errors import FootplateError, RequestError
from footplate.interfaces.http.call import Call
from footplate.interfaces.http.processes import decode_input, find, table
from footplate.interfaces.http.routing import Routes
from footplate.runtime.child import Child
from footplate.tasks import spawn

FRAME: Final = 256 * 1024
NO_BINARY: Final = 'binary frames are not taken; send {"type": "input", "data": "..."}'
FRESH: Final = b"\x1bc"
"""Brings a terminal that has shown something already to its beginning."""

routes = Routes("processes")


class Ready(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="ready", rename="camel"):
    """The first frame; the screen follows."""

    process_id: str


class Ended(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="exit", rename="camel"):
    """The last frame: the process has ended. No code when a signal did it."""

    exit_code: int | None


class Refused(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="error"):
    """A frame of the client's could not be used."""

    message: str


class InputFrame(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="input"):
    """Keys."""

    data: str
    encoding: str | None = None


class ResizeFrame(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="resize"):
    """Another size of the window."""

    cols: int
    rows: int


class CloseFrame(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="close"):
    """Enough; the process goes on."""


decode_frame: Final = msgspec.json.Decoder(InputFrame | ResizeFrame | CloseFrame).decode


@routes.socket(
    "/v1/processes/{process}/terminal/ws", scope="drive", summary="A terminal, both ways", problems=(404, 409)
)
async def open_terminal(call: Call) -> None:
    child = find(call)
    child.need_terminal()
    socket = call.socket
    await socket.accept()
    limit = table(call).limits.max_input_bytes_per_request
    writing = spawn(_show(socket, child), name=f"terminal {child.info.id}", awaited=True)
    reading = spawn(_listen(socket, child, limit), name=f"keys {child.info.id}", awaited=True)
    forget = call.at_end(lambda: _cancel(writing, reading))
    try:
        await asyncio.wait((writing, reading), return_when=asyncio.FIRST_COMPLETED)
    finally:
        forget()
        _cancel(writing, reading)
        await asyncio.wait((writing, reading))
    for task in (writing, reading):
        if not task.cancelled() and (problem := task.exception()) and not isinstance(problem, WebSocketDisconnect):
            raise problem
    if not reading.cancelled() and reading.exception() is not None:
        return
    await socket.close(1001 if call.api.stopping.is_set() else 1000)


@routes.get("/v1/processes/{process}/terminal/ws", scope="drive", summary="Not a WebSocket", listed=False)
async def refuse_plain(call: Call) -> None:
    find(call).need_terminal()
    raise RequestError("this is a WebSocket; Connection header did not include 'upgrade'")


def _cancel(*tasks: asyncio.Task[None]) -> None:
    for task in tasks:
        task.cancel()


async def _show(socket: WebSocket, child: Child) -> None:
    """Send the screen, then what comes, then the end."""
    output = child.output
    bell = output.follow()
    try:
        await _send(socket, Ready(process_id=child.info.id))
        cursor = await _send_screen(socket, child)
        child.redraw()
        while True:
            bell.clear()
            if cursor + 1 < output.first:
                await socket.send_bytes(FRESH)
                cursor = await _send_screen(socket, child)
            data = b"".join(piece.data for piece in output.after(cursor))
            cursor = output.last
            for at in range(0, len(data), FRAME):
                await socket.send_bytes(data[at : at + FRAME])
            if cursor == output.last and output.closed:
                break
            if cursor == output.last:
                await bell.wait()
        await _send(socket, Ended(exit_code=child.info.exit_code))
    finally:
        output.leave(bell)


async def _send_screen(socket: WebSocket, child: Child) -> int:
    """Show what the terminal shows; the number of the last piece that is part of it."""
    last, screen = child.output.last, child.need_terminal().show()
    for at in range(0, len(screen), FRAME):
        await socket.send_bytes(screen[at : at + FRAME])
    return last


async def _listen(socket: WebSocket, child: Child, limit: int) -> None:
    """Take keys and sizes until the client has enough."""
    while True:
        message = await socket.receive()
        if message["type"] == "websocket.disconnect":
            raise WebSocketDisconnect(message.get("code", 1005))
        try:
            if message.get("text") is None:
                await _send(socket, Refused(message=NO_BINARY))
            elif await _obey(child, message["text"], limit):
                return
        except (msgspec.DecodeError, UnicodeError) as problem:
            await _send(socket, Refused(message=f"this frame cannot be used: {problem}"))
        except FootplateError as problem:
            await _send(socket, Refused(message=str(problem)))


async def _obey(child: Child, text: str, limit: int) -> bool:
    """Do what a frame says; whether it was the last."""
    match decode_frame(text):
        case InputFrame(data=data, encoding=encoding):
            await child.write(decode_input(data, encoding or "utf8"), limit)
        case ResizeFrame(cols=cols, rows=rows):
            if not (1 <= cols <= 65535 and 1 <= rows <= 65535):
                raise msgspec.ValidationError("cols and rows lie between 1 and 65535")
            child.resize(rows, cols)
        case CloseFrame():
            return True
    return False


async def _send(socket: WebSocket, frame: Ready | Ended | Refused) -> None:
    await socket.send_text(msgspec.json.encode(frame).decode())
