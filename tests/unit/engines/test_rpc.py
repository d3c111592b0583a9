"""Lines of JSON-RPC that have no meaning for us: each is kept as it came, and a flood of them costs its size."""

from __future__ import annotations

import gc
import time

from footplate.engines.rpc import RpcLines
from footplate.events.model import Unparsed
from footplate.host.lines import Block, Oversize

MOST = 8.0
"""Four times the lines may take this many times as long; a cost that grows with the block takes sixteen times."""
ROUNDS = 3


def keep_all(block: Block) -> RpcLines:
    """Read a block of which nothing is understood."""
    lines = RpcLines()
    for envelope in lines.read(block):
        lines.keep(f"unknown: {envelope.method}")
    return lines


def seconds(block: Block) -> float:
    gc.collect()
    gc.disable()
    try:
        before = time.process_time()
        keep_all(block)
        return time.process_time() - before
    finally:
        gc.enable()


def test_each_line_is_kept_as_it_came_whatever_is_blank_or_broken_between_them() -> None:
    lines = (
        b'{"method":"a"}\n\n  \t\n{"method":"b","n":1}\nnot JSON\n\x0b\n{"x":1}\n{"method":"c"}\n',
        b'{"method":"d"}\n',
    )
    first = keep_all(Block(lines[0], (Oversize(9_000, b'{"id":1,"result":{"a":'),)))
    unparsed = [(event.raw, event.reason) for event in first.events if isinstance(event, Unparsed)]
    assert [raw for raw, _ in unparsed] == [
        '{"method":"a"}',
        '{"method":"b","n":1}',
        "not JSON",
        "\x0b",
        '{"x":1}',
        '{"method":"c"}',
        '{"id":1,"result":{"a":',
    ]
    assert [reason for _, reason in unparsed if "unknown" in reason] == [
        "unknown: a",
        "unknown: b",
        "unknown: c",
        "unknown: None",
    ]
    second = first
    for _ in second.read(Block(lines[1])):
        second.keep("of the next block")
    assert second.events[-1] == Unparsed(raw='{"method":"d"}', reason="of the next block", size=14)


def test_a_megabyte_of_unknown_notifications_costs_in_proportion() -> None:
    line = b'{"jsonrpc":"2.0","method":"_x/flood","params":{"a":"0123456789012345678901234567890123456789"}}\n'
    few, many = Block(line * 2_600), Block(line * 10_400)  # 256 KB and 1 MB
    best_few = best_many = float("inf")
    for _ in range(ROUNDS):
        best_few, best_many = min(best_few, seconds(few)), min(best_many, seconds(many))
        if best_many < MOST * best_few:
            return
    assert best_many < MOST * best_few
