"""Every exception of the product, one tree.

    FootplateError
    ├── RequestError            the caller can fix it
    │   ├── InvalidValue          a value that cannot be used
    │   ├── UnknownEngine         no engine of that name
    │   ├── UnknownSession        no session of that id
    │   │   └── UnknownEntry        no entry of that name in a folder's config
    │   ├── SessionExists         there is a session of that id already
    │   ├── SessionBusy           another writer holds the engine's session
    │   ├── SessionOver           the session is closed
    │   ├── SessionFailed         the session failed, or the service is stopping
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
    │   ├── FileChanged           a file is not as the one who writes it knows it
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
    │   │   ├── StoreFull           no space is left for it; it takes writes again when there is
    │   │   ├── StoreReadOnly       its file or folder cannot be written
    │   │   └── StoreCorrupt        its file is damaged, or is no store of Footplate
    │   ├── StoreBusy             another program holds its file for too long
    │   ├── StoreTooNew           a newer Footplate wrote it
    │   ├── StoreClosed           it was closed already
    │   ├── RevokedNotStored      a token no longer works, and that is not stored yet
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

from footplate.errors.base import (
    ConfigError,
    FootplateError,
    ProtocolError,
)
from footplate.errors.chat import (
    BotError,
    BotForbidden,
    BotRefused,
    BotTokenWrong,
    BotUnreachable,
    ChatMigrated,
    MessageMissing,
    MessageNotModified,
    PollConflict,
    RetryAfter,
)
from footplate.errors.engine import (
    AnswerLate,
    EngineDeclined,
    EngineError,
    EngineGone,
    EngineNotExecutable,
    EngineNotFound,
    EngineRefused,
    EngineSilent,
    FetchFailed,
    InstallFailed,
)
from footplate.errors.host import (
    DiskFull,
    FileFailed,
    GitMissing,
    HostError,
    KeeperBusy,
    KeeperGone,
    KeeperRefused,
    LinkLost,
    LockHeld,
    ProcessNotStarted,
    SpawnFailed,
)
from footplate.errors.remote import (
    CallRefused,
    RemoteError,
    ServiceFailed,
    ServiceUnreachable,
)
from footplate.errors.request import (
    AlreadyAnswered,
    ArchiveRefused,
    BodyTooLarge,
    ClientTooSlow,
    Conflict,
    DesktopMissing,
    EndpointUnknown,
    FileChanged,
    FileTooLarge,
    GitRefused,
    InputTooLarge,
    InvalidValue,
    MethodNotAllowed,
    NotAcceptable,
    NotFound,
    PathRefused,
    PermissionDenied,
    RangeRefused,
    RequestError,
    Retired,
    SessionBusy,
    SessionExists,
    SessionFailed,
    SessionOver,
    SwitchedOff,
    TokenInvalid,
    UnknownEngine,
    UnknownEntry,
    UnknownProject,
    UnknownRequest,
    UnknownSession,
    UnsupportedMedia,
    UnsupportedOption,
    WorktreeInUse,
    WrongShape,
)
from footplate.errors.store import (
    CursorLost,
    RevokedNotStored,
    StoreBusy,
    StoreClosed,
    StoreCorrupt,
    StoreError,
    StoreFailed,
    StoreFull,
    StoreReadOnly,
    StoreTooNew,
    WrongEpoch,
    WrongSequence,
    WrongVersion,
)

__all__ = [
    "AlreadyAnswered",
    "AnswerLate",
    "ArchiveRefused",
    "BodyTooLarge",
    "BotError",
    "BotForbidden",
    "BotRefused",
    "BotTokenWrong",
    "BotUnreachable",
    "CallRefused",
    "ChatMigrated",
    "ClientTooSlow",
    "ConfigError",
    "Conflict",
    "CursorLost",
    "DesktopMissing",
    "DiskFull",
    "EndpointUnknown",
    "EngineDeclined",
    "EngineError",
    "EngineGone",
    "EngineNotExecutable",
    "EngineNotFound",
    "EngineRefused",
    "EngineSilent",
    "FetchFailed",
    "FileChanged",
    "FileFailed",
    "FileTooLarge",
    "FootplateError",
    "GitMissing",
    "GitRefused",
    "HostError",
    "InputTooLarge",
    "InstallFailed",
    "InvalidValue",
    "KeeperBusy",
    "KeeperGone",
    "KeeperRefused",
    "LinkLost",
    "LockHeld",
    "MessageMissing",
    "MessageNotModified",
    "MethodNotAllowed",
    "NotAcceptable",
    "NotFound",
    "PathRefused",
    "PermissionDenied",
    "PollConflict",
    "ProcessNotStarted",
    "ProtocolError",
    "RangeRefused",
    "RemoteError",
    "RequestError",
    "Retired",
    "RetryAfter",
    "RevokedNotStored",
    "ServiceFailed",
    "ServiceUnreachable",
    "SessionBusy",
    "SessionExists",
    "SessionFailed",
    "SessionOver",
    "SpawnFailed",
    "StoreBusy",
    "StoreClosed",
    "StoreCorrupt",
    "StoreError",
    "StoreFailed",
    "StoreFull",
    "StoreReadOnly",
    "StoreTooNew",
    "SwitchedOff",
    "TokenInvalid",
    "UnknownEngine",
    "UnknownEntry",
    "UnknownProject",
    "UnknownRequest",
    "UnknownSession",
    "UnsupportedMedia",
    "UnsupportedOption",
    "WorktreeInUse",
    "WrongEpoch",
    "WrongSequence",
    "WrongShape",
    "WrongVersion",
]
