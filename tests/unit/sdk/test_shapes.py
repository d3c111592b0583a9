"""What the SDK reads is what the service writes, and it reads what later services write."""

from __future__ import annotations

import msgspec
import pytest

from footplate.host.files import Entry, Facts
from footplate.interfaces.http import about, news, prompts, request_shapes, requests
from footplate.interfaces.http import shapes as served
from footplate.runtime.child import ChildInfo
from footplate.runtime.children import Ran
from footplate.runtime.output import Piece
from footplate.sdk import shapes

PAIRS = [
    (served.SessionInfo, shapes.SessionInfo),
    (served.SessionList, shapes.SessionPage),
    (request_shapes.RequestInfo, shapes.RequestInfo),
    (requests.RequestList, shapes.RequestPage),
    (prompts.Accepted, shapes.Accepted),
    (prompts.WaitingPrompts, shapes.WaitingPrompts),
    (prompts.CommandOutput, shapes.CommandOutput),
    (news.News, shapes.News),
    (news.Snapshot, shapes.Snapshot),
    (ChildInfo, shapes.ProcessInfo),
    (Ran, shapes.ProcessRun),
]
SUBSETS = [
    (served.SessionDetail, shapes.SessionDetail),
    (about.Info, shapes.ServiceInfo),
    (Piece, shapes.LogPiece),
    (Entry, shapes.FileEntry),
]


def _names(kind: type[msgspec.Struct]) -> set[str]:
    return {each.encode_name for each in msgspec.structs.fields(kind)}


@pytest.mark.parametrize(("ours", "theirs"), PAIRS, ids=lambda each: each.__name__)
def test_a_shape_has_every_field_of_the_service(ours: type[msgspec.Struct], theirs: type[msgspec.Struct]) -> None:
    assert _names(theirs) == _names(ours)


@pytest.mark.parametrize(("ours", "theirs"), SUBSETS, ids=lambda each: each.__name__)
def test_a_shape_reads_nothing_that_the_service_does_not_write(
    ours: type[msgspec.Struct], theirs: type[msgspec.Struct]
) -> None:
    assert _names(theirs) <= _names(ours)


def test_what_is_known_of_a_path_is_an_entry_without_a_name() -> None:
    assert _names(Facts) <= _names(shapes.FileEntry)


def test_fields_of_a_later_service_are_dropped() -> None:
    told = b'{"id": "s", "engine": "mock", "state": "idle", "cwd": "/x", "of_a_later_version": [1]}'
    assert msgspec.json.decode(told, type=shapes.SessionInfo).engine == "mock"
