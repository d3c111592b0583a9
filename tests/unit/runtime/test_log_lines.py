"""Log lines: in the form that is asked for, and without secrets."""

from __future__ import annotations

import json
import logging
from typing import Literal

import pytest

from footplate.runtime.log_lines import LEVELS, LineFormatter, redact

TOKEN = "123456:AAE-abcdefghijklmnopqrstuvwxyz_0123"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (
            f"POST https://api.telegram.org/bot{TOKEN}/getUpdates",
            "POST https://api.telegram.org/bot123456:***/getUpdates",
        ),
        (f"the token {TOKEN} is wrong", "the token 123456:*** is wrong"),
        ("GET /x?access_token=abc&y=1", "GET /x?access_token=***&y=1"),
        ("key sk-ant-api03-abcdef123", "key sk-ant-***"),
        ("push with ghp_abcDEF123456 or github_pat_11ABC_def", "push with ghp_*** or github_pat_***"),
        ("AKIAIOSFODNN7EXAMPLE", "AKIA***"),
        ("at 12:30 it took 1500:20 steps", "at 12:30 it took 1500:20 steps"),
    ],
)
def test_secrets_are_taken_out(text: str, shown: str) -> None:
    assert redact(text) == shown


@pytest.mark.parametrize("form", ["logfmt", "json"])
def test_a_record_is_a_line_and_its_traceback_has_no_secret_either(form: Literal["logfmt", "json"]) -> None:
    problem = RuntimeError(f"refused: {TOKEN}")
    trouble = (RuntimeError, problem, None)
    record = logging.LogRecord("footplate.x", logging.WARNING, "x.py", 1, "update %s failed", (5,), trouble)
    line = LineFormatter(form).format(record)
    assert TOKEN not in line
    assert "refused: 123456:***" in line
    if form == "json":
        assert json.loads(line)["msg"] == "update 5 failed"
    else:
        assert ' level=warning logger=footplate.x msg="update 5 failed"' in line.splitlines()[0]


def test_libraries_that_tell_every_address_are_quiet() -> None:
    assert LEVELS["httpx"] == logging.WARNING
