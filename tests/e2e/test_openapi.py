"""Our OpenAPI against our own server: whatever fits the document gets an answer that the document has, never a 5xx."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.server import running_server

pytestmark = pytest.mark.long
EXAMPLES = 12


def test_no_call_that_fits_the_document_breaks_the_server_or_gets_an_undocumented_answer(tmp_path: Path) -> None:
    with running_server(tmp_path) as server:
        ran = subprocess.run(
            [
                *(sys.executable, "-m", "schemathesis.cli", "run", f"{server.url}/openapi.json"),
                *("--header", f"Authorization: Bearer {server.token}"),
                *("--checks", "not_a_server_error,status_code_conformance,content_type_conformance"),
                *("--exclude-path-regex", "/events$|/install$|/desktop/|/metrics$|/command$|/config/"),
                *("--max-examples", str(EXAMPLES), "--phases", "examples,coverage,fuzzing", "--seed", "1"),
                *("--workers", "1", "--request-timeout", "20", "--generation-database", "none", "--no-color"),
            ],
            env={**os.environ, "PYTHONWARNINGS": "ignore", "HOME": str(tmp_path)},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=280,
            check=False,
        )
    assert ran.returncode == 0, ran.stdout[-6000:] + ran.stderr[-2000:]
