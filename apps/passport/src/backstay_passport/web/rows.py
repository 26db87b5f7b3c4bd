"""Rows as JSON: bytes as hexadecimal, large contents left out."""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import RowMapping

LARGE = {
    "content",
    "payload_canonical",
    "proof_canonical",
    "receipt_canonical",
    "subject_canonical",
    "qr_png",
}
SECRET = {"secret", "digest", "password_hash"}
JSON_TEXTS = {"error", "first_failure", "data", "response_headers"}


def plain_row(row: RowMapping) -> dict[str, Any]:
    """Return a row for a program."""
    return {name: _plain(name, value) for name, value in row.items() if name not in LARGE | SECRET}


def _plain(name: str, value: Any) -> Any:
    if isinstance(value, bytes | memoryview):
        return bytes(value).hex()
    if name in JSON_TEXTS and isinstance(value, str) and value.startswith(("{", "[")):
        return json.loads(value)
    return value
