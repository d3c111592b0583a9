"""What an editor hears when the process behind it is lost, and what the next one is told."""

from __future__ import annotations

import json
from typing import Any

from footplate.interfaces.acp.ledger import Ledger


def _line(**message: object) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"


def _read(frames: list[bytes]) -> list[Any]:
    return [json.loads(frame) for frame in frames]


def _begun() -> Ledger:
    ledger = Ledger()
    ledger.sent(_line(id=0, method="initialize", params={"protocolVersion": 1}))
    assert ledger.heard(_line(id=0, result={"protocolVersion": 1}))
    return ledger


def test_a_message_that_is_not_utf_8_is_left_to_the_agent() -> None:
    ledger = _begun()
    for line in (b'{"id":1,"method":"session/load","params":{"sessionId":"\xff"}}\n', b'{"id":"\xff","method":"a"}\n'):
        ledger.sent(line)
    assert ledger.lost("it is gone") == []


def test_every_request_gets_an_answer_and_every_question_is_withdrawn() -> None:
    ledger = _begun()
    ledger.sent(_line(id=1, method="session/prompt", params={"sessionId": "s", "prompt": []}))
    ledger.sent(_line(id="two", method="session/list", params={}))
    assert ledger.heard(_line(id="ask-1", method="session/request_permission", params={}))
    assert ledger.heard(_line(id="ask-2", method="session/request_permission", params={}))
    ledger.sent(_line(id="ask-2", result={}))
    assert ledger.heard(_line(id="two", result={}))
    prompt, question = _read(ledger.lost("it is gone"))
    assert (prompt["id"], prompt["error"]["code"]) == (1, -32603)
    assert "it is gone" in prompt["error"]["message"]
    assert (question["method"], question["params"]) == ("$/cancel_request", {"requestId": "ask-1"})
    assert ledger.lost("again") == []


def test_the_next_process_learns_who_the_editor_is_and_its_answers_are_not_told() -> None:
    ledger = _begun()
    for session, method in (("kept", "session/prompt"), ("gone", "session/load"), ("gone", "session/delete")):
        ledger.sent(_line(id=f"{method}{session}", method=method, params={"sessionId": session}))
    ledger.lost("gone")
    begin, resume = _read(ledger.again())
    assert (begin["method"], begin["params"]) == ("initialize", {"protocolVersion": 1})
    assert (resume["method"], resume["params"]["sessionId"]) == ("session/resume", "kept")
    ledger.sent(json.dumps(begin).encode())
    said = [ledger.quiet]
    assert not ledger.heard(_line(id=begin["id"], result={}))
    assert ledger.heard(_line(method="session/update", params={}))
    assert not ledger.heard(_line(id=resume["id"], error={"code": -32002, "message": "no"}))
    said.append(ledger.quiet)
    assert said == [False, True]
    assert ledger.lost("once more") == []


def test_an_initialize_without_an_answer_is_asked_again_under_its_own_id() -> None:
    ledger = Ledger()
    assert ledger.again() == []
    ledger.sent(_line(id=7, method="initialize", params={}))
    assert ledger.lost("gone") == []
    (begin,) = _read(ledger.again())
    assert begin["id"] == 7
    assert ledger.heard(_line(id=7, result={}))


def test_what_cannot_be_read_is_no_business_of_the_ledger() -> None:
    ledger = Ledger()
    for line in (b"no json\n", b"[]\n", b'{"id": 1, "method": "x", "params": []}\n', b"\xff\n"):
        ledger.sent(line)
    assert [each["id"] for each in _read(ledger.lost("gone"))] == [1]
