"""The contract of a transport: what a person must be able to do over it, and what must hold when it breaks.

A test brings a `Stage`: the service under test with two people, of whom only the first is let in, and the mock agent.
`CASES` are the journeys; each opens the bridge itself, and fails with an `AssertionError` that shows the chat.

    @pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
    async def test_contract(case, stage):
        await case(stage)

The suite looks at chats as people see them. Messages that can be edited are seen as they stand, others as they came.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Final, Protocol

from footplate.chat.bridge import Bridge
from footplate.runtime.service import Service

PATIENCE_S: Final = 30.0
LOOK_S: Final = 0.02


class Visitor(Protocol):
    """A person in a chat with the bot, by the means of the service."""

    @property
    def texts(self) -> list[str]:
        """The bot's messages that the person sees, oldest first."""
        ...

    async def write(self, text: str) -> None:
        """Write a message. It may be written while the bridge is down, if only to be sent later."""

    async def reply(self, words: str, text: str) -> None:
        """Reply to the last message that holds these words."""

    async def press(self, label: str) -> None:
        """Press the button of that name on the last message that has it, or do what stands for it."""


class Stage(Protocol):
    """A service, two people, and a runtime with the mock agent."""

    @property
    def person(self) -> Visitor:
        """Who is let in."""
        ...

    @property
    def stranger(self) -> Visitor:
        """Who is not."""
        ...

    def service(self) -> AbstractAsyncContextManager[Service]:
        """The runtime; sessions go on in it while bridges come and go."""
        ...

    def bridge(self, service: Service) -> AbstractAsyncContextManager[Bridge]:
        """A bridge that lets `person` in, with session_mode "chat"."""
        ...

    def lose(self, words: str) -> None:
        """Let the next message with these words reach the person, and the word of that not reach the bridge."""


Case = Callable[[Stage], Awaitable[None]]


async def until(person: Visitor, condition: Callable[[], bool], what: str) -> None:
    """Wait for something that the person sees."""
    try:
        async with asyncio.timeout(PATIENCE_S):
            while not condition():  # noqa: ASYNC110 - a chat of any service has no event to wait for
                await asyncio.sleep(LOOK_S)
    except TimeoutError:
        raise AssertionError(f"{what}; the chat: {person.texts}") from None


async def sees(person: Visitor, *words: str) -> None:
    """Wait until one message holds all these words."""
    what = f"no message with {' and '.join(words)}"
    await until(person, lambda: any(all(word in text for word in words) for text in person.texts), what)


def expect(person: Visitor, words: str, *, times: int) -> None:
    """So many messages hold these words."""
    found = sum(words in text for text in person.texts)
    if found != times:
        raise AssertionError(f"{found} messages with {words!r}, not {times}; the chat: {person.texts}")


# ---------------------------------------------------------------------------------------------------- cases


async def a_prompt_is_answered_once_and_the_next_goes_on(stage: Stage) -> None:
    """Prompt, progress, answer; a second prompt is of the same session; a command of ours; a stranger hears nothing."""
    me = stage.person
    async with stage.service() as service, stage.bridge(service):
        await stage.stranger.write("hello from outside")
        await me.write("slow 600")
        await sees(me, "working · mock")
        await sees(me, "done · mock", "slow end")
        await me.write("history")
        await sees(me, "done · mock", "slow 600")
        await me.write("/new")
        await sees(me, "begins a new session")
        expect(me, "slow end", times=1)
        expect(me, "outside", times=0)
        if stage.stranger.texts:
            raise AssertionError(f"a stranger was answered: {stage.stranger.texts}")


async def a_permission_is_answered_by_its_button(stage: Stage) -> None:
    """What is asked is seen with its choices; the answer reaches the agent, once, and the chat tells who gave it."""
    me = stage.person
    async with stage.service() as service, stage.bridge(service):
        await me.write("permission")
        await sees(me, "permission · mock", "touch example.txt")
        await me.press("Allow once")
        await sees(me, "done · mock", "permission: allow")
        await sees(me, "allowed once by")
        await me.write("permission")
        await until(me, lambda: _last(me, "permission · mock", "example.txt", "allowed once") is False, "no request")
        await me.press("Deny with reason…")
        await sees(me, "Reply to this message with the reason")
        await me.reply("Reply to this message with the reason", "not today")
        await sees(me, "denied by", ": not today")
        await sees(me, "done · mock", "permission: reject")


async def a_question_is_answered_by_its_button_or_in_own_words(stage: Stage) -> None:
    """A choice is a button; other words are a reply to the question, and any other message stays a prompt."""
    me = stage.person
    async with stage.service() as service, stage.bridge(service):
        await me.write("question")
        await sees(me, "Which colour")
        await me.press("Green")
        await sees(me, "question: Green")
        await me.write("question")
        await until(me, lambda: _last(me, "Which colour", "question · mock", "answered by") is False, "no question")
        await me.write("not an answer")
        await sees(me, "queued")
        await me.reply("Which colour", "a warm grey")
        await sees(me, "question: a warm grey")
        await sees(me, "mock: not an answer")


async def a_turn_is_cancelled_and_the_session_survives(stage: Stage) -> None:
    """The button of the progress message stops the turn; what was said is not forgotten."""
    me = stage.person
    async with stage.service() as service, stage.bridge(service):
        await me.write("hang")
        await sees(me, "working · mock")
        await me.press("cancel")
        await sees(me, "cancelled · mock")
        await me.write("history")
        await sees(me, "done · mock", "hang")


async def a_long_answer_comes_whole(stage: Stage) -> None:
    """In as many messages as the service needs."""
    me = stage.person
    async with stage.service() as service, stage.bridge(service):
        await me.write("big 9000")
        await until(me, lambda: sum(text.count("x") for text in me.texts) >= 9000, "not all of the answer")
        found = sum(text.count("x") for text in me.texts)
        if found != 9000:
            raise AssertionError(f"{found} letters of 9000")


async def a_restart_loses_and_doubles_nothing(stage: Stage) -> None:
    """A request that was open has the same choices; what was written meanwhile runs once, in order."""
    me = stage.person
    async with stage.service() as service:
        async with stage.bridge(service):
            await me.write("permission")
            await sees(me, "permission · mock", "touch example.txt")
        for word in ("first", "second"):
            await me.write(f"{word} while it was down")
        async with stage.bridge(service):
            await me.press("Allow once")
            await sees(me, "done · mock", "permission: allow")
            await sees(me, "done · mock", "mock: second while")
        async with stage.bridge(service):
            await me.write("after")
            await sees(me, "done · mock", "mock: after")
        for words in ("mock: first while", "mock: second while", "permission: allow", "mock: after"):
            expect(me, words, times=1)
        order = [text for text in me.texts if " while" in text and "done ·" in text]
        if "first" not in order[0]:
            raise AssertionError(f"not in order: {order}")


async def an_answer_whose_delivery_is_uncertain_comes_once(stage: Stage) -> None:
    """The bridge is not told that the answer came through: it finds out, and does not say it again."""
    me = stage.person
    async with stage.service() as service, stage.bridge(service):
        stage.lose("mock: hello")
        await me.write("hello")
        await sees(me, "mock: hello")
        await me.write("after")
        await sees(me, "mock: after")
        expect(me, "mock: hello", times=1)


def _last(person: Visitor, *words: str) -> bool | None:
    """Whether the last message with the first words holds the last; None when there is none, or one of them misses."""
    *all_of, verdict = words
    found = next((text for text in reversed(person.texts) if all(word in text for word in all_of)), None)
    return None if found is None else verdict in found


CASES: Final[tuple[Case, ...]] = (
    a_prompt_is_answered_once_and_the_next_goes_on,
    a_permission_is_answered_by_its_button,
    a_question_is_answered_by_its_button_or_in_own_words,
    a_turn_is_cancelled_and_the_session_survives,
    a_long_answer_comes_whole,
    a_restart_loses_and_doubles_nothing,
    an_answer_whose_delivery_is_uncertain_comes_once,
)
