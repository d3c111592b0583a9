"""What every store must do: retention, deletion, export and import, checks."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

import msgspec

from footplate.errors import CursorLost, InvalidValue, UnknownSession
from footplate.events import model as m
from footplate.store.base import Store
from footplate.store.conformance.scene import (
    OTHER,
    SESSION,
    ManualClock,
    Scene,
    begin,
    envelope,
    notices,
    refused,
    story,
    within,
)
from footplate.store.projection import SessionRow
from footplate.store.values import SESSION_DOCUMENTS, Lease, Retained, RetentionPolicy

_DELETED = b'"deleted":"%s","cwd":"/project"}' % SESSION.encode()


def _record_deletion(row: SessionRow) -> bytes:
    return msgspec.json.encode({"deleted": row.session, "cwd": row.cwd})


class UpkeepConformance(Scene):
    """Nothing goes that should stay, and what leaves a store can come back."""

    async def test_retention_keeps_what_the_policy_keeps(self) -> None:
        clock = ManualClock()
        async with self.make_store(clock) as store:
            await begin(store, 20)
            await store.append(SESSION, 1, 20, [envelope(21, m.SessionClosed())])
            clock.now += 10**9
            assert await store.retain(RetentionPolicy()) == Retained()
            assert await store.last_seq(SESSION) == 21

    async def test_closed_sessions_go_when_they_are_old_enough(self) -> None:
        clock = ManualClock(1_000.0)
        async with self.make_store(clock) as store:
            await begin(store, 5)
            await store.append(SESSION, 1, 5, [envelope(6, m.SessionClosed())])
            await begin(store, 5, session=OTHER)
            policy = RetentionPolicy(closed_sessions_age_s=100.0)
            await store.append(SESSION, 1, 6, notices(7, 3))
            clock.now = 1_009.0 + 100
            assert (await store.retain(policy)).sessions == 0
            clock.now += 1
            done = await store.retain(policy)
            assert (done.sessions, done.events) == (1, 9)
            assert [row.session for row in (await store.projections.sessions()).items] == [OTHER]
            assert (await store.last_seq(SESSION), await store.last_seq(OTHER)) == (0, 5)

    async def test_a_session_that_retention_removes_leaves_an_audit_record(self) -> None:
        clock = ManualClock(1_000.0)
        async with self.make_store(clock) as store:
            await begin(store, 5, session=OTHER)
            await begin(store)
            await store.append(SESSION, 1, 0, [*story(), envelope(10, m.SessionClosed())])
            clock.now += 1_000
            policy = RetentionPolicy(closed_sessions_age_s=100.0)
            removed = 0
            while (step := await store.retain(policy, 2, record=_record_deletion)).more:
                removed += step.sessions
            assert removed + step.sessions == 1
            bodies = [row.body for row in await store.audit.read()]
            assert [body[-len(_DELETED) :] for body in bodies] == [_DELETED]

    async def test_documents_of_a_session_go_with_it(self) -> None:
        clock = ManualClock(1_000.0)
        async with self.make_store(clock) as store:
            for session in (SESSION, OTHER):
                await begin(store, 1, session=session)
                for namespace in SESSION_DOCUMENTS:
                    await store.documents(namespace).put(session, b"{}")
            await store.append(OTHER, 1, 1, [envelope(2, m.SessionClosed(), session=OTHER)])
            await store.documents("others").put(SESSION, b"{}")
            assert await store.delete_session(SESSION)
            clock.now += 10_000
            assert (await store.retain(RetentionPolicy(closed_sessions_age_s=10.0))).sessions == 1
            for namespace in SESSION_DOCUMENTS:
                assert (await store.documents(namespace).list()).items == ()
            assert len((await store.documents("others").list()).items) == 1

    async def test_a_deleted_session_is_gone_and_its_id_is_free(self) -> None:
        async with self.make_store(ManualClock()) as store:
            await store.claim(SESSION)
            await store.append(SESSION, 1, 0, story())
            await begin(store, 2, session=OTHER)
            async with aclosing(store.tail(SESSION, 9)) as tail:
                waiting = asyncio.create_task(anext(tail))
                await asyncio.sleep(0)
                assert await store.delete_session(SESSION)
                await refused(CursorLost, within(waiting))
            assert not await store.delete_session(SESSION)
            assert await store.read(SESSION) == []
            assert await store.projections.session(SESSION) is None
            assert (await store.projections.requests()).items == ()
            assert await store.claim(SESSION) == Lease(SESSION, 1, 0)
            assert await store.append(SESSION, 1, 0, notices(1, 1)) == 1
            assert await store.last_seq(OTHER) == 2

    async def test_what_is_exported_can_be_imported_and_is_the_same(self) -> None:
        async with self.make_store(ManualClock()) as store:
            await store.claim(SESSION)
            await store.append(SESSION, 1, 0, story())
            await store.claim(SESSION)
            await store.append(SESSION, 2, 9, notices(10, 600, epoch=2))
            before = await _whole(store), await store.projections.sessions(), await store.projections.requests()
            lines = [line async for line in store.export(SESSION)]
            assert len(lines) == 610
            assert all(line.endswith(b"\n") and line.count(b"\n") == 1 for line in lines)
            await refused(InvalidValue, store.import_(lines))
            await store.delete_session(SESSION)
            assert await store.import_(lines) == SESSION
            after = await _whole(store), await store.projections.sessions(), await store.projections.requests()
            assert after == before
            assert await store.claim(SESSION) == Lease(SESSION, 3, 609)
            assert await store.append(SESSION, 3, 609, notices(610, 1, epoch=3)) == 610

    async def test_an_event_of_a_later_version_survives_the_way_through_the_store(self) -> None:
        async with self.make_store(ManualClock()) as store:
            raw = b'{"seq":1,"time":5.0,"session":"%s","event":{"type":"Later","n":[1]}}' % SESSION.encode()
            title = b'{"footplate":"session","format":1,"session":"%s","events":1}' % SESSION.encode()
            await store.import_([title, b'{"schema":99,"envelope":%s}' % raw])
            (row,) = await store.read(SESSION)
            assert (row.version, row.body) == (99, raw)
            event = row.envelope().event
            assert isinstance(event, m.Unknown)
            assert (event.type, bytes(event.raw)) == ("Later", b'{"type":"Later","n":[1]}')

    async def test_an_import_is_whole_or_not_at_all(self) -> None:
        async with self.make_store(ManualClock()) as store:
            await begin(store, 700)
            lines = [line async for line in store.export(SESSION)]
            await store.delete_session(SESSION)
            for broken in (
                [],
                [b"{}"],
                lines[1:],
                lines[:-1],
                [*lines[:5], *lines[6:]],
                [*lines[:650], b'{"schema":1}', *lines[651:]],
                [lines[0].replace(b':"', b':"\xff', 1), *lines[1:]],
                [*lines[:650], lines[650].replace(b"{", b'{"raw":"\xff",', 1), *lines[651:]],
            ):
                await refused(InvalidValue, store.import_(broken))
                assert await store.last_seq(SESSION) == 0
            assert (await store.projections.sessions()).items == ()
            assert await store.import_(lines) == SESSION

    async def test_there_is_nothing_to_export_of_an_unknown_session(self) -> None:
        async with self.make_store(ManualClock()) as store, aclosing(store.export(SESSION)) as lines:
            await refused(UnknownSession, anext(lines))

    async def test_a_store_in_use_is_found_sound(self) -> None:
        async with self.make_store(ManualClock()) as store:
            await store.claim(SESSION)
            await store.append(SESSION, 1, 0, story(), durable=True)
            await store.sync()
            assert await store.check() == ()
            assert store.failed is None


async def _whole(store: Store) -> list[bytes]:
    bodies: list[bytes] = []
    while rows := await store.read(SESSION, len(bodies)):
        bodies += [row.body for row in rows]
    return bodies
