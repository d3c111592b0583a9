"""Every trigger word, on both forms of the agent: what goes over the wire, whole messages compared."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.unit.engines.mock.harness import (
    Answer,
    Client,
    Json,
    Outcome,
    ProcessAgent,
    TaskAgent,
    stop,
    text_block,
)

CHOICES = [
    {"optionId": "allow", "name": "Allow", "kind": "allow_once"},
    {"optionId": "always", "name": "Always allow", "kind": "allow_always"},
    {"optionId": "reject", "name": "Reject", "kind": "reject_once"},
]
BASH = {
    "toolCallId": "call-1-permission",
    "title": "touch example.txt",
    "name": "Bash",
    "kind": "execute",
    "status": "pending",
    "rawInput": {"command": "touch example.txt", "description": "Make an empty file"},
}


def say(text: str, message: str = "msg-1-1", **more: object) -> Json:
    return {"sessionUpdate": "agent_message_chunk", "content": text_block(text), "messageId": message, **more}


def shown(text: str) -> list[Json]:
    return [{"type": "content", "content": text_block(text)}]


def chosen(option: str) -> Answer:
    return lambda _method, _params: {"outcome": {"outcome": "selected", "optionId": option}}


def ended(updates: Sequence[object], stop_reason: str = "end_turn") -> Outcome:
    return Outcome(updates=list(updates), asked=[], result={"stopReason": stop_reason})


@pytest.mark.parametrize(
    ("prompt", "updates"),
    [
        ("hello world", [say("mock: hello world")]),
        ("", [say("mock: ")]),
        ("Stream 3", [say("mock: Stream 3")]),
        ("slow down, please", [say("mock: slow down, please")]),
        ("stream 3", [say("chunk 0"), say("chunk 1"), say("chunk 2")]),
        ("stream 2 1", [say("chunk 0"), say("chunk 1")]),
        ("stream 0", []),
        ("slow 1", [say("slow begin"), say("slow end")]),
        ("big 5", [say("xxxxx")]),
        ("env GREETING", [say("hello there")]),
        ("env FOOTPLATE_NOT_THERE", [say("FOOTPLATE_NOT_THERE is not set")]),
        ("history", [say("no prompts so far")]),
        ("blocks", [say("1")]),
        (
            "think",
            [
                {
                    "sessionUpdate": "agent_thought_chunk",
                    "content": text_block("thinking about it"),
                    "messageId": "msg-1-1",
                },
                say("thought", "msg-1-2"),
            ],
        ),
        (
            "tool",
            [
                {
                    "sessionUpdate": "tool_call",
                    "toolCallId": "call-1-tool",
                    "title": "Read notes.txt",
                    "name": "Read",
                    "kind": "read",
                    "status": "in_progress",
                    "locations": [{"path": "/project/notes.txt"}],
                    "rawInput": {"path": "/project/notes.txt"},
                },
                {
                    "sessionUpdate": "tool_call_update",
                    "toolCallId": "call-1-tool",
                    "status": "completed",
                    "content": shown("the notes (made up by the mock agent)"),
                },
                say("tool done"),
            ],
        ),
    ],
)
def test_the_first_word_decides(client: Client, prompt: str, updates: list[object]) -> None:
    assert client.prompt(client.new_session(), prompt) == ended(updates)


def test_the_last_text_block_decides_and_blocks_counts_all_of_them(client: Client) -> None:
    link = {"type": "resource_link", "uri": "file:///a", "name": "a"}
    prompt = [text_block("hang"), link, text_block("blocks")]
    session = client.new_session()
    assert client.call("session/prompt", {"sessionId": session, "prompt": prompt}) == ended([say("3")])


def test_history_lists_the_prompts_before_this_one(client: Client) -> None:
    session = client.new_session()
    client.prompt(session, "one")
    client.prompt(session, "two")
    assert client.prompt(session, "history") == ended([say("one\ntwo", "msg-3-1")])


@pytest.mark.parametrize(("option", "status"), [("allow", "completed"), ("always", "completed"), ("reject", "failed")])
def test_permission_asks_and_does_as_it_is_told(client: Client, option: str, status: str) -> None:
    outcome = client.prompt(client.new_session(), "permission", chosen(option))
    done: Json = {"sessionUpdate": "tool_call_update", "toolCallId": "call-1-permission", "status": status}
    if status == "completed":
        done["content"] = shown("nothing was done: this is the mock agent")
    assert outcome == Outcome(
        updates=[{"sessionUpdate": "tool_call", **BASH}, done, say(f"permission: {option}")],
        asked=[{"method": "session/request_permission", "toolCall": BASH, "options": CHOICES}],
        result={"stopReason": "end_turn"},
    )


def test_a_permission_that_nobody_answers_cancels_the_turn(client: Client) -> None:
    outcome = client.prompt(client.new_session(), "permission", lambda _m, _p: {"outcome": {"outcome": "cancelled"}})
    assert outcome.updates[-1] == say("permission: cancelled")
    assert outcome.result == {"stopReason": "cancelled"}


def test_slow_can_be_cancelled(client: Client) -> None:
    session = client.new_session()
    call = client.send("session/prompt", {"sessionId": session, "prompt": [text_block("slow 600000")]})
    assert client.next()["method"] == "session/update"
    client.notify("session/cancel", {"sessionId": session})
    assert client.finish(call) == ended([say("slow cancelled")], "cancelled")


def test_a_prompt_can_be_cancelled_before_its_turn_has_begun(client: Client) -> None:
    session = client.new_session()
    call = client.send("session/prompt", {"sessionId": session, "prompt": [text_block("stream 100000000")]})
    client.notify("session/cancel", {"sessionId": session})
    assert client.finish(call).result == {"stopReason": "cancelled"}


def test_hang_answers_only_after_a_cancel(client: Client) -> None:
    session = client.new_session()
    call = client.send("session/prompt", {"sessionId": session, "prompt": [text_block("hang")]})
    assert client.next()["method"] == "session/update"
    assert client.call("session/list", {"cwd": "/nowhere"}).result == {"sessions": []}
    client.notify("session/cancel", {"sessionId": session})
    assert client.finish(call) == ended([], "cancelled")


def test_a_cancel_while_a_permission_is_open_does_not_wait_for_the_client(client: Client) -> None:
    session = client.new_session()
    call = client.send("session/prompt", {"sessionId": session, "prompt": [text_block("permission")]})
    messages = [client.next(), client.next()]
    assert messages[1]["method"] == "session/request_permission"
    client.notify("session/cancel", {"sessionId": session})
    outcome = client.finish(call)
    assert outcome.updates[-1] == say("permission: cancelled")
    assert outcome.result == {"stopReason": "cancelled"}


def test_sessions_have_turns_at_the_same_time(client: Client) -> None:
    waiting, other = client.new_session(), client.new_session()
    call = client.send("session/prompt", {"sessionId": waiting, "prompt": [text_block("hang")]})
    assert client.next()["method"] == "session/update"
    assert client.prompt(other, "hello") == ended([say("mock: hello")])
    client.notify("session/cancel", {"sessionId": waiting})
    assert client.finish(call) == ended([], "cancelled")


def test_a_second_prompt_in_a_session_waits_for_the_first(client: Client) -> None:
    session = client.new_session()
    first = client.send("session/prompt", {"sessionId": session, "prompt": [text_block("hang")]})
    second = client.send("session/prompt", {"sessionId": session, "prompt": [text_block("hello")]})
    assert client.next()["method"] == "session/update"
    client.notify("session/cancel", {"sessionId": session})
    assert client.finish(first) == ended([], "cancelled")
    assert client.finish(second) == ended([say("mock: hello", "msg-2-1")])


def test_error_fails_the_prompt(client: Client) -> None:
    assert client.prompt(client.new_session(), "error") == Outcome(
        updates=[], asked=[], error={"code": -32603, "message": "Internal error", "data": {"detail": "requested"}}
    )


def test_too_big_is_refused(client: Client) -> None:
    assert client.prompt(client.new_session(), "big 999999999").error == {
        "code": -32602,
        "message": "big takes at most 268435456",
    }


def test_garbage_is_a_line_that_is_not_json(client: Client) -> None:
    session = client.new_session()
    call = client.send("session/prompt", {"sessionId": session, "prompt": [text_block("garbage")]})
    assert client.agent.read() == b"this line is not JSON\n"
    assert client.finish(call) == ended([say("after garbage")])


def test_plan_progresses_to_its_end(client: Client) -> None:
    entries = ("Look around", "Make the change", "Check the result")

    def plan(*states: str) -> Json:
        return {
            "sessionUpdate": "plan",
            "entries": [
                {"content": entry, "priority": "medium", "status": state}
                for entry, state in zip(entries, states, strict=True)
            ],
        }

    assert client.prompt(client.new_session(), "plan") == ended(
        [
            plan("in_progress", "pending", "pending"),
            plan("completed", "in_progress", "pending"),
            plan("completed", "completed", "in_progress"),
            plan("completed", "completed", "completed"),
            say("plan done"),
        ]
    )


QUESTION = "Which colour do you like best?"
QUESTION_CALL = {
    "sessionUpdate": "tool_call",
    "toolCallId": "call-1-question",
    "title": QUESTION,
    "name": "AskUserQuestion",
    "kind": "other",
    "status": "pending",
}
FORM: Json = {
    "method": "elicitation/create",
    "message": QUESTION,
    "mode": "form",
    "toolCallId": "call-1-question",
    "requestedSchema": {
        "type": "object",
        "properties": {
            "answer": {
                "type": "string",
                "title": "Colour",
                "oneOf": [{"const": name, "title": name} for name in ("Red", "Green", "Blue")],
            }
        },
        "required": ["answer"],
    },
}


def question_ended(status: str, **more: object) -> Json:
    return {"sessionUpdate": "tool_call_update", "toolCallId": "call-1-question", "status": status, **more}


def test_question_is_a_form_and_the_answer_is_echoed(client: Client) -> None:
    answer = {"action": "accept", "content": {"answer": "Blue"}}
    assert client.prompt(client.new_session(), "question", lambda _m, _p: answer) == Outcome(
        updates=[QUESTION_CALL, question_ended("completed", content=shown("Blue")), say("question: Blue")],
        asked=[FORM],
        result={"stopReason": "end_turn"},
    )


@pytest.mark.parametrize(
    ("action", "words", "stop_reason"), [("decline", "declined", "end_turn"), ("cancel", "cancelled", "cancelled")]
)
def test_a_question_may_go_without_an_answer(client: Client, action: str, words: str, stop_reason: str) -> None:
    assert client.prompt(client.new_session(), "question", lambda _m, _p: {"action": action}) == Outcome(
        updates=[QUESTION_CALL, question_ended("failed"), say(f"question: {words}")],
        asked=[FORM],
        result={"stopReason": stop_reason},
    )


def test_a_client_without_forms_gets_the_question_as_options(own_agent: TaskAgent | ProcessAgent) -> None:
    client = Client(own_agent, forms=False)
    outcome = client.prompt(client.new_session(), "question", chosen("Green"))
    assert outcome.asked == [
        {
            "method": "session/request_permission",
            "toolCall": {"toolCallId": "call-1-question", "title": QUESTION, "kind": "other", "status": "pending"},
            "options": [
                *({"optionId": name, "name": name, "kind": "allow_once"} for name in ("Red", "Green", "Blue")),
                {"optionId": "skip", "name": "Skip the question", "kind": "reject_once"},
            ],
        }
    ]
    assert outcome.updates[-1] == say("question: Green")
    assert client.prompt(client.new_session(), "question", chosen("skip")).updates[-1] == say("question: declined")


def test_edit_shows_a_diff_and_touches_nothing(client: Client) -> None:
    diff = {"type": "diff", "path": "/project/src/a.py", "newText": "one\n2\nthree\n", "oldText": "one\ntwo\nthree\n"}
    assert client.prompt(client.new_session(), "edit src/a.py") == ended(
        [
            {
                "sessionUpdate": "tool_call",
                "toolCallId": "call-1-edit",
                "title": "Edit /project/src/a.py",
                "name": "Edit",
                "kind": "edit",
                "status": "in_progress",
                "content": [diff],
                "locations": [{"path": "/project/src/a.py"}],
            },
            {
                "sessionUpdate": "tool_call_update",
                "toolCallId": "call-1-edit",
                "status": "completed",
                "content": [diff],
            },
            say("edit done: the change of /project/src/a.py is made up, nothing was written to disk"),
        ]
    )


def test_usage_tells_context_cost_and_tokens(client: Client) -> None:
    outcome = client.prompt(client.new_session(), "usage")
    assert outcome == Outcome(
        updates=[
            {
                "sessionUpdate": "usage_update",
                "used": 1200,
                "size": 200000,
                "cost": {"amount": 0.0125, "currency": "USD"},
            },
            say("usage sent"),
        ],
        asked=[],
        result={
            "stopReason": "end_turn",
            "usage": {
                "totalTokens": 1200,
                "inputTokens": 1000,
                "outputTokens": 150,
                "thoughtTokens": 20,
                "cachedReadTokens": 50,
            },
        },
    )


def test_subagent_is_a_call_inside_a_call(client: Client) -> None:
    inside = {"footplate": {"parentToolCallId": "call-1-subagent"}}
    assert client.prompt(client.new_session(), "subagent") == ended(
        [
            {
                "sessionUpdate": "tool_call",
                "toolCallId": "call-1-subagent",
                "title": "Find the answer",
                "name": "Task",
                "kind": "think",
                "status": "in_progress",
                "rawInput": {"description": "Find the answer", "prompt": "Search the notes for 42"},
            },
            {
                "sessionUpdate": "tool_call",
                "toolCallId": "call-1-subagent-search",
                "title": "Search 42",
                "name": "Grep",
                "kind": "search",
                "status": "in_progress",
                "rawInput": {"pattern": "42", "path": "/project"},
                "_meta": inside,
            },
            {
                "sessionUpdate": "tool_call_update",
                "toolCallId": "call-1-subagent-search",
                "status": "completed",
                "content": shown("notes.txt:42"),
                "_meta": inside,
            },
            say("found it", "msg-1-1", _meta=inside),
            {
                "sessionUpdate": "tool_call_update",
                "toolCallId": "call-1-subagent",
                "status": "completed",
                "content": shown("the answer is 42"),
            },
            say("subagent done", "msg-1-2"),
        ]
    )


def answer_all(method: str, _params: Json) -> object:
    if method == "elicitation/create":
        return {"action": "accept", "content": {"answer": "Green"}}
    return {"outcome": {"outcome": "selected", "optionId": "allow"}}


def test_demo_shows_everything_and_ends_with_what_to_try(client: Client) -> None:
    outcome = client.prompt(client.new_session(), "demo", answer_all)
    kinds = {str(update["sessionUpdate"]) for update in outcome.updates if isinstance(update, dict)}
    assert kinds == {
        "agent_message_chunk",
        "agent_thought_chunk",
        "tool_call",
        "tool_call_update",
        "plan",
        "usage_update",
    }
    assert [asked["method"] for asked in outcome.asked] == ["session/request_permission", "elicitation/create"]
    texts = [
        update["content"]["text"]
        for update in outcome.updates
        if isinstance(update, dict) and update["sessionUpdate"] == "agent_message_chunk"
    ]
    assert "You chose `allow`.\n" in texts
    assert "You said: Green.\n" in texts
    assert texts[-1].startswith("That was everything a session can show.")
    assert "`crash 3`" in texts[-1]


def test_demo_ends_early_when_it_is_cancelled(client: Client) -> None:
    outcome = client.prompt(client.new_session(), "demo", lambda _m, _p: {"outcome": {"outcome": "cancelled"}})
    assert outcome.updates[-1] == say("The tour was interrupted. `demo` starts it again.", "msg-1-7")
    assert outcome.result == {"stopReason": "cancelled"}


def test_crash_ends_the_agent_in_the_middle_of_the_turn(own_agent: TaskAgent | ProcessAgent) -> None:
    client = Client(own_agent)
    session = client.new_session()
    client.send("session/prompt", {"sessionId": session, "prompt": [text_block("crash 3")]})
    assert client.next()["params"] == {"sessionId": session, "update": say("crashing")}
    assert client.agent.read() is None
    assert client.agent.wait() == 3


def test_stderr_is_a_line_there_or_a_notice_where_there_is_none(own_agent: TaskAgent | ProcessAgent) -> None:
    client = Client(own_agent)
    outcome = client.prompt(client.new_session(), "stderr")
    if isinstance(own_agent, ProcessAgent):
        own_agent.close()
        assert (own_agent.wait(), own_agent.stderr()) == (0, "mock: a line on stderr\n")
        assert outcome == ended([say("stderr written")])
    else:
        notice = {"sessionUpdate": "notice", "severity": "warning", "title": "mock: a line on stderr"}
        assert outcome == ended([notice, say("stderr written")])


def test_the_end_of_its_input_cancels_what_runs_and_ends_the_agent(own_agent: TaskAgent | ProcessAgent) -> None:
    client = Client(own_agent)
    session = client.new_session()
    first = client.send("session/prompt", {"sessionId": session, "prompt": [text_block("slow 600000")]})
    second = client.send("session/prompt", {"sessionId": session, "prompt": [text_block("hang")]})
    assert client.next()["method"] == "session/update"
    own_agent.close()
    assert client.finish(first) == ended([say("slow cancelled")], "cancelled")
    assert client.finish(second) == ended([say("hang begin", "msg-2-1")], "cancelled")
    assert client.agent.read() is None
    assert stop(own_agent) == 0
