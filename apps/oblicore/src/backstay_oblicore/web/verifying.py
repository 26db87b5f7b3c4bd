"""Checking a pack that somebody has: unchanged, or which file differs."""

import asyncio
import hashlib
import io
import json
import re
import zipfile
from typing import Any

from pypdf.errors import PyPdfError

from backstay_oblicore.domain import packs
from backstay_oblicore.print.pages import attachments
from backstay_oblicore.services import Services
from backstay_oblicore.store.database import from_json


async def verify_pack(services: Services, content: bytes) -> dict[str, Any]:
    """Compare a file with what was made here; if it differs, name the parts that do."""
    digest = hashlib.sha256(content).hexdigest()
    async with services.database.as_service() as connection:
        row = await connection.fetchrow(
            "SELECT pack_type, created_at FROM oblicore.audit_packs WHERE file_sha256 = $1", digest
        )
        if row is not None:
            return {
                "verdict": "unchanged",
                "sha256": digest,
                "pack_type": row["pack_type"],
                "differences": [],
            }
        try:
            parts = await asyncio.to_thread(_parts, content)
            claimed = str(json.loads(parts.pop("manifest.json")).get("pack_id"))
        except (KeyError, ValueError, OSError, PyPdfError, zipfile.BadZipFile):
            parts, claimed = None, _claimed_id(content)
        known = await connection.fetchval(
            "SELECT manifest FROM oblicore.audit_packs WHERE id::text = $1", claimed
        )
    if known is None:
        reason = "no such pack was made here" if parts is not None else "this is not a pack, or it is damaged"
        return {"verdict": "unknown", "sha256": digest, "differences": [reason]}
    if parts is None:
        return {
            "verdict": "changed",
            "sha256": digest,
            "differences": ["the file is damaged and cannot be opened"],
        }
    found = packs.differences(from_json(known), parts)
    return {"verdict": "changed", "sha256": digest, "differences": found or ["the pages were changed"]}


def _claimed_id(content: bytes) -> str:
    """Find in a file that no reader opens which pack it says it is."""
    # PDF writers may put any character of a text as a backslash and three octal digits.
    plain = re.sub(rb"\\([0-3][0-7]{2})", lambda octal: bytes([int(octal[1], 8)]), content)
    match = re.search(rb"Pack ([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})", plain)
    return match[1].decode() if match else ""


def _parts(content: bytes) -> dict[str, bytes]:
    if not content.startswith(b"PK"):
        return attachments(content)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        inner = attachments(archive.read("pack.pdf"))
        files = {
            name.removeprefix("evidence/"): archive.read(name)
            for name in archive.namelist()
            if "evidence/" in name
        }
    return {**inner, **files}
