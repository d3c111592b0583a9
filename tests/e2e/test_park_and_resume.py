"""Service, keeper and agent are killed with a request open; the answer is applied after the restart, and runs once."""

from __future__ import annotations

import pytest

from footplate.events import model as m
from footplate.events.ids import RequestId, SessionId
from footplate.events.requests import Allow, Answer, Deny, Reply
from footplate.testing.messages import script, tool
from tests.e2e.hosted import Hosted
from tests.e2e.killed import BASH, PLAN, QUESTION, ask_and_die, runs, sound
from tests.e2e.world import World

pytestmark = [pytest.mark.timeout(240), pytest.mark.both_versions]


async def waits_detached(hosted: Hosted, session: SessionId, request: RequestId) -> None:
    """The request is open on every surface, and nobody runs."""
    (row,) = [row for row in await hosted.requests() if row.id == request]
    assert (row.state, row.detached) == ("open", True)
    view = await hosted.view(session)
    assert (view.state, view.waiting_for, view.attached) == ("waiting", "you", False)
    (held,) = view.requests
    assert (held.request.id, held.state, held.detached) == (request, "open", True)
    assert view.turn is not None


@pytest.mark.parametrize(
    ("prompt", "answer", "said", "mode"),
    [
        pytest.param(script(tool("Bash", BASH), "It said: $LAST"), Allow(), "It said: done", "", id="permission"),
        pytest.param(
            script(tool("Bash", BASH), "It said: $LAST"), Deny(message="not today"), "not today", "", id="refusal"
        ),
        pytest.param(
            script(tool("AskUserQuestion", QUESTION), "You said: $LAST"),
            Reply(answers={"Which colour?": "Blue"}),
            "Blue",
            "",
            id="question",
        ),
        pytest.param(script(*PLAN, "Approved: $LAST"), Allow(), "approved your plan", "plan", id="plan"),
    ],
)
async def test_an_answer_after_the_death_of_everything_is_applied_once(
    world: World, prompt: str, answer: Answer, said: str, mode: str
) -> None:
    session, request = await ask_and_die(world, prompt, mode=mode)
    async with Hosted.start(world) as hosted:
        await waits_detached(hosted, session, request.id)
        await hosted.answer(session, request.id, answer)
        ended = await hosted.ended(session)
        assert ended.ok
        assert said in ended.answer
        await hosted.see(session, m.StateChanged, lambda event: event.state == "idle")
        (closed,) = [row for row in await hosted.requests() if row.id == request.id]
        assert (closed.state, closed.detached) == ("applied", False)
        assert len([event for event in hosted.events(session) if isinstance(event, m.TurnStarted)]) == 1
        sound(hosted, session)
    assert runs(world) == (1 if answer == Allow() and not mode else 0)
