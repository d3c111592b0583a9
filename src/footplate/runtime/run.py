"""A run: one prompt to one agent, watched as started / action / completed, with nothing left behind."""

from __future__ import annotations

import asyncio
import os
import uuid
from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack
from pathlib import Path

import msgspec

from footplate.config.places import data_folder
from footplate.config.settings import Settings, common_settings, load_settings
from footplate.engines.base import Engine, Installed, Options
from footplate.engines.catalog import find_resume, make_engine
from footplate.engines.commands import with_agents
from footplate.errors import (
    EngineError,
    EngineGone,
    EngineNotExecutable,
    EngineRefused,
    EngineSilent,
    FootplateError,
    HostError,
    InvalidValue,
    LockHeld,
    SpawnFailed,
    UnsupportedOption,
)
from footplate.events.base import ResumeToken
from footplate.events.commands import Interrupt, SendPrompt
from footplate.events.content import TextBlock
from footplate.events.ids import EngineSessionId, PromptId
from footplate.events.model import EngineAttached, Event, Notice, TurnEnded
from footplate.events.runs import RunEvent, RunFold
from footplate.host.locks import SessionLock
from footplate.host.process import Keeper
from footplate.host.resources import read_resources
from footplate.host.sandbox import read_sandbox
from footplate.runtime.runner import Runner
from footplate.runtime.wires import CLOSE_WAIT_S
from footplate.tasks import spawn

INTERRUPT_GRACE_S = 5.0
"""How long an interrupted agent may take to end its turn before it is ended by force."""

FOLLOW_S = 10.0
"""How long a conversation that the agent announces may be in use by somebody else before the agent is ended."""

ASK_S = 1.0
"""Between two requests to a service for a conversation that it has: it may be working now and idle later."""


class RunRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked of a run. Only the prompt is needed."""

    prompt: str
    engine: str = ""
    cwd: str = ""
    model: str = ""
    mode: str = ""
    effort: str = ""
    allow_tools: tuple[str, ...] | None = None
    resume: str = ""
    fork: bool = False
    max_turns: int | None = None
    max_budget_usd: float | None = None
    json_schema: str = ""
    timeout_s: float | None = None
    wait_background: bool = False
    one_shot: bool = False
    env: Mapping[str, str] = {}


class Run:
    """One run in the making. `events()` is its whole life; `interrupt()` may be called from beside it."""

    def __init__(
        self,
        request: RunRequest,
        *,
        settings: Settings | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        """Check what can be checked at once. Raises `RequestError` for what the caller can mend."""
        self._environ = dict(os.environ if environ is None else environ)
        self._settings = with_agents(load_settings(self._environ), self._environ) if settings is None else settings
        self._request = check_request(request)
        self._cwd = str(Path(request.cwd or ".").resolve())
        self.engine, self._resume = choose_engine(request, self._settings)
        wanted = None if request.fork else self._resume
        self._fold = RunFold(resume=wanted, wait_background=request.wait_background)
        self._runner: Runner | None = None
        self._cut_short = ""
        self._stop = asyncio.Event()
        self._over = asyncio.Event()
        self._commands = 0
        self._locked: set[EngineSessionId] = set()
        self._lock_fd = -1
        self._locks = AsyncExitStack()  # freed last: an agent may write its conversation until it is gone

    async def interrupt(self, reason: str = "interrupted") -> None:
        """Stop the run: the agent is asked first and ended by force if it does not listen.

        The run then completes with `reason` as its error. Returns when it is over.
        """
        self._cut_short = self._cut_short or reason
        self._stop.set()
        if self._runner is None:
            return
        try:
            self._runner.send(Interrupt(key=self._key()))
            await asyncio.wait_for(self._over.wait(), INTERRUPT_GRACE_S)
        except (EngineGone, EngineSilent, UnsupportedOption, TimeoutError):
            await self._runner.end(close_wait=0.0)

    async def events(self) -> AsyncGenerator[RunEvent, None]:
        """The run. Closing the generator kills the agent's whole tree of processes and frees the lock."""
        try:
            async with self._locks, AsyncExitStack() as stack:
                async for event in self._live(stack):
                    yield event
        except (EngineError, HostError) as problem:
            for event in self._fold.finish(error=str(self._explain(problem)), resume=self._resume):
                yield event
        finally:
            self._over.set()

    def _explain(self, problem: FootplateError) -> FootplateError:
        """What the operating system refused, in terms of the engine and of what to do."""
        if isinstance(problem, SpawnFailed) and problem.stage == "exec":
            return EngineNotExecutable(self.engine.name, problem.program, problem.reason)
        return problem

    def _check_folder(self) -> None:
        if not Path(self._cwd).is_dir():
            raise EngineRefused(self.engine.name, f"there is no folder {self._cwd!r}", "make it, or name another")

    async def _live(self, stack: AsyncExitStack) -> AsyncGenerator[RunEvent, None]:
        self._start_timer(stack)
        self._check_folder()
        installed = await self.engine.locate(self._environ)
        options = self._options(installed)
        known = options.session_id or (None if options.fork else options.resume)
        if known is not None:
            async for event in self._lock(known):
                yield event
        if not self._stop.is_set():
            keeper = await stack.enter_async_context(Keeper.start(state_dir=data_folder(self._environ)))
            runner = await Runner.start(self.engine, installed, options, keeper=keeper, environ=self._environ)
            runner.lines.connect(None)  # a run without a service stores nothing
            self._runner = runner
            self._share_lock()
            stack.push_async_callback(self._leave, runner)
            await self._prompt(runner, options)
            async for event in self._watch(runner):
                yield event
        for event in self._fold.finish(error=self._cut_short, resume=self._resume):
            yield event

    async def _watch(self, runner: Runner) -> AsyncGenerator[RunEvent, None]:
        async for batch in runner.batches():
            for event in batch:
                if isinstance(event, EngineAttached) and event.resumable and not self._fold.refuses(event):
                    async for shown in self._lock(event.engine_session_id, limit_s=FOLLOW_S):
                        yield shown
                    if event.engine_session_id not in self._locked:
                        return
                for shown in self._show(event):
                    yield shown
            if self._fold.completed:
                return

    def _show(self, event: Event) -> tuple[RunEvent, ...]:
        """The event as the run shows it; who pays is known from the launch, why we cut it short from us."""
        if self._cut_short and isinstance(event, TurnEnded):
            event = msgspec.structs.replace(event, ok=False, error=self._cut_short)
        elif isinstance(event, EngineAttached) and self._runner is not None and "billing" in self._runner.notes:
            event = msgspec.structs.replace(event, credentials=self._runner.notes["billing"])
        return self._fold.feed(event)

    async def _prompt(self, runner: Runner, options: Options) -> None:
        if options.one_shot:
            return
        prompt = PromptId(str(uuid.uuid4()))
        content = (TextBlock(text=self._request.prompt),)
        try:
            runner.send(SendPrompt(key=self._key(), prompt=prompt, content=content))
        except EngineGone:
            return  # it died before it read the prompt; the end of its output tells why

    def _options(self, installed: Installed) -> Options:
        can = self.engine.capabilities(installed)
        common = common_settings(self._settings, self.engine.name)
        request = self._request
        fresh = self._resume is None or request.fork
        return Options(
            cwd=self._cwd,
            model=request.model,
            mode=request.mode,
            effort=request.effort,
            allow_tools=request.allow_tools,
            resume=self._resume.value if self._resume else None,
            fork=request.fork,
            session_id=EngineSessionId(str(uuid.uuid4())) if can.chooses_session_id and fresh else None,
            max_turns=request.max_turns,
            max_budget_usd=request.max_budget_usd,
            json_schema=request.json_schema,
            one_shot=request.one_shot or not can.live,
            prompt=request.prompt,
            sandbox=read_sandbox(common),
            resources=read_resources(common),
            env=request.env,
        )

    async def _lock(self, session: EngineSessionId, *, limit_s: float | None = None) -> AsyncGenerator[RunEvent, None]:
        """Have a conversation for this run alone, before it is resumed and before its id is given out.

        While somebody else has it this waits, and says for whom, unless the run is stopped. An agent that writes it
        already cannot wait for long: after `limit_s` the run ends with an error.
        """
        if session in self._locked:
            return
        lock = SessionLock(data_folder(self._environ) / "locks", f"{self.engine.name}:{session}", what="footplate run")
        try:
            await lock.acquire()
        except LockHeld as held:
            text = f"conversation {session} is in use by {held.holder}; waiting for it"
            for event in self._fold.feed(Notice(level="warning", text=text, code=LockHeld.code)):
                yield event
            try:
                async with asyncio.timeout(limit_s):
                    if not await self._wait_for(lock, ResumeToken(engine=self.engine.name, value=session)):
                        return
            except TimeoutError:
                self._cut_short = f"cannot continue conversation {session}: it is in use by {held.holder}"
                return
        self._locked.add(session)
        self._locks.callback(lock.release)
        self._lock_fd = lock.fd
        self._share_lock()

    def _share_lock(self) -> None:
        """Have the keeper hold the lock, too: if this program is killed, its agent may write for another moment."""
        if self._runner is not None and self._runner.kept is not None and self._lock_fd >= 0:
            self._runner.kept.hold(self._lock_fd)

    async def _wait_for(self, lock: SessionLock, conversation: ResumeToken) -> bool:
        """Wait for the lock, and ask for it; False when the run was stopped meanwhile."""
        taking = spawn(lock.acquire(wait=True), name="run: lock", awaited=True)
        stopping = spawn(self._stop.wait(), name="run: stop", awaited=True)
        asking = spawn(self._ask_for(conversation), name="run: ask for the conversation")
        try:
            await asyncio.wait((taking, stopping), return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (taking, stopping, asking):
                task.cancel()
            await asyncio.wait((taking, stopping, asking))
        if taking.cancelled():
            return False
        taking.result()
        return True

    async def _ask_for(self, conversation: ResumeToken) -> None:
        """Ask the service of this data folder, again and again, to end the agent process if it is idle."""
        from footplate.runtime.link import SOCKET_NAME  # noqa: PLC0415 - most runs need none of it
        from footplate.runtime.link_client import LinkBackend  # noqa: PLC0415

        while True:
            try:
                async with LinkBackend.open(data_folder(self._environ) / SOCKET_NAME) as service:
                    await service.release(conversation)
            except FootplateError:
                pass  # it is no service that has it, or an older one: the lock is waited for all the same
            await asyncio.sleep(ASK_S)

    def _start_timer(self, stack: AsyncExitStack) -> None:
        limit = self._request.timeout_s
        if limit is None:
            limit = common_settings(self._settings, self.engine.name).run_timeout_s
        if limit is None:
            return
        timer = spawn(self._time_out(limit), name="run timeout")

        async def stop() -> None:
            timer.cancel()
            await asyncio.wait((timer,))

        stack.push_async_callback(stop)

    async def _time_out(self, limit: float) -> None:
        await asyncio.sleep(limit)
        await self.interrupt(f"timed out after {limit:g} s")

    async def _leave(self, runner: Runner) -> None:
        """See the agent out: in its own time when it is done, at once when it is not."""
        done = self._fold.completed and not self._fold.running_tasks and not self._cut_short
        await runner.end(close_wait=CLOSE_WAIT_S if done else 0.0)

    def _key(self) -> str:
        self._commands += 1
        return f"run-{self._commands}"


def check_request(request: RunRequest) -> RunRequest:
    """The request itself, or `InvalidValue` for what no engine could take."""
    if not request.prompt.strip():
        raise InvalidValue("prompt", request.prompt, "a text that is not empty")
    for name, value in (("timeout", request.timeout_s), ("max-budget", request.max_budget_usd)):
        if value is not None and not value > 0:
            raise InvalidValue(name, value, "a number greater than 0")
    if request.max_turns is not None and request.max_turns < 1:
        raise InvalidValue("max-turns", request.max_turns, "a whole number from 1")
    if request.fork and not request.resume:
        raise InvalidValue("fork", "fork without resume", "a session to fork: give --resume too")
    return request


def choose_engine(request: RunRequest, settings: Settings, *, default: str = "") -> tuple[Engine, ResumeToken | None]:
    """The engine asked for, else that of the resume line, else the default; and what to resume.

    Raises `InvalidValue` for a text that is neither an id nor a resume line of that engine.
    """
    token = find_resume(request.resume, settings) if request.resume else None
    if token is not None and request.engine and token.engine != request.engine:
        raise InvalidValue("resume", request.resume, f"a session of {request.engine}, not of {token.engine}")
    name = request.engine or (token.engine if token else "") or default or settings.default_engine
    engine = make_engine(name, settings)
    if request.resume and token is None:
        value = request.resume.strip().strip("`")
        if len(value.split()) != 1 or value.startswith("-"):  # it becomes an argument of the engine's program
            raise InvalidValue("resume", request.resume, f"a session id or a line like {example_line(engine)}")
        token = ResumeToken(engine=name, value=EngineSessionId(value))
    return engine, token


def example_line(engine: Engine) -> str:
    """What a resume line of the engine looks like, for messages."""
    return f"`{engine.format_resume(ResumeToken(engine=engine.name, value=EngineSessionId('<id>')))}`"


async def run(
    engine: str,
    prompt: str,
    *,
    cwd: str = "",
    resume: str | ResumeToken = "",
    model: str = "",
    mode: str = "",
    effort: str = "",
    allow_tools: tuple[str, ...] | None = None,
    fork: bool = False,
    max_turns: int | None = None,
    max_budget_usd: float | None = None,
    json_schema: str = "",
    timeout_s: float | None = None,
    wait_background: bool = False,
    one_shot: bool = False,
    env: Mapping[str, str] | None = None,
) -> AsyncGenerator[RunEvent, None]:
    """Run one prompt on one engine: `async for event in footplate.run("claude", "fix the tests", cwd=...)`.

    Yields at most one `Started`, any number of `Action` and exactly one `Completed`, which is last. `resume` takes a
    token, an id or a pasted resume line. Raises `RequestError` only for a call that cannot be meant.
    """
    request = RunRequest(
        prompt=prompt,
        engine=engine,
        cwd=cwd,
        model=model,
        mode=mode,
        effort=effort,
        allow_tools=allow_tools,
        resume=resume.value if isinstance(resume, ResumeToken) else resume,
        fork=fork,
        max_turns=max_turns,
        max_budget_usd=max_budget_usd,
        json_schema=json_schema,
        timeout_s=timeout_s,
        wait_background=wait_background,
        one_shot=one_shot,
        env=env or {},
    )
    events = Run(request).events()
    try:
        async for event in events:
            yield event
    finally:
        await events.aclose()
