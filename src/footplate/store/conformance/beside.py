"""What every store must do: journals and documents."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

from footplate.errors import CursorLost, InvalidValue, StoreClosed, WrongVersion
from footplate.store.conformance.scene import ManualClock, Scene, refused, take, within
from footplate.store.values import Document, JournalEntry, JournalPage, JournalRow, Page, RetentionPolicy


class BesideConformance(Scene):
    """Journals number densely and tell what was cut; documents change only from the version that was read."""

    async def test_a_journal_numbers_what_is_written_down(self) -> None:
        clock = ManualClock()
        async with self.make_store(clock) as store:
            journal = store.journal("connection 1")
            assert await journal.append([b"a", b"b"]) == 2
            assert await store.journal("connection 1").append([b"c"], durable=True) == 3
            assert await store.journal("connection 2").append([b"x"]) == 1
            entries = tuple(JournalEntry(number, clock.now, body) for number, body in ((1, b"a"), (2, b"b"), (3, b"c")))
            assert await journal.read() == JournalPage(entries=entries, last=3)
            assert await journal.read(1, 1) == JournalPage(entries=entries[1:2], last=3)
            assert await journal.read(3) == JournalPage(entries=(), last=3)

    async def test_a_journal_that_was_never_written_is_empty(self) -> None:
        async with self.make_store(ManualClock()) as store:
            assert await store.journal("none").read() == JournalPage(entries=(), last=0)
            error = await refused(CursorLost, store.journal("none").read(4))
            assert (error.after, error.last_seq) == (4, 0)

    async def test_what_retention_cut_from_a_journal_is_told(self) -> None:
        clock = ManualClock()
        async with self.make_store(clock) as store:
            journal = store.journal("c")
            await journal.append([b"12345"] * 6)
            await store.retain(RetentionPolicy(journal_bytes=15))
            page = await journal.read(1)
            assert ([entry.number for entry in page.entries], page.last, page.lost) == ([4, 5, 6], 6, (2, 3))
            assert (await journal.read(3)).lost is None
            clock.now += 100
            assert (await store.retain(RetentionPolicy(journal_age_s=50))).journal == 3
            assert await journal.read(2) == JournalPage(entries=(), last=6, lost=(3, 6))
            assert await journal.append([b"new"]) == 7
            assert (await journal.read(6)).entries == (JournalEntry(7, clock.now, b"new"),)

    async def test_every_journal_is_cut_by_bytes_in_small_steps(self) -> None:
        async with self.make_store(ManualClock()) as store:
            journals = [store.journal(f"c{number:02}") for number in range(70)]
            await asyncio.gather(*(journal.append([b"12345"] * 6) for journal in journals))
            policy = RetentionPolicy(journal_bytes=10)
            steps = [await store.retain(policy, 40)]
            while steps[-1].more:
                steps.append(await store.retain(policy, 40))
            assert max(step.journal for step in steps) == 40
            assert sum(step.journal for step in steps) == 70 * 4
            for journal in journals:
                page = await journal.read()
                assert ([entry.number for entry in page.entries], page.last, page.lost) == ([5, 6], 6, (1, 4))

    async def test_old_entries_go_in_small_steps_and_new_ones_come_between(self) -> None:
        clock = ManualClock()
        async with self.make_store(clock) as store:
            journal = store.journal("c")
            await journal.append([b"old"] * 100)
            clock.now += 100
            removed, count = 0, 100
            policy = RetentionPolicy(journal_age_s=50)
            while (done := await store.retain(policy, 30)).more:
                assert done.journal <= 30
                removed += done.journal
                count = await journal.append([b"new"])
            assert removed + done.journal == 100
            page = await journal.read()
            assert ({entry.body for entry in page.entries}, page.last, page.lost) == ({b"new"}, count, (1, 100))
            assert [entry.number for entry in page.entries] == list(range(101, count + 1))

    async def test_a_deleted_journal_begins_again(self) -> None:
        async with self.make_store(ManualClock()) as store:
            journal, other = store.journal("c"), store.journal("d")
            await journal.append([b"a", b"b"] * 400)
            await other.append([b"x"])
            async with aclosing(journal.tail(800)) as tail:
                waiting = asyncio.create_task(anext(tail))
                await asyncio.sleep(0)
                await journal.delete()
                await refused(CursorLost, within(waiting))
            assert await journal.read() == JournalPage(entries=(), last=0)
            assert await journal.append([b"a"]) == 1
            assert [(entry.number, entry.body) for entry in (await journal.read()).entries] == [(1, b"a")]
            assert (await other.read()).last == 1

    async def test_a_journal_is_followed_page_by_page_and_then_as_it_grows(self) -> None:
        async with self.make_store(ManualClock()) as store:
            journal = store.journal("c")
            await journal.append([b"1", b"2", b"3"])
            async with aclosing(journal.tail(0, 2)) as tail:
                assert [_numbers(page) for page in await take(tail, 2)] == [[1, 2], [3]]
                waiting = asyncio.create_task(anext(tail))
                await asyncio.sleep(0)
                await store.journal("other").append([b"x"])
                assert not waiting.done()
                assert await store.journal("c").append([b"4"]) == 4
                assert _numbers(await within(waiting)) == [4]

    async def test_who_follows_from_a_number_that_is_cut_is_told(self) -> None:
        async with self.make_store(ManualClock()) as store:
            journal = store.journal("c")
            await journal.append([b"12345"] * 4)
            await store.retain(RetentionPolicy(journal_bytes=5))
            async with aclosing(journal.tail(1)) as tail:
                (page,) = await take(tail, 1)
                assert (_numbers(page), page.lost) == ([4], (2, 3))
            await store.retain(RetentionPolicy(journal_bytes=0))
            async with aclosing(journal.tail(1)) as tail:
                (page,) = await take(tail, 1)
                assert (_numbers(page), page.lost) == ([], (2, 4))
                await journal.append([b"new"])
                assert [_numbers(page) for page in await take(tail, 1)] == [[5]]
            async with aclosing(journal.tail(6)) as tail:
                await refused(CursorLost, anext(tail))
            async with aclosing(journal.tail(-1)) as tail:
                await refused(InvalidValue, anext(tail))

    async def test_many_who_follow_many_journals_get_all_of_theirs(self) -> None:
        async with self.make_store(ManualClock()) as store:
            names = [f"c{number}" for number in range(8)]

            async def follow(name: str) -> list[bytes]:
                bodies: list[bytes] = []
                async with aclosing(store.journal(name).tail()) as tail:
                    while len(bodies) < 30:
                        bodies += [entry.body for entry in (await anext(tail)).entries]
                return bodies

            async def write(name: str) -> None:
                for number in range(30):
                    await store.journal(name).append([f"{name} {number}".encode()])

            readers = [asyncio.create_task(follow(name)) for name in names for _ in range(5)]
            await asyncio.gather(*map(write, names))
            found = await within(asyncio.gather(*readers))
            assert found == [[f"{name} {number}".encode() for number in range(30)] for name in names for _ in range(5)]

    async def test_who_follows_a_journal_is_told_that_the_store_closes(self) -> None:
        async with self.make_store(ManualClock()) as store, aclosing(store.journal("c").tail()) as tail:
            waiting = asyncio.create_task(anext(tail))
            await asyncio.sleep(0)
            await store.close()
            await refused(StoreClosed, within(waiting))

    async def test_journals_are_listed_by_prefix_and_page(self) -> None:
        clock = ManualClock()
        async with self.make_store(clock) as store:
            for name in ("b/2", "a/1", "b/1", "b/3", "c"):
                await store.journal(name).append([b"12345", b"12345"])
            await store.journal("b/1").delete()
            first = await store.journals("b/", limit=1)
            assert first.items == (JournalRow(name="b/2", last=2, time=clock.now),)
            await store.retain(RetentionPolicy(journal_bytes=0))
            rest = await store.journals("b/", limit=1, after=first.after)
            assert rest == Page((JournalRow(name="b/3", last=2),))
            assert [row.name for row in (await store.journals()).items] == ["a/1", "b/2", "b/3", "c"]

    async def test_a_document_is_kept_under_its_key_and_namespace(self) -> None:
        clock = ManualClock()
        async with self.make_store(clock) as store:
            documents = store.documents("tokens")
            version = await documents.put("k", b"one")
            assert await documents.get("k") == Document(key="k", version=version, body=b"one", time=clock.now)
            assert await documents.get("other") is None
            assert await store.documents("elsewhere").get("k") is None
            assert await documents.put("k", b"two") > version
            assert await documents.delete("k")
            assert not await documents.delete("k")
            assert await documents.get("k") is None
            await refused(InvalidValue, documents.put("", b""))

    async def test_a_document_changes_only_from_the_version_that_was_read(self) -> None:
        async with self.make_store(ManualClock()) as store:
            documents = store.documents("n")
            first = await documents.put("k", b"1", expect=0)
            error = await refused(WrongVersion, documents.put("k", b"x", expect=0))
            assert (error.expected, error.actual) == (0, first)
            second = await documents.put("k", b"2", expect=first)
            await refused(WrongVersion, documents.put("k", b"x", expect=first))
            await refused(WrongVersion, documents.delete("k", expect=first))
            assert await documents.delete("k", expect=second)
            await refused(WrongVersion, documents.put("k", b"x", expect=second))

    async def test_a_version_is_never_used_twice(self) -> None:
        async with self.make_store(ManualClock()) as store:
            documents = store.documents("n")
            first = await documents.put("k", b"1")
            await documents.delete("k")
            assert await documents.put("k", b"1") > first

    async def test_of_many_who_change_a_document_at_once_one_wins(self) -> None:
        async with self.make_store(ManualClock()) as store:
            documents = store.documents("n")
            version = await documents.put("k", b"")
            calls = (documents.put("k", b"%d" % number, expect=version) for number in range(8))
            results = await asyncio.gather(*calls, return_exceptions=True)
            assert sum(isinstance(result, WrongVersion) for result in results) == 7

    async def test_documents_are_listed_by_prefix_and_page(self) -> None:
        async with self.make_store(ManualClock()) as store:
            documents = store.documents("n")
            for key in ("b/2", "a/1", "b/1", "c", "b/3", "b"):
                await documents.put(key, key.encode(), durable=False)
            first = await documents.list("b/", limit=2)
            assert [(document.key, document.body) for document in first.items] == [("b/1", b"b/1"), ("b/2", b"b/2")]
            rest = await documents.list("b/", limit=2, after=first.after)
            assert ([document.key for document in rest.items], rest.after) == (["b/3"], None)
            assert [document.key for document in (await documents.list()).items] == [
                "a/1", "b", "b/1", "b/2", "b/3", "c",
            ]  # fmt: skip


def _numbers(page: JournalPage) -> list[int]:
    return [entry.number for entry in page.entries]
