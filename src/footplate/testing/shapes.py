"""The shape of an agent's lines: which kinds there are, which fields each has, and what of it is new. Pure.

Words, inputs of tools and maps with names of their own for keys have no shape: nothing is said of what is in them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import msgspec

DEPTH: Final = 4
NO_SHAPE: Final = frozenset(
    (
        "input", "rawInput", "rawOutput", "tool_use_result", "toolUseResult", "modelUsage", "structured_output",
        "partial_json", "updatedInput", "permission_suggestions", "_meta", "toolCallContent", "env", "arguments",
        "requestedSchema", "schema", "answers", "mcp_servers", "plugins",
    )
)  # fmt: skip
"""Fields whose content is another's: a tool's, a person's, a name's."""
PLAIN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")


def shape_of(line: bytes) -> frozenset[str]:
    """The kind of the line and every field in it, as paths: `system/init`, `system/init.tools`, `user.message.role`."""
    try:
        value = msgspec.json.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return frozenset(("(not JSON)",))
    if not isinstance(value, dict):
        return frozenset(("(not an object)",))
    kind = _kind(value)
    return frozenset((kind, *_fields(value, kind, DEPTH)))


def _kind(value: Mapping[str, object]) -> str:
    method = value.get("method")
    if isinstance(method, str):
        params = value.get("params")
        update = params.get("update") if isinstance(params, dict) else None
        named = update.get("sessionUpdate") if isinstance(update, dict) else None
        return f"{method}/{named}" if isinstance(named, str) else method
    parts = [str(value[name]) for name in ("type", "subtype") if isinstance(value.get(name), str)]
    for name in ("request", "response", "event"):
        inner = value.get(name)
        part = inner.get("subtype") or inner.get("type") if isinstance(inner, dict) else None
        parts += [part] if isinstance(part, str) else []
    return "/".join(parts) or ("response" if "id" in value else "(no kind)")


def _fields(value: Mapping[str, object], path: str, depth: int) -> Iterator[str]:
    for name, inner in value.items():
        here = f"{path}.{name}" if PLAIN.fullmatch(name) else f"{path}.*"
        yield here
        if name in NO_SHAPE or depth <= 1:
            continue
        for each in inner if isinstance(inner, list) else (inner,):
            if isinstance(each, dict):
                sort = each.get("type")
                below = f"{here}[{sort}]" if isinstance(inner, list) and isinstance(sort, str) else here
                yield from _fields(each, below, depth - 1)


def read_known(text: str) -> frozenset[str]:
    """The shapes that are known, one path a line; `#` begins a remark."""
    lines = (line.strip() for line in text.splitlines())
    return frozenset(line for line in lines if line and not line.startswith("#"))


def unknown(lines: Iterable[bytes], known: frozenset[str]) -> tuple[str, ...]:
    """What was seen and is not known, in order; of a kind that is new only the kind is named."""
    seen = frozenset(path for line in lines for path in shape_of(line))
    fresh = seen - known
    kinds = {path for path in fresh if "." not in path}
    return tuple(sorted(path for path in fresh if path in kinds or path.partition(".")[0] not in kinds))
