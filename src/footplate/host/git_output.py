"""What git writes for programs, as values. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal

import msgspec

Kind = Literal["changed", "renamed", "untracked", "conflict"]
FIELD: Final = "\x1f"
RECORD: Final = "\x1e"
COMMIT_FORMAT: Final = FIELD.join(("%H", "%P", "%an", "%ae", "%at", "%D", "%s", "%b")) + RECORD
BRANCH_FORMAT: Final = "%00".join(
    (
        "%(refname)",
        "%(objectname)",
        "%(HEAD)",
        "%(upstream:short)",
        "%(upstream:track,nobracket)",
        "%(committerdate:unix)",
        "%(worktreepath)",
        "%(contents:subject)",
    )
)


class FileState(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One file that is not as in the last commit. `index` and `worktree` are git's letters; `.` is unchanged."""

    path: str
    kind: Kind
    index: str = "."
    worktree: str = "."
    old_path: str = ""

    @property
    def staged(self) -> bool:
        """Whether a commit would take something of it."""
        return self.kind in ("changed", "renamed") and self.index != "."


class Status(msgspec.Struct, frozen=True, kw_only=True):
    """Where a checkout stands. `branch` is empty on a detached head, `head` before the first commit."""

    root: str
    branch: str = ""
    head: str = ""
    upstream: str = ""
    ahead: int = 0
    behind: int = 0
    files: tuple[FileState, ...] = ()


class FileDiff(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How much of a file changed; no numbers for one that is not text."""

    path: str
    added: int | None = None
    removed: int | None = None
    old_path: str = ""


class Commit(msgspec.Struct, frozen=True, kw_only=True):
    """One commit."""

    id: str
    parents: tuple[str, ...]
    author: str
    email: str
    time: int
    refs: tuple[str, ...]
    subject: str
    body: str = ""


class Branch(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One branch, of ours or of a remote. `worktree` is where it is checked out; `gone`: its upstream is not there."""

    name: str
    head: str
    remote: bool = False
    current: bool = False
    upstream: str = ""
    ahead: int = 0
    behind: int = 0
    gone: bool = False
    time: int = 0
    worktree: str = ""
    subject: str = ""


def read_status(text: str, root: str) -> Status:
    """The output of `status --porcelain=v2 --branch -z`."""
    facts: dict[str, str] = {}
    files: list[FileState] = []
    entries = iter(text.split("\0"))
    for entry in entries:
        if entry.startswith("# branch."):
            name, _, value = entry.removeprefix("# branch.").partition(" ")
            facts[name] = value
        elif entry:
            files.append(_file(entry, entries))
    ahead, _, behind = facts.get("ab", "+0 -0").partition(" ")
    return Status(
        root=root,
        branch="" if facts.get("head") == "(detached)" else facts.get("head", ""),
        head="" if facts.get("oid") == "(initial)" else facts.get("oid", ""),
        upstream=facts.get("upstream", ""),
        ahead=int(ahead),
        behind=-int(behind),
        files=tuple(files),
    )


def _file(entry: str, rest: Iterator[str]) -> FileState:
    match entry[0]:
        case "1":
            _, letters, *_, path = entry.split(" ", 8)
            return FileState(path=path, kind="changed", index=letters[0], worktree=letters[1])
        case "2":
            _, letters, *_, path = entry.split(" ", 9)
            return FileState(path=path, kind="renamed", index=letters[0], worktree=letters[1], old_path=next(rest, ""))
        case "u":
            _, letters, *_, path = entry.split(" ", 10)
            return FileState(path=path, kind="conflict", index=letters[0], worktree=letters[1])
        case _:
            return FileState(path=entry[2:], kind="untracked", index="?", worktree="?")


def read_numbers(text: str) -> tuple[FileDiff, ...]:
    """The output of `diff --numstat -z`: a rename has an empty name and then both of its names."""
    found: list[FileDiff] = []
    entries = iter(text.split("\0"))
    for entry in entries:
        if not entry:
            continue
        added, removed, path = entry.split("\t", 2)
        old = ""
        if not path:
            old, path = next(entries, ""), next(entries, "")
        found.append(FileDiff(path=path, added=_count(added), removed=_count(removed), old_path=old))
    return tuple(found)


def _count(text: str) -> int | None:
    return int(text) if text.isdecimal() else None


def read_commits(text: str) -> tuple[Commit, ...]:
    """The output of `log --format=COMMIT_FORMAT`."""
    return tuple(_commit(record.lstrip("\n")) for record in text.split(RECORD) if record.strip())


def _commit(record: str) -> Commit:
    name, parents, author, email, when, refs, subject, body = record.split(FIELD, 7)
    return Commit(
        id=name,
        parents=tuple(parents.split()),
        author=author,
        email=email,
        time=int(when or 0),
        refs=tuple(each for each in refs.split(", ") if each),
        subject=subject,
        body=body.strip(),
    )


def read_branches(text: str) -> tuple[Branch, ...]:
    """The output of `for-each-ref --format=BRANCH_FORMAT`; the pointer to a remote's default branch is left out."""
    rows = [line.split("\0") for line in text.splitlines() if line]
    return tuple(_branch(*row) for row in rows if not row[0].endswith("/HEAD"))


def _branch(
    name: str, head: str, current: str, upstream: str, track: str, when: str, worktree: str, subject: str
) -> Branch:
    remote = name.startswith("refs/remotes/")
    numbers = dict(part.split(" ", 1) for part in track.split(", ") if " " in part)
    return Branch(
        name=name.removeprefix("refs/remotes/").removeprefix("refs/heads/"),
        head=head,
        remote=remote,
        current=current == "*",
        upstream=upstream,
        ahead=int(numbers.get("ahead", 0)),
        behind=int(numbers.get("behind", 0)),
        gone=track == "gone",
        time=int(when or 0),
        worktree=worktree,
        subject=subject,
    )
