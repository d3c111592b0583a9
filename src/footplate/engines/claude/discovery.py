"""Every credential for Claude that this machine holds: where it is, of which kind, until when. Never its value.

The CLI itself reads fewer places than people and other programs use; `used_by_cli` says which. A key or a login that
the CLI would not read by itself is passed on only when the operator picks it (`credential` in `[engines.claude]`), and
an OAuth token is never passed off as a key.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Final

import msgspec

from footplate.engines.base import Credential, CredentialKind
from footplate.engines.claude.credentials import API_KEY, AUTH_TOKEN, CREDENTIALS, OAUTH_TOKEN
from footplate.engines.claude.lenient import read
from footplate.errors import EngineRefused
from footplate.host.environment import expand_home

VARIABLES: Final[tuple[tuple[str, CredentialKind, bool], ...]] = (
    (API_KEY, "api_key", True),
    ("CLAUDE_API_KEY", "api_key", False),
    (OAUTH_TOKEN, "oauth", True),
    (AUTH_TOKEN, "oauth", True),
)
"""Name, kind, and whether the CLI reads it."""

KEY_FILES: Final = (".claude.json.api", ".claude.json", ".claude.json.nathan")
KEY_FIELDS: Final = ("primaryApiKey", "apiKey", "anthropicApiKey", "customApiKey")
READ_BY_CLI: Final = (".claude.json", "primaryApiKey")
KEY_BEGINS: Final = "sk-ant-"
OAUTH_FILE: Final = ".claude-oauth-credentials.json"
LOGIN_FILE: Final = ".credentials.json"
TOKEN_FIELD: Final = "accessToken"
ENVIRONMENT: Final = "environment"
SETTINGS: Final = "[engines.claude] env"
MILLIS: Final = 1e11
"""A number beyond this counts milliseconds: as seconds it would be a date of the year 5000."""


class Token(msgspec.Struct, frozen=True, rename="camel"):
    """The token of a login, and until when it is valid."""

    access_token: str = ""
    expires_at: float | str | None = None

    @property
    def until(self) -> float | None:
        """The end of its validity in seconds since 1970; None where it is not given."""
        return read_expiry(self.expires_at)

    @property
    def expired(self) -> bool:
        """Whether it is of no use any more."""
        return self.until is not None and self.until <= time.time()


class _Login(Token, frozen=True, rename="camel"):
    claude_ai_oauth: Token | None = None


_FIELDS: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])
_TEXT: Final = msgspec.json.Decoder(str)
_LOGIN: Final = msgspec.json.Decoder(_Login)


def find_credentials(
    environ: Mapping[str, str], chosen: Mapping[str, str], *, picked: str = ""
) -> tuple[Credential, ...]:
    """What is there, in the order of precedence: what the operator set for the agent first.

    With a `picked` one (the setting `credential`) the CLI gets that one and no other.
    """
    found = (
        *_variables(chosen, where=SETTINGS),
        *_variables(environ, where=ENVIRONMENT),
        *_key_files(_home(environ)),
        *_logins(environ),
    )
    if not picked:
        return found
    source, field = _picked_place(picked, environ, chosen)
    return tuple(
        msgspec.structs.replace(each, used_by_cli=(each.source, each.field) == (source, field)) for each in found
    )


def _picked_place(picked: str, environ: Mapping[str, str], chosen: Mapping[str, str]) -> tuple[str, str]:
    """The source and the field of a picked credential, as `find_credentials` names them.

    A variable by its name alone is that of the environment, or that of the settings where only they have it.
    """
    where, _, field = picked.rpartition("#")
    if where:
        return expand_home(where, environ), field
    return SETTINGS if chosen.get(field) and not environ.get(field) else ENVIRONMENT, field


def _variables(source: Mapping[str, str], *, where: str) -> Iterator[Credential]:
    for name, kind, used in VARIABLES:
        if source.get(name):
            yield Credential(kind=kind, source=where, field=name, used_by_cli=used)


def _key_files(home: Path) -> Iterator[Credential]:
    for name in KEY_FILES:
        for field in KEY_FIELDS:
            if _field(home / name, field).startswith(KEY_BEGINS):
                used = (name, field) == READ_BY_CLI
                yield Credential(kind="api_key", source=str(home / name), field=field, used_by_cli=used)


def _logins(environ: Mapping[str, str]) -> Iterator[Credential]:
    for path in (login_file(environ), _home(environ) / OAUTH_FILE):
        token = read_token(path)
        if token is None:
            continue
        yield Credential(
            kind="oauth",
            source=str(path),
            field=TOKEN_FIELD,
            expires_at=token.until,
            expired=token.expired,
            used_by_cli=path.name == LOGIN_FILE and read(CREDENTIALS, _bytes(path)) is not None,
        )


def login_file(environ: Mapping[str, str]) -> Path:
    """The file in which the CLI keeps a subscription login."""
    return Path(environ.get("CLAUDE_CONFIG_DIR") or _home(environ) / ".claude") / LOGIN_FILE


def read_token(path: Path) -> Token | None:
    """The token of the login in a file, in either shape that programs write; None where there is none."""
    login = read(_LOGIN, _bytes(path))
    token = None if login is None else login.claude_ai_oauth or login
    return token if token is not None and token.access_token else None


def managed_key(environ: Mapping[str, str]) -> str:
    """The key that `claude` itself has stored at a login with the console; empty where there is none."""
    folder = Path(environ.get("CLAUDE_CONFIG_DIR") or _home(environ))
    name, field = READ_BY_CLI
    return _field(folder / name, field)


def read_expiry(value: float | str | None) -> float | None:
    """Seconds since 1970, from epoch milliseconds (or seconds) or an ISO date; None where it says nothing."""
    if isinstance(value, str):
        try:
            return datetime.fromisoformat(value).timestamp()
        except ValueError:
            return None
    return None if value is None else value / 1000 if value > MILLIS else float(value)


def pick_credential(picked: str, environ: Mapping[str, str], chosen: Mapping[str, str]) -> dict[str, str]:
    """The credential that the operator picked (`VARIABLE`, or `FILE#FIELD`), by the variable that the CLI reads.

    `chosen` are the variables of the settings. Raises `EngineRefused` when there is no credential, or when it is a
    login that has expired.
    """
    source, field = _picked_place(picked, environ, chosen)
    if source in (ENVIRONMENT, SETTINGS):
        return _pick_variable(picked, field, environ if source == ENVIRONMENT else chosen)
    path = Path(source)
    token = read_token(path) if field == TOKEN_FIELD else None
    if token is not None and token.expired:
        raise _unusable(f"the login in {picked!r} has expired", "renew it where it comes from")
    if token is not None:
        return {OAUTH_TOKEN: token.access_token}
    key = _field(path, field)
    if not key.startswith(KEY_BEGINS):
        raise _nothing_there(picked)
    return {API_KEY: key}


def _pick_variable(picked: str, name: str, variables: Mapping[str, str]) -> dict[str, str]:
    """A key of any form: a gateway may give out its own, and only the CLI's files hold other things beside keys."""
    kind = next((kind for variable, kind, _ in VARIABLES if variable == name), None)
    value = variables.get(name, "")
    if kind is None or not value:
        raise _nothing_there(picked)
    return {name if kind == "oauth" else API_KEY: value}


def _nothing_there(picked: str) -> EngineRefused:
    if picked.startswith(KEY_BEGINS):
        problem = "the setting is a key, not the place of one"
        return _unusable(problem, "write the key as ANTHROPIC_API_KEY in [engines.claude] env")
    return _unusable(f"{picked!r} holds no API key and no login", "name one that GET /api/credentials lists")


def _unusable(problem: str, advice: str) -> EngineRefused:
    """The agent is not started: it would use a credential that nobody picked."""
    return EngineRefused("claude", f"[engines.claude] credential: {problem}", advice)


def _field(path: Path, field: str) -> str:
    fields = read(_FIELDS, _bytes(path)) or {}
    return read(_TEXT, fields.get(field)) or ""


def _bytes(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None


def _home(environ: Mapping[str, str]) -> Path:
    return Path(environ.get("HOME") or "/")
