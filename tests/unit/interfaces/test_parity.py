"""The command line and the HTTP API in step: every call has a command, and every command here exists.

A new route is put into `COMMANDS` with the command that makes the call; one that only programs make goes to `ONLY_HTTP`
with the reason. `footplate api` makes any call, so that nothing is out of reach.
"""

from __future__ import annotations

import click
import pytest

from footplate.interfaces.http.app import all_routes
from footplate.main import command_line
from tests.unit.interfaces.test_help import NO_JSON

COMMANDS = {
    "GET /api/doctor": "doctor",
    "GET /api/info": "api GET",
    "GET /v1/health": "api GET",
    "GET /openapi.json": "api GET",
    "GET /metrics": "api GET",
    "GET /api/sessions": "sessions list",
    "POST /api/sessions": "sessions open",
    "GET /api/sessions/{session}": "sessions show",
    "PUT /api/sessions/{session}": "sessions open",
    "DELETE /api/sessions/{session}": "sessions delete",
    "POST /api/sessions/{session}/fork": "sessions fork",
    "POST /api/sessions/{session}/title": "sessions rename",
    "POST /api/sessions/{session}/archive": "sessions archive",
    "POST /api/sessions/{session}/close": "sessions close",
    "GET /api/sessions/{session}/export": "sessions export",
    "POST /api/sessions/{session}/prompt": "sessions prompt",
    "POST /api/sessions/{session}/interrupt": "sessions interrupt",
    "POST /api/sessions/{session}/continue": "sessions continue",
    "POST /api/sessions/{session}/mode": "sessions mode",
    "POST /api/sessions/{session}/model": "sessions model",
    "POST /api/sessions/{session}/effort": "sessions effort",
    "GET /api/sessions/{session}/events": "sessions events",
    "GET /api/sessions/{session}/ws": "attach",
    "GET /api/requests": "requests list",
    "GET /api/requests/{request}": "requests show",
    "POST /api/requests/{request}/answer": "requests answer",
    "GET /api/events": "requests watch",
    "GET /api/audit": "audit list",
    "GET /api/tokens": "tokens list",
    "POST /api/tokens": "tokens make",
    "DELETE /api/tokens/{token}": "tokens revoke",
    "GET /api/history": "history list",
    "POST /api/history/adopt": "history adopt",
    "GET /api/usage": "usage",
    "GET /api/projects": "projects list",
    "POST /api/projects": "projects add",
    "DELETE /api/projects/{alias}": "projects remove",
    "GET /api/worktrees": "worktrees list",
    "POST /api/worktrees": "run",
    "DELETE /api/worktrees": "worktrees remove",
    "POST /api/worktrees/gc": "worktrees gc",
    "GET /api/models": "models",
    "GET /api/agents": "agents list",
    "GET /api/agents/{agent}": "agents info",
    "POST /api/agents/{agent}/install": "agents install",
    "DELETE /api/agents/{agent}": "agents remove",
    "POST /api/agents/{agent}/doctor": "agents doctor",
    "GET /api/credentials": "credentials",
    "GET /v1/fs/entries": "files list",
    "GET /v1/fs/stat": "files stat",
    "GET /v1/fs/file": "files read",
    "PUT /v1/fs/file": "files write",
    "DELETE /v1/fs/entry": "files delete",
    "POST /v1/fs/mkdir": "files mkdir",
    "POST /v1/fs/move": "files move",
    "POST /v1/fs/upload-batch": "files upload",
    "GET /v1/processes": "ps list",
    "POST /v1/processes": "ps start",
    "POST /v1/processes/run": "ps run",
    "GET /v1/processes/{process}": "ps show",
    "DELETE /v1/processes/{process}": "ps remove",
    "POST /v1/processes/{process}/stop": "ps stop",
    "POST /v1/processes/{process}/kill": "ps stop",
    "GET /v1/processes/{process}/logs": "ps logs",
    "POST /v1/processes/{process}/input": "ps input",
    "GET /v1/processes/{process}/terminal/ws": "ps shell",
    "POST /v1/processes/{process}/terminal/resize": "ps shell",
}
BY_API = (
    "/api/sessions/{session}/",
    "/api/requests/answer",
    "/api/git/",
    "/api/engines",
    "/v1/agents",
    "/v1/config/",
    "/v1/processes/config",
)
"""What people do in a chat, with git itself, or in the settings: by `footplate api` and no command of its own."""
ONLY_HTTP = {
    "/": "says what this is to a browser",
    "/api/push": "only a browser can subscribe",
    "/v1/acp": "the wire of editors; `footplate acp` speaks it",
    "/v1/rpc": "the wire of editors",
    "/acp": "the wire of editors",
    "/v1/desktop/": "there is no desktop yet",
    "/ui": "the page",
    "/opencode": "the wire of another program",
}


def _unmatched() -> list[str]:
    found = []
    for route in all_routes():
        name = f"{'GET' if route.method == 'WS' else route.method} {route.path}"
        apart = route.path == "/" or any(route.path.startswith(each) for each in ONLY_HTTP if each != "/")
        if route.listed and name not in COMMANDS and not apart and not route.path.startswith(BY_API):
            found.append(name)
    return found


def test_every_call_of_the_api_has_a_command() -> None:
    assert _unmatched() == [], "name the command in COMMANDS, or say in ONLY_HTTP why there is none"


def test_no_route_is_named_that_is_not_there() -> None:
    there = {f"{'GET' if route.method == 'WS' else route.method} {route.path}" for route in all_routes()}
    assert set(COMMANDS) - there == set()


@pytest.mark.parametrize("words", sorted(set(COMMANDS.values())))
def test_every_named_command_exists_and_has_json(words: str) -> None:
    command: click.Command = command_line()
    for word in words.split():
        assert isinstance(command, click.Group)
        found = command.get_command(click.Context(command), word)
        assert found is not None, words
        command = found
    assert words in NO_JSON or "--json" in {option for param in command.params for option in param.opts}, words
    assert command.help
