"""Bytes for people."""

from __future__ import annotations


def render_size(size: int) -> str:
    """A size in a few characters."""
    amount = float(size)
    for unit in ("B", "kB", "MB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}"
        amount /= 1000
    return f"{amount:.1f} GB"
