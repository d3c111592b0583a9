"""A conversation with an ACP agent played by hand: frames of the agent in, events and frames of ours out."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from footplate.engines.acp.converse import AcpConversation
from footplate.engines.base import Exit, Installed, Options, Reaction
from footplate.events.commands import AnswerRequest, Command, Interrupt, SendPrompt
from footplate.events.content import TextBlock
from footplate.events.ids import EngineSessionId, PromptId, RequestId
from footplate.events.model import (
    Event,
    PromptQueued,
    RequestAnswered,
    RequestOpened,
    RequestWithdrawn,
)
from footplate.events.requests import Answer, Choose, Reply
from footplate.host.lines import Block
from footplate.testing.invariants import check_invariants

Json = dict[str, object]
TRANSCRIPTS = Path(__file__).parent / "transcripts"
SESSION = EngineSessionId("s-1")
AGENT: Json = {
    "protocolVersion": 1,
    "agentCapabilities": {"loadSession": True},
    "agentInfo": {"name": "a", "version": "9"},
}
OPTIONS = Options(cwd="/project", asks=True)


class Play:
    """One conversation and everything that came of it. `agent` is what the agent says to `initialize`."""

    def __init__(
        self, options: Options = OPTIONS, *, agent: Json = AGENT, keys: tuple[str, ...] = (), auth_method: str = ""
    ) -> None:
        installed = Installed(engine="acp", keys=keys)
        self.conversation = AcpConversation("acp", options, installed, auth_method=auth_method)
        self.events: list[Event] = []
        self.frames: list[Json] = []
        self._agent = agent
        self._prompts = 0

    def do(self, reaction: Reaction) -> list[Event]:
        """Take note of a reaction; gives back its events."""
        self.events += reaction.events
        self.frames += [json.loads(frame) for frame in reaction.frames]
        return reaction.events

    def begin(self) -> None:
        self.do(self.conversation.begin())

    def open(self, **session: object) -> None:
        """All the way to a session that is ready."""
        self.begin()
        self.answer("initialize", self._agent)
        self.answer("session/new", {"sessionId": SESSION, **session})

    def line(self, *messages: Json) -> list[Event]:
        """The agent writes these lines at once."""
        block = b"".join(json.dumps(message).encode() + b"\n" for message in messages)
        return self.do(self.conversation.feed(Block(block)))

    def raw(self, lines: bytes) -> list[Event]:
        return self.do(self.conversation.feed(Block(lines)))

    def update(self, *updates: Json, session: str = SESSION) -> list[Event]:
        told: list[Json] = [
            {"method": "session/update", "params": {"sessionId": session, "update": update}} for update in updates
        ]
        return self.line(*told)

    def request(self, rpc_id: int, method: str, **params: object) -> list[Event]:
        return self.line({"id": rpc_id, "method": method, "params": {"sessionId": SESSION, **params}})

    def answer(self, method: str, result: object) -> list[Event]:
        """The agent answers our last call of that method."""
        return self.line({"id": self.last(method)["id"], "result": result})

    def fail(self, method: str, code: int, message: str, **data: object) -> list[Event]:
        error: Json = {"code": code, "message": message, **({"data": data} if data else {})}
        return self.line({"id": self.last(method)["id"], "error": error})

    def last(self, method: str) -> Json:
        return next(frame for frame in reversed(self.frames) if frame.get("method") == method)

    def prompt(self, text: str = "do it") -> list[Event]:
        """What the session does with a prompt: it is queued there, then handed on."""
        self._prompts += 1
        content = (TextBlock(text=text),)
        command = SendPrompt(key=f"k{self._prompts}", prompt=PromptId(f"p{self._prompts}"), content=content)
        self.events.append(PromptQueued(prompt=command.prompt, content=content))
        return self.command(command)

    def command(self, command: Command) -> list[Event]:
        return self.do(self.conversation.command(command))

    def reply(self, request: str, answer: Answer) -> list[Event]:
        """What the session does with an answer: it is stored, then handed on."""
        self.events.append(RequestAnswered(request=RequestId(request), answer=answer, by="me"))
        return self.command(AnswerRequest(key=f"a-{request}", request=RequestId(request), answer=answer))

    def finish(self, ending: Exit | None = None) -> list[Event]:
        return self.do(self.conversation.finish(ending or Exit(code=0, reason="exit code 0")))


def text(words: str) -> Json:
    return {"type": "text", "text": words}


def say(words: str, **more: object) -> Json:
    return {"sessionUpdate": "agent_message_chunk", "content": text(words), **more}


def call(wire_id: str = "c1", /, **more: object) -> Json:
    return {"sessionUpdate": "tool_call", "toolCallId": wire_id, "title": "a call", **more}


def progress(wire_id: str = "c1", /, **more: object) -> Json:
    return {"sessionUpdate": "tool_call_update", "toolCallId": wire_id, **more}


def assert_clean(events: Iterable[Event]) -> None:
    assert check_invariants(list(events), finished=True) == []


# -------------------------------------------------------------------------------------------- transcripts


def transcript(name: str) -> list[Json]:
    return [json.loads(line) for line in (TRANSCRIPTS / f"{name}.jsonl").read_text().splitlines()]


def replay(records: list[Json]) -> list[Event]:
    """What a recorded agent said, to a conversation that does what the recorded client did; then the agent dies."""
    play = Play(Options(cwd="/workspace", asks=True))
    play.begin()
    ids: dict[object, object] = {}
    for record in records:
        message = record["message"]
        assert isinstance(message, dict)
        if record["from"] == "client":
            _follow(play, message)
            if "method" in message and "id" in message:
                ours = [f["id"] for f in play.frames if f.get("method") == message["method"]]
                ids |= {message["id"]: ours[-1]} if ours else {}
        elif "method" in message:
            play.line(message)
        elif message["id"] in ids:
            play.line({**message, "id": ids[message["id"]]})
    play.finish(Exit(code=0))
    return play.events


def _follow(play: Play, message: Json) -> None:
    params, result = message.get("params"), message.get("result")
    if message.get("method") == "session/prompt":
        assert isinstance(params, dict)
        play.prompt(str(params["prompt"][0].get("text", "")))
    elif message.get("method") == "session/cancel":
        play.command(Interrupt(key="cancel"))
    elif isinstance(result, dict) and (asked := _open_request(play.events)) is not None:
        play.reply(asked.request.id, _answer(asked, result))


def _open_request(events: list[Event]) -> RequestOpened | None:
    closed = {event.request for event in events if isinstance(event, RequestAnswered | RequestWithdrawn)}
    return next((e for e in reversed(events) if isinstance(e, RequestOpened) and e.request.id not in closed), None)


def _answer(asked: RequestOpened, result: Json) -> Answer:
    outcome, content = result.get("outcome"), result.get("content")
    if isinstance(outcome, dict):
        return Choose(option=str(outcome["optionId"]))
    assert isinstance(content, dict)
    return Reply(answers={asked.request.questions[0].text: str(next(iter(content.values())))})
