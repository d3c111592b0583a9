"""How a child of the keeper becomes an agent: what happens between fork and exec. Standard library only."""

from __future__ import annotations

import errno
import os
import resource
import signal
import sys

from .channel import close_all

TYPE_CHECKING = False  # the keeper must not pay for `typing`
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn

VARIABLE = "FOOTPLATE_RUN"
FILES = "FOOTPLATE_OPEN_FILES"
"""Names in the keeper's environment the soft limit that agents get, when the service has raised its own."""
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36


def open_pipes(count: int) -> list[tuple[int, int]]:
    """Open that many pipes, or none."""
    pairs: list[tuple[int, int]] = []
    try:
        while len(pairs) < count:
            pairs.append(os.pipe())
    except OSError:
        close_all(fd for pair in pairs for fd in pair)
        raise
    return pairs


def open_ends(tty: list[int] | None) -> list[tuple[int, int]]:
    """Open what goes into `become` and comes out of it: four pipes; or a terminal of so many rows and columns.

    With a terminal both ends of stdin and stdout are its own, and the pipe of stderr is at its end at once.
    """
    if not tty:
        return open_pipes(4)
    import termios  # noqa: PLC0415  few need it

    pipes = open_pipes(2)
    (err_read, err_write), report = pipes
    opened: list[int] = []
    try:
        master, slave = os.openpty()
        opened += [master, slave]
        opened += [os.dup(master), os.dup(slave), os.dup(slave)]
        termios.tcsetwinsize(master, (int(tty[0]), int(tty[1])))
        mode = termios.tcgetattr(slave)
        mode[0] |= getattr(termios, "IUTF8", 0o40000)
        termios.tcsetattr(slave, termios.TCSANOW, mode)
    except (OSError, termios.error):
        close_all([*opened, *(fd for pair in pipes for fd in pair)])
        raise
    close_all([err_write])
    return [(slave, master), (opened[2], opened[3]), (err_read, opened[4]), report]


def take_terminal() -> None:
    """Make stdin, a terminal, the one that controls our session."""
    import fcntl  # noqa: PLC0415  few need it
    import termios  # noqa: PLC0415

    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def load_prctl() -> Callable[[int, int], int] | None:
    """Give prctl where there is one."""
    if sys.platform != "linux":
        return None
    try:
        import ctypes  # noqa: PLC0415  half a megabyte, and not in every Python

        prctl = ctypes.CDLL(None, use_errno=True).prctl
    except (ImportError, OSError, AttributeError):
        return None
    return lambda option, value: int(prctl(option, value, 0, 0, 0))


class Setting:
    """What every child of one keeper needs to know before exec; made once, when signals are as they stay."""

    def __init__(self) -> None:
        self.parent = os.getpid()
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        self.files = int(os.environ.get(FILES, soft)), hard
        self.prctl = load_prctl()
        self.signals = changed_signals()

    def adopt_strays(self) -> None:
        """Become the one to whom orphans below us are given."""
        if self.prctl:
            self.prctl(PR_SET_CHILD_SUBREAPER, 1)

    def allow_files(self) -> None:
        """Let ourselves, not our children, hold as many descriptors as the system allows."""
        resource.setrlimit(resource.RLIMIT_NOFILE, (self.files[1], self.files[1]))


class Plan:
    """A spawn request in bytes, ready for exec; what exec would refuse is refused here."""

    def __init__(self, request: dict[str, Any], marker: str) -> None:
        self.argv = [encode(part) for part in request["argv"]]
        self.env = {encode(name): encode(value) for name, value in request["env"].items()}
        self.env[VARIABLE.encode()] = encode(marker)
        self.cwd = encode(request["cwd"])
        self.pdeathsig = int(request.get("pdeathsig", signal.SIGKILL))
        self.limits = [limit(name, value) for name, value in (request.get("limits") or {}).items()]
        self.oom_score_adj = int(request.get("oom_score_adj") or 0)
        self.tty: list[int] | None = request.get("tty")
        if not self.argv or not self.argv[0]:
            raise ValueError("argv is empty")


def limit(name: str, value: int) -> tuple[int, int]:
    """One of the kernel's limits by its name; never above the hard limit that we have ourselves."""
    kind = int(getattr(resource, name))
    highest = resource.getrlimit(kind)[1]
    return kind, int(value) if highest == resource.RLIM_INFINITY else min(int(value), highest)


def encode(text: str) -> bytes:
    """Turn a string into what the system calls take."""
    data = text.encode("utf-8", "surrogateescape")
    if b"\0" in data:
        raise ValueError("a string holds a null byte")
    return data


def changed_signals() -> list[int]:
    """Name the signals that are not as a new program should find them."""
    changeable = signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}
    return [s for s in changeable if signal.getsignal(s) not in (signal.SIG_DFL, None)]


def become(plan: Plan, fds: list[int], report: int, setting: Setting) -> NoReturn:
    """Turn a fresh child into the agent; what fails is written to `report`, which exec closes.

    Every descriptor of the keeper is close-on-exec, so the agent gets these three and no other.
    """
    stage = "exec"
    try:
        os.setsid()
        restore_signals(setting.signals)
        for target, fd in enumerate(fds):
            os.dup2(fd, target)
        if plan.tty:
            take_terminal()
        if setting.prctl and plan.pdeathsig:
            setting.prctl(PR_SET_PDEATHSIG, plan.pdeathsig)
            if os.getppid() != setting.parent:  # the keeper died before the line above
                os._exit(127)
        stage = "limits"
        resource.setrlimit(resource.RLIMIT_NOFILE, setting.files)
        set_limits(plan)
        stage = "cwd"
        os.chdir(plan.cwd)
        stage = "exec"
        execute(plan.argv, plan.env)
    except (OSError, ValueError) as error:
        os.write(report, f"{stage} {getattr(error, 'errno', None) or errno.EINVAL}".encode())
    finally:
        os._exit(127)


def set_limits(plan: Plan) -> None:
    """Hold the program, and what it starts, to its limits; and let the kernel take it first when memory is out."""
    for kind, value in plan.limits:
        resource.setrlimit(kind, (value, value))
    if plan.oom_score_adj and sys.platform == "linux":
        with open("/proc/self/oom_score_adj", "r+", encoding="ascii") as file:  # noqa: PTH123
            if int(file.read()) < plan.oom_score_adj:  # to lower it is for root alone
                file.seek(0)
                file.write(str(plan.oom_score_adj))


def restore_signals(changed: list[int]) -> None:
    """Undo what the keeper, Python and whoever started us did to signals."""
    signal.set_wakeup_fd(-1)
    for signum in changed:
        signal.signal(signum, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def execute(argv: list[bytes], env: dict[bytes, bytes]) -> None:
    """Exec; a name without a slash is looked up in the PATH of the environment it gets."""
    if b"/" in argv[0]:
        os.execve(argv[0], argv, env)
    failure = OSError(errno.ENOENT, os.strerror(errno.ENOENT))
    for folder in env.get(b"PATH", os.defpath.encode()).split(b":"):
        try:
            os.execve((folder or b".") + b"/" + argv[0], argv, env)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except PermissionError as error:
            failure = error
    raise failure
