"""Going on with a living CLI: what the log lacks comes out of the CLI's file, what it has is not read twice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
import pytest

from footplate.engines.base import Options
from footplate.engines.claude.conversation import ClaudeConversation
from footplate.engines.claude.projects import folder_name
from footplate.engines.claude.prompts import prompt_uuid
from footplate.engines.claude.rejoining import ClaudeRejoining, rejoin_claude
from footplate.engines.rejoining import Where, is_torn
from footplate.engines.standing import Standing, StandingCall, StandingMessage, StandingRequest
from footplate.events.ids import EngineSessionId, MessageId, PromptId, RequestId, ToolCallId, TurnId
from footplate.events.requests import Allow, Request
from footplate.host.lines import Block

SESSION = EngineSessionId("11111111-1111-4111-8111-111111111111")
PROMPT = PromptId("p1")
CALL = ToolCallId("toolu_1")

Record = Mapping[str, object]


def uuid_of(number: int) -> str:
    return f"00000000-0000-4000-8000-{number:012d}"


def line(**fields: object) -> bytes:
    return msgspec.json.encode(fields) + b"\n"


def said(number: int, content: Sequence[Record], *, message: str, stop: str | None = None) -> Record:
    body = {"role": "assistant", "id": message, "model": "m", "content": content, "stop_reason": stop}
    return {"type": "assistant", "uuid": uuid_of(number), "message": body}


def result(number: int) -> Record:
    content = [{"type": "tool_result", "tool_use_id": CALL, "content": "hello"}]
    return {"type": "user", "uuid": uuid_of(number), "message": {"role": "user", "content": content}}


ASKED = {"type": "user", "uuid": prompt_uuid(PROMPT), "message": {"role": "user", "content": "do it"}}
TURN: list[Record] = [
    ASKED,
    said(1, [{"type": "text", "text": "I look."}], message="m1"),
    said(2, [{"type": "tool_use", "id": CALL, "name": "Bash", "input": {}}], message="m1", stop="tool_use"),
    result(3),
    said(4, [{"type": "text", "text": "Done."}], message="m2", stop="end_turn"),
]
LOOKED = StandingMessage(id=MessageId("m1"), blocks=(0, 1))
OPEN = Standing(living=True, turn=TurnId("turn-1"), prompts=(PROMPT,), said=(PROMPT,), messages=(LOOKED,))


@pytest.fixture
def where(tmp_path: Path) -> Where:
    return Where(session=SESSION, cwd="/w", environ={"HOME": str(tmp_path)}, ended=frozenset({"gone"}))


def rejoin(where: Where, entries: Sequence[Record], standing: Standing) -> ClaudeRejoining:
    """The file as the CLI has it, each entry below the one before."""
    folder = Path(where.environ["HOME"]) / ".claude" / "projects" / folder_name("/w")
    folder.mkdir(parents=True, exist_ok=True)
    above: object = None
    lines: list[bytes] = []
    for entry in entries:
        lines.append(line(**entry, parentUuid=above, isSidechain=False, sessionId=SESSION))
        above = entry["uuid"]
    (folder / f"{SESSION}.jsonl").write_bytes(b"".join(lines))
    return rejoin_claude(standing, where)


def uuids(block: Block) -> list[str]:
    return [msgspec.json.decode(each)["uuid"] for each in block.lines.splitlines()]


def stream(*entries: Record) -> Block:
    return Block(b"".join(line(**entry, session_id=SESSION) for entry in entries))


def test_what_the_log_lacks_is_read_and_what_it_has_is_not(where: Where) -> None:
    standing = msgspec.structs.replace(OPEN, calls=(StandingCall(id=CALL),))
    assert uuids(rejoin(where, TURN, standing).lost()) == [uuid_of(3), uuid_of(4)]
    ended = msgspec.structs.replace(OPEN, calls=(StandingCall(id=CALL, ended=True),))
    assert uuids(rejoin(where, TURN, ended).lost()) == [uuid_of(4)]
    known = msgspec.structs.replace(ended, messages=(LOOKED, StandingMessage(id=MessageId("m2"), blocks=(0,))))
    assert rejoin(where, TURN, known).lost() == Block()


def test_the_prompt_itself_may_be_what_was_lost(where: Where) -> None:
    standing = Standing(living=True, waiting=(PROMPT,))
    first, *rest = rejoin(where, TURN, standing).lost().lines.splitlines()
    assert msgspec.json.decode(first)["isReplay"] is True
    assert len(rest) == 4


def test_turns_of_before_are_left_alone(where: Where) -> None:
    before = {"type": "user", "uuid": uuid_of(90), "message": {"role": "user", "content": "earlier"}}
    answer = said(91, [{"type": "text", "text": "Earlier."}], message="m0", stop="end_turn")
    standing = msgspec.structs.replace(OPEN, calls=(StandingCall(id=CALL, ended=True),))
    assert uuids(rejoin(where, [before, answer, *TURN], standing).lost()) == [uuid_of(4)]
    assert rejoin(where, [before, answer], Standing(living=True)).lost() == Block()


def test_what_stands_in_the_file_is_dropped_from_the_stream(where: Where) -> None:
    rejoining = rejoin(where, TURN[:4], OPEN)
    new = said(4, [{"type": "text", "text": "Done."}], message="m2")
    assert uuids(rejoining.sift(stream(*TURN[1:4], new))) == [uuid_of(4)]


def test_the_first_line_may_be_torn_and_no_other(where: Where) -> None:
    rejoining = rejoin(where, TURN[:2], OPEN)
    assert rejoining.sift(Block(b'x": 1}}\n')) == Block()
    assert rejoining.sift(Block(b"torn\n")) == Block(b"torn\n")
    whole = rejoin(where, TURN[:2], OPEN)
    assert whole.sift(stream(TURN[4])) == stream(TURN[4])


def test_requests_that_have_ended_and_results_without_a_turn_are_no_news(where: Where) -> None:
    rejoining = rejoin(where, TURN[:2], Standing(living=True))
    old = {"type": "control_request", "request_id": "gone", "request": {"subtype": "can_use_tool"}}
    new = {"type": "control_request", "request_id": "new", "request": {"subtype": "can_use_tool"}}
    ended = {"type": "result", "subtype": "success", "uuid": uuid_of(70)}
    assert rejoining.sift(stream(old, ended)) == Block()
    assert rejoining.sift(stream(new, ended)) == stream(new, ended)


def test_nothing_is_looked_for_any_more_once_the_turn_is_over(where: Where) -> None:
    rejoining = rejoin(where, TURN[:4], OPEN)
    assert not rejoining.over
    rejoining.sift(stream({"type": "control_response", "response": {}}, {"type": "result", "uuid": uuid_of(70)}))
    assert rejoining.over


def test_a_turn_whose_file_is_at_an_end_is_over_when_the_cli_says_nothing(where: Where) -> None:
    standing = msgspec.structs.replace(OPEN, calls=(StandingCall(id=CALL, ended=True),))
    rejoining = rejoin(where, TURN, standing)
    assert rejoining.silence() == Block()  # it has not even answered yet
    rejoining.sift(stream({"type": "control_response", "response": {}}))
    kinds = [msgspec.json.decode(each)["type"] for each in rejoining.silence().lines.splitlines()]
    assert kinds == ["system", "result"]
    assert rejoining.silence() == Block()
    assert rejoining.sift(stream({"type": "result", "uuid": uuid_of(70)})) == Block()  # it comes after all


@pytest.mark.parametrize("entries", [TURN[:3], TURN[:4]], ids=["a call runs", "the model is asked"])
def test_a_turn_that_goes_on_is_not_ended_by_silence(where: Where, entries: Sequence[Record]) -> None:
    rejoining = rejoin(where, entries, OPEN)
    rejoining.sift(stream({"type": "control_response", "response": {}}))
    assert rejoining.silence() == Block()


def test_a_conversation_without_a_file_is_read_as_it_comes(where: Where) -> None:
    rejoining = rejoin_claude(OPEN, where)
    assert rejoining.lost() == Block()
    assert rejoining.sift(stream(TURN[1])) == stream(TURN[1])


@pytest.mark.parametrize(
    ("text", "torn"), [(b'{"a": {"b": 1}}', False), (b'{"b": 1}}', True), (b"1", True), (b"\xff", True)]
)
def test_the_end_of_a_line_is_no_line(text: bytes, torn: bool) -> None:
    assert is_torn(text) is torn


# ---- answers that were stored and never written ----


def initialized(*, pending: list[str]) -> Block:
    requests = [
        {"type": "control_request", "request_id": name, "request": {"subtype": "can_use_tool", "tool_name": "Bash"}}
        for name in pending
    ]
    body = {
        "subtype": "success",
        "request_id": "footplate-3-1",
        "response": {},
        "pending_permission_requests": requests,
    }
    return Block(line(type="control_response", response=body))


def test_a_stored_answer_is_written_when_the_cli_still_waits_for_it_and_only_then() -> None:
    decided = StandingRequest(
        request=Request(id=RequestId("r1"), kind="permission", title="x", tool="Bash"), answer=Allow()
    )
    open_ = StandingRequest(request=Request(id=RequestId("r2"), kind="permission", title="x", tool="Bash"))
    standing = msgspec.structs.replace(OPEN, requests=(decided, open_))
    for pending, written in ((["r1", "r2"], 1), (["r2"], 0), ([], 0)):
        conversation = ClaudeConversation(
            Options(cwd="/w", epoch=3, resume=SESSION, standing=standing), version="2.1.325"
        )
        conversation.begin()
        reaction = conversation.feed(initialized(pending=pending))
        answers = [frame for frame in reaction.frames if b'"behavior":"allow"' in frame]
        assert len(answers) == written
        assert all(b'"request_id":"r1"' in frame for frame in answers)
        assert not [event for event in reaction.events if type(event).__name__ == "RequestOpened"]
