"""Random logs for the store's tests: few ids, so that events meet; turns of their own, as the log promises."""

from __future__ import annotations

from hypothesis import strategies as st
from msgspec.structs import replace

from footplate.events import model as m
from footplate.events.base import ResumeToken
from footplate.events.ids import EngineSessionId, MessageId, PromptId, RequestId, SessionId, TurnId
from footplate.events.requests import Allow, Deny, Request
from footplate.events.usage import Usage

PROMPTS = st.sampled_from([PromptId("p1"), PromptId("p2")])
REQUESTS = st.sampled_from([RequestId("r1"), RequestId("r2"), RequestId("r3")])
TEXTS = st.sampled_from(["", "a", "Ünï ✓", 'quote " and \n line'])
STATES = st.sampled_from(["starting", "running", "waiting", "idle", "interrupted", "failed"])
ENGINE_IDS = st.sampled_from([EngineSessionId("e1"), EngineSessionId("e2")])
COSTS = st.sampled_from([None, 0.0, 0.25, 1.5])
UNTIL = st.sampled_from([None, 5.0])

EVENTS: st.SearchStrategy[m.Event] = st.one_of(
    st.builds(m.SessionOpened, engine=st.just("claude"), cwd=TEXTS, title=TEXTS, effort=TEXTS),
    st.builds(
        m.EngineAttached,
        engine=st.sampled_from(["claude", "codex"]),
        engine_session_id=ENGINE_IDS,
        reason=st.sampled_from(["started", "reattached"]),
        model=TEXTS,
        cwd=TEXTS,
    ),
    st.builds(m.EngineDetached, reason=TEXTS),
    st.builds(m.StateChanged, state=STATES, waiting_for=st.sampled_from(["", "you"]), until=UNTIL),
    st.builds(m.ModeChanged, mode=TEXTS),
    st.builds(m.ModelChanged, model=TEXTS),
    st.builds(m.EffortChanged, effort=TEXTS),
    st.builds(m.TitleChanged, title=TEXTS),
    st.builds(m.SessionClosed, reason=TEXTS),
    st.builds(m.Parked, reason=TEXTS, until=UNTIL),
    st.builds(m.PromptQueued, prompt=PROMPTS, content=st.just(()), position=st.sampled_from([0, 1])),
    st.builds(m.PromptWithdrawn, prompt=PROMPTS),
    st.builds(m.PromptSteered, prompt=PROMPTS),
    st.builds(m.UserMessage, message=st.just(MessageId("m")), content=st.just(()), prompt=st.none() | PROMPTS),
    st.builds(m.TurnStarted, turn=st.just(TurnId("")), prompts=st.tuples(PROMPTS)),
    st.builds(
        m.TurnEnded,
        turn=st.just(TurnId("")),
        ok=st.booleans(),
        prompts=st.just(()) | st.tuples(PROMPTS),
        usage=st.none() | st.builds(Usage, cost_usd=COSTS),
        resume=st.none() | st.builds(ResumeToken, engine=st.just("claude"), value=ENGINE_IDS),
    ),
    st.builds(
        m.RequestOpened,
        request=st.builds(Request, id=REQUESTS, kind=st.sampled_from(["permission", "question", "plan"]), title=TEXTS),
    ),
    st.builds(m.RequestAnswered, request=REQUESTS, answer=st.sampled_from([Allow(), Deny()]), by=TEXTS, surface=TEXTS),
    st.builds(m.RequestApplied, request=REQUESTS),
    st.builds(m.RequestRejected, request=REQUESTS, reason=TEXTS),
    st.builds(m.RequestWithdrawn, request=REQUESTS, reason=TEXTS),
    st.builds(m.RequestUnanswered, request=REQUESTS),
    st.builds(m.Notice, level=st.just("info"), text=TEXTS),
)


def number(session: SessionId, events: list[m.Event], *, start: int = 1) -> list[m.Envelope]:
    """The events in their envelopes; each turn gets an id of its own, and the one that ends is the one that runs."""
    numbered: list[m.Envelope] = []
    turn = TurnId("t0")
    for seq, given in enumerate(events, start):
        event = given
        if isinstance(given, m.TurnStarted):
            turn = TurnId(f"t{seq}")
            event = m.TurnStarted(turn=turn, prompts=given.prompts)
        elif isinstance(given, m.TurnEnded):
            event = replace(given, turn=turn)
            turn = TurnId(f"t{seq} next")
        numbered.append(m.Envelope(seq=seq, time=1_000.0 + seq, session=session, event=event))
    return numbered
