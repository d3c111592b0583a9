"""The mock agent as an engine: how it is launched, resumed, and what a whole conversation with it gives."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator

import msgspec
import pytest

from footplate.engines.base import Conversation, Exit, InProcess, Installed, Options, Reaction, Spawn
from footplate.engines.mock.engine import MockEngine, create
from footplate.errors import ConfigError, UnsupportedOption
from footplate.events.base import ResumeToken
from footplate.events.commands import AnswerRequest, SendPrompt
from footplate.events.content import TextBlock
from footplate.events.ids import EngineSessionId, PromptId
from footplate.events.model import (
    EngineAttached,
    Event,
    Notice,
    PromptQueued,
    RequestAnswered,
    RequestOpened,
    TurnEnded,
    Unparsed,
)
from footplate.events.requests import Allow, Answer, Reply
from footplate.events.runs import Completed, RunFold, Started
from footplate.host.lines import Block
from footplate.testing.invariants import check_invariants, check_run
from footplate.version import __version__

ENVIRON = {"HOME": "/home/me", "SECRET": "x", "FOOTPLATE_MOCK_PACE_MS": "0", "FOOTPLATE_TOKEN": "t"}
INSTALLED = Installed(engine="mock", version=__version__)


class Talk:
    """A conversation with an agent in this process: prompts one after another, every request answered."""

    def __init__(self, options: Options) -> None:
        engine = MockEngine()
        launch = engine.launch(options, INSTALLED, ENVIRON)
        assert isinstance(launch, InProcess)
        self._launch = launch
        self._conversation: Conversation = engine.converse(options, INSTALLED)
        self._in: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._out: asyncio.Queue[bytes | None] = asyncio.Queue()
        self.events: list[Event] = []

    async def run(self, *prompts: str) -> list[Event]:
        agent = asyncio.create_task(self._serve())
        self._do(self._conversation.begin())
        for number, text in enumerate(prompts, 1):
            content = (TextBlock(text=text),)
            self.events.append(PromptQueued(prompt=PromptId(f"p{number}"), content=content))
            self._do(
                self._conversation.command(SendPrompt(key=f"k{number}", prompt=PromptId(f"p{number}"), content=content))
            )
        while (lines := await self._out.get()) is not None:
            self._do(self._conversation.feed(Block(lines)))
            if sum(isinstance(event, TurnEnded) for event in self.events) == len(prompts):
                self._in.put_nowait(None)
        self._do(self._conversation.finish(Exit(code=await agent)))
        return self.events

    async def _serve(self) -> int:
        try:
            return await self._launch.serve(self._lines(), self._out.put)
        finally:
            self._out.put_nowait(None)

    async def _lines(self) -> AsyncIterator[bytes]:
        while (lines := await self._in.get()) is not None:
            yield lines

    def _do(self, reaction: Reaction) -> None:
        self.events += reaction.events
        for frame in reaction.frames:
            self._in.put_nowait(frame)
        for event in reaction.events:
            if isinstance(event, RequestOpened):
                self._answer(event)

    def _answer(self, opened: RequestOpened) -> None:
        request = opened.request
        answer: Answer = Allow()
        if request.kind == "question":
            answer = Reply(answers={request.questions[0].text: "Blue"})
        self.events.append(RequestAnswered(request=request.id, answer=answer, by="me"))
        self._do(self._conversation.command(AnswerRequest(key=request.id, request=request.id, answer=answer)))


@pytest.mark.parametrize("asks", [True, False])
async def test_every_word_gives_a_log_and_a_run_that_keep_their_promises(*, asks: bool) -> None:
    words = (
        "hello",
        "stream 3",
        "slow 1",
        "permission",
        "tool",
        "think",
        "big 9",
        "error",
        "garbage",
        "stderr",
        "plan",
        "question",
        "edit a.txt",
        "usage",
        "subagent",
        "demo",
        "crash 3",
    )
    events = await Talk(Options(cwd="/project", asks=asks)).run(*words)
    assert check_invariants(events, finished=True) == []
    answers = [event.answer.partition("\n")[0] for event in events if isinstance(event, TurnEnded)]
    told = "allow" if asks else "reject"
    assert answers[3] == f"permission: {told}"
    assert answers[11] == ("question: Blue" if asks else "question: declined")
    assert answers[-1] == "crashing"
    ends = [(event.ok, event.stop_reason) for event in events if isinstance(event, TurnEnded)]
    assert [end for end in ends if end != (True, "end_turn")] == [(False, "error"), (False, "lost")]


@pytest.mark.parametrize("word", ["hello", "permission", "demo", "error", "crash 3", "garbage", "question"])
async def test_one_prompt_is_one_run(word: str) -> None:
    fold = RunFold()
    events = await Talk(Options(cwd="/project")).run(word)
    shown = [each for event in events for each in fold.feed(event)] + list(fold.finish())
    assert check_run(shown) == []
    assert isinstance(shown[0], Started)
    assert isinstance(shown[-1], Completed)
    assert shown[-1].ok is (word not in ("error", "crash 3"))


async def test_a_line_that_is_not_json_and_a_line_on_stderr_are_told() -> None:
    events = await Talk(Options(cwd="/project")).run("garbage", "stderr")
    assert [event.raw for event in events if isinstance(event, Unparsed)] == ["this line is not JSON"]
    assert [event.text for event in events if isinstance(event, Notice)] == ["mock: a line on stderr"]


async def test_a_session_can_be_resumed_in_another_process_of_the_same_program() -> None:
    first = await Talk(Options(cwd="/project")).run("remember me")
    session = next(event.engine_session_id for event in first if isinstance(event, EngineAttached))
    events = await Talk(Options(cwd="/project", resume=session)).run("history")
    attached = next(event for event in events if isinstance(event, EngineAttached))
    assert (attached.engine_session_id, attached.reason) == (session, "resumed")
    assert [event.answer for event in events if isinstance(event, TurnEnded)] == ["remember me"]


async def test_a_session_that_never_was_fails_with_the_reason() -> None:
    events = await Talk(Options(cwd="/project", resume=EngineSessionId("nobody"))).run("hello")
    assert [event.error for event in events if isinstance(event, TurnEnded)] == ["no such session: nobody"]
    assert check_invariants(events, finished=True) == []


async def test_options_are_set_in_the_session() -> None:
    events = await Talk(Options(cwd="/project", model="mock-fast", mode="plan", effort="high")).run("hello")
    assert [event.ok for event in events if isinstance(event, TurnEnded)] == [True]


# ------------------------------------------------------------------------------------------------- launching


def test_the_program_form_is_a_value_with_an_environment_from_a_list() -> None:
    installed = Installed(engine="mock", program="/usr/bin/python3")
    options = Options(cwd="/project", env={"EXTRA": "1"})
    assert MockEngine("stdio").launch(options, installed, ENVIRON) == Spawn(
        argv=("/usr/bin/python3", "-P", "-m", "footplate", "mock-agent"),
        env={"HOME": "/home/me", "FOOTPLATE_MOCK_PACE_MS": "0", "EXTRA": "1"},
        cwd="/project",
    )


def test_the_task_form_gets_the_same_environment() -> None:
    launch = MockEngine().launch(Options(cwd="/project"), INSTALLED, ENVIRON)
    assert isinstance(launch, InProcess)
    assert (launch.env, launch.cwd) == ({"HOME": "/home/me", "FOOTPLATE_MOCK_PACE_MS": "0"}, "/project")


@pytest.mark.parametrize(
    "changes",
    [
        {"fork": True},
        {"session_id": "x"},
        {"max_turns": 1},
        {"max_budget_usd": 1.0},
        {"json_schema": "{}"},
        {"append_system_prompt": "x"},
        {"add_dirs": ("/a",)},
        {"one_shot": True},
    ],
)
def test_what_it_cannot_do_is_refused_by_name(changes: dict[str, object]) -> None:
    options = msgspec.structs.replace(Options(cwd="/project"), **changes)
    with pytest.raises(UnsupportedOption, match="mock does not support"):
        MockEngine().launch(options, INSTALLED, ENVIRON)


async def test_it_is_always_there() -> None:
    assert await MockEngine().locate({}) == INSTALLED
    assert await MockEngine("stdio").locate({}) == Installed(engine="mock", program=sys.executable, version=__version__)


def test_its_form_is_a_setting() -> None:
    assert create({}).form == "in_process"
    assert create({"form": "stdio"}).form == "stdio"
    with pytest.raises(ConfigError):
        create({"form": "fax"})


# ------------------------------------------------------------------------------------------------- resuming


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("mock --resume abc", "abc"),
        ("`mock --resume abc`", "abc"),
        ("  MOCK -r abc  ", "abc"),
        ("words\nmock --resume one\nmock --resume two\nwords", "two"),
        ("say mock --resume abc", None),
        ("mock --resume", None),
        ("mock --resume a b", None),
        ("claude --resume abc", None),
    ],
)
def test_a_resume_line_is_found_on_a_line_of_its_own(text: str, value: str | None) -> None:
    token = None if value is None else ResumeToken(engine="mock", value=EngineSessionId(value))
    assert MockEngine().extract_resume(text) == token
    assert MockEngine().is_resume_line(text) is (value is not None and "\n" not in text)


def test_a_resume_line_can_be_read_back() -> None:
    engine, token = MockEngine(), ResumeToken(engine="mock", value=EngineSessionId("mock-1-2"))
    assert engine.extract_resume(engine.format_resume(token)) == token
