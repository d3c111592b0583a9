"""What Footplate has installed: a folder per agent in the data folder, with its program and a receipt of it.

installs/ID/bin/ID          the program in force, a link
installs/ID/receipt.json    which version, from where, how it is started, what it said when it was greeted
installs/ID/VERSION.../     the fetched files; those of the version before are kept for who still runs it
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import msgspec

from footplate.config.acp import AcpAgentSettings
from footplate.config.places import data_folder
from footplate.engines.distribution import Offer

RECEIPT: Final = "receipt.json"
UNFINISHED: Final = ".fetching"
"""A file in a folder that is being filled: one that still has it was left by an install that was killed."""
KEPT: Final = 2
"""How many versions stay on the disk: the one in force, and the one before it."""


class Receipt(msgspec.Struct, frozen=True, kw_only=True):
    """An install of ours. `offer` is what was installed, `said` what it answered to the greeting."""

    offer: Offer
    version: str
    way: str
    program: str
    args: tuple[str, ...]
    env: Mapping[str, str] = {}
    folder: str
    installed_at: float
    said: str = ""


def installs_folder(environ: Mapping[str, str]) -> Path:
    """Where all of our installs lie."""
    return data_folder(environ) / "installs"


def own_program(environ: Mapping[str, str], agent: str) -> str:
    """The program of our own install of an agent; empty when there is none."""
    program = installs_folder(environ) / agent / "bin" / agent
    return str(program) if program.exists() else ""


def find_receipt(environ: Mapping[str, str], agent: str) -> Receipt | None:
    """The receipt of an agent that we installed; None when we did not, or its program is gone."""
    if not own_program(environ, agent):
        return None
    try:
        return msgspec.json.decode((installs_folder(environ) / agent / RECEIPT).read_bytes(), type=Receipt)
    except (OSError, msgspec.MsgspecError):
        return None


def receipts(environ: Mapping[str, str]) -> Iterator[Receipt]:
    """The receipts of everything that we installed."""
    folder = installs_folder(environ)
    for each in sorted(folder.iterdir()) if folder.is_dir() else ():
        receipt = find_receipt(environ, each.name)
        if receipt is not None:
            yield receipt


def installed_commands(environ: Mapping[str, str]) -> dict[str, AcpAgentSettings]:
    """The agents of registries that we installed, as commands that speak ACP."""
    return {
        each.offer.id: AcpAgentSettings(
            command=(own_program(environ, each.offer.id), *each.args), env=each.env, env_pass=each.offer.passed
        )
        for each in receipts(environ)
        if each.offer.wire == "acp"
    }


def remove_unfinished(home: Path) -> None:
    """Remove what installs of an agent have left that were killed. Who calls it holds the lock of its installs."""
    for left in home.glob(f"*/{UNFINISHED}"):
        shutil.rmtree(left.parent, ignore_errors=True)


def put_in_force(environ: Mapping[str, str], receipt: Receipt) -> str:
    """Make an install the one that is found: the link is replaced in one step, then the receipt. Where it is."""
    home = installs_folder(environ) / receipt.offer.id
    (Path(receipt.folder) / UNFINISHED).unlink(missing_ok=True)
    (home / "bin").mkdir(parents=True, exist_ok=True)
    nonce = secrets.token_hex(4)
    link, fresh = home / "bin" / receipt.offer.id, home / "bin" / f".{nonce}"
    fresh.symlink_to(os.path.relpath(receipt.program, link.parent))
    fresh.replace(link)
    written = home / f".{nonce}.json"
    written.write_bytes(msgspec.json.format(msgspec.json.encode(receipt)))
    written.replace(home / RECEIPT)
    _tidy(home, receipt.folder)
    return str(link)


def _tidy(home: Path, current: str) -> None:
    """Remove all but the version in force and the one before it."""
    trees = [each for each in home.iterdir() if each.is_dir() and each.name != "bin" and str(each) != current]
    trees.sort(key=lambda each: each.stat().st_mtime, reverse=True)
    for old in trees[KEPT - 1 :]:
        shutil.rmtree(old, ignore_errors=True)


def remove_install(environ: Mapping[str, str], agent: str) -> bool:
    """Remove our install of an agent; False when there is none."""
    home = installs_folder(environ) / agent
    if not home.is_dir() or home.parent != installs_folder(environ):
        return False
    gone = home.with_name(f".{agent}.{secrets.token_hex(4)}")
    home.rename(gone)
    shutil.rmtree(gone, ignore_errors=True)
    return True
