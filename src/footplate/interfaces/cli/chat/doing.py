"""Actions carried out: what a person typed becomes commands to the session, and lines that tell what came of it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal, assert_never

import msgspec

from footplate.errors import FootplateError, InvalidValue
from footplate.events import commands as c
from footplate.events.commands import Command
from footplate.events.content import TextBlock, text_of
from footplate.events.facts import ContextUsage, FileSuggestions
from footplate.events.ids import PromptId, SessionId
from footplate.events.requests import Answer
from footplate.events.wording import format_count, format_money, format_tokens
from footplate.interfaces.cli.chat import typed as t
from footplate.interfaces.cli.chat.asking import Dialogue
from footplate.interfaces.cli.chat.room import Room
from footplate.interfaces.cli.chat.status import usage_lines
from footplate.interfaces.cli.chat.text import Line, flat, lines_of
from footplate.interfaces.cli.lines import one_line
from footplate.runtime.audit import account_name
from footplate.runtime.backend import ChatBackend
from footplate.store.projection import SessionRow
from footplate.ulid import new_ulid

MOST_SESSIONS: Final = 20


class Me(msgspec.Struct, frozen=True):
    """Who acts, and from where: that is what others are told."""

    by: str
    surface: str

    @classmethod
    def of(cls, *, terminal: str, pid: int) -> Me:
        """The account of this process, at this terminal."""
        where = terminal.removeprefix("/dev/") if terminal else f"pid {pid}"
        return cls(account_name(), f"chat {where}")


class Outcome(msgspec.Struct, frozen=True):
    """What came of an action: lines to show, a session to go to, or the wish to leave."""

    lines: tuple[Line, ...] = ()
    session: SessionId | None = None
    leave: bool = False
    prompt: PromptId | None = None


class Doer:
    """Carries out actions on a backend, as one person."""

    def __init__(self, backend: ChatBackend, me: Me) -> None:
        self._backend = backend
        self._me = me

    async def perform(self, room: Room, action: t.Action) -> Outcome:
        """Do it. What cannot be done is told in lines; nothing is raised but the loss of the backend."""
        try:
            return await self._perform(room, action)
        except FootplateError as problem:
            return Outcome(tuple(lines_of(f"✗ {problem}", "failed")))

    async def answer(self, room: Room, dialogue: Dialogue, answer: Answer) -> Outcome:
        """Answer a request. When it cannot be, it is open as before, and the reason is told."""
        dialogue.sent = True
        command = c.AnswerRequest(
            key=new_ulid(), by=self._me.by, surface=self._me.surface, request=dialogue.request.id, answer=answer
        )
        try:
            await self._backend.do(room.standing.session, command)
        except FootplateError as problem:
            dialogue.sent = False
            dialogue.stage = "key"
            return Outcome(tuple(lines_of(f"✗ {problem}", "failed")))
        return Outcome()

    async def _perform(self, room: Room, action: t.Action) -> Outcome:
        match action:
            case t.Nothing():
                return Outcome()
            case t.Mistake():
                return Outcome((Line(f"✗ {action.text}", "failed"),))
            case t.Say():
                return await self._say(room, action)
            case t.Shell():
                await self._do(room, c.RunCommand(key=new_ulid(), command=action.command))
                return Outcome()
            case t.Change():
                return await self._change(room, action)
            case t.CancelPrompt():
                return await self._cancel(room, action.number)
            case t.Revoke():
                return await self._revoke(room, action.number)
            case t.Show():
                return Outcome(tuple(await self._show(room, action.what)))
            case t.Do():
                return await self._act(room, action.what)
            case _:
                assert_never(action)

    async def _do(self, room: Room, command: Command) -> None:
        given = msgspec.structs.replace(command, by=self._me.by, surface=self._me.surface)
        await self._backend.do(room.standing.session, given)

    async def _say(self, room: Room, action: t.Say) -> Outcome:
        prompt = PromptId(new_ulid())
        content = (TextBlock(text=action.text),)
        try:
            await self._do(room, c.SendPrompt(key=new_ulid(), prompt=prompt, content=content, when=action.when))
        except FootplateError:
            room.give_up(prompt)
            raise
        return Outcome(prompt=prompt)

    async def _change(self, room: Room, action: t.Change) -> Outcome:
        key, value = new_ulid(), action.value
        known = {"mode": room.standing.modes, "effort": room.standing.efforts}.get(action.what, ())
        if known and value not in known:
            raise InvalidValue(action.what, value, f"one of {', '.join(known)}")
        command: Command
        match action.what:
            case "mode":
                command = c.SetMode(key=key, by=self._me.by, surface=self._me.surface, mode=value)
            case "model":
                command = c.SetModel(key=key, model=value)
            case "effort":
                command = c.SetEffort(key=key, effort=value)
            case "title":
                command = c.Rename(key=key, title=value)
        await self._do(room, command)
        return Outcome()

    async def _cancel(self, room: Room, number: int | None) -> Outcome:
        queue = room.view.queue
        if not queue or (number or 1) > len(queue):
            return Outcome((Line("✗ no such prompt waits", "failed"),))
        chosen = queue[-1] if number is None else queue[number - 1]
        await self._do(room, c.WithdrawPrompt(key=new_ulid(), prompt=chosen.id))
        return Outcome()

    async def _revoke(self, room: Room, number: int) -> Outcome:
        rules = room.view.rules
        if number > len(rules):
            return Outcome((Line("✗ no such rule; /rules lists them", "failed"),))
        await self._do(room, c.RevokeRule(key=new_ulid(), rule=rules[number - 1].id))
        return Outcome()

    async def _act(self, room: Room, what: Literal["interrupt", "continue", "fork", "quit"]) -> Outcome:
        match what:
            case "interrupt":
                await self._do(room, c.Interrupt(key=new_ulid()))
                return Outcome()
            case "continue":
                room.expect_queue()
                await self._do(room, c.Continue(key=new_ulid()))
                return Outcome() if room.view.queue else Outcome((Line("no prompt waits", "dim"),))
            case "fork":
                return Outcome(session=await self._backend.fork(room.standing.session))
            case "quit":
                return Outcome(leave=True)

    async def suggest_files(self, room: Room, begun: str) -> tuple[str, ...]:
        """Files whose names fit; none where the engine cannot tell."""
        try:
            found = await self._backend.query(room.standing.session, "files", {"query": begun})
        except FootplateError:
            return ()
        return tuple(each.path for each in found.files) if isinstance(found, FileSuggestions) else ()

    async def _context(self, room: Room) -> list[str]:
        """What the context is full of, where the engine can tell."""
        try:
            found = await self._backend.query(room.standing.session, "context", {})
        except FootplateError:
            return []
        shares = found.categories if isinstance(found, ContextUsage) else ()
        return [flat(f"  {each.name}: {format_tokens(each.tokens)} tokens") for each in shares if each.tokens]

    async def _show(self, room: Room, what: str) -> list[Line]:
        view = room.view
        match what:
            case "help":
                return lines_of(t.HELP, "dim")
            case "queue":
                return _numbered((text_of(each.content) for each in view.queue), "nothing waits")
            case "requests":
                asked = [f"{each.state}: {each.request.kind} {one_line(each.request.title)}" for each in view.requests]
                return [Line(text, "", 1) for text in asked] or [Line("nothing is asked of you", "dim")]
            case "rules":
                return _numbered((each.label for each in view.rules), "nothing is allowed for the session")
            case "usage":
                return [Line(text, "", 1) for text in (*usage_lines(view), *await self._context(room))]
            case _:
                rows = (await self._backend.sessions())[:MOST_SESSIONS]
                return [Line(session_line(row, here=view.session), "", 1) for row in rows]


def _numbered(texts: Iterable[str], nothing: str) -> list[Line]:
    """A list whose entries are named by number, or that there is none."""
    return [Line(f"{n} {flat(text)}", "", 1) for n, text in enumerate(texts, 1)] or [Line(nothing, "dim")]


def session_line(row: SessionRow, *, here: SessionId) -> str:
    """One session in a list."""
    state = "waiting for you" if row.waiting_for == "you" else row.state
    parts = [
        row.session,
        row.engine,
        state,
        format_count(row.turns, "turn"),
        format_money(row.cost_usd),
        flat(row.title),
        flat(row.cwd),
    ]
    return ("* " if row.session == here else "  ") + " · ".join(part for part in parts if part)
