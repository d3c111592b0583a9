"""Keys, the line editor, and what a typed line means."""

from __future__ import annotations

import pytest

from footplate.interfaces.cli.chat import typed as t
from footplate.interfaces.cli.chat.completing import Completion, begun_command, begun_file, command_names, complete
from footplate.interfaces.cli.chat.editor import LineEditor
from footplate.interfaces.cli.chat.keys import Key, KeyReader


def _keys(*chunks: bytes) -> list[Key]:
    reader = KeyReader()
    return [key for chunk in chunks for key in reader.feed(chunk)]


@pytest.mark.parametrize(
    ("chunks", "keys"),
    [
        ([b"ab"], [Key("text", "ab")]),
        ([b"\xc3", b"\xa4"], [Key("text", "ä")]),
        ([b"\r\x7f\x03\x04"], [Key("enter"), Key("backspace"), Key("ctrl-c"), Key("ctrl-d")]),
        ([b"\x1b[A\x1b[1;5C\x1bOH\x1b[3~"], [Key("up"), Key("word-right"), Key("home"), Key("delete")]),
        ([b"\x1b", b"[", b"D"], [Key("left")]),
        ([b"\x1b[200~one\ntwo", b"\x1b[201~x"], [Key("paste", "one\ntwo"), Key("text", "x")]),
        ([b"\x1b\r\x1b\x7f"], [Key("newline"), Key("delete-word")]),
        ([b"\x1b[99;99;99Zx"], [Key("text", "x")]),
        ([b"\xff\xfe"], [Key("text", "\ufffd\ufffd")]),
    ],
)
def test_bytes_become_keys_however_they_are_cut(chunks: list[bytes], keys: list[Key]) -> None:
    assert _keys(*chunks) == keys


def test_a_lone_escape_is_a_key_once_nothing_follows() -> None:
    reader = KeyReader()
    assert reader.feed(b"\x1b") == []
    assert reader.pending
    assert reader.flush() == [Key("escape")]
    assert not reader.pending


def _typed(data: bytes) -> LineEditor:
    editor = LineEditor()
    for key in _keys(data):
        editor.apply(key)
    return editor


@pytest.mark.parametrize(
    ("data", "text", "cursor"),
    [
        (b"hello\x1b[D\x1b[DX", "helXlo", 4),
        (b"one two\x17", "one ", 4),
        (b"one two\x1bb\x0b", "one ", 4),
        (b"one two\x01\x1bd", " two", 0),
        (b"one\x15two\x19", "twoone", 6),
        (b"abc\x01\x04", "bc", 0),
        ("e\u0301x".encode() + b"\x7f\x7f", "", 0),
        (b"a\x1b\rb", "a\nb", 3),
        (b"\x1b[200~\x1b[31mred\x1b[0m\x1b[201~", "red", 3),
    ],
)
def test_the_editor_edits(data: bytes, text: str, cursor: int) -> None:
    editor = _typed(data)
    assert (editor.text, editor.cursor) == (text, cursor)


def test_enter_gives_the_line_and_the_arrows_bring_it_back() -> None:
    editor = LineEditor()
    assert [editor.apply(key) for key in _keys(b"one\r")] == [None, "one"]
    editor.remember("one")
    editor.remember("two")
    for key in _keys(b"draft\x1b[A"):
        editor.apply(key)
    assert editor.text == "two"
    editor.browse(-1)
    editor.browse(-1)
    assert editor.text == "one"
    editor.browse(1)
    editor.browse(1)
    assert editor.text == "draft"


def test_a_long_line_scrolls_with_the_cursor() -> None:
    editor = _typed("日本語のとても長い行です".encode())
    shown, column = editor.window(11)
    assert (shown, column) == ("長い行です", 10)
    editor.go(0)
    assert editor.window(11) == ("日本語のと", 0)


@pytest.mark.parametrize(
    ("line", "action"),
    [
        ("", t.Nothing()),
        ("hello", t.Say("hello")),
        ("/compact now", t.Say("/compact now")),
        ("//mode", t.Say("/mode")),
        ("/mode plan", t.Change("mode", "plan")),
        ("/model", t.Mistake("write a value: /model X")),
        ("/title A b c", t.Change("title", "A b c")),
        ("/steer left", t.Say("left", "steer")),
        ("/rules", t.Show("rules")),
        ("/revoke 2", t.Revoke(2)),
        ("/revoke", t.Mistake("write the number of a rule in /rules: /revoke 1")),
        ("/cancel", t.CancelPrompt()),
        ("/cancel 2", t.CancelPrompt(2)),
        ("/cancel x", t.Mistake("write the number of a prompt in /queue: /cancel 1")),
        ("/queue", t.Show("queue")),
        ("/quit", t.Do("quit")),
        ("/exit", t.Do("quit")),
        ("/fork now", t.Mistake("/fork takes nothing behind it")),
        ("!ls -l", t.Shell("ls -l")),
        ("!", t.Mistake("write a command behind the !")),
    ],
)
def test_a_typed_line_is_an_action(line: str, action: t.Action) -> None:
    assert t.parse_line(line) == action


@pytest.mark.parametrize(
    ("begun", "completion"),
    [
        ("/ti", Completion("/title ")),
        ("/mod", Completion("/mode", ("/mode", "/model"))),
        ("/comp", Completion("/compact ")),
        ("/nothing", Completion("/nothing")),
    ],
)
def test_a_slash_command_is_completed(begun: str, completion: Completion) -> None:
    assert complete(begun, command_names(["compact", "/clear"])) == completion


def test_what_is_being_typed_is_known() -> None:
    assert begun_command("/mo", 3) == "/mo"
    assert begun_command("/mode x", 7) is None
    assert begun_file("look at @src/ma", 15) == "src/ma"
    assert begun_file("look at @src/ma now", 19) is None
    assert begun_file("mail@home", 9) is None


def test_the_help_names_every_command() -> None:
    assert [name for name in t.COMMANDS if f"/{name}" not in t.HELP and name != "exit"] == []
