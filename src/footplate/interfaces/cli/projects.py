"""`footplate init` and `footplate projects`: repositories by a short name."""

from __future__ import annotations

import os
from pathlib import Path

import click
import msgspec

from footplate.config.settings import load_settings
from footplate.interfaces.cli.failing import guarded
from footplate.interfaces.cli.tables import render_table
from footplate.runtime.projects import NewProject, Project, Projects

as_json_option = click.option("--json", "as_json", is_flag=True, help="JSON, one object per line.")


def open_projects() -> Projects:
    """The projects of the settings file of this environment."""
    environ = dict(os.environ)
    return Projects(load_settings(environ), environ)


def _options(command: click.Command) -> click.Command:
    for option in (
        click.Option(["--default"], is_flag=True, help="Make it the project of chats that name none."),
        click.Option(["--engine"], default="", metavar="E", help="The engine of its sessions."),
        click.Option(
            ["--worktrees-dir"], default="", metavar="D", help="Where its worktrees lie; default: .worktrees."
        ),
        click.Option(["--base"], default="", metavar="B", help="What new branches begin at."),
    ):
        command.params.append(option)
    return command


def _add(alias: str, path: str, *, as_json: bool, default: bool, engine: str, worktrees_dir: str, base: str) -> None:
    new = NewProject(
        alias=alias,
        path=str(Path(path).absolute()),
        default_engine=engine,
        worktrees_dir=worktrees_dir,
        worktree_base=base,
        default=default,
    )
    project = guarded(lambda: open_projects().add(new))
    click.echo(msgspec.json.encode(project) if as_json else f"{project.alias}: {project.path}")


@click.command("init", short_help="Give the repository of this folder a short name.")
@click.argument("alias")
@as_json_option
def init_command(alias: str, **options: object) -> None:
    """Write the repository of this folder into the settings, as the project ALIAS (a-z, 0-9, _).

    `footplate run --project ALIAS --branch B` then works in a worktree of that branch.

    \b
    Example:
      footplate init shop --default
    """
    _add(alias, ".", **options)  # type: ignore[arg-type]


_options(init_command)


@click.group("projects", short_help="Repositories by a short name: list, add, remove.")
def projects_group() -> None:
    """The projects of the settings: a path, an engine, and where the worktrees of its branches lie.

    \b
    Examples:
      footplate projects add shop ~/src/shop --engine claude
      footplate projects list --json
    """


@projects_group.command("list")
@as_json_option
def list_command(as_json: bool) -> None:
    """List the projects.

    \b
    Example:
      footplate projects list
    """
    projects = guarded(lambda: open_projects().list())
    for project in projects if as_json else ():
        click.echo(msgspec.json.encode(project))
    if projects and not as_json:
        click.echo(render_table(("ALIAS", "PATH", "ENGINE", ""), [_row(project) for project in projects]))
    if not projects:
        click.echo("no projects yet; `footplate init ALIAS` makes one of this folder", err=True)


def _row(project: Project) -> tuple[str, str, str, str]:
    return project.alias, project.path, project.default_engine, "default" if project.default else ""


@projects_group.command("add")
@click.argument("alias")
@click.argument("path")
@as_json_option
def add_command(alias: str, path: str, **options: object) -> None:
    """Write the repository of PATH into the settings, as the project ALIAS (a-z, 0-9, _).

    \b
    Example:
      footplate projects add shop ~/src/shop --engine mock
    """
    _add(alias, path, **options)  # type: ignore[arg-type]


_options(add_command)


@projects_group.command("remove")
@click.argument("alias")
@as_json_option
def remove_command(alias: str, as_json: bool) -> None:
    """Take ALIAS out of the settings. Its folder and its worktrees stay.

    \b
    Example:
      footplate projects remove shop
    """
    guarded(lambda: open_projects().remove(alias))
    click.echo(msgspec.json.encode({"removed": alias}) if as_json else f"removed {alias}")
