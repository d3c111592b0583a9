"""The engine's own record of a session's conversation, which may be missing: then the conversation begins anew.

An agent that is killed in its first moments has written nothing down, and cannot be asked to continue that. A
conversation that a person named and that was never there is another matter: the engine refuses it, in its own words.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec.structs import replace

from footplate.engines.base import Engine, Options
from footplate.engines.parking import CanPark, Place
from footplate.events import model as m
from footplate.events.ids import EngineSessionId, PromptId, TurnId
from footplate.events.model import Event
from footplate.events.view import SessionView, UserItem
from footplate.runtime.surroundings import Surroundings

BEGUN = "the agent was killed when it had just begun with this; send it again if it is still wanted"
FORGOTTEN = "The agent has no record of the conversation so far: it begins anew and does not know what was said before."


def is_missing(engine: Engine, view: SessionView, options: Options, environ: Mapping[str, str]) -> bool:
    """Whether the conversation that was attached before is not there any more. Looks at files."""
    if options.resume is None or options.fork or not view.version or not isinstance(engine, CanPark):
        return False
    return not engine.parking.knows(_place(options, environ))


def _place(options: Options, environ: Mapping[str, str]) -> Place:
    environ = {**environ, **options.env}
    return Place(session=options.resume, cwd=options.cwd, environ=environ, profile=options.profile)


def was_begun(engine: Engine, options: Options, environ: Mapping[str, str], prompt: PromptId) -> bool:
    """Whether a process that is gone had taken up a prompt which our log still has waiting. Looks at files."""
    return isinstance(engine, CanPark) and engine.parking.has_begun(_place(options, environ), prompt)


class Doubts:
    """The prompts that waited when a session was opened again: an agent that is gone may have begun with one.

    `handed_over`: the log says that a process was about to be given one.
    """

    def __init__(self, view: SessionView, surroundings: Surroundings) -> None:
        self._surroundings = surroundings
        self._prompts = {each.id for each in view.queue}
        self.handed_over = view.turn is None and view.state == "running"
        self.started_in: EngineSessionId | None = None
        """The conversation that the last process was started in; the log may not have it, or a later one."""

    def clear(self) -> None:
        """No agent is gone."""
        self._prompts.clear()
        self.handed_over = False

    def can_tell(self, engine: Engine, options: Options) -> bool:
        """Whether the engine's transcript says which prompts the process that is gone has begun."""
        return isinstance(engine, CanPark) and bool(self._conversations(options))

    def _conversations(self, options: Options) -> list[EngineSessionId]:
        """Where that process may have begun with a prompt: it may have moved on to the one that the log has."""
        candidates = (self.started_in, None if options.fork else options.resume)
        return [conversation for conversation in dict.fromkeys(candidates) if conversation is not None]

    async def begun(
        self, prompt: PromptId, engine: Engine, options: Callable[[], Options], environ: Mapping[str, str]
    ) -> bool:
        """Whether it is so; asked once of each prompt."""
        if prompt not in self._prompts:
            return False
        self._prompts.discard(prompt)
        given = options()
        for conversation in self._conversations(given):
            place = replace(given, resume=conversation, fork=False)
            if await self._surroundings.blocking(was_begun, engine, place, environ, prompt):
                return True
        return False


def lost_in_begin(view: SessionView, prompt: PromptId, turn: TurnId) -> list[Event]:
    """It is not sent a second time: whatever was done for it was done, and nobody knows what."""
    started = m.TurnStarted(turn=turn, prompts=(prompt,), origin="prompt")
    ended = m.TurnEnded(
        turn=turn, ok=False, error=BEGUN, error_kind="lost", stop_reason="lost", resume=view.resume, prompts=(prompt,)
    )
    return [started, ended]


def said_in_turn(view: SessionView) -> list[UserItem]:
    """The prompts of the open turn, as far as the log has them."""
    return [item for item in view.items if isinstance(item, UserItem) and item.turn == view.turn and item.prompt]


def begin_anew(view: SessionView) -> list[Event]:
    """What is told of it: nothing where the agent had not said anything yet."""
    said = any(not isinstance(item, UserItem) for item in view.items)
    return [m.Notice(level="warning", text=FORGOTTEN, code="conversation_lost")] if said else []


def with_token(event: Event, view: SessionView) -> Event:
    """The end of a turn whose process never came as far as the conversation: that is still the one to go on with."""
    if isinstance(event, m.TurnEnded) and event.resume is None and view.version:
        return replace(event, resume=view.resume)
    return event
