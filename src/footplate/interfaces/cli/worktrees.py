"""`footplate worktrees`: what the branches of projects take on the disk, and the removal of those nobody needs."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from typing import TypeVar

import click
import msgspec

from footplate.config.places import data_folder
from footplate.errors import LockHeld
from footplate.events.ids import SessionId
from footplate.events.model import SessionState
from footplate.events.wording import format_count, format_size
from footplate.interfaces.cli.client import SOCKET_NAME as LOCAL_SOCKET
from footplate.interfaces.cli.client import answers, open_client
from footplate.interfaces.cli.failing import guarded_run
from footplate.interfaces.cli.projects import as_json_option, open_projects
from footplate.interfaces.cli.tables import render_table
from footplate.runtime.link import SOCKET_NAME
from footplate.runtime.link_client import LinkBackend
from footplate.runtime.worktrees import OLD_DAYS, Collected, Worktree, Worktrees, all_rows
from footplate.store.projection import SessionRow
from footplate.store.sqlite import SqliteStore

T = TypeVar("T")
project_option = click.option("--project", default="", metavar="P", help="Only those of this project.")
days_option = click.option(
    "--days",
    type=click.FloatRange(min=0),
    default=OLD_DAYS,
    show_default=True,
    metavar="N",
    help="Stale is what was not used for N days; where all sessions are closed, at once.",
)


async def _session_rows() -> tuple[SessionRow, ...]:
    """The sessions of the data folder, from the store or from the service that has it."""
    data = data_folder(os.environ)
    if not (data / "store").exists():
        return ()
    try:
        async with await SqliteStore.open(data / "store") as store:
            return tuple([row async for row in all_rows(store)])
    except LockHeld:
        if await answers(data / LOCAL_SOCKET):
            return await _rows_of_service()
        async with LinkBackend.open(data / SOCKET_NAME) as backend:
            return await backend.sessions()


class _Row(msgspec.Struct, frozen=True, kw_only=True):
    """A session as the API lists it, as far as a worktree can be of interest to it."""

    id: SessionId
    state: SessionState
    cwd: str
    updated_at: float
    attached: bool
    open_requests: int


class _Rows(msgspec.Struct, frozen=True, kw_only=True):
    sessions: tuple[_Row, ...]
    after: str | None = None


async def _rows_of_service() -> tuple[SessionRow, ...]:
    """Every session of the service that runs here."""
    found: list[SessionRow] = []
    async with open_client() as client:
        for archived in ("0", "1"):
            after: str | None = ""
            while after is not None:
                query = {"after": after, "limit": 500, "archived": archived}
                page = await client.get("/api/sessions", _Rows, query)
                after = page.after
                found += [
                    SessionRow(
                        session=each.id,
                        state=each.state,
                        cwd=each.cwd,
                        updated_at=each.updated_at,
                        attached=each.attached,
                        open_requests=each.open_requests,
                    )
                    for each in page.sessions
                ]
    return tuple(found)


def _with_worktrees(work: Callable[[Worktrees, tuple[SessionRow, ...]], Awaitable[T]]) -> T:
    async def go() -> T:
        return await work(Worktrees(open_projects()), await _session_rows())

    return guarded_run(go)


@click.group("worktrees", short_help="The branches of projects on the disk: list, remove, collect.")
def worktrees_group() -> None:
    """Worktrees that Footplate made for branches of projects.

    \b
    Examples:
      footplate worktrees list
      footplate worktrees gc --dry-run
    """


@worktrees_group.command("list")
@project_option
@days_option
@as_json_option
def list_command(project: str, days: float, as_json: bool) -> None:
    """List them with their size and why each is kept; those without a reason are stale.

    \b
    Example:
      footplate worktrees list --project shop
    """
    found = _with_worktrees(lambda worktrees, rows: worktrees.list(rows, project=project, days=days))
    for tree in found if as_json else ():
        click.echo(msgspec.json.encode(tree))
    if found and not as_json:
        click.echo(render_table(("BRANCH", "SIZE", "KEPT FOR"), [_row(tree) for tree in found]))
    if not as_json:
        total = sum(tree.size or 0 for tree in found)
        stale = sum(tree.size or 0 for tree in found if tree.stale)
        click.echo(
            f"{format_count(len(found), 'worktree')}, {format_size(total)}; stale {format_size(stale)}", err=True
        )


def _row(tree: Worktree) -> tuple[str, str, str]:
    where = f"{tree.project} @{tree.branch or tree.head[:8]}"
    return where, format_size(tree.size or 0), "; ".join(tree.kept) or "stale"


@worktrees_group.command("remove")
@click.argument("project")
@click.argument("branch")
@click.option("--force", is_flag=True, help="Also when work in it would be lost.")
@as_json_option
def remove_command(project: str, branch: str, force: bool, as_json: bool) -> None:
    """Remove the worktree of BRANCH of PROJECT. The branch itself stays.

    \b
    Example:
      footplate worktrees remove shop fix/login
    """
    tree = _with_worktrees(lambda worktrees, rows: worktrees.remove(rows, project, branch, force=force))
    click.echo(msgspec.json.encode(tree) if as_json else f"removed {tree.path}, {format_size(tree.size or 0)}")


@worktrees_group.command("gc")
@project_option
@days_option
@click.option("--dry-run", is_flag=True, help="Say what would be removed, and remove nothing.")
@click.option("--force", is_flag=True, help="Remove all of them, whatever they hold.")
@as_json_option
def gc_command(project: str, days: float, dry_run: bool, force: bool, as_json: bool) -> None:
    """Remove stale worktrees and say how much that gives back; their branches stay.

    Never one with uncommitted or unpushed work, in which a session or a process is at work, or that is
    locked, unless --force. Exit code 1 when git refused one.

    \b
    Example:
      footplate worktrees gc --days 14 --dry-run
    """
    collected = _with_worktrees(
        lambda worktrees, rows: worktrees.collect(rows, project=project, days=days, force=force, dry_run=dry_run)
    )
    if as_json:
        click.echo(msgspec.json.encode(collected))
    else:
        _tell(collected, dry_run=dry_run)
    if collected.failed:
        raise SystemExit(1)


def _tell(collected: Collected, *, dry_run: bool) -> None:
    for tree in collected.removed:
        click.echo(f"{'would remove' if dry_run else 'removed'}  {format_size(tree.size or 0):>8}  {tree.path}")
    for tree in collected.kept:
        click.echo(f"kept  {format_size(tree.size or 0):>8}  {tree.path}: {'; '.join(tree.kept) or 'git refused'}")
    for line in collected.failed:
        click.echo(line, err=True)
    verb = "would give back" if dry_run else "gave back"
    every = len(collected.removed) + len(collected.kept)
    click.echo(f"{len(collected.removed)} of {every}, {verb} {format_size(collected.freed)}")
