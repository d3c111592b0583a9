"""The message that answers a request, made from the step that is due. Pure and the same every time."""

from __future__ import annotations

import hashlib

import msgspec

from footplate.testing.messages.script import Due
from footplate.testing.messages.step import Step

_SIGNATURE = "c2NyaXB0ZWQtc2lnbmF0dXJl"


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """A message of the model, complete."""

    id: str
    model: str
    content: list[dict[str, object]]
    stop_reason: str
    usage: dict[str, object]


def compose_reply(due: Due, *, model: str) -> Reply:
    """The step's words and tools as a message, with ids that no other step of any session shares."""
    mark = digest(*due.name)
    content = _content(due.step, mark)
    calls = any(block.get("type") == "tool_use" for block in content)
    return Reply(
        id=f"msg_{mark}",
        model=model,
        content=content,
        stop_reason=due.step.stop or ("tool_use" if calls else "end_turn"),
        usage=_usage(content, due.step),
    )


def digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:24]


def _content(step: Step, mark: str) -> list[dict[str, object]]:
    content: list[dict[str, object]] = []
    if step.thinking is not None:
        content.append({"type": "thinking", "thinking": step.thinking, "signature": _SIGNATURE})
    if step.text is not None:
        content.append({"type": "text", "text": step.text})
    for number, (name, given) in enumerate(step.tools):
        content.append({"type": "tool_use", "id": f"toolu_{mark}{number:02}", "name": name, "input": given})
    content += step.blocks
    return content if content or step.stop is not None else [{"type": "text", "text": "ok"}]


def _usage(content: list[dict[str, object]], step: Step) -> dict[str, object]:
    """Made-up counts: no tokenizer here. What a test wants to see it gives in the step."""
    return {
        "input_tokens": 10,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        "output_tokens": 1 + len(msgspec.json.encode(content)) // 4,
    } | step.usage
