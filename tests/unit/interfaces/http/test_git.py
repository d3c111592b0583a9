"""git over HTTP: the calls of the page's panel, and who may make them."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from footplate.config.machine import FilesSettings
from footplate.config.settings import Settings
from footplate.host.git import Git
from tests.unit.interfaces.http.reading import get, post
from tests.unit.interfaces.http.served import Served, serve
from tests.unit.repositories import closed, make_repository, write


@pytest.fixture
def git(tmp_path: Path) -> Git:
    """A repository whose commits have an author, whatever the environment of the server."""
    made = make_repository(tmp_path / "repo", closed(tmp_path))
    made.run("config", "user.name", "Ada")
    made.run("config", "user.email", "ada@example.org")
    return made


async def test_a_change_goes_from_the_panel_into_a_commit(client: httpx.AsyncClient, git: Git) -> None:
    write(git.folder, "new", text="one\n")
    where = {"path": git.folder}
    status = await get(client, "/api/git/status", 200, **where)
    assert (status["root"], status["branch"], [each["path"] for each in status["files"]]) == (
        git.folder,
        "main",
        ["new"],
    )
    assert "+one" in (await get(client, "/api/git/diff", 200, file="new", **where))["text"]
    staged = await post(client, "/api/git/stage", 200, files=["new"], **where)
    assert staged["files"] == [{"path": "new", "kind": "changed", "index": "A"}]
    assert (await post(client, "/api/git/unstage", 200, **where))["files"][0]["kind"] == "untracked"
    made = await post(client, "/api/git/commit", 201, message="add new", all=True, **where)
    assert (made["subject"], made["author"]) == ("add new", "Ada")
    log = await get(client, "/api/git/log", 200, limit=1, **where)
    assert log["commits"] == [made]
    (branch,) = (await get(client, "/api/git/branches", 200, **where))["branches"]
    assert (branch["name"], branch["current"], branch["head"]) == ("main", True, made["id"])
    nothing = await post(client, "/api/git/commit", 409, message="again", **where)
    assert nothing["type"] == "urn:sandbox-agent:error:git_refused"
    assert "nothing to commit" in nothing["detail"]


async def test_what_changed_since_a_session_began(client: httpx.AsyncClient, git: Git) -> None:
    session = await post(client, "/api/sessions", 201, engine="mock", cwd=git.folder)
    write(git.folder, "README", text="changed\n")
    changes = await get(client, f"/api/sessions/{session['id']}/changes")
    assert changes["root"] == git.folder
    assert [each["path"] for each in changes["diff"]["files"]] == ["README"]
    assert "-hello\n+changed" in changes["diff"]["text"]


async def test_a_folder_that_is_no_checkout_is_told(client: httpx.AsyncClient, served: Served) -> None:
    problem = await get(client, "/api/git/status", 409, path=str(served.work))
    assert "not a git repository" in problem["detail"]
    missing = await get(client, "/api/git/status", 400, path="nowhere")
    assert "path not found" in missing["detail"]


async def test_git_keeps_to_the_folders_of_the_token_and_to_its_scope(
    client: httpx.AsyncClient, served: Served, git: Git
) -> None:
    where = {"path": git.folder}
    for scope, folder, status in (
        ("drive", git.folder, 200),
        ("drive", f"{git.folder}/inner", 403),
        ("drive", "/elsewhere", 403),
        ("files", git.folder, 403),
        ("read", git.folder, 403),
    ):
        made = await post(client, "/api/tokens", 201, name=scope, scopes=[scope], projects=[folder])
        async with served.client(made["token"]) as other:
            await get(other, "/api/git/status", status, **where)


async def test_git_keeps_to_the_roots_of_the_settings(tmp_path: Path, git: Git) -> None:
    inner = tmp_path / "repo" / "inner"
    inner.mkdir()
    async with serve(tmp_path, Settings(files=FilesSettings(roots=(str(inner),)))) as served, served.client() as client:
        refused = await get(client, "/api/git/status", 403, path=str(inner))
        assert "outside of what may be touched" in refused["detail"], "the checkout begins above the root"
