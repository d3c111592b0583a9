"""Errors of the product as JSON-RPC errors: one function for all of them."""

from __future__ import annotations

from typing import Final

import msgspec

from footplate.acp import jsonrpc
from footplate.errors import EngineError, FootplateError, RequestError, UnknownSession
from footplate.events.model import TurnEnded

AUTH_KINDS: Final = frozenset({"auth", "authentication_failed", "authentication_error", "invalid_api_key"})
"""What engines call a login that does not work."""


class Failure(Exception):
    """A request that gets a JSON-RPC error."""

    def __init__(self, code: int, message: str, data: object | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data

    def frame(self, rpc_id: jsonrpc.RpcId) -> bytes:
        """The response to the request of that id."""
        return jsonrpc.encode_error(rpc_id, self.code, self.message, msgspec.UNSET if self.data is None else self.data)


def failure_of(error: FootplateError) -> Failure:
    """The error in the words of JSON-RPC."""
    told: dict[str, object] = {"kind": error.code, "retryable": error.retryable}
    if isinstance(error, UnknownSession):
        return Failure(jsonrpc.NOT_FOUND, f"Resource not found: {error}", {**told, "sessionId": error.session})
    if isinstance(error, RequestError):
        return Failure(jsonrpc.INVALID_PARAMS, f"Invalid params: {error}", told)
    if isinstance(error, EngineError):
        return Failure(jsonrpc.INTERNAL_ERROR, str(error), told)
    return Failure(jsonrpc.INTERNAL_ERROR, f"Internal error: {error}", told)


def failure_of_turn(event: TurnEnded) -> Failure:
    """A turn that ended in an error."""
    code = jsonrpc.AUTH_REQUIRED if event.error_kind in AUTH_KINDS else jsonrpc.INTERNAL_ERROR
    words = "Authentication required" if code == jsonrpc.AUTH_REQUIRED else "Internal error"
    told = event.error if event.error.startswith(words) else f"{words}: {event.error}"
    return Failure(code, told, {"errorKind": event.error_kind, "detail": event.error})


def invalid_params(problem: object) -> Failure:
    """Parameters that cannot be read."""
    return Failure(jsonrpc.INVALID_PARAMS, f"Invalid params: {problem}")


def unknown_method(method: str) -> Failure:
    """A method that this agent does not have."""
    return Failure(jsonrpc.METHOD_NOT_FOUND, f"Method not found: {method}", {"method": method})
