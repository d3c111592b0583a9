"""The wire between service and keeper: frames stay whole, descriptors stay with their frame."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator

import pytest

from footplate.host.channel import Channel, close_all

Pair = tuple[Channel, Channel]


@pytest.fixture
def pair() -> Iterator[Pair]:
    left, right = (Channel(sock) for sock in socket.socketpair())
    yield left, right
    left.close()
    right.close()


def messages(channel: Channel) -> list[object]:
    return [json.loads(payload) for payload, _ in channel.receive()]


def test_messages_arrive_whole_and_in_order(pair: Pair) -> None:
    sent = [{"n": n, "text": "ä\udcff" * n} for n in range(5)]
    for message in sent:
        assert pair[0].send(message)
    assert messages(pair[1]) == sent
    assert pair[1].open


def test_a_message_larger_than_the_socket_takes_several_writes(pair: Pair) -> None:
    big = {"text": "x" * 2_000_000}
    assert not pair[0].send(big)
    got: list[object] = []
    while not got:
        got = messages(pair[1])
        pair[0].flush()
    assert got == [big]


def test_descriptors_stay_with_their_message_and_are_not_inherited(pair: Pair) -> None:
    first, second = os.pipe(), os.pipe()
    inodes = [os.fstat(fd).st_ino for fd in (*first, *second)]
    pair[0].send({"n": 0})
    pair[0].send({"n": 1}, first)
    pair[0].send({"n": 2})
    pair[0].send({"n": 3}, second)
    frames = list(pair[1].receive())
    assert [len(fds) for _, fds in frames] == [0, 2, 0, 2]
    received = [fd for _, fds in frames for fd in fds]
    assert [os.fstat(fd).st_ino for fd in received] == inodes
    assert not any(os.get_inheritable(fd) for fd in received)
    close_all(received)


def test_a_descriptor_in_a_frame_of_many_writes_comes_with_it(pair: Pair) -> None:
    pair[0].send({"text": "x" * 1_000_000}, [os.open("/dev/null", os.O_RDONLY)])
    frames: list[tuple[bytes, list[int]]] = []
    while not frames:
        frames = list(pair[1].receive())
        pair[0].flush()
    [(_, fds)] = frames
    assert len(fds) == 1
    close_all(fds)


def test_the_end_of_one_direction_leaves_the_other(pair: Pair) -> None:
    pair[0].sock.shutdown(socket.SHUT_WR)
    assert messages(pair[1]) == []
    assert (pair[1].open, pair[1].writable) == (False, True)
    pair[1].send({"last": "words"})
    assert messages(pair[0]) == [{"last": "words"}]


def test_what_is_sent_to_nobody_is_dropped_and_its_descriptors_closed(pair: Pair) -> None:
    pair[1].close()
    pair[0].send({}, os.pipe())
    assert not pair[0].writable
    assert messages(pair[0]) == []
    assert not pair[0].open
