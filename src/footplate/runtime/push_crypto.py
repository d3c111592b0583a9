"""Web Push on the wire: a payload that only one browser can read (RFC 8291), signed by this server (RFC 8292). Pure.

The keys are those of P-256, written as browsers write them: base64url without padding, points uncompressed.
`cryptography` is an extra; whoever calls without it gets `SwitchedOff`.
"""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

import msgspec

from footplate.errors import InvalidValue, SwitchedOff

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey, EllipticCurvePublicKey

RECORD: Final = 4096
LARGEST: Final = 3993
"""The longest payload that every push service takes."""
POINT_BYTES: Final = 65
AUTH_BYTES: Final = 16
SALT_BYTES: Final = 16


def check_available() -> None:
    """Raise `SwitchedOff` where the extra is not installed."""
    try:
        import cryptography.hazmat.primitives.asymmetric.ec  # noqa: F401, PLC0415  (only who pushes pays for it)
    except ImportError as problem:
        raise SwitchedOff("Web Push needs the extra `push`: pip install 'footplate[push]'") from problem


def to_text(raw: bytes) -> str:
    """base64url without padding."""
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def from_text(text: str, *, name: str, size: int) -> bytes:
    """The bytes of a base64url text, padded or not. Raises `InvalidValue` unless there are so many."""
    try:
        raw = base64.b64decode(text.rstrip("=") + "=" * (-len(text.rstrip("=")) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raw = b""
    if len(raw) != size:
        raise InvalidValue(name, text[:100], f"{size} bytes as base64url")
    return raw


def new_key() -> str:
    """A private key of this server, as text to be kept."""
    from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415

    return to_text(ec.generate_private_key(ec.SECP256R1()).private_numbers().private_value.to_bytes(32, "big"))


def public_part(key: str) -> str:
    """What browsers are told of it."""
    return to_text(_point(_private(key).public_key()))


def check_browser_key(text: str) -> None:
    """Raise `InvalidValue` unless it is a point of the curve."""
    _public(from_text(text, name="keys.p256dh", size=POINT_BYTES))


def encrypt(payload: bytes, *, browser: str, auth: str, own: str, salt: bytes) -> bytes:
    """The body of a push message: one record of aes128gcm with our public key in its head.

    `own` is a private key and `salt` are bytes that are used for this message only.
    """
    from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415

    if len(payload) > LARGEST:
        raise InvalidValue("payload", f"{len(payload)} bytes", f"at most {LARGEST}")
    theirs = from_text(browser, name="keys.p256dh", size=POINT_BYTES)
    private = _private(own)
    ours = _point(private.public_key())
    key, nonce = derive(
        private.exchange(ec.ECDH(), _public(theirs)),
        from_text(auth, name="keys.auth", size=AUTH_BYTES),
        theirs,
        ours,
        salt,
    )
    head = salt + RECORD.to_bytes(4, "big") + bytes((len(ours),)) + ours
    return head + AESGCM(key).encrypt(nonce, payload + b"\x02", None)


def derive(shared: bytes, auth: bytes, browser: bytes, sender: bytes, salt: bytes) -> tuple[bytes, bytes]:
    """The key and the nonce of the one record, from what both sides know."""
    secret = _expand(shared, auth, b"WebPush: info\x00" + browser + sender, 32)
    key = _expand(secret, salt, b"Content-Encoding: aes128gcm\x00", 16)
    return key, _expand(secret, salt, b"Content-Encoding: nonce\x00", 12)


def sign(key: str, endpoint: str, *, subject: str, expires: int) -> str:
    """The `Authorization` by which the push service knows who sends (RFC 8292)."""
    from cryptography.hazmat.primitives import hashes  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric import ec, utils  # noqa: PLC0415

    parts = urlsplit(endpoint)
    claims = {"aud": f"{parts.scheme}://{parts.netloc}", "exp": expires, "sub": subject}
    head = to_text(b'{"typ":"JWT","alg":"ES256"}')
    signed = f"{head}.{to_text(msgspec.json.encode(claims))}"
    r, s = utils.decode_dss_signature(_private(key).sign(signed.encode(), ec.ECDSA(hashes.SHA256())))
    signature = to_text(r.to_bytes(32, "big") + s.to_bytes(32, "big"))
    return f"vapid t={signed}.{signature}, k={public_part(key)}"


def _expand(secret: bytes, salt: bytes, info: bytes, size: int) -> bytes:
    from cryptography.hazmat.primitives import hashes  # noqa: PLC0415
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF  # noqa: PLC0415

    return HKDF(algorithm=hashes.SHA256(), length=size, salt=salt, info=info).derive(secret)


def _private(text: str) -> EllipticCurvePrivateKey:
    from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415

    return ec.derive_private_key(int.from_bytes(from_text(text, name="key", size=32), "big"), ec.SECP256R1())


def _public(point: bytes) -> EllipticCurvePublicKey:
    from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415

    try:
        return ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), point)
    except ValueError as problem:
        raise InvalidValue("keys.p256dh", to_text(point), "a point of P-256, uncompressed") from problem


def _point(key: EllipticCurvePublicKey) -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat  # noqa: PLC0415

    return key.public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
