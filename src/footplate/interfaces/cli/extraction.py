"""Credentials with their values, for those who ask by name: found in variables and files, the first of each provider.

An OAuth token is never passed off as a key: it goes by the variable that its own agent reads, or by none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import msgspec

from footplate.engines.base import Credential, CredentialKind
from footplate.engines.claude.discovery import find_credentials

AGENTS: Final = {"claude": "anthropic", "codex": "openai", "opencode": "", "amp": "anthropic"}
"""Whose credentials an agent takes; any for an empty one."""
VARIABLES: Final[dict[tuple[str, CredentialKind], str]] = {
    ("anthropic", "api_key"): "ANTHROPIC_API_KEY",
    ("anthropic", "oauth"): "CLAUDE_CODE_OAUTH_TOKEN",
    ("openai", "api_key"): "OPENAI_API_KEY",
}
"""By which variable a credential reaches its agent. An OAuth token of OpenAI has none: codex reads its own file."""
OPENAI_KEYS: Final = ("OPENAI_API_KEY", "CODEX_API_KEY")
SHOWN: Final = 6


class Extracted(msgspec.Struct, frozen=True, kw_only=True):
    """A credential and its value."""

    provider: str
    kind: CredentialKind
    source: str
    field: str
    value: str

    @property
    def variable(self) -> str:
        """The variable by which an agent takes it; empty when none does."""
        return VARIABLES.get((self.provider, self.kind), "")

    def masked(self) -> Extracted:
        """The same with so much of its value as tells two apart."""
        return msgspec.structs.replace(self, value=f"{self.value[:SHOWN]}...")


def extract(environ: Mapping[str, str], *, oauth: bool) -> dict[str, Extracted]:
    """The first credential of each provider that has not expired; keys before tokens where both lie in one place."""
    found: dict[str, Extracted] = {}
    for each in (*_anthropic(environ), *_openai(environ), *_opencode(environ)):
        if each.value and (oauth or each.kind == "api_key"):
            found.setdefault(each.provider, each)
    return found


def _anthropic(environ: Mapping[str, str]) -> Iterator[Extracted]:
    for each in find_credentials(environ, {}):
        if not each.expired:
            value = environ.get(each.field, "") if each.source == "environment" else _of_file(each)
            yield Extracted(provider="anthropic", kind=each.kind, source=each.source, field=each.field, value=value)


def _of_file(credential: Credential) -> str:
    fields = _read(Path(credential.source))
    inner = fields.get("claudeAiOauth")
    return _text((inner if isinstance(inner, dict) else fields).get(credential.field))


def _openai(environ: Mapping[str, str]) -> Iterator[Extracted]:
    for name in OPENAI_KEYS:
        yield Extracted(
            provider="openai", kind="api_key", source="environment", field=name, value=environ.get(name, "")
        )
    path = Path(environ.get("CODEX_HOME") or Path(environ.get("HOME", "/")) / ".codex") / "auth.json"
    fields = _read(path)
    key, tokens = _text(fields.get(OPENAI_KEYS[0])), fields.get("tokens")
    yield Extracted(provider="openai", kind="api_key", source=str(path), field=OPENAI_KEYS[0], value=key)
    token = _text(tokens.get("access_token")) if isinstance(tokens, dict) else ""
    yield Extracted(provider="openai", kind="oauth", source=str(path), field="access_token", value=token)


def _opencode(environ: Mapping[str, str]) -> Iterator[Extracted]:
    data = environ.get("XDG_DATA_HOME") or Path(environ.get("HOME", "/")) / ".local" / "share"
    path = Path(data) / "opencode" / "auth.json"
    for provider, entry in _read(path).items():
        if isinstance(entry, dict):
            kind: CredentialKind = "oauth" if entry.get("type") == "oauth" else "api_key"
            field = "access" if kind == "oauth" else "key"
            value = _text(entry.get(field))
            yield Extracted(provider=provider, kind=kind, source=str(path), field=field, value=value)


def _read(path: Path) -> dict[str, object]:
    """What a file of JSON holds; nothing where there is none that can be read."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, object])
    except (OSError, msgspec.DecodeError):
        return {}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
