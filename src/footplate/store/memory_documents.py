"""Documents in memory."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

from footplate.errors import InvalidValue, WrongVersion
from footplate.store.base import LIST_LIMIT
from footplate.store.entries import check_limit
from footplate.store.paging import make_page
from footplate.store.values import Document, Page


class MemoryDocuments:
    """The documents of one namespace."""

    def __init__(
        self, namespace: str, held: dict[str, Document], versions: Iterator[int], clock: Callable[[], float]
    ) -> None:
        self._namespace = namespace
        self._held = held
        self._versions = versions
        self._clock = clock

    async def get(self, key: str) -> Document | None:
        """The document, if there is one."""
        return self._held.get(key)

    async def put(self, key: str, body: bytes, *, expect: int | None = None, durable: bool = True) -> int:
        """Write it; its new version."""
        if not key:
            raise InvalidValue("key", key, "a name")
        self._check(key, expect)
        document = Document(key=key, version=next(self._versions), body=body, time=self._clock())
        self._held[key] = document
        await asyncio.sleep(0)
        return document.version

    async def delete(self, key: str, *, expect: int | None = None, durable: bool = True) -> bool:
        """Remove it; False when it was not there."""
        self._check(key, expect)
        return self._held.pop(key, None) is not None

    async def list(self, prefix: str = "", *, after: str | None = None, limit: int = LIST_LIMIT) -> Page[Document]:
        """The documents whose keys begin so, in order of keys."""
        check_limit(limit)
        keys = sorted(key for key in self._held if key.startswith(prefix) and (after is None or key > after))
        return make_page([self._held[key] for key in keys[: limit + 1]], limit, lambda document: document.key)

    def _check(self, key: str, expect: int | None) -> None:
        held = self._held.get(key)
        actual = held.version if held else 0
        if expect is not None and actual != expect:
            raise WrongVersion(f"{self._namespace}/{key}", expect, actual)
