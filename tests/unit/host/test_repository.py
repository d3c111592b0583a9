"""A checkout on real git: status, diffs, staging, commits, branches, and what changed since a moment."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from footplate.errors import GitRefused, InvalidValue
from footplate.host.git import Git
from footplate.host.git_output import FileDiff, FileState, read_numbers, read_status
from footplate.host.repository import EMPTY_TREE, Repository
from tests.unit.repositories import closed, commit, make_clone, make_repository


@pytest.fixture
def git(tmp_path: Path) -> Git:
    return make_repository(tmp_path / "repo", closed(tmp_path))


@pytest.fixture
def repository(git: Git) -> Repository:
    return Repository(git.folder, git.environ)


def _write(git: Git, **files: str) -> None:
    for name, text in files.items():
        Path(git.folder, name).write_text(text)


def test_status_is_read_with_renames_conflicts_and_odd_names() -> None:
    text = (
        "# branch.oid abc\0# branch.head main\0# branch.upstream origin/main\0# branch.ab +2 -1\0"
        "1 .M N... 100644 100644 100644 a b src/a b.py\0"
        "2 R. N... 100644 100644 100644 a b R100 new name\0old name\0"
        "u UU N... 1 2 3 4 a b c both\0? new\nline\0"
    )
    status = read_status(text, "/r")
    assert (status.branch, status.upstream, status.ahead, status.behind) == ("main", "origin/main", 2, 1)
    assert status.files == (
        FileState(path="src/a b.py", kind="changed", worktree="M"),
        FileState(path="new name", kind="renamed", index="R", old_path="old name"),
        FileState(path="both", kind="conflict", index="U", worktree="U"),
        FileState(path="new\nline", kind="untracked", index="?", worktree="?"),
    )
    numbers = read_numbers("1\t2\ta\0-\t-\tpicture\0" + "0\t0\t\0old\0new\0")
    assert numbers == (
        FileDiff(path="a", added=1, removed=2),
        FileDiff(path="picture"),
        FileDiff(path="new", added=0, removed=0, old_path="old"),
    )


def test_a_change_is_seen_staged_taken_back_and_committed(git: Git, repository: Repository) -> None:
    _write(git, README="hello\nthere\n", new="one\ntwo\n", **{"*.txt": "a star"})
    status = repository.status()
    assert {(each.path, each.kind) for each in status.files} == {
        ("README", "changed"),
        ("new", "untracked"),
        ("*.txt", "untracked"),
    }
    diff = repository.diff()
    assert diff.files[0] == FileDiff(path="README", added=1, removed=0)
    assert FileDiff(path="new", added=2, removed=0) in diff.files
    assert "+there" in diff.text
    assert "+two" in diff.text
    assert repository.diff(["new"]).files == (FileDiff(path="new", added=2, removed=0),)
    staged = repository.stage(["*.txt", "README"])
    assert {each.path for each in staged.files if each.staged} == {"*.txt", "README"}, "a name is no glob"
    assert "+there" in repository.diff(staged=True).text
    back = repository.unstage(["README"])
    assert {each.path for each in back.files if each.staged} == {"*.txt"}
    made = repository.commit("a star\n\n# kept: no editor was there\n")
    assert (made.subject, made.author, len(made.parents)) == ("a star", "A Tester", 1)
    assert "# kept" in made.body
    everything = repository.commit("the rest", everything=True)
    assert repository.status().files == ()
    assert [each.id for each in repository.log(limit=2)] == [everything.id, made.id]
    assert [each.subject for each in repository.log(files=["*.txt"])] == ["a star"]
    assert "+there" in repository.diff(commit="HEAD").text
    amended = repository.commit("the rest, better", amend=True)
    assert amended.parents == (made.id,)


def test_before_the_first_commit(tmp_path: Path) -> None:
    folder = tmp_path / "empty"
    folder.mkdir()
    git = Git(str(folder), closed(tmp_path))
    git.run("init", "-q", "-b", "main")
    repository = Repository(str(folder), git.environ)
    _write(git, a="x\n")
    assert (repository.status().head, repository.status().branch, repository.log()) == ("", "main", ())
    assert repository.stage(["a"]).files[0].staged
    assert not repository.unstage(["a"]).files[0].staged
    assert repository.since(time.time())[0] == EMPTY_TREE
    first = repository.commit("first", everything=True)
    assert first.parents == ()
    assert repository.diff(commit=first.id).files == (FileDiff(path="a", added=1, removed=0),)


def test_what_changed_since_a_moment_is_told_whether_it_was_committed_or_not(git: Git, repository: Repository) -> None:
    before = git.line("rev-parse", "HEAD")
    git.run("reflog", "expire", "--expire=all", "--all")
    then = int(time.time())
    environ = {**git.environ, "GIT_COMMITTER_DATE": f"{then + 100} +0000"}
    Path(git.folder, ".git", "logs", "HEAD").write_text(f"{'0' * 40} {before} A <a> {then - 100} +0000\tcommit\n")
    commit(Git(git.folder, environ), "sub/committed", "x\n")
    _write(git, README="changed\n", new="x\n")
    stood, diff = repository.since(then)
    assert (stood, {each.path for each in diff.files}) == (before, {"sub/committed", "README", "new"})
    assert [each.path for each in repository.since(then, below="sub")[1].files] == ["sub/committed"]


def test_branches_are_listed_with_their_upstreams(tmp_path: Path, git: Git) -> None:
    git.run("branch", "other")
    clone = make_clone(git, tmp_path / "clone")
    commit(clone, "mine", "x")
    branches = {each.name: each for each in Repository(clone.folder, clone.environ).branches()}
    assert set(branches) == {"main", "origin/main", "origin/other"}
    main = branches["main"]
    assert (main.current, main.upstream, main.ahead, main.worktree) == (True, "origin/main", 1, clone.folder)
    assert (branches["origin/other"].remote, main.subject) == (True, "write mine")


def test_a_file_that_is_not_text_and_a_link_are_shown_as_such(git: Git, repository: Repository, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "key").write_text("do not show")
    Path(git.folder, "binary").write_bytes(b"\0\1\2")
    Path(git.folder, "link").symlink_to(secret)
    diff = repository.diff()
    assert FileDiff(path="binary") in diff.files
    assert "do not show" not in diff.text
    assert repository.diff(["link/key"]).files == (), "git goes through no link"


@pytest.mark.parametrize("name", ["../x", "/etc/passwd", "", "a/../../b", "a\0b"])
def test_a_name_outside_is_refused(repository: Repository, name: str) -> None:
    with pytest.raises(InvalidValue, match="files"):
        repository.stage([name])


def test_what_cannot_be_done_is_told_in_the_words_of_git(tmp_path: Path, git: Git, repository: Repository) -> None:
    with pytest.raises(GitRefused, match="nothing to commit"):
        repository.commit("nothing")
    with pytest.raises(InvalidValue, match="a commit, a branch or a tag"):
        repository.log(ref="--output=x")
    with pytest.raises(GitRefused, match="not a git repository"):
        Repository(str(tmp_path), git.environ)
    hook = Path(git.folder, ".git", "hooks", "pre-commit")
    hook.write_text("#!/bin/sh\necho 'the linter says no' >&2\nexit 1\n")
    hook.chmod(0o755)
    _write(git, a="x")
    with pytest.raises(GitRefused, match=r"git commit in .*the linter says no"):
        repository.commit("a", everything=True)


def test_a_large_diff_is_cut(git: Git, repository: Repository) -> None:
    _write(git, README="x\n" * 5000)
    diff = repository.diff(limit=1000)
    assert (len(diff.text), diff.cut, diff.files[0].added) == (1000, True, 5000)
