"""The CLI's own session files: their tree, their open calls, and how they are found and read in bounds."""

from __future__ import annotations

import os
import tracemalloc
from pathlib import Path

import msgspec
import pytest

from footplate.engines.claude.projects import (
    END_SIZE,
    config_folder,
    find_transcript,
    folder_name,
    folders_of,
    read_ends,
    read_lines,
    read_transcript,
)
from footplate.engines.claude.transcript import Transcript, same_json
from tests.unit.engines.claude.recorded import FILES, VERSIONS, file_of, lines_of, name_of, transcript_of

SESSION = "11111111-1111-4111-8111-111111111111"


def line(**fields: object) -> bytes:
    return msgspec.json.encode(fields) + b"\n"


def said(uuid: str, parent: str | None, text: str = "hello", kind: str = "user", **more: object) -> bytes:
    message = {"role": kind, "id": f"msg-{uuid}", "content": text}
    return line(type=kind, uuid=uuid, parentUuid=parent, message=message, **more)


def uuids(transcript: Transcript) -> list[str]:
    return [transcript.nodes[place].uuid for place in transcript.thread()]


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_every_recorded_file_is_read_whole(path: Path) -> None:
    transcript = read_transcript(path)
    assert transcript.unreadable == 0
    assert not transcript.strange
    assert transcript.nodes


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    ("case", "names"),
    [
        ("surg_single", ["Bash"]),
        ("twice_resume", []),
        ("surg_par", ["Bash", "Bash"]),
        ("surg_par2", ["Bash"]),
        ("surg_par_resume", []),
        ("surg_ask", ["AskUserQuestion"]),
        ("surg_plan", ["ExitPlanMode"]),
        ("surg_sub", ["Agent"]),
        ("kill_pending_msg_after", []),
        ("unk_resume", []),
        ("fb_resume", []),
    ],
)
def test_an_open_call_is_one_that_the_conversation_waits_for(version: str, case: str, names: list[str]) -> None:
    assert [call.name for call in transcript_of(version, case).open_calls()] == names


@pytest.mark.parametrize("version", VERSIONS)
def test_an_open_call_keeps_its_input_and_an_ended_one_does_not(version: str) -> None:
    (call,) = transcript_of(version, "surg_single").open_calls()
    assert call.input is not None
    assert msgspec.json.decode(call.input) == {"command": "echo ran >> ran.txt", "description": "append a line"}
    ended = transcript_of(version, "twice_resume")
    assert [call.input for call in ended.calls.values()] == [None]
    (result,) = ended.results.values()
    assert (result.is_error, result.text) == (False, "(Bash completed with no output)")
    assert ended.tool_result_of(result.call) == result


@pytest.mark.parametrize("version", VERSIONS)
def test_results_of_calls_side_by_side_belong_to_the_conversation(version: str) -> None:
    transcript = transcript_of(version, "surg_par2_resume")
    thread = set(transcript.thread())
    assert {result.place for result in transcript.results.values()} <= thread
    assert len(transcript.results) == 2


@pytest.mark.parametrize("version", VERSIONS)
def test_the_thread_goes_on_before_a_compaction(version: str) -> None:
    transcript = transcript_of(version, "compact")
    kinds = [transcript.nodes[place].kind for place in transcript.thread()]
    assert "system/compact_boundary" in kinds
    first = next(place for place, node in enumerate(transcript.nodes) if node.kind == "user")
    assert transcript.thread()[0] == first


def test_a_branch_that_was_left_is_not_in_the_thread() -> None:
    lines = [said("a", None), said("b", "a", kind="assistant"), said("lost", "b"), said("c", "b")]
    assert uuids(Transcript.of(lines)) == ["a", "b", "c"]


def test_a_link_that_leads_nowhere_is_bridged_by_the_entry_before() -> None:
    lines = [said("a", None), said("b", "gone", kind="assistant"), said("c", "b")]
    assert uuids(Transcript.of(lines)) == ["a", "b", "c"]


def test_links_in_a_circle_end() -> None:
    assert uuids(Transcript.of([said("a", "b"), said("b", "a")])) == ["a", "b"]


def test_entries_of_sub_agents_are_no_part_of_the_thread() -> None:
    lines = [said("a", None), said("s", "a", isSidechain=True), said("t", "s", isSidechain=True)]
    assert uuids(Transcript.of(lines)) == ["a"]


def test_what_cannot_be_read_is_counted_and_passed_over() -> None:
    lines = [said("a", None), b'{"type":"user","uuid":"torn\n', b"[]\n", b"\n", b"\xff\n", said("b", "a")]
    transcript = Transcript.of(lines)
    assert uuids(transcript) == ["a", "b"]
    assert transcript.unreadable == 3


def test_unknown_kinds_and_fields_of_an_odd_type_are_no_error() -> None:
    lines = [said("a", None, gitBranch=None, isMeta="odd", cwd=7), line(type="newest-thing", uuid="n", parentUuid="a")]
    transcript = Transcript.of([*lines, said("b", "n")])
    assert dict(transcript.strange) == {"newest-thing": 1}
    assert uuids(transcript) == ["a", "n", "b"]


@pytest.mark.parametrize("version", VERSIONS)
def test_cut_off_at_any_line_the_file_still_makes_sense(version: str) -> None:
    for case in ("surg_plan_resume", "surg_par2_resume", "compact"):
        lines = lines_of(version, case)
        for end in range(len(lines) + 1):
            transcript = Transcript.of([*lines[:end], lines[end - 1][:40] if end else b""])
            assert len(transcript.open_calls()) <= 2


def test_json_is_the_same_in_any_order_of_keys() -> None:
    assert same_json(msgspec.Raw(b'{"a":1,"b":[2]}'), msgspec.Raw(b'{ "b": [2], "a": 1.0 }'))
    assert not same_json(msgspec.Raw(b'{"a":1}'), msgspec.Raw(b'{"a":"1"}'))
    assert same_json(None, None)
    assert not same_json(msgspec.Raw(b"{}"), None)


# ------------------------------------------------------------------------------------------------ on disk


def test_a_folder_is_named_by_its_letters_and_digits() -> None:
    assert folder_name("/home/ada/my_project.v2") == "-home-ada-my-project-v2"
    assert folder_name("/tmp/ä€😀") == "-tmp-----"
    assert folder_name("/x" * 300) == ("-x" * 300)[:200]


def test_the_config_folder_is_the_one_that_the_cli_uses() -> None:
    assert config_folder({"HOME": "/home/ada"}) == Path("/home/ada/.claude")
    assert config_folder({"HOME": "/home/ada", "CLAUDE_CONFIG_DIR": "/etc/c"}) == Path("/etc/c")
    assert config_folder({"HOME": "/home/ada", "CLAUDE_CONFIG_DIR": "/etc/c"}, "~/project") == Path("/home/ada/project")


def put(config: Path, folder: str, session: str = SESSION, data: bytes = b"") -> Path:
    path = config / "projects" / folder / f"{session}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data or said("a", None))
    return path


def test_a_session_is_found_in_its_folder_and_else_anywhere(tmp_path: Path) -> None:
    path = put(tmp_path, "-work")
    assert find_transcript(tmp_path, SESSION, "/project") == path
    assert find_transcript(tmp_path, SESSION, "/moved") == path
    assert find_transcript(tmp_path, SESSION) == path
    assert find_transcript(tmp_path, "22222222-1111-4111-8111-111111111111") is None
    assert find_transcript(tmp_path / "none", SESSION) is None


@pytest.mark.parametrize("session", ["../../etc/passwd", "", "*", "a/b", f"{SESSION}/../x"])
def test_what_is_no_session_id_is_never_made_a_path(tmp_path: Path, session: str) -> None:
    put(tmp_path, "-work")
    assert find_transcript(tmp_path, session) is None


def test_a_long_name_is_known_by_its_beginning(tmp_path: Path) -> None:
    cwd = "/deep" * 60
    path = put(tmp_path, f"{folder_name(cwd)}-1h2j3k")
    assert folders_of(tmp_path, cwd) == [path.parent]
    assert find_transcript(tmp_path, SESSION, cwd) == path


def test_of_two_files_of_one_session_the_newest_counts(tmp_path: Path) -> None:
    old, new = put(tmp_path, "-a"), put(tmp_path, "-b")
    os.utime(old, (1, 1))
    assert find_transcript(tmp_path, SESSION) == new


@pytest.mark.parametrize("filler", [0, 40, 70, 100, 130, 400])
def test_the_two_ends_of_a_file_hold_whole_entries_only(tmp_path: Path, filler: int) -> None:
    middle = [said(f"m{number}", "a", "x" * 1000) for number in range(filler)]
    data = b"".join([said("a", None), *middle, said("z", "a")])
    path = put(tmp_path, "-work", data=data)
    head, tail = read_ends(path, len(data))
    found = [entry.uuid for entry in (*head, *tail)]
    assert (found[0], found[-1]) == ("a", "z")
    assert len(found) == len(set(found))
    if len(data) <= 2 * END_SIZE:
        assert len(found) == filler + 2


def test_a_file_of_many_megabytes_is_never_in_memory_whole(tmp_path: Path) -> None:
    path = put(tmp_path, "-work")
    block = said("b", "a", "y" * 1_000_000)
    with path.open("ab") as file:
        for _ in range(60):
            file.write(block)
    tracemalloc.start()
    try:
        read_ends(path, path.stat().st_size)
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
        read_transcript(path)
        assert tracemalloc.get_traced_memory()[1] < 12_000_000
    finally:
        tracemalloc.stop()


def test_a_line_without_its_end_is_given_as_it_is(tmp_path: Path) -> None:
    path = put(tmp_path, "-work", data=b"one\ntwo")
    assert [*read_lines(path)] == [(b"one\n", 4), (b"two", 3)]


def test_a_line_that_is_too_long_is_passed_over_in_its_whole_length(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("footplate.engines.claude.projects.LINE_LIMIT", 1000)
    path = file_of("2.1.325", "surg_single")
    long = [line for line in path.read_bytes().splitlines(keepends=True) if len(line) > 1000]
    assert long
    transcript = read_transcript(path)
    assert transcript.unreadable == len(long)
    assert sum(size for _, size in read_lines(path)) == path.stat().st_size
