"""Signatures of webhooks, compared with published vectors and with openssl."""

from __future__ import annotations

import base64
import subprocess
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backstay.outgoing import HexSignature, SignatureRefused, StandardWebhooks, webhook_secret

# Published with the Standard Webhooks specification and its libraries.
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
MESSAGE_ID = "msg_p5jXN8AQM9LWM0D4loKWxJek"
AT = datetime.fromtimestamp(1614265330, UTC)
BODY = b'{"test": 2432232314}'
SIGNATURE = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="

OTHER = webhook_secret(bytes(range(32)))


def by_openssl(key: bytes, data: bytes) -> bytes:
    command = ["openssl", "dgst", "-sha256", "-mac", "HMAC", "-macopt", f"hexkey:{key.hex()}", "-binary"]
    return subprocess.run(command, input=data, capture_output=True, check=True, timeout=60).stdout


def test_the_published_vector_is_signed_alike() -> None:
    headers = StandardWebhooks(SECRET).headers(MESSAGE_ID, AT, BODY)

    assert headers == {
        "webhook-id": MESSAGE_ID,
        "webhook-timestamp": "1614265330",
        "webhook-signature": SIGNATURE,
    }


def test_openssl_makes_the_same_signatures() -> None:
    body = "größer €".encode()
    standard = StandardWebhooks(OTHER).headers("msg_1", AT, body)["webhook-signature"]
    plain = HexSignature("a secret text").signature(body)

    assert (
        standard
        == "v1," + base64.b64encode(by_openssl(bytes(range(32)), b"msg_1.1614265330." + body)).decode()
    )
    assert plain == "sha256=" + by_openssl(b"a secret text", body).hex()


def test_a_receiver_accepts_either_secret_while_one_is_rotated() -> None:
    rotating = StandardWebhooks(OTHER, SECRET)
    headers = rotating.headers(MESSAGE_ID, AT, BODY)

    assert StandardWebhooks(SECRET).verify(headers, BODY, now=AT) == MESSAGE_ID
    assert StandardWebhooks(OTHER).verify(headers, BODY, now=AT) == MESSAGE_ID
    assert len(headers["webhook-signature"].split(" ")) == 2


@pytest.mark.parametrize(
    "change",
    [
        {"webhook-id": "msg_other"},
        {"webhook-timestamp": "1614265331"},
        {"webhook-timestamp": "x"},
        {"webhook-timestamp": ""},
        {"webhook-signature": ""},
        {"webhook-signature": "v1,"},
        {"webhook-signature": "v1,AAAA"},
        {"webhook-signature": "v2," + SIGNATURE[3:]},
        {"webhook-signature": SIGNATURE[3:]},
        {"webhook-id": ""},
    ],
)
def test_a_changed_header_is_refused(change: dict[str, str]) -> None:
    webhooks = StandardWebhooks(SECRET)
    headers = {**webhooks.headers(MESSAGE_ID, AT, BODY), **change}

    with pytest.raises(SignatureRefused):
        webhooks.verify(headers, BODY, now=AT)


@pytest.mark.parametrize(
    ("late", "accepted"), [(299, True), (300, True), (301, False), (-300, True), (-301, False)]
)
def test_an_old_or_early_message_is_refused(late: int, accepted: bool) -> None:
    webhooks = StandardWebhooks(SECRET)
    headers = webhooks.headers(MESSAGE_ID, AT, BODY)
    now = AT + timedelta(seconds=late)

    if accepted:
        assert webhooks.verify(headers, BODY, now=now) == MESSAGE_ID
    else:
        with pytest.raises(SignatureRefused, match="too far"):
            webhooks.verify(headers, BODY, now=now)


@given(st.binary(min_size=1, max_size=200), st.integers(min_value=0))
def test_one_changed_byte_is_refused_by_both_forms(body: bytes, place: int) -> None:
    standard, plain = StandardWebhooks(SECRET), HexSignature("secret")
    changed = bytearray(body)
    changed[place % len(body)] ^= 1

    with pytest.raises(SignatureRefused):
        standard.verify(standard.headers("m", AT, body), bytes(changed), now=AT)
    with pytest.raises(SignatureRefused):
        plain.verify(plain.headers(body), bytes(changed))
    plain.verify(plain.headers(body), body)


@pytest.mark.parametrize("given", ["", "sha256=", "sha1=aa", "SHA256=" + "0" * 64, "ü"])
def test_a_wrong_hex_signature_is_refused(given: str) -> None:
    with pytest.raises(SignatureRefused):
        HexSignature("secret").verify({"x-signature-256": given}, b"body")


@pytest.mark.parametrize(
    "secret", ["", "whsec_", "whsec_AAAA", "whsec_???", "plain text", "whsec_" + "A" * 100]
)
def test_a_poor_secret_is_refused(secret: str) -> None:
    with pytest.raises(ValueError, match="secret"):
        StandardWebhooks(secret)


@pytest.mark.parametrize("message_id", ["", "a.b", "a\nb", "ü"])
def test_an_id_that_could_be_read_otherwise_is_refused(message_id: str) -> None:
    with pytest.raises(ValueError, match="id of a message"):
        StandardWebhooks(SECRET).headers(message_id, AT, BODY)
