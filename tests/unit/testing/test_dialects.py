"""The scripted model in other APIs: the same script, asked and answered as each of them has it."""

from __future__ import annotations

import json

import pytest

from footplate.testing.messages.dialect import Dialect, find_dialect
from footplate.testing.messages.prompt import script, tool
from footplate.testing.messages.reply import compose_reply
from footplate.testing.messages.script import due_step
from footplate.testing.messages.step import Step
from footplate.testing.messages.wire import HttpRequest

Json = dict[str, object]
PROMPT = script(tool("shell", {"command": "ls"}), "It said: $LAST")
GEMINI = "/v1beta/models/gemini-x:streamGenerateContent"

CHAT: Json = {
    "model": "m",
    "stream": True,
    "tools": [{"type": "function", "function": {"name": "shell"}}],
    "messages": [
        {"role": "system", "content": "You are an agent."},
        {"role": "user", "content": [{"type": "text", "text": PROMPT}]},
        {"role": "assistant", "content": None, "tool_calls": []},
        {"role": "tool", "tool_call_id": "1", "content": "a b"},
    ],
}
RESPONSES: Json = {
    "model": "m",
    "stream": True,
    "instructions": "You are an agent.",
    "tools": [{"type": "function", "name": "shell"}, {"type": "web_search"}],
    "input": [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": PROMPT}]},
        {"type": "reasoning", "summary": []},
        {"type": "function_call", "call_id": "1", "name": "shell", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "1", "output": "a b"},
    ],
}
CONTENTS: Json = {
    "tools": [{"functionDeclarations": [{"name": "shell"}]}],
    "contents": [
        {"role": "user", "parts": [{"text": PROMPT}]},
        {"role": "model", "parts": [{"functionCall": {"name": "shell", "args": {}}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "shell", "response": {"output": "a b"}}}]},
    ],
}
ALL = [("/v1/chat/completions", CHAT), ("/v1/responses", RESPONSES), (GEMINI, CONTENTS)]


def asked_by(path: str, body: Json) -> tuple[Dialect, HttpRequest]:
    dialect = find_dialect("POST", path)
    assert dialect is not None
    return dialect, HttpRequest(method="POST", path=path, key="", query={}, headers={}, body=json.dumps(body).encode())


def told(path: str, step: Step) -> list[Json]:
    """The data of every event of the answer to the step."""
    dialect, request = asked_by(path, dict(ALL)[path])
    due = due_step(dialect.read(request))
    reply = compose_reply(due.__class__(step=step, name=("x",)), model="m")
    raw = b"".join(event.encode() for event in dialect.stream(reply, step).events).decode()
    lines = [line.removeprefix("data: ") for line in raw.splitlines() if line.startswith("data: {")]
    return [json.loads(line) for line in lines]


@pytest.mark.parametrize(("path", "body"), ALL)
def test_a_conversation_reads_alike_in_every_api(path: str, body: Json) -> None:
    dialect, request = asked_by(path, body)
    asked = dialect.read(request)
    assert asked.stream
    assert "shell" in asked.tool_names
    due = due_step(asked)
    assert (due.index, due.step.text) == (1, "It said: a b")


@pytest.mark.parametrize(("path", "body"), ALL)
def test_a_request_without_tools_is_a_chore_and_uses_up_no_step(path: str, body: Json) -> None:
    dialect, request = asked_by(path, {**body, "tools": []})
    due = due_step(dialect.read(request))
    assert (due.chore, due.step.text) == ("title", "Scripted title")


def test_chat_completions_stream_text_calls_usage_and_the_end() -> None:
    step = Step(text="abcd", chunk=2, tools=[("shell", {"command": "ls"})])
    choices = [each["choices"][0] for each in told("/v1/chat/completions", step) if each["choices"]]  # type: ignore[index]
    deltas = [choice["delta"] for choice in choices]
    assert [delta.get("content") for delta in deltas] == ["", "ab", "cd", None, None]
    [call] = deltas[3]["tool_calls"]
    assert call["function"] == {"name": "shell", "arguments": '{"command":"ls"}'}
    assert choices[-1]["finish_reason"] == "tool_calls"
    assert told("/v1/chat/completions", step)[-1]["usage"]


def test_responses_stream_items_and_the_whole() -> None:
    step = Step(text="abcd", chunk=2, tools=[("shell", {"command": "ls"}), ("apply_patch", {"input": "*** Begin"})])
    events = told("/v1/responses", step)
    assert [event["type"] for event in events] == [
        "response.created",
        "response.output_item.added",
        "response.output_text.delta",
        "response.output_text.delta",
        *["response.output_item.done", "response.output_item.added"] * 2,
        "response.output_item.done",
        "response.completed",
    ]
    whole = events[-1]["response"]
    assert isinstance(whole, dict)
    assert [item["type"] for item in whole["output"]] == ["message", "function_call", "custom_tool_call"]


def test_gemini_streams_parts_and_ends_with_a_reason() -> None:
    step = Step(text="abcd", chunk=2, tools=[("shell", {"command": "ls"})])
    candidates = [event["candidates"][0] for event in told(GEMINI, step)]  # type: ignore[index]
    parts = [candidate["content"]["parts"][0] for candidate in candidates]
    call = {"functionCall": {"name": "shell", "args": {"command": "ls"}}}
    assert parts == [{"text": "ab"}, {"text": "cd"}, call, {"text": ""}]
    assert [candidate.get("finishReason") for candidate in candidates] == [None, None, None, "STOP"]


@pytest.mark.parametrize(("path", "body"), ALL)
def test_an_answer_can_be_cut_short_or_fall_silent_in_every_api(path: str, body: Json) -> None:
    dialect, request = asked_by(path, body)
    reply = compose_reply(due_step(dialect.read(request)), model="m")
    cut = dialect.stream(reply, Step(cut=1))
    assert (len(cut.events), cut.ending) == (1, "cut")
    silent = dialect.stream(reply, Step(hang=2))
    assert (len(silent.events), silent.ending) == (2, "hang")


@pytest.mark.parametrize(("path", "body"), ALL)
def test_an_answer_may_come_as_one_document(path: str, body: Json) -> None:
    dialect, request = asked_by(path, body)
    reply = compose_reply(due_step(dialect.read(request)), model="m")
    assert "It said: a b" in dialect.plain(reply).decode()
