"""The chain of audit records: any change, removal or move is found and named."""

from __future__ import annotations

import hashlib

import msgspec
import pytest
from msgspec.structs import replace

from footplate.store.chain import START, AuditHead, AuditRow, ChainCheck, Removed, link

UNREADABLE = [b'{"number":3,"previous":"\xff"}', b'{"number":3,"x":' + b"[" * 100_000 + b"]" * 100_000 + b"}"]


def chain(count: int, *, act: str = "answer") -> list[AuditRow]:
    head, rows = AuditHead(), []
    for number in range(1, count + 1):
        rows.append(link(head, msgspec.json.encode({"act": act, "by": f"person {number}"})))
        head = rows[-1].head
    return rows


def found(rows: list[AuditRow], *, oldest: int = 0, **expected: object) -> list[tuple[str, int]]:
    check = ChainCheck(**expected)  # type: ignore[arg-type]
    for row in rows:
        check.feed([row])
    check.oldest = oldest
    return [(each.kind, each.number) for each in check.finish()]


def test_a_record_names_its_number_and_the_hash_before_it() -> None:
    first, second = chain(2)
    assert msgspec.json.decode(first.body) == {"number": 1, "previous": START, "act": "answer", "by": "person 1"}
    assert msgspec.json.decode(second.body)["previous"] == first.hash == hashlib.sha256(first.body).hexdigest()
    assert link(AuditHead(), b"{}").body == b'{"number":1,"previous":"%s"}' % START.encode()


@pytest.mark.parametrize("count", [0, 1, 2, 50])
def test_a_sound_chain_has_no_break(count: int) -> None:
    rows = chain(count)
    heads = [row.head for row in rows]
    assert found(rows, expected=heads[-1:], hashes=[head.hash for head in heads[:1]]) == []


@pytest.mark.parametrize("number", [1, 7, 20])
def test_a_changed_byte_is_found(number: int) -> None:
    rows = chain(20)
    row = rows[number - 1]
    rows[number - 1] = replace(row, body=row.body.replace(b"person", b"nobody"))
    assert found(rows) == [("changed", number)]


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b'{"number":"x"}', b"\xff", *UNREADABLE])
def test_a_record_that_cannot_be_read_is_a_changed_one(body: bytes) -> None:
    rows = chain(5)
    rows[2] = replace(rows[2], body=body)
    assert found(rows) == [("changed", 3)]


@pytest.mark.parametrize("number", [1, 7, 19])
def test_a_record_that_was_changed_together_with_its_hash_is_found_by_the_next_one(number: int) -> None:
    rows = chain(20)
    before = rows[number - 2].head if number > 1 else AuditHead()
    rows[number - 1] = link(before, b'{"act":"answer","by":"somebody else"}')
    assert found(rows) == [("changed", number)]


def test_the_newest_record_changed_together_with_its_hash_is_found_by_the_head() -> None:
    rows = chain(20)
    head = rows[-1].head
    rows[-1] = link(rows[-2].head, b'{"act":"answer","by":"somebody else"}')
    assert found(rows) == []
    assert found(rows, expected=[head]) == [("changed", 20)]
    assert found(rows, hashes=[head.hash]) == [("cut", 21)]


@pytest.mark.parametrize(("gone", "kinds"), [((7,), [("missing", 7)]), ((7, 8, 9), [("missing", 7)])])
def test_removed_records_are_found(gone: tuple[int, ...], kinds: list[tuple[str, int]]) -> None:
    assert found([row for row in chain(20) if row.number not in gone]) == kinds


def test_records_that_are_missing_at_the_start_are_found() -> None:
    assert found(chain(20)[3:]) == [("missing", 1)]


def test_a_removed_record_whose_place_was_filled_by_the_next_ones_is_found() -> None:
    rows = [row for row in chain(5) if row.number != 3]
    rows = [replace(row, number=number) for number, row in enumerate(rows, 1)]
    assert found(rows) == [("reordered", 3), ("reordered", 4)]


@pytest.mark.parametrize("whole", [True, False], ids=["rows", "bodies"])
def test_a_swapped_pair_is_found(whole: bool) -> None:
    rows = chain(20)
    one, two = rows[6], rows[7]
    rows[6] = AuditRow(number=7, hash=two.hash if whole else one.hash, body=two.body)
    rows[7] = AuditRow(number=8, hash=one.hash if whole else two.hash, body=one.body)
    assert found(rows) == [("reordered", 7), ("reordered", 8)]


@pytest.mark.parametrize(
    ("order", "breaks"),
    [
        ([1, 2, 3, 5, 4, 6], ["record 4 is out of order: it is behind record 5"]),
        ([2, 1, 3], ["record 1 is out of order: it is behind record 2"]),
        (
            [1, 5, 6, 3],
            ["record 2 is missing", "record 3 is out of order: it is behind record 6", "record 4 is missing"],
        ),
        ([4, 2], ["record 1 is missing", "record 2 is out of order: it is behind record 4", "record 3 is missing"]),
        ([1, 2, 2, 3], ["record 2 is there a second time, behind record 2"]),
        ([1, 2, 3, 1], ["record 1 is there a second time, behind record 3"]),
    ],
)
def test_a_record_that_was_moved_within_an_exported_file_is_named(order: list[int], breaks: list[str]) -> None:
    rows = chain(6)
    check = ChainCheck()
    check.feed(rows[number - 1] for number in order)
    assert [each.text for each in check.finish()] == breaks
    assert check.head == rows[max(order) - 1].head


def test_a_record_that_was_moved_and_changed_is_both() -> None:
    rows = chain(4)
    rows[1] = replace(rows[1], body=rows[1].body.replace(b"person", b"nobody"))
    assert found([rows[0], rows[2], rows[1], rows[3]]) == [("reordered", 2), ("changed", 2)]


def test_a_cut_end_is_found_by_the_head() -> None:
    rows = chain(20)
    assert found(rows[:15]) == []
    assert found(rows[:15], expected=[rows[-1].head]) == [("cut", 16)]
    assert found(rows[:15], hashes=[rows[-1].hash]) == [("cut", 16)]
    assert found([], expected=[rows[-1].head]) == [("cut", 1)]
    assert found(rows, expected=[rows[14].head], hashes=[rows[14].hash]) == []


def checkpointed(rows: list[AuditRow], through: int) -> list[AuditRow]:
    fields = {"act": "checkpoint", "through": through, "hash": rows[through - 1].hash}
    return [*rows, link(rows[-1].head, msgspec.json.encode(fields))]


def test_what_a_checkpoint_says_was_removed_is_not_missed() -> None:
    rows = checkpointed(chain(20), 5)
    assert found(rows) == []
    assert found(rows[5:]) == []
    assert found(rows[3:]) == []  # retention was stopped in the middle
    assert found(rows[5:], expected=[rows[2].head], hashes=[rows[4].hash]) == []
    assert found(rows[6:]) == [("missing", 1)]


def forged(rows: list[AuditRow], **fields: object) -> list[AuditRow]:
    return [*rows, link(rows[-1].head, msgspec.json.encode({"act": "checkpoint", **fields}))]


@pytest.mark.parametrize("through", [21, 22, 2**60, 10**30])
def test_a_checkpoint_that_names_itself_or_later_records_removes_nothing(through: int) -> None:
    rows = forged(chain(20), through=through, hash=chain(20)[-1].hash)
    assert found(rows) == [("changed", 21)]
    assert found(rows[19:]) == [("missing", 1), ("changed", 21)]
    assert found(rows[20:]) == [("missing", 1), ("changed", 21)]


@pytest.mark.parametrize("fields", [{}, {"through": 5}, {"through": "5", "hash": "x"}])
def test_a_checkpoint_without_its_fields_removes_nothing(fields: dict[str, object]) -> None:
    assert found(forged(chain(20), **fields)[5:]) == [("missing", 1), ("changed", 21)]


def test_a_checkpoint_that_was_changed_removes_nothing() -> None:
    rows = checkpointed(chain(20), 5)
    rows[-1] = replace(rows[-1], body=rows[-1].body.replace(b'"through":5', b'"through":9'))
    assert found(rows[9:]) == [("missing", 1), ("changed", 21)]


def test_a_checkpoint_that_contradicts_a_noted_record_removes_nothing() -> None:
    rows, noted = chain(20), chain(20)[-1].head
    other = AuditHead(number=20, hash="f" * 64)
    record = link(other, msgspec.json.encode({"act": "checkpoint", "through": 20, "hash": other.hash}))
    assert found([*rows, record], expected=[noted]) == [("changed", 20), ("changed", 21)]
    assert found([record]) == []
    assert found([record], expected=[noted]) == [("missing", 1), ("changed", 21)]
    assert found([record], hashes=[noted.hash]) == [("cut", 22)]


def test_what_checkpoints_removed_is_named() -> None:
    rows = forged(checkpointed(chain(20), 5), through=9, hash=chain(20)[8].hash, time=7.5)
    for start, removed in [
        (0, []),
        (4, [Removed(first=1, last=4, checkpoint=21, time=0.0)]),
        (9, [Removed(first=1, last=9, checkpoint=22, time=7.5)]),
    ]:
        check = ChainCheck()
        check.feed(rows[start:])
        assert (check.finish(), check.removed) == ([], removed)


def test_records_that_retention_removes_between_two_pages_are_not_missed() -> None:
    rows = checkpointed(chain(20), 12)
    check = ChainCheck()
    check.feed(rows[:3])
    check.feed(rows[12:])
    assert check.has_gaps
    check.oldest = 13
    assert check.finish() == []
    assert check.removed == [Removed(first=4, last=12, checkpoint=21, time=0.0)]
    assert found(rows[:3] + rows[10:], oldest=11) == []
    assert found(rows[:3] + rows[13:], oldest=14) == [("missing", 4)]
    rows[12] = link(AuditHead(number=12, hash="f" * 64), b'{"act":"answer"}')
    assert ("changed", 13) in found(rows[:3] + rows[12:], oldest=13)


def test_a_checkpoint_does_not_excuse_a_record_that_is_missing_behind_older_ones() -> None:
    rows = checkpointed(chain(20), 12)
    del rows[6], rows[3]
    assert found(rows, oldest=1) == [("missing", 4), ("missing", 7)]
    assert found(rows) == [("missing", 4), ("missing", 7)]


def test_records_that_may_begin_anywhere_say_where_they_begin() -> None:
    for rows, late in [(chain(20)[3:], True), (chain(20), False), (checkpointed(chain(20), 5)[5:], False), ([], False)]:
        check = ChainCheck(partial=True)
        check.feed(rows)
        assert (check.finish(), check.starts_late) == ([], late)
    assert check.first == 0


def test_a_start_that_does_not_follow_its_checkpoint_is_found() -> None:
    rows = checkpointed(chain(20), 5)
    rows[5] = link(AuditHead(number=5, hash="f" * 64), b'{"act":"answer"}')
    assert ("changed", 6) in found(rows[5:])
