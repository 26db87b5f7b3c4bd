"""How the kit signs what it hands to a browser or a caller: one secret, a key of its own for each purpose."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac

SHORTEST_SECRET = 32


class SigningKeys:
    """Signs small texts and checks them; older secrets still verify, so a secret can be rotated.

    The first secret signs. Each purpose has its own derived key: a flash message is never a session.
    """

    def __init__(self, secret: str, *older: str) -> None:
        for each in (secret, *older):
            if len(each) < SHORTEST_SECRET:
                raise ValueError(
                    f"a signing secret needs at least {SHORTEST_SECRET} characters, this one has {len(each)}; "
                    'make one with: python -c "import secrets; print(secrets.token_urlsafe(32))"'
                )
        self._secrets = tuple(each.encode() for each in (secret, *older))

    def signature(self, purpose: str, data: bytes) -> str:
        """Return the signature of `data` for `purpose` as URL-safe text."""
        return to_text(_mac(self._secrets[0], purpose, data))

    def matches(self, purpose: str, data: bytes, signature: str) -> bool:
        """Return True if one of the secrets gave this signature for this purpose."""
        given = from_text(signature)
        if given is None:
            return False
        return any(hmac.compare_digest(_mac(secret, purpose, data), given) for secret in self._secrets)

    def seal(self, purpose: str, data: bytes) -> str:
        """Return `data` and its signature as one URL-safe text; the data stay readable."""
        return f"{to_text(data)}.{self.signature(purpose, data)}"

    def open(self, purpose: str, sealed: str) -> bytes | None:
        """Return the data of a sealed text, or None if it was not sealed by us for this purpose."""
        encoded, _, signature = sealed.partition(".")
        data = from_text(encoded)
        if data is None or not self.matches(purpose, data, signature):
            return None
        return data

    def __repr__(self) -> str:
        return f"<SigningKeys {len(self._secrets)} secrets>"


def _mac(secret: bytes, purpose: str, data: bytes) -> bytes:
    key = hmac.new(secret, b"backstay.kit/" + purpose.encode(), hashlib.sha256).digest()
    return hmac.new(key, data, hashlib.sha256).digest()


def to_text(data: bytes) -> str:
    """Encode bytes as URL-safe base64 without padding."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def from_text(text: str) -> bytes | None:
    """Decode URL-safe base64 without padding; None if it is not exactly that."""
    try:
        data = base64.urlsafe_b64decode(text.encode("ascii") + b"=" * (-len(text) % 4))
    except (binascii.Error, ValueError):
        return None
    # The decoder skips foreign characters: only the one spelling that we write is accepted.
    return data if to_text(data) == text else None
