"""The web page under /ui/: static files that were built into the package, a strict policy, and the right to be cached.

The page is a client of the public API like any other: nothing here knows sessions. Its files hold no secret, so no
token is asked for; the page keeps the caller's token itself (it comes in the fragment of the link, which no browser
sends). Files with a hash in their name may be kept for ever, all others are asked for again each time.
"""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path
from typing import Final

import msgspec
from starlette.responses import RedirectResponse, Response

from footplate.errors import EndpointUnknown
from footplate.interfaces.http.call import Call
from footplate.interfaces.http.routing import Routes

routes = Routes("page")

FOLDER: Final = Path(__file__).parent / "page"
HTML: Final = "text/html; charset=utf-8"
MEDIA: Final = {
    ".html": HTML,
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".webmanifest": "application/manifest+json",
    ".txt": "text/plain; charset=utf-8",
}
POLICY: Final = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data: blob:",
        "font-src 'self'",
        "connect-src 'self'",
        "manifest-src 'self'",
        "worker-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types dompurify footplate",
    )
)
HEADERS: Final = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}
FOR_EVER: Final = "public, max-age=31536000, immutable"
ASK_AGAIN: Final = "no-cache"
NOT_BUILT: Final = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Footplate</title>
<h1>The page is not part of this installation</h1>
<p>It is built when Footplate is installed, and for that npm and Node 20.19 or newer (22.12 or
newer in the 22 line) must be there. Install them, then:</p>
<pre>pip install --force-reinstall --no-deps footplate     # an installed package
make page                                              # a checkout</pre>
<p>and start the server again. The <a href="/openapi.json">HTTP API</a> and
<code>footplate chat</code> work without it.</p>
"""


class PageFile(msgspec.Struct, frozen=True, kw_only=True):
    """One file of the page, as it is and packed."""

    body: bytes
    packed: bytes
    media: str
    tag: str


@cache
def load_page(folder: Path = FOLDER) -> dict[str, PageFile]:
    """Every file of the built page by its path; empty where it was not built."""
    found: dict[str, PageFile] = {}
    for path in sorted(folder.rglob("*")):
        if path.suffix in MEDIA and path.is_file():
            body = path.read_bytes()
            packed = path.with_name(path.name + ".gz")
            found[path.relative_to(folder).as_posix()] = PageFile(
                body=body,
                packed=packed.read_bytes() if packed.exists() else b"",
                media=MEDIA[path.suffix],
                tag=f'"{hashlib.sha256(body).hexdigest()[:32]}"',
            )
    return found


@routes.get("/ui", scope=None, summary="The web page", listed=False)
async def without_slash(call: Call) -> RedirectResponse:
    return RedirectResponse("/ui/", status_code=308)


@routes.get("/ui/{path...}", scope=None, summary="The web page and its parts", listed=False, media=HTML)
async def page(call: Call) -> Response:
    files = load_page()
    if not files:
        return Response(NOT_BUILT, 503, headers={**HEADERS, "cache-control": "no-store"}, media_type=HTML)
    path = call.params["path"]
    if path not in files:
        if path.startswith("assets/") or Path(path).suffix:
            raise EndpointUnknown
        path = "index.html"  # a deep link: the page itself finds out what it means
    return _answer(call, path, files[path])


def _answer(call: Call, path: str, file: PageFile) -> Response:
    """The file, packed if the caller can unpack it, or that it has not changed."""
    kept = FOR_EVER if path.startswith("assets/") else ASK_AGAIN
    headers = {**HEADERS, "cache-control": kept, "etag": file.tag, "vary": "accept-encoding"}
    if file.tag in call.header("if-none-match"):
        return Response(status_code=304, headers=headers)
    if file.packed and "gzip" in call.header("accept-encoding"):
        return Response(file.packed, headers={**headers, "content-encoding": "gzip"}, media_type=file.media)
    return Response(file.body, headers=headers, media_type=file.media)
