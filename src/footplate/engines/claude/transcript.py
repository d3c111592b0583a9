"""The CLI's own file of a session: which entries it has, how they hang together, which calls have no result. Pure.

One JSON object per line. Entries that are part of the conversation have a `uuid` and name the one before them in
`parentUuid`; so the file is a tree, and the conversation is the branch that its last entry lies on. Three things stand
beside that branch and belong to it all the same: further blocks of the same message, results of calls that ran side by
side (each hangs on its own call), and what lies before a compaction (`logicalParentUuid`), for which 2.1.197 repeats
entries with their `uuid`: the first one counts.

`Transcript` is a fold over lines and keeps of each entry only its place and its links: a file of hundreds of megabytes
costs a few. Of a call without a result the input is kept as well. `KINDS` says what each kind of entry is to us; the
format is the CLI's own and undocumented, so whatever is not in the table is counted in `strange`, never an error.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Final, Literal

import msgspec

from footplate.engines.claude.lenient import present, read, read_struct
from footplate.engines.claude.outcomes import read_content
from footplate.engines.claude.wire import RAWS, Block, Part
from footplate.events.base import OptionalRaw
from footplate.events.content import text_of

Meaning = Literal["said", "linked", "title", "aside"]

KINDS: Final[dict[str, tuple[Meaning, str]]] = {
    "user": ("said", "a prompt, results of tools, or the CLI's own words to the model"),
    "assistant": ("said", "one block of a message of the model"),
    "system": ("said", "a compaction, a local command, a failure of the API"),
    "attachment": ("linked", "context that the CLI adds for the model; one kind of it parks a call"),
    "progress": ("linked", "progress of a call or hook, of versions before 2.1.197"),
    "custom-title": ("title", "the title that a person gave"),
    "ai-title": ("title", "the title that a model gave"),
    "last-prompt": ("title", "the latest prompt, kept for lists"),
    "summary": ("title", "a title of an older kind"),
    "queue-operation": ("aside", "the CLI's queue of prompts; what was taken up stands as `user`"),
    "mode": ("aside", "the mode of the terminal interface"),
    "agent-name": ("aside", "a name for lists"),
    "agent-color": ("aside", "a colour for lists"),
    "tag": ("aside", "a tag for lists"),
    "pr-link": ("aside", "a link for lists"),
    "worktree-state": ("aside", "where the terminal interface works"),
    "file-history-snapshot": ("aside", "copies of files for a rewind"),
    "file-history-delta": ("aside", "copies of files for a rewind"),
    "cost-state": ("aside", "running totals of a process"),
    "tools-used": ("aside", "names of tools, kept for lists"),
    "api-request": ("aside", "what was sent to the API"),
    "api-request-shape": ("aside", "what was sent to the API"),
    "api-request-blob": ("aside", "what was sent to the API"),
    "atis-latch": ("aside", "a switch of the CLI's own"),
    "content-replacement": ("aside", "what the CLI left out of a request to the API"),
}
"""Every kind of entry that was seen or is known: what it is to us, and what it holds."""

PARKED: Final = "hook_deferred_tool"
"""The attachment that makes `--resume` ask for a call again."""

BOUNDARY: Final = "compact_boundary"
TEXT_KEPT: Final = 4096
"""How much of a result's text is kept: enough to know the CLI's own words in it."""


class Body(Part, frozen=True, kw_only=True):
    """The message of an entry as the API has it."""

    id: str = ""
    model: str = ""
    content: OptionalRaw = None
    stop_reason: str | None = None
    usage: OptionalRaw = None


class Attached(Part, frozen=True, kw_only=True):
    """What an attachment says, as far as we look."""

    type: str = ""
    call: str = msgspec.field(default="", name="toolUseID")


class Figures(Part, frozen=True, kw_only=True, rename="camel"):
    """The figures of a compaction."""

    trigger: str = ""
    pre_tokens: int | None = None
    post_tokens: int | None = None


class Kind(Part, frozen=True, kw_only=True):
    """What started a turn that no prompt started."""

    kind: str = ""


class Entry(Part, frozen=True, kw_only=True, rename="camel"):
    """One line of the file, whatever its kind: every field may be missing."""

    type: str = ""
    subtype: str = ""
    uuid: str = ""
    parent_uuid: str | None = None
    logical_parent_uuid: str | None = None
    source: str = msgspec.field(default="", name="sourceToolAssistantUUID")
    is_sidechain: bool = False
    is_meta: bool = False
    is_compact_summary: bool = False
    is_api_error_message: bool = False
    timestamp: str = ""
    session_id: str = ""
    cwd: str = ""
    version: str = ""
    git_branch: str = ""
    entrypoint: str = ""
    user_type: str = ""
    prompt_id: str = ""
    permission_mode: str = ""
    error: str | None = None
    message: Body = Body()
    attachment: Attached = Attached()
    tool_use_result: OptionalRaw = None
    permission_decision: OptionalRaw = None
    origin: Kind | None = None
    content: OptionalRaw = None
    compact_metadata: Figures = Figures()
    custom_title: str = ""
    ai_title: str = ""
    last_prompt: str = ""
    summary: str = ""

    @property
    def time(self) -> float | None:
        """When it was written, in seconds since 1970."""
        try:
            return datetime.fromisoformat(self.timestamp).timestamp()
        except ValueError:
            return None


ENTRY: Final = msgspec.json.Decoder(Entry)
BLOCK: Final = msgspec.json.Decoder(Block)


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """A call of a tool as the file has it; the input is kept until its result is seen. `place` is its entry's."""

    id: str
    name: str
    place: int
    message: str
    input: OptionalRaw = None


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a call: the beginning of its text, and whether it is an error."""

    call: str
    place: int
    is_error: bool
    text: str


class Node(msgspec.Struct, frozen=True, kw_only=True):
    """Where an entry of the conversation stands in the file, and what it hangs on."""

    at: int
    size: int
    kind: str
    uuid: str
    parent: str | None
    before: str | None
    side: bool
    message: str = ""
    results: tuple[str, ...] = ()


class Transcript:
    """A session file as far as it was read. `take` adds a line; the rest tells what the lines mean together."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.calls: dict[str, Call] = {}
        self.results: dict[str, Result] = {}
        self.parked: set[str] = set()
        self.strange: Counter[str] = Counter()
        self.unreadable = 0
        self.mode = ""
        self._places: dict[str, int] = {}
        self._at = 0

    @classmethod
    def of(cls, lines: Iterable[bytes]) -> Transcript:
        """The transcript of whole lines, each with its newline."""
        transcript = cls()
        for line in lines:
            transcript.take(line)
        return transcript

    def take(self, line: bytes, *, size: int | None = None) -> None:
        """One more line. `size` is its length in the file where that is not the length of what was read of it."""
        at, length = self._at, len(line) if size is None else size
        self._at += length
        if not line.strip():
            return
        entry = read_struct(ENTRY, line)
        if entry is None or size not in (None, len(line)):
            self.unreadable += 1
            return
        if entry.type not in KINDS:
            self.strange[entry.type] += 1
        self.mode = entry.permission_mode or self.mode
        if entry.uuid and entry.uuid not in self._places:
            self._enter(entry, at, length)

    def _enter(self, entry: Entry, at: int, size: int) -> None:
        place = len(self.nodes)
        self._places[entry.uuid] = place
        results = self._look_inside(entry, place) if entry.type in ("user", "assistant") else ()
        if entry.attachment.type == PARKED and not entry.is_sidechain:
            self.parked.add(entry.attachment.call)
        self.nodes.append(
            Node(
                at=at,
                size=size,
                kind=f"{entry.type}/{entry.subtype}" if entry.subtype else entry.type,
                uuid=entry.uuid,
                parent=entry.parent_uuid,
                before=entry.logical_parent_uuid,
                side=entry.is_sidechain,
                message=entry.message.id if entry.type == "assistant" else "",
                results=results,
            )
        )

    def _look_inside(self, entry: Entry, place: int) -> tuple[str, ...]:
        """Keep the calls of a message and the results in one; gives back the calls that have their result here."""
        found: list[str] = []
        for block in blocks_of(entry.message.content):
            if block.type.endswith("tool_use") and block.id:
                given = None if block.input is None else block.input.copy()
                self.calls[block.id] = Call(
                    id=block.id, name=block.name, place=place, message=entry.message.id, input=given
                )
            elif block.type.endswith("tool_result") and block.tool_use_id:
                found.append(block.tool_use_id)
                self._end(block, place)
        return tuple(found)

    def _end(self, block: Block, place: int) -> None:
        text = text_of(read_content(block.content))[:TEXT_KEPT]
        result = Result(call=block.tool_use_id, place=place, is_error=bool(block.is_error), text=text)
        self.results[block.tool_use_id] = result
        call = self.calls.get(block.tool_use_id)
        if call is not None:
            self.calls[call.id] = msgspec.structs.replace(call, input=None)

    # ------------------------------------------------------------------------------------------ questions

    def tool_result_of(self, call: str) -> Result | None:
        """The result of a call, if the file has it."""
        return self.results.get(call)

    def open_calls(self) -> tuple[Call, ...]:
        """The calls that the conversation waits for: without a result, and nothing was said after them."""
        thread = self.thread()
        return tuple(
            call
            for call in self.calls.values()
            if call.id not in self.results and call.place in thread and not self._passed(call, thread)
        )

    def _passed(self, call: Call, thread: list[int]) -> bool:
        """Whether the conversation went on without the call's result."""
        later = (self.nodes[place] for place in thread if place > call.place)
        return any(
            (node.kind == "assistant" and node.message != call.message) or (node.kind == "user" and not node.results)
            for node in later
        )

    def siblings_of(self, call: str) -> tuple[Call, ...]:
        """The open calls that stand in the same message: resuming the call drops them."""
        known = self.calls.get(call)
        if known is None:
            return ()
        return tuple(each for each in self.open_calls() if each.message == known.message and each.id != call)

    def holder_of(self, call: str) -> Node | None:
        """The entry that holds a call."""
        known = self.calls.get(call)
        return None if known is None else self.nodes[known.place]

    # --------------------------------------------------------------------------------------------- thread

    def thread(self) -> list[int]:
        """The places of the conversation's entries in order: the branch of the last one, and what belongs to it."""
        kept = set(self._branch())
        messages = {self.nodes[place].message for place in kept} - {""}
        kept.update(place for place, node in enumerate(self.nodes) if node.message in messages and not node.side)
        kept.update(at for at, node in enumerate(self.nodes) if self._shortens(node, kept))
        calls = {call.id for call in self.calls.values() if call.place in kept}
        kept.update(
            place for place, node in enumerate(self.nodes) if not node.side and calls.intersection(node.results)
        )
        return sorted(kept)

    def _branch(self) -> Iterator[int]:
        """From the last entry back to the first. Where a link leads nowhere, the entry before in the file is next."""
        seen: set[int] = set()
        place = self._main_before(len(self.nodes))
        while place is not None and place not in seen:
            seen.add(place)
            yield place
            node = self.nodes[place]
            above = node.parent or node.before
            if above is None and node.kind != f"system/{BOUNDARY}":
                return
            place = self._places.get(above or "", self._main_before(place))

    def _shortens(self, node: Node, kept: set[int]) -> bool:
        """Whether it is a compaction of what is kept; 2.1.197 goes on beside its boundary, not below it."""
        return node.kind == f"system/{BOUNDARY}" and self._places.get(node.before or "") in kept

    def _main_before(self, place: int) -> int | None:
        """The nearest entry before that is no sub-agent's."""
        return next((at for at in range(place - 1, -1, -1) if not self.nodes[at].side), None)


def blocks_of(content: msgspec.Raw | None) -> Iterator[Block]:
    """The content blocks of a message; none when it is plain text."""
    content = present(content)
    if content is None or bytes(memoryview(content)[:1]) != b"[":
        return
    for raw in read(RAWS, content) or ():
        block = read_struct(BLOCK, raw)
        if block is not None:
            yield block


def same_json(one: msgspec.Raw | None, two: msgspec.Raw | None) -> bool:
    """Whether two pieces of JSON mean the same, whatever the order of their keys."""
    if one is None or two is None:
        return one is two
    return bool(msgspec.json.decode(one) == msgspec.json.decode(two))
