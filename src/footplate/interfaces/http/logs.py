"""The output of a process as an event stream: what is kept first, then what comes, and what was cut in between."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from footplate.interfaces.http.sse import frame
from footplate.runtime.output import Output, Wanted


class Gap(msgspec.Struct, frozen=True, kw_only=True, rename={"begin": "from", "end": "to"}):
    """Pieces of output that are no longer kept, by their numbers, both included."""

    begin: int
    end: int


class LogFeed:
    """One follower. It holds no output of its own: it is a number in what is kept for all."""

    def __init__(self, output: Output, after: int, wanted: Wanted) -> None:
        self._output = output
        self._cursor = after
        self._wanted: Wanted = wanted
        self._bell = output.follow()
        self._closed = False

    async def next(self) -> Sequence[bytes]:
        """The events that are ready; empty when the process has ended and all is said."""
        while not self._closed:
            self._bell.clear()
            chunks = self._read()
            if chunks:
                return chunks
            if self._output.closed:
                return ()
            await self._bell.wait()
        return ()

    def _read(self) -> list[bytes]:
        output, chunks = self._output, []
        if self._cursor + 1 < output.first:
            gap = Gap(begin=self._cursor + 1, end=output.first - 1)
            chunks.append(frame(msgspec.json.encode(gap), event="gap", cursor=gap.end))
        chunks += (
            frame(msgspec.json.encode(piece), event="log", cursor=piece.sequence)
            for piece in output.after(self._cursor, self._wanted)
        )
        self._cursor = max(self._cursor, output.last)
        return chunks

    def close(self) -> None:
        """No more is wanted."""
        self._closed = True
        self._bell.set()
        self._output.leave(self._bell)
