"""Commands and the answers to them: what becomes of a prompt, a mode, files, and a refusal."""

from __future__ import annotations

import msgspec
import pytest

from footplate.engines.base import Reply
from footplate.errors import InvalidValue
from footplate.events import commands as c
from footplate.events import facts as f
from footplate.events.commands import Command
from footplate.events.content import TextBlock
from footplate.events.ids import MessageId, PromptId, TaskId
from footplate.events.model import (
    ConfigChanged,
    EngineAttached,
    Event,
    FilesRewound,
    ModeChanged,
    ModelChanged,
    PromptWithdrawn,
    TaskStarted,
)
from tests.unit.engines.claude.dialogue import Dialogue

FIRST = PromptId("3f1f1f3e-0000-4000-8000-000000000001")
SECOND = PromptId("second")


def told(events: list[Event]) -> list[Event]:
    """The events but the whole list of choices, which has tests of its own."""
    return [event for event in events if not isinstance(event, ConfigChanged)]


def send(dialogue: Dialogue, *prompts: PromptId) -> None:
    for prompt in prompts:
        sent = dialogue.command(c.SendPrompt(key=prompt, prompt=prompt, content=(TextBlock(text="hi"),)))
        assert sent.replies == (Reply(key=prompt),)


@pytest.mark.parametrize(
    ("command", "response", "events"),
    [
        (c.SetMode(key="k", mode="plan"), {"mode": "plan"}, [ModeChanged(mode="plan")]),
        (c.SetMode(key="k", mode="manual"), None, [ModeChanged(mode="default")]),
        (c.SetModel(key="k", model="haiku"), {"model": "haiku-4"}, [ModelChanged(model="haiku-4")]),
        (c.SetModel(key="k", model="haiku"), None, []),
        (c.SetEffort(key="k", effort="max"), None, []),
        (c.Rename(key="k", title="T"), None, []),
    ],
)
def test_a_choice_is_in_force_once_the_cli_says_so(command: Command, response: object, events: list[Event]) -> None:
    dialogue = Dialogue()
    assert dialogue.command(command).replies == ()
    reaction = dialogue.answers(response)
    assert told(reaction.events) == events
    assert reaction.replies == (Reply(key="k"),)


def test_a_choice_shows_among_the_choices() -> None:
    dialogue = Dialogue()
    dialogue.begin()
    dialogue.answers({"models": [{"value": "default", "supportedEffortLevels": ["low", "max"]}]})
    dialogue.command(c.SetEffort(key="k", effort="max"))
    [config] = dialogue.answers().events
    assert isinstance(config, ConfigChanged)
    assert [(option.id, option.value) for option in config.options] == [
        ("mode", "default"),
        ("model", "default"),
        ("effort", "max"),
    ]


def test_a_refusal_is_a_reply_with_the_words_of_the_cli_and_the_mode_stays() -> None:
    dialogue = Dialogue("2.1.197")
    dialogue.command(c.SetMode(key="k", mode="bypassPermissions"))
    reaction = dialogue.answers(error="Cannot set permission mode")
    assert reaction.events == []
    assert reaction.replies == (Reply(key="k", error="set_permission_mode: Cannot set permission mode"),)


def test_a_request_that_the_cli_does_not_know_is_explained_by_its_version() -> None:
    dialogue = Dialogue("2.1.197")
    dialogue.command(c.Rename(key="k", title="T"))
    [reply] = dialogue.answers(error="Unsupported control request subtype: rename_session").replies
    assert "this is 2.1.197" in reply.error


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (c.SetMode(key="k", mode="nonsense"), "one of default, acceptEdits"),
        (c.SetEffort(key="k", effort="lots"), "one of low, medium"),
        (c.StopTask(key="k", task=TaskId("gone")), "a task that runs"),
    ],
)
def test_what_the_cli_would_say_yes_to_without_doing_it_is_refused_here(command: Command, expected: str) -> None:
    with pytest.raises(InvalidValue, match=expected):
        Dialogue().command(command)


def test_a_task_that_runs_is_listed_and_stopped() -> None:
    dialogue = Dialogue()
    started = {"type": "system", "subtype": "task_started", "task_id": "b1", "session_id": "s", "is_backgrounded": True}
    assert [type(event) for event in dialogue.says(started).events] == [EngineAttached, TaskStarted]
    [reply] = dialogue.query("tasks").replies
    assert reply.result is not None
    assert msgspec.json.decode(reply.result, type=f.Tasks) == f.Tasks(
        tasks=(f.TaskInfo(task=TaskId("b1"), background=True),)
    )
    dialogue.command(c.StopTask(key="k", task=TaskId("b1")))
    assert dialogue.request() == {"subtype": "stop_task", "task_id": "b1"}
    assert dialogue.answers({}).replies == (Reply(key="k"),)


@pytest.mark.parametrize("lifecycle_first", [True, False])
def test_a_prompt_that_is_taken_back_is_told_once(lifecycle_first: bool) -> None:
    dialogue = Dialogue()
    send(dialogue, FIRST)
    dialogue.command(c.WithdrawPrompt(key="k", prompt=FIRST))
    cancelled = {"type": "command_lifecycle", "command_uuid": FIRST, "state": "cancelled"}
    events = dialogue.says(cancelled).events if lifecycle_first else []
    reaction = dialogue.answers({"cancelled": True})
    events += reaction.events
    events += [] if lifecycle_first else dialogue.says(cancelled).events
    assert [event.prompt for event in events if isinstance(event, PromptWithdrawn)] == [FIRST]
    assert reaction.replies == (Reply(key="k"),)


def test_a_prompt_that_waits_no_more_cannot_be_taken_back() -> None:
    dialogue = Dialogue()
    dialogue.command(c.WithdrawPrompt(key="k", prompt=FIRST))
    [reply] = dialogue.answers({"cancelled": False}).replies
    assert "does not wait any more" in reply.error


def test_an_interrupt_tells_what_still_waits() -> None:
    dialogue = Dialogue()
    send(dialogue, FIRST, SECOND)
    dialogue.command(c.WithdrawPrompt(key="w", prompt=SECOND))
    second = dialogue.request()
    assert isinstance(second, dict)
    dialogue.command(c.Interrupt(key="k"))
    [reply] = dialogue.answers({"still_queued": [FIRST, second["message_uuid"]]}).replies
    assert reply.result is not None
    assert msgspec.json.decode(reply.result, type=f.Interrupted) == f.Interrupted(still_queued=(FIRST, SECOND))


def test_an_older_cli_is_made_to_drop_what_waits_one_by_one() -> None:
    dialogue = Dialogue("2.1.197")
    send(dialogue, FIRST, SECOND)
    dialogue.command(c.Interrupt(key="k", withdraw_queued=True))
    assert [request["subtype"] for request in _requests(dialogue)] == [
        "cancel_async_message",
        "cancel_async_message",
        "interrupt",
    ]
    events = [*dialogue.answers({"cancelled": True}, at=0).events, *dialogue.answers({"cancelled": False}, at=1).events]
    assert events == [PromptWithdrawn(prompt=FIRST, reason="taken back")]
    [reply] = dialogue.answers(at=2).replies
    assert reply.key == "k"


def test_files_are_put_back_after_a_look_at_which() -> None:
    dialogue = Dialogue()
    rewind = c.Rewind(key="k", message=MessageId(FIRST))
    dialogue.command(rewind)
    looked = dialogue.answers({"canRewind": True, "filesChanged": ["/a"], "insertions": 1, "deletions": 2})
    assert (looked.events, looked.replies) == ([], ())
    assert dialogue.request() == {"subtype": "rewind_files", "user_message_id": FIRST}
    done = dialogue.answers({"canRewind": True})
    assert done.events == [FilesRewound(message=MessageId(FIRST), files=("/a",))]
    assert [reply.key for reply in done.replies] == ["k"]


def test_a_look_alone_puts_nothing_back() -> None:
    dialogue = Dialogue()
    dialogue.command(c.Rewind(key="k", message=MessageId(FIRST), dry_run=True))
    looked = dialogue.answers({"canRewind": True, "filesChanged": ["/a"]})
    assert (looked.events, looked.frames) == ([], ())
    [reply] = looked.replies
    assert reply.result is not None
    assert msgspec.json.decode(reply.result, type=f.RewindResult) == f.RewindResult(possible=True, files=("/a",))


def test_files_that_cannot_be_put_back_are_a_refusal_with_the_reason() -> None:
    dialogue = Dialogue()
    dialogue.command(c.Rewind(key="k", message=MessageId(FIRST)))
    reaction = dialogue.answers({"canRewind": False, "error": "File rewinding is not enabled."})
    assert reaction.replies == (Reply(key="k", error="rewind_files: File rewinding is not enabled."),)
    assert reaction.frames == ()


def test_an_answer_to_nothing_that_we_asked_is_ignored() -> None:
    dialogue = Dialogue()
    echo = {"type": "control_response", "response": {"subtype": "success", "request_id": "theirs", "response": {}}}
    reaction = dialogue.says(echo, {"type": "control_response"}, {"type": "control_response", "response": 7})
    assert (reaction.events, reaction.replies) == ([], ())


def _requests(dialogue: Dialogue) -> list[dict[str, object]]:
    requests = [frame["request"] for frame in dialogue.asked]
    return [request for request in requests if isinstance(request, dict)]
