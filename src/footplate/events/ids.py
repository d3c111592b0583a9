"""Ids as types of their own, so that our session's id and the engine's never stand for one another."""

from __future__ import annotations

from typing import NewType

SessionId = NewType("SessionId", str)
"""A session of ours (ULID: sorts by time)."""

EngineSessionId = NewType("EngineSessionId", str)
"""The engine's own id of the conversation, what `claude --resume X` takes. Opaque."""

TurnId = NewType("TurnId", str)
"""One turn of a session: a prompt (or several folded together) and all that came of it."""

PromptId = NewType("PromptId", str)
"""One message of a person or program to the agent, from the moment it is accepted."""

MessageId = NewType("MessageId", str)
"""One message of the agent (or the person); its parts are numbered from 0."""

ToolCallId = NewType("ToolCallId", str)
"""One call of a tool, as the engine names it."""

TaskId = NewType("TaskId", str)
"""Work that the engine runs beside the turn: a sub-agent, a background command."""

RequestId = NewType("RequestId", str)
"""Something the agent asks of a person: a permission, a question, a plan."""

RuleId = NewType("RuleId", str)
"""Something that was allowed for a session."""
