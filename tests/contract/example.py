"""The example package of `examples/`, installed by pip into a folder of its own and put on the path of this process."""

from __future__ import annotations

import atexit
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

from footplate.engines import catalog

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@cache
def install_example(name: str = "footplate-tally") -> Path:
    """Install it, once per process; the folder. A change of the package is not seen in between."""
    folder = Path(tempfile.mkdtemp(prefix="footplate-example-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    source = folder / "source"
    shutil.copytree(EXAMPLES / name, source)  # a build leaves nothing in the repository
    flags = ("--quiet", "--no-deps", "--no-build-isolation", "--disable-pip-version-check", "--target")
    argv = [sys.executable, "-m", "pip", "install", *flags, str(folder / "site"), str(source)]
    subprocess.run(argv, check=True, timeout=120, capture_output=True)
    sys.path.append(str(folder / "site"))
    catalog._plugins.cache_clear()  # looked up once by a process, and this one has looked already
    return folder / "site"
