"""`footplate audit` as an operator uses it: on a folder, beside a server, on a log that somebody has changed."""

from __future__ import annotations

import hashlib
import json
import re
import sqlite3
import subprocess
import sys
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import pytest

from footplate.runtime.audit import Audit, Principal
from footplate.runtime.audit_head import keep_head
from footplate.runtime.surroundings import Surroundings
from footplate.store.chain import AuditHead, link
from footplate.store.sqlite import SqliteStore
from tests.e2e.server import running_server

RECORDS = 2_500


async def write_records(data: Path, count: int, detail: Mapping[str, object] | None = None) -> None:
    surroundings = Surroundings()
    async with await SqliteStore.open(data / "store") as store, keep_head(store.audit, data, surroundings):
        audit = Audit(store.audit, surroundings)
        records = [
            audit.act(
                "file.delete",
                Principal(by=f"person {number}", surface="test"),
                target=f"file {number}",
                detail=detail,
            )
            for number in range(1, count + 1)
        ]
        await store.audit.append(records)


@pytest.fixture
async def data(tmp_path: Path) -> Path:
    """A data folder with an audit log of more than two pages."""
    await write_records(tmp_path / "data", RECORDS)
    return tmp_path / "data"


def footplate(data: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return run(data, "-m", "footplate", *arguments)


def run(data: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        env={"HOME": str(data.parent), "PATH": "/usr/bin:/bin", "FOOTPLATE_DATA_DIR": str(data), "COLUMNS": "160"},
        cwd=data.parent,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def audit(data: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return footplate(data, "audit", *arguments)


def change(data: Path, *statements: str) -> None:
    with closing(sqlite3.connect(data / "store" / "store.db", isolation_level=None)) as connection:
        connection.create_function("linked", 3, linked)
        connection.create_function("sha256", 1, lambda body: hashlib.sha256(body).hexdigest())
        for statement in statements:
            connection.execute(statement)


def linked(number: int, digest: str, record: str) -> bytes:
    return link(AuditHead(number=number, hash=digest), record.encode()).body


def checkpoint(through: int, digest: str = "hash", previous: str = "hash") -> str:
    """Append a checkpoint as somebody would who knows the format."""
    record = f"""'{{"act":"checkpoint","time":1795000000,"through":{through},"hash":"' || {digest} || '"}}'"""
    return f"""INSERT INTO audit SELECT number + 1, time, sha256(linked(number, {previous}, {record})),
    linked(number, {previous}, {record}) FROM audit ORDER BY number DESC LIMIT 1"""


def test_a_log_is_listed_verified_and_exported(data: Path) -> None:
    listed = audit(data, "list", "--limit", "2")
    assert [line.split()[0] for line in listed.stdout.splitlines()] == ["NUMBER", "2499", "2500"]
    assert "file.delete" in listed.stdout
    only = audit(data, "list", "--by", "person 7", "--json")
    (entry,) = json.loads(only.stdout)["records"]
    assert (entry["number"], entry["record"]["target"]) == (7, "file 7")
    assert len(audit(data, "list", "--after", "10", "--limit", "5").stdout.splitlines()) == 6
    verified = audit(data, "verify")
    assert (verified.returncode, verified.stdout.startswith("2500 records: the audit log is whole; newest 2500 ")) == (
        0,
        True,
    )
    file = data.parent / "audit.jsonl"
    file.write_text(audit(data, "export").stdout)
    assert len(file.read_text().splitlines()) == RECORDS
    head = verified.stdout.split()[-1]
    whole = audit(data, "verify", "--file", str(file), "--head", head, "--json")
    assert json.loads(whole.stdout) == {
        "ok": True,
        "records": RECORDS,
        "first": 1,
        "compared": False,
        "removed": [],
        "head": {"number": RECORDS, "hash": head},
        "breaks": [],
    }


FORGED = f"'{'f' * 64}'"
SWAP = (
    "CREATE TEMP TABLE pair AS SELECT number, hash, body FROM audit WHERE number IN (1300, 1301)",
    """UPDATE audit SET (hash, body) = (SELECT hash, body FROM pair WHERE pair.number = 2601 - audit.number)
    WHERE number IN (1300, 1301)""",
)


@pytest.mark.parametrize(
    ("statements", "said"),
    [
        (
            ["UPDATE audit SET body = replace(CAST(body AS TEXT), 'file 17\"', 'file 18\"') WHERE number = 17"],
            ["record 17 was changed"],
        ),
        (["UPDATE audit SET body = 7 WHERE number = 18"], ["record 18 was changed"]),
        (["UPDATE audit SET body = CAST(x'ff41' AS TEXT) WHERE number = 18"], ["record 18 was changed"]),
        (
            ["UPDATE audit SET body = replace(body, 'file 18\"', CAST(x'ff22' AS TEXT)) WHERE number = 18"],
            ["record 18 was changed"],
        ),
        (["UPDATE audit SET hash = CAST(x'ff41' AS TEXT) WHERE number = 18"], ["record 18 was changed"]),
        (["DELETE FROM audit WHERE number = 1200"], ["record 1200 is missing"]),
        (["DELETE FROM audit WHERE number <= 3"], ["records 1 to 3 are missing"]),
        (
            SWAP,
            [
                "record 1300 is out of order: it was written as number 1301",
                "record 1301 is out of order: it was written as number 1300",
            ],
        ),
        (
            ["DELETE FROM audit WHERE number > 2490"],
            ["the end is cut off: record 2500 was written, and the newest is 2490"],
        ),
        (
            [checkpoint(RECORDS + 1), "DELETE FROM audit WHERE number <= 2500"],
            [
                "records 1 to 2500 are missing",
                "record 2501 is no checkpoint: it names records up to 2501, after itself",
            ],
        ),
        (
            [checkpoint(RECORDS), "DELETE FROM audit WHERE number IN (1200, 1201, 1300)"],
            ["records 1200 to 1201 are missing", "record 1300 is missing"],
        ),
        (
            [checkpoint(2**60, "'x'"), "DELETE FROM audit WHERE number <= 19"],
            [
                "records 1 to 19 are missing",
                "record 2501 is no checkpoint: it names records up to 1152921504606846976, after itself",
            ],
        ),
        (
            [checkpoint(RECORDS, FORGED, previous=FORGED), "DELETE FROM audit WHERE number <= 2500"],
            [
                "records 1 to 2500 are missing",
                "record 2501 is no checkpoint: record 2500 had another hash when it was the newest",
            ],
        ),
        (["DELETE FROM audit"], ["the end is cut off: record 2500 was written, and the newest is 0"]),
    ],
    ids=[
        "changed byte",
        "body a number",
        "body no text",
        "byte of a text that is not UTF-8",
        "hash no text",
        "removed",
        "removed at the start",
        "swapped",
        "cut end",
        "checkpoint of itself",
        "checkpoint over records in the middle",
        "checkpoint of all that will be",
        "checkpoint with another hash than the noted one",
        "all gone",
    ],
)
def test_verify_says_which_record_was_tampered_with(data: Path, statements: list[str], said: list[str]) -> None:
    change(data, *statements)
    verified = audit(data, "verify")
    assert verified.returncode == 1
    assert verified.stdout.splitlines()[:-1] == said
    assert "the audit log is not whole" in verified.stdout
    listed = audit(data, "list", "--limit", "1000", "--after", "0")
    assert (listed.returncode, listed.stderr.count("Error")) == (0, 0)
    machine = json.loads(audit(data, "verify", "--json").stdout)
    assert (machine["ok"], [broken["text"] for broken in machine["breaks"]]) == (False, said)


def test_what_a_checkpoint_removed_is_always_said_so_that_a_forged_one_shows(data: Path) -> None:
    (entry,) = json.loads(audit(data, "list", "--after", "1999", "--limit", "1", "--json").stdout)["records"]
    change(data, checkpoint(2500), "DELETE FROM audit WHERE number <= 2400")
    verified = audit(data, "verify")
    assert verified.returncode == 0
    assert re.fullmatch(
        "records 1 to 2400 were removed by the checkpoint 2501 of 2026-11-1[78] .*", verified.stdout.splitlines()[0]
    )
    machine = json.loads(audit(data, "verify", "--json").stdout)
    assert machine["removed"] == [{"first": 1, "last": 2400, "checkpoint": 2501, "time": 1795000000.0}]
    change(data, "DELETE FROM audit WHERE number <= 2500")
    known = audit(data, "verify", "--head", entry["hash"])
    assert known.returncode == 1
    assert f"no record has the hash {entry['hash']}" in known.stdout


@pytest.mark.parametrize("record", ["7", '{"time":1e300}', '{"act":[]}', '{"time":"now"}'])
def test_a_record_that_was_changed_to_something_else_is_still_listed(data: Path, record: str) -> None:
    change(data, f"UPDATE audit SET body = '{record}' WHERE number = 2500")
    listed = audit(data, "list", "--limit", "2")
    assert listed.returncode == 0, listed.stderr
    assert "this record was changed" in listed.stdout.splitlines()[-1]


async def test_large_records_are_read_page_by_page(tmp_path: Path) -> None:
    """In one process with the service, which needs about 60 MB by itself; the log has 150 MB."""
    data = tmp_path / "data"
    await write_records(data, 100, detail={"input": "x" * 1_500_000})
    measured = (
        "import re, sys; from footplate.main import main\n"
        "try: main()\n"
        "finally: print(re.search('VmHWM:.*', open('/proc/self/status').read())[0], file=sys.stderr)"
    )
    for command in ("verify", "list", "export"):
        ran = run(data, "-c", measured, "audit", command)
        assert ran.returncode == 0, ran.stderr
        assert int(ran.stderr.split()[-2]) < 150 * 1024, (command, ran.stderr)
    assert len(audit(data, "list").stdout.splitlines()) == 51


@pytest.mark.parametrize("text", ["{", "{}", f'{{"number": -5, "hash": "{"0" * 64}"}}'])
def test_a_damaged_head_file_is_reported_and_a_missing_one_is_warned_about(data: Path, text: str) -> None:
    (data / "audit-head").write_text(text)
    change(data, "DELETE FROM audit WHERE number > 2490")
    for _ in range(2):
        verified = audit(data, "verify")
        assert verified.returncode == 1
        assert "the file audit-head.damaged cannot be read: whether the end was cut off is unknown" in verified.stdout
    for path in data.glob("audit-head*"):
        path.unlink()
    verified = audit(data, "verify")
    assert verified.returncode == 0
    assert "the data folder has no file audit-head" in verified.stderr
    assert "the service had no noted record to compare with" in verified.stdout


def test_a_running_service_also_compares_with_what_it_noted_itself(data: Path) -> None:
    with running_server(data.parent):
        (kept,) = json.loads(audit(data, "list", "--after", "2489", "--limit", "1", "--json").stdout)["records"]
        change(data, "DELETE FROM audit WHERE number > 2490")
        (data / "audit-head").write_text(json.dumps({"number": 2490, "hash": kept["hash"]}))
        verified = audit(data, "verify")
    assert verified.returncode == 1
    assert re.match(r"the end is cut off: record 25\d\d was written, and the newest is 2490\n", verified.stdout)


def test_a_cut_end_is_found_by_a_hash_of_the_service_log_when_the_file_was_cut_too(data: Path) -> None:
    head = json.loads((data / "audit-head").read_text())["hash"]
    change(data, "DELETE FROM audit WHERE number > 2490")
    (data / "audit-head").unlink()
    assert audit(data, "verify").returncode == 0
    verified = audit(data, "verify", "--head", head)
    assert verified.returncode == 1
    assert f"no record has the hash {head}: the end was cut off or written again" in verified.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("verify", "--head", "abc"), "a hash of 64 hexadecimal digits"),
        (("verify", "--file", "nothing"), "'nothing' does not exist"),
        (("list", "--limit", "0"), "0 is not in the range"),
        (("list", "--after", "x"), "'x' is not a valid integer"),
    ],
)
def test_bad_input_is_refused_with_what_is_expected(data: Path, arguments: tuple[str, ...], said: str) -> None:
    refused = audit(data, *arguments)
    assert refused.returncode == 2
    assert said in refused.stderr


@pytest.mark.parametrize(
    ("text", "said"), [('{"number": 1}\n', "line 1 is no record"), ("\n", "line 1 is no record"), ("", "it is empty")]
)
def test_a_file_that_is_no_export_is_refused(data: Path, text: str, said: str) -> None:
    file = data.parent / "other.jsonl"
    file.write_text(text)
    refused = audit(data, "verify", "--file", str(file))
    assert refused.returncode == 2
    assert f"other.jsonl has no record of `audit export`: {said}" in " ".join(refused.stderr.split())


def test_a_broken_line_of_an_export_is_reported_and_the_others_are_verified(data: Path) -> None:
    file = data.parent / "audit.jsonl"
    lines = audit(data, "export", "--after", "2490").stdout.splitlines(keepends=True)
    file.write_text("".join(lines))
    whole = audit(data, "verify", "--file", str(file))
    assert whole.returncode == 0
    assert whole.stdout.startswith("the file begins with record 2491\n10 records: the audit log is whole; newest 2500")
    lines[6] = lines[6][:50] + "\n"
    lines[3] = lines[3].replace("file 2494", "file 9999")
    file.write_text("".join(lines))
    broken = audit(data, "verify", "--file", str(file))
    assert broken.returncode == 1
    said = broken.stdout.splitlines()
    assert said[0] == "record 2494 was changed"
    assert sorted(line.partition(":")[0] for line in said[1:3]) == ["line 7 is no record", "record 2497 is missing"]
    assert said[-1].startswith("9 records: the audit log is not whole; newest 2500")


def test_the_log_is_read_beside_a_server_and_names_its_hash_in_the_service_log(data: Path) -> None:
    with running_server(data.parent) as server:
        session = footplate(data, "sessions", "open", "--engine", "mock").stdout.strip()
        footplate(data, "sessions", "prompt", session, "permission")
        request = waiting_request(data)
        assert footplate(data, "requests", "answer", request, "--allow").returncode == 0
        listed = json.loads(audit(data, "list", "--act", "answer", "--json").stdout)["records"]
        (record,) = [entry["record"] for entry in listed]
        assert (record["target"], record["surface"], record["origin"]) == (request, "cli", "local")
        assert record["input"]["command"] == "touch example.txt"
        assert audit(data, "verify").returncode == 0
        remote = audit(data, "verify", "--url", server.url, "--token", server.token)
        assert remote.returncode == 0, remote.stderr
        line = next(line for line in server.lines if "footplate.audit" in line)
        assert "number=2500" in line
        assert audit(data, "verify", "--head", line.rpartition("hash=")[2]).returncode == 0
        server.process.kill()
    assert audit(data, "verify").returncode == 0


ALLOW = '[[rules]]\ntool = "Bash"\ndecision = "allow"\n'


def test_a_changed_rule_is_recorded_by_name_before_its_first_verdict_also_when_no_service_ran(data: Path) -> None:
    home = data.parent / "home"
    settings = home / ".config" / "footplate" / "footplate.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text("[runtime]\nprewarm = 0\n")
    with running_server(data.parent) as server:
        with settings.open("a") as file:
            file.write(ALLOW)
        session = footplate(data, "sessions", "open", "--engine", "mock").stdout.strip()
        footplate(data, "sessions", "prompt", session, "permission", "--wait")
        server.stop()
    settings.write_text("[runtime]\nprewarm = 0\n" + ALLOW.replace("allow", "deny"))
    with running_server(data.parent):
        listed = audit(data, "list", "--act", "settings.change", "--act", "answer", "--json")
    first, changed, answer, later = [entry["record"] for entry in json.loads(listed.stdout)["records"]]
    assert [each["act"] for each in (first, changed, answer, later)] == [
        "settings.change",
        "settings.change",
        "answer",
        "settings.change",
    ]
    assert first["detail"]["keys"] == ["runtime.prewarm"]
    for record, before, after in ((changed, [], ["allow"]), (later, ["allow"], ["deny"])):
        assert record["detail"]["keys"] == ["rules"]
        assert [rule["decision"] for rule in record["detail"]["rules_before"]] == before
        assert [rule["decision"] for rule in record["detail"]["rules"]] == after
    assert answer["surface"] == "policy"


def test_commands_that_change_the_store_and_sessions_that_expire_are_in_the_log(data: Path) -> None:
    session = footplate(data, "sessions", "open", "--engine", "mock", "--title", "old work").stdout.strip()
    file = data.parent / "session.jsonl"
    file.write_text(footplate(data, "store", "export", session).stdout)
    assert footplate(data, "sessions", "close", session).returncode == 0
    assert footplate(data, "store", "tidy", "--closed-days", "0").returncode == 0
    assert footplate(data, "store", "import", str(file)).returncode == 0
    assert footplate(data, "store", "vacuum").returncode == 0
    entries = json.loads(audit(data, "list", "--after", str(RECORDS), "--json").stdout)["records"]
    records = [entry["record"] for entry in entries if entry["record"]["act"] not in ("login", "settings.change")]
    assert [(record["act"], record["surface"]) for record in records] == [
        ("store.tidy", "cli"),
        ("session.delete", "service"),
        ("store.import", "cli"),
        ("store.vacuum", "cli"),
    ]
    assert (records[1]["session"], records[1]["detail"]["title"]) == (session, "old work")
    assert records[1]["detail"]["reason"] == "retention.closed_sessions_days"
    assert records[2]["target"] == str(file)
    assert audit(data, "verify").returncode == 0


def waiting_request(data: Path) -> str:
    for _ in range(50):
        requests = json.loads(footplate(data, "requests", "list", "--json").stdout)["requests"]
        if requests:
            return str(requests[0]["id"])
    raise AssertionError("nothing was asked")
