"""Our OpenAPI against our own server: whatever fits the document gets an answer that the document has, never a 5xx."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from tests.e2e.server import RunningServer, running_server

pytestmark = [pytest.mark.long, pytest.mark.timeout(400)]
LEFT_OUT = "/events$|/install$|/desktop/|/command$|/config/|/close$|/rewind$|/processes$|/processes/run$|/upload-batch$"
"""Streams have no end, installs, commands and processes do things to the machine, config is written where it is told,
and an archive cannot be generated."""


def _open_session(server: RunningServer, folder: Path) -> str:
    request = urllib.request.Request(f"{server.url}/api/sessions", method="POST")
    request.add_header("authorization", f"Bearer {server.token}")
    request.add_header("content-type", "application/json")
    request.data = json.dumps({"engine": "mock", "cwd": str(folder)}).encode()
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(request, timeout=30) as answer:
        return str(json.load(answer)["id"])


def test_no_call_that_fits_the_document_breaks_the_server_or_gets_an_undocumented_answer(tmp_path: Path) -> None:
    only_here = {"FOOTPLATE__FILES__ROOTS": f'["{tmp_path}/home"]'}  # it deletes what it can name
    with running_server(tmp_path, env=only_here) as server:
        session = _open_session(server, tmp_path)
        (tmp_path / "schemathesis.toml").write_text(f'[parameters]\n"path.session" = "{session}"\n')
        ran = subprocess.run(
            [
                *(sys.executable, "-m", "schemathesis.cli", "run", f"{server.url}/openapi.json"),
                *("--header", f"Authorization: Bearer {server.token}"),
                *("--checks", "not_a_server_error,status_code_conformance,content_type_conformance"),
                *("--exclude-path-regex", LEFT_OUT, "--exclude-operation-id", "delete_api_sessions_session"),
                *("--phases", "fuzzing", "--max-examples", "6", "--seed", "1", "--workers", "1"),
                *("--request-timeout", "20", "--generation-database", "none", "--no-color"),
            ],
            env={**os.environ, "PYTHONWARNINGS": "ignore", "HOME": str(tmp_path)},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=350,
            check=False,
        )
    assert ran.returncode == 0, ran.stdout[-6000:] + ran.stderr[-2000:]
    assert "passed" in ran.stdout
