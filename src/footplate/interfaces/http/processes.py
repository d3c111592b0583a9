"""Processes: run one to its end, start one and follow it, give it input, stop or kill it with all that it started."""

from __future__ import annotations

import base64
import binascii
import string
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from footplate.errors import PermissionDenied, RequestError
from footplate.interfaces.http.call import Call
from footplate.interfaces.http.logs import LogFeed
from footplate.interfaces.http.routing import Routes
from footplate.interfaces.http.sse import EventStream, read_cursor
from footplate.runtime.child import Child, ChildInfo, Owner
from footplate.runtime.children import Asked, Children, Limits, Ran
from footplate.runtime.output import Piece, Wanted

ALPHABET = frozenset((string.ascii_letters + string.digits + "+/=").encode())
Number = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Side = Annotated[int, Meta(ge=1, le=65535)]

routes = Routes("processes")


class NewProcess(msgspec.Struct, frozen=True, kw_only=True):
    """A process to start; with `tty` it has a terminal of `rows` and `cols`."""

    command: str
    args: tuple[str, ...] = ()
    cwd: str | None = None
    env: dict[str, str] = {}
    tty: bool = False
    interactive: bool = False
    rows: Side = 24
    cols: Side = 80


class Run(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A program to run to its end."""

    command: str
    args: tuple[str, ...] = ()
    cwd: str | None = None
    env: dict[str, str] = {}
    timeout_ms: Number | None = None
    max_output_bytes: Number | None = None


class ListQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Whose processes are meant; default: everybody's."""

    owner: Owner | None = None


class Listed(msgspec.Struct, frozen=True, kw_only=True):
    """The processes that run, and those that have ended and were not removed."""

    processes: tuple[ChildInfo, ...]


class WaitQuery(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """How long to wait for the end of the process before answering."""

    wait_ms: Annotated[int, Meta(ge=0, le=3_600_000)] | None = None


class LogQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which output: of one stream, only the last pieces, only those after a number; `follow` streams what comes."""

    stream: Wanted = "combined"
    tail: Number | None = None
    since: Number | None = None
    follow: bool = False


class Logs(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Output of a process, in numbered pieces."""

    process_id: str
    stream: Wanted
    entries: tuple[Piece, ...]


class Input(msgspec.Struct, frozen=True, kw_only=True):
    """Input for a process; `encoding` is base64 (the default), utf8 or text."""

    data: str
    encoding: str | None = None


class InputTaken(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """How much of the input was taken."""

    bytes_written: int


class Size(msgspec.Struct, frozen=True, kw_only=True):
    """The size of a terminal."""

    cols: Side
    rows: Side


def table(call: Call) -> Children:
    """The table of processes. A token that is limited to sessions or folders has none: a process keeps to no limits."""
    if call.grant.limited:
        raise PermissionDenied(f"the token {call.grant.name!r} is limited; it starts and sees no processes")
    return call.api.children


def find(call: Call) -> Child:
    """The process that the path names."""
    return table(call).get(call.params["process"])


def decode_input(data: str, encoding: str | None) -> bytes:
    """The bytes that were sent."""
    match encoding:
        case "utf8" | "text":
            return data.encode(errors="surrogatepass")
        case "base64" | None:
            return _decode_base64(data.encode(errors="replace"))
        case _:
            raise RequestError("encoding must be one of: base64, utf8, text")


def _decode_base64(raw: bytes) -> bytes:
    for offset, symbol in enumerate(raw):
        if symbol not in ALPHABET:
            raise RequestError(f"invalid base64 input: Invalid symbol {symbol}, offset {offset}.")
    try:
        return base64.b64decode(raw, validate=True)
    except binascii.Error as problem:
        raise RequestError(f"invalid base64 input: {problem}") from problem


@routes.get("/v1/processes/config", scope="drive", summary="The limits of processes", answer=Limits)
async def get_limits(call: Call) -> Limits:
    return table(call).limits


@routes.post("/v1/processes/config", scope="drive", summary="Change the limits until the next start", answer=Limits)
async def set_limits(call: Call, body: Limits) -> Limits:
    children = table(call)
    children.check_limits(body)
    await call.record("process.limits", **msgspec.to_builtins(body))
    children.set_limits(body)
    return children.limits


@routes.get("/v1/processes", scope="drive", summary="All processes", answer=Listed)
async def list_processes(call: Call, query: ListQuery) -> Listed:
    return Listed(processes=table(call).list(query.owner))


@routes.post("/v1/processes", scope="drive", summary="Start a process", answer=ChildInfo, problems=(409, 502))
async def start_process(call: Call, body: NewProcess) -> ChildInfo:
    asked = Asked(command=body.command, args=body.args, cwd=body.cwd, env=body.env)
    size = (body.rows, body.cols)
    child = await table(call).start(asked, tty=body.tty, interactive=body.interactive, size=size)
    return child.info


@routes.post("/v1/processes/run", scope="drive", summary="Run a program to its end", answer=Ran, problems=(409, 502))
async def run_process(call: Call, body: Run) -> Ran:
    asked = Asked(command=body.command, args=body.args, cwd=body.cwd, env=body.env)
    return await table(call).run(asked, timeout_ms=body.timeout_ms, max_output_bytes=body.max_output_bytes)


@routes.get("/v1/processes/{process}", scope="drive", summary="One process", answer=ChildInfo, problems=(404,))
async def get_process(call: Call) -> ChildInfo:
    return find(call).info


@routes.delete("/v1/processes/{process}", scope="drive", summary="Forget a process that has ended", problems=(404, 409))
async def delete_process(call: Call) -> None:
    await table(call).delete(call.params["process"])


@routes.post("/v1/processes/{process}/stop", scope="drive", summary="Ask it to end", answer=ChildInfo, problems=(404,))
async def stop_process(call: Call, query: WaitQuery) -> ChildInfo:
    return await _end(find(call), "stop", query)


@routes.post(
    "/v1/processes/{process}/kill",
    scope="drive",
    summary="End it, with all that it started",
    answer=ChildInfo,
    problems=(404,),
)
async def kill_process(call: Call, query: WaitQuery) -> ChildInfo:
    return await _end(find(call), "kill", query)


async def _end(child: Child, how: Literal["stop", "kill"], query: WaitQuery) -> ChildInfo:
    if child.running:
        child.stop() if how == "stop" else child.kill()
    if query.wait_ms:
        await child.wait(query.wait_ms / 1000)
    return child.info


@routes.get(
    "/v1/processes/{process}/logs",
    scope="drive",
    summary="Its output; with follow=true as an event stream",
    answer=Logs,
    problems=(404,),
)
async def read_logs(call: Call, query: LogQuery) -> Logs | EventStream:
    child = find(call)
    resumed = read_cursor(call)
    since = resumed[0] if resumed is not None else query.since or 0
    pieces = child.output.after(since, query.stream)
    if query.tail is not None:
        pieces = pieces[-query.tail :] if query.tail else ()
    if not query.follow:
        return Logs(process_id=child.info.id, stream=query.stream, entries=tuple(pieces))
    if query.tail is not None:
        since = pieces[0].sequence - 1 if pieces else child.output.last
    return EventStream(call, LogFeed(child.output, since, query.stream))


@routes.post(
    "/v1/processes/{process}/input", scope="drive", summary="Give it input", answer=InputTaken, problems=(404, 409)
)
async def send_input(call: Call, body: Input) -> InputTaken:
    child = find(call)
    data = decode_input(body.data, body.encoding)
    return InputTaken(bytes_written=await child.write(data, table(call).limits.max_input_bytes_per_request))


@routes.post(
    "/v1/processes/{process}/terminal/resize",
    scope="drive",
    summary="Give its terminal another size",
    answer=Size,
    problems=(404, 409),
)
async def resize_terminal(call: Call, body: Size) -> Size:
    find(call).resize(body.rows, body.cols)
    return body
