"""What every store must do: journals and documents."""

from __future__ import annotations

import asyncio

from footplate.errors import CursorLost, InvalidValue, WrongVersion
from footplate.store.conformance.scene import ManualClock, Scene, refused
from footplate.store.values import Document, JournalEntry, JournalPage, RetentionPolicy


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

    async def test_a_deleted_journal_begins_again(self) -> None:
        async with self.make_store(ManualClock()) as store:
            journal = store.journal("c")
            await journal.append([b"a", b"b"])
            await journal.delete()
            assert await journal.read() == JournalPage(entries=(), last=0)
            assert await journal.append([b"a"]) == 1

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
