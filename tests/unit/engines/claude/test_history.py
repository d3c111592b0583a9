"""Sessions on disk: listed from their two ends, read as events, and known to be in use."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from footplate.engines.claude.history import History, HistoryEntry, is_in_use, list_sessions, read_past
from footplate.engines.claude.past import Past
from footplate.engines.claude.projects import read_nodes, read_transcript
from footplate.engines.claude.settings import ClaudeSettings
from footplate.engines.claude.transcript import ENTRY, Transcript
from footplate.engines.claude.writers import find_writer
from footplate.errors import InvalidValue, SessionBusy, UnknownSession
from footplate.events import model as m
from footplate.events.content import text_of
from footplate.events.ids import EngineSessionId
from footplate.events.model import Event
from footplate.host.table import start_time
from footplate.testing.invariants import check_invariants
from tests.unit.engines.claude.recorded import FILES, VERSIONS, file_of, lines_of, name_of

CWD = "/project/one"


def session_id(number: int) -> str:
    return f"{number:08x}-1111-4111-8111-111111111111"


def prompt(text: str, **more: object) -> bytes:
    fields = {"type": "user", "uuid": f"u{text}", "parentUuid": None, "cwd": CWD, "message": {"content": text}, **more}
    return msgspec.json.encode(fields) + b"\n"


class Disk:
    """A config folder of the CLI."""

    def __init__(self, home: Path) -> None:
        self.env = {"HOME": str(home)}
        self.config = home / ".claude"

    def put(self, number: int, *lines: bytes, folder: str = "-project-one", at: float = 0.0) -> Path:
        path = self.config / "projects" / folder / f"{session_id(number)}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"".join(lines))
        os.utime(path, (at or number, at or number))
        return path

    def titles(self, cwd: str | None = None) -> list[str]:
        return [entry.title for entry in list_sessions(self.env, cwd=cwd).entries]


@pytest.fixture
def disk(tmp_path: Path) -> Disk:
    return Disk(tmp_path)


# ---------------------------------------------------------------------------------------------------- list


def test_the_latest_written_comes_first(disk: Disk) -> None:
    for number in (3, 1, 2):
        disk.put(number, prompt(f"p{number}"))
    assert disk.titles() == ["p3", "p2", "p1"]


def test_a_list_goes_on_where_the_page_before_stopped(disk: Disk) -> None:
    for number in range(1, 8):
        disk.put(number, prompt(f"p{number}"), at=5.0 if number < 4 else 0.0)
    seen: list[str] = []
    after: str | None = None
    for _ in range(4):
        page = list_sessions(disk.env, limit=2, after=after)
        seen += [entry.title for entry in page.entries]
        after = page.after
    assert after is None
    assert sorted(seen) == [f"p{number}" for number in range(1, 8)]
    with pytest.raises(InvalidValue):
        list_sessions(disk.env, after="nonsense")


def test_folders_that_share_a_name_are_told_apart_by_their_entries(disk: Disk) -> None:
    disk.put(1, prompt("here"))
    disk.put(2, prompt("there", cwd="/project-one"))
    disk.put(3, prompt("elsewhere", cwd="/x"), folder="-x")
    assert disk.titles(CWD) == ["here"]
    assert disk.titles() == ["elsewhere", "there", "here"]


def test_what_is_no_session_is_not_listed(disk: Disk) -> None:
    disk.put(1, b"")
    disk.put(2, b'{"type":"mode","mode":"normal"}\n')
    disk.put(3, prompt("of a sub-agent", isSidechain=True))
    (disk.config / "projects" / "-project-one" / "notes.jsonl").write_bytes(prompt("no"))
    assert disk.titles() == []
    assert list_sessions({"HOME": "/nonexistent"}).entries == ()


@pytest.mark.parametrize(
    ("lines", "title"),
    [
        ([prompt("first"), prompt("second")], "first"),
        ([prompt("meta", isMeta=True), prompt("<local-command-stdout>x</local-command-stdout>"), prompt("me")], "me"),
        ([prompt("first"), b'{"type":"last-prompt","lastPrompt":"latest"}\n'], "latest"),
        ([prompt("a"), b'{"type":"custom-title","customTitle":"Named"}\n', b'{"lastPrompt":"later"}\n'], "Named"),
        ([prompt("two\nlines \x1b[31m of it")], "two lines [31m of it"),
        ([prompt("<command-name>/review</command-name>\n<command-args>all</command-args>")], "/review all"),
        ([prompt("x" * 300)], "x" * 199 + "…"),
    ],
)
def test_the_title_is_the_best_there_is(disk: Disk, lines: list[bytes], title: str) -> None:
    disk.put(1, *lines)
    assert disk.titles() == [title]


@pytest.mark.parametrize("version", VERSIONS)
def test_an_entry_says_where_when_and_by_what(disk: Disk, version: str) -> None:
    path = disk.put(1, *lines_of(version, "twice_resume"), folder="-workspace")
    (entry,) = list_sessions(disk.env).entries
    first = next(found for each in lines_of(version, "twice_resume") if (found := ENTRY.decode(each)).timestamp)
    assert entry == HistoryEntry(
        session=EngineSessionId(session_id(1)),
        cwd="/workspace",
        title=entry.title,
        started=first.time,
        modified=1.0,
        size=path.stat().st_size,
        version=version,
        branch="HEAD",
        entrypoint="sdk-cli",
        path=str(path),
    )
    assert entry.title.startswith("SCRIPT:")


def test_a_session_is_found_by_its_id_or_its_beginning(disk: Disk) -> None:
    disk.put(1, prompt("one"))
    disk.put(2, prompt("two"))
    history = History(disk.env)
    assert history.find(session_id(2)).title == "two"
    assert history.find("00000002").title == "two"
    with pytest.raises(InvalidValue, match="fits"):
        history.find("0000")
    for missing in ("00", "ffff", session_id(9)):
        with pytest.raises(UnknownSession):
            history.find(missing)


def test_a_profile_has_sessions_of_its_own(disk: Disk, tmp_path: Path) -> None:
    other = Disk(tmp_path / "other")
    other.put(1, prompt("theirs"))
    profile = ClaudeSettings(profile=str(other.config))
    assert [entry.title for entry in History(disk.env, profile).list().entries] == ["theirs"]
    env = ClaudeSettings(env={"CLAUDE_CONFIG_DIR": str(other.config)})
    assert [entry.title for entry in History(disk.env, env).list().entries] == ["theirs"]


# ---------------------------------------------------------------------------------------------------- past


def past_of(path: Path) -> list[Event]:
    transcript = read_transcript(path)
    past = Past("sid")
    events: list[Event] = []
    for entry, line in read_nodes(path, [transcript.nodes[place] for place in transcript.thread()]):
        events += [told.event for told in past.take(entry, line)]
    return [*events, *(told.event for told in past.finish())]


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_the_past_of_every_recorded_file_holds_every_invariant(path: Path, tmp_path: Path) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    cut = tmp_path / "cut.jsonl"
    for end in range(len(lines) + 1):
        cut.write_bytes(b"".join(lines[:end]))
        events = past_of(cut)
        assert check_invariants(events, finished=True) == []
        assert not [event for event in events if isinstance(event, m.Unparsed)]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_past_tells_prompts_words_calls_and_turns(version: str) -> None:
    told = [
        (type(event).__name__, text)
        for event in past_of(file_of(version, "surg_plan_resume"))
        if (text := _words(event)) is not None
    ]
    assert [name for name, _ in told] == [
        *("TurnStarted", "UserMessage", "ToolStarted", "ToolEnded", "ToolStarted", "ToolEnded", "Message", "TurnEnded")
    ]
    assert [text for name, text in told if name == "ToolStarted"] == ["Write", "ExitPlanMode"]
    assert told[-1][1] == told[-2][1]


def _words(event: Event) -> str | None:
    match event:
        case m.UserMessage():
            return text_of(event.content)
        case m.Message():
            return event.text
        case m.ToolStarted():
            return event.name
        case m.ToolEnded():
            return event.outcome
        case m.TurnStarted():
            return event.turn
        case m.TurnEnded():
            return event.answer
        case _:
            return None


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    ("case", "verdicts"),
    [
        ("twice_resume", [(True, "end_turn")]),
        ("surg_single", [(False, "lost")]),
        ("pend_eof", [(True, "end_turn")]),
        ("unk_resume", [(False, "lost"), (True, "end_turn")]),
        ("kill_pending_msg_after", [(False, "lost"), (True, "end_turn")]),
        ("surg_par_resume", [(True, "end_turn")]),
    ],
)
def test_a_turn_ends_as_its_last_words_say(version: str, case: str, verdicts: list[tuple[bool, str]]) -> None:
    ends = [event for event in past_of(file_of(version, case)) if isinstance(event, m.TurnEnded)]
    assert [(event.ok, event.stop_reason) for event in ends] == verdicts


def test_an_interrupted_turn_is_told_as_one() -> None:
    ends = [event for event in past_of(file_of("2.1.325", "pend_sigint")) if isinstance(event, m.TurnEnded)]
    assert [(event.ok, event.stop_reason, event.error) for event in ends] == [(False, "interrupted", "interrupted")]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_compaction_and_commands_are_told_and_nothing_twice(version: str) -> None:
    events = past_of(file_of(version, "compact"))
    asked = [text_of(event.content) for event in events if isinstance(event, m.UserMessage)]
    assert asked == [
        *(f'SCRIPT:["first answer {number}"]' for number in range(4)),
        *("/compact", 'SCRIPT:["second answer"]', "/context"),
    ]
    (ended,) = [event for event in events if isinstance(event, m.CompactionEnded)]
    assert (ended.ok, ended.trigger) == (True, "manual")
    assert all(event.ok for event in events if isinstance(event, m.TurnEnded))
    said = [event.text for event in events if isinstance(event, m.Message)]
    assert said == [*(f"first answer {number}" for number in range(4)), "second answer"]


def test_a_failure_of_the_api_ends_the_turn_with_its_words(disk: Disk) -> None:
    failed = {
        "type": "assistant",
        "uuid": "e",
        "parentUuid": "uask",
        "isApiErrorMessage": True,
        "error": "rate_limit",
        "message": {"id": "m", "model": "<synthetic>", "content": [{"type": "text", "text": "API Error: 429"}]},
    }
    disk.put(1, prompt("ask"), msgspec.json.encode(failed) + b"\n")
    (ended,) = [event for event in read_past(disk.env, session_id(1)) if isinstance(event, m.TurnEnded)]
    assert (ended.ok, ended.error, ended.error_kind) == (False, "API Error: 429", "rate_limit")


def test_a_past_says_what_it_could_not_read(disk: Disk) -> None:
    disk.put(1, prompt("ask"), b"{torn\n", b'{"type":"newest","uuid":"n","parentUuid":"uask"}\n')
    notices = [event for event in read_past(disk.env, session_id(1)) if isinstance(event, m.Notice)]
    assert [notice.code for notice in notices] == ["strange_entries", "unreadable_entries"]
    assert notices[1].text == "1 line of the session's file could not be read"


def test_times_never_run_backwards_and_a_turn_ends_when_its_last_entry_came() -> None:
    path = file_of("2.1.325", "unk_resume")
    history_entry = ENTRY.decode(path.read_bytes().splitlines()[2])
    transcript = Transcript.of(path.read_bytes().splitlines(keepends=True))
    past = Past("sid")
    told = [
        each
        for entry, line in read_nodes(path, [transcript.nodes[place] for place in transcript.thread()])
        for each in past.take(entry, line)
    ]
    times = [each.time for each in told]
    assert times == sorted(times)
    assert times[0] == history_entry.time
    ended = next(each for each in told if isinstance(each.event, m.TurnEnded))
    started = [each for each in told if isinstance(each.event, m.TurnStarted)][1]
    assert ended.time < started.time


# -------------------------------------------------------------------------------------------------- in use


@contextmanager
def process(*arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process that lives until the block ends, and has begun when it starts."""
    code = "import sys; files = [open(name) for name in sys.argv[1:2] if name[0] == '/']; print(flush=True); input()"
    child = subprocess.Popen(
        [sys.executable, "-c", code, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
    )
    assert child.stdin is not None
    assert child.stdout is not None
    child.stdout.readline()
    try:
        yield child
    finally:
        child.communicate(b"\n")


def register(disk: Disk, pid: int, start: str, session: str) -> None:
    folder = disk.config / "sessions"
    folder.mkdir(parents=True, exist_ok=True)
    known = {"pid": pid, "sessionId": session, "procStart": start, "status": "idle"}
    (folder / f"{pid}.json").write_bytes(msgspec.json.encode(known))


def test_a_cli_that_has_written_itself_down_is_a_writer_while_it_lives(disk: Disk) -> None:
    disk.put(1, prompt("one"))
    history = History(disk.env)
    entry = history.find(session_id(1))
    with process() as child:
        register(disk, child.pid, str(start_time(child.pid)), session_id(1))
        assert is_in_use(disk.env, session_id(1))
        with pytest.raises(SessionBusy, match=f"process {child.pid}"):
            history.require_unused(entry)
        assert find_writer(disk.config, session_id(2)) is None
    assert not is_in_use(disk.env, session_id(1))
    history.require_unused(entry)


def test_a_process_that_got_the_number_of_a_dead_one_is_no_writer(disk: Disk) -> None:
    disk.put(1, prompt("one"))
    with process() as child:
        register(disk, child.pid, "1", session_id(1))
        assert not is_in_use(disk.env, session_id(1))


def test_a_process_with_the_file_open_is_a_writer(disk: Disk) -> None:
    path = disk.put(1, prompt("one"))
    with process(str(path)) as child:
        found = find_writer(disk.config, session_id(1), path)
        assert found is not None
        assert (found.pid, found.how) == (child.pid, "open file")


@pytest.mark.parametrize("arguments", [("--resume", session_id(1)), (f"--session-id={session_id(1)}",)])
def test_a_process_that_was_started_on_the_session_is_a_writer(disk: Disk, arguments: tuple[str, ...]) -> None:
    with process("-p", *arguments) as child:
        found = find_writer(disk.config, session_id(1))
        assert found is not None
        assert (found.pid, found.how) == (child.pid, "argument")


def test_a_process_that_merely_names_the_session_is_no_writer(disk: Disk) -> None:
    with process("history", "show", session_id(1)):
        assert find_writer(disk.config, session_id(1)) is None
