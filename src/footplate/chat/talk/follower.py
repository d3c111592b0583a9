"""One follower per session that has a chat: its events in, slots of the outbox out."""

from __future__ import annotations

import asyncio
import logging
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from footplate.chat.drawing.final import draw_final
from footplate.chat.drawing.progress import Footer, Label, Progress, draw_progress
from footplate.chat.model import Content, Place
from footplate.chat.reading.presses import Verb
from footplate.chat.talk.kit import Kit
from footplate.chat.talk.records import About, Job
from footplate.chat.talk.requests import RequestBoard
from footplate.chat.talk.turn import Ending, Turn, Waiting
from footplate.errors import CursorLost
from footplate.events import model as m
from footplate.events.base import ResumeToken
from footplate.events.ids import PromptId
from footplate.events.model import Event, Unknown
from footplate.events.wording import format_size
from footplate.runtime.paused_queue import PAUSED_CODE
from footplate.runtime.session import Session
from footplate.tasks import spawn

log = logging.getLogger(__name__)
RENDER_S: Final = 0.2
"""Between two looks at a session that says much."""
LARGE: Final = 100_000
"""From this many characters on an answer is sent as a file: it would be some thirty messages."""
SHOWN: Final = 2_000
"""How much of such an answer the message shows."""
RUNNING: Final[tuple[tuple[str, Verb], ...]] = (("cancel", "c"),)
QUEUED: Final[tuple[tuple[str, Verb], ...]] = (("steer", "s"), ("run now", "i"), ("cancel", "c"))


class Follower:
    """Shows one session in the chats whose prompts it works on. Ends by itself when there is nothing left to show."""

    def __init__(self, kit: Kit, session: Session, home: Place, ended: Callable[[Follower], None]) -> None:
        self._kit = kit
        self._session = session
        self.id = session.id
        self.home = home
        self.jobs: dict[PromptId, Job] = {}
        self._over: set[PromptId] = set()
        """Prompts whose end this follower has shown."""
        self._turn: Turn | None = None
        self._attached: m.EngineAttached | None = None
        self._waiting = Waiting()
        self._seq = 0
        self._reread = 0
        """Up to this number the log is read a second time: what was reported is not reported again."""
        self._paused = ""
        """The slot of the message that says that prompts are paused; empty while none is."""
        self.requests = RequestBoard(kit, session)
        self._ended = ended
        self._task: asyncio.Task[None] | None = None
        self._dirty = asyncio.Event()

    def start(self, after: int) -> asyncio.Task[None]:
        """Follow from that event on."""
        self._task = spawn(self._run(after), name=f"chat follows {self._session.id}")
        return self._task

    async def stop(self) -> None:
        """Follow no more; the next start goes on."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait((self._task,))

    async def add(self, job: Job) -> None:
        """A prompt of a chat is on its way: show it at once."""
        if job.prompt in self._over:
            return  # a message that is dealt with again after a crash
        self.jobs[job.prompt] = job
        await self._show_job(job)

    async def drop(self, job: Job) -> None:
        """The prompt was not taken after all."""
        self.jobs.pop(job.prompt, None)
        await self._kit.outbox.remove(progress_key(job.prompt))

    @property
    def running(self) -> tuple[PromptId, ...]:
        """The prompts that the agent works on now."""
        return tuple(self._turn.prompts) if self._turn is not None else ()

    @property
    def done(self) -> bool:
        """Whether nothing is left to be shown."""
        return not self.jobs and self._turn is None and not self.requests.any_open

    # ---------------------------------------------------------------------------------------- following

    async def _run(self, after: int) -> None:
        view = self._session.view()
        if view.resume is not None:
            self._attached = m.EngineAttached(engine=view.engine, engine_session_id=view.resume.value, cwd=view.cwd)
        await self.requests.take_up(self._place())
        drawing = spawn(self._draw(), name=f"chat draws {self._session.id}")
        subscription = self._session.subscribe(after)
        last = view.last_seq
        try:
            try:
                await subscription.check()
            except CursorLost as lost:
                log.warning("%s", lost)
                subscription.close()
                subscription = self._session.subscribe(0)
                self._reread = last
            async for delivery in subscription:
                self._seq = delivery.seq
                envelope = delivery.envelope()
                if not isinstance(envelope.event, Unknown):
                    await self._take(envelope.event, envelope.time)
                self._dirty.set()
                if self.done and delivery.seq >= max(last, self._session.view().last_seq):
                    self._ended(self)  # what comes from here on is heard of by the bulletin
                    return
            await self._close_jobs()
        finally:
            subscription.close()
            drawing.cancel()
            await asyncio.wait((drawing,))
            self.requests.stop()
            self._ended(self)

    async def _take(self, event: Event, at: float) -> None:
        self._waiting.feed(event)
        match event:
            case m.EngineAttached():
                self._attached = event
            case m.TurnStarted():
                self._turn = Turn(event, at, self._attached)
                await self._end_pause()
            case m.Notice(code=code) if code == PAUSED_CODE:
                await self._show_pause(event, at)
            case m.PromptWithdrawn():
                await self._withdraw(event)
            case m.PromptSteered():
                await self._steered(event.prompt)
            case _:
                pass
        await self.requests.take(event, self._place(), unattended=self._unattended)
        if self._turn is not None:
            self._turn.feed(event, at)
            if isinstance(event, m.MessageDelta):
                self._show_draft(self._turn)
            ending = self._turn.ending
            if ending is not None:
                ended, self._turn = self._turn, None
                await self._finish(ended, ending)

    @property
    def _unattended(self) -> bool:
        mine = [self.jobs[prompt] for prompt in self.running if prompt in self.jobs]
        return bool(mine) and all(job.unattended for job in mine)

    def _place(self) -> Place:
        """Where the session is at home now: with the prompt that it works on."""
        for prompt in reversed(self.running):
            if prompt in self.jobs:
                return self.jobs[prompt].place
        return self.home

    # ------------------------------------------------------------------------------------------ drawing

    async def _draw(self) -> None:
        """Draw what changed, not too often; and let the clock tick where nothing does."""
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._kit.settings.tick_s):  # wait_for may swallow a cancel
                    await self._dirty.wait()
            self._dirty.clear()
            for job in tuple(self.jobs.values()):
                await self._show_job(job)
            await asyncio.sleep(RENDER_S)

    async def _show_job(self, job: Job) -> None:
        if job.prompt not in self.jobs:
            return
        turn = self._turn if self._turn is not None and job.prompt in self._turn.prompts else None
        if turn is not None:
            progress, buttons = self._running(job, turn), RUNNING
        elif self._paused:
            progress, buttons = self._progress(job, "queued", self._kit.services.surroundings.time() - job.at), RUNNING
        else:
            waits = self._turn is not None or any(other.at < job.at for other in self.jobs.values())
            progress = self._progress(
                job, "queued" if waits else "starting", self._kit.services.surroundings.time() - job.at
            )
            buttons = QUEUED if waits else RUNNING
        rich = draw_progress(progress)
        keyboard = (tuple(self._kit.sealer.button(name, verb, job.prompt) for name, verb in buttons),)
        content = Content(text=rich.text, entities=rich.entities, keyboard=keyboard)
        about = About(session=job.session, prompt=job.prompt).encode()
        silent = Place(chat=job.place.chat, topic=job.place.topic, reply_to=job.place.reply_to, silent=True)
        if job.prompt in self.jobs:
            await self._kit.outbox.put(progress_key(job.prompt), silent, content, about=about)

    async def _show_pause(self, notice: m.Notice, at: float) -> None:
        """Say that prompts wait for a person, with the button that starts them."""
        self._paused = f"w/{self.id}/{at}"
        keyboard = ((self._kit.sealer.button("Continue", "g", self.id),),)
        content = Content(text=notice.text, keyboard=keyboard)
        about = About(session=self.id).encode()
        await self._kit.outbox.put(self._paused, self.home, content, urgent=True, about=about)

    async def _end_pause(self) -> None:
        if self._paused:
            await self._kit.outbox.remove(self._paused)
            self._paused = ""

    def _running(self, job: Job, turn: Turn) -> Progress:
        live = "" if self._has_drafts(job) else turn.live
        return self._progress(
            job,
            self._waiting.label,
            self._kit.services.surroundings.time() - turn.begun_at,
            turn=turn,
            note=self._waiting.note,
            live=live,
        )

    def _progress(
        self, job: Job, label: Label, seconds: float, *, turn: Turn | None = None, note: str = "", live: str = ""
    ) -> Progress:
        return Progress(
            label=label,
            engine=job.engine,
            seconds=seconds,
            steps=turn.actions.steps if turn is not None else 0,
            actions=turn.actions.last if turn is not None else (),
            cost_usd=turn.cost_usd if turn is not None else None,
            note=note,
            live=live,
            approvals=self._kit.roster.capabilities(job.engine).permissions,
            footer=self._footer(job),
            steady=not self._kit.transport.capabilities.edits,
        )

    def _footer(self, job: Job) -> Footer:
        resume, settings = "", self._kit.settings
        if self._attached is not None and (settings.show_resume_line or settings.session_mode != "chat"):
            token = ResumeToken(engine=self._attached.engine, value=self._attached.engine_session_id)
            resume = self._kit.roster.format_resume(token)
        return Footer(context=job.context.words(), resume=resume)

    def _has_drafts(self, job: Job) -> bool:
        return self._kit.settings.drafts and self._kit.drafts.offered(job.place)

    def _show_draft(self, turn: Turn) -> None:
        for prompt in turn.prompts:
            job = self.jobs.get(prompt)
            if job is not None and self._has_drafts(job):
                self._kit.drafts.show(job.place, zlib.crc32(job.prompt.encode()) or 1, turn.live)

    # ------------------------------------------------------------------------------------------- ending

    async def _finish(self, turn: Turn, ending: Ending) -> None:
        """The answer goes to the last prompt of the turn; a turn without one reports where the session is at home."""
        jobs = [self.jobs[prompt] for prompt in dict.fromkeys(turn.prompts) if prompt in self.jobs]
        if not jobs:
            if turn.origin == "task" and ending.text and self._seq > self._reread:
                await self._report(turn, ending)
            return
        for job in jobs[:-1]:
            await self._settle(job, "done", note="answered below")
        await self._answer(jobs[-1], turn, ending)

    async def _answer(self, job: Job, turn: Turn, ending: Ending) -> None:
        self.jobs.pop(job.prompt, None)  # from here on nobody else draws it
        self._over.add(job.prompt)
        progress = self._progress(job, ending.label, ending.at - turn.begun_at, turn=turn)
        if ending.cost_usd is not None:
            progress = replace(progress, cost_usd=ending.cost_usd)
        fresh = self._kit.sealer.button("start new", "n", job.prompt)
        keyboard = ((fresh,),) if ending.label == "error" and job.resumed else ()
        text, file = await self._fit(ending.text)
        parts = draw_final(
            progress,
            text,
            overflow=self._kit.settings.message_overflow,
            keyboard=keyboard,
            limit=self._kit.text_limit,
        )
        self._kit.drafts.forget(job.place.chat)
        await self._deliver(job, parts)
        await self._attach(final_key(job.prompt, len(parts)), job.place, file)
        await self._kit.records.jobs.drop(job.prompt)

    async def _deliver(self, job: Job, parts: tuple[Content, ...]) -> None:
        """New messages, the first with a sound, and the progress goes; or the progress message turns into the first."""
        about = About(session=job.session, prompt=job.prompt).encode()
        place = job.place
        quiet = Place(chat=place.chat, topic=place.topic, silent=True)
        if not self._kit.settings.final_notify:
            await self._kit.outbox.put(progress_key(job.prompt), quiet, parts[0], urgent=True, about=about)
            first = 1
        else:
            first = 0
        for number, part in enumerate(parts[first:], first):
            where = place if number == 0 else quiet
            await self._kit.outbox.put(final_key(job.prompt, number), where, part, urgent=True, about=about)
        if self._kit.settings.final_notify:
            await self._kit.outbox.remove(progress_key(job.prompt), after=final_key(job.prompt))

    async def _report(self, turn: Turn, ending: Ending) -> None:
        engine = self._session.view().engine
        job = Job(prompt=PromptId(turn.id), session=self._session.id, place=self.home, engine=engine)
        progress = self._progress(job, ending.label, ending.at - turn.begun_at, turn=turn, note="background work")
        text, file = await self._fit(ending.text)
        parts = draw_final(progress, text, overflow=self._kit.settings.message_overflow, limit=self._kit.text_limit)
        about = About(session=self._session.id).encode()
        for number, part in enumerate(parts):
            key = f"f/{self._session.id}/{turn.id}/{number}"
            await self._kit.outbox.put(key, self.home, part, urgent=True, about=about)
        await self._attach(f"f/{self._session.id}/{turn.id}/{len(parts)}", self.home, file)

    async def _fit(self, text: str) -> tuple[str, Path | None]:
        """What of an answer is shown, and the file that has all of it where it is too long for messages."""
        if len(text) <= LARGE:
            return text, None
        body = text.encode()
        size = format_size(len(body))
        begin = f"{text[:SHOWN]}…"
        if self._kit.transport.capabilities.files and len(body) <= self._kit.settings.files.max_out_bytes:
            return f"{begin}\n\nThe answer has {size}: the file has all of it.", await self._kit.outgoing(
                "answer.md", body
            )
        where = f"open the session on the web page, or `footplate sessions export {self.id}`"
        return f"{begin}\n\nThe answer has {size}. To read all of it {where}.", None

    async def _attach(self, key: str, place: Place, file: Path | None) -> None:
        if file is not None:
            quiet = Place(chat=place.chat, topic=place.topic, silent=True)
            await self._kit.outbox.put(key, quiet, Content(text="the whole answer"), urgent=True, document=str(file))

    async def _withdraw(self, event: m.PromptWithdrawn) -> None:
        job = self.jobs.get(event.prompt)
        if job is not None:
            await self._settle(job, "cancelled", note="dropped from queue")
        if not self._session.view().queue:
            await self._end_pause()

    async def _steered(self, prompt: PromptId) -> None:
        """The prompt went into the turn that runs: what comes of it is in that turn's answer."""
        job = self.jobs.get(prompt)
        if job is not None:
            await self._settle(job, "steered")

    async def _settle(self, job: Job, label: Label, *, note: str = "") -> None:
        """The progress message says how it ended; no other message will come."""
        self.jobs.pop(job.prompt, None)
        self._over.add(job.prompt)
        rich = draw_progress(self._progress(job, label, self._kit.services.surroundings.time() - job.at, note=note))
        content = Content(text=rich.text, entities=rich.entities)
        silent = Place(chat=job.place.chat, topic=job.place.topic, reply_to=job.place.reply_to, silent=True)
        await self._kit.outbox.put(progress_key(job.prompt), silent, content, urgent=True)
        await self._kit.records.jobs.drop(job.prompt)

    async def _close_jobs(self) -> None:
        """The session is over: nothing that waits will run. One that is only let go of is gone on with later."""
        if self._session.view().state == "closed":
            for job in tuple(self.jobs.values()):
                await self._settle(job, "cancelled", note="the session is closed")


def progress_key(prompt: PromptId) -> str:
    """The slot of a prompt's progress message."""
    return f"p/{prompt}"


def final_key(prompt: PromptId, number: int = 0) -> str:
    """The slot of a part of a prompt's answer."""
    return f"f/{prompt}/{number}"
