"""What clients ask for in `_meta`, and which raw messages they get."""

from __future__ import annotations

import json

import msgspec
import pytest

from footplate.acp.failures import Failure
from footplate.acp.session_meta import read_session_meta

LINES = (
    b"""{"type":"system","subtype":"init"}
{"type":"control_request","request":{}}
{"type":"result","subtype":"success","origin":{"kind":"human"}}
not json
{"type":5}
{"type":"\xff"}
{"type":"assistant","message":{"text":"caf\xe9"}}
"""
    + b'{"type":"user","message":%s}\n' % (b"[" * 3_000 + b"]" * 3_000)
)


def _chosen(wanted: object) -> list[str]:
    raw = read_session_meta(msgspec.Raw(json.dumps({"claudeCode": {"emitRawSDKMessages": wanted}}).encode())).raw
    return [json.loads(bytes(each))["type"] for each in raw.choose(LINES)] if raw is not None else []


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (True, ["system", "result"]),
        (False, []),
        ([], []),
        ([{"type": "result"}], ["result"]),
        ([{"type": "result", "subtype": "error"}], []),
        ([{"type": "result", "origin": "human"}, {"type": "system", "origin": "human"}], ["result"]),
    ],
)
def test_raw_messages_are_those_that_were_asked_for(wanted: object, found: list[str]) -> None:
    assert _chosen(wanted) == found


def test_nothing_is_asked_for_by_nothing_and_a_wrong_shape_is_told() -> None:
    empty = read_session_meta(None)
    assert (empty.options, empty.raw, empty.system_prompt, empty.additional_roots) == (None, None, "", ())
    assert read_session_meta(msgspec.Raw(b'{"other": 1}')) == empty
    with pytest.raises(Failure, match="_meta"):
        read_session_meta(msgspec.Raw(b'{"claudeCode": 1}'))


def test_no_tools_of_its_own_is_an_option_unless_the_tools_are_named() -> None:
    def options(**beside: object) -> object:
        meta = {"disableBuiltInTools": True, **beside}
        return json.loads(bytes(read_session_meta(msgspec.Raw(json.dumps(meta).encode())).options or b"null"))

    assert options() == {"tools": []}
    assert options(claudeCode={"options": {"tools": ["Read"], "model": "opus"}}) == {"tools": ["Read"], "model": "opus"}
