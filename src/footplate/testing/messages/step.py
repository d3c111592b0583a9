"""One step of a script: what the scripted model does when it is asked once."""

from __future__ import annotations

import msgspec


class ErrorReply(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """An HTTP error instead of an answer.

    With `times` only the first so many requests for this step fail; the next one gets the step's answer.
    """

    status: int
    type: str = ""
    message: str = ""
    headers: dict[str, str] = {}
    times: int | None = None


class StreamError(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """An `error` event in the middle of a stream: after `after` events, or after the content if not said."""

    type: str = "overloaded_error"
    message: str = "Overloaded"
    after: int = -2


class Step(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """What the model says: `thinking`, then `text`, then `tools`, then raw `blocks`; and how it is sent.

    `chunk` characters go into each delta, `chunk_delay` seconds lie between deltas, `delay` seconds go by
    before the answer. `hang: true` never answers; `hang: n` and `cut: n` send n events and then fall silent or
    close the connection (a negative n counts from the end, as in a slice). `cut` and `sse_error` concern
    streams only: the plain repeat that a client makes afterwards is answered.
    """

    text: str | None = None
    thinking: str | None = None
    tools: list[tuple[str, dict[str, object]]] = []
    blocks: list[dict[str, object]] = []
    stop: str | None = None
    usage: dict[str, object] = {}
    delay: float = 0.0
    chunk: int = 32
    chunk_delay: float = 0.0
    hang: bool | int = False
    cut: int | None = None
    headers: dict[str, str] = {}
    error: ErrorReply | None = None
    sse_error: StreamError | None = None

    def __post_init__(self) -> None:
        if self.chunk < 1:
            raise ValueError("`chunk` must be 1 or more")
        if self.delay < 0 or self.chunk_delay < 0:
            raise ValueError("`delay` and `chunk_delay` must not be negative")
