"""Where things lie on this machine: the settings file and the data folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def _home(environ: Mapping[str, str]) -> Path:
    home = environ.get("HOME")
    return Path(home) if home else Path.home()


def settings_file(environ: Mapping[str, str]) -> Path:
    """`FOOTPLATE_CONFIG`, else `footplate/footplate.toml` in the XDG config folder."""
    named = environ.get("FOOTPLATE_CONFIG")
    if named:
        return Path(named)
    base = environ.get("XDG_CONFIG_HOME")
    return (Path(base) if base else _home(environ) / ".config") / "footplate" / "footplate.toml"


def data_folder(environ: Mapping[str, str]) -> Path:
    """`FOOTPLATE_DATA_DIR`, else `footplate` in the XDG data folder: store, sockets, locks, installs."""
    named = environ.get("FOOTPLATE_DATA_DIR")
    if named:
        return Path(named)
    base = environ.get("XDG_DATA_HOME")
    return (Path(base) if base else _home(environ) / ".local" / "share") / "footplate"
