"""Hashes and the two ways in which they are written."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac

from backstay_passport.domain.canonical import encode
from backstay_passport.domain.errors import InvalidInput

HASH_BYTES = 32


def sha256(content: bytes) -> bytes:
    """Return the 32 bytes of SHA-256."""
    return hashlib.sha256(content).digest()


def hash_of(value: object) -> bytes:
    """Return the SHA-256 of a value's canonical bytes."""
    return sha256(encode(value))


def keyed_hash(secret: bytes, message: bytes) -> bytes:
    """Return HMAC-SHA256 of a message."""
    return hmac.new(secret, message, hashlib.sha256).digest()


def base32_no_pad(content: bytes) -> str:
    """Return RFC 4648 base32 in capitals without `=`; 32 bytes are 52 characters."""
    return base64.b32encode(content).decode().rstrip("=")


def from_base32(text: str) -> bytes:
    """Read what `base32_no_pad` wrote; refuse anything that it would not have written."""
    try:
        content = base64.b32decode(text + "=" * (-len(text) % 8))
    except (binascii.Error, ValueError):
        raise InvalidInput(f"{text!r} is not base32 in capitals without padding") from None
    if base32_no_pad(content) != text:
        raise InvalidInput(
            f"{text!r} is not base32 as it is written here (its last character has loose bits)"
        )
    return content
