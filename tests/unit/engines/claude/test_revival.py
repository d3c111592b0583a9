"""What the Claude engine does about requests whose CLI is gone: on copies of recorded files, in a home of its own."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from uuid import uuid4

import msgspec
import pytest

from footplate.engines.base import Options
from footplate.engines.claude.engine import ClaudeEngine
from footplate.engines.claude.parking import TAKEN_BACK, UNKNOWN_RESULT
from footplate.engines.claude.projects import folder_name, read_transcript
from footplate.engines.claude.revival import LOST, ClaudeParking, journal_of
from footplate.engines.parking import CanPark, Pending, Place, Recorded
from footplate.engines.standing import Standing
from footplate.errors import InvalidValue
from footplate.events import commands as c
from footplate.events import model as m
from footplate.events.ids import EngineSessionId, RequestId, ToolCallId, TurnId
from footplate.events.requests import Allow, Choose, Deny, Request
from tests.unit.engines.claude.dialogue import Dialogue
from tests.unit.engines.claude.recorded import VERSIONS, file_of

SESSION = EngineSessionId(str(uuid4()))  # its own: a process elsewhere that names the same one would be its writer
PARKING = ClaudeParking()


class Home:
    """A home with one session of the CLI in it, copied from a recorded one."""

    def __init__(self, folder: Path, version: str, case: str) -> None:
        self.cwd = folder / "work"
        self.cwd.mkdir()
        self.place = Place(session=SESSION, cwd=str(self.cwd), environ={"HOME": str(folder)})
        self.path = folder / ".claude" / "projects" / folder_name(str(self.cwd.resolve())) / f"{SESSION}.jsonl"
        if case:
            self.path.parent.mkdir(parents=True)
            shutil.copy(file_of(version, case), self.path)

    def pending(self, **more: object) -> Pending:
        """The first call of the session, as it was asked."""
        call = next(iter(read_transcript(self.path).calls.values()))
        asked = Request(
            id=RequestId("r"),
            kind="permission",
            title="run",
            tool=call.name,
            call=ToolCallId(call.id),
            input=call.input if call.input is not None else msgspec.Raw(b'{"command":"echo ran >> ran.txt"}'),
            mode="default",
            rules=PARKING.sum_rules(self.place),
        )
        return Pending(request=asked, **more)  # type: ignore[arg-type]


@pytest.fixture(params=VERSIONS)
def version(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_an_answer_is_brought_by_asking_again(tmp_path: Path, version: str) -> None:
    home = Home(tmp_path, version, "pend_sigterm")
    pending = home.pending(state="decided", answer=Allow())
    before = home.path.read_bytes()
    assert PARKING.look(home.place, pending).kind == "ask"
    assert home.path.read_bytes() == before
    way = PARKING.prepare(home.place, pending)
    assert (way.kind, way.mode) == ("ask", "default")
    assert pending.request.call in read_transcript(home.path).parked


def test_a_process_that_still_has_the_conversation_is_only_in_the_way(tmp_path: Path, version: str) -> None:
    home = Home(tmp_path, version, "pend_sigterm")
    pending = home.pending(state="decided", answer=Allow())
    code = "print(flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", code, "--resume", SESSION], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        child.stdout.readline()
        ways = [PARKING.look(home.place, pending), PARKING.prepare(home.place, pending)]
        child.communicate(b"\n")
    assert [(way.kind, way.busy) for way in ways] == [("impossible", True)] * 2
    assert PARKING.prepare(home.place, pending).kind == "ask"


def test_what_did_not_ask_again_is_told_in_words(tmp_path: Path, version: str) -> None:
    home = Home(tmp_path, version, "pend_sigterm")
    way = PARKING.prepare(home.place, home.pending(state="decided", answer=Allow()), by_message=True)
    assert (way.kind, way.again) == ("tell", True)
    assert not read_transcript(home.path).open_calls()


def test_what_is_told_in_words_is_not_asked_for_as_well(tmp_path: Path, version: str) -> None:
    """A parked call without a result is asked for by every process that is resumed, whatever it is resumed for."""
    home = Home(tmp_path, version, "pend_sigterm")
    pending = home.pending(state="decided", answer=Allow())
    assert PARKING.prepare(home.place, pending).kind == "ask"
    assert PARKING.prepare(home.place, pending, by_message=True).kind == "tell"
    taken_back = read_transcript(home.path).tool_result_of(pending.request.call or "")
    assert taken_back is not None
    assert taken_back.text == TAKEN_BACK
    again = PARKING.look(home.place, pending)
    assert (again.kind, again.again) == ("tell", True)


def test_what_may_have_run_is_written_down_as_unknown_only_when_that_is_decided(tmp_path: Path, version: str) -> None:
    home = Home(tmp_path, version, "after_quick_kill60ms")
    pending = home.pending(state="sending", answer=Allow())
    seen = PARKING.look(home.place, pending)
    assert (seen.kind, seen.unknown) == ("tell", True)
    way = PARKING.prepare(home.place, pending)
    assert way.text == UNKNOWN_RESULT
    found = read_transcript(home.path).tool_result_of(pending.request.call or "")
    assert found is not None
    assert found.text == UNKNOWN_RESULT
    assert PARKING.look(home.place, pending).kind == "settled"


def test_a_refusal_is_written_down_where_rules_have_changed(tmp_path: Path, version: str) -> None:
    home = Home(tmp_path, version, "pend_sigterm")
    pending = home.pending(state="decided", answer=Deny(message="not today"))
    (home.cwd / ".claude").mkdir()
    (home.cwd / ".claude" / "settings.json").write_text('{"permissions":{"allow":["Bash"]}}')
    way = PARKING.prepare(home.place, pending)
    assert (way.kind, way.text, way.is_error, way.unknown) == ("tell", "not today", True, False)


def test_without_a_file_it_begins_anew_unless_something_may_have_run(tmp_path: Path) -> None:
    home = Home(tmp_path, "", "")
    asked = Request(id=RequestId("r"), kind="permission", title="run", tool="Bash", call=ToolCallId("c"))
    assert PARKING.look(home.place, Pending(request=asked, state="decided", answer=Allow())).kind == "anew"
    lost = PARKING.look(home.place, Pending(request=asked, state="sending", answer=Allow()))
    assert (lost.kind, lost.unknown, lost.reason) == ("impossible", True, LOST)
    PARKING.record(home.place, (Recorded(call=ToolCallId("c"), text="done"),))


def test_only_results_that_the_file_waits_for_are_recorded(tmp_path: Path, version: str) -> None:
    home = Home(tmp_path, version, "after_quick_kill60ms")
    call = home.pending().request.call
    assert call is not None
    PARKING.record(home.place, (Recorded(call=ToolCallId("other"), text="x"), Recorded(call=call, text="it ran")))
    found = read_transcript(home.path).tool_result_of(call)
    assert found is not None
    assert found.text == "it ran"
    size = home.path.stat().st_size
    PARKING.record(home.place, (Recorded(call=call, text="again"),))
    assert home.path.stat().st_size == size


def test_the_same_call_is_known_by_its_tool_its_input_and_its_id() -> None:
    asked = Request(
        id=RequestId("r"),
        kind="permission",
        title="",
        tool="Bash",
        call=ToolCallId("c"),
        input=msgspec.Raw(b'{"a":1,"b":2}'),
    )
    pending = Pending(request=asked)
    turned = msgspec.structs.replace(asked, input=msgspec.Raw(b'{"b":2,"a":1}'))
    assert PARKING.is_same(pending, turned, by_id=True)
    other_id = msgspec.structs.replace(turned, call=ToolCallId("d"))
    assert not PARKING.is_same(pending, other_id, by_id=True)
    assert PARKING.is_same(pending, other_id, by_id=False)
    other_input = msgspec.structs.replace(asked, input=msgspec.Raw(b'{"a":1}'))
    assert not PARKING.is_same(pending, other_input, by_id=False)


def test_a_call_below_several_agents_stands_in_the_file_as_the_topmost() -> None:
    asked = Request(id=RequestId("r"), kind="permission", title="", tool="Bash", call=ToolCallId("c"), agent="x")
    journal = journal_of(Pending(request=asked, parents=(ToolCallId("near"), ToolCallId("top"))))
    assert (journal.call, journal.parent) == ("c", "top")


def test_an_answer_that_is_none_is_refused() -> None:
    asked = Request(id=RequestId("r"), kind="permission", title="", tool="Bash")
    with pytest.raises(InvalidValue):
        PARKING.check(asked, Choose(option="no such option"))
    assert isinstance(ClaudeEngine(), CanPark)


# -------------------------------------------------------------------------------------------- conversation

STANDING = Standing(turn=TurnId("turn-7"))
ASK = {
    "type": "control_request",
    "request_id": "ask-1",
    "request": {"subtype": "can_use_tool", "tool_name": "ExitPlanMode", "tool_use_id": "c", "input": {"plan": "x"}},
}


@pytest.mark.parametrize(
    ("answer", "mode"), [(Allow(), "default"), (Choose(option="allow_accept_edits"), "acceptEdits")]
)
def test_a_resumed_process_is_told_the_mode_that_an_approved_plan_ends_in(answer: Allow | Choose, mode: str) -> None:
    dialogue = Dialogue(options=Options(cwd="/workspace", asks=True, resume=SESSION, standing=STANDING))
    dialogue.begin()
    attached, opened = dialogue.says(ASK).events
    assert isinstance(attached, m.EngineAttached)
    assert isinstance(opened, m.RequestOpened)
    dialogue.command(c.AnswerRequest(key="k", request=RequestId("ask-1"), answer=answer))
    assert dialogue.request() == {"subtype": "set_permission_mode", "mode": mode}


def test_a_plan_that_is_not_approved_or_not_resumed_sets_no_mode() -> None:
    for standing, answer in ((STANDING, Deny()), (None, Allow())):
        dialogue = Dialogue(options=Options(cwd="/workspace", asks=True, resume=SESSION, standing=standing))
        dialogue.begin()
        dialogue.says(ASK)
        dialogue.command(c.AnswerRequest(key="k", request=RequestId("ask-1"), answer=answer))
        assert len(dialogue.asked) == 1


def test_a_request_says_in_which_mode_it_was_asked() -> None:
    dialogue = Dialogue()
    dialogue.begin()
    dialogue.says({"type": "system", "subtype": "init", "session_id": SESSION, "permissionMode": "acceptEdits"})
    opened = next(event for event in dialogue.says(ASK).events if isinstance(event, m.RequestOpened))
    assert opened.request.mode == "acceptEdits"


def test_prompts_that_the_cli_gives_itself_are_none() -> None:
    dialogue = Dialogue(options=Options(cwd="/workspace", asks=True, resume=SESSION, standing=STANDING))
    dialogue.begin()
    assert dialogue.says({"type": "command_lifecycle", "command_uuid": "own", "state": "started"}).events == []
