"""The machine's side."""

from __future__ import annotations

from typing import ClassVar

from footplate.errors.base import FootplateError


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

    def __init__(self, key: str, holder: str, *, left: bool = False) -> None:
        self.key = key
        self.holder = holder
        self.left = left
        """Whether its holder is gone, and an agent has it that was left behind."""
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
