from __future__ import annotations

import msgspec
import pytest
from msgspec import UNSET

from footplate.acp.jsonrpc import (
    Envelope,
    RpcError,
    encode_error,
    encode_notification,
    encode_request,
    encode_response,
    envelope_decoder,
)
from footplate.acp.schema.sessions import CancelNotification


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        (b'{"jsonrpc":"2.0","id":1,"method":"a","params":{}}', "request"),
        (b'{"jsonrpc":"2.0","id":null,"method":"a"}', "request"),
        (b'{"jsonrpc":"2.0","method":"a","params":[]}', "notification"),
        (b'{"jsonrpc":"2.0","id":"x","result":null}', "response"),
        (b'{"jsonrpc":"2.0","id":1.5,"error":{"code":-1,"message":"no"}}', "response"),
        (b'{"jsonrpc":"2.0","id":1}', "invalid"),
        (b'{"result":{}}', "invalid"),
        (b'{"something":"else"}', "invalid"),
    ],
)
def test_the_members_of_a_message_tell_what_it_is(line: bytes, kind: str) -> None:
    assert envelope_decoder.decode(line).kind == kind


def test_an_absent_id_is_not_an_id_of_null() -> None:
    assert envelope_decoder.decode(b'{"method":"a"}').id is UNSET
    assert envelope_decoder.decode(b'{"method":"a","id":null}').id is None


def test_the_inside_of_a_message_stays_as_it_came() -> None:
    line = b'{"id":"7","error":{"code":-32603,"message":"m","data":{ "b" : 1.0 }},"extra":1}'
    assert envelope_decoder.decode(line) == Envelope(
        id="7", error=RpcError(code=-32603, message="m", data=msgspec.Raw(b'{ "b" : 1.0 }'))
    )


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            encode_request(1, "session/cancel", CancelNotification(session_id="s")),
            b'{"jsonrpc":"2.0","id":1,"method":"session/cancel","params":{"sessionId":"s"}}\n',
        ),
        (encode_notification("a/b", {}), b'{"jsonrpc":"2.0","method":"a/b","params":{}}\n'),
        (encode_response("x", None), b'{"jsonrpc":"2.0","id":"x","result":null}\n'),
        (
            encode_error(None, -32700, "Parse error"),
            b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}\n',
        ),
        (
            encode_error(2, -1, "no", {"detail": "a\nb"}),
            b'{"jsonrpc":"2.0","id":2,"error":{"code":-1,"message":"no","data":{"detail":"a\\nb"}}}\n',
        ),
    ],
)
def test_a_message_is_written_as_one_line(line: bytes, expected: bytes) -> None:
    assert line == expected


def test_what_is_not_an_object_is_no_message() -> None:
    with pytest.raises(msgspec.ValidationError):
        envelope_decoder.decode(b"[]")
    with pytest.raises(msgspec.DecodeError):
        envelope_decoder.decode(b"nonsense")
