"""One checkout of a repository: what changed, what a commit would take, what was committed. Blocking.

Files are named as git names them, relative to the checkout's root, and mean themselves: no globs, nothing outside.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Final

import msgspec

from footplate.errors import GitRefused, InvalidValue

from .git import Git
from .git_output import (
    BRANCH_FORMAT,
    COMMIT_FORMAT,
    Branch,
    Commit,
    FileDiff,
    Status,
    read_branches,
    read_commits,
    read_numbers,
    read_status,
)

DIFF_LIMIT: Final = 2 * 1024 * 1024
PLAIN: Final = ("--no-ext-diff", "--no-textconv", "--no-color", "-M")
EMPTY_TREE: Final = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
NEW_FILES: Final = 200
"""How many files that git does not know yet are shown whole in one diff."""


class Diff(msgspec.Struct, frozen=True, kw_only=True):
    """A unified diff with a line for each file; `cut`: there was more than is shown."""

    files: tuple[FileDiff, ...]
    text: str
    cut: bool = False


class Repository:
    """A checkout, found from any folder in it."""

    def __init__(self, folder: str, environ: Mapping[str, str]) -> None:
        """Raises `GitRefused` where no checkout is."""
        root = Git(folder, environ).run("rev-parse", "--show-toplevel").rstrip("\n")
        if not root:
            raise GitRefused(folder, "rev-parse", "this is no checkout of a repository")
        self.root = root
        self._git = Git(root, environ)

    def status(self) -> Status:
        """Where it stands, with every file that is not as in the last commit."""
        text = self._git.run("status", "--porcelain=v2", "--branch", "-z", "--untracked-files=all")
        return read_status(text, self.root)

    def diff(
        self, files: Sequence[str] = (), *, staged: bool = False, commit: str = "", limit: int = DIFF_LIMIT
    ) -> Diff:
        """What is changed and not staged (new files whole); or what is staged; or what a commit brought."""
        if commit:
            name = self._commit(commit)
            return self._show((f"{name}^" if self._is_there(f"{name}^") else EMPTY_TREE, name), files, limit)
        if staged:
            return self._show(("--cached",), files, limit)
        return self._with_new(self._show((), files, limit), files, limit)

    def since(self, moment: float, *, below: str = "", limit: int = DIFF_LIMIT) -> tuple[str, Diff]:
        """What changed in the checkout since a moment, committed or not, and the commit that it stood at then."""
        stood = self._git.line("rev-parse", "--verify", "--quiet", f"HEAD@{{{int(moment)}}}^{{commit}}") or EMPTY_TREE
        files = (below,) if below not in ("", ".") else ()
        return stood, self._with_new(self._show((stood,), files, limit), files, limit)

    def stage(self, files: Sequence[str] = ()) -> Status:
        """Have the next commit take these files as they are now; without names, all of them."""
        self._git.run(*self._literally("add", "-A"), "--", *(self._names(files) or (".",)))
        return self.status()

    def unstage(self, files: Sequence[str] = ()) -> Status:
        """Have the next commit leave them as they were; the files themselves stay."""
        self._git.run(*self._literally("reset", "-q"), "--", *(self._names(files) or (".",)))
        return self.status()

    def commit(self, message: str, *, everything: bool = False, amend: bool = False) -> Commit:
        """Commit what is staged, or everything. The repository's hooks run."""
        if not message.strip():
            raise InvalidValue("message", message, "a few words")
        if everything:
            self.stage()
        extra = ("--amend",) if amend else ()
        self._git.run("commit", "-q", *extra, "-F", "-", given=message.encode())
        return self.log(limit=1)[0]

    def log(self, *, limit: int = 50, skip: int = 0, ref: str = "", files: Sequence[str] = ()) -> tuple[Commit, ...]:
        """Commits, the newest first; none before the first."""
        if not ref and not self._is_there("HEAD"):
            return ()
        start = self._commit(ref) if ref else "HEAD"
        names = self._names(files)
        args = self._literally("log", f"--format={COMMIT_FORMAT}", f"--max-count={limit}", f"--skip={skip}", start)
        return read_commits(self._git.run(*args, "--", *names))

    def branches(self) -> tuple[Branch, ...]:
        """The branches, ours and the remotes', those with the latest commits first."""
        order = ("--sort=-committerdate", f"--format={BRANCH_FORMAT}")
        return read_branches(self._git.run("for-each-ref", *order, "refs/heads", "refs/remotes"))

    # --------------------------------------------------------------------------------------------- inside

    def _show(self, what: tuple[str, ...], files: Sequence[str], limit: int) -> Diff:
        names = self._names(files)
        numbers = read_numbers(self._git.run(*self._literally("diff", "--numstat", "-z", *PLAIN, *what), "--", *names))
        said = self._git.ask(*self._literally("diff", *PLAIN, *what), "--", *names, limit=limit)
        if said.code != 0:
            raise GitRefused(self.root, "diff", said.words)
        return Diff(files=numbers, text=said.text, cut=said.cut)

    def _with_new(self, diff: Diff, files: Sequence[str], limit: int) -> Diff:
        """The diff and the files that git does not know yet, each as if it were added."""
        listed = self._git.run(
            *self._literally("ls-files", "--others", "--exclude-standard", "-z"), "--", *self._names(files)
        )
        new = [name for name in listed.split("\0") if name]
        found, text, cut = list(diff.files), diff.text, diff.cut or len(new) > NEW_FILES
        for name in new[:NEW_FILES]:
            room = limit - len(text)
            said = self._git.ask("diff", "--no-index", *PLAIN, "--", "/dev/null", f"./{name}", limit=max(room, 1))
            found.append(_count_new(name, said.text))
            text, cut = text + (said.text if room > 0 else ""), cut or said.cut
        return Diff(files=tuple(found), text=text, cut=cut)

    def _commit(self, name: str) -> str:
        """The full name of a commit, by whatever git takes for one."""
        found = self._git.line("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
        if not found or "\0" in name:
            raise InvalidValue("commit", name, f"a commit, a branch or a tag of {self.root}")
        return found

    def _is_there(self, name: str) -> bool:
        return bool(self._git.line("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}"))

    def _literally(self, *args: str) -> tuple[str, ...]:
        """A call whose pathspecs are plain names."""
        return ("--literal-pathspecs", *args)

    def _names(self, files: Sequence[str]) -> tuple[str, ...]:
        for name in files:
            path = PurePosixPath(name)
            if not name or path.is_absolute() or ".." in path.parts or "\0" in name:
                raise InvalidValue("files", name, f"a path relative to {self.root}, without ..")
        return tuple(files)


def _count_new(name: str, text: str) -> FileDiff:
    """How many lines a new file has, from its diff."""
    if "\nBinary files " in text:
        return FileDiff(path=name)
    body = text.partition("\n@@")[2]
    return FileDiff(path=name, added=sum(1 for line in body.splitlines() if line.startswith("+")), removed=0)
