"""Projects and their worktrees: where a session works, what is stale, and what is never removed."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

import pytest

from footplate.config.settings import load_settings
from footplate.engines.commands import with_agents
from footplate.errors import Conflict, InvalidValue, UnknownEngine, UnknownProject, WorktreeInUse
from footplate.events.ids import SessionId
from footplate.events.model import SessionState
from footplate.host.git import Git
from footplate.runtime.projects import Context, NewProject, Projects
from footplate.runtime.worktrees import Worktrees
from footplate.store.projection import SessionRow
from tests.unit.repositories import closed, commit, make_repository, there, write


@pytest.fixture
def git(tmp_path: Path) -> Git:
    return make_repository(tmp_path / "shop", closed(tmp_path))


@pytest.fixture
def projects(tmp_path: Path, git: Git) -> Projects:
    """The project `shop`, with an engine of its own."""
    environ = closed(tmp_path)
    found = Projects(load_settings(environ), environ)
    found.add(NewProject(alias="shop", path=git.folder, default_engine="mock", default=True))
    return found


def _row(cwd: str, state: SessionState = "idle", *, session: str = "S1", ago_s: float = 0.0) -> SessionRow:
    return SessionRow(session=SessionId(session), cwd=cwd, state=state, updated_at=time.time() - ago_s)


def _age(path: str, git: Git, days: float) -> None:
    """Have the worktree look as if it was used so long ago."""
    then = time.time() - days * 86_400
    names = git.at(path).run("rev-parse", "--git-path", "index", "--git-path", "logs/HEAD", "--git-path", "HEAD")
    for each in (path, *names.splitlines()):
        os.utime(each, (then, then))


def test_a_project_is_written_once_and_kept_apart_by_name(tmp_path: Path, projects: Projects, git: Git) -> None:
    inner = tmp_path / "shop" / "src"
    inner.mkdir()
    again = projects.add(NewProject(alias="shop", path=str(inner), worktree_base="main"))
    assert (again.path, again.worktree_base, again.default_engine, again.default) == (git.folder, "main", "", True)
    (tmp_path / "plain").mkdir()
    assert projects.add(NewProject(alias="plain", path="~/plain")).path == str(tmp_path / "plain")
    assert [each.alias for each in projects.list()] == ["plain", "shop"]
    with pytest.raises(Conflict, match="the project 'shop' is "):
        projects.add(NewProject(alias="shop", path=str(tmp_path / "plain")))
    projects.remove("shop")
    assert [(each.alias, each.default) for each in projects.list()] == [("plain", False)]
    with pytest.raises(UnknownProject, match="unknown project 'shop'; known projects: plain"):
        projects.remove("shop")


def test_a_project_that_cannot_be_is_told(tmp_path: Path, projects: Projects) -> None:
    with pytest.raises(InvalidValue, match="is a word of"):
        projects.add(NewProject(alias="claude", path=str(tmp_path)))
    with pytest.raises(InvalidValue, match="an absolute folder that exists"):
        projects.add(NewProject(alias="other", path=str(tmp_path / "nowhere")))
    with pytest.raises(UnknownEngine):
        projects.add(NewProject(alias="other", path=str(tmp_path), default_engine="nobody"))


def test_a_project_may_be_of_an_agent_of_the_catalog_also_after_the_settings_were_read_again(
    tmp_path: Path, git: Git
) -> None:
    environ = closed(tmp_path)
    projects = Projects(with_agents(load_settings(environ), environ), environ)
    for alias in ("first", "second"):
        made = projects.add(NewProject(alias=alias, path=git.folder, default_engine="copilot"))
        assert made.default_engine == "copilot"
        with pytest.raises(InvalidValue, match="is a word of"):
            projects.add(NewProject(alias="copilot", path=git.folder))


async def test_a_session_works_in_the_checkout_or_in_the_worktree_of_its_branch(projects: Projects, git: Git) -> None:
    here = await projects.place("SHOP")
    assert (here.cwd, here.engine, here.made) == (git.folder, "mock", False)
    both = await asyncio.gather(projects.place("", "topic"), projects.place("shop", "topic"))
    assert {each.cwd for each in both} == {f"{git.folder}/.worktrees/topic"}
    assert sorted(each.made for each in both) == [False, True], "two at once make one worktree"
    assert projects.context(both[0].cwd) == Context(project="shop", branch="topic")
    assert projects.context(f"{git.folder}/src") == Context(project="shop")
    assert projects.context("/elsewhere") == Context()
    with pytest.raises(UnknownProject):
        await projects.place("nobody")


async def test_a_worktree_is_kept_as_long_as_something_needs_it(projects: Projects, git: Git) -> None:
    path = (await projects.place("shop", "topic")).cwd
    worktrees = Worktrees(projects)

    async def kept(*rows: SessionRow, days: float = 7.0) -> tuple[str, ...]:
        (tree,) = await worktrees.list(rows, days=days)
        return tree.kept

    assert await kept() == ("used now",)
    assert await kept(_row(path, "closed")) == (), "its session is over"
    assert await kept(_row(f"{path}/src", "running")) == ("session S1 is running",)
    assert await kept(_row(path, "waiting"), days=0.0) == ("session S1 is waiting",)
    _age(path, git, 30)
    assert await kept() == ()
    assert (await kept(_row(path, "idle", ago_s=86_400)))[0] == "used 1d ago"
    git.run("worktree", "lock", "--reason", "on a stick", path)
    assert await kept() == ("locked: on a stick",)
    git.run("worktree", "unlock", path)
    commit(git.at(path), "work", "x")
    write(path, "new")
    assert await kept(days=0.0) == ("1 uncommitted file", "1 unpushed commit")
    with pytest.raises(WorktreeInUse, match="1 uncommitted file; 1 unpushed commit; --force"):
        await worktrees.remove((), "shop", "topic")
    assert (await worktrees.remove((), "shop", "topic", force=True)).branch == "topic"
    assert not there(path)
    assert git.line("rev-parse", "topic"), "the branch stays"


async def test_a_process_in_a_worktree_keeps_it(projects: Projects) -> None:
    path = (await projects.place("shop", "topic")).cwd
    child = await asyncio.create_subprocess_exec("cat", cwd=path, stdin=asyncio.subprocess.PIPE)
    try:
        (tree,) = await Worktrees(projects).list([_row(path, "closed")])
        assert tree.kept == (f"process {child.pid} works in it",)
    finally:
        assert child.stdin is not None
        child.stdin.close()
        await child.wait()


async def test_only_stale_worktrees_are_collected_with_what_they_took(projects: Projects, git: Git) -> None:
    stale, busy = (await projects.place("shop", "stale")).cwd, (await projects.place("shop", "busy")).cwd
    rows = [_row(stale, "closed", session="S1"), _row(busy, "running", session="S2")]
    worktrees = Worktrees(projects)
    would = await worktrees.collect(rows, dry_run=True)
    assert ([each.path for each in would.removed], there(stale)) == ([stale], True)
    done = await worktrees.collect(rows)
    assert ([each.path for each in done.removed], [each.path for each in done.kept]) == ([stale], [busy])
    assert done.freed == would.freed > 0
    assert (there(stale), there(busy)) == (False, True)
    forced = await worktrees.collect(rows, force=True)
    assert [each.path for each in forced.removed] == [busy]
    assert len(git.run("worktree", "list").splitlines()) == 1
