"""What becomes of a request whose process is gone: the table, on recorded files, and the lines that are written."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import get_args

import msgspec
import pytest

from footplate.engines.claude.parking import (
    GO_ON,
    TABLE,
    UNKNOWN_RESULT,
    WRITTEN,
    Append,
    Case,
    Column,
    Effect,
    Found,
    Journal,
    Park,
    Say,
    Settled,
    StartAnew,
    State,
    column_of,
    had_effect,
    is_same_call,
    look_up,
    settle,
    tell_allowed,
    tell_denied,
)
from footplate.engines.claude.parking_lot import (
    Appended,
    Parked,
    Refused,
    Stamp,
    append_result,
    effect_on_file,
    park,
    rules_digest,
)
from footplate.engines.claude.projects import agent_transcript, read_transcript
from footplate.engines.claude.transcript import Transcript
from tests.unit.engines.claude.recorded import VERSIONS, file_of, lines_of, transcript_of

INPUT = msgspec.Raw(b'{"command":"echo ran >> ran.txt"}')
NOW = datetime(2026, 11, 16, 1, 2, 3, 456789, tzinfo=UTC)
STAMP = Stamp(now=NOW, uuid="00000000-0000-4000-8000-000000000001")
SESSION = "11111111-1111-4111-8111-111111111111"


def first_call(transcript: Transcript) -> str:
    return next(iter(transcript.calls))


def journal_for(transcript: Transcript, state: State = "open", *, allow: bool = False, **more: object) -> Journal:
    call = transcript.calls[first_call(transcript)]
    given = {"call": call.id, "tool": call.name, "input": INPUT, "mode": "default", **more}
    return Journal(state=state, allow=allow, **given)  # type: ignore[arg-type]


# --------------------------------------------------------------------------------------------------- table


def test_the_table_has_a_row_for_everything() -> None:
    assert set(TABLE) == set(get_args(Found))
    assert all(set(row) == set(get_args(Column)) for row in TABLE.values())


@pytest.mark.parametrize("found", get_args(Found))
def test_a_call_that_may_have_run_is_never_brought_about_again(found: Found) -> None:
    """The one exception is the CLI's own word that nobody had answered: then it did not run."""
    transcript = transcript_of("2.1.325", "surg_single")
    for column in ("sent", "done"):
        action = TABLE[found][column](Case(journal_for(transcript, "sending", allow=True), transcript))
        brings_again = isinstance(action, Park) or (isinstance(action, Say) and action.again)
        assert brings_again == (found == "refused" and column == "sent")
        if isinstance(action, StartAnew):
            assert action.unknown


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    ("case", "found"),
    [
        ("surg_single", "waiting"),
        ("defer_basic", "waiting"),
        ("surg_ask", "waiting"),
        ("surg_par", "waiting"),
        ("pend_sigterm", "waiting"),
        ("hostkill_pd1", "waiting"),
        ("after_quick_kill60ms", "waiting"),
        ("twice_resume", "result"),
        ("surg_deny_resume", "result"),
        ("unk_resume", "result"),
        ("pend_eof", "refused"),
        ("hostkill_pd0", "refused"),
    ],
)
def test_what_the_file_says_of_a_call(version: str, case: str, found: Found) -> None:
    transcript = transcript_of(version, case)
    assert look_up(Case(journal_for(transcript), transcript)) == found


@pytest.mark.parametrize(
    ("version", "case", "found"),
    [
        ("2.1.325", "kill_pending_msg_after", "interrupted"),
        ("2.1.197", "kill_pending_msg_after", "passed"),
        ("2.1.325", "fb_resume", "interrupted"),
        ("2.1.197", "fb_resume", "passed"),
        ("2.1.325", "pend_sigint", "refused"),
        ("2.1.197", "pend_sigint", "waiting"),
    ],
)
def test_the_versions_differ_in_what_a_resume_or_a_stop_leaves(version: str, case: str, found: Found) -> None:
    transcript = transcript_of(version, case)
    assert look_up(Case(journal_for(transcript), transcript)) == found


def test_a_rejection_is_a_result_once_an_answer_was_sent() -> None:
    transcript = transcript_of("2.1.325", "pend_sigint")
    action = settle(journal_for(transcript, "sending", allow=True), transcript)
    assert isinstance(action, Settled)
    assert action.is_error


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("state", ["open", "decided"])
def test_b_what_was_not_sent_has_not_run_and_is_parked(version: str, state: State) -> None:
    transcript = transcript_of(version, "surg_single")
    assert settle(journal_for(transcript, state, allow=True, mode="plan"), transcript) == Park(
        call=first_call(transcript), mode="plan"
    )


@pytest.mark.parametrize("version", VERSIONS)
def test_a_what_has_its_result_is_settled(version: str) -> None:
    transcript = transcript_of(version, "twice_resume")
    for state in get_args(State):
        action = settle(journal_for(transcript, state, allow=True), transcript)
        assert action == Settled(text="(Bash completed with no output)")


@pytest.mark.parametrize("version", VERSIONS)
def test_b_calls_of_the_same_message_are_told_as_dropped(version: str) -> None:
    transcript = transcript_of(version, "surg_par")
    first, second = transcript.calls
    assert settle(journal_for(transcript), transcript) == Park(call=first, mode="default", dropped=(second,))


@pytest.mark.parametrize("version", VERSIONS)
def test_c_what_was_sent_and_has_no_result_is_unknown(version: str) -> None:
    for case in ("after_quick_kill60ms", "after_slow_kill"):
        transcript = transcript_of(version, case)
        action = settle(journal_for(transcript, "sending", allow=True), transcript)
        assert action == Append(
            call=first_call(transcript),
            text=UNKNOWN_RESULT,
            message=GO_ON,
            is_error=True,
            unknown=True,
            mode="default",
        )


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    ("more", "effect"),
    [
        ({"allow": False}, "unknown"),
        ({"allow": True, "tool": "AskUserQuestion"}, "unknown"),
        ({"allow": True, "tool": "ExitPlanMode"}, "unknown"),
        ({"allow": True, "tool": "Read"}, "unknown"),
        ({"allow": True, "tool": "Write"}, "none"),
    ],
)
def test_c_what_can_do_no_harm_is_parked_all_the_same(version: str, more: dict[str, object], effect: Effect) -> None:
    transcript = transcript_of(version, "surg_single")
    journal = msgspec.structs.replace(journal_for(transcript, "sending"), **more)
    assert isinstance(settle(journal, transcript, effect=effect), Park)


def test_c_a_file_that_was_written_is_told_as_written() -> None:
    transcript = transcript_of("2.1.325", "surg_single")
    journal = journal_for(transcript, "sending", allow=True, tool="Write")
    action = settle(journal, transcript, effect="applied")
    assert action == Append(call=journal.call, text=WRITTEN, message=GO_ON, mode="default")
    assert isinstance(settle(journal, transcript, effect="unknown"), Append)


def test_d_without_a_session_nothing_ran_unless_it_was_sent() -> None:
    journal = journal_for(transcript_of("2.1.325", "surg_single"))
    assert settle(journal, None) == StartAnew()
    sent = msgspec.structs.replace(journal, state="sending", allow=True)
    assert settle(sent, None) == StartAnew(unknown=True)


@pytest.mark.parametrize("version", VERSIONS)
def test_d_a_file_in_which_nothing_was_said_yet_is_no_session(version: str) -> None:
    lines = lines_of(version, "surg_single")
    queue = Transcript.of(lines[:2])
    assert queue.nodes == []
    assert settle(journal_for(Transcript.of(lines)), queue) == StartAnew()


@pytest.mark.parametrize("version", VERSIONS)
def test_d_a_session_without_the_call_is_told_that_it_was_cut_off(version: str) -> None:
    lines = lines_of(version, "surg_single")
    whole = Transcript.of(lines)
    short = Transcript.of(lines[:-1])
    journal = journal_for(whole)
    action = settle(journal, short)
    assert isinstance(action, Say)
    assert not action.again
    assert "did not run" in action.message
    decided = settle(msgspec.structs.replace(journal, state="decided", allow=True), short)
    assert isinstance(decided, Say)
    assert decided.again
    sent = settle(msgspec.structs.replace(journal, state="sending", allow=True), short)
    assert isinstance(sent, Say)
    assert sent.unknown


@pytest.mark.parametrize("version", VERSIONS)
def test_e_a_result_that_only_we_have_is_written_down(version: str) -> None:
    transcript = transcript_of(version, "surg_single")
    journal = journal_for(transcript, "done", allow=True, result="exit 1", result_is_error=True)
    assert settle(journal, transcript) == Append(
        call=journal.call, text="exit 1", message=GO_ON, is_error=True, mode="default"
    )


@pytest.mark.parametrize("version", VERSIONS)
def test_f_where_the_cli_gave_up_waiting_the_answer_goes_by_message(version: str) -> None:
    transcript = transcript_of(version, "hostkill_pd0")
    allowed = settle(journal_for(transcript, "decided", allow=True), transcript)
    assert isinstance(allowed, Say)
    assert allowed.again
    assert bytes(INPUT).decode() in allowed.message
    denied = settle(journal_for(transcript, "decided", message="too risky"), transcript)
    assert isinstance(denied, Say)
    assert not denied.again
    assert "too risky" in denied.message


@pytest.mark.parametrize("version", VERSIONS)
def test_a_no_is_written_down_where_the_rules_have_changed(version: str) -> None:
    transcript = transcript_of(version, "surg_single")
    denied = journal_for(transcript, "decided", message="not today")
    action = settle(denied, transcript, loosened=True)
    assert action == Append(call=denied.call, text="not today", message=GO_ON, is_error=True, mode="default")
    assert isinstance(settle(denied, transcript), Park)
    allowed = msgspec.structs.replace(denied, allow=True)
    assert isinstance(settle(allowed, transcript, loosened=True), Park)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_sub_agent_is_started_again_only_if_it_had_no_effect_yet(version: str) -> None:
    transcript = transcript_of(version, "surg_sub")
    parent = first_call(transcript)
    journal = Journal(call="toolu_inner", tool="Bash", input=INPUT, agent="a1", parent=parent)
    harmless = transcript_of(version, "surg_ask_resume")
    assert settle(journal, transcript, agent=harmless) == Park(call=parent, restarts=True)
    effect = settle(journal, transcript, agent=transcript_of(version, "twice_resume"))
    assert isinstance(effect, Append)
    assert effect.unknown
    assert isinstance(settle(journal, transcript, agent=None), Append)
    assert not had_effect(transcript_of(version, "surg_single"))


def test_the_columns_follow_from_the_state_the_answer_and_the_file() -> None:
    journal = Journal(call="c", tool="Write", allow=True, state="sending")
    assert column_of(journal, "unknown") == "sent"
    assert column_of(journal, "none") == "sent, harmless"
    assert column_of(msgspec.structs.replace(journal, state="done"), "none") == "done"


def test_the_words_to_the_agent_hold_the_whole_input() -> None:
    journal = Journal(call="c", tool="Bash", input=INPUT, allow=True, message="because")
    for text in (tell_allowed(journal), tell_denied(journal)):
        assert bytes(INPUT).decode() in text
        assert "Bash" in text
    assert "because" in tell_denied(journal)


def test_only_the_same_tool_with_the_same_input_is_the_same_call() -> None:
    journal = Journal(call="c", tool="Bash", input=msgspec.Raw(b'{"a":1,"b":2}'))
    assert is_same_call(journal, "Bash", msgspec.Raw(b'{"b":2,"a":1}'))
    assert not is_same_call(journal, "Bash", msgspec.Raw(b'{"b":2,"a":1,"c":0}'))
    assert not is_same_call(journal, "Write", journal.input)


# --------------------------------------------------------------------------------------------------- lines


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return tmp_path / "config"


def place(config: Path, version: str, case: str) -> Path:
    path = config / "projects" / "-workspace" / f"{SESSION}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(file_of(version, case), path)
    return path


def last_entry(path: Path) -> dict[str, object]:
    data = path.read_bytes()
    assert data.endswith(b"\n")
    decoded: dict[str, object] = msgspec.json.decode(data.splitlines()[-1])
    return decoded


def without(entry: dict[str, object], *names: str) -> dict[str, object]:
    return {name: value for name, value in entry.items() if name not in names}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("case", ["surg_single", "surg_ask", "surg_plan", "surg_par2", "surg_sub"])
def test_the_park_line_is_the_one_that_both_versions_obeyed(config: Path, version: str, case: str) -> None:
    path = place(config, version, case)
    (call,) = read_transcript(path).open_calls()
    assert park(path, call.id, config=config, mode="default", stamp=STAMP) == Parked(call=call.id)
    (recorded,) = [line for line in lines_of(version, f"{case}_resume") if b"hook_deferred_tool" in line]
    own = ("uuid", "timestamp")
    assert without(last_entry(path), *own) == without(msgspec.json.decode(recorded), *own)
    assert last_entry(path)["uuid"] == STAMP.uuid
    assert last_entry(path)["timestamp"] == "2026-11-16T01:02:03.456Z"


@pytest.mark.parametrize("version", VERSIONS)
def test_the_result_line_is_the_one_that_both_versions_obeyed(config: Path, version: str) -> None:
    path = place(config, version, "unk")
    call = first_call(read_transcript(path))
    recorded = next(line for line in lines_of(version, "unk_resume") if b'"tool_result"' in line)
    said = re.search(rb'"content":"([^"]*)"', recorded)
    assert said is not None
    done = append_result(path, call, said[1].decode(), config=config, is_error=True, stamp=STAMP)
    assert done == Appended(call=call)
    own = ("uuid", "timestamp", "promptId")
    assert without(last_entry(path), *own) == without(msgspec.json.decode(recorded), *own)
    assert read_transcript(path).open_calls() == ()


@pytest.mark.parametrize("version", VERSIONS)
def test_a_call_is_parked_once_however_often_it_is_asked_for(config: Path, version: str) -> None:
    path = place(config, version, "surg_single")
    call = first_call(read_transcript(path))
    assert park(path, call, config=config, mode="", stamp=STAMP) == Parked(call=call)
    size = path.stat().st_size
    assert park(path, call, config=config, mode="", stamp=STAMP) == Parked(call=call, already=True)
    assert path.stat().st_size == size


@pytest.mark.parametrize(
    ("version", "case", "reason"),
    [
        ("2.1.325", "twice_resume", "has its result"),
        ("2.1.197", "twice_resume", "has its result"),
        ("2.1.197", "kill_pending_msg_after", "passed over"),
    ],
)
def test_nothing_is_written_for_a_call_that_waits_no_more(config: Path, version: str, case: str, reason: str) -> None:
    path = place(config, version, case)
    before = path.read_bytes()
    call = first_call(read_transcript(path))
    assert park(path, call, config=config, mode="", stamp=STAMP) == Refused(reason=reason)  # type: ignore[arg-type]
    done = append_result(path, call, "x", config=config, is_error=False, stamp=STAMP)
    assert done == Refused(reason=reason)  # type: ignore[arg-type]
    assert path.read_bytes() == before


def test_nothing_is_written_where_there_is_no_call_or_no_session(config: Path) -> None:
    path = place(config, "2.1.325", "surg_single")
    assert park(path, "toolu_other", config=config, mode="", stamp=STAMP) == Refused(reason="no such call")
    gone = path.with_name("22222222-1111-4111-8111-111111111111.jsonl")
    assert park(gone, "toolu_other", config=config, mode="", stamp=STAMP) == Refused(reason="no session")
    assert not gone.exists()


def test_nothing_is_written_while_a_process_has_the_session(config: Path) -> None:
    path = place(config, "2.1.325", "surg_single")
    before = path.read_bytes()
    call = first_call(read_transcript(path))
    code = "print(flush=True); input()"
    child = subprocess.Popen(
        [sys.executable, "-c", code, "--resume", SESSION], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert child.stdout is not None
    child.stdout.readline()
    refused = park(path, call, config=config, mode="", stamp=STAMP)
    child.communicate(b"\n")
    assert refused == Refused(reason="in use", detail=f"process {child.pid} (argument)")
    assert path.read_bytes() == before


def test_a_torn_line_is_closed_off_before_ours(config: Path) -> None:
    path = place(config, "2.1.325", "surg_single")
    call = first_call(read_transcript(path))
    with path.open("ab") as file:
        file.write(b'{"type":"user","mess')
    assert park(path, call, config=config, mode="", stamp=STAMP) == Parked(call=call)
    transcript = read_transcript(path)
    assert transcript.parked == {call}
    assert transcript.unreadable == 1


# ------------------------------------------------------------------------------------------------- effects


def asked(tool: str, **given: str) -> Journal:
    return Journal(call="c", tool=tool, input=msgspec.Raw(msgspec.json.encode(given)), allow=True, state="sending")


@pytest.mark.parametrize(("there", "effect"), [(None, "none"), ("new", "applied"), ("old", "unknown"), ("", "unknown")])
def test_a_write_is_seen_in_its_file(tmp_path: Path, there: str | None, effect: str) -> None:
    path = tmp_path / "file"
    if there is not None:
        path.write_text(there)
    assert effect_on_file(asked("Write", file_path=str(path), content="new")) == effect


@pytest.mark.parametrize(
    ("there", "effect"),
    [("an old word", "none"), ("a new word", "applied"), ("old and new", "unknown"), ("neither", "unknown")],
)
def test_an_edit_is_seen_in_its_file(tmp_path: Path, there: str, effect: str) -> None:
    path = tmp_path / "file"
    path.write_text(there)
    assert effect_on_file(asked("Edit", file_path=str(path), old_string="old", new_string="new")) == effect


def test_of_anything_else_nothing_can_be_seen(tmp_path: Path) -> None:
    assert effect_on_file(asked("Bash", command="true")) == "unknown"
    assert effect_on_file(asked("Write")) == "unknown"
    assert effect_on_file(asked("Write", file_path=str(tmp_path), content="x")) == "unknown"
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    assert effect_on_file(asked("Write", file_path=str(tmp_path / "bytes"), content="x")) == "unknown"


def test_a_change_of_the_permission_rules_is_noticed(tmp_path: Path) -> None:
    before = rules_digest(tmp_path / "config", str(tmp_path))
    assert rules_digest(tmp_path / "config", str(tmp_path)) == before
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude" / "settings.local.json").write_text('{"permissions":{"allow":["Bash"]}}')
    assert rules_digest(tmp_path / "config", str(tmp_path)) != before


def test_the_file_of_a_sub_agent_lies_beside_the_session() -> None:
    path = Path("/c/projects/-w/s.jsonl")
    assert agent_transcript(path, "a1") == Path("/c/projects/-w/s/subagents/agent-a1.jsonl")
    assert agent_transcript(path, "../../x") == Path("/c/projects/-w/s/subagents/agent-x.jsonl")
