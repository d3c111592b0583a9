"""git worktrees: find, make, look at, measure, remove. Blocking: call it in a thread.

A branch has its worktree at `<root>/<branch>`; the branch that the main checkout is on has the main checkout.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from footplate.errors import Conflict, GitRefused, InvalidValue

from .git import Git

BASES: Final = ("refs/remotes/origin/HEAD", "HEAD", "refs/heads/master", "refs/heads/main")
"""What a new branch begins at where the settings name nothing, the first that is there."""
BLOCK: Final = 512


class Tree(msgspec.Struct, frozen=True, kw_only=True):
    """One checkout as git lists it. `locked` is the reason where it is; `missing`: its folder is gone."""

    path: str
    head: str = ""
    branch: str = ""
    locked: str | None = None
    missing: bool = False


class Work(msgspec.Struct, frozen=True, kw_only=True):
    """What is in a worktree and nowhere else: changed files, and commits that neither a remote nor the base has."""

    uncommitted: int
    unpushed: int


def check_branch(git: Git, branch: str) -> None:
    """Raise `InvalidValue` unless it is a name that git takes and that stays inside a folder."""
    parts = branch.split("/")
    safe = bool(branch) and not branch.startswith(("/", "-")) and ".." not in parts and "\0" not in branch
    if not safe or git.ask("check-ref-format", f"refs/heads/{branch}").code != 0:
        raise InvalidValue("branch", branch, "a name like feature/login: no leading / or -, no .., no spaces")


def list_trees(git: Git) -> tuple[Tree, ...]:
    """Every checkout of the repository, the main one first. Raises `GitRefused` where there is no repository."""
    return tuple(_read_trees(git.run("worktree", "list", "--porcelain", "-z")))


def _read_trees(text: str) -> Iterator[Tree]:
    for entry in text.split("\0\0"):
        facts = dict(line.partition(" ")[::2] for line in entry.split("\0") if line)
        if "worktree" in facts:
            yield Tree(
                path=facts["worktree"],
                head=facts.get("HEAD", ""),
                branch=facts.get("branch", "").removeprefix("refs/heads/"),
                locked=facts.get("locked"),
                missing="prunable" in facts,
            )


def find_tree(git: Git, root: str, branch: str) -> str:
    """Where the branch is, or would be. Raises `InvalidValue` for a name that leads outside of `root`."""
    check_branch(git, branch)
    if git.line("symbolic-ref", "--short", "HEAD") == branch:
        return git.folder
    path = Path(root) / branch
    if not path.resolve().is_relative_to(Path(root).resolve()):
        raise InvalidValue("branch", branch, f"a name that stays inside {root}; a link there leads elsewhere")
    return str(path)


def make_tree(git: Git, root: str, branch: str, base: str = "") -> tuple[str, bool]:
    """The folder of the branch, made where there is none: from the local branch, from origin's, else a new one.

    Whether it is new is told, too. `git` is that of the main checkout. Raises `Conflict` where something else lies.
    """
    path = find_tree(git, root, branch)
    if path == git.folder:
        return path, False
    trees = list_trees(git)
    known = next((tree for tree in trees if Path(tree.path).resolve() == Path(path).resolve()), None)
    if Path(path).exists():
        if known is None:
            raise Conflict(f"{path} is there and is no worktree of {git.folder}; move it away, or use another branch")
        return path, False
    _refuse_nested(path, trees)
    if known is not None:
        git.run("worktree", "remove", "--force", "--force", known.path)
    _leave_out(git, root)
    git.run("worktree", "add", *_beginning(git, path, branch, base))
    return path, True


def _refuse_nested(path: str, trees: tuple[Tree, ...]) -> None:
    for tree in trees[1:]:
        if Path(tree.path).resolve() in Path(path).resolve().parents:
            raise Conflict(f"{path} would lie inside the worktree {tree.path}; use another branch")


def _beginning(git: Git, path: str, branch: str, base: str) -> tuple[str, ...]:
    """What `git worktree add` is told."""
    if _is_there(git, f"refs/heads/{branch}"):
        return (path, branch)
    if _is_there(git, f"refs/remotes/origin/{branch}"):
        return ("--track", "-b", branch, path, f"origin/{branch}")
    if base:
        if not _is_there(git, base):
            raise InvalidValue("worktree_base", base, f"a branch or commit of {git.folder}")
        return ("--no-track", "-b", branch, path, base)
    for each in BASES:
        if _is_there(git, each):
            return ("--no-track", "-b", branch, path, each)
    raise GitRefused(git.folder, "worktree add", "there is no commit yet that a branch could begin at")


def _is_there(git: Git, name: str) -> bool:
    return git.ask("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}").code == 0


def _leave_out(git: Git, root: str) -> None:
    """Worktrees that lie in the main checkout are no business of its `git status`: git is told so, not the project."""
    top = Path(git.folder).resolve()
    inner = Path(root).resolve()
    if not inner.is_relative_to(top) or inner == top or git.ask("check-ignore", "-q", f"{root}/x").code == 0:
        return
    exclude = Path(git.folder, git.run("rev-parse", "--git-path", "info/exclude").strip())
    exclude.parent.mkdir(parents=True, exist_ok=True)
    before = exclude.read_text(encoding="utf-8") if exclude.exists() else ""
    gap = "" if not before or before.endswith("\n") else "\n"
    exclude.write_text(f"{before}{gap}/{inner.relative_to(top).as_posix()}/\n", encoding="utf-8")


def look_at_work(git: Git, base: str) -> Work:
    """What this worktree has that nothing else has. `base` is the head of the main checkout."""
    changed = git.run("status", "--porcelain", "-z", "--untracked-files=all")
    against = ("--not", "--remotes", *((base,) if base.strip("0") else ()))
    commits = git.line("rev-list", "--count", "HEAD", *against)
    return Work(uncommitted=sum(1 for line in changed.split("\0") if line), unpushed=int(commits or 0))


def remove_tree(git: Git, tree: Tree, *, force: bool) -> None:
    """Remove the worktree, never its branch. Without force git itself refuses one with changes, or a lock."""
    git.run("worktree", "remove", *(("--force", "--force") if force else ()), tree.path)


def last_touched(git: Git) -> float:
    """When something last happened in the worktree, as far as git and its folder tell."""
    names = git.run("rev-parse", "--git-path", "index", "--git-path", "logs/HEAD", "--git-path", "HEAD").splitlines()
    found = [git.folder, *(os.path.join(git.folder, name) for name in names)]  # noqa: PTH118
    times = []
    for each in found:
        with suppress(OSError):
            times.append(Path(each).stat().st_mtime)
    return max(times, default=0.0)


def disk_use(folder: str) -> int:
    """How many bytes the folder takes on the disk; a file with several names counts once."""
    seen: set[tuple[int, int]] = set()
    waiting, total = [folder], 0
    while waiting:
        with suppress(OSError), os.scandir(waiting.pop()) as entries:
            for entry in entries:
                with suppress(OSError):
                    found = entry.stat(follow_symlinks=False)
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                    elif found.st_nlink > 1:
                        if (found.st_dev, found.st_ino) in seen:
                            continue
                        seen.add((found.st_dev, found.st_ino))
                    total += found.st_blocks * BLOCK
    return total


def processes_in(folders: tuple[str, ...]) -> dict[str, int]:
    """Which of the folders a process works in, and its number; one that may not be looked at is not seen."""
    found: dict[str, int] = {}
    real = {str(Path(folder).resolve()): folder for folder in folders}
    for entry in Path("/proc").glob("[0-9]*/cwd"):
        with suppress(OSError):
            place = entry.readlink()
            for path, folder in real.items():
                if place.is_relative_to(path):
                    found.setdefault(folder, int(entry.parent.name))
    return found
