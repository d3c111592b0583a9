"""Where an agent works: a folder, or a project and a branch of it; shared by the commands that start one."""

from __future__ import annotations

import asyncio
from typing import Final

import click

from footplate.interfaces.cli.projects import open_projects
from footplate.runtime.projects import Workplace

PLACE_OPTIONS: Final = (
    click.option("--project", default="", metavar="P", help="Work in this project, on its engine."),
    click.option("--branch", default="", metavar="B", help="With --project: in a worktree of this branch."),
)


def choose_place(project: str, branch: str, *, cwd: str, engine: str, resume: str) -> Workplace:
    """The folder and the engine that are meant; a worktree is made where there is none. Raises `FootplateError`."""
    if branch and not project:
        raise click.UsageError("--branch is of a project; name it with --project")
    if not project:
        return Workplace(cwd=cwd, engine=engine)
    if cwd:
        raise click.UsageError("--cwd and --project name two folders; give one of them")
    place = asyncio.run(open_projects().place(project, branch))
    if place.made:
        click.echo(f"worktree {place.cwd}", err=True)
    return Workplace(cwd=place.cwd, engine=engine or ("" if resume else place.engine))
