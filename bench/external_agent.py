"""An ACP agent on stdin and stdout that costs next to nothing: what both servers start as an external command.

`N` as the text of a prompt has it say N chunks before it answers; each bears its number. Nothing is
imported but what the interpreter has anyway, so it starts at once.
"""

import sys

# It runs with `python -IS`, outside of any package, and looks for what it needs in the bytes: decoding JSON would take
# longer than everything else.
CHUNKS_AT_ONCE = 64
UPDATE = (
    b'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"bench","update":{"sessionUpdate":'
    b'"agent_message_chunk","content":{"type":"text","text":"chunk %d of a text, about as long as they are"}}}}\n'
)
ANSWERS = {
    b"initialize": b'{"protocolVersion":1,"agentCapabilities":{"loadSession":false},"authMethods":[]}',
    b"session/new": b'{"sessionId":"bench"}',
    b"session/prompt": b'{"stopReason":"end_turn"}',
}


def _between(line: bytes, before: bytes, after: bytes) -> bytes:
    """What stands between two marks, without blanks; empty when the first is not there."""
    return line.partition(before)[2].partition(after)[0].strip()


def _id_of(line: bytes) -> bytes:
    rest = line.partition(b'"id":')[2].lstrip()
    end = min(place for mark in b",}" if (place := rest.find(mark)) >= 0)
    return rest[:end].strip()


def main() -> None:
    """Answer line by line until the input ends."""
    write, flush = sys.stdout.buffer.write, sys.stdout.buffer.flush
    for line in sys.stdin.buffer:
        if b'"id"' not in line:
            continue
        method = _between(line, b'"method":"', b'"')
        if method == b"session/prompt":
            count = int(_between(line, b'"text":"', b'"'))
            for first in range(0, count, CHUNKS_AT_ONCE):
                write(b"".join([UPDATE % number for number in range(first, min(first + CHUNKS_AT_ONCE, count))]))
                flush()
        write(b'{"jsonrpc":"2.0","id":%b,"result":%b}\n' % (_id_of(line), ANSWERS.get(method, b"{}")))
        flush()


if __name__ == "__main__":
    main()
