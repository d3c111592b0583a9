"""Ids of our own that sort by time: 48 bits of milliseconds, then 80 of chance, in Crockford's base 32."""

from __future__ import annotations

import secrets
import time

ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def new_ulid() -> str:
    """A fresh id; one made later sorts after one made earlier, to the millisecond."""
    value = (time.time_ns() // 1_000_000) << 80 | secrets.randbits(80)
    return "".join(ALPHABET[(value >> shift) & 31] for shift in range(125, -1, -5))
