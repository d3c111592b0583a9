"""A conversation played by hand: what we ask, what the CLI answers, whole frames on both sides."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec

from footplate.engines.base import Options, Query, Reaction
from footplate.engines.claude.conversation import ClaudeConversation
from footplate.events.commands import Command
from footplate.events.facts import QueryName
from footplate.host.lines import Block
from tests.unit.engines.claude.playing import FIXTURES

LIVE = Options(cwd="/workspace", asks=True)


class Dialogue:
    """A conversation whose CLI is us: it answers the last thing that was asked, and keeps what came of it."""

    def __init__(self, version: str = "2.1.325", options: Options = LIVE, *, may_bypass: bool = False) -> None:
        self.conversation = ClaudeConversation(options, version=version, may_bypass=may_bypass)
        self.asked: list[dict[str, object]] = []

    def begin(self) -> Reaction:
        """The process starts."""
        return self._note(self.conversation.begin())

    def command(self, command: Command) -> Reaction:
        """Something is asked of the session."""
        return self._note(self.conversation.command(command))

    def query(self, name: QueryName, **arguments: str | int | bool) -> Reaction:
        """Something is asked about it."""
        return self._note(self.conversation.query(Query(key="q", name=name, arguments=arguments)))

    def says(self, *frames: object) -> Reaction:
        """The CLI writes lines."""
        lines = b"".join(msgspec.json.encode(frame) + b"\n" for frame in frames)
        return self._note(self.conversation.feed(Block(lines)))

    def answers(self, response: object = None, *, error: str = "", at: int = -1, **beside: object) -> Reaction:
        """The CLI answers what was asked last (or at a place)."""
        body: dict[str, object] = {"request_id": self.asked[at]["request_id"], **beside}
        if error:
            body |= {"subtype": "error", "error": error}
        else:
            body |= {"subtype": "success"} if response is None else {"subtype": "success", "response": response}
        return self.says({"type": "control_response", "response": body})

    def request(self, at: int = -1) -> object:
        """What was asked last (or at a place)."""
        return self.asked[at]["request"]

    def _note(self, reaction: Reaction) -> Reaction:
        frames = [json.loads(frame) for frame in reaction.frames]
        self.asked += [frame for frame in frames if frame["type"] == "control_request"]
        return reaction


class Frame(msgspec.Struct):
    """What is looked at of a recorded line."""

    type: str = ""
    request_id: str = ""
    request: dict[str, object] = {}
    response: dict[str, object] = {}


def recorded_answer(version: str, scenario: str, subtype: str) -> object:
    """What the CLI once answered to a control request: the response alone."""
    asked = {
        frame.request_id
        for frame in _frames(FIXTURES / version / f"{scenario}.stdin.jsonl")
        if frame.request.get("subtype") == subtype
    }
    for frame in _frames(FIXTURES / version / f"{scenario}.jsonl"):
        if frame.type == "control_response" and frame.response.get("request_id") in asked:
            return frame.response.get("response")
    raise AssertionError(f"{subtype} was not answered in {version}/{scenario}")


def _frames(path: Path) -> list[Frame]:
    lines = [line for line in path.read_text().splitlines() if '"control_re' in line]
    return [msgspec.json.decode(line, type=Frame) for line in lines]
