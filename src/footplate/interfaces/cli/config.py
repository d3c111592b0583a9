"""`footplate config`: the settings file from the command line, with its comments kept."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import click
import msgspec

from footplate.config.keys import (
    HIDDEN,
    Setting,
    find_setting,
    is_secret,
    list_settings,
    remove_key,
    write_key,
)
from footplate.config.places import settings_file
from footplate.config.schema import settings_schema
from footplate.config.settings import load_settings, parse_value
from footplate.config.writing import change_settings, check_text, replace_text
from footplate.engines.sections import check_sections, section_shapes
from footplate.errors import ConfigError
from footplate.interfaces.cli.failing import USAGE, guarded

if TYPE_CHECKING:
    from tomlkit import TOMLDocument

as_json_option = click.option("--json", "as_json", is_flag=True, help="JSON.")


@click.group("config", short_help="The settings: look, change, check.")
def config_group() -> None:
    """The settings: one TOML file, overridden by variables such as FOOTPLATE__HTTP__STOP_S.

    \b
    Examples:
      footplate config set default_engine mock
      footplate config get http.stop_s
      footplate config check
    """


@config_group.command("path")
@as_json_option
def path_command(as_json: bool) -> None:
    """Say where the settings file lies, whether it is there or not.

    \b
    Example:
      footplate config path
    """
    path = settings_file(os.environ)
    click.echo(msgspec.json.encode({"path": str(path), "exists": path.exists()}) if as_json else str(path))


@config_group.command("list")
@click.option("--all", "everything", is_flag=True, help="Also what is as by default.")
@click.option("--show-secrets", is_flag=True, help="Show tokens and the like.")
@as_json_option
def list_command(everything: bool, show_secrets: bool, as_json: bool) -> None:
    """List the settings in force and where each comes from: the file or a variable.

    \b
    Example:
      footplate config list --all
    """
    found = guarded(lambda: tuple(list_settings(load_settings(os.environ), os.environ)))
    for setting in found:
        if everything or setting.source != "default":
            shown = setting if show_secrets or not is_secret(setting.key) else _hidden(setting)
            click.echo(
                msgspec.json.encode(shown) if as_json else f"{shown.key} = {_toml(shown.value)}  # {shown.source}"
            )


def _hidden(setting: Setting) -> Setting:
    return msgspec.structs.replace(setting, value=HIDDEN) if setting.value else setting


def _toml(value: object) -> str:
    """A value as the file would have it; a section as JSON."""
    if value is None:
        return '""'
    if isinstance(value, Mapping | list | tuple):
        return msgspec.json.encode(value).decode()
    import tomlkit  # noqa: PLC0415

    return tomlkit.item(value).as_string()


@config_group.command("get")
@click.argument("key")
@as_json_option
def get_command(key: str, as_json: bool) -> None:
    """Print the value of KEY (`http.stop_s`) or of a whole section.

    \b
    Example:
      footplate config get http.stop_s
    """
    value = guarded(lambda: find_setting(load_settings(os.environ), key))
    plain = isinstance(value, str) and not as_json
    click.echo(value if plain else msgspec.json.encode(value))


@config_group.command("set")
@click.argument("key")
@click.argument("value")
@as_json_option
def set_command(key: str, value: str, as_json: bool) -> None:
    """Set KEY to VALUE: TOML where it is TOML (`true`, `3`, `["a"]`), else text.

    A secret need not stand in the file: '{ env = "NAME" }' and '{ file = "~/path" }' say where it is.

    \b
    Example:
      footplate config set default_engine mock
    """

    def change(document: TOMLDocument) -> None:
        write_key(document, key, parse_value(value))

    _change(change, {"set": key}, as_json=as_json)


@config_group.command("unset")
@click.argument("key")
@as_json_option
def unset_command(key: str, as_json: bool) -> None:
    """Take KEY out of the file: its default is in force again.

    \b
    Example:
      footplate config unset default_engine
    """
    _change(lambda document: remove_key(document, key), {"unset": key}, as_json=as_json)


def _change(change: Callable[[TOMLDocument], None], told: dict[str, str], *, as_json: bool) -> None:
    path = settings_file(os.environ)

    def work() -> None:
        change_settings(path, change, check=lambda settings: check_sections(settings, os.environ))

    guarded(work)
    if as_json:
        click.echo(msgspec.json.encode({**told, "path": str(path)}))


@config_group.command("check")
@as_json_option
def check_command(as_json: bool) -> None:
    """Read everything and say whether it can be used. Exit code 2 when it cannot.

    \b
    Example:
      footplate config check
    """
    path = settings_file(os.environ)
    try:
        settings = load_settings(os.environ)
        check_sections(settings, os.environ)
    except ConfigError as problem:
        if not as_json:
            click.echo(f"footplate: {problem}", err=True)
        else:
            click.echo(msgspec.json.encode({"ok": False, "path": str(path), "problem": str(problem)}))
        sys.exit(USAGE)
    click.echo(msgspec.json.encode({"ok": True, "path": str(path)}) if as_json else f"{path}: fine")


@config_group.command("schema")
@click.option("--json", is_flag=True, expose_value=False, help="It is JSON anyway.")
def schema_command() -> None:
    """Print the JSON Schema of the file; an editor that knows it completes and checks as you type.

    \b
    Example:
      footplate config schema > settings.schema.json
    """
    click.echo(msgspec.json.format(msgspec.json.encode(settings_schema(section_shapes())), indent=2))


@config_group.command("edit")
@as_json_option
def edit_command(as_json: bool) -> None:
    """Open the file in $VISUAL or $EDITOR; it takes the place of the old one only when it can be used.

    \b
    Example:
      EDITOR=true footplate config edit
    """
    guarded(_edit)
    if as_json:
        click.echo(msgspec.json.encode({"edited": str(settings_file(os.environ))}))


def _edit() -> None:
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    path = settings_file(os.environ)
    draft = path.with_name(f".{path.name}.draft")
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not draft.exists():
        draft.touch(mode=0o600)
        draft.write_bytes(path.read_bytes() if path.exists() else b"")
    while True:
        done = subprocess.run([*shlex.split(editor), str(draft)], check=False)
        if done.returncode != 0:
            draft.unlink()
            raise ConfigError(str(path), f"{editor} ended with {done.returncode}", "nothing was changed")
        try:
            check_sections(check_text(path, draft.read_text(encoding="utf-8")), os.environ)
        except ConfigError as problem:
            click.echo(f"footplate: {problem}", err=True)
            if sys.stdin.isatty() and click.confirm("edit it again?", default=True):
                continue
            raise ConfigError(
                str(draft), "your text is kept there", "`footplate config edit` goes on with it"
            ) from problem
        replace_text(path, draft.read_text(encoding="utf-8"))
        draft.unlink()
        return
