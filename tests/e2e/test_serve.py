"""`footplate serve` as a person or a unit file starts it: tokens, warnings, TLS, signals, a second process."""

from __future__ import annotations

import json
import signal
import ssl
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from tests.e2e.server import RunningServer, running_server

pytestmark = [pytest.mark.long, pytest.mark.timeout(180)]


def _call(server: RunningServer, path: str, token: str = "", body: object = None, url: str = "") -> tuple[int, bytes]:
    request = urllib.request.Request((url or server.url) + path)
    if token:
        request.add_header("authorization", f"Bearer {token}")
    if body is not None:
        request.add_header("content-type", "application/json")
        request.data = json.dumps(body).encode()
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=30) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as refused:
        with refused:
            return refused.code, refused.read()


def test_a_start_says_where_it_is_how_to_get_in_and_what_it_has_found(tmp_path: Path) -> None:
    with running_server(tmp_path) as server:
        assert f"{server.url}/ui/#token={server.token}" in server.output
        assert "▀" in server.output or "█" in server.output
        assert str(tmp_path / "data") in server.output
        assert "mock " in server.output
        assert _call(server, "/v1/health", server.token)[0] == 200
        assert _call(server, "/v1/health")[0] == 401
        first = server.token
        assert server.stop() == 0
    with running_server(tmp_path) as again:
        assert "#token=" not in again.output, "a token is shown once"
        assert _call(again, "/v1/health", first)[0] == 200
    stored = b"".join(path.read_bytes() for path in (tmp_path / "data").rglob("*") if path.is_file())
    assert first.encode() not in stored
    assert first.rpartition("_")[2].encode() not in stored
    with running_server(tmp_path, "--new-token") as fresh:
        assert fresh.token != first
        assert _call(fresh, "/v1/health", first)[0] == 401


def _refused(tmp_path: Path, *arguments: str) -> str:
    ran = subprocess.run(
        [sys.executable, "-m", "footplate", *arguments],
        env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "FOOTPLATE_DATA_DIR": str(tmp_path / "data")},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ran.returncode == 2, ran.stdout + ran.stderr
    return ran.stderr


def test_what_would_open_the_machine_by_accident_is_refused(tmp_path: Path) -> None:
    assert "--insecure-no-token" in _refused(tmp_path, "serve", "--host", "0.0.0.0", "--no-token")
    assert "either a token or none" in _refused(tmp_path, "serve", "--token", "x", "--no-token")
    assert "--tls-key" in _refused(tmp_path, "serve", "--tls-cert", "x")
    assert "--port" in _refused(tmp_path, "serve", "--host", "203.0.113.1", "--port", "1")
    assert "PEM" in _refused(tmp_path, "serve", "--port", "0", "--tls-cert", "/nowhere", "--tls-key", "/nowhere")


def test_launchers_get_an_open_server_with_a_loud_warning(tmp_path: Path) -> None:
    with running_server(tmp_path, "--no-token", "--host", "0.0.0.0", "--no-telemetry", command="server") as server:
        port = server.url.rpartition(":")[2]
        assert _call(server, "/v1/health", url=f"http://127.0.0.1:{port}")[0] == 200
        assert server.stop() == 0
        assert "WARNING" in server.output


def test_a_token_of_ones_own_works_and_is_not_printed(tmp_path: Path) -> None:
    with running_server(tmp_path, env={"FOOTPLATE_TOKEN": "a-token-of-my-own"}) as server:
        assert _call(server, "/v1/health", "a-token-of-my-own")[0] == 200
        assert "a-token-of-my-own" not in server.output


def test_the_server_speaks_tls(tmp_path: Path) -> None:
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost"),
            *("-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(cert)),
        ],
        check=True,
        capture_output=True,
    )
    with running_server(tmp_path, "--tls-cert", str(cert), "--tls-key", str(key)) as server:
        assert server.url.startswith("https://")
        context = ssl.create_default_context(cafile=str(cert))
        handlers = urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context)
        with urllib.request.build_opener(*handlers).open(f"{server.url}/", timeout=30) as answer:
            assert answer.status == 200


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_streams_and_agents_and_then_the_server(tmp_path: Path, number: signal.Signals) -> None:
    with running_server(tmp_path, "--log-level", "info") as server:
        made = json.loads(_call(server, "/api/sessions", server.token, {"engine": "mock", "cwd": str(tmp_path)})[1])
        _call(server, f"/api/sessions/{made['id']}/prompt", server.token, {"content": "hang"})
        request = urllib.request.Request(f"{server.url}/api/sessions/{made['id']}/events")
        request.add_header("authorization", f"Bearer {server.token}")
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request, timeout=60) as stream:
            while b"MessageDelta" not in stream.readline():
                pass
            server.process.send_signal(number)
            rest = stream.read()
        assert server.process.wait(30) == 0
        assert rest.endswith(b"\n\n"), "the stream ended in order"
    assert "method=POST path=/api/sessions status=201" in server.output
    assert server.token not in "".join(line for line in server.lines if "level=" in line)


def test_a_chat_joins_the_sessions_of_the_server(tmp_path: Path) -> None:
    with running_server(tmp_path) as server:
        chat = subprocess.run(
            [sys.executable, "-m", "footplate", "chat", "--engine", "mock"],
            env={"HOME": str(tmp_path / "home"), "PATH": "/usr/bin:/bin", "FOOTPLATE_DATA_DIR": str(tmp_path / "data")},
            input="hello\n",
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert "mock: hello" in chat.stdout, chat.stderr
        listed = json.loads(_call(server, "/api/sessions", server.token)[1])
        assert [each["turns"] for each in listed["sessions"]] == [1]


def test_at_level_debug_every_frame_of_an_agent_is_a_line_without_its_content(tmp_path: Path) -> None:
    with running_server(tmp_path, "--log-level", "debug", env={"FOOTPLATE__HTTP__LOG": "json"}) as server:
        made = json.loads(_call(server, "/api/sessions", server.token, {"engine": "mock", "cwd": str(tmp_path)})[1])
        given = {"content": "a-word-of-the-prompt"}
        _call(server, f"/api/sessions/{made['id']}/prompt", server.token, given)
        server.wait_for(lambda lines: any('"type":"session/update agent_message_chunk"' in line for line in lines))
        assert server.stop() == 0
        frames = [json.loads(line) for line in server.lines if '"logger":"footplate.frames"' in line]
    assert {"session/prompt", "session/update agent_message_chunk"} <= {frame["type"] for frame in frames}
    prompt = next(frame for frame in frames if frame["type"] == "session/prompt")
    assert (prompt["direction"], prompt["session"]) == ("out", made["id"])
    assert prompt["bytes"] > 50
    assert "a-word-of-the-prompt" not in server.output
