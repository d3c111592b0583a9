"""Recorded session files of the CLI, by version and case; INDEX of the cases is section 13 of the protocol notes."""

from __future__ import annotations

from pathlib import Path

from footplate.engines.claude.transcript import Transcript

FOLDER = Path(__file__).resolve().parents[3] / "fixtures" / "claude-restart"
VERSIONS = ("2.1.325", "2.1.197")
FILES = sorted(FOLDER.glob("*/transcripts/*.jsonl"))


def file_of(version: str, case: str) -> Path:
    """The file of a case."""
    return FOLDER / version / "transcripts" / f"{case}.jsonl"


def lines_of(version: str, case: str) -> list[bytes]:
    """Its lines, each with its newline."""
    return file_of(version, case).read_bytes().splitlines(keepends=True)


def transcript_of(version: str, case: str) -> Transcript:
    """What it says."""
    return Transcript.of(lines_of(version, case))


def name_of(path: Path) -> str:
    """How a test names a file."""
    return f"{path.parent.parent.name}-{path.stem}"
