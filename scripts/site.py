"""Hooks of the documentation's site: links that leave `docs/` lead to the repository's own files as text."""

from __future__ import annotations

import re
from typing import Final

OUTSIDE: Final = re.compile(r"\]\((?:\.\./)+(?=(?:examples|src|tests|bench|web|README|CHANGELOG))([^)\s]+)\)")


def on_page_markdown(markdown: str, **_: object) -> str:
    """A link to a file outside of the site becomes its path."""
    return OUTSIDE.sub(lambda found: f"] (`{found[1]}`)", markdown)
