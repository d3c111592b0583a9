"""Every exception of the product, one tree.

    FootplateError
    ├── RequestError            the caller can fix it
    │   ├── InvalidValue          a value that cannot be used
    │   ├── UnknownEngine         no engine of that name
    │   ├── UnknownSession        no session of that id
    │   │   └── UnknownEntry        no entry of that name in a folder's config
    │   ├── SessionBusy           another writer holds the engine's session
    │   ├── SessionOver           the session is closed
    │   ├── UnknownRequest        the agent asked no such thing
    │   ├── AlreadyAnswered       somebody was first, or the agent no longer asks
    │   ├── UnsupportedOption     the engine, or this version of it, cannot do that
    │   ├── TokenInvalid          no token, or not one that is known
    │   ├── PermissionDenied      the token may not do that, or the place it comes from may not
    │   ├── NotFound              no thing of that id
    │   ├── EndpointUnknown       no such path
    │   ├── MethodNotAllowed      the path is known, the method is not
    │   ├── NotAcceptable         the caller takes no form that we have
    │   ├── Conflict              it cannot be done as things stand
    │   ├── Retired               a path of the past, with what to use
    │   ├── BodyTooLarge          more bytes than may be
    │   ├── UnsupportedMedia      a body of another content type is wanted
    │   ├── WrongShape            JSON that does not have the fields it should
    │   ├── ClientTooSlow         the rest of the request did not come in time
    │   ├── UnknownProject        no project of that name in the settings
    │   ├── GitRefused            git will not do that here, in its own words
    │   ├── WorktreeInUse         a worktree that something still needs
    │   ├── PathRefused           a path of which that cannot be asked
    │   ├── ArchiveRefused        an archive that cannot be unpacked
    │   ├── FileTooLarge          a file of more bytes than the operator allows
    │   ├── RangeRefused          a part that the file does not have
    │   ├── InputTooLarge         more input for a process than may come at once
    │   └── SwitchedOff           a part that the operator has not switched on, or that this machine lacks
    │       └── DesktopMissing      there is no desktop on this machine
    ├── EngineError             the agent's side
    │   ├── EngineNotFound        its program is not on this machine
    │   ├── EngineNotExecutable   its program cannot be started
    │   ├── EngineRefused         it will not start like this (root, licence, folder)
    │   ├── EngineDeclined        it runs and will not do what was asked
    │   ├── EngineSilent          it does not answer in time
    │   ├── InstallFailed         its program could not be installed
    │   ├── FetchFailed           something for it could not be fetched from the web
    │   ├── AnswerLate            it shows no sign of life while a caller waits for its answer
    │   └── EngineGone            it died, or its pipes are closed
    ├── HostError               the machine's side
    │   ├── KeeperGone            the parent of the agents is not there any more
    │   ├── KeeperBusy            it works for another process
    │   ├── KeeperRefused         it and this version do not understand each other
    │   ├── SpawnFailed           the operating system refused to start a program
    │   ├── LockHeld              another process holds a lock
    │   ├── LinkLost              the process that owns the sessions is gone
    │   ├── DiskFull              no space is left for a file
    │   ├── FileFailed            the file system failed
    │   ├── GitMissing            there is no git on this machine, or it does not end
    │   └── ProcessNotStarted     a program that a client named could not be started
    ├── StoreError              the store's side
    │   ├── StoreFailed           its disk or file failed; it takes no more writes until it is opened again
    │   │   ├── StoreFull           no space is left for it
    │   │   ├── StoreReadOnly       its file or folder cannot be written
    │   │   └── StoreCorrupt        its file is damaged, or is no store of Footplate
    │   ├── StoreBusy             another program holds its file for too long
    │   ├── StoreTooNew           a newer Footplate wrote it
    │   ├── StoreClosed           it was closed already
    │   ├── WrongEpoch            another owner has the session now
    │   ├── WrongSequence         the log is not where the writer thinks it is
    │   ├── WrongVersion          the document changed in between
    │   └── CursorLost            the log does not have what a reader says it has read
    ├── RemoteError             a service that this program is a client of
    │   ├── ServiceUnreachable    it does not answer
    │   ├── ServiceFailed         it answers with something that has no name in this tree
    │   └── CallRefused           an agent refuses a call of its protocol
    ├── BotError                a chat service's side
    │   ├── BotUnreachable        it does not answer, or answers that it is broken
    │   ├── BotRefused            it says no, in its own words
    │   ├── BotTokenWrong         it does not know the bot's token
    │   ├── MessageNotModified    the message has that content already
    │   ├── MessageMissing        the message to change is not there (or is not ours)
    │   ├── RetryAfter            too many messages: it says when to come again
    │   ├── BotForbidden          the bot may not write there
    │   ├── PollConflict          another program reads the same bot's messages
    │   └── ChatMigrated          the group has another id now
    ├── ConfigError             the settings cannot be used
    └── ProtocolError           a peer broke the rules of its own wire

Failure of a *run* is an event (`TurnEnded(ok=False)`), failure of a *call* is an exception; never both.
Each class has a stable `code`, the HTTP `status` it becomes, whether trying again can help, and builds
its own message: what failed, with which value, what to do next.
"""

from __future__ import annotations

from typing import ClassVar


class FootplateError(Exception):
    """Root of the tree; catch it to catch everything Footplate raises on purpose."""

    code: ClassVar[str] = "error"
    title: ClassVar[str] = "Error"
    status: ClassVar[int] = 500
    retryable: ClassVar[bool] = False


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

    def __init__(self, request: str, *, state: str, by: str, surface: str, at: float | None) -> None:
        self.request = request
        self.state = state
        self.by = by
        self.surface = surface
        self.at = at
        who = f" by {by}" if by else ""
        where = f" from {surface}" if surface else ""
        super().__init__(f"request {request} is {state}{who}{where}; your answer was not used")


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


class EngineError(FootplateError):
    """Something on the agent's side."""

    code: ClassVar[str] = "engine_error"
    title: ClassVar[str] = "Engine error"
    status: ClassVar[int] = 502


class EngineNotFound(EngineError):
    """The agent's program is not on this machine."""

    code: ClassVar[str] = "agent_not_installed"
    title: ClassVar[str] = "Agent not installed"
    status: ClassVar[int] = 404

    def __init__(self, engine: str, program: str, advice: str) -> None:
        self.engine = engine
        self.program = program
        super().__init__(f"{engine}: {program!r} was not found; {advice}")


class EngineNotExecutable(EngineError):
    """The agent's program is there and cannot be started."""

    code: ClassVar[str] = "agent_not_executable"
    title: ClassVar[str] = "Agent not executable"

    def __init__(self, engine: str, program: str, reason: str) -> None:
        self.engine = engine
        self.program = program
        super().__init__(f"{engine}: {program!r} cannot be started: {reason}; check the file and its mode")


class EngineRefused(EngineError):
    """The agent will not start like this."""

    code: ClassVar[str] = "agent_refused"
    title: ClassVar[str] = "Agent refused to start"
    status: ClassVar[int] = 400

    def __init__(self, engine: str, reason: str, advice: str) -> None:
        self.engine = engine
        super().__init__(f"{engine} refused to start: {reason}; {advice}")


class EngineDeclined(EngineError):
    """The agent runs and will not do what was asked; its own words are kept."""

    code: ClassVar[str] = "agent_declined"
    title: ClassVar[str] = "Agent declined"
    status: ClassVar[int] = 409

    def __init__(self, engine: str, asked: str, words: str) -> None:
        self.engine = engine
        self.asked = asked
        self.words = words
        super().__init__(f"{engine} declined {asked}: {words}")


class EngineSilent(EngineError):
    """The agent does not answer in time."""

    code: ClassVar[str] = "agent_silent"
    title: ClassVar[str] = "Agent silent"
    status: ClassVar[int] = 504
    retryable: ClassVar[bool] = True

    def __init__(self, engine: str, asked: str, waited_s: float) -> None:
        self.engine = engine
        self.asked = asked
        self.waited_s = waited_s
        super().__init__(f"{engine} did not answer {asked} within {waited_s:g} s; try again, or end the agent")


class InstallFailed(EngineError):
    """The agent's program could not be installed."""

    code: ClassVar[str] = "install_failed"
    title: ClassVar[str] = "Install failed"
    status: ClassVar[int] = 500

    def __init__(self, engine: str, reason: str) -> None:
        self.engine = engine
        super().__init__(f"{engine} could not be installed: {reason}")


class FetchFailed(EngineError):
    """Something could not be fetched from the web, or from a file that was named instead."""

    code: ClassVar[str] = "fetch_failed"
    title: ClassVar[str] = "Fetch failed"
    status: ClassVar[int] = 502

    def __init__(self, address: str, reason: str) -> None:
        self.address = address
        super().__init__(f"{address} could not be fetched: {reason}; check the address and the network, then try again")


class AnswerLate(EngineError):
    """The agent shows no sign of life while a caller waits for its answer."""

    code: ClassVar[str] = "timeout"
    title: ClassVar[str] = "Timeout"
    status: ClassVar[int] = 504
    retryable: ClassVar[bool] = False

    def __init__(self, engine: str, asked: str, waited_s: float) -> None:
        self.engine = engine
        self.asked = asked
        self.waited_s = waited_s
        super().__init__(
            f"nothing was heard of {engine} for {waited_s:g} s while {asked} waited for its answer; "
            "the answer comes on the event stream should it still come"
        )


class EngineGone(EngineError):
    """The agent died, or its pipes are closed."""

    code: ClassVar[str] = "agent_process_exited"
    title: ClassVar[str] = "Agent process exited"

    def __init__(self, engine: str, reason: str) -> None:
        self.engine = engine
        super().__init__(f"{engine} is gone: {reason}")


class HostError(FootplateError):
    """Something on the machine's side."""

    code: ClassVar[str] = "host_error"
    title: ClassVar[str] = "Host error"


class KeeperGone(HostError):
    """The keeper, parent of the agents, is not there any more."""

    code: ClassVar[str] = "keeper_gone"
    title: ClassVar[str] = "Keeper gone"
    retryable: ClassVar[bool] = True

    def __init__(self, reason: str) -> None:
        super().__init__(f"the keeper is gone: {reason}; its agents are ended, start them again")


class KeeperBusy(HostError):
    """The keeper of a data folder works for another process."""

    code: ClassVar[str] = "keeper_busy"
    title: ClassVar[str] = "Keeper busy"
    status: ClassVar[int] = 409
    retryable: ClassVar[bool] = True

    def __init__(self, pid: int) -> None:
        self.pid = pid
        super().__init__(f"the keeper of this data folder works for process {pid}; stop that process first")


class KeeperRefused(HostError):
    """The keeper and this version of Footplate do not understand each other."""

    code: ClassVar[str] = "keeper_refused"
    title: ClassVar[str] = "Keeper refused"

    def __init__(self, reason: str) -> None:
        super().__init__(f"the keeper refused: {reason}; end its agents, then it goes")


class SpawnFailed(HostError):
    """The operating system refused to start a program."""

    code: ClassVar[str] = "spawn_failed"
    title: ClassVar[str] = "Spawn failed"

    def __init__(self, program: str, errno: int, reason: str, *, stage: str) -> None:
        self.program = program
        self.errno = errno
        self.reason = reason
        self.stage = stage
        super().__init__(f"{program!r} could not be started ({stage}): {reason}")


class LockHeld(HostError):
    """Another process holds a lock."""

    code: ClassVar[str] = "lock_held"
    title: ClassVar[str] = "Lock held"
    status: ClassVar[int] = 409
    retryable: ClassVar[bool] = True

    def __init__(self, key: str, holder: str) -> None:
        self.key = key
        self.holder = holder
        super().__init__(f"{key} is held by {holder}; wait for it to end or stop it first")


class LinkLost(HostError):
    """The process that owns the sessions is gone, or closed its end."""

    code: ClassVar[str] = "link_lost"
    title: ClassVar[str] = "Link lost"
    status: ClassVar[int] = 503
    retryable: ClassVar[bool] = True

    def __init__(self, owner: str, reason: str) -> None:
        self.owner = owner
        self.reason = reason
        super().__init__(f"{owner}, which owns the sessions, is gone: {reason}; open the session again")


class DiskFull(HostError):
    """No space is left for a file; what was begun of it is removed."""

    code: ClassVar[str] = "disk_full"
    title: ClassVar[str] = "Disk full"
    status: ClassVar[int] = 507

    def __init__(self, path: str, reason: str) -> None:
        self.path = path
        self.reason = reason
        super().__init__(f"no space for {path}: {reason}; nothing of it was kept, free some space and try again")


class FileFailed(HostError):
    """The file system failed."""

    code: ClassVar[str] = "file_failed"
    title: ClassVar[str] = "File system failed"

    def __init__(self, path: str, reason: str) -> None:
        self.path = path
        self.reason = reason
        super().__init__(f"{path}: {reason}; look at the disk and the system's log")


class GitMissing(HostError):
    """There is no git on this machine, or it does not come to an end."""

    code: ClassVar[str] = "git_missing"
    title: ClassVar[str] = "Git missing"
    status: ClassVar[int] = 503

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(f"git cannot be used: {reason}")


class ProcessNotStarted(HostError):
    """A program that a client named could not be started."""

    code: ClassVar[str] = "stream_error"
    title: ClassVar[str] = "Stream error"
    status: ClassVar[int] = 502

    def __init__(self, errno: int, reason: str) -> None:
        self.errno = errno
        self.reason = reason
        super().__init__(f"failed to spawn process: {reason} (os error {errno})")


class StoreError(FootplateError):
    """Something on the store's side."""

    code: ClassVar[str] = "store_error"
    title: ClassVar[str] = "Store error"


class StoreFailed(StoreError):
    """The store's disk or file failed. It takes no more writes until it is opened again; what it has can be read."""

    code: ClassVar[str] = "store_failed"
    title: ClassVar[str] = "Store failed"
    status: ClassVar[int] = 503
    advice: ClassVar[str] = "look at the disk and the system's log, then start Footplate again"

    def __init__(self, where: str, reason: str) -> None:
        self.where = where
        self.reason = reason
        super().__init__(f"the store {where} failed: {reason}; {self.advice}")


class StoreFull(StoreFailed):
    """No space is left for the store."""

    code: ClassVar[str] = "store_full"
    title: ClassVar[str] = "Store full"
    status: ClassVar[int] = 507
    advice: ClassVar[str] = "free some space (or raise the store's limit), then start Footplate again"


class StoreReadOnly(StoreFailed):
    """The store's file or folder cannot be written."""

    code: ClassVar[str] = "store_read_only"
    title: ClassVar[str] = "Store read-only"
    advice: ClassVar[str] = "make the data folder and the files in it writable, then start Footplate again"


class StoreCorrupt(StoreFailed):
    """The store's file is damaged, or is no store of Footplate."""

    code: ClassVar[str] = "store_corrupt"
    title: ClassVar[str] = "Store corrupt"
    status: ClassVar[int] = 500
    advice: ClassVar[str] = "keep a copy of the file, put the latest backup in its place, then start Footplate again"


class StoreBusy(StoreError):
    """Another program holds the store's file for too long."""

    code: ClassVar[str] = "store_busy"
    title: ClassVar[str] = "Store busy"
    status: ClassVar[int] = 503
    retryable: ClassVar[bool] = True

    def __init__(self, where: str, reason: str) -> None:
        self.where = where
        super().__init__(f"the store {where} is held by another program: {reason}; end that program and try again")


class StoreTooNew(StoreError):
    """A newer Footplate wrote the store."""

    code: ClassVar[str] = "store_too_new"
    title: ClassVar[str] = "Store too new"

    def __init__(self, where: str, found: int, known: int) -> None:
        self.where = where
        self.found = found
        self.known = known
        super().__init__(
            f"the store {where} has schema {found} and this version knows up to {known}; "
            "start the newer Footplate, or put back the backup made before the upgrade"
        )


class StoreClosed(StoreError):
    """The store was closed already."""

    code: ClassVar[str] = "store_closed"
    title: ClassVar[str] = "Store closed"
    status: ClassVar[int] = 503
    retryable: ClassVar[bool] = True

    def __init__(self, where: str) -> None:
        self.where = where
        super().__init__(f"the store {where} is closed; open it again")


class WrongEpoch(StoreError):
    """Another owner has the session now (or nobody claimed it yet)."""

    code: ClassVar[str] = "wrong_epoch"
    title: ClassVar[str] = "Wrong epoch"
    status: ClassVar[int] = 409

    def __init__(self, session: str, epoch: int, current: int) -> None:
        self.session = session
        self.epoch = epoch
        self.current = current
        why = f"its owner has epoch {current}" if current else "nobody has claimed it"
        super().__init__(f"epoch {epoch} may not write session {session}: {why}; stop, and claim the session first")


class WrongSequence(StoreError):
    """The log is not where the writer thinks it is."""

    code: ClassVar[str] = "wrong_sequence"
    title: ClassVar[str] = "Wrong sequence"
    status: ClassVar[int] = 409

    def __init__(self, session: str, expected: int, actual: int) -> None:
        self.session = session
        self.expected = expected
        self.actual = actual
        super().__init__(
            f"session {session} was expected at event {expected} and is at {actual}; read on from there and try again"
        )


class WrongVersion(StoreError):
    """The document changed in between."""

    code: ClassVar[str] = "wrong_version"
    title: ClassVar[str] = "Wrong version"
    status: ClassVar[int] = 409
    retryable: ClassVar[bool] = True

    def __init__(self, document: str, expected: int, actual: int) -> None:
        self.document = document
        self.expected = expected
        self.actual = actual
        super().__init__(
            f"document {document} was expected at version {expected} and is at {actual}; read it again and try again"
        )


class CursorLost(StoreError):
    """The log does not have what a reader says it has read: a power cut took it, or the session was deleted."""

    code: ClassVar[str] = "cursor_lost"
    title: ClassVar[str] = "Cursor lost"
    status: ClassVar[int] = 410

    def __init__(self, session: str, after: int, last_seq: int, epoch: int) -> None:
        self.session = session
        self.after = after
        self.last_seq = last_seq
        self.epoch = epoch
        super().__init__(
            f"session {session} has no such event {after} any more (it is at {last_seq}, epoch {epoch}); "
            "read it again from the beginning"
        )


class RemoteError(FootplateError):
    """A service that this program is a client of."""

    code: ClassVar[str] = "remote_error"
    title: ClassVar[str] = "Remote error"
    status: ClassVar[int] = 502


class ServiceUnreachable(RemoteError):
    """The service does not answer, or a call was cut off so that nobody knows whether it arrived."""

    code: ClassVar[str] = "service_unreachable"
    title: ClassVar[str] = "Service unreachable"
    status: ClassVar[int] = 503
    retryable: ClassVar[bool] = True

    def __init__(self, url: str, reason: str) -> None:
        self.url = url
        self.reason = reason
        super().__init__(f"{url} does not answer: {reason}; is `footplate serve` running there?")


class ServiceFailed(RemoteError):
    """The service, or something before it, answers with an error that has no name in this tree."""

    code: ClassVar[str] = "service_failed"
    title: ClassVar[str] = "Service failed"

    def __init__(self, answered: int, words: str) -> None:
        self.answered = answered
        self.words = words
        super().__init__(f"the service answered {answered}: {words}")


class CallRefused(RemoteError):
    """An agent refuses a call of its protocol. `number` is the error's, `data` what it tells beside."""

    code: ClassVar[str] = "call_refused"
    title: ClassVar[str] = "Call refused"

    def __init__(self, method: str, number: int, words: str, data: object = None) -> None:
        self.method = method
        self.number = number
        self.words = words
        self.data = data
        super().__init__(f"{method}: {words} ({number})")


class BotError(FootplateError):
    """A chat service refused a call, or could not be reached."""

    code: ClassVar[str] = "bot_error"
    title: ClassVar[str] = "Chat service error"
    status: ClassVar[int] = 502

    def __init__(self, method: str, problem: str) -> None:
        self.method = method
        self.problem = problem
        super().__init__(f"{method}: {problem}")


class BotUnreachable(BotError):
    """The chat service does not answer, or is broken. `certain`: surely nothing was done."""

    code: ClassVar[str] = "bot_unreachable"
    title: ClassVar[str] = "Chat service not reachable"
    retryable: ClassVar[bool] = True

    def __init__(self, method: str, problem: str, *, certain: bool) -> None:
        self.certain = certain
        super().__init__(method, problem)


class BotRefused(BotError):
    """The chat service says no, in its own words; trying again does not help."""

    code: ClassVar[str] = "bot_refused"
    title: ClassVar[str] = "Refused by the chat service"


class BotTokenWrong(BotRefused):
    """The chat service does not know the bot's token."""

    code: ClassVar[str] = "bot_token_wrong"
    title: ClassVar[str] = "Bot token not known"


class MessageNotModified(BotError):
    """The message has that content already: what was wanted holds."""

    code: ClassVar[str] = "message_not_modified"
    title: ClassVar[str] = "Message not modified"


class MessageMissing(BotError):
    """The message to change is not there, or is not the bot's own."""

    code: ClassVar[str] = "message_missing"
    title: ClassVar[str] = "Message not there"


class RetryAfter(BotError):
    """Too many messages; the chat service says after how many seconds to come again."""

    code: ClassVar[str] = "bot_retry_after"
    title: ClassVar[str] = "Too many messages"
    status: ClassVar[int] = 429
    retryable: ClassVar[bool] = True

    def __init__(self, method: str, problem: str, *, seconds: float) -> None:
        self.seconds = seconds
        super().__init__(method, problem)


class BotForbidden(BotError):
    """The bot may not write there: blocked, removed, or without the right."""

    code: ClassVar[str] = "bot_forbidden"
    title: ClassVar[str] = "Bot not allowed there"


class PollConflict(BotError):
    """Another program reads the same bot's messages."""

    code: ClassVar[str] = "bot_poll_conflict"
    title: ClassVar[str] = "Bot read by another program"


class ChatMigrated(BotError):
    """The group became a supergroup and has another id now."""

    code: ClassVar[str] = "chat_migrated"
    title: ClassVar[str] = "Chat moved"

    def __init__(self, method: str, problem: str, *, chat: int) -> None:
        self.chat = chat
        super().__init__(method, problem)


class ConfigError(FootplateError):
    """The settings cannot be used."""

    code: ClassVar[str] = "config_error"
    title: ClassVar[str] = "Settings cannot be used"

    def __init__(self, where: str, problem: str, advice: str) -> None:
        self.where = where
        super().__init__(f"{where}: {problem}; {advice}")


class ProtocolError(FootplateError):
    """A peer broke the rules of its own wire."""

    code: ClassVar[str] = "protocol_error"
    title: ClassVar[str] = "Protocol error"
    status: ClassVar[int] = 502

    def __init__(self, peer: str, problem: str) -> None:
        self.peer = peer
        super().__init__(f"{peer}: {problem}")
