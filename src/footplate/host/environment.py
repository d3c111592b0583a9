"""The environment of an agent: built from a list of names, never inherited as it is. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from types import MappingProxyType
from typing import Final

BASE_NAMES: Final = (
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LC_*",
    "TERM",
    "TZ",
    "TMPDIR",
    "XDG_*",
    "SSH_AUTH_SOCK",
    "GIT_*",
    "*_PROXY",
    "*_proxy",
    "NODE_EXTRA_CA_CERTS",
    "SSL_CERT_*",
)
"""What every agent may see; what one engine needs beside it stands in that engine's own folder."""

NOTHING: Final[Mapping[str, str]] = MappingProxyType({})


def build_environment(
    source: Mapping[str, str],
    *,
    allow: Iterable[str] = (),
    deny: Iterable[str] = (),
    extra: Mapping[str, str] = NOTHING,
) -> dict[str, str]:
    """Take from `source` what `BASE_NAMES` or `allow` names and `deny` does not; then put `extra` on top."""
    wanted = (*BASE_NAMES, *allow)
    unwanted = tuple(deny)
    chosen = {
        name: value for name, value in source.items() if matches_any(name, wanted) and not matches_any(name, unwanted)
    }
    return chosen | dict(extra)


def expand_home(path: str, source: Mapping[str, str]) -> str:
    """A path that begins with `~/` below the home that the environment names."""
    return f"{source.get('HOME', '').rstrip('/')}/{path.removeprefix('~/')}" if path.startswith("~/") else path


def matches_any(name: str, globs: Iterable[str]) -> bool:
    """Tell whether a name fits one of the globs; capitals count."""
    return any(fnmatchcase(name, glob) for glob in globs)
