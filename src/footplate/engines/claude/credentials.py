"""Which credentials the CLI would find, and which of them pay: the facts, and the rule over them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final, Literal

import msgspec

from footplate.engines.claude.lenient import read
from footplate.engines.claude.settings import Billing

API_KEY: Final = "ANTHROPIC_API_KEY"
OAUTH_TOKEN: Final = "CLAUDE_CODE_OAUTH_TOKEN"
AUTH_TOKEN: Final = "ANTHROPIC_AUTH_TOKEN"
LOGIN_VARIABLES: Final = (API_KEY, AUTH_TOKEN, OAUTH_TOKEN)
"""The variables by which the CLI takes a credential, in the order in which it prefers them."""

Payer = Literal["bedrock", "vertex", "api_key", "auth_token", "subscription", "none"]


class Login(msgspec.Struct, frozen=True, rename="camel"):
    """A subscription login as the CLI keeps it; one that lacks any of these it does not accept."""

    access_token: str
    refresh_token: str
    expires_at: float | str
    scopes: list[str]


class Credentials(msgspec.Struct, frozen=True, rename="camel"):
    """The file `.credentials.json`."""

    claude_ai_oauth: Login


CREDENTIALS: Final = msgspec.json.Decoder(Credentials)


def find_login(environ: Mapping[str, str], profile: str = "") -> bool:
    """Whether a subscription login is present, as far as files tell."""
    folder = profile or environ.get("CLAUDE_CONFIG_DIR") or str(Path(environ.get("HOME", "/")) / ".claude")
    try:
        data = (Path(folder) / ".credentials.json").read_bytes()
    except OSError:
        return False
    return read(CREDENTIALS, data) is not None


def passes_key(billing: Billing, environ: Mapping[str, str], *, login: bool) -> bool:
    """Whether the API key in the environment is passed on."""
    if billing == "auto":
        return not (login or environ.get(OAUTH_TOKEN))
    return billing


def who_pays(env: Mapping[str, str], *, login: bool) -> Payer:
    """Which of the credentials the CLI will use, given the environment it gets: the key wins over the others."""
    if env.get("CLAUDE_CODE_USE_BEDROCK"):
        return "bedrock"
    if env.get("CLAUDE_CODE_USE_VERTEX"):
        return "vertex"
    if env.get(API_KEY):
        return "api_key"
    if env.get(AUTH_TOKEN):
        return "auth_token"
    return "subscription" if login or env.get(OAUTH_TOKEN) else "none"
