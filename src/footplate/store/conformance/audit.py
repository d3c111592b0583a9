"""What every store must do: the audit log."""

from __future__ import annotations

import asyncio

import msgspec

from footplate.errors import InvalidValue, StoreClosed, WrongSequence
from footplate.store.base import AuditTrail
from footplate.store.chain import AuditHead, AuditRow, ChainCheck
from footplate.store.conformance.scene import SESSION, ManualClock, Scene, begin, notices, refused, within


def record(name: str) -> bytes:
    """A record that can be told from others."""
    return msgspec.json.encode({"act": "test", "name": name})


async def read_all(audit: AuditTrail) -> list[AuditRow]:
    """Every record, page by page."""
    rows: list[AuditRow] = []
    while page := await audit.read(rows[-1].number if rows else 0, 2):
        rows += page
    return rows


def names(rows: list[AuditRow]) -> list[str]:
    """The records by their names."""
    return [msgspec.json.decode(row.body)["name"] for row in rows]


class AuditConformance(Scene):
    """Records are chained in the order in which they were added, also those that come with events."""

    async def test_records_are_numbered_and_chained(self) -> None:
        async with self.make_store(ManualClock()) as store:
            assert await store.audit.head() == AuditHead()
            assert await store.audit.read() == []
            await store.audit.append([record("a"), record("b")])
            head = await store.audit.append([record("c")])
            assert head == await store.audit.head()
            rows = await read_all(store.audit)
            assert ([row.number for row in rows], names(rows)) == ([1, 2, 3], ["a", "b", "c"])
            assert rows[-1].head == head
            check = ChainCheck(expected=[head])
            check.feed(rows)
            assert check.finish() == []

    async def test_a_record_is_added_with_its_events_or_not_at_all(self) -> None:
        async with self.make_store(ManualClock()) as store:
            lease = await begin(store, 2)
            await store.append(SESSION, lease.epoch, 2, notices(3, 1), audit=[record("with")], durable=True)
            wrong = store.append(SESSION, lease.epoch, 2, notices(3, 1), audit=[record("without")], durable=True)
            await refused(WrongSequence, wrong)
            assert names(await read_all(store.audit)) == ["with"]
            assert await store.last_seq(SESSION) == 3

    async def test_a_record_is_added_with_a_deleted_session_or_not_at_all(self) -> None:
        async with self.make_store(ManualClock()) as store:
            await begin(store, 2)
            assert await store.delete_session(SESSION, audit=[record("deleted")])
            assert not await store.delete_session(SESSION, audit=[record("again")])
            assert names(await read_all(store.audit)) == ["deleted"]

    async def test_many_writers_at_once_make_one_chain(self) -> None:
        async with self.make_store(ManualClock()) as store:
            lease = await begin(store)

            async def log() -> None:
                for seq in range(1, 31):
                    await store.append(SESSION, lease.epoch, seq - 1, notices(seq, 1), audit=[record(f"event {seq}")])

            others = (store.audit.append([record(f"act {number}")]) for number in range(30))
            await asyncio.gather(log(), *others)
            rows = await read_all(store.audit)
            check = ChainCheck()
            check.feed(rows)
            assert (check.finish(), check.count) == ([], 60)
            assert [name for name in names(rows) if "event" in name] == [f"event {seq}" for seq in range(1, 31)]

    async def test_one_can_wait_for_the_next_record(self) -> None:
        async with self.make_store(ManualClock()) as store:
            await store.audit.append([record("a")])
            assert (await within(store.audit.wait(0))).number == 1
            waiting = asyncio.ensure_future(store.audit.wait(1))
            await asyncio.sleep(0)
            lease = await begin(store, 1)
            assert not waiting.done()
            await store.append(SESSION, lease.epoch, 1, notices(2, 1), audit=[record("b")])
            assert (await within(waiting)).number == 2

    async def test_the_oldest_records_can_be_cut_and_the_newest_stays(self) -> None:
        clock = ManualClock()
        async with self.make_store(clock) as store:
            for name in "abcdef":
                await store.audit.append([record(name)])
                clock.now += 10
            assert await store.audit.find_last(clock.now - 60) is None
            older = await store.audit.find_last(clock.now - 35)
            assert older is not None
            assert names([older]) == ["c"]
            assert await store.audit.cut(older.number, 2) == 2
            assert await store.audit.cut(older.number, 2) == 1
            assert await store.audit.cut(older.number, 2) == 0
            rows = await read_all(store.audit)
            assert ([row.number for row in rows], names(rows)) == ([4, 5, 6], ["d", "e", "f"])
            newest = await store.audit.find_last(clock.now + 1)
            assert newest is not None
            assert newest.number == 6
            assert await store.audit.cut(6) == 2
            assert (await store.audit.append([record("g")])).number == 7
            assert names(await read_all(store.audit)) == ["f", "g"]

    async def test_what_cannot_be_asked_for_is_refused(self) -> None:
        async with self.make_store(ManualClock()) as store:
            await refused(InvalidValue, store.audit.read(-1))
            await refused(InvalidValue, store.audit.read(0, 0))
            await refused(InvalidValue, store.audit.cut(1, 0))
            await store.close()
            await refused(StoreClosed, store.audit.append([record("a")]))
            await refused(StoreClosed, store.audit.head())
