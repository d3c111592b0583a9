"""The page's own reading of files and diffs: what git really says, whatever a file is called; bytes that are text."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import msgspec
import pytest

from footplate.host.git import Git
from footplate.host.repository import Repository
from tests.unit.repositories import closed, commit, make_repository

WEB = Path(__file__).resolve().parents[4] / "web"
PARTS = """
import { createInterface } from "node:readline";
import { isName, languageOf, pictureType, readText, writeText } from "../src/workspace/files_text";
import { sortFiles } from "../src/workspace/git_files";
import { readPatches } from "../src/workspace/git_patch";
import { sessionEdits } from "../src/workspace/session_edits";

const parts = {
  isName, languageOf, pictureType, sortFiles, readPatches, sessionEdits,
  roundTrip: (hex) => {
    const read = readText(Uint8Array.from(Buffer.from(hex, "hex")));
    return read && { ...read, back: Buffer.from(writeText(read)).toString("hex") };
  },
};
for await (const line of createInterface({ input: process.stdin })) {
  const [part, given] = JSON.parse(line);
  process.stdout.write(JSON.stringify(parts[part](given)) + "\\n");
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page's pure parts as a program: a call per line in, what it gives per line out."""
    if shutil.which("node") is None:
        pytest.skip("NO NODE: the page's parts are not tried")
    assert (WEB / "node_modules" / "rolldown").exists(), "run `make page`"
    entry = WEB / "node_modules" / ".parts.ts"
    entry.write_text(PARTS)
    made = tmp_path_factory.mktemp("parts") / "parts.mjs"
    command = ["node_modules/.bin/rolldown", str(entry), "--format", "esm", "--platform", "node", "--file", str(made)]
    subprocess.run(command, cwd=WEB, check=True, capture_output=True, timeout=60)
    return made


def ask(program: Path, *calls: tuple[str, object]) -> list[Any]:
    """What the page makes of each."""
    lines = b"\n".join(map(msgspec.json.encode, calls)) + b"\n"
    ran = subprocess.run(["node", str(program)], input=lines, capture_output=True, check=True, timeout=60)
    return [json.loads(line) for line in ran.stdout.splitlines()]


def told(patches: list[Any]) -> dict[str, tuple[str, str, bool, int]]:
    """Each file with its kind, where it came from, whether it is no text, and how many lines of it are shown."""
    return {
        patch["change"]["moved_to"] or patch["change"]["path"]: (
            patch["change"]["kind"],
            patch["change"]["path"] if patch["change"]["moved_to"] else "",
            patch["binary"],
            sum(len(hunk["lines"]) for hunk in patch["change"]["hunks"]),
        )
        for patch in patches
    }


def test_every_kind_of_change_is_read_from_what_git_says(program: Path, tmp_path: Path) -> None:
    folder, environ = tmp_path / "shop", closed(tmp_path)
    git = make_repository(folder, environ)
    long = "".join(f"line {number}\n" for number in range(30))
    for name in ("old name.txt", "b/ä ö.txt", 'quo"te.txt', "mode.sh", "end.txt"):
        commit(git, name, long)
    commit(git, "gone.txt", "was here\n")
    git.run("mv", "old name.txt", "new name.txt")
    git.run("rm", "-q", "gone.txt")
    (folder / "b" / "ä ö.txt").write_text(long.replace("line 7\n", "diff --git a/x b/x\n"))
    (folder / 'quo"te.txt').write_text(long + "--- a/quote\n+++ b/quote\n@@ -1 +1 @@\n")
    (folder / "mode.sh").chmod(0o755)
    (folder / "end.txt").write_text(long.removesuffix("\n"))
    (folder / "picture.bin").write_bytes(b"\0\1")
    (folder / "empty").touch()
    git.run("add", "-A")
    staged = Repository(str(folder), environ).diff(staged=True)
    (folder / "fresh file").write_text("new\n")
    left = Repository(str(folder), environ).diff()
    shown, new = ask(program, ("readPatches", staged), ("readPatches", left))
    assert told(shown) == {
        "new name.txt": ("move", "old name.txt", False, 0),
        "gone.txt": ("delete", "", False, 1),
        "b/ä ö.txt": ("update", "", False, 8),
        'quo"te.txt': ("update", "", False, 6),
        "mode.sh": ("update", "", False, 0),
        "end.txt": ("update", "", False, 6),
        "picture.bin": ("add", "", True, 0),
        "empty": ("add", "", False, 0),
    }
    assert told(new) == {"fresh file": ("add", "", False, 1)}
    assert [(patch["added"], patch["removed"]) for patch in new] == [(1, 0)]


def test_a_file_in_conflict_shows_both_sides(program: Path, tmp_path: Path) -> None:
    folder, environ = tmp_path / "shop", closed(tmp_path)
    git = make_repository(folder, environ)
    git.run("checkout", "-q", "-b", "theirs")
    commit(git, "README", "hello from them\n")
    git.run("checkout", "-q", "main")
    commit(git, "README", "hello from us\n")
    Git(str(folder), environ).ask("merge", "theirs", limit=1000)
    repository = Repository(str(folder), environ)
    patches, files = ask(program, ("readPatches", repository.diff()), ("sortFiles", repository.status().files))
    lines = [line for patch in patches for hunk in patch["change"]["hunks"] for line in hunk["lines"]]
    assert [line for line in lines if "from" in line] == ["+hello from us", "+hello from them"]
    assert [line[:8] for line in lines if line[1:2] in "<=>"] == ["+<<<<<<<", "+=======", "+>>>>>>>"]
    assert files == {"conflicts": [{"path": "README", "old": "", "letter": "!"}], "staged": [], "unstaged": []}


def test_files_are_sorted_into_what_a_commit_takes_and_what_it_leaves(program: Path, tmp_path: Path) -> None:
    folder, environ = tmp_path / "shop", closed(tmp_path)
    git = make_repository(folder, environ)
    commit(git, "both", "one\n")
    (folder / "both").write_text("two\n")
    git.run("add", "both")
    (folder / "both").write_text("three\n")
    (folder / "new").touch()
    (files,) = ask(program, ("sortFiles", Repository(str(folder), environ).status().files))
    both = {"path": "both", "old": "", "letter": "M"}
    new = {"path": "new", "old": "", "letter": "?"}
    assert files == {"conflicts": [], "staged": [both], "unstaged": [both, new]}


TEXTS = (
    (b"", "\n", b""),
    (b"one\ntwo", "\n", b"one\ntwo"),
    (b"one\r\ntwo\r\n", "\r\n", b"one\r\ntwo\r\n"),
    (b"one\r\ntwo\n", "mixed", b"one\ntwo\n"),
    ("\ufeffä\n".encode(), "\n", "\ufeffä\n".encode()),
)


def test_text_goes_back_as_it_came(program: Path) -> None:
    read = ask(program, *(("roundTrip", raw.hex()) for raw, _, _ in TEXTS))
    assert [(each["ends"], bytes.fromhex(each["back"])) for each in read] == [(ends, back) for _, ends, back in TEXTS]
    assert not any("\r" in each["text"] for each in read)


def test_what_is_no_text_is_told_from_it_and_names_tell_the_rest(program: Path) -> None:
    calls: list[tuple[str, object]] = [("roundTrip", raw.hex()) for raw in (b"a\0b", b"\xff\xfe", b"caf\xe9")]
    calls += [("languageOf", name) for name in ("/a/b.PY", "/a.b/Makefile", "/x/Dockerfile", "/x/.env")]
    calls += [("pictureType", name) for name in ("/a/b.PNG", "/a/b.svg", "/a/png")]
    calls += [("isName", name) for name in ("a.txt", "a/b", "", "..", "a/../b", "/a", "a//b")]
    assert ask(program, *calls) == [
        *(None, None, None),
        *("py", "makefile", "dockerfile", "ini"),
        *("image/png", "image/svg+xml", ""),
        *(True, True, False, False, False, False, False),
    ]


def test_the_edits_of_a_session_are_gathered_by_file(program: Path) -> None:
    def call(number: int, *changes: dict[str, str], status: str = "completed", ok: bool = True) -> dict[str, object]:
        detail = {"kind": "file_change", "changes": changes}
        return {"type": "tool", "id": str(number), "status": status, "ok": ok, "detail": detail}

    items = [
        {"type": "message", "id": "m"},
        call(1, {"path": "/a"}, {"path": "/b"}),
        call(2, {"path": "/a"}, status="denied", ok=False),
        call(3, {"path": "/a"}, status="running"),
        call(4, {"path": "/b", "moved_to": "/c"}),
        {**call(5), "detail": {"kind": "command"}},
    ]
    (files,) = ask(program, ("sessionEdits", items))
    seen = {file["path"]: [edit["call"] for edit in file["edits"]] for file in files}
    assert seen == {"/a": ["1", "3"], "/c": ["1", "4"]}
