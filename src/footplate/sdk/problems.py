"""Problems of the wire, back into the errors of the one tree: what a program catches is what the service raised."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from footplate.errors import FootplateError, ServiceFailed

PREFIX: Final = "urn:sandbox-agent:error:"

RENAMED: Final = {
    "session_id": "sessionId",
    "install_command": "installCommand",
    "missing_dependencies": "missingDependencies",
}


class ProblemDetails(msgspec.Struct, frozen=True, kw_only=True, rename=RENAMED):
    """What a service says went wrong (RFC 9457). Fields that this version does not know are dropped."""

    type: str = ""
    title: str = ""
    status: int = 0
    detail: str = ""
    agent: str = ""
    session_id: str = ""
    details: dict[str, object] | None = None
    retryable: bool = False
    answered_by: str = ""
    answered_from: str = ""
    answered_at: float | None = None
    install_command: str = ""
    missing_dependencies: tuple[str, ...] = ()

    @property
    def code(self) -> str:
        """The stable name of the kind of problem."""
        return self.type.removeprefix(PREFIX)


def _classes(base: type[FootplateError]) -> Iterator[type[FootplateError]]:
    yield base
    for each in base.__subclasses__():
        yield from _classes(each)


_BY_CODE: Final = {each.code: each for each in reversed(list(_classes(FootplateError))) if "code" in vars(each)}


def error_of(status: int, body: bytes) -> FootplateError:
    """The error that the answer tells: of the class that the service raised, else by its status."""
    try:
        problem = msgspec.json.decode(body, type=ProblemDetails)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        words = body[:200].decode(errors="replace").strip()
        return ServiceFailed(status, words or "no words")
    return rebuild(problem, status)


def rebuild(problem: ProblemDetails, status: int = 0) -> FootplateError:
    """The error that a problem tells; its facts as attributes, `problem` as the whole."""
    kind = _BY_CODE.get(problem.code)
    words = problem.detail or problem.title
    if kind is None:
        return ServiceFailed(status or problem.status, words)
    words = words.removeprefix(f"{problem.code.replace('_', ' ')}: ")
    error = kind.__new__(kind)  # its own words would be built from facts that stand in the problem as words already
    Exception.__init__(error, words)
    for name, value in _facts(problem).items():
        setattr(error, name, value)
    return error


def _facts(problem: ProblemDetails) -> dict[str, object]:
    details = problem.details or {}
    return {
        "problem": problem,
        "engine": problem.agent,
        "name": details.get("id", problem.agent),
        "resource": details.get("resource", ""),
        "session": problem.session_id,
        "request": details.get("id", ""),
        "state": details.get("state", ""),
        "reason": details.get("message", problem.detail),
        "by": problem.answered_by,
        "surface": problem.answered_from,
        "at": problem.answered_at,
        "install_command": problem.install_command,
        "missing": problem.missing_dependencies,
    }
