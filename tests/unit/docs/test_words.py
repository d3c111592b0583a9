"""Pages for users speak of sessions and requests, not of the protocol beneath; only its own pages do."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent.parent
DOCS = ROOT / "docs"
PROTOCOL = (
    "how-to/acp-agents.md",
    "how-to/add-an-engine.md",
    "how-to/coming-from-claude-agent-acp.md",
    "how-to/editors.md",
    "how-to/python-sdk.md",
    "how-to/sandbox-agent-sdk.md",
)
"""The pages whose matter is the protocol."""

USERS = sorted(page for kind in ("tutorials", "how-to") for page in (DOCS / kind).glob("*.md"))
METHOD = re.compile(r"(?<![\w$/])session/(?:new|load|resume|prompt|update|cancel|request_permission|set_\w+)\b")


@pytest.mark.parametrize(
    "page", [page for page in USERS if page.relative_to(DOCS).as_posix() not in PROTOCOL], ids=lambda page: page.name
)
def test_a_page_for_users_names_no_method_of_the_protocol(page: Path) -> None:
    assert METHOD.findall(page.read_text()) == []
