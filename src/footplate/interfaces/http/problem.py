"""Errors as problem+json: one function for all of them, whoever raised them."""

from __future__ import annotations

from typing import Final

import msgspec
from starlette.responses import Response

from footplate.errors import (
    AlreadyAnswered,
    Conflict,
    DesktopMissing,
    EndpointUnknown,
    FootplateError,
    MethodNotAllowed,
    NotFound,
    ProcessNotStarted,
    TokenInvalid,
    UnknownEngine,
)

MEDIA: Final = "application/problem+json"
URN: Final = "urn:sandbox-agent:error:"
"""The published clients know the kinds of errors by these names."""

INTERNAL: Final = "internal_error"


RENAMED: Final = {
    "session_id": "sessionId",
    "install_command": "installCommand",
    "missing_dependencies": "missingDependencies",
}


class Problem(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename=RENAMED):
    """What went wrong, as RFC 9457 puts it. `type` is stable; `detail` is for people."""

    type: str
    title: str
    status: int
    detail: str = ""
    agent: str = ""
    session_id: str = ""
    details: dict[str, object] | None = None
    retryable: bool = False
    answered_by: str = ""
    answered_from: str = ""
    answered_at: float | None = None
    code: str = ""
    install_command: str = ""
    missing_dependencies: tuple[str, ...] = ()


def problem_of(error: BaseException) -> Problem:
    """The error in the words of the wire. What we did not raise on purpose tells nothing of our inside."""
    if not isinstance(error, FootplateError):
        return Problem(
            type=URN + INTERNAL,
            title="Internal Error",
            status=500,
            detail="internal error: something of ours broke; the log of the server says what",
        )
    words = error.code.replace("_", " ")
    if isinstance(error, EndpointUnknown):
        return Problem(type=URN + error.code, title=error.title, status=error.status, detail=str(error))
    if isinstance(error, TokenInvalid):
        return Problem(
            type=URN + error.code,
            title=words.title(),
            status=error.status,
            detail=words,
            details={"message": error.reason},
        )
    return msgspec.structs.replace(
        Problem(
            type=URN + error.code,
            title=words.title(),
            status=error.status,
            detail=f"{words}: {error}",
            agent=_text(error, "engine"),
            session_id=_text(error, "session"),
            retryable=error.retryable,
        ),
        **_more(error),
    )


def _more(error: FootplateError) -> dict[str, object]:
    match error:
        case DesktopMissing():
            return {
                "detail": str(error),
                "code": error.code,
                "install_command": error.install_command,
                "missing_dependencies": error.missing,
            }
        case UnknownEngine():
            return {"agent": error.name}
        case NotFound():
            return {"details": {"id": error.name, "resource": error.resource}}
        case Conflict() | ProcessNotStarted():
            return {"details": {"message": str(error)}}
        case AlreadyAnswered():
            return {
                "answered_by": error.by,
                "answered_from": error.surface,
                "answered_at": error.at,
                "details": {"id": error.request, "state": error.state},
            }
        case _:
            return {}


def _text(error: FootplateError, name: str) -> str:
    value = getattr(error, name, "")
    return value if isinstance(value, str) else ""


def problem_response(error: BaseException) -> Response:
    """The error as a response."""
    problem = problem_of(error)
    headers: dict[str, str] = {}
    if isinstance(error, MethodNotAllowed):
        headers["allow"] = ", ".join(error.allowed)
    elif isinstance(error, TokenInvalid):
        headers["www-authenticate"] = "Bearer"
    return Response(msgspec.json.encode(problem), problem.status, headers, MEDIA)
