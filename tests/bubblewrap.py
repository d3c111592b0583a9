"""Tests of the sandbox need bubblewrap: without it they are skipped aloud, and fail where the suite must be whole."""

from __future__ import annotations

import os
import shutil

import pytest

INSTALL = "bubblewrap is not installed: `apt-get install -y bubblewrap`"


def need_bubblewrap() -> None:
    """Skip the test that calls this, or fail it in CI, when there is no bubblewrap."""
    if shutil.which("bwrap") is None:
        if os.environ.get("CI"):
            pytest.fail(INSTALL)
        pytest.skip(INSTALL)
