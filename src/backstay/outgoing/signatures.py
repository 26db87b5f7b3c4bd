"""Signatures of webhooks, both ways: made by a sender, checked by a receiver.

`StandardWebhooks` is the form of standardwebhooks.com: id, time and body are signed, several secrets may be valid
at once. `HexSignature` is the older `sha256=<hex>` over the body alone.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

SECRET_PREFIX = "whsec_"  # noqa: S105 - the public prefix of secrets, not one
SHORTEST_SECRET = 24
LONGEST_SECRET = 64
TOLERANCE = timedelta(minutes=5)


class SignatureRefused(Exception):
    """What was received is not what the sender signed, or it is too old."""


class StandardWebhooks:
    """Signs and verifies with one or more secrets; the message carries a signature of each.

    To rotate a secret, sign with `StandardWebhooks(new, old)` until every receiver knows the new one.
    A secret is `whsec_` and the base64 of 24 to 64 random bytes.
    """

    def __init__(self, *secrets: str) -> None:
        if not secrets:
            raise ValueError("give at least one secret")
        self._keys = tuple(_key(secret) for secret in secrets)

    def headers(self, message_id: str, at: datetime, body: bytes) -> dict[str, str]:
        """Return the three headers for a message; `message_id` stays the same when it is sent again."""
        stamp = str(int(_utc(at).timestamp()))
        if not message_id or any(letter in message_id for letter in ".\r\n") or not message_id.isascii():
            raise ValueError(f"the id of a message is ASCII without dots and line ends, not {message_id!r}")
        signatures = [
            f"v1,{base64.b64encode(_mac(key, message_id, stamp, body)).decode()}" for key in self._keys
        ]
        return {
            "webhook-id": message_id,
            "webhook-timestamp": stamp,
            "webhook-signature": " ".join(signatures),
        }

    def verify(
        self, headers: Mapping[str, str], body: bytes, *, now: datetime, tolerance: timedelta = TOLERANCE
    ) -> str:
        """Return the id of a message that was signed with one of the secrets within `tolerance` of `now`.

        Raises `SignatureRefused` otherwise. Remember ids for twice the tolerance to refuse repetitions.
        """
        lower = {name.lower(): value for name, value in headers.items()}
        message_id, stamp = lower.get("webhook-id", ""), lower.get("webhook-timestamp", "")
        if not message_id or not (stamp.isascii() and stamp.isdigit() and len(stamp) <= 12):
            raise SignatureRefused("the headers webhook-id and webhook-timestamp are missing or not readable")
        sent_at = datetime.fromtimestamp(int(stamp), UTC)
        if abs(_utc(now) - sent_at) > tolerance:
            raise SignatureRefused(
                f"the message was signed at {sent_at:%Y-%m-%d %H:%M:%S} UTC, too far from now"
            )
        given = [
            _decoded(each[3:])
            for each in lower.get("webhook-signature", "").split()
            if each.startswith("v1,")
        ]
        expected = [_mac(key, message_id, stamp, body) for key in self._keys]
        if not any(hmac.compare_digest(one, other) for one in given for other in expected):
            raise SignatureRefused("no signature of the message fits")
        return message_id


class HexSignature:
    """Signs and verifies `sha256=<hex>` over the body. It has no time: a receiver cannot tell a repetition."""

    def __init__(self, *secrets: str, header: str = "X-Signature-256") -> None:
        if not secrets or not all(secrets):
            raise ValueError("give at least one secret that is not empty")
        self._keys = tuple(secret.encode() for secret in secrets)
        self.header = header

    def headers(self, body: bytes) -> dict[str, str]:
        """Return the header for a body, made with the first secret."""
        return {self.header: self.signature(body)}

    def signature(self, body: bytes) -> str:
        """Return `sha256=<hex>` of a body."""
        return f"sha256={hmac.new(self._keys[0], body, hashlib.sha256).hexdigest()}"

    def verify(self, headers: Mapping[str, str], body: bytes) -> None:
        """Raise `SignatureRefused` unless the body was signed with one of the secrets."""
        lower = {name.lower(): value for name, value in headers.items()}
        given = lower.get(self.header.lower(), "").encode("utf-8", "replace")
        expected = [
            f"sha256={hmac.new(key, body, hashlib.sha256).hexdigest()}".encode() for key in self._keys
        ]
        if not any(hmac.compare_digest(given, each) for each in expected):
            raise SignatureRefused(f"the header {self.header} does not fit the body")


def webhook_secret(random: bytes) -> str:
    """Write random bytes as a secret of Standard Webhooks: `webhook_secret(secrets.token_bytes(32))`."""
    if not SHORTEST_SECRET <= len(random) <= LONGEST_SECRET:
        raise ValueError(f"a secret has {SHORTEST_SECRET} to {LONGEST_SECRET} bytes, not {len(random)}")
    return SECRET_PREFIX + base64.b64encode(random).decode()


def _key(secret: str) -> bytes:
    try:
        key = base64.b64decode(secret.removeprefix(SECRET_PREFIX), validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("a webhook secret is whsec_ and base64; make one with webhook_secret()") from None
    if not SHORTEST_SECRET <= len(key) <= LONGEST_SECRET:
        raise ValueError(
            f"a webhook secret has {SHORTEST_SECRET} to {LONGEST_SECRET} bytes, this one {len(key)}"
        )
    return key


def _mac(key: bytes, message_id: str, stamp: str, body: bytes) -> bytes:
    signed = message_id.encode() + b"." + stamp.encode() + b"." + body
    return hmac.new(key, signed, hashlib.sha256).digest()


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return b""


def _utc(moment: datetime) -> datetime:
    if moment.tzinfo is None:
        raise ValueError("give a time with a zone")
    return moment.astimezone(UTC)
