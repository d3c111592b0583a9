"""What every store must do: raw lines."""

from __future__ import annotations

from footplate.errors import InvalidValue, WrongEpoch
from footplate.store.base import Store
from footplate.store.conformance.scene import OTHER, SESSION, ManualClock, Scene, begin, refused
from footplate.store.values import Direction, Frame, FrameQuery, RawLines, RetentionPolicy


class FrameConformance(Scene):
    """Raw lines have dense numbers of their own, are read a page at a time in either order, and go with their age."""

    async def test_raw_lines_are_read_back_with_numbers_of_their_own(self) -> None:
        async with self.make_store(ManualClock()) as store:
            await begin(store, 3)
            assert await store.append_frames(SESSION, [RawLines("in", 1.0, 1, b'{"a": 1}\nnot json \xff\n')]) == 2
            more = [RawLines("out", 1.5, 1, b"{}\n"), RawLines("err", 2.0, 3, b"\n")]
            assert await store.append_frames(SESSION, more) == 4
            page = await store.read_frames(SESSION, FrameQuery())
            assert page.frames == (
                Frame(number=1, seq=1, time=1.0, direction="in", size=8, raw=b'{"a": 1}'),
                Frame(number=2, seq=1, time=1.0, direction="in", size=10, raw=b"not json \xff"),
                Frame(number=3, seq=1, time=1.5, direction="out", size=2, raw=b"{}"),
                Frame(number=4, seq=3, time=2.0, direction="err", size=0, raw=b""),
            )
            assert (page.first, page.last, page.cursor, page.more) == (1, 4, 4, False)

    async def test_a_session_without_raw_lines_gives_an_empty_page(self) -> None:
        async with self.make_store(ManualClock()) as store:
            await begin(store, 1)
            for session in (SESSION, OTHER):
                page = await store.read_frames(session, FrameQuery(after=7))
                assert (page.frames, page.first, page.last, page.cursor, page.more) == ((), 1, 0, 7, False)
            await refused(WrongEpoch, store.append_frames(OTHER, [RawLines("in", 1.0, 0, b"x\n")]))

    async def test_a_line_that_was_cut_keeps_its_size(self) -> None:
        async with self.make_store(ManualClock()) as store:
            await begin(store, 1)
            await store.append_frames(
                SESSION, [RawLines("in", 1.0, 1, b"begin\n", 5_000), RawLines("in", 1.0, 1, b"x\n")]
            )
            page = await store.read_frames(SESSION, FrameQuery())
            assert [(frame.raw, frame.size) for frame in page.frames] == [(b"begin", 5_000), (b"x", 1)]

    async def test_raw_lines_are_read_forward_a_page_at_a_time(self) -> None:
        async with self.make_store(ManualClock()) as store:
            await _fill(store)
            numbers, after = [], 0
            while True:
                page = await store.read_frames(SESSION, FrameQuery(after=after, limit=7))
                assert len(page.frames) <= 7
                numbers += [frame.number for frame in page.frames]
                if not page.more:
                    break
                after = page.cursor
            assert numbers == list(range(1, 61))
            inner = await store.read_frames(SESSION, FrameQuery(after=9, before=13))
            assert ([frame.number for frame in inner.frames], inner.more) == ([10, 11, 12], False)

    async def test_raw_lines_are_read_backward_a_page_at_a_time(self) -> None:
        async with self.make_store(ManualClock()) as store:
            await _fill(store)
            numbers: list[int] = []
            before: int | None = None
            while True:
                page = await store.read_frames(SESSION, FrameQuery(before=before, limit=7, newest=True))
                numbers += [frame.number for frame in page.frames]
                if not page.more:
                    break
                before = page.cursor
            assert numbers == list(range(60, 0, -1))
            since = await store.read_frames(SESSION, FrameQuery(after=57, newest=True))
            assert ([frame.number for frame in since.frames], since.more) == ([60, 59, 58], False)

    async def test_raw_lines_of_one_direction_are_found_among_the_others(self) -> None:
        async with self.make_store(ManualClock()) as store:
            await _fill(store)
            for newest in (False, True):
                page = await store.read_frames(SESSION, FrameQuery(directions=("err",), newest=newest))
                order = [20, 40, 60]
                assert [frame.number for frame in page.frames] == (order[::-1] if newest else order)
                assert not page.more
            both = await store.read_frames(SESSION, FrameQuery(directions=("err", "out"), limit=3))
            assert ([frame.number for frame in both.frames], both.more) == ([10, 20, 30], True)

    async def test_a_query_that_cannot_be_answered_is_refused(self) -> None:
        async with self.make_store(ManualClock()) as store:
            await begin(store, 1)
            for query in (FrameQuery(after=-1), FrameQuery(limit=0), FrameQuery(before=0)):
                await refused(InvalidValue, store.read_frames(SESSION, query))
            for lines in (RawLines("in", 1.0, 1, b"no newline"), RawLines("in", 1.0, 1, b"a\nb\n", 9)):
                await refused(InvalidValue, store.append_frames(SESSION, [lines]))
            assert (await store.read_frames(SESSION, FrameQuery())).last == 0

    async def test_old_raw_lines_go_in_small_steps_and_the_log_stays(self) -> None:
        clock = ManualClock()
        async with self.make_store(clock) as store:
            await begin(store, 100)
            for seq in range(1, 101):
                await store.append_frames(SESSION, [RawLines("in", clock.now + seq, seq, b"x" * 10 + b"\n")])
            policy = RetentionPolicy(frames_age_s=50.0)
            clock.now += 101 + 20
            first = await store.retain(policy, 30)
            assert (first.frames, first.more) == (30, True)
            steps = [first]
            while steps[-1].more:
                steps.append(await store.retain(policy, 30))
                assert steps[-1].frames <= 30
            assert sum(step.frames for step in steps) == 70
            page = await store.read_frames(SESSION, FrameQuery())
            assert [frame.number for frame in page.frames] == list(range(71, 101))
            assert (page.first, page.last) == (71, 100)
            assert await store.last_seq(SESSION) == 100

    async def test_lines_of_a_clock_that_was_ahead_do_not_keep_later_ones(self) -> None:
        clock = ManualClock()
        async with self.make_store(clock) as store:
            await begin(store, 1)
            for _ in range(3):
                await store.append_frames(SESSION, [RawLines("in", clock.now + 1e9, 1, b"future\n")])
            for _ in range(5):
                await store.append_frames(SESSION, [RawLines("in", clock.now, 1, b"old\n")])
            clock.now += 1_000
            policy = RetentionPolicy(frames_age_s=10.0)
            await store.append_frames(SESSION, [RawLines("in", clock.now, 1, b"new\n")])
            await store.append_frames(SESSION, [RawLines("in", clock.now + 1e9, 1, b"future\n")])
            while (await store.retain(policy, 2)).more:
                pass
            kept = [(frame.number, frame.raw) for frame in (await store.read_frames(SESSION, FrameQuery())).frames]
            assert kept[-2:] == [(9, b"new"), (10, b"future")]
            assert {raw for _, raw in kept[:-2]} <= {b"future"}

    async def test_numbers_go_on_after_all_raw_lines_were_removed(self) -> None:
        clock = ManualClock()
        async with self.make_store(clock) as store:
            await begin(store, 1)
            await store.append_frames(SESSION, [RawLines("in", clock.now, 1, b"1\n2\n3\n")])
            clock.now += 1_000
            assert (await store.retain(RetentionPolicy(frames_age_s=10.0))).frames == 3
            page = await store.read_frames(SESSION, FrameQuery(after=1))
            assert (page.frames, page.first, page.last, page.more) == ((), 4, 3, False)
            assert await store.append_frames(SESSION, [RawLines("in", clock.now, 1, b"4\n")]) == 4
            page = await store.read_frames(SESSION, FrameQuery(after=1))
            assert ([frame.raw for frame in page.frames], page.first) == ([b"4"], 4)

    async def test_raw_lines_are_bounded_in_bytes_whatever_was_deleted_before(self) -> None:
        """Deleting another session must not make the lines of this one look larger than they are."""
        clock = ManualClock()
        async with self.make_store(clock) as store:
            await begin(store, 1)
            await begin(store, 1, session=OTHER)
            for seq in range(10):
                noise = b"".join(b"%d" % (seq * 1_000 + n * n) for n in range(100)) + b"\n"
                await store.append_frames(SESSION, [RawLines("in", clock.now, seq, noise)])
                await store.append_frames(OTHER, [RawLines("in", clock.now, seq, noise)])
            everything = RetentionPolicy(frames_bytes=10 * 1024)
            assert (await store.retain(everything)).frames == 0
            await store.delete_session(OTHER)
            removed = (await store.retain(RetentionPolicy(frames_bytes=1_000))).frames
            assert 0 < removed < 10
            page = await store.read_frames(SESSION, FrameQuery())
            assert [frame.number for frame in page.frames] == list(range(removed + 1, 11))
            assert (await store.retain(RetentionPolicy(frames_bytes=0))).frames == 10 - removed

    async def test_a_deleted_session_leaves_no_raw_lines(self) -> None:
        async with self.make_store(ManualClock()) as store:
            await _fill(store)
            await store.delete_session(SESSION)
            await begin(store, 1)
            assert (await store.read_frames(SESSION, FrameQuery())).last == 0
            assert await store.append_frames(SESSION, [RawLines("in", 1.0, 1, b"x\n")]) == 1


async def _fill(store: Store) -> None:
    """Sixty lines in six appends: each tenth was written to the agent, each twentieth was on its stderr."""
    await begin(store, 1)
    for first in range(1, 61, 10):
        last: Direction = "err" if (first + 9) % 20 == 0 else "out"
        lines = b"".join(b"line %d\n" % number for number in range(first, first + 9))
        end = b"line %d\n" % (first + 9)
        await store.append_frames(
            SESSION, [RawLines("in", float(first), 1, lines), RawLines(last, float(first), 1, end)]
        )
