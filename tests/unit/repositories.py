"""Small real repositories for tests, in an environment that knows nothing of the developer's git."""

from __future__ import annotations

import os
from pathlib import Path

from footplate.host.git import Git


def closed(home: Path) -> dict[str, str]:
    """An environment with a home of its own and a name for commits."""
    return {
        "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
        "HOME": str(home),
        "FOOTPLATE_DATA_DIR": str(home / "data"),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "A Tester",
        "GIT_AUTHOR_EMAIL": "tester@example.org",
        "GIT_COMMITTER_NAME": "A Tester",
        "GIT_COMMITTER_EMAIL": "tester@example.org",
    }


def make_repository(folder: Path, environ: dict[str, str], *, branch: str = "main") -> Git:
    """A repository with one commit."""
    folder.mkdir(parents=True)
    git = Git(str(folder), environ)
    git.run("init", "-q", "-b", branch)
    commit(git, "README", "hello\n")
    return git


def commit(git: Git, name: str, text: str) -> None:
    """Write a file and commit it."""
    path = Path(git.folder, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    git.run("add", "--", name)
    git.run("commit", "-q", "-m", f"write {name}")


def make_clone(origin: Git, folder: Path) -> Git:
    """A clone of it."""
    origin.run("clone", "-q", origin.folder, str(folder))
    return origin.at(str(folder))


def there(*parts: str) -> bool:
    """Whether something lies there."""
    return Path(*parts).exists()


def write(*parts: str, text: str = "x") -> None:
    """Write a file."""
    Path(*parts).write_text(text)
