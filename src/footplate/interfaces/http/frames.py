"""The raw lines of a session's agents, a page at a time. Reading them claims nothing and writes nothing."""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta
from starlette.responses import Response

from footplate.interfaces.http.call import Call
from footplate.interfaces.http.routing import JSON, Routes
from footplate.runtime.frame_log import UNKNOWN_TYPE, frame_type
from footplate.store.values import Direction, Frame, FramePage, FrameQuery

routes = Routes("sessions")
LARGE: Final = 256 * 1024
"""A page with more bytes than this is encoded in a thread: 5,000 lines would hold up the loop for too long."""


class FramesQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which raw lines: those after a number and before another, the oldest or the newest first."""

    after: Annotated[int, Meta(ge=0, description="lines with a higher number")] = 0
    before: Annotated[int, Meta(ge=1, description="lines with a lower number")] | None = None
    limit: Annotated[int, Meta(ge=1, le=5000)] = 500
    direction: Annotated[
        tuple[Direction, ...],
        Meta(description="`in` stdout, `out` stdin, `err` stderr, `gap` missing lines; can be repeated; default: all"),
    ] = ()
    order: Annotated[
        Literal["oldest", "newest"],
        Meta(description="`newest`: the newest first, and the next page is read with `before`"),
    ] = "oldest"
    chars: Annotated[int, Meta(ge=0, description="the most characters of each line to return")] | None = None


class FrameLine(msgspec.Struct, frozen=True, kw_only=True):
    """One raw line, under its own number in the session.

    `seq` is the number of the session's last event at that time, `type` what the line calls itself, `size` its length
    in bytes. Of a line that is `cut` only the beginning was stored.
    """

    number: int
    seq: int
    time: float
    direction: Direction
    type: str
    size: int
    cut: bool
    raw: str

    @classmethod
    def of(cls, frame: Frame, chars: int | None) -> FrameLine:
        """From the store."""
        return cls(
            number=frame.number,
            seq=frame.seq,
            time=frame.time,
            direction=frame.direction,
            type=_type_of(frame),
            size=frame.size,
            cut=frame.size > len(frame.raw),
            # No character has more than four bytes.
            raw=frame.raw[: chars if chars is None else 4 * chars].decode("utf-8", "replace")[:chars],
        )


def _type_of(frame: Frame) -> str:
    match frame.direction:
        case "in" | "out":
            # The beginning of a line is not JSON; what it calls itself is not known.
            return UNKNOWN_TYPE if frame.size > len(frame.raw) else frame_type(frame.raw)
        case "err":
            return "stderr"
        case "gap":
            return "missing lines"


class FramesPage(msgspec.Struct, frozen=True, kw_only=True):
    """Raw lines in the order that was asked for.

    While there is `more`, the next page is read with `after` (or, the newest first, `before`) set to `cursor`. `first`
    is the oldest line that is still stored, `last` the newest there ever was.
    """

    frames: tuple[FrameLine, ...]
    cursor: int
    more: bool
    first: int
    last: int


@routes.get(
    "/api/sessions/{session}/frames",
    scope="drive",
    summary="The raw lines of the session's agents, as far as they are stored",
    answer=FramesPage,
    problems=(404,),
)
async def read_frames(call: Call, query: FramesQuery) -> FramesPage | Response:
    """Raw lines hold more than the log (the account, settings, system prompts): reading them needs `drive`."""
    live = await call.session()
    page = await call.api.store.read_frames(
        live.id,
        FrameQuery(
            after=query.after,
            before=query.before,
            limit=query.limit,
            directions=query.direction,
            newest=query.order == "newest",
        ),
    )
    if sum(len(frame.raw) for frame in page.frames) > LARGE:
        body = await call.api.services.surroundings.blocking(_encode_page, page, query.chars)
        return Response(body, media_type=JSON)
    lines = tuple(FrameLine.of(frame, query.chars) for frame in page.frames)
    return FramesPage(frames=lines, cursor=page.cursor, more=page.more, first=page.first, last=page.last)


def _encode_page(page: FramePage, chars: int | None) -> bytes:
    """The page as JSON, a line at a time: to encode it whole would hold the interpreter's lock as long as the loop."""
    lines = [msgspec.Raw(msgspec.json.encode(FrameLine.of(frame, chars))) for frame in page.frames]
    return msgspec.json.encode({**msgspec.structs.asdict(page), "frames": lines})
