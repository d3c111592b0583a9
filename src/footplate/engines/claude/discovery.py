"""Every credential for Claude that this machine holds: where it is, of which kind, until when. Never its value.

The CLI itself reads fewer places than people and other programs use; `used_by_cli` says which. A key that the CLI would
not read by itself is passed on only when the operator picks it (`credential` in `[engines.claude]`), and an OAuth token
is never passed off as a key.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Final

import msgspec

from footplate.engines.base import Credential, CredentialKind
from footplate.engines.claude.credentials import API_KEY, CREDENTIALS, OAUTH_TOKEN
from footplate.engines.claude.lenient import read
from footplate.errors import ConfigError

VARIABLES: Final[tuple[tuple[str, CredentialKind, bool], ...]] = (
    (API_KEY, "api_key", True),
    ("CLAUDE_API_KEY", "api_key", False),
    (OAUTH_TOKEN, "oauth", True),
    ("ANTHROPIC_AUTH_TOKEN", "oauth", True),
)
"""Name, kind, and whether the CLI reads it."""

KEY_FILES: Final = (".claude.json.api", ".claude.json", ".claude.json.nathan")
KEY_FIELDS: Final = ("primaryApiKey", "apiKey", "anthropicApiKey", "customApiKey")
READ_BY_CLI: Final = (".claude.json", "primaryApiKey")
KEY_BEGINS: Final = "sk-ant-"
OAUTH_FILE: Final = ".claude-oauth-credentials.json"
LOGIN_FILE: Final = ".credentials.json"
MILLIS: Final = 1e11
"""A number beyond this counts milliseconds: as seconds it would be a date of the year 5000."""


class _Token(msgspec.Struct, frozen=True, rename="camel"):
    access_token: str = ""
    expires_at: float | str | None = None


class _Login(msgspec.Struct, frozen=True, rename="camel"):
    claude_ai_oauth: _Token | None = None
    access_token: str = ""
    expires_at: float | str | None = None


_FIELDS: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])
_TEXT: Final = msgspec.json.Decoder(str)
_LOGIN: Final = msgspec.json.Decoder(_Login)


def find_credentials(environ: Mapping[str, str], chosen: Mapping[str, str]) -> tuple[Credential, ...]:
    """What is there, in the order of precedence: what the operator set for the agent first."""
    return (
        *_variables(chosen, where="[engines.claude] env"),
        *_variables(environ, where="environment"),
        *_key_files(_home(environ)),
        *_logins(environ),
    )


def _variables(source: Mapping[str, str], *, where: str) -> Iterator[Credential]:
    for name, kind, used in VARIABLES:
        if source.get(name):
            yield Credential(kind=kind, source=where, field=name, used_by_cli=used)


def _key_files(home: Path) -> Iterator[Credential]:
    for name in KEY_FILES:
        fields = read(_FIELDS, _bytes(home / name)) or {}
        for field in KEY_FIELDS:
            if (read(_TEXT, fields.get(field)) or "").startswith(KEY_BEGINS):
                used = (name, field) == READ_BY_CLI
                yield Credential(kind="api_key", source=str(home / name), field=field, used_by_cli=used)


def _logins(environ: Mapping[str, str]) -> Iterator[Credential]:
    home = _home(environ)
    folder = Path(environ.get("CLAUDE_CONFIG_DIR") or home / ".claude")
    for path in (folder / LOGIN_FILE, home / OAUTH_FILE):
        data = _bytes(path)
        login = read(_LOGIN, data)
        if login is None:
            continue
        token = login.claude_ai_oauth or _Token(access_token=login.access_token, expires_at=login.expires_at)
        if not token.access_token:
            continue
        until = read_expiry(token.expires_at)
        yield Credential(
            kind="oauth",
            source=str(path),
            field="accessToken",
            expires_at=until,
            expired=until is not None and until <= time.time(),
            used_by_cli=path.name == LOGIN_FILE and read(CREDENTIALS, data) is not None,
        )


def read_expiry(value: float | str | None) -> float | None:
    """Seconds since 1970, from epoch milliseconds (or seconds) or an ISO date; None where it says nothing."""
    if isinstance(value, str):
        try:
            return datetime.fromisoformat(value).timestamp()
        except ValueError:
            return None
    return None if value is None else value / 1000 if value > MILLIS else float(value)


def pick_key(picked: str, environ: Mapping[str, str]) -> str:
    """The key that the operator picked: `VARIABLE`, or `FILE#FIELD`. Raises `ConfigError` when it is none."""
    where, _, field = picked.rpartition("#")
    if not where:
        value = environ.get(field, "") if (field, "api_key") in ((n, k) for n, k, _ in VARIABLES) else ""
    else:
        path = Path(where.replace("~", str(_home(environ)), 1) if where.startswith("~/") else where)
        fields = read(_FIELDS, _bytes(path)) or {}
        value = read(_TEXT, fields.get(field)) or ""
    if not value.startswith(KEY_BEGINS):
        raise ConfigError(
            "[engines.claude] credential", f"{picked!r} holds no API key", "name one that GET /api/credentials lists"
        )
    return value


def _bytes(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None


def _home(environ: Mapping[str, str]) -> Path:
    return Path(environ.get("HOME") or "/")
