"""How one logs in to Claude: in a terminal, by its own program, or not at all behind a gateway. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from footplate.engines.login import Gateway, LoginMethod
from footplate.errors import InvalidValue

REMOTE: Final = ("NO_BROWSER", "SSH_CONNECTION", "SSH_CLIENT", "SSH_TTY", "CLAUDE_CODE_REMOTE")
"""Variables of a machine whose browser is elsewhere: there the login is one inside of the program."""

LOGOUT: Final = ("auth", "logout")
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
)
"""Variables that would send requests, or a key, elsewhere."""


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
    return {**variables, "ANTHROPIC_BASE_URL": gateway.base_url, "ANTHROPIC_AUTH_TOKEN": NO_KEY}
