from __future__ import annotations

from footplate.events.model import SCHEMA_VERSION
from footplate.store.upcast import UPCASTERS, upcast

TABLE = {1: lambda body: body + b" two", 2: lambda body: body + b" three"}


def test_every_older_schema_has_its_upcaster() -> None:
    assert set(UPCASTERS) == set(range(1, SCHEMA_VERSION))


def test_a_body_is_brought_up_step_by_step() -> None:
    assert upcast(b"one", 1, table=TABLE, to=3) == (b"one two three", 3)
    assert upcast(b"two", 2, table=TABLE, to=3) == (b"two three", 3)


def test_a_body_of_this_or_a_later_schema_stays_as_it_is() -> None:
    assert upcast(b"x", 3, table=TABLE, to=3) == (b"x", 3)
    assert upcast(b"x", 99, table=TABLE, to=3) == (b"x", 99)
