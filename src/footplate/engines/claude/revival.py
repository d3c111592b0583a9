"""Requests of Claude Code that outlive their process: the table of `parking`, carried out on the CLI's own files."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import msgspec

from footplate.engines.claude import control
from footplate.engines.claude.parking import (
    GO_ON,
    TAKEN_BACK,
    Action,
    Append,
    Effect,
    Journal,
    Park,
    Say,
    Settled,
    StartAnew,
    is_same_call,
    settle,
    tell_waiting,
)
from footplate.engines.claude.parking_lot import Refused, Stamp, append_result, effect_on_file, park, rules_digest
from footplate.engines.claude.projects import agent_transcript, config_folder, find_transcript, read_transcript
from footplate.engines.claude.prompts import prompt_uuid
from footplate.engines.claude.transcript import Transcript
from footplate.engines.claude.writers import find_writer
from footplate.engines.parking import Pending, Place, Recorded, Way
from footplate.events.ids import PromptId
from footplate.events.requests import Allow, Answer, Decline, Deny, Request

LOST: Final = "the agent has no record of the conversation, and the call was allowed and may have run"


class ClaudeParking:
    """What can be done about requests whose CLI is gone. `profile` is the one of the settings."""

    def __init__(self, profile: str = "") -> None:
        self._profile = profile

    def knows(self, place: Place) -> bool:
        """Whether its file is there."""
        return self._find(place) is not None

    def has_begun(self, place: Place, prompt: PromptId) -> bool:
        """Whether its file has the prompt. The CLI passes over one that it has: nothing would come of it."""
        path, name = self._find(place), prompt_uuid(prompt)
        return path is not None and any(node.uuid == name for node in read_transcript(path).nodes)

    def sum_rules(self, place: Place) -> str:
        """A sum over the files with permission rules."""
        return rules_digest(self._config(place), place.cwd)

    def check(self, request: Request, answer: Answer) -> None:
        """An answer that can be written as a frame is one."""
        control.decision(request, answer)

    def look(self, place: Place, pending: Pending) -> Way:
        """What the table says, with nothing done."""
        path = self._find(place)
        writer = find_writer(self._config(place), place.session or "", path)
        if writer is not None:
            return Way(kind="impossible", busy=True, reason=f"the conversation is in use by {writer.describe()}")
        return _way(self._settle(place, pending, path))

    def prepare(self, place: Place, pending: Pending, *, by_message: bool = False) -> Way:
        """Park the call, or write down its result, as the table says.

        Told by a message a call must not be parked any more: the CLI would ask for it of its own accord, whenever it is
        resumed. So it is taken back before the agent is told.
        """
        path = self._find(place)
        action = self._settle(place, pending, path)
        todo = action
        if by_message and isinstance(action, Park):
            journal = journal_of(pending)
            todo = Append(call=action.call, text=TAKEN_BACK, message="", is_error=True)
            action = Say(message=tell_waiting(journal), again=journal.allow, mode=action.mode)
        refused = self._write(place, todo, path)
        if refused is None:
            return _way(action)
        return Way(kind="impossible", reason=_refusal(refused), busy=refused.reason == "in use")

    def record(self, place: Place, results: tuple[Recorded, ...]) -> bool:
        """Append the results that the file waits for; what it does not wait for is refused and left as it is."""
        path = self._find(place)
        if path is None:
            return True
        waiting = {call.id for call in read_transcript(path).open_calls()}
        for each in results:
            if each.call not in waiting:
                continue
            done = append_result(
                path, each.call, each.text, config=self._config(place), is_error=each.is_error, stamp=_stamp()
            )
            if isinstance(done, Refused) and done.reason == "in use":
                return False
        return True

    def is_same(self, pending: Pending, request: Request, *, by_id: bool) -> bool:
        """Same tool and input, whatever the order of keys; and the id that was parked."""
        same = is_same_call(journal_of(pending), request.tool, request.input)
        return same and (not by_id or request.call == pending.request.call)

    # ------------------------------------------------------------------------------------------- inside

    def _config(self, place: Place) -> Path:
        return config_folder(place.environ, place.profile or self._profile)

    def _find(self, place: Place) -> Path | None:
        return None if place.session is None else find_transcript(self._config(place), place.session, place.cwd)

    def _settle(self, place: Place, pending: Pending, path: Path | None) -> Action:
        journal = journal_of(pending)
        rules = pending.request.rules
        return settle(
            journal,
            None if path is None else read_transcript(path),
            effect=_effect(pending, journal) if pending.state == "sending" else "unknown",
            agent=_agent(pending, path),
            loosened=bool(rules) and rules != self.sum_rules(place),
        )

    def _write(self, place: Place, action: Action, path: Path | None) -> Refused | None:
        """Carry out what is to be written; what was refused, if anything."""
        done: object = None
        if isinstance(action, Park) and path is not None:
            done = park(path, action.call, config=self._config(place), mode=action.mode, stamp=_stamp())
        elif isinstance(action, Append) and path is not None:
            done = append_result(
                path,
                action.call,
                action.text,
                config=self._config(place),
                is_error=action.is_error,
                stamp=_stamp(),
            )
        return done if isinstance(done, Refused) else None


def journal_of(pending: Pending) -> Journal:
    """The request as the table knows it. A call below several sub-agents stands in the file as the topmost of them."""
    request, answer = pending.request, pending.answer
    return Journal(
        call=request.call or "",
        tool=request.tool,
        input=request.input,
        mode=request.mode,
        state=pending.state,
        allow=answer is not None and not control.denies(request, answer),
        message=answer.message if isinstance(answer, Deny | Decline) else "",
        agent=request.agent,
        parent=pending.parents[-1] if pending.parents else "",
    )


def _effect(pending: Pending, journal: Journal) -> Effect:
    """What the file shows of a call that writes one; as it was allowed, which may not be as it was asked."""
    answer = pending.answer
    if isinstance(answer, Allow) and answer.updated_input is not None:
        journal = msgspec.structs.replace(journal, input=answer.updated_input)
    return effect_on_file(journal)


def _agent(pending: Pending, path: Path | None) -> Transcript | None:
    """The file of the sub-agent that asks; None where what it did cannot be told."""
    if path is None or len(pending.parents) != 1 or not pending.request.agent:
        return None
    try:
        return read_transcript(agent_transcript(path, pending.request.agent))
    except FileNotFoundError:
        return None


def _way(action: Action) -> Way:
    match action:
        case Settled():
            return Way(kind="settled", text=action.text, is_error=action.is_error)
        case Park():
            return Way(kind="ask", mode=action.mode, dropped=len(action.dropped), restarts=action.restarts)
        case Append():
            return Way(
                kind="tell",
                mode=action.mode,
                message=action.message or GO_ON,
                unknown=action.unknown,
                text=action.text,
                is_error=action.is_error,
            )
        case Say():
            return Way(
                kind="tell", mode=action.mode, message=action.message, again=action.again, unknown=action.unknown
            )
        case StartAnew():
            return Way(kind="impossible", unknown=True, reason=LOST) if action.unknown else Way(kind="anew")


def _refusal(refused: Refused) -> str:
    words = f"its file does not take it: {refused.reason}"
    return f"{words} ({refused.detail})" if refused.detail else words


def _stamp() -> Stamp:
    return Stamp(now=datetime.now(UTC), uuid=str(uuid.uuid4()))
