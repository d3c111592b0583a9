"""What a sandboxed program needs of this machine: looked up on disk, then handed to `sandbox` as mounts."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from footplate.errors import EngineRefused

from .sandbox import Mount, Sandbox, holds, is_system, wrap_bwrap

PROGRAM: Final = "bwrap"
PLACES: Final = "/usr/bin:/bin:/usr/local/bin:/run/current-system/sw/bin"
"""Where bubblewrap may be: not on the agent's `PATH`, which may begin in a folder that an agent can write."""

INSTALL: Final = (
    'install bubblewrap (`apt-get install -y bubblewrap`, `dnf install bubblewrap`), or set sandbox = "none"'
)


def confine(
    argv: Sequence[str],
    *,
    sandbox: Sandbox,
    env: Mapping[str, str],
    cwd: str,
    writes: Iterable[str] = (),
    reads: Iterable[str] = (),
    places: str = PLACES,
) -> tuple[str, ...]:
    """The command line that runs `argv` in a sandbox. Raises `EngineRefused` when there can be none.

    What is to be written is there afterwards: a folder is made, a `.json` file is begun as an empty object.
    """
    bwrap = shutil.which(PROGRAM, path=places)
    if bwrap is None:
        raise EngineRefused(Path(argv[0]).name, "there is no bubblewrap for its sandbox", INSTALL)
    home = os.path.realpath(env.get("HOME") or "/")
    folder = os.path.realpath(cwd)
    _check_folder(Path(argv[0]).name, folder, home)
    mounts = [Mount(_resolve(path, home), optional=True) for path in (*reads, *sandbox.readable)]
    for path in (*writes, *sandbox.writable):
        try:
            mounts.append(Mount(_make(_resolve(path, home)), write=True))
        except OSError as problem:
            advice = "make it yourself, or leave it out of sandbox_write"
            raise EngineRefused(Path(argv[0]).name, f"{path} cannot be made: {problem.strerror}", advice) from problem
    mounts += [Mount(path, write=True) for path in git_folders(folder)]
    mounts += program_files(argv[0], env.get("PATH", os.defpath), home)
    return wrap_bwrap(
        argv,
        bwrap=bwrap,
        cwd=folder,
        home=home,
        links=_links(cwd, folder, env.get("HOME", ""), home),
        mounts=mounts,
        network=sandbox.network,
        tmp_mb=sandbox.tmp_mb,
    )


def _check_folder(program: str, folder: str, home: str) -> None:
    if holds(folder, home) or is_system(folder):
        raise EngineRefused(
            program,
            f"{folder} holds the home folder or the machine's programs: a sandbox with it would hide nothing",
            "start the session in the folder of a project",
        )


def _links(*pairs: str) -> dict[str, str]:
    """Names under which a resolved place is known, too."""
    return {name: place for name, place in zip(pairs[::2], pairs[1::2], strict=True) if name not in (place, "")}


def _resolve(path: str, home: str) -> str:
    return os.path.realpath(Path(home, path.removeprefix("~/")) if path.startswith("~/") else path)


def _make(path: str) -> str:
    """See to it that the path is there."""
    place = Path(path)
    if place.exists():
        return path
    place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if place.suffix == ".json":
        place.touch(mode=0o600)
        place.write_text("{}\n", encoding="utf-8")
    else:
        place.mkdir(mode=0o700)
    return path


def program_files(program: str, path: str, home: str) -> list[Mount]:
    """The program itself, under the name it is called by, and the interpreter of a script with what belongs to it."""
    found = shutil.which(program, path=path) or program
    real = os.path.realpath(found)
    mounts = [] if is_system(found) and is_system(real) else [Mount(real), Mount(real, found)]
    interpreter = _interpreter(real, path)
    if not interpreter:
        return mounts
    package = _package(real)
    mounts += [Mount(package)] if package else []
    meant = os.path.realpath(interpreter)
    if not is_system(meant):
        prefix = str(Path(meant).parent.parent)
        mounts += [Mount(meant), Mount(meant, interpreter)]
        mounts += [Mount(prefix)] if Path(meant).parent.name == "bin" and not _is_private(prefix, home) else []
    return mounts


def _interpreter(script: str, path: str) -> str:
    """The program that runs a script; empty for one that runs by itself."""
    try:
        with Path(script).open("rb") as file:
            first = file.readline(512)
    except OSError:
        return ""
    words = first.removeprefix(b"#!").decode("utf-8", "replace").split() if first.startswith(b"#!") else []
    if words and Path(words[0]).name == "env":
        named = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
        return shutil.which(named[0], path=path) or "" if named else ""
    return words[0] if words else ""


def _package(script: str) -> str:
    """The outermost `node_modules` around a script: what it imports lies there."""
    parts = Path(script).parts
    if "node_modules" not in parts or is_system(script):
        return ""
    return str(Path(*parts[: parts.index("node_modules") + 1]))


def _is_private(prefix: str, home: str) -> bool:
    """Whether a folder is too near to the home to be shown for the sake of one program in it."""
    return holds(prefix, home) or (holds(home, prefix) and len(Path(prefix).relative_to(home).parts) < 2)


def git_folders(folder: str) -> tuple[str, ...]:
    """Where git keeps what belongs to a worktree, if the folder is one.

    The link is believed only where the repository itself knows the worktree: a sandboxed agent can write the link, but
    it must not open other folders by it.
    """
    link = Path(folder, ".git")
    try:
        text = link.read_text(encoding="utf-8") if link.is_file() else ""
        if not text.startswith("gitdir:"):
            return ()
        own = Path(folder, text.removeprefix("gitdir:").strip()).resolve(strict=True)
        common = own.parent.parent
        back = Path((own / "gitdir").read_text(encoding="utf-8").strip())
        shared = (own / (own / "commondir").read_text(encoding="utf-8").strip()).resolve(strict=True)
        known = own.parent.name == "worktrees" and shared == common and back.resolve(strict=True) == link.resolve()
    except (OSError, UnicodeDecodeError):
        return ()
    return (str(common),) if known and (common / "HEAD").is_file() and (common / "objects").is_dir() else ()
