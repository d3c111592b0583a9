"""The draft of ACP version 2 on an agent that speaks version 1: messages in, messages out. Pure.

A prompt is answered at once, with the id of its message; how the session stands is told by updates of its state, the
end of a turn by the one that says `idle`. Resuming tells the past when it is asked to. Modes are options.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from footplate.acp import draft_values as v
from footplate.acp import jsonrpc
from footplate.acp.draft_values import Json
from footplate.acp.draft_work import Work
from footplate.acp.failures import Failure, invalid_params, unknown_method
from footplate.acp.jsonrpc import Envelope, RpcId

VERSION: Final = 2
GONE: Final = frozenset({"authenticate", "logout", "session/load", "session/set_mode", "session/set_model"})
"""Methods of version 1 that the draft has no more."""

RENAMED: Final = {"auth/login": "authenticate", "auth/logout": "logout"}
CANCELS: Final = {"tool_call/cancel": "toolCallId", "terminal/cancel": "terminalId"}
"""What names the thing to cancel."""

STOP: Final = "_session/async_task/stop"
OPENING: Final = frozenset({"session/new", "session/load", "session/resume", "session/fork"})
QUESTIONS: Final = frozenset({"session/request_permission", "elicitation/create"})


class _Asked(msgspec.Struct, frozen=True):
    method: str
    session: str = ""


class Draft:
    """One connection's translation, both ways."""

    def __init__(self) -> None:
        self._asked: dict[RpcId, _Asked] = {}
        self._prompts: dict[RpcId, str] = {}
        self._questions: dict[RpcId, str] = {}
        self._sessions: set[str] = set()
        self._work = Work()
        self._numbers = 0

    def incoming(self, envelope: Envelope) -> tuple[list[bytes], list[bytes]]:
        """A message of the client: what the agent is told, and what the client hears at once."""
        if envelope.kind == "request":
            return self._request(envelope)
        if envelope.kind == "response":
            session = self._questions.pop(jsonrpc.id_of(envelope), "")
            return [_again(envelope)], ([_state(session, "running")] if session else [])
        return [_again(envelope)], []

    def _request(self, envelope: Envelope) -> tuple[list[bytes], list[bytes]]:
        rpc_id, method = jsonrpc.id_of(envelope), envelope.method or ""
        if method in GONE:
            return [], [unknown_method(method).frame(rpc_id)]
        params: Json = msgspec.json.decode(envelope.params or b"{}")
        method = RENAMED.get(method, method)
        if method == "session/prompt":
            return self._prompt(rpc_id, params)
        if method in CANCELS:
            return self._cancel(rpc_id, method, params)
        if method == "initialize":
            capabilities = v.client_capabilities(params.get("capabilities") or {})
            params = {"protocolVersion": 1, "clientInfo": params.get("info"), "clientCapabilities": capabilities}
        elif method == "session/resume" and params.get("replayFrom") is not None:
            method = "session/load"
        if method in OPENING:
            params.setdefault("mcpServers", [])
        self._asked[rpc_id] = _Asked(method, str(params.get("sessionId", "")))
        return [jsonrpc.encode_request(rpc_id, method, params)], []

    def _cancel(self, rpc_id: RpcId, method: str, params: Json) -> tuple[list[bytes], list[bytes]]:
        """Only work in the background can be cancelled by itself; the turn is cancelled as a whole."""
        session, name = str(params.get("sessionId", "")), params.get(CANCELS[method])
        task = self._work.task(session, name, terminal=method == "terminal/cancel")
        if task is None:
            return [], [invalid_params(f"{CANCELS[method]} {name!r} is nothing that can be cancelled").frame(rpc_id)]
        self._asked[rpc_id] = _Asked(method, session)
        return [jsonrpc.encode_request(rpc_id, STOP, {"sessionId": session, "asyncTaskId": task})], []

    def _prompt(self, rpc_id: RpcId, params: Json) -> tuple[list[bytes], list[bytes]]:
        session = str(params.get("sessionId", ""))
        if session not in self._sessions:
            told = {"sessionId": session}
            return [], [Failure(jsonrpc.NOT_FOUND, f"Resource not found: session {session!r}", told).frame(rpc_id)]
        self._numbers += 1
        name = f"prompt-{self._numbers}"
        self._prompts[name] = session
        said = {"sessionUpdate": "user_message", "messageId": name, "content": params.get("prompt", [])}
        answer = jsonrpc.encode_response(rpc_id, {"messageId": name})
        heard = [answer, _update(session, said), _state(session, "running")]
        return [jsonrpc.encode_request(name, "session/prompt", params)], heard

    def outgoing(self, frame: bytes) -> list[bytes]:
        """A message of the agent, as the client hears it."""
        envelope = jsonrpc.envelope_decoder.decode(frame)
        if envelope.kind == "response":
            return self._response(envelope)
        if envelope.method == "session/update":
            params: Json = msgspec.json.decode(envelope.params or b"{}")
            update, session = v.update(params["update"]), params["sessionId"]
            if update is None:
                return []
            is_call = update["sessionUpdate"] == "tool_call_update"
            return [_update(session, each) for each in (self._work.tell(session, update) if is_call else (update,))]
        if envelope.method in QUESTIONS:
            return self._question(envelope)
        if envelope.method == "$/cancel_request":
            cancelled: Json = msgspec.json.decode(envelope.params or b"{}")
            session = self._questions.pop(cancelled["requestId"], "")
            return [frame, _state(session, "running")] if session else [frame]
        return [frame]

    def _question(self, envelope: Envelope) -> list[bytes]:
        params: Json = msgspec.json.decode(envelope.params or b"{}")
        rpc_id, session = jsonrpc.id_of(envelope), str(params["sessionId"])
        self._questions[rpc_id] = session
        if envelope.method == "session/request_permission":
            params = v.permission(params)
        return [_state(session, "requires_action"), jsonrpc.encode_request(rpc_id, envelope.method or "", params)]

    def _response(self, envelope: Envelope) -> list[bytes]:
        rpc_id = jsonrpc.id_of(envelope)
        session = self._prompts.pop(rpc_id, None)
        if session is not None:
            return self._ended(session, envelope)
        asked = self._asked.pop(rpc_id, None)
        if asked is None or envelope.result is None:
            return [_again(envelope)]
        result: Json = msgspec.json.decode(envelope.result)
        if asked.method == "initialize":
            result = v.introduction(result)
        elif asked.method in OPENING:
            self._sessions.add(result.get("sessionId", asked.session))
            result = v.opened(result)
        elif asked.method == "session/set_config_option":
            result = {**result, "configOptions": v.options(result["configOptions"])}
        return [jsonrpc.encode_response(rpc_id, result)]

    def _ended(self, session: str, envelope: Envelope) -> list[bytes]:
        """A turn is over; while others of the session wait it runs on."""
        if session in self._prompts.values():
            return []
        if envelope.error is not None:
            error: Json = {"code": envelope.error.code, "message": envelope.error.message}
            if envelope.error.data is not None:
                error["data"] = envelope.error.data
            return [_state(session, "idle", stopReason="error", error=error)]
        result: Json = msgspec.json.decode(envelope.result or b"{}")
        return [_state(session, "idle", stopReason=result.get("stopReason"))]


def wants_draft(envelope: Envelope) -> bool:
    """Whether the client begins a connection of the draft."""
    if envelope.method != "initialize" or envelope.params is None:
        return False
    try:
        return msgspec.json.decode(envelope.params, type=_Begin).protocol_version >= VERSION
    except msgspec.ValidationError:
        return False


class _Begin(msgspec.Struct, rename="camel"):
    protocol_version: int = 1


def _state(session: str, state: str, **more: Any) -> bytes:
    return _update(session, {"sessionUpdate": "state_update", "state": state, **more})


def _update(session: str, update: Json) -> bytes:
    return jsonrpc.encode_notification("session/update", {"sessionId": session, "update": update})


def _again(envelope: Envelope) -> bytes:
    """The message as it came."""
    if envelope.method is not None:
        return jsonrpc.encode_notification(envelope.method, envelope.params)
    rpc_id = jsonrpc.id_of(envelope)
    if envelope.error is not None:
        failure = Failure(envelope.error.code, envelope.error.message, envelope.error.data)
        return failure.frame(rpc_id)
    return jsonrpc.encode_response(rpc_id, envelope.result)
