"""Where a message goes: which session, engine, project and branch. Pure.

A resume line in the text wins, then one in the message it replies to, then what that message is about. The engine is
that of the session, else of the directive, the topic, the chat, the project, the settings.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

import msgspec

from footplate.chat.reading.directives import Directives, Names, read_directives
from footplate.errors import InvalidValue
from footplate.events.base import ResumeToken
from footplate.events.ids import SessionId

CONTINUE: Final = "continue"
CONTEXT: Final = re.compile(
    r"^`?ctx:[ \t]*(?P<project>[^\s`@]+)?(?:[ \t]*@(?P<branch>[^\s`]+))?`?[ \t]*$", re.MULTILINE
)


class Context(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A project and a branch of it; both may be missing."""

    project: str = ""
    branch: str = ""

    def words(self) -> str:
        """As a footer shows it."""
        branch = f" @{self.branch}" if self.branch else ""
        return f"ctx: {self.project}{branch}" if self.project else ""


class Said(msgspec.Struct, frozen=True, kw_only=True):
    """A message and what it replies to."""

    text: str
    reply_text: str = ""
    reply_session: SessionId | None = None


class Ambient(msgspec.Struct, frozen=True, kw_only=True):
    """What holds where the message was written, the nearest first."""

    engines: tuple[str, ...] = ()
    """Of the topic, of the chat; empty ones are passed over."""
    context: Context = Context()
    default_engine: str = "claude"
    project_engines: dict[str, str] = {}


class Route(msgspec.Struct, frozen=True, kw_only=True):
    """Where it goes, and what it goes on with; `chosen`: whether the message itself named an engine or a project."""

    engine: str
    context: Context
    prompt: str
    token: ResumeToken | None = None
    session: SessionId | None = None
    chosen: bool = False


class Resumes(msgspec.Struct, frozen=True):
    """The engines' own knowledge of resume lines."""

    find: Callable[[str], ResumeToken | None]
    is_line: Callable[[str], bool]


def choose_route(said: Said, ambient: Ambient, names: Names, resumes: Resumes) -> Route:
    """Where the message goes. Raises `InvalidValue` for directives that contradict, or a project that is not known."""
    token = resumes.find(said.text) or resumes.find(said.reply_text)
    directives = read_directives(_without(said.text, resumes.is_line), names)
    context = read_context(said.reply_text, names) or _directed(directives, ambient.context)
    session = said.reply_session if token is None else None
    engine = token.engine if token is not None else directives.engine or _ambient_engine(ambient, context)
    if token is not None and directives.engine and directives.engine != token.engine:
        raise InvalidValue("engine", directives.engine, f"that of the session, {token.engine}")
    return Route(
        engine=engine,
        context=context,
        prompt=directives.prompt or CONTINUE,
        token=token,
        session=session,
        chosen=bool(directives.engine or directives.project or directives.branch),
    )


def _directed(directives: Directives, ambient: Context) -> Context:
    project = directives.project or ambient.project
    kept = ambient.branch if not directives.project or directives.project == ambient.project else ""
    branch = directives.branch or kept
    if branch and not project:
        raise InvalidValue("branch", branch, "a project with it: /project @branch")
    return Context(project=project, branch=branch)


def read_context(text: str, names: Names) -> Context | None:
    """The context that a footer of ours tells; the last one."""
    found = next(reversed(list(CONTEXT.finditer(text))), None)
    if found is None or not found["project"]:
        return None
    if found["project"] not in names.projects:
        raise InvalidValue("project", found["project"], f"one of {', '.join(names.projects) or 'none is set up'}")
    return Context(project=found["project"], branch=found["branch"] or "")


def _without(text: str, is_line: Callable[[str], bool]) -> str:
    return "\n".join(line for line in text.splitlines() if not is_line(line)).strip()


def _ambient_engine(ambient: Ambient, context: Context) -> str:
    nearest = (*ambient.engines, ambient.project_engines.get(context.project, ""))
    return next((engine for engine in nearest if engine), ambient.default_engine)
