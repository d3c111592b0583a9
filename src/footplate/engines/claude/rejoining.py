"""Going on with a living CLI: what a killed service had read and not stored is in the CLI's own file.

Lines of the stream and entries of the file have the same `uuid`. So the entries of the open turn that the log does not
have are read as if they had come now; and what stands in the file already is dropped from the stream, whether the log
had it or it was just made good. The file does not have the `result` that ends a turn: when the file is at an end, and
the CLI says nothing, the turn is over.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec

from footplate.engines.claude.lenient import present, read_struct
from footplate.engines.claude.projects import config_folder, find_transcript, read_nodes, read_transcript
from footplate.engines.claude.prompts import prompt_uuid
from footplate.engines.claude.transcript import Entry, Node, blocks_of
from footplate.engines.claude.wire import Part
from footplate.engines.rejoining import NOTHING, Where, is_torn, split_lines
from footplate.engines.standing import Standing
from footplate.events.base import OptionalRaw
from footplate.host.lines import Block

FINAL: Final = ("end_turn", "stop_sequence", "max_tokens", "refusal")
"""Reasons for which the model stops, after which the CLI ends the turn."""

OPENING: Final = ("assistant", "stream_event", "user", "control_request")


class Seen(Part, frozen=True, kw_only=True):
    """What tells whether a line is news."""

    type: str = ""
    subtype: str = ""
    uuid: str = ""
    request_id: str = ""


class Kept(Part, frozen=True, kw_only=True, rename="camel"):
    """The parts of an entry that a line of the stream has as well."""

    type: str = ""
    uuid: str = ""
    message: OptionalRaw = None
    tool_use_result: OptionalRaw = None


SEEN: Final = msgspec.json.Decoder(Seen)
KEPT: Final = msgspec.json.Decoder(Kept)


class ClaudeRejoining:
    """The open turn as the file has it, against what the log has."""

    def __init__(self, standing: Standing, where: Where) -> None:
        self._ended = where.ended
        self._session = where.session or ""
        self._turn_open = standing.turn is not None
        self._first = True
        self._answered = False
        self._quiet = True
        self._done = False
        self._known: set[str] = set()
        self._lost: list[bytes] = []
        self._final = ""

    @property
    def over(self) -> bool:
        """Whether the stream is past everything that stood in the file."""
        return self._done

    def lost(self) -> Block:
        """The entries that the log does not have, as lines."""
        return Block(b"".join(self._lost))

    def sift(self, block: Block) -> Block:
        """Without the torn first line, what the file had, requests and results of what has ended."""
        lines = [line for line in split_lines(block) if self._is_news(line)]
        return Block(b"".join(lines), block.oversize) if lines or block.oversize else NOTHING

    def silence(self) -> Block:
        """The end of the turn, where the file is at an end and the CLI has not said anything further."""
        if not (self._turn_open and self._final and self._quiet and self._answered):
            return NOTHING
        self._turn_open, self._quiet = False, False
        frame = {"type": "result", "subtype": "success", "is_error": False, "stop_reason": self._final}
        told = {"type": "system", "subtype": "informational", "level": "info", "session_id": self._session}
        words = "the end of this turn was not seen: the service was stopped meanwhile; its cost is not known"
        notice = msgspec.json.encode({**told, "content": words}) + b"\n"
        return Block(notice + msgspec.json.encode({**frame, "session_id": self._session}) + b"\n")

    def _is_news(self, line: bytes) -> bool:
        first, self._first = self._first, False
        if first and is_torn(line):
            return False
        seen = read_struct(SEEN, line) or Seen()
        if seen.type == "control_response":
            self._answered = True
            return True
        if seen.uuid in self._known or (seen.type == "control_request" and seen.request_id in self._ended):
            return False
        if seen.type == "result":
            open_before, self._turn_open = self._turn_open, False
            self._done = self._answered
            return open_before
        if seen.type in OPENING or (seen.type == "system" and seen.subtype == "init"):
            self._turn_open, self._quiet = True, False
        return True

    # ------------------------------------------------------------------------------------------- the file

    def read(self, path: Path, standing: Standing) -> None:
        """Compare the turn in the file with the log."""
        transcript = read_transcript(path)
        nodes = [transcript.nodes[place] for place in transcript.thread()]
        prompts = {prompt_uuid(each): each for each in (*standing.prompts, *standing.waiting)}
        begin = next((at for at, node in enumerate(nodes) if node.uuid in prompts), None)
        if begin is None:
            return
        blocks: dict[str, int] = {message.id: len(message.blocks) for message in standing.messages}
        ended: set[str] = {call.id for call in standing.calls if call.ended}
        said = {prompt_uuid(each) for each in standing.said}
        for node, (entry, line) in zip(nodes[begin:], read_nodes(path, nodes[begin:]), strict=False):
            self._compare(node, entry, line, blocks, ended, said | (set() if node.uuid in prompts else {node.uuid}))
        self._final = self._final if not transcript.open_calls() else ""

    def _compare(
        self, node: Node, entry: Entry, line: bytes, blocks: dict[str, int], ended: set[str], said: set[str]
    ) -> None:
        if entry.type == "assistant":
            self._known.add(node.uuid)
            self._final = entry.message.stop_reason if entry.message.stop_reason in FINAL else ""
            count = max(len(list(blocks_of(entry.message.content))), 1)
            if blocks.get(node.message, 0) > 0:
                blocks[node.message] -= count
            else:
                self._lost.append(self._as_line(line))
        elif entry.type == "user":
            self._final = ""
            if node.results:
                self._known.add(node.uuid)
                if not ended.issuperset(node.results):
                    self._lost.append(self._as_line(line))
            elif node.uuid not in said and not entry.is_meta:
                self._known.add(node.uuid)
                self._lost.append(self._as_line(line, replay=True))

    def _as_line(self, raw: bytes, *, replay: bool = False) -> bytes:
        return as_line(raw, session=self._session, replay=replay)


def as_line(raw: bytes, *, session: str = "", replay: bool = False) -> bytes:
    """An entry of the file of that session as the stream would have it."""
    entry = read_struct(KEPT, raw) or Kept()
    frame: dict[str, object] = {"type": entry.type, "message": present(entry.message), "parent_tool_use_id": None}
    if entry.tool_use_result is not None:
        frame["tool_use_result"] = entry.tool_use_result
    if replay:
        frame["isReplay"] = True
    return msgspec.json.encode({**frame, "session_id": session, "uuid": entry.uuid}) + b"\n"


def rejoin_claude(standing: Standing, where: Where) -> ClaudeRejoining:
    """Read the file of the conversation, where there is one."""
    rejoining = ClaudeRejoining(standing, where)
    config = config_folder(where.environ, where.profile)
    path = None if where.session is None else find_transcript(config, where.session, where.cwd)
    if path is not None:
        rejoining.read(path, standing)
    return rejoining
