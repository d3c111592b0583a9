"""The APIs in which the scripted model can be asked: Anthropic's, OpenAI's two and Gemini's. Which path is whose. Pure.

All of them mean the same: a conversation, of which `Asked` is what a script needs to know, and an answer, which is made
once (`Reply`) and written down as each API has it. So one script runs any agent.
"""

from __future__ import annotations

from typing import Final, Protocol

import msgspec

from footplate.testing.messages import chat, gemini, responses
from footplate.testing.messages.asked import Asked
from footplate.testing.messages.reply import Reply
from footplate.testing.messages.step import Step
from footplate.testing.messages.stream import Stream, plain_message, plan_stream
from footplate.testing.messages.wire import HttpRequest


class Dialect(Protocol):
    """One API: how a request of it reads, and how an answer is written."""

    def read(self, request: HttpRequest) -> Asked:
        """What was asked. Raises `msgspec.DecodeError` for what is no request of this API."""
        ...

    def stream(self, reply: Reply, step: Step) -> Stream:
        """The answer, event by event."""
        ...

    def plain(self, reply: Reply) -> bytes:
        """The answer as one document."""
        ...


class Messages:
    """Anthropic's Messages API."""

    def read(self, request: HttpRequest) -> Asked:
        """The body is what scripts are made for."""
        return msgspec.json.decode(request.body, type=Asked)

    def stream(self, reply: Reply, step: Step) -> Stream:
        """Blocks and their deltas."""
        return plan_stream(reply, step)

    def plain(self, reply: Reply) -> bytes:
        """The whole message."""
        return plain_message(reply)


PATHS: Final[dict[str, Dialect]] = {
    "/v1/messages": Messages(),
    "/v1/chat/completions": chat.ChatCompletions(),
    "/v1/responses": responses.Responses(),
}
GEMINI: Final[Dialect] = gemini.Gemini()


def find_dialect(method: str, path: str) -> Dialect | None:
    """The API in which the model is asked by this path; None when it is not asked for its words."""
    if method != "POST":
        return None
    if path.endswith(gemini.ACTIONS):
        return GEMINI
    return PATHS.get(path.rstrip("/"))
