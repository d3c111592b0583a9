"""The tape of a connection: what readers share, and what each of them is given by its own place."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from footplate.runtime.acp import tape as tapes
from footplate.runtime.acp.tape import Batch, Gap, Message, Tape, TapeReader
from footplate.store.memory import MemoryStore
from footplate.store.memory_journal import MemoryJournal
from footplate.tasks import Tasks

DEADLINE_S = 30


@pytest.fixture
async def tape() -> Tape:
    return await Tape.open(MemoryStore().journal("acp/test"))


async def say(tape: Tape, *texts: str, stream: str = "") -> None:
    await tape.write([Message(text.encode(), stream) for text in texts])


async def given(reader: TapeReader) -> Batch:
    async with asyncio.timeout(DEADLINE_S):
        found = await reader.next()
    assert found is not None
    return found


def numbered(found: Batch) -> list[tuple[int, bytes]]:
    return [(each.number, each.body) for each in found.messages]


async def test_readers_at_the_same_place_share_what_comes_next(tape: Tape) -> None:
    await say(tape, "a", "b")
    one, other = tape.reader(0), tape.reader(0)
    first, second = await given(one), await given(other)
    assert first is second
    assert numbered(first) == [(1, b"a"), (2, b"b")]
    await say(tape, "c")
    assert await given(one) is await given(other)
    one.close()
    other.close()


async def test_a_reader_from_elsewhere_gets_what_follows_its_own_number(tape: Tape) -> None:
    await say(tape, "a", "b", "c")
    readers = [tape.reader(after) for after in range(3)]
    assert [numbered(await given(reader)) for reader in readers] == [
        [(1, b"a"), (2, b"b"), (3, b"c")],
        [(2, b"b"), (3, b"c")],
        [(3, b"c")],
    ]
    for reader in readers:
        reader.close()


class EarlyJournal(MemoryJournal):
    """A journal whose appends are visible some time before they return, as those of a database are."""

    def __init__(self, store: MemoryStore) -> None:
        plain = store.journal("acp/test")
        super().__init__("acp/test", plain._journals, plain._bells, plain._clock)
        self.stored = asyncio.Event()
        self.returns = asyncio.Event()

    async def append(self, bodies: Sequence[bytes], *, durable: bool = False) -> int:
        last = await super().append(bodies, durable=durable)
        self.stored.set()
        await self.returns.wait()
        return last


@pytest.mark.parametrize("names_run", [False, True])
async def test_a_reader_that_returns_with_a_number_still_being_stored_has_missed_nothing(*, names_run: bool) -> None:
    journal = EarlyJournal(MemoryStore())
    tape = await Tape.open(journal)
    writing = asyncio.create_task(say(tape, "a"))
    await journal.stored.wait()
    first = tape.reader(0)
    had = await given(first)
    assert numbered(had) == [(1, b"a")]
    first.close()
    again = tape.reader(1, run=had.messages[0].run if names_run else None)
    following = asyncio.create_task(given(again))
    await asyncio.sleep(0)
    journal.returns.set()
    await writing
    await say(tape, "b")
    found = await following
    assert found.gap is None
    assert numbered(found) == [(2, b"b")]
    again.close()


async def test_a_reader_of_one_stream_is_given_no_other(tape: Tape) -> None:
    all_of_it, own = tape.reader(0), tape.reader(0, stream="s")
    await say(tape, "a")
    await say(tape, "b", stream="s")
    assert numbered(await given(all_of_it)) == [(1, b"a"), (2, b"b")]
    assert numbered(await given(own)) == [(2, b"b")]
    all_of_it.close()
    own.close()


async def test_what_is_no_longer_in_memory_is_read_from_the_journal(
    tape: Tape, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tapes, "KEPT_BYTES", 2)
    await say(tape, "a", "b", "c", "d")
    late, prompt = tape.reader(0), tape.reader(3)
    assert numbered(await given(late)) == [(1, b"a"), (2, b"b"), (3, b"c"), (4, b"d")]
    assert numbered(await given(prompt)) == [(4, b"d")]
    late.close()
    prompt.close()


async def test_a_number_that_was_never_given_out_is_told_as_a_gap(tape: Tape) -> None:
    await say(tape, "a")
    reader = tape.reader(5)
    assert (await given(reader)).gap == Gap(first=2, last=5)
    await say(tape, "b")
    assert numbered(await given(reader)) == [(2, b"b")]
    reader.close()


async def test_a_tape_that_is_closed_ends_its_readers_when_they_have_everything(tape: Tape) -> None:
    reader = tape.reader(0)
    await say(tape, "a")
    tape.close()
    assert numbered(await given(reader)) == [(1, b"a")]
    assert await reader.next() is None
    reader.close()


class SlowJournal(MemoryJournal):
    """Entries are stored at once; who appends is told when the test says so."""

    go_on: asyncio.Event

    async def append(self, bodies: Sequence[bytes], *, durable: bool = False) -> int:
        last = await super().append(bodies, durable=durable)
        await self.go_on.wait()
        return last


class SlowStore(MemoryStore):
    """A store of such journals."""

    def __init__(self) -> None:
        super().__init__()
        self.go_on = asyncio.Event()
        self.go_on.set()

    def journal(self, name: str) -> MemoryJournal:
        made = super().journal(name)
        made.__class__ = SlowJournal
        made.go_on = self.go_on  # type: ignore[attr-defined]
        return made


async def test_writes_at_the_same_time_have_numbers_of_their_own() -> None:
    store = SlowStore()
    tape = await Tape.open(store.journal("acp/test"))
    reader = tape.reader(0)
    store.go_on.clear()
    tasks = Tasks()
    for text in ("a", "b", "c"):
        tasks.spawn(say(tape, text), name=text)
    await asyncio.sleep(0)
    store.go_on.set()
    await tasks.wait()
    seen: list[tuple[int, bytes]] = []
    while len(seen) < 3:
        seen += numbered(await given(reader))
    assert seen == [(1, b"a"), (2, b"b"), (3, b"c")]
    reader.close()


async def test_a_write_whose_caller_was_cancelled_leaves_no_hole() -> None:
    """It is in the journal, as a store promises; the number after it is not given out twice."""
    store = SlowStore()
    tape = await Tape.open(store.journal("acp/test"))
    await say(tape, "a")
    reader = tape.reader(0)
    assert numbered(await given(reader)) == [(1, b"a")]
    store.go_on.clear()
    tasks = Tasks()
    tasks.spawn(say(tape, "b"), name="b")
    await asyncio.sleep(0)
    await tasks.cancel()
    store.go_on.set()
    await say(tape, "c")
    seen: list[tuple[int, bytes]] = []
    while len(seen) < 2:
        seen += numbered(await given(reader))
    assert seen == [(2, b"b"), (3, b"c")]
    assert numbered(await given(tape.replay())) == [(1, b"a"), (2, b"b"), (3, b"c")]
    reader.close()


async def test_a_reader_that_has_messages_which_a_power_cut_removed_is_told_and_sent_back() -> None:
    """The journal has lost 3 and 4 of the first run; the second gave out 3, the third 4 and 5."""
    store = MemoryStore()
    for texts in (("a", "b"), ("other c",), ("other d", "other e")):
        await say(await Tape.open(store.journal("acp/test")), *texts)
    tape = await Tape.open(store.journal("acp/test"))
    everything = (await given(tape.replay())).messages
    assert [(each.number, each.before) for each in everything] == [(1, 0), (2, 0), (3, 2), (4, 3), (5, 3)]
    one, two, three = (everything[place].run for place in (0, 2, 3))
    for after, run, parting in ((4, one, 2), (9, one, 2), (4, two, 3), (5, two, 3), (6, three, 5)):
        reader = tape.reader(after, run=run)
        assert (await given(reader)).gap == Gap(first=parting + 1, last=after)
        if parting < 5:
            assert [each.number for each in (await given(reader)).messages] == list(range(parting + 1, 6))
        reader.close()
    held: tuple[tuple[int, int | None], ...] = ((2, one), (3, two), (4, three), (4, None))
    for after, known in held:
        reader = tape.reader(after, run=known)
        found = await given(reader)
        assert (found.gap, found.messages[0].number) == (None, after + 1)
        reader.close()


async def test_a_reader_of_a_run_of_which_a_power_cut_left_nothing_is_told() -> None:
    """The next run begins at the same number: nothing but its name tells the two apart."""
    journal = MemoryStore().journal("acp/test")
    tape = await Tape.open(journal)
    await say(tape, "a", "b")
    had = (await given(tape.replay())).messages[-1]
    await journal.delete()
    tape = await Tape.open(journal)
    await say(tape, "other a", "other b", "c")
    reader = tape.reader(had.number, run=had.run)
    assert (await given(reader)).gap == Gap(first=1, last=2)
    assert numbered(await given(reader)) == [(1, b"other a"), (2, b"other b"), (3, b"c")]
    reader.close()


async def test_entries_of_older_versions_are_read_and_have_the_runs_that_these_gave_them() -> None:
    journal = MemoryStore().journal("acp/test")
    await journal.append([b"s\n{}", b"\0" + b"1\n[]"])
    tape = await Tape.open(journal)
    found = await given(tape.reader(0))
    assert [(each.stream, each.body, each.run) for each in found.messages] == [("s", b"{}", 0), ("", b"[]", 1)]
    assert [each.before for each in found.messages] == [0, 1]
    reader = tape.reader(1, run=0)
    assert (await given(reader)).gap is None
