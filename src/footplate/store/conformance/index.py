"""What every store must do: the index over sessions and requests."""

from __future__ import annotations

from msgspec.structs import replace

from footplate.errors import InvalidValue
from footplate.events import model as m
from footplate.events.ids import EngineSessionId, PromptId, RequestId, SessionId, TurnId
from footplate.events.requests import Allow, Request
from footplate.events.usage import Usage
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
)
from footplate.store.projection import Folding, RequestRow, SessionRow
from footplate.store.values import ARCHIVED, Page, RequestFilter, SessionFilter

STORY = SessionRow(
    session=SESSION,
    epoch=1,
    last_seq=9,
    state="waiting",
    waiting_for="you",
    title="a title",
    engine="claude",
    engine_session_id=EngineSessionId("e1"),
    cwd="/project",
    model="opus",
    created_at=1_001.0,
    updated_at=1_009.0,
    attached=True,
    turn=TurnId("t1"),
    open_requests=1,
    unfinished=True,
)
APPLIED = RequestRow(
    id=RequestId("r1"),
    session=SESSION,
    kind="permission",
    seq=5,
    opened_at=1_005.0,
    title="may I?",
    tool="Bash",
    turn=TurnId("t1"),
    state="applied",
    answer_seq=6,
    answered_by="ann",
    answered_from="web",
    answered_at=1_006.0,
    ended_at=1_007.0,
)
OPEN = RequestRow(
    id=RequestId("r2"),
    session=SESSION,
    kind="question",
    seq=8,
    opened_at=1_008.0,
    title="which one?",
    turn=TurnId("t1"),
)


class IndexConformance(Scene):
    """Rows follow the events, can be listed, and can be folded anew."""

    async def test_rows_follow_the_events(self) -> None:
        async with self.make_store(ManualClock()) as store:
            await store.claim(SESSION)
            for event in story():
                await store.append(SESSION, 1, event.seq - 1, [event])
            assert await store.projections.session(SESSION) == STORY
            assert await store.projections.requests() == Page((APPLIED, OPEN))
            assert await store.projections.request(SESSION, APPLIED.id) == APPLIED
            assert await store.projections.request(OTHER, APPLIED.id) is None
            assert await store.projections.session(OTHER) is None
            theirs = SessionFilter(engine_session=EngineSessionId("e1"))
            assert await store.projections.sessions(theirs) == Page((STORY,))
            assert (await store.projections.sessions(SessionFilter(engine_session=EngineSessionId("e2")))).items == ()

    async def test_a_process_that_goes_detaches_its_requests_and_no_other_takes_them_over(self) -> None:
        async with self.make_store(ManualClock()) as store:
            await store.claim(SESSION)
            await store.append(SESSION, 1, 0, [*story(), envelope(10, m.EngineDetached(reason="killed"))])
            row = await store.projections.request(SESSION, OPEN.id)
            assert row is not None
            assert (row.state, row.detached) == ("open", True)
            again = m.EngineAttached(
                engine="claude", engine_session_id=EngineSessionId("e1"), reason="reattached", model="opus"
            )
            await store.append(SESSION, 1, 10, [envelope(11, again)])
            found = await store.projections.requests(RequestFilter(detached=True, states=("open",)))
            assert [each.id for each in found.items] == [OPEN.id]

    async def test_turns_and_their_cost_are_added_up(self) -> None:
        async with self.make_store(ManualClock()) as store:
            await store.claim(SESSION)
            ends = [
                envelope(seq, m.TurnEnded(turn=TurnId(f"t{seq}"), ok=True, usage=Usage(cost_usd=cost)))
                for seq, cost in enumerate((0.25, None, 0.5), 1)
            ]
            await store.append(SESSION, 1, 0, ends)
            row = await store.projections.session(SESSION)
            assert row is not None
            assert (row.turns, row.cost_usd) == (3, 0.75)

    async def test_sessions_are_listed_latest_first_by_page_and_filter(self) -> None:
        async with self.make_store(ManualClock()) as store:
            names = await _five_sessions(store)
            listed = store.projections.sessions
            first = await listed(limit=2)
            second = await listed(limit=2, after=first.after)
            third = await listed(limit=2, after=second.after)
            pages = [[row.session for row in page.items] for page in (first, second, third)]
            assert pages == [[names[4], names[3]], [names[2], names[1]], [names[0]]]
            assert third.after is None
            closed = await listed(SessionFilter(states=("closed", "failed")))
            assert [row.session for row in closed.items] == [names[4], names[0]]
            assert [row.session for row in (await listed(SessionFilter(engine="codex"))).items] == [names[3], names[1]]
            assert [row.session for row in (await listed(SessionFilter(cwd="/2"))).items] == [names[2]]
            assert (await listed(SessionFilter(asking=True))).items == ()
            assert await store.projections.count_states() == {"closed": 2, "idle": 3}
            await refused(InvalidValue, listed(after="somewhere"))

    async def test_any_event_makes_a_session_the_latest(self) -> None:
        async with self.make_store(ManualClock()) as store:
            for session in (SESSION, OTHER):
                await store.claim(session)
                await store.append(session, 1, 0, story(session))
            await store.append(SESSION, 1, 9, notices(10, 3))
            moved = replace(STORY, last_seq=12, updated_at=1_012.0)
            assert await store.projections.session(SESSION) == moved
            first = await store.projections.sessions(limit=1)
            assert first.items == (moved,)
            assert [row.session for row in (await store.projections.sessions(after=first.after)).items] == [OTHER]
            await store.claim(SESSION)
            await store.append(SESSION, 2, 12, [envelope(13, m.TitleChanged(title="new"), epoch=2)])
            assert await store.projections.session(SESSION) == replace(
                STORY, epoch=2, last_seq=13, updated_at=1_013.0, title="new"
            )

    async def test_archived_sessions_are_listed_apart(self) -> None:
        async with self.make_store(ManualClock()) as store:
            names = await _five_sessions(store)
            archived = store.documents(ARCHIVED)
            await archived.put(names[1], b"")
            await archived.put(names[3], b"")
            await archived.put(SESSION, b"")
            await archived.delete(names[3])
            for _ in range(2):
                apart = (await store.projections.sessions(SessionFilter(archived=True))).items
                assert [(row.session, row.archived) for row in apart] == [(names[1], True)]
                rest = await store.projections.sessions(SessionFilter(archived=False, engine="codex"))
                assert [(row.session, row.archived) for row in rest.items] == [(names[3], False)]
                both = await store.projections.sessions(SessionFilter(states=("idle", "closed")), limit=3)
                assert [row.session for row in both.items] == [names[4], names[3], names[2]]
                row = await store.projections.session(names[1])
                assert row is not None
                assert row.archived
                await store.rebuild_projections()
            await begin(store, 1)
            assert len((await store.projections.sessions(SessionFilter(archived=True))).items) == 2

    async def test_a_text_is_found_in_title_folder_and_id(self) -> None:
        async with self.make_store(ManualClock()) as store:
            names = await _five_sessions(store)

            async def found(text: str) -> list[SessionId]:
                return [row.session for row in (await store.projections.sessions(SessionFilter(text=text))).items]

            assert await found("list3") == [names[3]]
            assert await found("01j0LIST") == [*reversed(names)]
            assert await found("/2") == [names[2]]
            assert await found("nowhere") == await found("%") == await found("_") == await found("/2%") == []
            await store.claim(names[2])
            renamed = m.TitleChanged(title="100% der STRASSE: foo_bar")
            await store.append(names[2], 2, 4, [envelope(5, renamed, session=names[2], epoch=2)])
            for text in ("100%", "straße", "STRASSE", "foo_bar", "f", "%", "_b"):
                assert await found(text) == [names[2]], text
            assert await found("fooxbar") == []
            lines = [line async for line in store.export(names[2])]
            await store.delete_session(names[2])
            assert await found("foo_bar") == []
            await store.import_(lines)
            assert await found("foo_bar") == [names[2]]
            await store.rebuild_projections()
            assert await found("foo_bar") == [names[2]]

    async def test_a_session_with_work_left_is_found_by_a_service_that_starts(self) -> None:
        async with self.make_store(ManualClock()) as store:
            logs = _unfinished_logs()
            for name, events in logs.items():
                lease = await store.claim(SessionId(name))
                story = [envelope(seq, event, session=SessionId(name)) for seq, event in enumerate(events, 1)]
                await store.append(SessionId(name), lease.epoch, 0, story)
            for _ in range(2):
                first = await store.projections.unfinished(limit=3)
                second = await store.projections.unfinished(limit=3, after=first.after)
                assert second.after is None
                found = sorted(row.session for row in (*first.items, *second.items))
                assert found == sorted(name for name in logs if name.startswith("left"))
                await store.rebuild_projections()

    async def test_a_parked_session_keeps_its_time_until_its_state_changes(self) -> None:
        async with self.make_store(ManualClock()) as store:
            await begin(store)
            parked: tuple[m.Event, ...] = (m.Parked(reason="limit", until=5_000.0), m.StateChanged(state="parked"))
            await store.append(SESSION, 1, 0, [envelope(seq, event) for seq, event in enumerate(parked, 1)])
            row = await store.projections.session(SESSION)
            assert row is not None
            assert (row.state, row.until, row.unfinished) == ("parked", 5_000.0, True)
            await store.append(SESSION, 1, 2, [envelope(3, m.StateChanged(state="idle"))])
            row = await store.projections.session(SESSION)
            assert row is not None
            assert (row.until, row.unfinished) == (None, False)

    async def test_requests_are_listed_oldest_first_by_page_and_filter(self) -> None:
        async with self.make_store(ManualClock()) as store:
            for session in (OTHER, SESSION):
                await store.claim(session)
                await store.append(session, 1, 0, story(session))
            listed = store.projections.requests
            first = await listed(limit=3)
            second = await listed(limit=3, after=first.after)
            found = [(row.session, row.id) for row in (*first.items, *second.items)]
            assert found == [(OTHER, "r1"), (SESSION, "r1"), (OTHER, "r2"), (SESSION, "r2")]
            assert await listed(RequestFilter(session=SESSION, states=("open", "answered"))) == Page((OPEN,))
            assert await listed(RequestFilter(session=SESSION, kinds=("permission",))) == Page((APPLIED,))
            asking = await store.projections.sessions(SessionFilter(asking=True))
            assert len(asking.items) == 2

    async def test_the_index_folded_anew_is_the_same(self) -> None:
        async with self.make_store(ManualClock()) as store:
            await _five_sessions(store)
            await begin(store)
            await store.append(SESSION, 1, 0, story()[:6])
            before = await store.projections.sessions(), await store.projections.requests()
            assert await store.rebuild_projections() == 6
            assert (await store.projections.sessions(), await store.projections.requests()) == before
            await store.append(SESSION, 1, 6, story()[6:])
            folding = Folding(SESSION)
            folding.add(story())
            assert await store.projections.session(SESSION) == folding.index.session == STORY
            assert (await store.projections.requests()).items == folding.requests == (APPLIED, OPEN)
            first = _latest(await store.projections.sessions(limit=1))
            await store.rebuild_projections()
            await store.append(SESSION, 1, 9, [envelope(10, m.Notice(level="info", text="late"))])
            assert (first, _latest(await store.projections.sessions(limit=1))) == (SESSION, SESSION)
            await store.rebuild_projections()
            other = SessionId("01J0LIST0")
            await store.append(
                other, 1, 2, [replace(envelope(3, m.Notice(level="info", text="x"), session=other), time=2e3)]
            )
            assert _latest(await store.projections.sessions(limit=1)) == other


def _latest(page: Page[SessionRow]) -> SessionId:
    return page.items[0].session


def _unfinished_logs() -> dict[str, tuple[m.Event, ...]]:
    """Sessions by name: those whose names begin with `left` have work that the next service must see to."""
    attached = m.EngineAttached(engine="claude", engine_session_id=EngineSessionId("e1"))
    started = m.TurnStarted(turn=TurnId("t1"), prompts=(PromptId("p1"),))
    queued = m.PromptQueued(prompt=PromptId("p1"), content=())
    gone = m.EngineDetached(reason="killed")
    first, second = (
        m.RequestOpened(request=Request(id=RequestId(name), kind="permission", title="may I?")) for name in ("r1", "r2")
    )
    answered = m.RequestAnswered(request=RequestId("r1"), answer=Allow(), by="ann", surface="web")
    ended = m.TurnEnded(turn=TurnId("t1"), ok=True)
    return {
        "left-attached": (attached,),
        "left-in-turn": (attached, started, gone),
        "left-answered": (attached, started, first, second, gone, answered),
        "left-waiting": (queued,),
        "left-parked": (m.Parked(reason="limit", until=5_000.0), m.StateChanged(state="parked")),
        "asking": (attached, started, first, gone),
        "begun": (queued, attached, started, ended, gone),
        "withdrawn": (queued, m.PromptWithdrawn(prompt=PromptId("p1"))),
        "closed": (attached, queued, m.SessionClosed()),
        "idle": (attached, started, ended, gone, m.StateChanged(state="idle")),
    }


async def _five_sessions(store: Store) -> list[SessionId]:
    names = [SessionId(f"01J0LIST{number}") for number in range(5)]
    for number, name in enumerate(names):
        lease = await store.claim(name)
        opened = m.SessionOpened(engine="codex" if number % 2 else "claude", cwd=f"/{number}")
        last: m.Event = m.SessionClosed() if number in (0, 4) else m.StateChanged(state="idle")
        rest = [m.Notice(level="info", text="x") for _ in range(number)]
        events = [envelope(seq, event, session=name) for seq, event in enumerate((opened, *rest, last), 1)]
        await store.append(name, lease.epoch, 0, events)
    return names
