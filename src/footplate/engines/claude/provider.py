"""How Anthropic's API is called with the credential that the CLI would use, in the environment that it would get."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from footplate.engines.claude.credentials import API_KEY, AUTH_TOKEN, OAUTH_TOKEN, Payer, who_pays
from footplate.engines.claude.discovery import login_file, managed_key, read_token
from footplate.engines.login import ProviderAccess
from footplate.errors import ConfigError

BASE_URL: Final = "https://api.anthropic.com"
VERSION: Final = {"anthropic-version": "2023-06-01"}
OAUTH_BETA: Final = {"anthropic-beta": "oauth-2025-04-20"}
"""Without it the API refuses the token of a subscription login. The CLI sends it with such a token only."""

ELSEWHERE: Final[tuple[Payer, ...]] = ("bedrock", "vertex")


def find_access(env: Mapping[str, str]) -> ProviderAccess | None:
    """None where the models are those of a cloud, or without a login. Raises `ConfigError` for an expired login."""
    login = _login_headers(env)
    base = (env.get("ANTHROPIC_BASE_URL") or BASE_URL).rstrip("/")
    return ProviderAccess(base_url=base, headers={**VERSION, **login}) if login else None


def _login_headers(env: Mapping[str, str]) -> dict[str, str]:
    if env.get("CLAUDE_CODE_USE_FOUNDRY"):
        return {}
    path = login_file(env)
    stored = read_token(path)
    payer = who_pays(env, login=stored is not None)
    if payer in ELSEWHERE:
        return {}
    if payer == "api_key":
        return {"x-api-key": env[API_KEY]}
    if payer == "auth_token":
        return {"authorization": f"Bearer {env[AUTH_TOKEN]}"}
    if env.get(OAUTH_TOKEN):
        return {"authorization": f"Bearer {env[OAUTH_TOKEN]}", **OAUTH_BETA}
    if stored is not None and stored.expired:
        raise ConfigError(str(path), "the login has expired", "run `claude` once to renew it")
    if stored is not None:
        return {"authorization": f"Bearer {stored.access_token}", **OAUTH_BETA}
    key = managed_key(env)
    return {"x-api-key": key} if key else {}
