"""What the caller can fix."""

from __future__ import annotations

from typing import ClassVar

from footplate.errors.base import FootplateError


class RequestError(FootplateError):
    """The caller asked for something that cannot be; a changed call may work."""

    code: ClassVar[str] = "invalid_request"
    title: ClassVar[str] = "Invalid request"
    status: ClassVar[int] = 400


class InvalidValue(RequestError):
    """A value that cannot be used, with what would be."""

    def __init__(self, name: str, value: object, expected: str) -> None:
        self.name = name
        self.value = value
        self.expected = expected
        super().__init__(f"{name}: {value!r} cannot be used; expected {expected}")


class UnknownEngine(RequestError):
    """No engine of that name is known."""

    code: ClassVar[str] = "unsupported_agent"
    title: ClassVar[str] = "Unknown engine"

    def __init__(self, name: str, known: tuple[str, ...]) -> None:
        self.name = name
        self.known = known
        super().__init__(f"unknown engine {name!r}; known engines: {', '.join(known)}")


class UnknownSession(RequestError):
    """No session of that id is known."""

    code: ClassVar[str] = "session_not_found"
    title: ClassVar[str] = "Session not found"
    status: ClassVar[int] = 404

    def __init__(self, session: str) -> None:
        self.session = session
        super().__init__(f"no session {session!r}; `footplate sessions` lists the known ones")


class UnknownEntry(UnknownSession):
    """No entry of that name in a folder's config; the published clients know it by the code of a missing session."""

    def __init__(self, entry: str) -> None:
        self.session = entry
        RequestError.__init__(self, entry)


class SessionBusy(RequestError):
    """Another writer holds the engine's session."""

    code: ClassVar[str] = "session_busy"
    title: ClassVar[str] = "Session busy"
    status: ClassVar[int] = 409
    retryable: ClassVar[bool] = True

    def __init__(self, key: str, holder: str) -> None:
        self.key = key
        self.holder = holder
        super().__init__(f"session {key} is in use by {holder}; wait for it to end or stop it first")


class SessionOver(RequestError):
    """The session is closed; nothing more can be asked of it."""

    code: ClassVar[str] = "session_closed"
    title: ClassVar[str] = "Session closed"
    status: ClassVar[int] = 409

    def __init__(self, session: str) -> None:
        self.session = session
        super().__init__(f"session {session} is closed; open another, or resume it by its resume line")


class SessionFailed(RequestError):
    """The session failed, or the service is stopping: the same call may work again in a moment."""

    code: ClassVar[str] = "session_failed"
    title: ClassVar[str] = "Session failed"
    status: ClassVar[int] = 503
    retryable: ClassVar[bool] = True

    def __init__(self, session: str, reason: str, advice: str = "try again") -> None:
        self.session = session
        self.reason = reason
        super().__init__(f"cannot use session {session}: {reason}; {advice}")


class UnknownRequest(RequestError):
    """The agent asked no such thing."""

    code: ClassVar[str] = "request_not_found"
    title: ClassVar[str] = "Request not found"
    status: ClassVar[int] = 404

    def __init__(self, request: str) -> None:
        self.request = request
        super().__init__(f"no request {request!r} in this session")


class AlreadyAnswered(RequestError):
    """Somebody was first, or the agent no longer asks."""

    code: ClassVar[str] = "request_closed"
    title: ClassVar[str] = "Request already closed"
    status: ClassVar[int] = 409

    def __init__(self, request: str, *, state: str, by: str, surface: str, at: float | None, who: str) -> None:
        self.request = request
        self.state = state
        self.by = by
        self.surface = surface
        self.at = at
        super().__init__(f"request {request} is {f'{state} {who}'.rstrip()}; your answer was not used")


class UnsupportedOption(RequestError):
    """The engine, or this version of it, cannot do what was asked."""

    code: ClassVar[str] = "unsupported_option"
    title: ClassVar[str] = "Unsupported option"

    def __init__(self, engine: str, option: str, advice: str) -> None:
        self.engine = engine
        self.option = option
        super().__init__(f"{engine} does not support {option}; {advice}")


class TokenInvalid(RequestError):
    """No token came with the call, or not one that is known, or one that has expired."""

    code: ClassVar[str] = "token_invalid"
    title: ClassVar[str] = "Token invalid"
    status: ClassVar[int] = 401

    def __init__(self, reason: str = "missing or invalid bearer token") -> None:
        self.reason = reason
        super().__init__(reason)


class PermissionDenied(RequestError):
    """The caller is known and may not do that; or it comes from where nobody may."""

    code: ClassVar[str] = "permission_denied"
    title: ClassVar[str] = "Permission denied"
    status: ClassVar[int] = 403


class NotFound(RequestError):
    """There is no thing of that id."""

    code: ClassVar[str] = "not_found"
    title: ClassVar[str] = "Not found"
    status: ClassVar[int] = 404

    def __init__(self, resource: str, name: str) -> None:
        self.resource = resource
        self.name = name
        super().__init__(f"{resource} {name}")


class EndpointUnknown(RequestError):
    """There is no such path."""

    title: ClassVar[str] = "Not Found"
    status: ClassVar[int] = 404

    def __init__(self) -> None:
        super().__init__("endpoint not found")


class MethodNotAllowed(RequestError):
    """The path is known and takes other methods."""

    code: ClassVar[str] = "method_not_allowed"
    title: ClassVar[str] = "Method not allowed"
    status: ClassVar[int] = 405

    def __init__(self, method: str, allowed: tuple[str, ...]) -> None:
        self.allowed = allowed
        super().__init__(f"{method} cannot be used here; use {', '.join(allowed)}")


class NotAcceptable(RequestError):
    """The caller takes no form that we have."""

    code: ClassVar[str] = "not_acceptable"
    title: ClassVar[str] = "Not acceptable"
    status: ClassVar[int] = 406


class Conflict(RequestError):
    """It cannot be done as things stand."""

    code: ClassVar[str] = "conflict"
    title: ClassVar[str] = "Conflict"
    status: ClassVar[int] = 409


class SessionExists(RequestError):
    """A session of that id is there already."""

    code: ClassVar[str] = "session_already_exists"
    title: ClassVar[str] = "Session already exists"
    status: ClassVar[int] = 409

    def __init__(self, session: str) -> None:
        self.session = session
        super().__init__(f"there is a session {session!r} already; resume it, or choose another id")


class Retired(RequestError):
    """A path of the past; the message says what to use."""

    code: ClassVar[str] = "gone"
    title: ClassVar[str] = "Gone"
    status: ClassVar[int] = 410


class BodyTooLarge(RequestError):
    """More bytes than may be."""

    code: ClassVar[str] = "body_too_large"
    title: ClassVar[str] = "Body too large"
    status: ClassVar[int] = 413

    def __init__(self, limit: int) -> None:
        self.limit = limit
        super().__init__(f"the body is larger than {limit} bytes; send less, or raise json_limit_mb in [http]")


class UnsupportedMedia(RequestError):
    """A body of another content type is wanted."""

    code: ClassVar[str] = "unsupported_media_type"
    title: ClassVar[str] = "Unsupported media type"
    status: ClassVar[int] = 415

    def __init__(self, given: str, wanted: str) -> None:
        super().__init__(f"content-type is {given or 'missing'!r}; send {wanted}")


class WrongShape(RequestError):
    """JSON that does not have the fields it should have, or not with such values."""

    code: ClassVar[str] = "invalid_request"
    title: ClassVar[str] = "Invalid request"
    status: ClassVar[int] = 422


class ClientTooSlow(RequestError):
    """The rest of the request did not come in time."""

    code: ClassVar[str] = "timeout"
    title: ClassVar[str] = "Request timeout"
    status: ClassVar[int] = 408


class SwitchedOff(RequestError):
    """A part that the operator has not switched on, or that this machine lacks."""

    code: ClassVar[str] = "switched_off"
    title: ClassVar[str] = "Switched off"
    status: ClassVar[int] = 503


class DesktopMissing(SwitchedOff):
    """There is no desktop on this machine, with what one would need."""

    code: ClassVar[str] = "desktop_dependencies_missing"
    title: ClassVar[str] = "Desktop dependencies missing"

    def __init__(self, missing: tuple[str, ...], install_command: str) -> None:
        self.missing = missing
        self.install_command = install_command
        super().__init__(
            f"Desktop dependencies are not installed: {', '.join(missing)}. This version of Footplate drives no "
            f"desktop; `{install_command}` brings the tools that a later one will use"
        )


class UnknownProject(RequestError):
    """No project of that name stands in the settings."""

    code: ClassVar[str] = "project_not_found"
    title: ClassVar[str] = "Project not found"
    status: ClassVar[int] = 404

    def __init__(self, alias: str, known: tuple[str, ...]) -> None:
        self.alias = alias
        self.known = known
        rest = f"known projects: {', '.join(known)}" if known else "there are none yet: `footplate init` makes one"
        super().__init__(f"unknown project {alias!r}; {rest}")


class GitRefused(RequestError):
    """git will not do that here; its own words are kept."""

    code: ClassVar[str] = "git_refused"
    title: ClassVar[str] = "Git refused"
    status: ClassVar[int] = 409

    def __init__(self, folder: str, asked: str, words: str) -> None:
        self.folder = folder
        self.asked = asked
        self.words = words
        super().__init__(f"git {asked} in {folder}: {words}")


class WorktreeInUse(RequestError):
    """A worktree that something still needs; it is removed only by force."""

    code: ClassVar[str] = "worktree_in_use"
    title: ClassVar[str] = "Worktree in use"
    status: ClassVar[int] = 409

    def __init__(self, path: str, reasons: tuple[str, ...]) -> None:
        self.path = path
        self.reasons = reasons
        super().__init__(f"{path} is not removed: {'; '.join(reasons)}; --force (`force`) removes it all the same")


class PathRefused(RequestError):
    """A path of which that cannot be asked: it is not there, or it is another kind of thing."""

    def __init__(self, problem: str, path: str) -> None:
        self.problem = problem
        self.path = path
        super().__init__(f"{problem}: {path}")


class ArchiveRefused(RequestError):
    """An archive that cannot be unpacked, or that holds what may not be unpacked."""


class FileTooLarge(RequestError):
    """A file of more bytes than the operator allows."""

    code: ClassVar[str] = "body_too_large"
    title: ClassVar[str] = "File too large"
    status: ClassVar[int] = 413

    def __init__(self, path: str, limit: int) -> None:
        self.path = path
        self.limit = limit
        super().__init__(f"{path} would be larger than {limit} bytes, which is max_file_bytes in [files]")


class FileChanged(RequestError):
    """A file was to be written only if it is as the caller knows it, and it is not."""

    code: ClassVar[str] = "file_changed"
    title: ClassVar[str] = "File changed"
    status: ClassVar[int] = 412

    def __init__(self, path: str, *, there: bool) -> None:
        self.path = path
        self.there = there
        now = "has changed, or was made, since you read it" if there else "is no longer there"
        super().__init__(f"{path} {now}; read it again, or write it without If-Match and If-None-Match")


class RangeRefused(RequestError):
    """A part of a file was asked for that it does not have."""

    code: ClassVar[str] = "range_not_satisfiable"
    title: ClassVar[str] = "Range not satisfiable"
    status: ClassVar[int] = 416

    def __init__(self, given: str, size: int) -> None:
        self.given = given
        self.size = size
        super().__init__(f"{given!r} is no part of a file of {size} bytes")


class InputTooLarge(RequestError):
    """More input for a process than may come at once."""

    code: ClassVar[str] = "body_too_large"
    title: ClassVar[str] = "Input too large"
    status: ClassVar[int] = 413

    def __init__(self, size: int, limit: int) -> None:
        self.size = size
        self.limit = limit
        super().__init__(f"{size} bytes of input at once, and {limit} may come; send them in parts")
