"""The wire of the local link: JSON lines, versioned, requests by number, envelopes as they are. Pure.

A client says `hello` first and asks by number; the server answers each number once, with `done` or `failed`. The
envelopes of an attachment come as `event` under the number of the `attach` that began it, and end with `ended`.
"""

from __future__ import annotations

from typing import Final, TypeVar

import msgspec

from footplate import errors
from footplate.errors import FootplateError, HostError, RequestError
from footplate.events.base import OptionalRaw, ResumeToken
from footplate.events.commands import Command
from footplate.events.facts import QueryName
from footplate.events.ids import SessionId
from footplate.runtime.spec import SessionSpec

VERSION: Final = 1
T = TypeVar("T")
Field = str | int | float | bool | None


class Asked(msgspec.Struct, frozen=True, kw_only=True, tag_field="op", omit_defaults=True):
    """Base of what a client asks."""

    id: int


class Hello(Asked, frozen=True, kw_only=True, tag="hello"):
    """The first line: which version the client speaks."""

    version: int = VERSION


class ListSessions(Asked, frozen=True, kw_only=True, tag="sessions"):
    """The latest sessions."""


class Find(Asked, frozen=True, kw_only=True, tag="find"):
    """The session with that id of the engine's own."""

    engine_session: str


class Create(Asked, frozen=True, kw_only=True, tag="create"):
    """A new session."""

    spec: SessionSpec
    resume: ResumeToken | None = None


class Fork(Asked, frozen=True, kw_only=True, tag="fork"):
    """A session that goes on from another."""

    session: SessionId


class Attach(Asked, frozen=True, kw_only=True, tag="attach"):
    """The envelopes of a session after a number, then live."""

    session: SessionId
    after: int = 0


class Detach(Asked, frozen=True, kw_only=True, tag="detach"):
    """No more of that attachment."""

    stream: int


class Do(Asked, frozen=True, kw_only=True, tag="do"):
    """A command to a session."""

    session: SessionId
    command: Command


class Ask(Asked, frozen=True, kw_only=True, tag="query"):
    """A question about a session's agent."""

    session: SessionId
    name: QueryName
    arguments: dict[str, str] = {}


class Release(Asked, frozen=True, kw_only=True, tag="release"):
    """End the agent process that has this conversation of the engine, if it is idle; true when it is free then."""

    conversation: ResumeToken


Request = Hello | ListSessions | Find | Create | Fork | Attach | Detach | Do | Ask | Release


class ErrorWire(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An error of the product: enough to raise it again on the other side."""

    name: str
    code: str
    message: str
    fields: dict[str, Field] = {}


class Told(msgspec.Struct, frozen=True, kw_only=True, tag_field="op", omit_defaults=True):
    """Base of what the server says."""


class Done(Told, frozen=True, kw_only=True, tag="done"):
    """The answer to a request."""

    id: int
    result: OptionalRaw = None


class Failed(Told, frozen=True, kw_only=True, tag="failed"):
    """The request could not be met."""

    id: int
    error: ErrorWire


class EventLine(Told, frozen=True, kw_only=True, tag="event"):
    """One envelope of an attachment."""

    stream: int
    envelope: msgspec.Raw


class Ended(Told, frozen=True, kw_only=True, tag="ended"):
    """An attachment is over: the session was let go of."""

    stream: int
    error: ErrorWire | None = None


Answer = Done | Failed | EventLine | Ended


class Welcome(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to `hello`: who owns the sessions."""

    version: int
    pid: int


request_decoder: Final[msgspec.json.Decoder[Request]] = msgspec.json.Decoder(Request)
answer_decoder: Final[msgspec.json.Decoder[Answer]] = msgspec.json.Decoder(Answer)
_encoder = msgspec.json.Encoder()


def line(message: Request | Answer) -> bytes:
    """A message as one line."""
    return _encoder.encode(message) + b"\n"


def event_line(stream: int, envelope: bytes) -> bytes:
    """An envelope as one line, its bytes as they are."""
    return b'{"op":"event","stream":%d,"envelope":%s}\n' % (stream, envelope)


def done(number: int, result: object = None) -> bytes:
    """A good answer as one line."""
    return line(Done(id=number, result=None if result is None else msgspec.Raw(_encoder.encode(result))))


def describe_error(problem: FootplateError) -> ErrorWire:
    """The error as it travels: its class, its code, its words, and those fields that are plain values."""
    fields = {name: value for name, value in vars(problem).items() if isinstance(value, str | int | float | None)}
    return ErrorWire(name=type(problem).__name__, code=problem.code, message=str(problem), fields=fields)


def restore_error(told: ErrorWire) -> FootplateError:
    """The error as it was raised; one of a class that this version does not know keeps its words."""
    kind = getattr(errors, told.name, None)
    if not (isinstance(kind, type) and issubclass(kind, FootplateError)):
        kind = next((each for each in _below(FootplateError) if each.code == told.code), HostError)
    problem: FootplateError = kind.__new__(kind)
    Exception.__init__(problem, told.message)
    for name, value in told.fields.items():
        setattr(problem, name, value)
    return problem


def refusal(text: str) -> ErrorWire:
    """A request that cannot be read."""
    return ErrorWire(name=RequestError.__name__, code=RequestError.code, message=text)


def _below(kind: type[FootplateError]) -> list[type[FootplateError]]:
    return [kind, *(inner for child in kind.__subclasses__() for inner in _below(child))]
