"""The form of archived audit records: one object a batch, the same bytes for the same rows."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any


class BadArchive(ValueError):
    """An object that is not an archive of audit records, or a damaged one."""


@dataclass(frozen=True, slots=True)
class ArchiveObject:
    """An object to store; the key holds a digest of the rows, so a repeated upload lands on itself."""

    key: str
    body: bytes
    rows: int


def pack(rows: Sequence[Mapping[str, Any]]) -> ArchiveObject:
    """Serialise a batch: one JSON object a line, sorted keys, compressed without a time stamp."""
    if not rows:
        raise ValueError("an archive needs at least one row")
    text = "".join(_line(row) for row in rows).encode()
    packed = io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb", mtime=0, filename="") as stream:
        stream.write(text)
    first = rows[0]["created_at"]
    assert isinstance(first, datetime)
    digest = hashlib.sha256(text).hexdigest()
    key = f"audit/{first.astimezone(UTC):%Y/%m/%d}/{rows[0]['id']}-{digest[:16]}.ndjson.gz"
    return ArchiveObject(key, packed.getvalue(), len(rows))


def unpack(key: str, body: bytes) -> list[dict[str, Any]]:
    """Read a batch back; raises BadArchive if the bytes are not those that the key names."""
    try:
        text = gzip.decompress(body)
    except (OSError, EOFError, zlib.error) as error:
        raise BadArchive(f"{key} is not a gzip file: {error}") from error
    digest = hashlib.sha256(text).hexdigest()[:16]
    if f"-{digest}." not in key:
        raise BadArchive(f"{key} does not hold what its name says (digest {digest})")
    rows = [json.loads(line) for line in text.splitlines()]
    for row in rows:
        row["created_at"] = datetime.fromisoformat(row["created_at"])
    return rows


def _line(row: Mapping[str, Any]) -> str:
    plain = {
        name: value.astimezone(UTC).isoformat() if isinstance(value, datetime) else value
        for name, value in row.items()
    }
    return json.dumps(plain, sort_keys=True, ensure_ascii=False, separators=(",", ":")) + "\n"
