"""With which credential a provider is asked for its models: that of a session, wherever it is stored; never shown."""

from __future__ import annotations

import json
import logging
import socket
import threading
from collections.abc import AsyncIterator
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socketserver import BaseServer

import pytest

from footplate.config.settings import Settings
from footplate.host.process import Keeper
from footplate.interfaces.cli.models import render
from footplate.runtime.choices import ChoiceBook
from footplate.testing.messages import ScriptedMessages

LATER = 9_999_999_999_999
LOGIN = {"accessToken": "tok-login", "refreshToken": "r", "expiresAt": LATER, "scopes": ["user:inference"]}
LOGIN_FILE = {".claude/.credentials.json": {"claudeAiOauth": LOGIN}}
MOUNTED = {".claude-oauth-credentials.json": {"accessToken": "tok-mounted", "expiresAt": LATER}}
OAUTH = ("oauth-2025-04-20",)
KEY = "sk-ant-of-settings"
OF_ENV = {"ANTHROPIC_API_KEY": "key-of-environment"}
OF_LOGIN = {"authorization": "Bearer tok-login"}


@pytest.fixture
async def keeper() -> AsyncIterator[Keeper]:
    async with Keeper.start() as keeper:
        yield keeper


class Machine:
    """A home with files and variables, and a scripted provider."""

    def __init__(self, folder: Path, api: ScriptedMessages, key: str) -> None:
        self.home = folder
        self.api = api
        self.key = key
        self.env = {
            "HOME": str(folder),
            "PATH": "/usr/bin:/bin",
            "FOOTPLATE_DATA_DIR": str(folder / "data"),
            "ANTHROPIC_BASE_URL": api.url_for(key),
        }

    def write(self, files: dict[str, object]) -> None:
        for name, content in files.items():
            (self.home / name).parent.mkdir(exist_ok=True)
            (self.home / name).write_text(json.dumps(content))

    def asked(self) -> list[tuple[dict[str, str], tuple[str, ...]]]:
        """The headers that logged in, and the betas, of each request for models."""
        return [
            (request.auth, request.betas) for request in self.api.log(self.key) if request.path.startswith("/v1/models")
        ]


@pytest.fixture
def machine(tmp_path: Path, messages: ScriptedMessages, request: pytest.FixtureRequest) -> Machine:
    key = request.node.name.replace("[", "-").strip("]")
    messages.set_models(["claude-scripted"], key=key)
    return Machine(tmp_path, messages, key)


@pytest.mark.parametrize(
    ("section", "env", "files", "auth", "betas"),
    [
        pytest.param({}, OF_ENV, {}, {"x-api-key": "key-of-environment"}, (), id="key-in-environment"),
        pytest.param(
            {}, {"ANTHROPIC_AUTH_TOKEN": "tok-auth"}, {}, {"authorization": "Bearer tok-auth"}, (), id="auth-token"
        ),
        pytest.param({"env": {"ANTHROPIC_API_KEY": KEY}}, {}, {}, {"x-api-key": KEY}, (), id="key-in-settings"),
        pytest.param(
            {"credential": "~/.claude.json.api#apiKey"},
            {},
            {".claude.json.api": {"apiKey": "sk-ant-picked"}},
            {"x-api-key": "sk-ant-picked"},
            (),
            id="picked-key",
        ),
        pytest.param(
            {"credential": "~/.claude-oauth-credentials.json#accessToken"},
            {"ANTHROPIC_API_KEY": "k", "ANTHROPIC_AUTH_TOKEN": "t"},
            {**MOUNTED, **LOGIN_FILE},
            {"authorization": "Bearer tok-mounted"},
            OAUTH,
            id="picked-login",
        ),
        pytest.param({}, {}, LOGIN_FILE, OF_LOGIN, OAUTH, id="login"),
        pytest.param(
            {},
            {"CLAUDE_CODE_OAUTH_TOKEN": "tok-env"},
            {},
            {"authorization": "Bearer tok-env"},
            OAUTH,
            id="token-in-environment",
        ),
        pytest.param({}, OF_ENV, LOGIN_FILE, OF_LOGIN, OAUTH, id="login-before-key"),
        pytest.param(
            {"use_api_billing": True}, OF_ENV, LOGIN_FILE, {"x-api-key": "key-of-environment"}, (), id="key-by-billing"
        ),
        pytest.param(
            {}, {}, {".claude.json": {"primaryApiKey": "sk-ant-m"}}, {"x-api-key": "sk-ant-m"}, (), id="managed-key"
        ),
    ],
)
async def test_the_provider_is_asked_with_the_credential_of_a_session(
    machine: Machine,
    keeper: Keeper,
    caplog: pytest.LogCaptureFixture,
    section: dict[str, object],
    env: dict[str, str],
    files: dict[str, object],
    auth: dict[str, str],
    betas: tuple[str, ...],
) -> None:
    machine.write(files)
    machine.env |= env
    settings = Settings(engines={"claude": section})
    with caplog.at_level(logging.DEBUG):
        choices = await ChoiceBook(settings, machine.env).refresh("claude", keeper)
    assert (choices.models_source, [model.id for model in choices.models]) == ("provider", ["claude-scripted"])
    assert machine.asked() == [(auth, betas)]
    secret = next(iter(auth.values())).removeprefix("Bearer ")
    shown = [
        caplog.text,
        render(choices),
        *(path.read_text() for path in (machine.home / "data" / "choices").iterdir()),
    ]
    assert not [text for text in shown if secret in text]


@pytest.mark.parametrize(
    ("section", "env", "files", "problem"),
    [
        pytest.param({}, {}, {}, "", id="no-credential"),
        pytest.param({}, {"CLAUDE_CODE_USE_BEDROCK": "1", "ANTHROPIC_API_KEY": "k"}, {}, "", id="another-cloud"),
        pytest.param(
            {},
            {},
            {".claude/.credentials.json": {"claudeAiOauth": {**LOGIN, "expiresAt": 1}}},
            "the login has expired; run `claude` once to renew it",
            id="expired-login",
        ),
        pytest.param(
            {"credential": "~/.claude-oauth-credentials.json#accessToken"},
            {"ANTHROPIC_API_KEY": "k"},
            {},
            "holds no API key and no login; name one that GET /api/credentials lists",
            id="picked-nothing",
        ),
        pytest.param(
            {"credential": "sk-ant-oops"},
            {},
            {},
            "the setting is a key, not the place of one",
            id="picked-a-key",
        ),
    ],
)
async def test_without_a_usable_credential_the_provider_is_not_asked(
    machine: Machine,
    keeper: Keeper,
    section: dict[str, object],
    env: dict[str, str],
    files: dict[str, object],
    problem: str,
) -> None:
    machine.write(files)
    machine.env |= env
    choices = await ChoiceBook(Settings(engines={"claude": section}), machine.env).refresh("claude", keeper)
    assert choices.models_source == "built-in list"
    assert machine.asked() == []
    assert problem in "\n".join(choices.problems)
    assert not [text for text in choices.problems if "sk-ant-oops" in text or "tok-login" in text]


DAMAGED = "has a line break or another character that no header can hold"


@pytest.mark.parametrize(
    "name", ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", "OPENAI_API_KEY", "GEMINI_API_KEY"]
)
@pytest.mark.parametrize(
    "value", ["sk-ant-SECRET\nx", "sk-ant-SECRET\x01x", "sk-ant-SECRET-é"], ids=["break", "control", "no-ascii"]
)
async def test_a_credential_that_no_header_can_hold_is_not_in_the_error(
    machine: Machine, keeper: Keeper, caplog: pytest.LogCaptureFixture, name: str, value: str
) -> None:
    base = machine.env["ANTHROPIC_BASE_URL"]
    machine.env |= {name: value, "OPENAI_BASE_URL": base, "GOOGLE_GEMINI_BASE_URL": base}
    engine = {"OPENAI_API_KEY": "codex", "GEMINI_API_KEY": "gemini"}.get(name, "claude")
    with caplog.at_level(logging.DEBUG):
        choices = await ChoiceBook(Settings(), machine.env).refresh(engine, keeper)
    assert DAMAGED in "\n".join(choices.problems)
    assert "SECRET" not in "\n".join(choices.problems) + caplog.text


async def test_a_line_break_after_a_key_is_not_part_of_it(machine: Machine, keeper: Keeper) -> None:
    machine.env["ANTHROPIC_API_KEY"] = "sk-ant-from-a-file\n"
    choices = await ChoiceBook(Settings(), machine.env).refresh("claude", keeper)
    assert choices.models_source == "provider"
    assert machine.asked() == [({"x-api-key": "sk-ant-from-a-file"}, ())]


@pytest.mark.parametrize(
    "address", ["http://ada:SECRET@127.0.0.1:9", "http://127.0.0.1:9/?token=SECRET"], ids=["password", "query"]
)
async def test_a_secret_in_the_address_of_a_provider_is_not_in_the_error(
    machine: Machine, keeper: Keeper, address: str
) -> None:
    machine.env |= {"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": address}
    choices = await ChoiceBook(Settings(), machine.env).refresh("claude", keeper)
    assert "http://127.0.0.1:9" in "\n".join(choices.problems)
    assert "SECRET" not in "\n".join(choices.problems)


@pytest.mark.parametrize("address", ["http://[half", "ada:SECRET@127.0.0.1:9"], ids=["half", "no-scheme"])
async def test_an_address_that_cannot_be_read_is_a_problem_and_not_shown(
    machine: Machine, keeper: Keeper, address: str
) -> None:
    machine.env |= {"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": address}
    choices = await ChoiceBook(Settings(), machine.env).refresh("claude", keeper)
    assert "could not be fetched" in "\n".join(choices.problems)
    assert "SECRET" not in "\n".join(choices.problems)


async def test_a_credential_does_not_follow_a_redirect_to_another_host(machine: Machine, keeper: Keeper) -> None:
    elsewhere = machine.env["ANTHROPIC_BASE_URL"].replace("127.0.0.1", "localhost")
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Redirecting, elsewhere))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        machine.env |= {"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{server.server_port}"}
        choices = await ChoiceBook(Settings(), machine.env).refresh("claude", keeper)
    finally:
        server.shutdown()
        server.server_close()
    assert "which is not given the credential" in "\n".join(choices.problems)
    assert machine.asked() == []


class Redirecting(BaseHTTPRequestHandler):
    """Sends every request to the same path of another host."""

    def __init__(self, target: str, request: socket.socket, client: tuple[str, int], server: BaseServer) -> None:
        self._target = target
        super().__init__(request, client, server)

    def do_GET(self) -> None:
        self.send_response(302)
        self.send_header("location", self._target + self.path)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the base
        """Not to the terminal."""


async def test_a_key_in_the_settings_of_codex_is_used_too(machine: Machine, keeper: Keeper) -> None:
    base = f"{machine.env['ANTHROPIC_BASE_URL']}/v1"
    section: dict[str, object] = {"env": {"OPENAI_API_KEY": "k-settings", "OPENAI_BASE_URL": base}}
    choices = await ChoiceBook(Settings(engines={"codex": section}), machine.env).refresh("codex", keeper)
    assert [model.id for model in choices.models] == ["claude-scripted"]
    assert machine.asked() == [({"authorization": "Bearer k-settings"}, ())]
