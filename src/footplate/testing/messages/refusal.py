"""Refusals in the shape in which Anthropic's API makes them. Pure."""

from __future__ import annotations

import msgspec

from footplate.testing.messages.wire import HttpAnswer

_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    405: "invalid_request_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}


def refuse(
    status: int,
    message: str = "",
    *,
    type: str = "",  # noqa: A002 - the Messages API calls it so
    headers: dict[str, str] | None = None,
    request_id: str = "req_scripted",
) -> HttpAnswer:
    """An error answer; its type follows from the status unless said."""
    kind = type or _TYPES.get(status, "api_error")
    error = {"type": kind, "message": message or f"scripted {kind}"}
    body = msgspec.json.encode({"type": "error", "error": error, "request_id": request_id})
    return HttpAnswer(status=status, headers={"request-id": request_id} | (headers or {}), body=body)
