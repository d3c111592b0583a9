"""Requests of the agent to a person, and the answers they can get."""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from footplate.events.base import OptionalRaw
from footplate.events.content import ContentBlock
from footplate.events.ids import RequestId, ToolCallId
from footplate.events.tools import Choice, Question, ToolDetail

RequestKind = Literal["permission", "question", "plan"]
RequestState = Literal["open", "answered", "applied", "rejected", "withdrawn", "unanswered"]
OptionKind = Literal["allow_once", "allow_session", "allow_always", "deny", "deny_and_stop", "other"]
Scope = Literal["once", "exact", "session", "always"]
Destination = Literal["session", "local", "project", "user", ""]

YES_OR_NO: Final = (Choice(label="Yes"), Choice(label="No"))
"""The choices of a question that is asked without any, such as the "Confirm?" of an MCP server."""


class AnswerBase(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", omit_defaults=True, gc=False):
    """Base of all answers; the tag stands in `type`."""


class Allow(AnswerBase, frozen=True, kw_only=True, tag="allow"):
    """Yes: once, for the session, or always (by one of the engine's suggestions), the input changed or not.

    `exact` is for the session, too, but exactly this call and nothing like it. `prompts` are the numbers of those
    allowed prompts of a plan that are granted with it, from 0.
    """

    scope: Scope = "once"
    suggestion: int | None = None
    updated_input: OptionalRaw = None
    mode: str = ""
    prompts: tuple[int, ...] = ()


class Deny(AnswerBase, frozen=True, kw_only=True, tag="deny"):
    """No, with words for the agent; `interrupt` stops the turn as well."""

    message: str = ""
    interrupt: bool = False


class RequestOption(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """One way to answer by a single choice; `id` is what an answer names, `means` the same answer in full."""

    id: str
    label: str
    kind: OptionKind = "other"
    means: Allow | Deny | None = None


class Suggestion(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A lasting change that the engine proposes, with the place where it would be kept.

    `allows` is what it allows, in words, where it is a rule: a session that takes it hands it to every later process of
    the engine. It is empty for any other change, such as of the mode.
    """

    label: str
    destination: Destination = ""
    raw: OptionalRaw = None
    allows: str = ""


class Request(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """What the agent wants to know or to be allowed. Waits as long as it must."""

    id: RequestId
    kind: RequestKind
    title: str
    tool: str = ""
    call: ToolCallId | None = None
    agent: str = ""
    description: str = ""
    reason: str = ""
    reason_type: str = ""
    blocked_path: str = ""
    input: OptionalRaw = None
    detail: ToolDetail | None = None
    """What the call does, typed: the whole change of files or the command. `input` is the engine's own form of it."""

    content: tuple[ContentBlock, ...] = ()
    """What the agent shows of it beside texts and changes: links, pictures, files, blocks of an unknown kind."""

    options: tuple[RequestOption, ...] = ()
    suggestions: tuple[Suggestion, ...] = ()
    questions: tuple[Question, ...] = ()
    plan: str = ""
    plan_file: str = ""
    allowed_prompts: tuple[str, ...] = ()
    engine_request: str = ""
    """The engine's own id of it, where the session gave the request one of ours."""

    mode: str = ""
    """The permission mode in which it was asked."""

    rules: str = ""
    """A sum over the engine's own permission rules when it was asked, where the engine can be asked to ask again."""

    replaces: RequestId | None = None
    """The request that this one came in place of: its process was gone, and the agent asks for something else now."""

    rerun: bool = False
    """This very call was allowed before, and nobody knows whether it ran: to allow it is to run it, perhaps again."""

    plan_prompt: str = ""
    """The granted prompt of a plan that the agent says this falls under. A hint: nothing is allowed by it."""

    limit: str = ""
    """The limit of the session that is reached: then it is Footplate that asks and not the agent."""

    def __post_init__(self) -> None:
        """Make a question without questions its title with Yes and No, so that every surface has a way to answer.

        Forms without fields are such questions; older logs contain them, too.
        """
        if self.kind == "question" and not self.questions:
            confirm = Question(text=self.title, choices=YES_OR_NO)
            msgspec.structs.force_setattr(self, "questions", (confirm,))


class Choose(AnswerBase, frozen=True, kw_only=True, tag="choose"):
    """One of the request's options, by its id."""

    option: str


class Reply(AnswerBase, frozen=True, kw_only=True, tag="reply"):
    """Answers to questions: question text -> label, several labels, or free text."""

    answers: dict[str, str | list[str]]


class Decline(AnswerBase, frozen=True, kw_only=True, tag="decline"):
    """The person will not answer the questions."""

    message: str = ""


Answer = Allow | Deny | Choose | Reply | Decline
