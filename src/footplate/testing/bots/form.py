"""The parameters of a call: a JSON body, a form, or parts with files; values of forms may be JSON in a string."""

from __future__ import annotations

import email.parser
import email.policy
from urllib.parse import parse_qsl

import msgspec

from footplate.testing.messages.wire import HttpRequest


class Upload(msgspec.Struct, frozen=True):
    """A file that came along."""

    name: str
    body: bytes


def read_parameters(request: HttpRequest) -> dict[str, object]:
    """Everything the call says, wherever it stands."""
    found: dict[str, object] = {name: _value(text) for name, text in request.query.items()}
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "application/json" and request.body:
        found |= msgspec.json.decode(request.body, type=dict[str, object])
    elif kind == "application/x-www-form-urlencoded":
        pairs = parse_qsl(request.body.decode(), keep_blank_values=True)
        found |= {name: _value(text) for name, text in pairs}
    elif kind == "multipart/form-data":
        found |= _parts(request)
    return found


def _parts(request: HttpRequest) -> dict[str, object]:
    head = f"content-type: {request.headers['content-type']}\r\n\r\n".encode()
    message = email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(head + request.body)
    found: dict[str, object] = {}
    for part in message.iter_parts():
        name = str(part.get_param("name", header="content-disposition"))
        body = part.get_payload(decode=True)
        content = body if isinstance(body, bytes) else b""
        file_name = part.get_filename()
        found[name] = Upload(file_name, content) if file_name else _value(content.decode())
    return found


def _value(text: str) -> object:
    """A number, a list or an object where the text is one, else the text."""
    if text[:1] in "[{-0123456789" or text in ("true", "false"):
        try:
            value: object = msgspec.json.decode(text)
        except msgspec.DecodeError:
            return text
        return value
    return text
