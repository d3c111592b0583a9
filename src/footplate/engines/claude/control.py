"""Frames to the CLI: prompts, control requests, answers to its requests. Pure; each frame is one whole line.

An allow always echoes `updatedInput` (2.1.197 refuses one without it) and a deny always has a message; neither is ever
null. Of the changes that the CLI proposes one is sent back at most: all of them would switch the mode as well. A rule
for the session is not sent back at all: it goes into the settings of the process (`grants`), where it can be revoked.
"""

from __future__ import annotations

from typing import Final

import msgspec

from footplate.engines.claude.lenient import read
from footplate.engines.claude.prompt_blocks import prompt_body
from footplate.engines.claude.prompts import prompt_uuid
from footplate.engines.claude.wire import FIELDS
from footplate.errors import InvalidValue
from footplate.events.content import ContentBlock
from footplate.events.ids import PromptId
from footplate.events.requests import Allow, Answer, Choose, Decline, Deny, Reply, Request
from footplate.events.rules import meaning, taken_suggestion

DENIED: Final = "The user does not want this to be done."
UNANSWERED: Final = "The user does not want to answer these questions."
NO_INPUT: Final = msgspec.Raw(b"{}")


class Requests:
    """Control requests of ours, numbered one after another."""

    def __init__(self, prefix: str = "footplate-") -> None:
        self._prefix = prefix
        self._count = 0

    def named(self, subtype: str, **arguments: object) -> tuple[str, bytes]:
        """One request and its id; arguments that are None are left out."""
        self._count += 1
        name = f"{self._prefix}{self._count}"
        given = {name: value for name, value in arguments.items() if value is not None}
        return name, line({"type": "control_request", "request_id": name, "request": {"subtype": subtype, **given}})


def line(frame: object) -> bytes:
    """A frame as a line."""
    return msgspec.json.encode(frame) + b"\n"


def prompt_frame(prompt: PromptId, content: tuple[ContentBlock, ...], *, now: bool = False) -> bytes:
    """A message of the person."""
    frame: dict[str, object] = {
        "type": "user",
        "message": {"role": "user", "content": prompt_body(content)},
        "parent_tool_use_id": None,
        "uuid": prompt_uuid(prompt),
    }
    return line({**frame, "priority": "now"} if now else frame)


def answer_frame(request: Request, answer: Answer) -> bytes:
    """The answer to a `can_use_tool`."""
    return success_frame(request.id, decision(request, answer))


def success_frame(request_id: str, response: object) -> bytes:
    """The answer to a control request of the CLI."""
    return line(
        {
            "type": "control_response",
            "response": {"subtype": "success", "request_id": request_id, "response": response},
        }
    )


def refusal_frame(request_id: str, reason: str) -> bytes:
    """The answer to a control request that we do not serve: without one the CLI would wait for ever."""
    return line(
        {"type": "control_response", "response": {"subtype": "error", "request_id": request_id, "error": reason}}
    )


def decision(request: Request, answer: Answer) -> dict[str, object]:
    """What an answer means to the CLI."""
    answer = chosen(request, answer)
    if isinstance(answer, Allow):
        return _allow(request, answer)
    if isinstance(answer, Reply):
        return {"behavior": "allow", "updatedInput": _with_answers(request, answer)}
    if isinstance(answer, Decline):
        return _deny(answer.message or UNANSWERED)
    return _deny(answer.message or DENIED, interrupt=answer.interrupt)


def chosen(request: Request, answer: Answer) -> Allow | Deny | Reply | Decline:
    """The answer in full. Raises `InvalidValue` for an option that the request does not have."""
    answer = meaning(request, answer)
    if isinstance(answer, Choose):
        known = ", ".join(sorted(each.id for each in request.options))
        raise InvalidValue("option", answer.option, f"one of {known}")
    return answer


def denies(request: Request, answer: Answer) -> bool:
    """Whether the answer is a no."""
    return isinstance(chosen(request, answer), Deny | Decline)


def _allow(request: Request, answer: Allow) -> dict[str, object]:
    changed = answer.updated_input
    fields = read(FIELDS, request.input)
    if fields and read(FIELDS, changed) == {}:
        # Both measured versions take an empty object for "unchanged" and run the input that the person has replaced.
        raise InvalidValue("updated_input", "{}", "an object with at least one field")
    allowed: dict[str, object] = {
        "behavior": "allow",
        "updatedInput": changed or request.input or NO_INPUT,
    }
    changes = _lasting(request, answer)
    if answer.mode:
        changes.append({"type": "setMode", "mode": answer.mode, "destination": "session"})
    return {**allowed, "updatedPermissions": changes} if changes else allowed


def _lasting(request: Request, answer: Allow) -> list[object]:
    """The proposed change that makes the answer last; the first one when none is named."""
    index = answer.suggestion
    if index is not None and not 0 <= index < len(request.suggestions):
        raise InvalidValue("suggestion", index, f"a number below {len(request.suggestions)}")
    taken = taken_suggestion(request, answer)
    fields = read(FIELDS, taken.raw) if taken is not None else None
    if taken is None or fields is None:
        return []
    if answer.scope == "session":
        return [] if taken.allows else [{**fields, "destination": "session"}]
    return [fields]


def _deny(message: str, *, interrupt: bool = False) -> dict[str, object]:
    denied: dict[str, object] = {"behavior": "deny", "message": message}
    return {**denied, "interrupt": True} if interrupt else denied


def _with_answers(request: Request, reply: Reply) -> dict[str, object]:
    """The questions with their answers; several choices are one text."""
    answers = {
        question: given if isinstance(given, str) else ", ".join(given) for question, given in reply.answers.items()
    }
    questions = read(FIELDS, request.input) or {}
    return {**questions, "answers": answers}
