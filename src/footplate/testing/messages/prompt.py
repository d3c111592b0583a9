"""Prompts that carry a script: `script(tool("Bash", {...}), "all done")` is what to send to the agent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypedDict, Unpack

import msgspec

from footplate.testing.messages.step import ErrorReply, Step, StreamError


class StepOptions(TypedDict, total=False):
    """What any step may say besides its words and its tools: see `Step`."""

    blocks: list[dict[str, object]]
    stop: str
    usage: dict[str, object]
    delay: float
    chunk: int
    chunk_delay: float
    hang: bool | int
    cut: int
    headers: dict[str, str]
    error: ErrorReply
    sse_error: StreamError


def script(*steps: Step | str, say: str = "") -> str:
    """A prompt for an agent: the words of `say`, then the script of what the model answers, step by step.

    `@` is written as an escape, because agents take `@name` in a prompt for the name of a file to attach.
    """
    text = msgspec.json.encode(list(steps)).decode().replace("@", "\\u0040")
    return f"{say}\nSCRIPT:{text}" if say else f"SCRIPT:{text}"


def say(text: str, *, thinking: str | None = None, **options: Unpack[StepOptions]) -> Step:
    """The model says `text`."""
    return Step(text=text, thinking=thinking, **options)


def tool(
    name: str,
    input: Mapping[str, object],  # noqa: A002 - the Messages API calls it so
    *,
    text: str | None = None,
    thinking: str | None = None,
    **options: Unpack[StepOptions],
) -> Step:
    """The model calls one tool."""
    return tools((name, input), text=text, thinking=thinking, **options)


def tools(
    *calls: tuple[str, Mapping[str, object]],
    text: str | None = None,
    thinking: str | None = None,
    **options: Unpack[StepOptions],
) -> Step:
    """The model calls several tools in one message."""
    listed = [(name, dict(given)) for name, given in calls]
    return Step(text=text, thinking=thinking, tools=listed, **options)


def api_error(
    status: int,
    *,
    type: str = "",  # noqa: A002 - the Messages API calls it so
    message: str = "",
    headers: Mapping[str, str] | None = None,
    times: int | None = None,
    then: str | None = None,
) -> Step:
    """The API refuses with `status`: always, or the first `times` times, after which the model says `then`."""
    error = ErrorReply(status=status, type=type, message=message, headers=dict(headers or {}), times=times)
    return Step(error=error, text=then)
