"""Projects and worktrees over HTTP: list, add, remove; sessions on branches; tokens that reach one folder."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from tests.unit.interfaces.http.reading import get, post
from tests.unit.interfaces.http.served import Served
from tests.unit.repositories import closed, make_repository, there, write


@pytest.fixture
async def shop(tmp_path: Path, served: Served, client: httpx.AsyncClient) -> str:
    """The repository of the project `shop`."""
    git = make_repository(tmp_path / "shop", closed(tmp_path))
    made = await post(client, "/api/projects", 201, alias="shop", path=git.folder, default_engine="mock")
    assert (made["alias"], made["cwd"], made["worktrees"]) == ("shop", git.folder, f"{git.folder}/.worktrees")
    return git.folder


async def test_a_session_is_opened_on_a_branch_of_a_project(client: httpx.AsyncClient, shop: str) -> None:
    made = await post(client, "/api/sessions", 201, project="shop", branch="fix/login")
    assert (made["cwd"], made["engine"]) == (f"{shop}/.worktrees/fix/login", "mock")
    assert there(made["cwd"], "README")
    plain = await post(client, "/api/sessions", 201, project="shop")
    assert plain["cwd"] == shop
    (project,) = (await get(client, "/api/projects"))["projects"]
    assert (project["alias"], project["sessions"]) == ("shop", 2), "the worktree counts as the project"


@pytest.mark.parametrize(
    ("body", "status", "told"),
    [
        ({}, 400, "an absolute folder, or name a `project`"),
        ({"cwd": "/tmp", "project": "shop"}, 400, "none beside `project`"),
        ({"cwd": "/tmp", "branch": "x"}, 400, "none without `project`"),
        ({"project": "nobody"}, 404, "unknown project 'nobody'; known projects: shop"),
        ({"project": "shop", "branch": "../out"}, 400, "no leading / or -, no .."),
    ],
)
async def test_a_place_that_cannot_be_is_told(
    client: httpx.AsyncClient, shop: str, body: dict[str, str], status: int, told: str
) -> None:
    problem = await post(client, "/api/sessions", status, **body)
    assert told in problem["detail"]


async def test_worktrees_are_made_listed_kept_and_removed(client: httpx.AsyncClient, shop: str) -> None:
    made = await post(client, "/api/worktrees", 201, project="shop", branch="topic")
    assert made == {"cwd": f"{shop}/.worktrees/topic", "engine": "mock", "made": True}
    session = await post(client, "/api/sessions", 201, project="shop", branch="topic")
    write(made["cwd"], "new")
    listed = await get(client, "/api/worktrees", project="shop")
    (tree,) = listed["worktrees"]
    assert (tree["branch"], tree["uncommitted"], tree["sessions"]) == ("topic", 1, [session["id"]])
    assert listed["size"] == tree["size"] > 0
    query = {"project": "shop", "branch": "topic"}
    refused = await client.delete("/api/worktrees", params=query)
    assert (refused.status_code, "1 uncommitted file" in refused.json()["detail"]) == (409, True)
    assert (await post(client, "/api/worktrees/gc", 200))["removed"] == []
    gone = await client.delete("/api/worktrees", params={**query, "force": "1"})
    assert (gone.status_code, there(made["cwd"])) == (200, False)
    again = await client.delete("/api/worktrees", params=query)
    assert again.status_code == 404


async def test_the_settings_file_is_written_and_a_change_by_hand_is_seen(
    tmp_path: Path, client: httpx.AsyncClient, shop: str
) -> None:
    path = tmp_path / ".config" / "footplate" / "footplate.toml"
    assert path.read_text() == f'[projects.shop]\npath = "{shop}"\ndefault_engine = "mock"\n'
    path.write_text(f'# by hand\n{path.read_text()}\n[projects.other]\npath = "{tmp_path}"\n')
    aliases = {each["alias"] for each in (await get(client, "/api/projects"))["projects"]}
    assert aliases == {"shop", "other"}
    assert (await client.delete("/api/projects/shop")).status_code == 204
    assert path.read_text() == f'# by hand\n[projects.other]\npath = "{tmp_path}"\n'
    assert (await client.delete("/api/projects/shop")).status_code == 404


async def test_a_token_for_one_folder_reaches_no_other_project(
    tmp_path: Path, served: Served, client: httpx.AsyncClient, shop: str
) -> None:
    for scope, name in (("drive", "theirs"), ("read", "reader")):
        made = await post(client, "/api/tokens", 201, name=name, scopes=[scope], projects=[str(tmp_path / "elsewhere")])
        async with served.client(made["token"]) as other:
            assert (await get(other, "/api/projects"))["projects"] == []
            assert (await get(other, "/api/worktrees"))["worktrees"] == []
            denied = await post(other, "/api/sessions", 403, project="shop", branch="topic")
            assert "token" in denied["detail"]
            await post(other, "/api/projects", 403, alias="mine", path=shop)
            await post(other, "/api/worktrees/gc", 403)
    assert not there(shop, ".worktrees")
