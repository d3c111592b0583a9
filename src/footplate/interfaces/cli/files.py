"""`footplate files`: files on the machine of a service: list, read, write, move, remove."""

from __future__ import annotations

import sys
from pathlib import Path

import click
import msgspec

from footplate.events.wording import format_size
from footplate.interfaces.cli.client import service_options, with_client
from footplate.interfaces.cli.tables import render_table


class Entry(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One thing in a folder."""

    name: str
    entry_type: str
    size: int
    modified: str


@click.group("files", short_help="Files on the machine of a service.")
def files_group() -> None:
    """Files on the machine of a service, as far as its settings and the token reach. A relative path is below its home.

    \b
    Examples:
      footplate files list project
      footplate files read project/README.md
      footplate files write project/notes.txt < notes.txt
    """


@files_group.command("list")
@click.argument("path", default="")
@service_options
def list_command(path: str, url: str, token: str, as_json: bool) -> None:
    """List what lies in the folder PATH; default: the home of the service's user.

    \b
    Example:
      footplate files list project
    """
    raw = with_client(url, token, lambda client: client.send("GET", "/v1/fs/entries", query={"path": path}))
    if as_json:
        click.echo(raw)
        return
    found = msgspec.json.decode(raw, type=tuple[Entry, ...])
    rows = [
        ("" if each.entry_type == "directory" else format_size(each.size), each.modified[:16].replace("T", " "),
         each.name + ("/" if each.entry_type == "directory" else ""))
        for each in found
    ]  # fmt: skip
    click.echo(render_table(("SIZE", "CHANGED", "NAME"), rows) if rows else "an empty folder", err=not rows)


@files_group.command("read")
@click.argument("path")
@service_options
def read_command(path: str, url: str, token: str, as_json: bool) -> None:
    """Write the file PATH to standard output.

    \b
    Example:
      footplate files read project/README.md
    """
    raw = with_client(url, token, lambda client: client.send("GET", "/v1/fs/file", query={"path": path}))
    sys.stdout.buffer.write(msgspec.json.encode({"path": path, "data": raw}) if as_json else raw)
    sys.stdout.buffer.flush()


@files_group.command("write")
@click.argument("path")
@click.argument("source", type=click.Path(dir_okay=False, exists=True, path_type=Path), required=False)
@service_options
def write_command(path: str, source: Path | None, url: str, token: str, as_json: bool) -> None:
    """Write SOURCE (default: standard input) to the file PATH; folders that are missing are made.

    \b
    Example:
      footplate files write project/notes.txt < notes.txt
    """
    data = source.read_bytes() if source is not None else sys.stdin.buffer.read()
    raw = with_client(url, token, lambda client: client.send("PUT", "/v1/fs/file", query={"path": path}, raw=data))
    if as_json:
        click.echo(raw)


@files_group.command("upload")
@click.argument("archive", type=click.Path(dir_okay=False, exists=True, path_type=Path))
@click.argument("path", default="")
@service_options
def upload_command(archive: Path, path: str, url: str, token: str, as_json: bool) -> None:
    """Unpack ARCHIVE (tar, plain or gzip) into the folder PATH.

    \b
    Example:
      footplate files upload src.tar project
    """
    data = archive.read_bytes()
    raw = with_client(
        url,
        token,
        lambda client: client.send(
            "POST", "/v1/fs/upload-batch", query={"path": path}, raw=data, media="application/x-tar"
        ),
    )
    if as_json:
        click.echo(raw)


@files_group.command("stat")
@click.argument("path")
@service_options
def stat_command(path: str, url: str, token: str, as_json: bool) -> None:
    """Say what is known of PATH.

    \b
    Example:
      footplate files stat project/README.md
    """
    raw = with_client(url, token, lambda client: client.send("GET", "/v1/fs/stat", query={"path": path}))
    if as_json:
        click.echo(raw)
        return
    for name, value in msgspec.json.decode(raw, type=dict[str, str | int]).items():
        click.echo(f"{name:<10} {value}")


@files_group.command("mkdir")
@click.argument("path")
@service_options
def mkdir_command(path: str, url: str, token: str, as_json: bool) -> None:
    """Make the folder PATH, and those above it.

    \b
    Example:
      footplate files mkdir project/docs
    """
    raw = with_client(url, token, lambda client: client.send("POST", "/v1/fs/mkdir", query={"path": path}))
    if as_json:
        click.echo(raw)


@files_group.command("move")
@click.argument("source")
@click.argument("target")
@click.option("--overwrite", is_flag=True, help="Also when TARGET is there.")
@service_options
def move_command(source: str, target: str, overwrite: bool, url: str, token: str, as_json: bool) -> None:
    """Move SOURCE to TARGET.

    \b
    Example:
      footplate files move project/old.txt project/new.txt
    """
    body = {"from": source, "to": target, "overwrite": overwrite}
    raw = with_client(url, token, lambda client: client.send("POST", "/v1/fs/move", body=body))
    if as_json:
        click.echo(raw)


@files_group.command("delete")
@click.argument("path")
@click.option("--recursive", is_flag=True, help="A folder with what is in it.")
@service_options
def delete_command(path: str, recursive: bool, url: str, token: str, as_json: bool) -> None:
    """Remove PATH.

    \b
    Example:
      footplate files delete project/build --recursive
    """
    query = {"path": path, "recursive": "1" if recursive else ""}
    raw = with_client(url, token, lambda client: client.send("DELETE", "/v1/fs/entry", query=query))
    if as_json:
        click.echo(raw)
