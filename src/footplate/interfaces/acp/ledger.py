"""What is open between an editor and the process that runs its sessions, so that the editor can go on with another.

Pure: messages in, messages out. While nothing is lost it changes nothing; after a loss it says what the editor has to
hear, and what the next process has to be told first.
"""

from __future__ import annotations

from typing import Final

import msgspec

from footplate.acp import jsonrpc
from footplate.acp.failures import Failure
from footplate.acp.jsonrpc import Envelope, RpcId

INITIALIZE: Final = "initialize"
AGAIN: Final = "footplate-again-"
"""Ids of what we say on the editor's behalf; it hears no answer to that."""


LEAVES: Final = ("session/close", "session/delete")


class _Resume(msgspec.Struct, rename="camel", kw_only=True):
    """The session is found by its id; its folder and servers are known."""

    session_id: str
    cwd: str = "/"


class _Cancel(msgspec.Struct, rename="camel", kw_only=True):
    request_id: RpcId


class _Of(msgspec.Struct, rename="camel", kw_only=True):
    session_id: str = ""


class Ledger:
    """Requests without an answer in both directions, and the sessions that the editor has."""

    def __init__(self) -> None:
        self._initialize: msgspec.Raw | None = None
        self._asked: dict[RpcId, str] = {}
        self._asks: set[RpcId] = set()
        self._sessions: dict[str, None] = {}
        self._again: set[RpcId] = set()

    def sent(self, line: bytes) -> None:
        """Note what the editor says."""
        try:
            envelope = jsonrpc.decode_message(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return  # the agent tells the editor what is wrong with it
        rpc_id = jsonrpc.id_of(envelope)
        if envelope.kind == "response":
            self._asks.discard(rpc_id)
        elif envelope.kind == "request" and rpc_id not in self._again:
            self._asked[rpc_id] = envelope.method or ""
            if envelope.method == "initialize":
                self._initialize = envelope.params.copy() if envelope.params is not None else msgspec.Raw(b"{}")
            self._note_session(envelope)

    def heard(self, line: bytes) -> bool:
        """Note what the editor is told; False when it is not for its ears."""
        envelope = jsonrpc.envelope_decoder.decode(line)
        rpc_id = jsonrpc.id_of(envelope)
        if envelope.kind == "request":
            self._asks.add(rpc_id)
        elif envelope.kind == "response":
            if rpc_id in self._again:
                self._again.discard(rpc_id)
                return False
            self._asked.pop(rpc_id, None)
        return True

    def lost(self, reason: str) -> list[bytes]:
        """The process is gone: what the editor hears. Every request gets an answer, every question is withdrawn."""
        gone = Failure(jsonrpc.INTERNAL_ERROR, f"Internal error: {reason}", {"errorKind": "link_lost"})
        frames = [gone.frame(rpc_id) for rpc_id, method in self._asked.items() if method != INITIALIZE]
        frames += [jsonrpc.encode_notification("$/cancel_request", _Cancel(request_id=rpc_id)) for rpc_id in self._asks]
        self._asked = {rpc_id: method for rpc_id, method in self._asked.items() if method == INITIALIZE}
        self._asks.clear()
        self._again.clear()
        return frames

    def again(self) -> list[bytes]:
        """What the next process is told before all else: who the editor is, and the sessions that it has."""
        if self._initialize is None:
            return []
        self._again = {f"{AGAIN}{session}" for session in self._sessions}
        begins = next(iter(self._asked), f"{AGAIN}{INITIALIZE}")
        if not self._asked:
            self._again.add(f"{AGAIN}{INITIALIZE}")
        frames = [jsonrpc.encode_request(begins, INITIALIZE, self._initialize)]
        frames += [
            jsonrpc.encode_request(f"{AGAIN}{session}", "session/resume", _Resume(session_id=session))
            for session in self._sessions
        ]
        return frames

    @property
    def quiet(self) -> bool:
        """Whether the editor may hear everything."""
        return not self._again

    def _note_session(self, envelope: Envelope) -> None:
        try:
            session = msgspec.json.decode(envelope.params or b"{}", type=_Of).session_id
        except msgspec.ValidationError:
            return
        if envelope.method in LEAVES:
            self._sessions.pop(session, None)
        elif session:
            self._sessions[session] = None
