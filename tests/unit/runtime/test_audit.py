"""Audit records: what they say, how they are noted outside of the store, what retention leaves of them."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import threading
from pathlib import Path
from typing import Any

import msgspec
import pytest

from footplate.config.settings import Settings
from footplate.errors import StoreFull
from footplate.events.content import ImageBlock, ResourceBlock
from footplate.events.ids import RequestId, RuleId, SessionId
from footplate.events.requests import Allow, Choose, Deny, Request, RequestOption, Suggestion
from footplate.events.rules import SessionRule
from footplate.events.tools import FileChange, FileChangeDetail, Hunk
from footplate.runtime import audit_head
from footplate.runtime import logins as logins_module
from footplate.runtime.access import OPEN, Access, Grant, TokenRequest
from footplate.runtime.audit import DAY_S, Audit, Principal
from footplate.runtime.audit_head import HEAD_FILE, is_kept, keep_head, read_heads, write_head
from footplate.runtime.audit_settings import FileState, audit_settings, describe_change, hash_keys
from footplate.runtime.guard import GUARD
from footplate.runtime.logins import FAILED_S, Logins
from footplate.runtime.services import Services
from footplate.runtime.surroundings import Surroundings
from footplate.store.chain import AuditHead, ChainCheck
from footplate.store.memory import MemoryStore
from footplate.store.memory_audit import MemoryAudit

ADA = Principal(by="ada", surface="web", origin="10.0.0.7")
COMMAND = msgspec.Raw(b'{"command": "rm -rf build"}')
SESSION = SessionId("s1")


class Clock(Surroundings):
    """A machine whose clocks a test sets."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 1_000_000.0

    def time(self) -> float:
        return self.now

    def monotonic(self) -> float:
        return self.now


class Machine:
    """A store whose clock is the machine's."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.store = MemoryStore(clock=self.clock.time)
        self.audit = Audit(self.store.audit, self.clock)

    async def records(self) -> list[dict[str, object]]:
        return [msgspec.json.decode(row.body) for row in await self.store.audit.read()]

    async def verify(self, *expected: AuditHead) -> list[str]:
        check = ChainCheck(expected=expected)
        check.feed(await self.store.audit.read(0, 10_000))
        return [broken.text for broken in check.finish()]


@pytest.fixture
def machine() -> Machine:
    return Machine()


def request(**fields: object) -> Request:
    given = {"id": RequestId("r1"), "kind": "permission", "title": "rm -rf build", "tool": "Bash", "input": COMMAND}
    return Request(**{**given, **fields})  # type: ignore[arg-type]


# ---------------------------------------------------------------------------------------------------- answers


def read(record: bytes) -> dict[str, object]:
    fields: dict[str, object] = msgspec.json.decode(record)
    return fields


def test_an_answer_says_who_from_where_and_exactly_what_was_allowed(machine: Machine) -> None:
    rule = SessionRule(id=RuleId("rule1"), tool="Bash", label="Bash: rm *")
    record = machine.audit.answer(SESSION, request(), Allow(scope="session"), ADA, [rule])
    assert read(record) == {
        "time": 1_000_000.0,
        "act": "answer",
        "by": "ada",
        "surface": "web",
        "origin": "10.0.0.7",
        "session": "s1",
        "target": "r1",
        "kind": "permission",
        "tool": "Bash",
        "title": "rm -rf build",
        "answer": {"type": "allow", "scope": "session"},
        "input": {"command": "rm -rf build"},
        "input_sha256": hashlib.sha256(COMMAND).hexdigest(),
        "rules": ["Bash: rm *"],
    }
    assert bytes(COMMAND) in record


def test_an_edited_answer_has_what_was_allowed_and_what_was_asked(machine: Machine) -> None:
    edited = msgspec.Raw(b'{"command":"rm -rf build/tmp"}')
    fields = read(machine.audit.answer(SESSION, request(), Allow(updated_input=edited), ADA))
    assert fields["input"] == {"command": "rm -rf build/tmp"}
    assert fields["input_sha256"] == hashlib.sha256(edited).hexdigest()
    assert fields["asked_input"] == {"command": "rm -rf build"}
    assert fields["answer"] == {"type": "allow"}


def test_a_denial_a_choice_and_a_plan_are_recorded_as_what_they_are(machine: Machine) -> None:
    denied = read(machine.audit.answer(SESSION, request(), Deny(message="no"), ADA))
    assert (denied["answer"], denied["input"]) == ({"type": "deny", "message": "no"}, {"command": "rm -rf build"})
    options = (RequestOption(id="o1", label="Always allow rm"),)
    chosen = read(machine.audit.answer(SESSION, request(options=options), Choose(option="o1"), ADA))
    assert (chosen["answer"], chosen["chosen"]) == ({"type": "choose", "option": "o1"}, "Always allow rm")
    options = (RequestOption(id="o2", label="Yes, and always: commands that begin with rm", kind="allow_always"),)
    always = read(machine.audit.answer(SESSION, request(options=options), Allow(scope="always"), ADA))
    assert always["chosen"] == "Yes, and always: commands that begin with rm"
    plan = read(machine.audit.answer(SESSION, request(kind="plan", input=None, plan="first, second"), Allow(), ADA))
    assert (plan["plan"], "input" in plan) == ("first, second", False)


def test_an_input_of_five_megabytes_is_recorded_whole(machine: Machine) -> None:
    large = msgspec.Raw(msgspec.json.encode({"file_path": "/x", "content": "x" * 5_000_000}))
    record = machine.audit.answer(SESSION, request(input=large), Allow(), ADA)
    assert bytes(large) in record


def test_an_answer_with_a_lasting_change_says_which_change_the_agent_makes(machine: Machine) -> None:
    asked = request(
        suggestions=(
            Suggestion(label="Always allow rm", destination="user", raw=msgspec.Raw(b'{"rule":"rm"}'), allows="rm *"),
            Suggestion(label="Accept edits", destination="session", raw=msgspec.Raw(b'{"mode":"acceptEdits"}')),
        ),
        options=(RequestOption(id="o1", label="Yes, always", means=Allow(scope="always")),),
    )
    rule = {"label": "Always allow rm", "destination": "user", "raw": {"rule": "rm"}, "allows": "rm *"}
    for answer in (Allow(scope="always", suggestion=0), Choose(option="o1")):
        assert read(machine.audit.answer(SESSION, asked, answer, ADA))["suggestion"] == rule
    mode = read(machine.audit.answer(SESSION, asked, Allow(scope="session", suggestion=1), ADA))
    assert mode["suggestion"] == {
        "label": "Accept edits",
        "destination": "session",
        "raw": {"mode": "acceptEdits"},
    }
    assert "suggestion" not in read(machine.audit.answer(SESSION, asked, Allow(), ADA))


def test_a_call_without_an_input_is_recorded_as_it_was_shown(machine: Machine) -> None:
    detail = FileChangeDetail(changes=(FileChange(path="/work/a.txt", old_text="", new_text="ok"),))
    record = machine.audit.answer(SESSION, request(input=None, detail=detail), Allow(), ADA)
    encoded = msgspec.json.encode(detail)
    assert encoded in record
    assert read(record)["input_sha256"] == hashlib.sha256(encoded).hexdigest()


@pytest.mark.parametrize(
    ("change", "beside"),
    [
        (FileChange(path="/w/a", old_text="one\n", new_text="zwö\n"), False),
        (FileChange(path="/w/a", old_text="one\n", new_text="three\n"), True),
        (FileChange(path="/w/b", new_text="zwö\n"), True),
        (
            FileChange(path="/w/a", hunks=(Hunk(old_start=1, old_lines=1, new_start=1, new_lines=0, lines=("-one",)),)),
            True,
        ),
    ],
)
def test_a_change_that_is_not_in_the_input_is_recorded_beside_it(
    machine: Machine, change: FileChange, beside: bool
) -> None:
    given = msgspec.Raw(msgspec.json.encode({"path": "/w/a", "old": "one\n", "new": "zwö\n"}))
    asked = request(input=given, detail=FileChangeDetail(changes=(change,)))
    fields = read(machine.audit.answer(SESSION, asked, Allow(), ADA))
    assert fields.get("changes") == ([read(msgspec.json.encode(change))] if beside else None)


def test_many_changes_are_recorded_beside_the_input(machine: Machine) -> None:
    changes = tuple(FileChange(path=f"/w/{number}", new_text="x") for number in range(1000))
    given = msgspec.Raw(msgspec.json.encode([[change.path, "x"] for change in changes]))
    fields = read(
        machine.audit.answer(SESSION, request(input=given, detail=FileChangeDetail(changes=changes)), Allow(), ADA)
    )
    assert fields["changes"] == [read(msgspec.json.encode(change)) for change in changes]


def test_links_and_files_that_were_shown_are_recorded(machine: Machine) -> None:
    content = (
        ResourceBlock(uri="file:///etc/shadow", name="notes.txt"),
        ImageBlock(media_type="image/png", data="AAAA"),
    )
    fields = read(machine.audit.answer(SESSION, request(input=None, content=content), Allow(), ADA))
    assert fields["content"] == list(msgspec.to_builtins(content))


# -------------------------------------------------------------------------------------------------- retention


async def test_retention_leaves_a_checkpoint_and_a_chain_that_holds(machine: Machine) -> None:
    for _ in range(40):
        await machine.audit.record("login", ADA)
        machine.clock.now += DAY_S
    noted = await machine.store.audit.head()
    removed = 0
    while step := await machine.audit.tidy(30 * DAY_S, 4):
        assert step <= 4
        removed += step
        assert await machine.verify(noted) == []
    records = await machine.records()
    assert (removed, records[0]["number"], len(records)) == (10, 11, 31)
    assert (records[-1]["act"], records[-1]["through"]) == ("checkpoint", 10)


async def test_retention_begins_again_only_when_a_day_is_over(machine: Machine) -> None:
    for _ in range(3):
        await machine.audit.record("login", ADA)
    machine.clock.now += 10 * DAY_S
    assert await machine.audit.tidy(10 * DAY_S, 100) == 0
    machine.clock.now += DAY_S + 1
    assert await machine.audit.tidy(10 * DAY_S, 100) == 3
    assert await machine.audit.tidy(10 * DAY_S, 100) == 0
    assert [record["act"] for record in await machine.records()] == ["checkpoint"]
    assert await machine.verify() == []


async def test_retention_that_was_stopped_in_the_middle_goes_on_after_a_restart(machine: Machine) -> None:
    for _ in range(10):
        await machine.audit.record("login", ADA)
    machine.clock.now += 20 * DAY_S
    assert await machine.audit.tidy(10 * DAY_S, 4) == 4
    again = Audit(machine.store.audit, machine.clock)
    assert await machine.verify() == []
    assert await again.tidy(10 * DAY_S, 100) == 6
    assert await machine.verify() == []


async def test_retention_believes_the_record_and_not_the_time_beside_it(
    machine: Machine, caplog: pytest.LogCaptureFixture
) -> None:
    await machine.audit.record("login", ADA)
    await machine.audit.record("login", ADA)
    machine.store.audit._times[:] = [0.0, 0.0]  # as somebody who changes the file may do
    assert await machine.audit.tidy(10 * DAY_S, 100) == 0
    assert [record["act"] for record in await machine.records()] == ["login", "login"]
    assert "record 2 is newer than the store says" in caplog.text


@pytest.mark.parametrize(
    ("written", "noted", "said"),
    [
        (50 * 365 * DAY_S, 50 * 365 * DAY_S, "record 3 of the audit log was written in the future"),
        (0.0, 9e18, "record 3 is older than the store says"),
        (50 * DAY_S, 50 * DAY_S, ""),
    ],
    ids=["the clock was ahead", "the store was changed", "kept"],
)
async def test_a_record_at_which_retention_stops_is_named(
    machine: Machine, caplog: pytest.LogCaptureFixture, written: float, noted: float, said: str
) -> None:
    began = machine.clock.now
    for number in range(1, 6):
        machine.clock.now = began + (written if number == 3 else 0.0)
        await machine.audit.record("login", ADA)
    machine.store.audit._times[2] = began + noted
    machine.clock.now = began + 50 * DAY_S
    assert await machine.audit.tidy(10 * DAY_S, 100) == 2
    for _ in range(2):  # the step that ends this time, the first one of the next
        assert await machine.audit.tidy(10 * DAY_S, 100) == 0
    assert [record["number"] for record in await machine.records()] == [3, 4, 5, 6]
    assert (said in caplog.text, bool(caplog.text)) == (True, bool(said))


# ----------------------------------------------------------------------------------------------- the newest hash


async def test_the_newest_record_is_noted_in_a_file_and_in_the_log(
    machine: Machine, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    await machine.audit.record("login", ADA)
    async with keep_head(machine.store.audit, tmp_path, machine.clock):
        await machine.audit.record("login", ADA)
        await asyncio.sleep(0.05)
        head = await machine.store.audit.head()
        assert read_heads(tmp_path) == {tmp_path / HEAD_FILE: head}
        await machine.audit.record("login", ADA)
    last = await machine.store.audit.head()
    assert read_heads(tmp_path) == {tmp_path / HEAD_FILE: last}
    assert (tmp_path / HEAD_FILE).stat().st_mode & 0o777 == 0o600
    (line,) = [record for record in caplog.records if record.name == "footplate.audit"]
    assert line.fields["number"] in (1, 2)  # type: ignore[attr-defined]


async def test_a_service_that_finds_a_cut_log_says_so_and_keeps_what_was_noted(
    machine: Machine, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with keep_head(machine.store.audit, tmp_path, machine.clock):
        for _ in range(5):
            await machine.audit.record("login", ADA)
    noted = await machine.store.audit.head()
    machine.store.audit = MemoryAudit(machine.clock.time, machine.store._bells)
    cut = Audit(machine.store.audit, machine.clock)
    for _ in range(2):
        async with keep_head(machine.store.audit, tmp_path, machine.clock):
            assert f"the audit log was cut off or changed: record 5 with the hash {noted.hash}" in caplog.text
            await cut.record("login", ADA)
            caplog.clear()
    heads = read_heads(tmp_path)
    assert heads == {tmp_path / HEAD_FILE: await machine.store.audit.head(), tmp_path / f"{HEAD_FILE}.5": noted}
    found = await machine.verify(*filter(None, heads.values()))
    assert found == ["the end is cut off: record 5 was written, and the newest is 2"]


async def test_a_slow_write_is_not_the_last_one_when_the_service_stops(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    began, wrote_second = threading.Event(), threading.Event()

    def write_slowly(data: Path, head: AuditHead) -> None:
        if head.number == 1:
            began.set()
            wrote_second.wait(0.5)  # which must not come before this one is done
        write_head(data, head)
        if head.number == 2:
            wrote_second.set()

    monkeypatch.setattr(audit_head, "write_head", write_slowly)
    async with keep_head(machine.store.audit, tmp_path, machine.clock):
        await machine.audit.record("login", ADA)
        assert await asyncio.to_thread(began.wait, 10)
        await machine.audit.record("login", ADA)
    assert wrote_second.is_set()
    await asyncio.get_running_loop().shutdown_default_executor()
    assert read_heads(tmp_path) == {tmp_path / HEAD_FILE: await machine.store.audit.head()}


async def test_a_record_that_is_older_than_the_noted_one_is_not_noted(machine: Machine, tmp_path: Path) -> None:
    for _ in range(3):
        await machine.audit.record("login", ADA)
    noted = await machine.store.audit.head()
    write_head(tmp_path, noted)
    async with keep_head(machine.store.audit, tmp_path, machine.clock):
        del machine.store.audit._rows[1:]  # as somebody who changes the file may do
    assert read_heads(tmp_path) == {tmp_path / HEAD_FILE: noted}
    assert await machine.verify(noted) == ["the end is cut off: record 3 was written, and the newest is 1"]


async def test_a_removed_record_is_the_noted_one_if_the_next_one_names_it(machine: Machine) -> None:
    for _ in range(5):
        await machine.audit.record("login", ADA)
    noted = [row.head for row in await machine.store.audit.read()][2]
    assert await machine.store.audit.cut(3) == 3
    other = AuditHead(number=3, hash="f" * 64)
    assert [await is_kept(machine.store.audit, head) for head in (noted, other)] == [True, False]
    assert await machine.store.audit.cut(4) == 1
    assert await is_kept(machine.store.audit, other)  # nothing is left that says otherwise


HASH = "0" * 64


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "{}",
        '{"number": "5"}',
        '{"number": 5}',
        '{"number": 5, "hash": "abc"}',
        f'{{"number": 0, "hash": "{HASH}"}}',
        f'{{"number": -5, "hash": "{HASH}"}}',
        f'{{"number": {10**30}, "hash": "{HASH}"}}',
        f'{{"number": 5, "hash": "{HASH}\\n"}}',
        "\udcff",
        '{"number": 5, "hash": "\udcff"}',
    ],
)
async def test_a_damaged_file_is_reported_and_kept(
    machine: Machine, tmp_path: Path, caplog: pytest.LogCaptureFixture, text: str
) -> None:
    (tmp_path / HEAD_FILE).write_bytes(text.encode(errors="surrogateescape"))
    await machine.audit.record("login", ADA)
    for _ in range(2):
        async with keep_head(machine.store.audit, tmp_path, machine.clock):
            assert "is damaged; run `footplate audit verify`" in caplog.text
            caplog.clear()
    head = await machine.store.audit.head()
    assert read_heads(tmp_path) == {tmp_path / HEAD_FILE: head, tmp_path / f"{HEAD_FILE}.damaged": None}


# -------------------------------------------------------------------------------------------- tokens and logins


async def test_a_token_is_recorded_before_it_exists_and_when_it_is_revoked(machine: Machine) -> None:
    access = await Access.load(machine.store)
    issued = await access.issue(
        TokenRequest(name="phone", scopes=("answer",), projects=("/w",)), by=OPEN, principal=ADA
    )
    await access.revoke(issued.record.id, principal=ADA)
    created, revoked = await machine.records()
    assert (created["act"], created["target"], created["by"]) == ("token.create", issued.record.id, "ada")
    assert created["detail"] == {
        "name": "phone",
        "scopes": ["answer"],
        "expires_at": None,
        "sessions": [],
        "projects": ["/w"],
    }
    assert (revoked["act"], revoked["detail"]) == ("token.revoke", {"name": "phone"})
    assert issued.token not in str([created, revoked])


async def test_a_token_that_cannot_be_recorded_does_not_exist(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    access = await Access.load(machine.store)

    async def refuse(*_: object) -> AuditHead:
        raise StoreFull("in memory", "the test says so")

    monkeypatch.setattr(MemoryAudit, "append", refuse)
    with pytest.raises(StoreFull):
        await access.issue(TokenRequest(name="phone"), principal=ADA)
    assert access.list() == ()
    assert (await machine.store.documents("tokens").list()).items == ()


async def test_a_login_is_recorded_once_for_each_token_and_address(machine: Machine) -> None:
    logins = Logins(machine.audit, machine.clock)
    grant = Grant(name="phone", token="t1", scopes=frozenset({"answer", "read"}))
    for origin in ("10.0.0.1", "10.0.0.1", "10.0.0.2"):
        if not logins.is_known(grant, origin):
            await logins.admit(grant, Principal(by=grant.name, surface="web", origin=origin))
    assert logins.is_known(OPEN, "10.0.0.1")
    records = await machine.records()
    assert [(record["act"], record["origin"], record["target"]) for record in records] == [
        ("login", "10.0.0.1", "t1"),
        ("login", "10.0.0.2", "t1"),
    ]
    assert records[0]["detail"] == {"scopes": ["answer", "read"]}


async def test_failed_logins_of_an_address_are_counted_and_not_each_recorded(machine: Machine) -> None:
    logins = Logins(machine.audit, machine.clock)
    stranger = Principal(surface="api", origin="10.0.0.9")
    for _ in range(1000):
        await logins.refuse(stranger, "wrong")
    machine.clock.now += FAILED_S
    await logins.refuse(stranger, "wrong")
    await logins.close()
    assert [record["detail"] for record in await machine.records()] == [
        {"calls": 1, "reason": "wrong"},
        {"calls": 1000, "reason": "wrong"},
    ]


async def test_failed_logins_are_recorded_when_their_minute_is_over_and_when_the_service_ends(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logins_module, "FAILED_S", 0.05)
    logins = Logins(machine.audit, Surroundings())

    async def counts() -> list[int]:
        return [detail["calls"] for record in await machine.records() if isinstance(detail := record["detail"], dict)]

    for _ in range(1000):
        await logins.refuse(Principal(surface="api", origin="10.0.0.9"), "wrong")
    async with asyncio.timeout(20):
        while sum(await counts()) < 1000:
            await machine.store.audit.wait((await machine.store.audit.head()).number)
    monkeypatch.setattr(logins_module, "FAILED_S", FAILED_S)
    for _ in range(7):
        await logins.refuse(Principal(surface="api", origin="10.0.0.10"), "wrong")
    await logins.close()
    assert (await counts())[-2:] == [1, 6]


# -------------------------------------------------------------------------------------------------------- settings


def test_the_names_of_changed_settings_are_found() -> None:
    before = {"runtime": {"idle_s": 600, "prewarm": 0}, "engines": {"claude": {"env": {"KEY": "secret"}}}, "rules": []}
    after = {"runtime": {"idle_s": 60, "prewarm": 0}, "engines": {"claude": {"env": {"KEY": "other"}}}, "rules": [1]}
    detail = describe_change(FileState(keys=dict(hash_keys(before))), FileState(keys=dict(hash_keys(after))))
    assert detail["keys"] == ["engines.claude.env.KEY", "rules", "runtime.idle_s"]


async def test_changes_of_the_settings_are_recorded_by_name_and_rules_whole(tmp_path: Path) -> None:
    store, file = MemoryStore(), tmp_path / "footplate.toml"
    environ = {"HOME": str(tmp_path), "FOOTPLATE_CONFIG": str(file)}
    file.write_text('[telegram]\nbot_token = "secret-1"\n')

    def services() -> Services:
        return Services(store, None, settings=Settings(), environ=environ, data=tmp_path)  # type: ignore[arg-type]

    async with audit_settings(services()):
        pass
    async with audit_settings(services()):
        pass  # nothing has changed
    file.write_text('[telegram]\nbot_token = "secret-2"\n')
    async with audit_settings(running := services()):
        file.write_text('[telegram]\nbot_token = "secret-3"\n[[rules]]\ntool = "Bash"\ndecision = "allow"\n')
        assert running.live.telegram.bot_token == "secret-3"
    records = [msgspec.json.decode(row.body) for row in await store.audit.read()]
    assert [record["act"] for record in records] == ["settings.change"] * 3
    assert "secret" not in str(records)
    first, second, third = (record["detail"] for record in records)
    assert second["sha256_before"] == first["sha256"] != second["sha256"] == third["sha256_before"]
    assert [each["keys"] for each in (first, second)] == [["telegram.bot_token"]] * 2
    assert third["keys"] == ["rules", "telegram.bot_token"]
    assert (third["rules_before"], third["rules"][0]["tool"]) == ([], "Bash")
    assert records[0]["by"] == file.owner()
    (kept,) = (await store.documents("audit-settings").list()).items
    assert b"secret" not in kept.body


@pytest.mark.parametrize("ask", ["request", "hook"])
async def test_a_changed_rule_is_recorded_before_a_verdict_asks_for_it(tmp_path: Path, ask: str) -> None:
    store, file = MemoryStore(), tmp_path / "footplate.toml"
    environ = {"HOME": str(tmp_path), "FOOTPLATE_CONFIG": str(file)}
    services = Services(store, None, settings=Settings(), environ=environ, data=tmp_path)  # type: ignore[arg-type]
    async with audit_settings(services):
        file.write_text('[[rules]]\ntool = "Bash"\ndecision = "deny"\n')
        if ask == "request":
            assert [rule.decision for rule in await services.recorded_rules()] == ["deny"]
        else:
            said = await services.hooks[GUARD](msgspec.Raw(b'{"tool_name":"Bash"}'))
            assert b'"deny"' in msgspec.json.encode(said)
        (record,) = [msgspec.json.decode(row.body) for row in await store.audit.read()]
    assert (record["act"], record["detail"]["keys"]) == ("settings.change", ["rules"])


async def test_what_an_earlier_version_kept_of_the_settings_is_compared_by_its_hash(tmp_path: Path) -> None:
    store, file = MemoryStore(), tmp_path / "footplate.toml"
    environ = {"HOME": str(tmp_path), "FOOTPLATE_CONFIG": str(file)}
    file.write_text(rules := '[[rules]]\ntool = "Bash"\ndecision = "allow"\n')

    async def start() -> list[dict[str, Any]]:
        services = Services(store, None, settings=Settings(), environ=environ, data=tmp_path)  # type: ignore[arg-type]
        async with audit_settings(services):
            return [msgspec.json.decode(row.body)["detail"] for row in await store.audit.read()]

    await store.documents("audit-settings").put("file", hashlib.sha256(rules.encode()).hexdigest().encode())
    assert await start() == []
    file.write_text(f"{rules}[runtime]\nidle_s = 60\n")
    (detail,) = await start()
    assert (detail["keys"], "rules" in detail) == (["runtime.idle_s"], False)
    await store.documents("audit-settings").put("file", b"0" * 64)
    assert [rule["tool"] for rule in (await start())[-1]["rules"]] == ["Bash"]
