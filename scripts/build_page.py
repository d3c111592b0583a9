"""Builds the web page into the package: as a hook of the wheel, and by hand (`make page`).

Without Node the wheel is made without the page, and the server says how to get it. `FOOTPLATE_NO_PAGE=1` leaves it out.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = Path(__file__).resolve().parent.parent
TOLD = "Footplate's web page is left out: {}. The server will say how to get it."


class PageHook(BuildHookInterface):  # type: ignore[type-arg]
    """Builds the page before a wheel is packed. An editable install leaves that to `make`."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build it, or say why not."""
        if version == "editable":
            return
        if os.environ.get("FOOTPLATE_NO_PAGE"):
            self.app.display_warning(TOLD.format("FOOTPLATE_NO_PAGE is set"))
        elif shutil.which("npm") is None:
            self.app.display_warning(TOLD.format("npm is not installed"))
        else:
            build_page(Path(self.root))


def build_page(root: Path) -> None:
    """Install what the page is built with, and build it."""
    page = root / "web"
    if not (page / "node_modules" / ".ready").exists():
        _npm(page, "ci", "--no-audit", "--no-fund", "--loglevel=error")
        (page / "node_modules" / ".ready").touch()
    _npm(page, "run", "--silent", "build")


def _npm(folder: Path, *arguments: str) -> None:
    """Run npm there; what it says goes to standard error, so that a build's own output stays clean."""
    ran = subprocess.run(["npm", *arguments], cwd=folder, stdout=sys.stderr, check=False)
    if ran.returncode:
        raise SystemExit(
            f"`npm {' '.join(arguments)}` ended with {ran.returncode}: the web page cannot be built. "
            "FOOTPLATE_NO_PAGE=1 installs without it."
        )


if __name__ == "__main__":
    build_page(ROOT)
