"""Worktrees on real repositories: where a branch is made from, which names are refused, what would be lost."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from footplate.errors import Conflict, GitRefused, InvalidValue
from footplate.host.git import Git
from footplate.host.worktrees import Tree, disk_use, list_trees, look_at_work, make_tree, processes_in, remove_tree
from tests.unit.repositories import closed, commit, make_clone, make_repository


@pytest.fixture
def git(tmp_path: Path) -> Git:
    return make_repository(tmp_path / "repo", closed(tmp_path))


@pytest.fixture
def root(git: Git) -> str:
    return f"{git.folder}/.worktrees"


def test_the_current_branch_is_the_main_checkout(git: Git, root: str) -> None:
    assert make_tree(git, root, "main") == (git.folder, False)
    assert not Path(root).exists()


def test_a_local_branch_is_taken_as_it_is(git: Git, root: str) -> None:
    git.run("branch", "feature/login")
    before = git.line("rev-parse", "feature/login")
    commit(git, "later", "x")
    assert make_tree(git, root, "feature/login") == (f"{root}/feature/login", True)
    tree = git.at(f"{root}/feature/login")
    assert (tree.line("rev-parse", "HEAD"), tree.line("symbolic-ref", "--short", "HEAD")) == (before, "feature/login")
    assert make_tree(git, root, "feature/login") == (f"{root}/feature/login", False)
    assert git.run("status", "--porcelain") == "", "worktrees are no business of the main checkout"


def test_a_branch_of_origin_is_taken_and_followed(tmp_path: Path, git: Git) -> None:
    git.run("switch", "-q", "-c", "theirs")
    commit(git, "theirs", "x")
    theirs = git.line("rev-parse", "HEAD")
    git.run("switch", "-q", "main")
    clone = make_clone(git, tmp_path / "clone")
    path, made = make_tree(clone, str(tmp_path / "trees"), "theirs")
    tree = clone.at(path)
    assert (made, tree.line("rev-parse", "HEAD")) == (True, theirs)
    assert tree.line("rev-parse", "--abbrev-ref", "theirs@{upstream}") == "origin/theirs"


def test_a_new_branch_begins_at_the_base_else_at_origins_default(tmp_path: Path, git: Git) -> None:
    git.run("branch", "stable")
    commit(git, "more", "x")
    clone = make_clone(git, tmp_path / "clone")
    commit(clone, "only here", "x")
    trees = str(tmp_path / "trees")
    origins = clone.at(make_tree(clone, trees, "one")[0])
    assert origins.line("rev-parse", "HEAD") == git.line("rev-parse", "main")
    based = clone.at(make_tree(clone, trees, "two", "origin/stable")[0])
    assert based.line("rev-parse", "HEAD") == git.line("rev-parse", "stable")
    with pytest.raises(InvalidValue, match="worktree_base: 'nowhere' cannot be used"):
        make_tree(clone, trees, "three", "nowhere")


def test_without_an_origin_a_new_branch_begins_at_the_current_one(git: Git, root: str) -> None:
    git.run("switch", "-q", "-c", "topic")
    commit(git, "topic", "x")
    tree = git.at(make_tree(git, root, "new")[0])
    assert tree.line("rev-parse", "HEAD") == git.line("rev-parse", "topic")


@pytest.mark.parametrize("branch", ["", "/etc", "../out", "a/../../b", "-f", "a b", "a..b", "x.lock", "a\0b", ".git/x"])
def test_a_name_that_is_not_safe_is_refused(git: Git, root: str, branch: str) -> None:
    with pytest.raises(InvalidValue, match="branch"):
        make_tree(git, root, branch)
    assert not Path(root).exists()


def test_a_link_does_not_lead_outside(tmp_path: Path, git: Git, root: str) -> None:
    Path(root).mkdir()
    (tmp_path / "elsewhere").mkdir()
    Path(root, "out").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InvalidValue, match="a link there leads elsewhere"):
        make_tree(git, root, "out/x")


def test_what_lies_in_the_way_is_left_alone(git: Git, root: str) -> None:
    Path(root, "topic").mkdir(parents=True)
    Path(root, "topic", "mine").write_text("keep")
    with pytest.raises(Conflict, match="is no worktree of"):
        make_tree(git, root, "topic")
    assert Path(root, "topic", "mine").read_text() == "keep"


def test_a_worktree_is_not_made_inside_another(git: Git, root: str) -> None:
    make_tree(git, root, "a")
    git.at(f"{root}/a").run("branch", "-m", "renamed")
    with pytest.raises(Conflict, match="would lie inside the worktree"):
        make_tree(git, root, "a/b")


def test_a_worktree_whose_folder_was_removed_by_hand_is_made_again(git: Git, root: str) -> None:
    path, _ = make_tree(git, root, "gone")
    subprocess.run(["rm", "-r", path], check=True)
    assert make_tree(git, root, "gone") == (path, True)
    assert Path(path, "README").read_text() == "hello\n"


def test_a_repository_without_a_commit_is_told(tmp_path: Path) -> None:
    folder = tmp_path / "empty"
    folder.mkdir()
    git = Git(str(folder), closed(tmp_path))
    git.run("init", "-q", "-b", "main")
    with pytest.raises(GitRefused, match="no commit yet"):
        make_tree(git, f"{folder}/.worktrees", "topic")
    with pytest.raises(GitRefused, match="not a git repository"):
        list_trees(git.at(str(tmp_path)))


def test_what_is_nowhere_else_is_counted(tmp_path: Path, git: Git) -> None:
    clone = make_clone(git, tmp_path / "clone")
    tree = clone.at(make_tree(clone, str(tmp_path / "trees"), "topic")[0])
    base = clone.line("rev-parse", "HEAD")
    assert (look_at_work(tree, base).uncommitted, look_at_work(tree, base).unpushed) == (0, 0)
    Path(tree.folder, "new").write_text("x")
    Path(tree.folder, "README").write_text("changed\n")
    assert look_at_work(tree, base).uncommitted == 2
    tree.run("add", "-A")
    tree.run("commit", "-q", "-m", "work")
    assert (look_at_work(tree, base).uncommitted, look_at_work(tree, base).unpushed) == (0, 1)
    tree.run("push", "-q", "origin", "topic")
    assert look_at_work(tree, base).unpushed == 0


def test_git_itself_keeps_a_worktree_with_changes(git: Git, root: str) -> None:
    path, _ = make_tree(git, root, "topic")
    Path(path, "new").write_text("x")
    tree = Tree(path=path)
    with pytest.raises(GitRefused, match="contains modified or untracked files"):
        remove_tree(git, tree, force=False)
    remove_tree(git, tree, force=True)
    assert not Path(path).exists()
    assert git.line("rev-parse", "--verify", "topic"), "the branch stays"


def test_the_environment_of_the_caller_does_not_move_git(tmp_path: Path, git: Git) -> None:
    other = make_repository(tmp_path / "other", closed(tmp_path))
    moved = Git(other.folder, {**git.environ, "GIT_DIR": f"{git.folder}/.git"})
    assert moved.line("rev-parse", "--absolute-git-dir") == f"{other.folder}/.git"


def test_output_is_bounded(git: Git) -> None:
    commit(git, "big", "x" * 200_000)
    said = git.ask("show", "HEAD", limit=1000)
    assert (len(said.output), said.cut) == (1000, True)


def test_sizes_count_a_file_with_two_names_once(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "one").write_bytes(b"x" * 100_000)
    once = disk_use(str(tmp_path))
    (tmp_path / "two").hardlink_to(tmp_path / "a" / "one")
    assert once >= 100_000
    assert disk_use(str(tmp_path)) == once


def test_a_process_is_seen_in_its_folder(tmp_path: Path) -> None:
    inner = tmp_path / "a" / "deep"
    inner.mkdir(parents=True)
    with subprocess.Popen(["cat"], cwd=inner, stdin=subprocess.PIPE) as child:
        found = processes_in((str(tmp_path / "a"), str(tmp_path / "b")))
    assert found == {str(tmp_path / "a"): child.pid}
