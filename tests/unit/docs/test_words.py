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
    "how-to/from-sandbox-agent.md",
    "how-to/python-sdk.md",
    "how-to/sandbox-agent-sdk.md",
    "explanation/architecture.md",
    "explanation/simulation.md",
)
"""The pages whose matter is the protocol, or what is built on it."""

KINDS = ("tutorials", "how-to", "explanation")
USERS = sorted(
    [
        ROOT / "README.md",
        DOCS / "README.md",
        DOCS / "reference" / "glossary.md",
        *(page for kind in KINDS for page in (DOCS / kind).glob("*.md")),
    ]
)
METHOD = re.compile(r"(?<![\w$/])session/(?:new|load|resume|prompt|update|cancel|request_permission|set_\w+)\b")
NAME = re.compile(r"\bACP\b|Agent Client Protocol|JSON-RPC")
CODE = re.compile(r"```.*?```|`[^`\n]*`|\]\([^)]*\)", re.DOTALL)
"""What is typed keeps its name, whatever that is: `footplate acp`, `[acp_agents]`; so does where a link leads."""


@pytest.mark.parametrize(
    "page",
    [page for page in USERS if page.as_posix().removeprefix(f"{DOCS}/") not in PROTOCOL],
    ids=lambda page: page.relative_to(ROOT).as_posix(),
)
def test_a_page_for_users_names_neither_the_protocol_nor_its_methods(page: Path) -> None:
    text = page.read_text()
    assert METHOD.findall(text) == []
    assert NAME.findall(CODE.sub("", text)) == []
