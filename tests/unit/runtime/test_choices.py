"""What can be chosen of an agent: told by itself and by its provider, kept, and honest about where it is from."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from footplate.config.settings import Settings
from footplate.engines.catalog import make_engine
from footplate.engines.known_models import AS_OF, KNOWN, KnownModel, find_known, known_options
from footplate.errors import FetchFailed, UnknownEngine
from footplate.events.ids import EngineSessionId, SessionId
from footplate.events.model import ConfigChanged, ConfigOption, ConfigValue, EngineAttached, Envelope, Event
from footplate.host.process import Keeper
from footplate.interfaces.cli.models import render
from footplate.runtime.choices import ChoiceBook
from footplate.runtime.provider_models import ask_provider
from tests.unit.runtime.shelf import Shelf, open_shelf


@pytest.fixture
def shelf() -> Iterator[Shelf]:
    with open_shelf() as shelf:
        yield shelf


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "FOOTPLATE_DATA_DIR": str(tmp_path / "data")}


@pytest.fixture
async def keeper() -> AsyncIterator[Keeper]:
    async with Keeper.start() as keeper:
        yield keeper


def ask(engine: str, environ: dict[str, str]) -> tuple[KnownModel, ...]:
    return ask_provider(make_engine(engine), Settings(), environ)


def envelope(event: Event) -> Envelope:
    return Envelope(seq=1, time=0.0, session=SessionId("s"), epoch=1, source="engine", event=event)


def test_until_somebody_tells_the_list_says_that_it_is_built_in(environ: dict[str, str]) -> None:
    book = ChoiceBook(Settings(), environ)
    found = book.read("gemini")
    assert (found.source, found.as_of) == ("built-in list", AS_OF)
    assert {option.category for option in known_options("gemini")} <= {option.category for option in found.options}
    shown = render(found)
    assert shown.startswith(f"gemini: told by the built-in list, {AS_OF}\n")
    assert "    gemini-2.5-pro" in shown
    with pytest.raises(UnknownEngine):
        book.read("nobody")
    assert all(known.modes for known in KNOWN.values())


def test_output_limits_of_claude_models_are_in_the_built_in_list(environ: dict[str, str]) -> None:
    found = ChoiceBook(Settings(), environ).read("claude")
    assert all(model.output for model in (*KNOWN["claude"].models, *KNOWN["claude"].full))
    assert (found.models_source, found.models) == ("built-in list", KNOWN["claude"].full)
    shown = render(found)
    assert re.search(r"^    opus +Opus, 1.0M in, 128k out$", shown, re.MULTILINE)
    assert f"  Models by full id (built-in list, {AS_OF})\n" in shown
    assert "    claude-haiku-4-5-20251001    Haiku 4.5, 200k in, 64k out\n" in shown


@pytest.mark.parametrize(
    ("model", "version", "output"),
    [
        ("claude-opus-4-1-20250805", "", 32_000),
        ("claude-opus-4-1", "", 32_000),
        ("claude-sonnet-4-6[1m]", "2.1.197", 128_000),
        ("haiku", "2.1.325", 128_000),
        ("haiku", "2.1.197", None),
        ("claude-nobody-9", "", None),
    ],
)
def test_a_limit_is_found_by_full_id_and_by_a_name_only_of_the_same_version(
    model: str, version: str, output: int | None
) -> None:
    known = find_known("claude", model, version=version)
    assert (known.output if known is not None else None) == output


def test_what_an_agent_tells_in_a_session_is_kept(environ: dict[str, str]) -> None:
    told = (ConfigOption(id="m", label="Model", category="model", value="x", values=(ConfigValue(value="x"),)),)
    attached = EngineAttached(
        engine="claude", engine_session_id=EngineSessionId("e"), reason="started", version="9.1", cwd="/"
    )
    book = ChoiceBook(Settings(), environ)
    book.listen([envelope(ConfigChanged(options=()))])
    assert book.read("claude").source == "built-in list"
    book.listen([envelope(attached), envelope(ConfigChanged(options=told))])
    again = ChoiceBook(Settings(), environ).read("claude")
    assert (again.source, again.version, again.options) == ("agent", "9.1", told)


async def test_an_agent_is_asked_and_its_answer_kept(environ: dict[str, str], keeper: Keeper) -> None:
    book = ChoiceBook(Settings(), environ)
    found = await book.refresh("mock", keeper)
    assert (found.source, found.problems) == ("agent", ())
    assert {option.category for option in found.options} == {"model", "mode", "thought_level"}
    assert ChoiceBook(Settings(), environ).read("mock") == found
    missing = await book.refresh("gemini", keeper)
    assert missing.source == "built-in list"
    assert "was not found" in missing.problems[0]


async def test_a_provider_is_asked_page_by_page_where_a_key_is_at_hand(
    environ: dict[str, str], shelf: Shelf, keeper: Keeper
) -> None:
    assert ask("claude", environ) == ()
    one = {"id": "claude-a", "display_name": "A", "max_input_tokens": 200_000, "max_tokens": 64_000}
    shelf.put("/v1/models", json.dumps({"data": [one], "has_more": False}).encode())
    shelf.put("/models", json.dumps({"data": [{"id": "gpt-x"}]}).encode())
    gem = {"name": "models/gem", "displayName": "Gem", "inputTokenLimit": 5, "outputTokenLimit": 6}
    shelf.put("/v1beta/models", json.dumps({"models": [gem]}).encode())
    keyed = {
        **environ,
        "ANTHROPIC_API_KEY": "k",
        "ANTHROPIC_BASE_URL": shelf.url,
        "OPENAI_API_KEY": "k",
        "OPENAI_BASE_URL": shelf.url,
        "GEMINI_API_KEY": "k",
        "GOOGLE_GEMINI_BASE_URL": shelf.url,
    }
    assert ask("claude", keyed) == (KnownModel(id="claude-a", label="A", context=200_000, output=64_000),)
    assert ask("codex", keyed) == (KnownModel(id="gpt-x"),)
    assert ask("gemini", keyed) == (KnownModel(id="gem", label="Gem", context=5, output=6),)
    found = await ChoiceBook(Settings(), keyed).refresh("claude", keeper)
    assert (found.source, [model.id for model in found.models]) == ("provider", ["claude-a"])
    assert "claude-a                     A, 200k in, 64k out" in render(found)
    bare = {"id": "claude-opus-4-1-20250805"}
    shelf.put("/v1/models", json.dumps({"data": [bare], "has_more": False}).encode())
    assert ask("claude", keyed) == (KnownModel(id=bare["id"], context=200_000, output=32_000),)
    shelf.put("/v1/models", b"[]")
    with pytest.raises(FetchFailed, match="not a list of models"):
        ask("claude", keyed)
