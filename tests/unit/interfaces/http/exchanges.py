"""Recorded exchanges of the server whose clients we serve, and how ours are compared with them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx

FOLDER = Path(__file__).resolve().parents[3] / "fixtures" / "http"
PROBLEM = "application/problem+json"


def load(name: str, places: Mapping[str, str]) -> list[dict[str, Any]]:
    """The exchanges of a file, its folders replaced by ours."""
    text = (FOLDER / name).read_text()
    for theirs, ours in places.items():
        text = text.replace(theirs, ours)
    exchanges: list[dict[str, Any]] = json.loads(text)
    return exchanges


async def play(client: httpx.AsyncClient, asked: Mapping[str, Any]) -> httpx.Response:
    """Ask the same of our server."""
    body = asked["body"]
    if isinstance(body, str) or body is None:
        return await client.request(asked["method"], asked["path"], headers=asked["headers"], content=body)
    return await client.request(asked["method"], asked["path"], headers=asked["headers"], json=body)


def content(answer: httpx.Response) -> object:
    """The body: JSON where it is JSON, else text."""
    kind = answer.headers.get("content-type", "")
    return answer.json() if "json" in kind else answer.text


def without(value: object, *names: str) -> object:
    """A body without the values that differ from run to run; that they are there is kept."""
    if isinstance(value, list):
        return [without(each, *names) for each in value]
    if isinstance(value, dict):
        return {name: "..." if name in names else without(inner, *names) for name, inner in value.items()}
    return value
