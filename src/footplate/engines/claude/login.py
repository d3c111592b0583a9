"""How one logs in to Claude: in a terminal, by its own program, or not at all behind a gateway. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from footplate.engines.login import Account, Gateway, LoginMethod, LoginState
from footplate.errors import InvalidValue

REMOTE: Final = ("NO_BROWSER", "SSH_CONNECTION", "SSH_CLIENT", "SSH_TTY", "CLAUDE_CODE_REMOTE")
"""Variables of a machine whose browser is elsewhere: there the login is one inside of the program."""

LOGOUT: Final = ("auth", "logout")
STATUS: Final = ("auth", "status", "--json")
NO_KEY: Final = " "
"""A key that is none: the CLI asks for no login then, and the gateway has its own."""

ROUTING: Final = (
    "ANTHROPIC_BASE_URL",
    "ANTHROPIC_BEDROCK_BASE_URL",
    "ANTHROPIC_VERTEX_BASE_URL",
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "CLAUDE_CODE_USE_BEDROCK",
    "CLAUDE_CODE_USE_VERTEX",
    "ANTHROPIC_VERTEX_PROJECT_ID",
    "CLOUD_ML_REGION",
)
"""Variables that would send requests, or a key, elsewhere."""


ANTHROPIC_URL: Final = "https://api.anthropic.com"
BEDROCK_URL: Final = "https://bedrock-runtime.amazonaws.com"
VERTEX_URL: Final = "https://aiplatform.googleapis.com"
PROVIDERS: Final = {"bedrock": "AWS Bedrock", "vertex": "Google Vertex AI", "foundry": "Azure AI Foundry"}


class _Status(msgspec.Struct, rename="camel"):
    logged_in: bool
    api_provider: str = "firstParty"
    api_key_source: str | None = None
    subscription_type: str | None = None
    email: str | None = None
    org_name: str | None = None


def read_status(output: str) -> LoginState:
    """What `claude auth status --json` said. A cloud's own login is not the CLI's to know: it is taken to be there."""
    try:
        told = msgspec.json.decode(output, type=_Status)
    except msgspec.MsgspecError:
        return LoginState(state="unknown")
    if told.api_provider != "firstParty":
        label = PROVIDERS.get(told.api_provider, told.api_provider)
    elif told.api_key_source:
        label = f"Anthropic API key ({told.api_key_source})"
    elif told.logged_in:
        label = f"Claude {(told.subscription_type or 'subscription').removeprefix('claude ').capitalize()}"
    else:
        return LoginState(state="unauthenticated")
    account = Account(label=label, email=told.email or "", organization=told.org_name or "")
    return LoginState(state="authenticated", accounts=(account,))


def find_route(environ: Mapping[str, str]) -> Gateway:
    """Where requests go by the variables."""
    if environ.get("CLAUDE_CODE_USE_BEDROCK"):
        return Gateway(base_url=environ.get("ANTHROPIC_BEDROCK_BASE_URL") or BEDROCK_URL, protocol="bedrock")
    if environ.get("CLAUDE_CODE_USE_VERTEX"):
        return Gateway(base_url=environ.get("ANTHROPIC_VERTEX_BASE_URL") or VERTEX_URL, protocol="vertex")
    return Gateway(base_url=environ.get("ANTHROPIC_BASE_URL") or ANTHROPIC_URL)


def find_logins(environ: Mapping[str, str]) -> tuple[LoginMethod, ...]:
    """The ways to log in on this machine."""
    if any(environ.get(name) for name in REMOTE):
        told = "Opens Claude Code in a terminal; type /login there"
        return (LoginMethod(id="claude-login", name="Log in with Claude", description=told, arguments=()),)
    return (
        LoginMethod(
            id="claude-ai-login",
            name="Claude subscription",
            description="Log in with a Claude subscription",
            arguments=("auth", "login", "--claudeai"),
        ),
        LoginMethod(
            id="console-login",
            name="Anthropic Console",
            description="Log in with the Anthropic Console; usage is billed by token",
            arguments=("auth", "login", "--console"),
        ),
    )


def gateway_variables(gateway: Gateway) -> dict[str, str]:
    """The variables that send every request through the gateway, and no key of this machine with it."""
    if not gateway.base_url.startswith(("http://", "https://")):
        raise InvalidValue("baseUrl", gateway.base_url, "an address that begins with http:// or https://")
    for name, value in gateway.headers.items():
        if "\n" in f"{name}{value}" or "\r" in f"{name}{value}":
            raise InvalidValue("headers", name, "a name and a value of one line each")
    if gateway.protocol == "vertex" and not (gateway.project and gateway.region):
        raise InvalidValue("vertex", gateway.base_url, "with projectId and region in _meta.claudeCode.vertex")
    variables = dict.fromkeys(ROUTING, "")
    headers = "\n".join(f"{name}: {value}" for name, value in gateway.headers.items())
    variables["ANTHROPIC_CUSTOM_HEADERS"] = headers
    if gateway.protocol == "bedrock":
        return {
            **variables,
            "CLAUDE_CODE_USE_BEDROCK": "1",
            "AWS_BEARER_TOKEN_BEDROCK": NO_KEY,
            "ANTHROPIC_BEDROCK_BASE_URL": gateway.base_url,
        }
    if gateway.protocol == "vertex":
        return {
            **variables,
            "CLAUDE_CODE_USE_VERTEX": "1",
            "ANTHROPIC_VERTEX_BASE_URL": "" if gateway.base_url == VERTEX_URL else gateway.base_url,
            "ANTHROPIC_VERTEX_PROJECT_ID": gateway.project,
            "CLOUD_ML_REGION": gateway.region,
        }
    return {**variables, "ANTHROPIC_BASE_URL": gateway.base_url, "ANTHROPIC_AUTH_TOKEN": NO_KEY}
