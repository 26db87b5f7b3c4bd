"""Hashes that show whether two values are the same to who holds the secret, and to nobody else what they are."""

from __future__ import annotations

import hashlib
import hmac


def salted(secret: bytes, text: str) -> str:
    """A hash of a text that nobody can look up without this installation's secret."""
    return "hmac-sha256:" + hmac.new(secret, text.encode(), hashlib.sha256).hexdigest()
