"""The streams that are measured: a block of whole lines and how often it is repeated. Pure.

A block is a few turns of one conversation. `Stream.repetition(n)` is the block with its ids numbered, so the
contenders see no id twice, and a stream of any length needs the memory and the disk of one block only.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from bench.recorded import CODE, MARK, PIECE, PROSE, Turns, mark_ids, read_recording, substitute

MIXED_RECORDINGS: Final = ("thinking", "write_read_edit", "partial", "bash_background", "subagent", "parallel_tools")
RESULT_SIZE: Final = 64 * 1024
RESULTS_PER_TURN: Final = 10
DELTAS_PER_TURN: Final = 2000


class Stream(msgspec.Struct, frozen=True, kw_only=True):
    """What the fake CLI plays."""

    name: str
    title: str
    block: bytes
    repetitions: int

    @property
    def lines(self) -> int:
        """Lines in the whole stream."""
        return self.block.count(b"\n") * self.repetitions

    @property
    def size(self) -> int:
        """Bytes in the whole stream."""
        return len(self.block) * self.repetitions

    def repetition(self, number: int) -> bytes:
        """The block as it is played for the nth time."""
        return self.block.replace(MARK, b"%08x" % number)

    def play(self) -> Iterator[bytes]:
        """The whole stream, block by block."""
        return map(self.repetition, range(self.repetitions))


def empty() -> Stream:
    """A turn without content: what a contender spends on it is its start-up."""
    lines = read_recording("partial")
    return Stream(name="empty", title="init and result only", block=_block([lines[0], lines[-1]]), repetitions=1)


def deltas(number: int = 200_000) -> Stream:
    """Long answers, written in small text deltas."""
    per_turn = min(number, DELTAS_PER_TURN)
    text = (PROSE * (per_turn * PIECE // len(PROSE) + 1))[: per_turn * PIECE]
    lines = substitute(read_recording("partial"), {"Hello there, all is well today.": text})
    return Stream(
        name="deltas",
        title=f"{number} small text deltas",
        block=_block(Turns().replay(lines)),
        repetitions=number // per_turn,
    )


def mixed(*, lines: int = 0, size: int = 0) -> Stream:
    """Turns of every kind: text, thinking, tools, background work, sub-agents; at least so many lines and bytes."""
    longer = {
        "Let me think about it in some detail, step by step.": PROSE,
        "Hello there, all is well today.": PROSE * 2,
        "Answer 42.": PROSE,
        "After notice.": PROSE,
        "delegating": PROSE,
        "one\ntwo\n": CODE,
    }
    turns = Turns()
    recorded = (substitute(read_recording(name), longer) for name in MIXED_RECORDINGS)
    block = _block(line for lines in recorded for line in turns.replay(lines))
    times = max(1, -(-lines // block.count(b"\n")), -(-size // len(block)))
    return Stream(name="mixed", title="turns of every kind", block=block, repetitions=times)


def results(number: int = 2000) -> Stream:
    """Turns that read files of 64 KB; as in the real CLI a line holds the text twice: for the model, for the host."""
    init, _, _, call, result, *_, last = read_recording("write_read_edit")
    file = (CODE * (RESULT_SIZE // len(CODE) + 1))[:RESULT_SIZE]
    rows = "".join(f"{number}\t{row}" for number, row in enumerate(file.splitlines(keepends=True), 1))
    texts = {"1\tone\n2\ttwo\n3\t": rows[:RESULT_SIZE], "one\ntwo\n": file}
    pair = substitute([call, result], texts)
    per_turn = min(number, RESULTS_PER_TURN)
    reads = [line.replace(b"toolu_6403", b"toolu_%04x" % n) for n in range(per_turn) for line in pair]
    return Stream(
        name="results",
        title=f"{number} tool results of 64 KB",
        block=_block([init, *reads, last]),
        repetitions=number // per_turn,
    )


def _block(lines: Iterator[bytes] | list[bytes]) -> bytes:
    return mark_ids(b"".join(line + b"\n" for line in lines))
