"""What is cut for the eye: long inputs, long texts, long paths."""

from __future__ import annotations

import msgspec
import pytest

from footplate.events.run_actions import LONGEST_LINE, LONGEST_LIST, LONGEST_STRING, compact, relative, summarize
from footplate.events.run_events import Summary


def test_a_short_input_is_kept_byte_for_byte() -> None:
    raw = msgspec.Raw(b'{"a":  1.0}')
    assert compact(raw) == raw
    assert compact(None) is None


def test_long_strings_and_lists_of_an_input_are_cut_at_any_depth() -> None:
    long = {"n": [{"text": "x" * (LONGEST_STRING + 5)}], "list": list(range(LONGEST_LIST + 3)), "ok": True}
    cut = compact(msgspec.Raw(msgspec.json.encode(long)))
    assert cut is not None
    assert msgspec.json.decode(cut) == {
        "n": [{"text": "x" * LONGEST_STRING + "… (5 more characters)"}],
        "list": [*range(LONGEST_LIST), "… (3 more)"],
        "ok": True,
    }


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        (b"[" * 300 + b"]" * 300, b"[" * 20 + '"…"'.encode() + b"]" * 20),
        (b"[" * 9000 + b"]" * 9000, '"… (unreadable input of 18000 bytes)"'.encode()),
        (b'"\xff' + b"x" * 500 + b'"', '"… (unreadable input of 503 bytes)"'.encode()),
        (b'"\\ud800' + b"x" * 500 + b'"', '"… (unreadable input of 508 bytes)"'.encode()),
    ],
    ids=["deep", "too deep to read", "not UTF-8", "lone surrogate"],
)
def test_an_odd_input_is_cut_and_never_raises(raw: bytes, shown: bytes) -> None:
    assert compact(msgspec.Raw(raw)) == msgspec.Raw(shown)


def test_a_summary_has_length_first_line_and_whether_there_is_more() -> None:
    assert summarize("") == Summary(chars=0, first_line="", truncated=False)
    assert summarize("\n one \n") == Summary(chars=7, first_line="one", truncated=False)
    assert summarize("one\ntwo") == Summary(chars=7, first_line="one", truncated=True)
    long = summarize("x" * (LONGEST_LINE + 1))
    assert long == Summary(chars=LONGEST_LINE + 1, first_line="x" * (LONGEST_LINE - 1) + "…", truncated=True)


@pytest.mark.parametrize(
    ("path", "folder", "seen"),
    [
        ("/project/a/b", "/project", "a/b"),
        ("/project/a", "/project/", "a"),
        ("/workshop/a", "/project", "/workshop/a"),
        ("/project", "/project", "/project"),
        ("a/b", "/project", "a/b"),
        ("/project/a", "", "/project/a"),
        ("C:\\work\\a", "C:\\work", "a"),
    ],
)
def test_paths_are_shown_as_seen_from_the_runs_folder(path: str, folder: str, seen: str) -> None:
    assert relative(path, folder) == seen
