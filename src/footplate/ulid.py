"""Ids that sort by time (ULID): 48 bits of milliseconds, then 80 random bits, in Crockford's base 32."""

from __future__ import annotations

import secrets
import time

ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def new_ulid() -> str:
    """A fresh id; one made in a later millisecond sorts after one made earlier."""
    return make_ulid(time.time_ns() // 1_000_000, secrets.randbits(80))


def make_ulid(milliseconds: int, random_bits: int) -> str:
    """The id of a time and 80 random bits."""
    value = milliseconds << 80 | random_bits
    return "".join(ALPHABET[(value >> shift) & 31] for shift in range(125, -1, -5))
