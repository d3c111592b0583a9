"""A scripted push service: gives out subscriptions as a browser would, takes messages, and reads them as one would.

    with ScriptedPush.start() as service:
        browser = service.subscribe()
        ... hand `browser.to_json()` to a server whose `[push] services` allow 127.0.0.1 ...
        message = service.next()

It refuses what a real one refuses (no signature, a wrong one, too long a life, too large a body), and what it is told
to: `service.refuse(429, retry_after=1)` holds for the next message.
"""

from __future__ import annotations

import base64
import queue
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final

import msgspec
from cryptography.exceptions import InvalidSignature, InvalidTag
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, utils
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from footplate.testing.threaded import serving

LONGEST_LIFE_S: Final = 24 * 3600
LARGEST: Final = 4096
PATIENCE_S: Final = 30.0


def _text(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def _raw(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


class Browser:
    """One subscription: its address, and the keys that only the browser has."""

    def __init__(self, endpoint: str, key: ec.EllipticCurvePrivateKey | None = None, auth: bytes = b"0123456789abcdef"):
        self.endpoint = endpoint
        self.gone = False
        self._key = key or ec.generate_private_key(ec.SECP256R1())
        self._auth = auth

    @property
    def point(self) -> bytes:
        """The public key."""
        return self._key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)

    def to_json(self) -> dict[str, object]:
        """As `PushSubscription.toJSON()` gives it."""
        keys = {"p256dh": _text(self.point), "auth": _text(self._auth)}
        return {"endpoint": self.endpoint, "expirationTime": None, "keys": keys}

    def read(self, body: bytes) -> bytes:
        """What a message says (RFC 8188 and RFC 8291). Raises `InvalidTag`, `ValueError`."""
        salt, size = body[:16], int.from_bytes(body[16:20], "big")
        sender, sealed = body[21 : 21 + body[20]], body[21 + body[20] :]
        if len(sealed) > size:
            raise ValueError("more than one record")
        their = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), sender)
        shared = self._key.exchange(ec.ECDH(), their)

        def expand(secret: bytes, with_salt: bytes, info: bytes, length: int) -> bytes:
            return HKDF(algorithm=hashes.SHA256(), length=length, salt=with_salt, info=info).derive(secret)

        secret = expand(shared, self._auth, b"WebPush: info\0" + self.point + sender, 32)
        key = expand(secret, salt, b"Content-Encoding: aes128gcm\0", 16)
        nonce = expand(secret, salt, b"Content-Encoding: nonce\0", 12)
        padded = AESGCM(key).decrypt(nonce, sealed, None)
        text, mark, _ = padded.rpartition(b"\x02")
        if not mark:
            raise ValueError("no end of the last record")
        return text


class Received(msgspec.Struct, frozen=True, kw_only=True):
    """One message that was taken: the browser's id, the headers, and what only that browser can read."""

    browser: Browser
    headers: dict[str, str]
    payload: bytes
    subject: str
    sender: str


class Claims(msgspec.Struct, frozen=True, kw_only=True):
    """What the sender says of itself."""

    aud: str
    exp: int
    sub: str


class Refusal(msgspec.Struct, frozen=True, kw_only=True):
    """What the next message is answered with."""

    status: int
    retry_after: str = ""


class ScriptedPush:
    """The service on a socket of this machine."""

    def __init__(self, server: ThreadingHTTPServer) -> None:
        self._server = server
        self._browsers: dict[str, Browser] = {}
        self._received: queue.Queue[Received] = queue.Queue()
        self._refusals: queue.Queue[Refusal] = queue.Queue()
        self.refused: list[tuple[int, str]] = []

    @classmethod
    @contextmanager
    def start(cls) -> Iterator[ScriptedPush]:
        """A service for as long as the block lasts."""
        server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        service = cls(server)
        server.RequestHandlerClass = type("Handler", (_Handler,), {"service": service})
        with serving(server, "scripted-push"):
            yield service

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def subscribe(self) -> Browser:
        """A new browser."""
        path = f"/push/{len(self._browsers) + 1}"
        self._browsers[path] = browser = Browser(self.url + path)
        return browser

    def refuse(self, status: int, *, retry_after: str = "") -> None:
        """Answer the next message so."""
        self._refusals.put(Refusal(status=status, retry_after=retry_after))

    def next(self) -> Received:
        """The next message that was taken. Raises `queue.Empty` when none comes."""
        return self._received.get(timeout=PATIENCE_S)

    @property
    def waiting(self) -> int:
        """How many were taken and not looked at."""
        return self._received.qsize()

    def take(self, path: str, headers: dict[str, str], body: bytes) -> Refusal:
        """Judge one message as a real service would, and keep it if it is good."""
        answer = self._judge(path, headers, body)
        if answer.status != 201:
            self.refused.append((answer.status, path))
        return answer

    def _judge(self, path: str, headers: dict[str, str], body: bytes) -> Refusal:
        browser = self._browsers.get(path)
        if browser is None or browser.gone:
            return Refusal(status=410 if browser is not None else 404)
        if not self._refusals.empty():
            return self._refusals.get()
        if len(body) > LARGEST:
            return Refusal(status=413)
        if headers.get("content-encoding") != "aes128gcm" or not headers.get("ttl", "").isdecimal():
            return Refusal(status=400)
        try:
            claims, sender = check_signature(headers.get("authorization", ""), audience=self.url)
            payload = browser.read(body)
        except (InvalidSignature, ValueError, msgspec.DecodeError):
            return Refusal(status=403)
        except InvalidTag:
            return Refusal(status=400)
        self._received.put(
            Received(browser=browser, headers=headers, payload=payload, subject=claims.sub, sender=sender)
        )
        return Refusal(status=201)


def check_signature(authorization: str, *, audience: str) -> tuple[Claims, str]:
    """Who signed, and what (RFC 8292). Raises `InvalidSignature`, `ValueError`."""
    scheme, _, rest = authorization.partition(" ")
    parts = dict(part.strip().split("=", 1) for part in rest.split(","))
    if scheme != "vapid" or set(parts) != {"t", "k"}:
        raise ValueError("no vapid")
    signed, _, signature = parts["t"].rpartition(".")
    key = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), _raw(parts["k"]))
    raw = _raw(signature)
    encoded = utils.encode_dss_signature(int.from_bytes(raw[:32], "big"), int.from_bytes(raw[32:], "big"))
    key.verify(encoded, signed.encode(), ec.ECDSA(hashes.SHA256()))
    claims = msgspec.json.decode(_raw(signed.split(".")[1]), type=Claims)
    if claims.aud != audience or not 0 < claims.exp - time.time() <= LONGEST_LIFE_S:
        raise ValueError("for another service, or for another time")
    return claims, parts["k"]


class _Handler(BaseHTTPRequestHandler):
    service: ScriptedPush
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """Take a message."""
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        answer = self.service.take(self.path, {name.lower(): value for name, value in self.headers.items()}, body)
        self.send_response(answer.status)
        if answer.retry_after:
            self.send_header("retry-after", answer.retry_after)
        self.send_header("content-length", "0")
        self.send_header("connection", "close")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""
