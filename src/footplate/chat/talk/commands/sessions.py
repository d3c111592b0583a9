"""Commands about sessions: `/new`, `/cancel`, `/continue`, `/sessions`, `/usage`, `/requests`, `/rules` and others."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from footplate.chat.drawing.words import flat, shorten
from footplate.chat.model import Content, Place
from footplate.chat.reading.commands import Command
from footplate.chat.talk.commands.ordered import Handler, Ordered
from footplate.chat.talk.kit import Kit
from footplate.chat.talk.places import Places
from footplate.chat.talk.pressed import NOTHING_RUNS, Pressed, continue_queue
from footplate.chat.talk.prompts import Prompter
from footplate.errors import InvalidValue
from footplate.events.base import ResumeToken
from footplate.events.ids import PromptId, SessionId
from footplate.events.wording import format_count, format_money, format_share, format_tokens
from footplate.runtime.audit import Principal
from footplate.runtime.limits import Limits
from footplate.runtime.session import Session
from footplate.store.projection import SessionRow
from footplate.store.values import RequestFilter

MOST: Final = 15


class SessionCommands:
    """What can be asked about sessions."""

    def __init__(self, kit: Kit, places: Places, prompter: Prompter, pressed: Pressed) -> None:
        self._kit = kit
        self._places = places
        self._prompter = prompter
        self._pressed = pressed

    def handlers(self) -> dict[str, Handler]:
        """The commands of this room."""
        return {
            "new": self._new,
            "cancel": self._cancel,
            "continue": self._continue,
            "sessions": self._sessions,
            "usage": self._usage,
            "requests": self._requests,
            "rules": self._rules,
            "revoke": self._revoke,
            "budget": self._budget,
            "export": self._export,
        }

    async def _current(self, ordered: Ordered) -> Session:
        return await self._prompter.current(ordered.spot, ordered.sender.id, ordered.said)

    async def _new(self, _command: Command, ordered: Ordered) -> str:
        await self._places.forget_sessions(ordered.spot, ordered.sender.id)
        return "the next message begins a new session."

    async def _cancel(self, _command: Command, ordered: Ordered) -> str:
        """Whatever is written behind it is passed over."""
        if ordered.about is not None and ordered.about.prompt is not None:
            return await self._pressed.cancel(ordered.about.prompt)
        running = [
            job
            for job in (await self._kit.records.jobs.all()).values()
            if (job.place.chat, job.place.topic) == (ordered.spot.chat, ordered.spot.topic)
        ]
        if not running:
            return NOTHING_RUNS
        return await self._pressed.cancel(PromptId(min(running, key=lambda job: job.at).prompt))

    async def _continue(self, _command: Command, ordered: Ordered) -> str:
        return await continue_queue(await self._current(ordered))

    async def _sessions(self, _command: Command, ordered: Ordered) -> str:
        rows = (await self._kit.hub.sessions()).items[:MOST]
        return "\n".join(self._line(row) for row in rows) or "there are no sessions yet."

    def _line(self, row: SessionRow) -> str:
        state = "waiting for you" if row.waiting_for == "you" else row.state
        parts = [
            row.engine,
            state,
            format_count(row.turns, "turn"),
            format_money(row.cost_usd),
            shorten(flat(row.title or row.cwd), 60),
        ]
        line = f"- {' · '.join(part for part in parts if part)}"
        resume = self._resume_line(row)
        return f"{line}\n  `{resume}`" if resume else line

    def _resume_line(self, row: SessionRow) -> str:
        if row.engine_session_id is None:
            return ""
        return self._kit.roster.format_resume(ResumeToken(engine=row.engine, value=row.engine_session_id))

    async def _usage(self, _command: Command, ordered: Ordered) -> str:
        view = (await self._current(ordered)).view()
        totals, meter = view.usage, view.meter
        lines = [f"**{view.engine}** {view.model}".rstrip(), f"- turns: {totals.turns}"]
        tokens = (format_tokens(each) for each in (totals.input_tokens, totals.output_tokens, totals.cache_read_tokens))
        lines.append("- tokens: {} in, {} out, {} cached".format(*tokens))
        if meter.used is not None:
            share = f" ({format_share(meter.used, meter.size)})" if meter.size else ""
            lines.append(
                f"- context: {format_tokens(meter.used)} of {format_tokens(meter.size) if meter.size else '?'}{share}"
            )
        cost = totals.cost_usd if totals.cost_usd is not None else meter.cost_usd
        lines.append(f"- cost: {format_money(cost) or 'not told'}")
        return "\n".join(lines)

    async def _requests(self, _command: Command, ordered: Ordered) -> str:
        rows = (await self._kit.hub.requests(RequestFilter(states=("open",)))).items[:MOST]
        for row in rows:
            await self._pressed.show_again(row.session, row.id, ordered.spot)
        return f"{len(rows)} open, shown below." if rows else "nothing waits for your answer."

    # ------------------------------------------------------------------------------------------- grants

    async def _rules(self, _command: Command, ordered: Ordered) -> str:
        rules = (await self._current(ordered)).rules()
        lines = [f"{number}. {flat(rule.label)}" for number, rule in enumerate(rules, 1)]
        return (
            "\n".join([*lines, "", "`/revoke N` takes one back."]) if lines else "nothing is allowed for the session."
        )

    async def _revoke(self, command: Command, ordered: Ordered) -> str:
        session = await self._current(ordered)
        rules, given = session.rules(), command.rest.strip()
        if not given.isdecimal() or not 1 <= int(given) <= len(rules):
            raise InvalidValue("rule", given, f"a number from 1 to {len(rules)}; /rules lists them")
        rule = rules[int(given) - 1]
        sender = ordered.sender
        await session.revoke(rule.id, by=sender.name, surface=self._kit.surface, origin=sender.origin)
        return f"revoked: {flat(rule.label)}"

    async def _budget(self, command: Command, ordered: Ordered) -> str:
        session, given = await self._current(ordered), command.rest.strip().lstrip("$")
        limits = session.spec.limits
        if given:
            try:
                amount = float(given)
            except ValueError:
                raise InvalidValue("budget", given, "an amount in dollars, such as 2.50") from None
            if amount <= 0:
                raise InvalidValue("budget", given, "more than 0")
            limits = Limits(
                cost_usd=amount,
                turns=limits.turns,
                seconds=limits.seconds,
                tool_calls=limits.tool_calls,
                on_reached="ask",
            )
            sender = ordered.sender
            principal = Principal(by=sender.name, surface=self._kit.surface, origin=sender.origin)
            await session.set_limits(limits, principal)
        spent = format_money(session.view().usage.cost_usd or 0)
        return f"budget: **{format_money(limits.cost_usd) or 'none'}**, spent {spent}; at the limit you are asked."

    async def _export(self, _command: Command, ordered: Ordered) -> str:
        session = await self._current(ordered)
        path = await self._write(session.id)
        place = Place(chat=ordered.spot.chat, topic=ordered.spot.topic, reply_to=ordered.message.message_id)
        key = f"x/{ordered.spot.chat}-{ordered.message.message_id}"
        title = Content(text=shorten(flat(session.view().title), 200) or "the session")
        await self._kit.outbox.put(key, place, title, urgent=True, document=str(path))
        return ""

    async def _write(self, session: SessionId) -> Path:
        lines = [line async for line in self._kit.hub.export(session)]
        return await self._kit.outgoing(f"{session}.jsonl", b"".join(lines))
