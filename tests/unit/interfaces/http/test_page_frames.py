"""The raw lines of the page's inspector: a server that is away or refuses is not asked without a pause."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest

from tests.page_program import bundle_function, call_page

PLAY = """
import { FrameFeed } from "../src/inspector/frame_feed";

/** Has a feed ask a server that gives these statuses (0: not reached) and then the last one again and again. */
async function play({ statuses, loadAll, looks }) {
  let asked = 0;
  let pauses = [];
  globalThis.window = { setTimeout: (look) => pauses.push(look) };
  globalThis.document = { visibilityState: "visible" };
  globalThis.clearTimeout = () => undefined;
  globalThis.fetch = async () => {
    const status = statuses[Math.min(asked, statuses.length - 1)];
    asked += 1;
    if (asked > 1000) return new Promise(() => undefined); // it asks without end
    if (status === 0) throw new TypeError("fetch failed");
    const frame = { number: 100 - asked, seq: 1, time: 1, direction: "in", type: "t", size: 1, cut: false, raw: "x" };
    const page = { frames: [frame], cursor: frame.number, more: frame.number > 95, first: 1, last: 99 };
    return new Response(status === 200 ? JSON.stringify(page) : "{}", { status });
  };
  const settle = async () => { for (let n = 0; n < 100; n += 1) await new Promise((done) => setImmediate(done)); };
  const feed = new FrameFeed("s", "");
  await settle();
  if (loadAll) await Promise.race([feed.loadAll(), settle()]);
  const before = asked;
  for (let n = 0; n < looks; n += 1) {
    const due = pauses;
    pauses = [];
    due.forEach((look) => look());
    await settle();
  }
  const [rows, loading] = [feed.rows.length, feed.loading.value];
  return { asked: before, later: asked - before, waits: pauses.length, rows, loading };
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return bundle_function("frame_feed", PLAY, "await play(given)", tmp_path_factory.mktemp("feed"))


def play(program: Path, *statuses: int, load_all: bool = False, looks: int = 0) -> dict[str, object]:
    (answer,) = call_page(program, [{"statuses": statuses, "loadAll": load_all, "looks": looks}])
    return cast("dict[str, object]", answer)


def test_loading_all_ends_when_the_server_is_away(program: Path) -> None:
    assert play(program, 200, 0, load_all=True) == {"asked": 2, "later": 0, "waits": 1, "rows": 1, "loading": False}


def test_loading_all_reads_every_page(program: Path) -> None:
    assert play(program, 200, load_all=True) == {"asked": 5, "later": 0, "waits": 1, "rows": 5, "loading": False}


@pytest.mark.parametrize("status", [0, 500, 503, 429])
def test_a_first_read_that_fails_is_tried_again_after_a_pause(program: Path, status: int) -> None:
    shown = {"asked": 1, "later": 2, "waits": 1, "rows": 1, "loading": False}
    assert play(program, status, status, 200, looks=2) == shown


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_session_that_cannot_be_read_is_not_asked_for_again(program: Path, status: int) -> None:
    assert play(program, status, looks=3) == {"asked": 1, "later": 0, "waits": 0, "rows": 0, "loading": False}
    deleted = {"asked": 1, "later": 1, "waits": 0, "rows": 1, "loading": False}
    assert play(program, 200, status, looks=3) == deleted
