"""Fetching from the web: a text at once, a file to the disk, tried again where it broke off."""

from __future__ import annotations

import hashlib
import http.client
import logging
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from http.client import HTTPMessage
from pathlib import Path
from typing import IO, Final
from urllib.parse import urlsplit

from footplate.errors import FetchFailed
from footplate.events.wording import format_size
from footplate.version import __version__

TIMEOUT_S: Final = 60.0
CHUNK: Final = 256 * 1024
TEXT_LIMIT: Final = 32 * 1024 * 1024
WAITS: Final = (0.0, 0.5, 2.0)
"""How long to wait before each try."""

UNREADABLE_ADDRESS: Final = "an address that cannot be read"

log = logging.getLogger(__name__)
Told = Callable[[str], None]


class _SameOrigin(urllib.request.HTTPRedirectHandler):
    """Follows a redirect only to the same host and port: the headers of the request may hold a credential."""

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> urllib.request.Request | None:
        """Raises `OSError` for another origin."""
        if _origin(newurl) != _origin(req.full_url):
            raise OSError(f"it redirects to {_origin(newurl)}, which is not given the credential")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def fetch_text(address: str, credential: Mapping[str, str] | None = None, *, timeout_s: float = TIMEOUT_S) -> bytes:
    """What is at the address, or in the file of that name. Raises `FetchFailed`. Blocking.

    `credential` are headers that only this host may get, and that no error shows.
    """
    if credential is None and not address.startswith(("http://", "https://")):
        try:
            return Path(address.removeprefix("file://")).read_bytes()
        except OSError as problem:
            raise FetchFailed(address, problem.strerror or str(problem)) from problem
    secret = {name: value.strip() for name, value in (credential or {}).items()}  # as the agents' programs do
    damaged = [name for name, value in secret.items() if not value.isprintable() or not value.isascii()]
    if damaged:
        reason = f"the credential for {damaged[0]} has a line break or another character that no header can hold"
        raise FetchFailed(show_address(address), reason)
    try:
        opener = urllib.request.build_opener(_SameOrigin) if secret else urllib.request.build_opener()
        with opener.open(_request(address, secret), timeout=timeout_s) as answer:
            return bytes(answer.read(TEXT_LIMIT))
    except (OSError, http.client.HTTPException, ValueError) as problem:
        raise FetchFailed(show_address(address), _reason(problem)) from problem


def show_address(address: str) -> str:
    """The address without what may be secret in it: a name and password, and the query."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return UNREADABLE_ADDRESS
    if parts.scheme not in ("http", "https") or not parts.netloc:
        return UNREADABLE_ADDRESS
    return _origin(address) + parts.path


def fetch_file(address: str, target: Path, *, sha256: str = "", told: Told = lambda _: None) -> None:
    """Download to a file, going on where a try broke off. Raises `FetchFailed`, and leaves nothing then. Blocking."""
    part = target.with_name(f"{target.name}.part")
    part.unlink(missing_ok=True)
    reason = ""
    for wait in WAITS:
        time.sleep(wait)
        try:
            _download(address, part, told)
        except (OSError, http.client.HTTPException, ValueError) as problem:
            reason = _reason(problem)
            if isinstance(problem, urllib.error.HTTPError) and problem.code < 500 and problem.code != 416:
                break
            told(f"the download broke off: {reason}; trying again")
            continue
        found = _checksum(part)
        if sha256 and found != sha256.lower():
            part.unlink()
            reason = f"its checksum is {found}, not {sha256}"
            told(f"{reason}; trying again")
            continue
        part.replace(target)
        return
    part.unlink(missing_ok=True)
    raise FetchFailed(show_address(address), reason)


def _download(address: str, part: Path, told: Told) -> None:
    have = part.stat().st_size if part.exists() else 0
    headers = {"range": f"bytes={have}-"} if have else {}
    with urllib.request.urlopen(_request(address, headers), timeout=TIMEOUT_S) as answer:
        if answer.status != 206:
            have = 0
        length = answer.headers.get("content-length")
        whole = have + int(length) if length else 0
        step, shown = max(whole // 10, 1), 0
        with part.open("ab" if have else "wb") as file:
            while chunk := answer.read(CHUNK):
                file.write(chunk)
                have += len(chunk)
                if whole and have // step > shown:
                    shown = have // step
                    told(f"{have * 100 // whole} % of {format_size(whole)}")
    if whole and have < whole:
        raise OSError(f"{have} of {whole} bytes came")


def _checksum(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def _origin(address: str) -> str:
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


def _request(address: str, headers: Mapping[str, str] | None) -> urllib.request.Request:
    if not address.startswith(("http://", "https://")):
        raise ValueError("expected http:// or https:// and a host")
    if "@" in urlsplit(address).netloc:
        raise ValueError("a name or a password in an address is not supported")
    return urllib.request.Request(address, headers={"user-agent": f"footplate/{__version__}", **(headers or {})})


def _reason(problem: Exception) -> str:
    if isinstance(problem, urllib.error.URLError) and not isinstance(problem, urllib.error.HTTPError):
        return str(problem.reason)
    return str(problem) or type(problem).__name__
