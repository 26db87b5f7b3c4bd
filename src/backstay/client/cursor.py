"""Where a search goes on, as text that cannot be altered or used for another search."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from dataclasses import asdict
from uuid import UUID

from backstay.errors import InvalidCursor
from backstay.handlers import codec
from backstay.model.job import JobId
from backstay.model.records import JobFilter

_SIGNATURE_BYTES = 16


def write(secret: bytes, filters: JobFilter, last: JobId) -> str:
    """The cursor after `last` in this search."""
    return base64.urlsafe_b64encode(last.bytes + _sign(secret, filters, last.bytes)).decode().rstrip("=")


def read(secret: bytes, filters: JobFilter, cursor: str) -> JobId:
    """Where to go on; raises InvalidCursor for any text but one written for this search."""
    try:
        raw = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
    except (ValueError, binascii.Error):
        raise InvalidCursor from None
    last, signature = raw[:16], raw[16:]
    if len(last) != 16 or not hmac.compare_digest(signature, _sign(secret, filters, last)):
        raise InvalidCursor
    return JobId(UUID(bytes=last))


def _sign(secret: bytes, filters: JobFilter, last: bytes) -> bytes:
    search = codec.canonical(
        {name: str(value) for name, value in asdict(filters).items() if value is not None}
    )
    return hmac.new(secret, last + search, hashlib.sha256).digest()[:_SIGNATURE_BYTES]
