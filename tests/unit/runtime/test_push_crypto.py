"""Web Push on the wire, against the example of RFC 8291 and against the reading side."""

from __future__ import annotations

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import ec

from footplate.errors import InvalidValue
from footplate.runtime import push_crypto as crypto
from footplate.testing.push import Browser, check_signature

# RFC 8291, appendix A
PLAIN = b"When I grow up, I want to be a watermelon"
OURS = "yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw"
THEIRS = "q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94"
THEIR_POINT = "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
SALT = crypto.from_text("DGv6ra1nlYgDCS1FRnbzlw", name="salt", size=16)
AUTH = "BTBZMqHH6r4Tts7J_aSIgg"
SEALED = (
    "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_"
    "yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
)


def test_the_example_of_the_rfc_comes_out_bit_for_bit() -> None:
    sealed = crypto.encrypt(PLAIN, browser=THEIR_POINT, auth=AUTH, own=OURS, salt=SALT)
    assert crypto.to_text(sealed) == SEALED


def test_the_reading_side_reads_the_example_too() -> None:
    number = int.from_bytes(crypto.from_text(THEIRS, name="key", size=32), "big")
    auth = crypto.from_text(AUTH, name="auth", size=16)
    browser = Browser("http://x/", ec.derive_private_key(number, ec.SECP256R1()), auth)
    assert browser.to_json()["keys"] == {"p256dh": THEIR_POINT, "auth": AUTH}
    assert browser.read(crypto.from_text(SEALED, name="sealed", size=144)) == PLAIN


def test_a_signature_says_who_sends_to_which_service_and_until_when() -> None:
    import time

    key = crypto.new_key()
    expires = int(time.time()) + 3600
    header = crypto.sign(key, "https://push.example:444/a/b?c", subject="mailto:a@b.c", expires=expires)
    claims, sender = check_signature(header, audience="https://push.example:444")
    assert (claims.sub, claims.exp, sender) == ("mailto:a@b.c", expires, crypto.public_part(key))
    with pytest.raises(ValueError, match="another service"):
        check_signature(header, audience="https://push.example")
    with pytest.raises(InvalidSignature):
        check_signature(header.replace(crypto.public_part(key), crypto.public_part(OURS)), audience="x")


@pytest.mark.parametrize("text", ["", "AAAA", "!!", "BA" + "A" * 85])
def test_a_key_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(InvalidValue, match="p256dh"):
        crypto.check_browser_key(text)


def test_a_payload_that_no_service_takes_is_refused() -> None:
    with pytest.raises(InvalidValue, match="at most 3993"):
        crypto.encrypt(b"x" * 3994, browser=THEIR_POINT, auth=AUTH, own=OURS, salt=SALT)
