"""A sandbox around an agent: what it may see and write, as a bubblewrap command line. Pure.

The agent gets a file system of its own, built from a list: the programs of the machine read-only, the few files of
`/etc` that programs need, a `/tmp` and a home that are empty and forgotten at its end, its own `/proc`, a small `/dev`,
and then what is named: the session's folder and the engine's own files to write, its program to read. Whatever is not
named is not there: no other project, no key, no token. It holds no capability, can gain none, and sees no process but
its own. The network is shared unless it is taken away.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Final

import msgspec

from footplate.config.settings import CommonSettings

from .environment import NOTHING

SYSTEM: Final = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store")
"""The programs and libraries of the machine."""

ETC: Final = (
    "adduser.conf",
    "alternatives",
    "bash.bashrc",
    "ca-certificates",
    "ca-certificates.conf",
    "crypto-policies",
    "debian_version",
    "environment",
    "gai.conf",
    "gitconfig",
    "group",
    "host.conf",
    "hostname",
    "hosts",
    "inputrc",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "localtime",
    "locale.alias",
    "locale.conf",
    "login.defs",
    "magic",
    "mime.types",
    "nsswitch.conf",
    "os-release",
    "passwd",
    "pki/ca-trust",
    "pki/tls/certs",
    "pki/tls/openssl.cnf",
    "profile",
    "profile.d",
    "protocols",
    "resolv.conf",
    "rpc",
    "services",
    "shells",
    "ssl/certs",
    "ssl/openssl.cnf",
    "terminfo",
    "timezone",
    "xattr.conf",
)
"""What programs look for in `/etc`; keys and passwords are elsewhere in it."""

GIT: Final = (".gitconfig", ".config/git/config", ".config/git/ignore", ".config/git/attributes")
"""How a person set up git, without the file that may hold passwords."""

LAYERS: Final = 2
"""Our child is bubblewrap's watchman, below it the first process of the sandbox, below that the agent itself."""


class Sandbox(msgspec.Struct, frozen=True, kw_only=True):
    """What the operator lets a sandboxed agent have beyond its folder and its own files."""

    readable: tuple[str, ...] = ()
    writable: tuple[str, ...] = ()
    network: bool = True
    tmp_mb: int = 1024


def read_sandbox(common: CommonSettings) -> Sandbox | None:
    """The sandbox that the settings of an engine ask for."""
    if common.sandbox == "none":
        return None
    return Sandbox(
        readable=common.sandbox_read,
        writable=common.sandbox_write,
        network=common.sandbox_network,
        tmp_mb=common.sandbox_tmp_mb,
    )


class Mount(msgspec.Struct, frozen=True):
    """A path of the machine, and where it is in the sandbox; the same as a rule."""

    source: str
    at: str = ""
    write: bool = False
    optional: bool = False

    @property
    def place(self) -> str:
        """Where it is in the sandbox."""
        return self.at or self.source

    def arguments(self) -> tuple[str, ...]:
        """As bubblewrap wants it said."""
        flag = ("--bind" if self.write else "--ro-bind") + ("-try" if self.optional else "")
        return (flag, self.source, self.place)


def wrap_bwrap(
    argv: Sequence[str],
    *,
    bwrap: str,
    cwd: str,
    home: str,
    mounts: Iterable[Mount] = (),
    links: Mapping[str, str] = NOTHING,
    network: bool = True,
    tmp_mb: int = 1024,
) -> tuple[str, ...]:
    """The command line that runs `argv` in `cwd` with nothing of the machine but what is named.

    A mount below another one counts more than it: so a file of a writable folder can be read-only. `links` are further
    names of places in the sandbox.
    """
    size = str(tmp_mb * 1024 * 1024)
    words = [bwrap, "--die-with-parent", "--new-session", "--cap-drop", "ALL"]
    words += ["--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"]
    words += [] if network else ["--unshare-net"]
    for folder in SYSTEM:
        words += Mount(folder, optional=True).arguments()
    for name in ETC:
        words += Mount(f"/etc/{name}", optional=True).arguments()
    words += ["--proc", "/proc", "--dev", "/dev"]
    for folder in ("/tmp", "/var/tmp"):
        words += ["--perms", "1777", "--size", size, "--tmpfs", folder]
    if home not in ("", "/"):
        words += ["--perms", "0700", "--size", size, "--tmpfs", home]
    personal = [Mount(f"{home}/{name}", optional=True) for name in GIT]
    for mount in in_order([*personal, *mounts, Mount(cwd, write=True)]):
        words += mount.arguments()
    for name, place in links.items():
        words += ["--symlink", place, name]
    words += ["--remount-ro", "/", "--setenv", "TMPDIR", "/tmp", "--chdir", cwd, "--", *argv]
    return tuple(words)


def in_order(mounts: Iterable[Mount]) -> list[Mount]:
    """Outer places before inner ones; of several mounts at one place the last, and writing before reading."""
    chosen: dict[str, Mount] = {}
    for mount in mounts:
        before = chosen.get(mount.place)
        if before is None or mount.write or not before.write:
            chosen[mount.place] = mount
    return sorted(chosen.values(), key=lambda mount: (len(PurePosixPath(mount.place).parts), mount.place))


def holds(folder: str, path: str) -> bool:
    """Whether the path is the folder or stands below it; both are absolute and resolved."""
    return PurePosixPath(path).is_relative_to(PurePosixPath(folder))


def is_system(path: str) -> bool:
    """Whether every sandbox has the path anyway."""
    return any(holds(folder, path) for folder in SYSTEM)
