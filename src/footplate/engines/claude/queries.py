"""Questions about the CLI: which control request each one is, and what its answer means. One table. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from footplate.engines.claude import answers
from footplate.engines.claude.prompts import prompt_uuid
from footplate.errors import InvalidValue
from footplate.events.facts import QueryName
from footplate.events.ids import PromptId

Arguments = Mapping[str, str | int | bool]


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """One question: the control request, its arguments, and how its answer is read."""

    subtype: str
    reads: answers.Reader
    arguments: Callable[[Arguments], dict[str, object]] = lambda _: {}


def text(given: Arguments, name: str) -> str:
    """An argument that must be there."""
    value = given.get(name)
    if not isinstance(value, str) or not value:
        raise InvalidValue(name, value, "a text")
    return value


QUESTIONS: Final[dict[QueryName, Question]] = {
    "context": Question(subtype="get_context_usage", reads=answers.read_context),
    "cost": Question(subtype="get_session_cost", reads=answers.read_cost),
    "usage": Question(subtype="get_usage", reads=answers.read_usage),
    "files": Question(
        subtype="file_suggestions",
        reads=answers.read_files,
        arguments=lambda given: {"query": given.get("query", "")},
    ),
    "servers": Question(subtype="mcp_status", reads=answers.read_servers),
    "rewind": Question(
        subtype="rewind_files",
        reads=answers.read_rewind,
        arguments=lambda given: {"user_message_id": prompt_uuid(PromptId(text(given, "message"))), "dry_run": True},
    ),
    "plan": Question(subtype="get_plan", reads=answers.read_plan),
    "task_output": Question(
        subtype="get_task_output", reads=answers.read_output, arguments=lambda given: {"task_id": text(given, "task")}
    ),
}
"""What the CLI is asked; what is not here is known to us: `about`, `models`, `commands`, `tasks`."""
