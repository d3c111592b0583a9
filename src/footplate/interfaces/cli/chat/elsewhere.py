"""A text changed in the person's own editor."""

from __future__ import annotations

import asyncio
import shlex
import tempfile
from collections.abc import Mapping
from pathlib import Path

from footplate.interfaces.cli.chat.text import Line


def editor_of(environ: Mapping[str, str]) -> list[str]:
    """The editor's command line: `VISUAL`, `EDITOR`, else `vi`."""
    for name in ("VISUAL", "EDITOR"):
        try:
            words = shlex.split(environ.get(name, ""))
        except ValueError:
            continue
        if words:
            return words
    return ["vi"]


async def edit_text(text: str, environ: Mapping[str, str]) -> str | Line:
    """The text as the person left it, or a line that says why there is none."""
    command = editor_of(environ)
    with tempfile.TemporaryDirectory(prefix="footplate-") as folder:
        path = Path(folder) / "input.json"
        path.write_text(text + "\n", encoding="utf-8")
        try:
            process = await asyncio.create_subprocess_exec(*command, str(path))
        except OSError as problem:
            return Line(f"✗ the editor {command[0]!r} cannot be started: {problem.strerror}; set EDITOR", "failed")
        try:
            code = await process.wait()
        except asyncio.CancelledError:
            process.terminate()
            await process.wait()
            raise
        if code != 0:
            return Line(f"✗ the editor ended with {code}; nothing was answered", "failed")
        try:
            return path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            return Line("✗ the edited text is not UTF-8; nothing was answered", "failed")
