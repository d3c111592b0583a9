"""The settings file changed in place: comments and order stay, and nothing is written that could not be read back."""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from footplate.config.references import stand_in
from footplate.config.settings import Settings, read_settings
from footplate.errors import ConfigError

if TYPE_CHECKING:
    from tomlkit import TOMLDocument


def change_settings(
    path: Path, change: Callable[[TOMLDocument], None], *, check: Callable[[Settings], None] | None = None
) -> Settings:
    """Have the file changed; it is made where there is none. Raises `ConfigError`, and then nothing is written.

    `check` may refuse what the settings themselves allow. References to secrets are not looked up.
    """
    import tomlkit  # noqa: PLC0415  (only who writes pays for it)
    from tomlkit.exceptions import TOMLKitError  # noqa: PLC0415

    target = path.resolve()
    with _alone(target):
        text = _read(target)
        try:
            document = tomlkit.parse(text)
            change(document)
            written = tomlkit.dumps(document)
        except TOMLKitError as problem:
            raise ConfigError(str(path), f"not TOML: {problem}", "mend that line") from problem
        settings = check_text(path, written)
        if check is not None:
            check(settings)
        if written != text:
            _replace(target, written)
        return settings


def check_text(path: Path, text: str) -> Settings:
    """The settings that this text would be. Raises `ConfigError`."""
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        raise ConfigError(str(path), f"not TOML: {problem}", "mend that line") from problem
    return read_settings({key: stand_in(value) for key, value in table.items()}, where=str(path))


def replace_text(path: Path, text: str) -> None:
    """Write this text in place of the file's. Raises `ConfigError`."""
    target = path.resolve()
    with _alone(target):
        _replace(target, text)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as problem:
        raise ConfigError(str(path), str(problem), "make it a readable UTF-8 file") from problem


@contextlib.contextmanager
def _alone(path: Path) -> Iterator[None]:
    """One writer at a time; the folder is what is locked, as the file is replaced."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as problem:
        raise ConfigError(str(path), str(problem), "make its folder one that you can write") from problem
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def _replace(path: Path, text: str) -> None:
    """The new text in one step; who reads meanwhile sees the old or the new one."""
    mode = path.stat().st_mode & 0o777 if path.exists() else 0o600
    try:
        with tempfile.NamedTemporaryFile("w", dir=path.parent, prefix=".footplate-", delete=False) as file:
            try:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
                os.fchmod(file.fileno(), mode)
                Path(file.name).replace(path)
            except OSError:
                Path(file.name).unlink(missing_ok=True)
                raise
    except OSError as problem:
        raise ConfigError(str(path), str(problem), "make it a file that you can write") from problem
