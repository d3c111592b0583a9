"""The page's files: what may be kept, what is asked for again, what a browser is told to allow."""

from __future__ import annotations

import gzip
from pathlib import Path

import httpx
import pytest
from scripts.page_types import FILES

from footplate.interfaces.http import ui


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A page of three files, as the build leaves them."""
    folder = tmp_path / "page"
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_text("<!doctype html><title>x</title>")
    script = b"console.log(1)" * 100
    (folder / "assets" / "page-1a2b.js").write_bytes(script)
    (folder / "assets" / "page-1a2b.js.gz").write_bytes(gzip.compress(script))
    found = ui.load_page(folder)
    monkeypatch.setattr(ui, "load_page", lambda: found)
    return folder


async def test_the_page_needs_no_token_and_is_asked_for_again_each_time(client: httpx.AsyncClient, built: Path) -> None:
    answer = await client.get("/ui/", headers={"authorization": ""})
    assert (answer.status_code, answer.headers["cache-control"]) == (200, "no-cache")
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    again = await client.get("/ui/", headers={"if-none-match": answer.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


async def test_nothing_but_our_own_scripts_styles_and_calls_is_allowed(client: httpx.AsyncClient, built: Path) -> None:
    policy = (await client.get("/ui/")).headers["content-security-policy"]
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert rules["default-src"] == "'none'"
    assert rules["script-src"] == rules["style-src"] == rules["connect-src"] == "'self'"
    assert rules["require-trusted-types-for"] == "'script'"
    assert "unsafe" not in policy
    assert "http" not in policy


async def test_files_with_a_hash_are_kept_for_ever_and_come_packed(client: httpx.AsyncClient, built: Path) -> None:
    packed = await client.get("/ui/assets/page-1a2b.js", headers={"accept-encoding": "gzip"})
    assert packed.headers["content-encoding"] == "gzip"
    assert "immutable" in packed.headers["cache-control"]
    plain = await client.get("/ui/assets/page-1a2b.js", headers={"accept-encoding": "identity"})
    assert "content-encoding" not in plain.headers
    assert packed.content == plain.content
    assert plain.headers["content-type"].startswith("text/javascript")


async def test_a_deep_link_is_the_page_itself_and_a_missing_file_is_not(client: httpx.AsyncClient, built: Path) -> None:
    assert "<!doctype" in (await client.get("/ui/sessions/01ABC/files")).text
    assert (await client.get("/ui/assets/gone.js")).status_code == 404
    assert (await client.get("/ui/favicon.ico")).status_code == 404
    moved = await client.get("/ui")
    assert (moved.status_code, moved.headers["location"]) == (308, "/ui/")


async def test_without_a_built_page_the_server_says_how_to_get_it(
    client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ui, "load_page", dict)
    answer = await client.get("/ui/")
    assert answer.status_code == 503
    assert "Node 20" in answer.text
    assert "make page" in answer.text


def test_the_types_of_the_page_are_fresh() -> None:
    stale = [file.name for file, build in FILES.items() if file.read_text() != build()]
    assert stale == [], "run `make reference`"
