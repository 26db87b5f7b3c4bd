"""Keeping what was sent."""

from __future__ import annotations

import re
from typing import Any
from uuid import UUID, uuid4

from backstay_aeon.domain.errors import BadRequest
from backstay_aeon.domain.files.detect import mime_of
from backstay_aeon.services import Services
from backstay_aeon.store import files


async def keep(
    here: Services, team_id: UUID, created_by: UUID | None, name: str, content: bytes
) -> dict[str, Any]:
    """Store a file of a team; its bytes first, then its row, so that no row is without its bytes."""
    if not content:
        raise BadRequest("the file is empty", field="file")
    if len(content) > here.settings.max_upload_mb * 1024 * 1024:
        raise BadRequest(f"a file has at most {here.settings.max_upload_mb} MB", field="file")
    file_id = uuid4()
    safe = re.sub(r"[^A-Za-z0-9_.@=+-]+", "_", name).strip("._")[-100:] or "file"
    key = f"teams/{team_id}/files/{file_id}/{safe}"
    mime = mime_of(content[:4096], name)
    digest = await here.files.put(key, content, mime)
    row = {
        "id": file_id,
        "team_id": team_id,
        "created_by": created_by,
        "name": name[-255:],
        "storage_key": key,
        "size": len(content),
        "sha256": digest,
        "mime": mime,
    }
    async with here.database.connection() as connection:
        await files.add(connection, row)
    return row
