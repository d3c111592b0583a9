"""A registry of ACP agents as offers: every kind of distribution, and what cannot be read."""

from __future__ import annotations

import json

import pytest

from footplate.engines.distribution import (
    Archive,
    Binary,
    Npm,
    Offer,
    Uvx,
    describe_way,
    machine_platform,
    node_platforms,
    pick_way,
    pin_version,
)
from footplate.engines.greeting import Greeted, hello, read_hello
from footplate.engines.known_agents import OFFERS
from footplate.engines.registry import read_registry
from footplate.errors import ConfigError

SAID = b'{"type":"control_response","response":{"request_id":"1",%b}}'
AGENTS = [
    {
        "id": "a",
        "name": "A",
        "version": "1.0.0",
        "distribution": {"npx": {"package": "@x/a-cli@1.0.0", "args": ["--acp"]}},
    },
    {
        "id": "b",
        "version": "2",
        "distribution": {"uvx": {"package": "b-py[acp]==2.0", "args": ["b-acp"], "env": {"K": "v"}}},
    },
    {
        "id": "c",
        "version": "3",
        "distribution": {
            "binary": {"linux-x86_64": {"archive": "https://h/c.tgz", "cmd": "./c", "args": ["acp"], "sha256": "ab"}}
        },
    },
    {"id": "D", "distribution": {"npx": {"package": "d"}}},
    {"id": "e", "distribution": {"flatpak": {}}},
    {"id": "f", "distribution": {"npx": {"package": "f; rm -rf /"}}},
    {"distribution": {}},
]


def test_every_kind_of_distribution_becomes_an_offer_and_the_rest_is_told() -> None:
    found = read_registry(json.dumps({"version": "1.0.0", "agents": AGENTS, "extensions": []}).encode(), "r")
    a, b, c = found.offers
    common = {"passed": ("*_API_KEY", "*_BASE_URL"), "source": "r"}
    assert a == Offer(
        id="a", title="A", version="1.0.0", program="a-cli", args=("--acp",),
        ways=(Npm(package="@x/a-cli", version="1.0.0"),), **common,  # type: ignore[arg-type]
    )  # fmt: skip
    assert (b.ways, b.env, b.args) == ((Uvx(package="b-py", version="2.0", extras="acp"),), {"K": "v"}, ("b-acp",))
    archive = Archive(archive="https://h/c.tgz", cmd="./c", args=("acp",), sha256="ab")
    assert (c.program, c.args, c.ways) == ("c", ("acp",), (Binary(platforms={"linux-x86_64": archive}, version="3"),))
    assert len(found.problems) == 4
    assert all(f"agent {number}" in text for number, text in zip((4, 5, 6, 7), found.problems, strict=True))


@pytest.mark.parametrize("data", [b"[]", b"{", b"\xff", b'{"agents": 3}'])
def test_what_is_no_registry_is_an_error_of_the_settings(data: bytes) -> None:
    with pytest.raises(ConfigError, match="not a registry of agents"):
        read_registry(data, "r")


def test_the_way_is_the_first_that_fits_and_a_binary_cannot_be_pinned() -> None:
    here = Binary(platforms={machine_platform(): Archive(archive="x", cmd="y")}, version="1")
    there = Binary(platforms={"plan9-mips": Archive(archive="x", cmd="y")})
    npm = Npm(package="p", version="1")
    assert pick_way(Offer(id="a", title="A", ways=(there, here, npm))) is here
    assert pick_way(Offer(id="a", title="A", ways=(there,))) is None
    assert pin_version(npm, "2") == Npm(package="p", version="2")
    assert pin_version(here, "2") is here
    assert [describe_way(way) for way in (npm, there)] == ["npm p@1", "binary for plan9-mips"]
    assert all(name.startswith("linux-") or "-" in name for name in node_platforms())


def test_the_agents_that_we_know_are_pinned_and_tell_how_to_log_in() -> None:
    assert {offer.id for offer in OFFERS} == {
        "claude", "codex", "opencode", "gemini", "qwen", "copilot", "pi", "cursor", "amp",
    }  # fmt: skip
    for offer in OFFERS:
        assert offer.version
        assert offer.login
        assert all(way.version for way in offer.ways)


@pytest.mark.parametrize(
    ("wire", "line", "found"),
    [
        ("acp", b'{"id":1,"result":{"agentInfo":{"name":"g","version":"1"}}}', Greeted(name="g", version="1")),
        ("acp", b'{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"no"}}', Greeted(refused="no")),
        ("acp", b'{"jsonrpc":"2.0","method":"x"}', None),
        ("acp", b"Loading...", None),
        ("codex", b'{"id":1,"result":{"userAgent":"codex/0.1"}}', Greeted(name="codex/0.1")),
        ("claude", SAID % b'"subtype":"success"', Greeted(name="claude")),
        ("claude", SAID % b'"subtype":"error","error":"no"', Greeted(refused="no")),
        ("claude", b'{"type":"system"}', None),
    ],
)  # fmt: skip
def test_the_answer_to_a_greeting_is_told_from_the_rest(wire: object, line: bytes, found: Greeted | None) -> None:
    assert read_hello(wire, line) == found  # type: ignore[arg-type]
    assert json.loads(hello(wire))  # type: ignore[arg-type]
