"""A conversation with `codex app-server` played from what it once wrote, or by hand."""

from __future__ import annotations

import json
from pathlib import Path

from footplate.engines.base import Exit, Installed, Options, Reaction
from footplate.engines.codex.conversation import AppServerConversation
from footplate.events.commands import AnswerRequest, Command, Interrupt, SendPrompt
from footplate.events.content import TextBlock
from footplate.events.ids import PromptId, RequestId
from footplate.events.model import Event, PromptQueued, RequestAnswered, RequestOpened, RequestWithdrawn
from footplate.events.requests import Answer, Choose, Reply
from footplate.host.lines import Block

Json = dict[str, object]
FIXTURES = Path(__file__).parents[3] / "fixtures" / "codex"
THREAD = "t-1"
OPTIONS = Options(cwd="/workspace", asks=True)


class Play:
    """One conversation and everything that came of it."""

    def __init__(self, options: Options = OPTIONS) -> None:
        self.conversation = AppServerConversation(options, Installed(engine="codex", version="0.166.0"))
        self.events: list[Event] = []
        self.frames: list[Json] = []
        self._prompts = 0
        self.do(self.conversation.begin())

    def do(self, reaction: Reaction) -> list[Event]:
        """Take note of a reaction; gives back its events."""
        self.events += reaction.events
        self.frames += [json.loads(frame) for frame in reaction.frames]
        return reaction.events

    def line(self, *messages: Json) -> list[Event]:
        """Codex writes these lines at once."""
        return self.do(self.conversation.feed(Block(b"".join(json.dumps(each).encode() + b"\n" for each in messages))))

    def tell(self, method: str, **params: object) -> list[Event]:
        """A notification about our thread."""
        return self.line({"method": method, "params": {"threadId": THREAD, "turnId": "w-1", **params}})

    def ask(self, rpc_id: int, method: str, **params: object) -> list[Event]:
        """A request about our thread."""
        return self.line({"id": rpc_id, "method": method, "params": {"threadId": THREAD, "turnId": "w-1", **params}})

    def last(self, method: str) -> Json:
        """Our last call of that method."""
        return next(frame for frame in reversed(self.frames) if frame.get("method") == method)

    def answer(self, method: str, **result: object) -> list[Event]:
        """Codex answers our last call of that method."""
        return self.line({"id": self.last(method)["id"], "result": result})

    def fail(self, method: str, message: str) -> list[Event]:
        """Codex refuses our last call of that method."""
        return self.line({"id": self.last(method)["id"], "error": {"code": -32600, "message": message}})

    def open(self, **more: object) -> None:
        """All the way to a thread."""
        self.answer("initialize", userAgent="x")
        method = next(frame["method"] for frame in reversed(self.frames) if str(frame["method"]).startswith("thread/"))
        opened = {"model": "m-1", "approvalPolicy": "untrusted", "sandbox": {"type": "workspaceWrite"}, **more}
        self.answer(str(method), thread={"id": THREAD, "cliVersion": "0.166.0"}, **opened)

    def start(self) -> None:
        """All the way into a turn."""
        self.open()
        self.prompt()
        self.answer("turn/start", turn={"id": "w-1", "status": "inProgress"})

    def end(self, status: str = "completed", **more: object) -> list[Event]:
        """The turn ends."""
        return self.tell("turn/completed", turn={"id": "w-1", "status": status, **more})

    def prompt(self, text: str = "do it", **more: object) -> list[Event]:
        """What the session does with a prompt: it is queued there, then handed on."""
        self._prompts += 1
        content = (TextBlock(text=text),)
        name = PromptId(f"p{self._prompts}")
        self.events.append(PromptQueued(prompt=name, content=content))
        return self.command(SendPrompt(key=f"k{self._prompts}", prompt=name, content=content, **more))  # type: ignore[arg-type]

    def command(self, command: Command) -> list[Event]:
        return self.do(self.conversation.command(command))

    def reply(self, request: str, answer: Answer) -> list[Event]:
        """What the session does with an answer: it is stored, then handed on."""
        self.events.append(RequestAnswered(request=RequestId(request), answer=answer, by="me"))
        return self.command(AnswerRequest(key=f"a-{request}", request=RequestId(request), answer=answer))

    def finish(self, ending: Exit | None = None) -> list[Event]:
        return self.do(self.conversation.finish(ending or Exit(code=0, reason="exit code 0")))


def recording(name: str) -> list[Json]:
    lines = (FIXTURES / f"appserver-{name}.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def replay(records: list[Json], options: Options = OPTIONS) -> Play:
    """What a recorded Codex said, to a conversation that does what the recorded client did; then Codex dies."""
    play = Play(options)
    ids: dict[object, object] = {}
    for record in records:
        message = record["msg"]
        assert isinstance(message, dict)
        if record["dir"] == "out":
            _follow(play, message)
            ours = [f["id"] for f in play.frames if "id" in f and f.get("method") == message.get("method")]
            ids |= {message["id"]: ours[-1]} if ours and "id" in message else {}
        elif "method" in message:
            play.line(message)
        elif message["id"] in ids:
            play.line({**message, "id": ids[message["id"]]})
    play.finish()
    return play


def _follow(play: Play, message: Json) -> None:
    params, result = message.get("params"), message.get("result")
    if message.get("method") == "turn/start":
        assert isinstance(params, dict)
        play.prompt(str(params["input"][0]["text"]))
    elif message.get("method") == "turn/interrupt":
        play.command(Interrupt(key="stop"))
    elif isinstance(result, dict) and (asked := _open_request(play.events)) is not None:
        play.reply(asked.request.id, _answer(asked, result))


def _open_request(events: list[Event]) -> RequestOpened | None:
    closed = {event.request for event in events if isinstance(event, RequestAnswered | RequestWithdrawn)}
    return next((e for e in reversed(events) if isinstance(e, RequestOpened) and e.request.id not in closed), None)


def _answer(asked: RequestOpened, result: Json) -> Answer:
    answers = result.get("answers")
    if isinstance(answers, dict):
        return Reply(answers={asked.request.questions[0].text: next(iter(answers.values()))["answers"]})
    return Choose(option=str(result["decision"]))
