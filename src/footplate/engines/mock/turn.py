"""One turn of the mock agent: plays a script against the client, step by step."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec

from footplate.acp.jsonrpc import Envelope
from footplate.acp.meta import parent_meta
from footplate.acp.schema.asking import (
    CreateElicitationRequest,
    CreateElicitationResponse,
    ElicitationPropertySchema,
    ElicitationSchema,
    EnumOption,
    PermissionOption,
    RequestPermissionRequest,
    RequestPermissionResponse,
)
from footplate.acp.schema.content import TextContent
from footplate.acp.schema.sessions import PromptResponse
from footplate.acp.schema.start import ClientCapabilities
from footplate.acp.schema.tools import ToolCallUpdate
from footplate.acp.schema.updates import AgentMessageChunk, AgentThoughtChunk, Usage
from footplate.acp.schema.updates import Notice as NoticeUpdate
from footplate.engines.mock.peer import Peer, Refusal
from footplate.engines.mock.sessions import Session
from footplate.engines.mock.steps import (
    DONE,
    Ask,
    Charge,
    Complain,
    Emit,
    Fail,
    Pause,
    Permit,
    Quit,
    Reply,
    Say,
    Script,
    Show,
    Step,
    Think,
)
from footplate.tasks import spawn

CANCELLED = Reply("cancelled")
SKIP = PermissionOption(option_id="skip", name="Skip the question", kind="reject_once")


class Stop(Exception):
    """The agent is to end at once."""

    def __init__(self, code: int) -> None:
        super().__init__(f"exit code {code}")
        self.code = code


class Turn:
    """Performs the steps of one script for a client that can do so much. `complain`: there is a stderr."""

    def __init__(
        self,
        peer: Peer,
        session: Session,
        client: ClientCapabilities,
        *,
        number: int,
        cancelled: asyncio.Event,
        complain: Callable[[str], None] | None,
    ) -> None:
        self._peer = peer
        self._session = session
        self._number = number
        self._cancelled = cancelled
        self._forms = client.elicitation is not None and client.elicitation.form is not None
        self._notices = client.session is not None and client.session.notices is not None
        self._complain = complain
        self._said: list[str] = []
        self._messages = 0
        self._speaking = ""
        self._usage: Usage | None = None

    @property
    def answer(self) -> str:
        """All that was said so far."""
        return "".join(self._said)

    async def play(self, script: Script) -> PromptResponse:
        """Play to the end. Raises `Refusal` where the script fails and `Stop` where it ends the agent."""
        reply: Reply | None = None
        while True:
            try:
                step = script.send(reply) if reply else next(script)
            except StopIteration as end:
                usage = None if self._usage is None else msgspec.Raw(msgspec.json.encode(self._usage))
                return PromptResponse(stop_reason=end.value, usage=usage)
            reply = await self._perform(step)

    async def _perform(self, step: Step) -> Reply:
        match step:
            case Say():
                await self._say(step)
            case Think():
                await self._think(step)
            case Show():
                self._speaking = ""
                await self._peer.update(self._session.id, step.update)
            case Pause():
                return await self._pause(step.ms)
            case Permit():
                return await self._permit(step)
            case Ask():
                return await (self._ask_form(step) if self._forms else self._ask_options(step))
            case Charge():
                self._usage = step.usage
            case Emit():
                await self._peer.write(step.line)
            case Complain():
                await self._grumble(step.text)
            case Fail():
                raise Refusal(step.code, step.message, step.detail)
            case Quit():
                raise Stop(step.code)
        return DONE

    async def _say(self, step: Say) -> None:
        meta = parent_meta(step.parent)
        if not step.parent:
            self._said.append(step.text)
        chunk = AgentMessageChunk(
            content=TextContent(text=step.text), message_id=self._message(f"say {step.parent}"), meta=meta
        )
        await self._peer.update(self._session.id, chunk)

    async def _think(self, step: Think) -> None:
        chunk = AgentThoughtChunk(content=TextContent(text=step.text), message_id=self._message("think"))
        await self._peer.update(self._session.id, chunk)

    def _message(self, speaking: str) -> str:
        """The id of the message that goes on, or of a new one."""
        if self._speaking != speaking:
            self._speaking = speaking
            self._messages += 1
        return f"msg-{self._number}-{self._messages}"

    async def _grumble(self, text: str) -> None:
        """To stderr where there is one; inside another process a client that takes notices gets one."""
        if self._complain is not None:
            self._complain(text)
        elif self._notices:
            await self._peer.update(self._session.id, NoticeUpdate(severity="warning", title=text))

    async def _pause(self, ms: int | None) -> Reply:
        if ms == 0:
            return CANCELLED if self._cancelled.is_set() else DONE
        try:
            async with asyncio.timeout(None if ms is None else ms / 1000):
                await self._cancelled.wait()
        except TimeoutError:
            return DONE
        return CANCELLED

    async def _permit(self, step: Permit) -> Reply:
        params = RequestPermissionRequest(session_id=self._session.id, tool_call=step.call, options=step.options)
        response = await self._request("session/request_permission", params)
        if response is None or response.result is None:
            return CANCELLED
        outcome = msgspec.json.decode(response.result, type=RequestPermissionResponse).outcome
        if outcome.outcome != "selected" or outcome.option_id is None:
            return CANCELLED
        return Reply("chosen", outcome.option_id)

    async def _ask_form(self, step: Ask) -> Reply:
        choices = tuple(EnumOption(const=choice, title=choice) for choice in step.choices)
        field = ElicitationPropertySchema(type="string", title=step.header, one_of=choices)
        params = CreateElicitationRequest(
            message=step.question,
            mode="form",
            session_id=self._session.id,
            tool_call_id=step.call,
            requested_schema=ElicitationSchema(type="object", properties={"answer": field}, required=("answer",)),
        )
        response = await self._request("elicitation/create", params)
        if response is None:
            return CANCELLED
        if response.result is None:
            return Reply("declined")
        answer = msgspec.json.decode(response.result, type=CreateElicitationResponse)
        if answer.action == "accept" and answer.content and "answer" in answer.content:
            return Reply("chosen", str(answer.content["answer"]))
        return CANCELLED if answer.action == "cancel" else Reply("declined")

    async def _ask_options(self, step: Ask) -> Reply:
        """A question for a client without forms: one option per choice."""
        options = tuple(PermissionOption(option_id=choice, name=choice, kind="allow_once") for choice in step.choices)
        call = ToolCallUpdate(tool_call_id=step.call, title=step.question, kind="other", status="pending")
        reply = await self._permit(Permit(call, (*options, SKIP)))
        return Reply("declined") if reply.value == SKIP.option_id else reply

    async def _request(self, method: str, params: object) -> Envelope | None:
        """The client's response, or None when the turn was cancelled first."""
        self._speaking = ""
        answer = await self._peer.request(method, params)
        cancelled = spawn(self._cancelled.wait(), name="mock agent: cancel", awaited=True)
        try:
            await asyncio.wait((answer, cancelled), return_when=asyncio.FIRST_COMPLETED)
            return answer.result() if answer.done() else None
        finally:
            cancelled.cancel()
            answer.cancel()
