from __future__ import annotations

import asyncio

from footplate.testing.messages.journal import Journal
from footplate.testing.messages.wire import HttpRequest


def request(key: str, body: bytes = b"{}") -> HttpRequest:
    return HttpRequest(method="POST", path="/v1/messages", key=key, query={}, headers={}, body=body)


def keep(journal: Journal, *requests: HttpRequest) -> None:
    for each in requests:
        with journal.entry(each) as entry:
            entry.ends("answered")


def test_only_the_last_requests_are_kept() -> None:
    journal = Journal(requests=2)
    keep(journal, request("a"), request("b"), request("c"))
    assert [each.key for each in journal.requests(None)] == ["b", "c"]


def test_the_oldest_bodies_go_first_when_there_are_too_many_bytes() -> None:
    journal = Journal(body_bytes=10)
    keep(journal, request("a", b"1" * 6), request("a", b"2" * 6), request("a", b"3" * 4))
    assert journal.bodies("a") == [b"2" * 6, b"3" * 4]
    assert len(journal.requests("a")) == 3


def test_an_entry_left_without_an_ending_says_that_the_client_has_gone() -> None:
    journal = Journal()
    with journal.entry(request("a")):
        assert [each.outcome for each in journal.requests("a")] == ["open"]
    assert [each.outcome for each in journal.requests("a")] == ["gone"]


def test_a_step_fails_so_many_times_per_key_until_the_key_is_cleared() -> None:
    journal = Journal()
    assert [journal.fails_again("a", "step", times=2) for _ in range(3)] == [True, True, False]
    assert journal.fails_again("b", "step", times=2)
    journal.clear("a")
    assert journal.fails_again("a", "step", times=2)


def test_clearing_a_key_leaves_the_others() -> None:
    journal = Journal()
    keep(journal, request("a"), request("b"))
    journal.clear("a")
    assert [each.key for each in journal.requests(None)] == ["b"]
    journal.clear(None)
    assert journal.requests(None) == []


async def test_waiting_ends_when_the_requests_have_come_and_ended() -> None:
    journal = Journal()
    waiting = asyncio.create_task(journal.wait_for("a", count=1, ended=1, seconds=10))
    with journal.entry(request("a")) as entry:
        await asyncio.sleep(0)
        assert not waiting.done()
        entry.ends("answered")
    await waiting


async def test_waiting_in_vain_ends_with_the_time() -> None:
    await Journal().wait_for("a", count=1, ended=0, seconds=0.01)
