"""A press of a button: carried out if it is one of ours, by one who may, on the message that has it."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable

from footplate.chat.model import CallbackQuery, Place
from footplate.chat.reading.asking import Dialogue, Hint, Step, press, reply
from footplate.chat.reading.gate import may_use
from footplate.chat.reading.presses import Press
from footplate.chat.reading.routing import Said
from footplate.chat.talk.commands.brought import Brought
from footplate.chat.talk.following import Following
from footplate.chat.talk.kit import Actor, Kit
from footplate.chat.talk.places import Spot
from footplate.chat.talk.prompts import Prompter, Wish
from footplate.chat.talk.records import Job
from footplate.chat.talk.requests import request_key
from footplate.errors import AlreadyAnswered, BotError, FootplateError
from footplate.events.ids import PromptId, RequestId, SessionId
from footplate.events.requests import Answer
from footplate.events.wording import describe_answer
from footplate.runtime.session import Session
from footplate.store.values import RequestFilter

log = logging.getLogger(__name__)
NOTHING_RUNS = "nothing is currently running for that message."
NOT_STEERABLE = "active turn is not steerable; still queued."


class Pressed:
    """Carries out presses."""

    def __init__(self, kit: Kit, following: Following, prompter: Prompter, brought: Brought) -> None:
        self._kit = kit
        self._following = following
        self._prompter = prompter
        self._brought = brought

    async def take(self, query: CallbackQuery) -> None:
        """Carry it out, and say what came of it in a toast. A press that is too old for a toast counts as well."""
        toast = await self._carry_out(query)
        if query.typed:
            await self._tell(query, toast)
            return
        try:
            await self._kit.transport.answer_press(query.id, toast[:200])
        except BotError as problem:
            log.info("a press was carried out, its toast was too late: %s", problem)

    async def _tell(self, query: CallbackQuery, words: str) -> None:
        """A press that was typed has no toast: what came of it is a message of its own."""
        if words and query.message is not None:
            place = Place(chat=query.message.chat.id, topic=query.message.topic, silent=True)
            await self._kit.say(f"toast-{self._kit.services.surroundings.new_id()}", place, words)

    async def _carry_out(self, query: CallbackQuery) -> str:
        message = query.message
        pressed = self._kit.sealer.read(query.data)
        if message is None or pressed is None:
            return "this button is not known any more."
        if not may_use(self._kit.settings, query.sender, message.chat):
            return "you may not use this bot."
        verbs: dict[str, Callable[[Press, CallbackQuery], Awaitable[str]]] = {
            "r": self._answer,
            "c": self._cancel,
            "s": self._steer,
            "i": self._run_now,
            "n": self._start_new,
            "g": self._continue,
            "x": self._brought.pressed,
        }
        try:
            return await verbs[pressed.verb](pressed, query)
        except FootplateError as problem:
            return str(problem)

    # ----------------------------------------------------------------------------------------- requests

    async def _answer(self, pressed: Press, query: CallbackQuery) -> str:
        request = RequestId(pressed.about)
        if query.message is None or not await self._kit.outbox.stands_at(
            request_key(request), query.message.message_id
        ):
            return "this button belongs to another message."
        session = await self._asking(request)
        if session is None:
            return "that is not asked any more."
        dialogue = await self._kit.records.dialogues.get(request) or Dialogue()
        found = next((each for each in session.view().requests if each.request.id == request), None)
        if found is None or found.state != "open":
            return "that is answered already."
        return await self._step(
            session, request, press(found.request, dialogue, pressed.choice), Actor.of(query.sender)
        )

    async def reply(self, request: RequestId, text: str, sender: Actor) -> str:
        """Words in reply to a request's message: the reason, or an answer of one's own. What to tell the person."""
        session = await self._asking(request)
        found = None
        if session is not None:
            found = next((each for each in session.view().requests if each.request.id == request), None)
        if session is None or found is None or found.state != "open":
            return "that is answered already."
        dialogue = await self._kit.records.dialogues.get(request) or Dialogue()
        step = reply(found.request, dialogue, text)
        told = await self._step(session, request, step, sender)
        return told if isinstance(step, Hint) else ""  # the request's own message shows what was answered

    async def _step(self, session: Session, request: RequestId, step: Step, sender: Actor) -> str:
        if isinstance(step, Hint):
            return step.text
        if isinstance(step, Dialogue):
            await self._kit.records.dialogues.put(request, step)
            await self._redraw(session, request)
            return "reply to the message" if step.stage else ""
        return await self._give(session, request, step, sender)

    async def _give(self, session: Session, request: RequestId, answer: Answer, sender: Actor) -> str:
        try:
            await session.answer(request, answer, by=sender.name, surface=self._kit.surface, origin=sender.origin)
        except AlreadyAnswered as problem:
            return str(problem)
        view = session.view()
        asked = (each.request for each in (*view.requests, *view.closed_requests) if each.request.id == request)
        return describe_answer(answer, next(asked, None))

    async def show_again(self, session: SessionId, request: RequestId, spot: Spot) -> None:
        """Bring a request's message to the end of the chat: a new one takes the place of the old."""
        await self._following.bring(session, request, Place(chat=spot.chat, topic=spot.topic))

    async def _redraw(self, session: Session, request: RequestId) -> None:
        follower = self._following.find(session.id)
        if follower is not None:
            await follower.requests.redraw(request)

    async def _asking(self, request: RequestId) -> Session | None:
        page = await self._kit.hub.requests(RequestFilter(request=request))
        return await self._kit.hub.get(page.items[0].session) if page.items else None

    # ------------------------------------------------------------------------------------------ prompts

    async def _cancel(self, pressed: Press, _query: CallbackQuery) -> str:
        return await self.cancel(PromptId(pressed.about))

    async def cancel(self, prompt: PromptId) -> str:
        """Stop the turn of a prompt, or take it out of the queue."""
        job = await self._kit.records.jobs.get(prompt)
        if job is None:
            return NOTHING_RUNS
        session = await self._kit.hub.get(job.session)
        if any(each.id == prompt for each in session.view().queue):
            await session.withdraw(prompt)
            return "dropped from queue."
        if not session.busy:
            return NOTHING_RUNS
        await session.interrupt()
        return "cancelling..."

    async def _steer(self, pressed: Press, _query: CallbackQuery) -> str:
        """Hand a waiting prompt to the turn that runs."""
        job, session = await self._waiting(PromptId(pressed.about))
        if job is None or session is None:
            return "it does not wait any more."
        if not self._kit.roster.capabilities(job.engine).steer:
            return NOT_STEERABLE
        await session.steer(job.prompt)
        return "steered"

    async def _run_now(self, pressed: Press, _query: CallbackQuery) -> str:
        """Cut the turn that runs short; the waiting prompt is next."""
        job, session = await self._waiting(PromptId(pressed.about))
        if job is None or session is None:
            return "it does not wait any more."
        await session.reorder((job.prompt,))
        await session.interrupt()
        return "cancelling what runs; this is next"

    async def _waiting(self, prompt: PromptId) -> tuple[Job | None, Session | None]:
        job = await self._kit.records.jobs.get(prompt)
        if job is None:
            return None, None
        session = await self._kit.hub.get(job.session)
        waits = any(each.id == prompt for each in session.view().queue)
        return (job, session) if waits else (None, None)

    async def _continue(self, pressed: Press, _query: CallbackQuery) -> str:
        return await continue_queue(await self._kit.hub.get(SessionId(pressed.about)))

    async def _start_new(self, pressed: Press, query: CallbackQuery) -> str:
        """Give the same words to a new session."""
        message = query.message
        asked = message.reply_to_message if message is not None else None
        if message is None or asked is None:
            return "the message with the prompt is gone; write it again."
        spot = Spot(chat=message.chat.id, topic=message.topic, private=message.chat.private)
        said = Said(text=_without_resume(asked.words, self._kit.roster.is_resume_line))
        wish = Wish(spot=spot, message=asked.message_id, sender=Actor.of(query.sender), said=said, fresh=True)
        await self._prompter.take(wish)
        return "started anew"


async def continue_queue(session: Session) -> str:
    """Start the prompts that a restart has paused; returns what to say to the person."""
    waits = bool(session.view().queue)
    await session.continue_queue()
    return "continued" if waits else "no prompt waits."


def _without_resume(text: str, is_line: Callable[[str], bool]) -> str:
    return "\n".join(line for line in text.splitlines() if not is_line(line))
