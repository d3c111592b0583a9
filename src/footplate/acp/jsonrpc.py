"""JSON-RPC 2.0 envelopes, one JSON object per line: a tolerant struct to read, four functions to write.

`params`, `result` and the error's `data` stay raw bytes: whoever acts on a message decodes its own part, and a relay
decodes nothing but the envelope. An absent `id` (a notification) and an `id` of null are different things.
"""

from __future__ import annotations

from typing import Final, Literal

import msgspec
from msgspec import UNSET, UnsetType

from footplate.events.base import OptionalRaw

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
REQUEST_CANCELLED: Final = -32800
AUTH_REQUIRED: Final = -32000
NOT_FOUND: Final = -32002

RpcId = int | float | str | None
EnvelopeKind = Literal["request", "notification", "response", "invalid"]


class RpcError(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The error member of a response."""

    code: int = INTERNAL_ERROR
    message: str = ""
    data: OptionalRaw = None


class Envelope(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Any JSON-RPC message as it came. Unknown members are let pass; a missing `jsonrpc` is forgiven."""

    id: RpcId | UnsetType = UNSET
    method: str | None = None
    params: OptionalRaw = None
    result: OptionalRaw = None
    error: RpcError | None = None

    @property
    def kind(self) -> EnvelopeKind:
        """What the message is, told by which members it has."""
        if self.method is not None:
            return "notification" if self.id is UNSET else "request"
        if self.id is not UNSET and (self.result is not None or self.error is not None):
            return "response"
        return "invalid"


def id_of(envelope: Envelope) -> RpcId:
    """The id of a request or response; None for one that is null or absent."""
    return None if isinstance(envelope.id, UnsetType) else envelope.id


class _Request(msgspec.Struct, frozen=True, kw_only=True):
    jsonrpc: str = "2.0"
    id: RpcId
    method: str
    params: object


class _Notification(msgspec.Struct, frozen=True, kw_only=True):
    jsonrpc: str = "2.0"
    method: str
    params: object


class _Response(msgspec.Struct, frozen=True, kw_only=True):
    jsonrpc: str = "2.0"
    id: RpcId
    result: object


class _Failure(msgspec.Struct, frozen=True, kw_only=True):
    jsonrpc: str = "2.0"
    id: RpcId
    error: _Error


class _Error(msgspec.Struct, frozen=True, kw_only=True):
    code: int
    message: str
    data: object | UnsetType = UNSET


_encoder = msgspec.json.Encoder()
envelope_decoder: Final = msgspec.json.Decoder(Envelope)


def decode_message(raw: bytes) -> Envelope:
    """The envelope of a client's message. Raises `msgspec.DecodeError`, `UnicodeDecodeError` or `RecursionError`.

    The bytes are checked to be UTF-8 first: the decoder skips over the parts that it leaves raw, and who decodes or
    stores those later would fail.
    """
    if not raw.isascii():
        raw.decode()
    return envelope_decoder.decode(raw)


def encode_request(rpc_id: RpcId, method: str, params: object) -> bytes:
    """A request as one line."""
    return _line(_Request(id=rpc_id, method=method, params=params))


def encode_notification(method: str, params: object) -> bytes:
    """A notification as one line."""
    return _line(_Notification(method=method, params=params))


def encode_response(rpc_id: RpcId, result: object) -> bytes:
    """A successful response as one line."""
    return _line(_Response(id=rpc_id, result=result))


def encode_error(rpc_id: RpcId, code: int, message: str, data: object | UnsetType = UNSET) -> bytes:
    """A failed response as one line; `rpc_id` is None when the request could not be read."""
    return _line(_Failure(id=rpc_id, error=_Error(code=code, message=message, data=data)))


def _line(message: object) -> bytes:
    buffer = bytearray()
    _encoder.encode_into(message, buffer)
    buffer += b"\n"
    return bytes(buffer)
