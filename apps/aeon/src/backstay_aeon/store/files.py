"""Files that teams have sent."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from backstay_aeon.domain.errors import Missing
from backstay_aeon.store.database import Connection


async def add(connection: Connection, values: dict[str, Any]) -> None:
    """Note a file that is stored; a repetition changes nothing."""
    await connection.execute(
        "INSERT INTO aeon.files (id, team_id, created_by, name, storage_key, size, sha256, mime)"
        " VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (id) DO NOTHING",
        *(
            values[name]
            for name in ("id", "team_id", "created_by", "name", "storage_key", "size", "sha256", "mime")
        ),
    )


async def get(connection: Connection, file_id: UUID, team_id: UUID | None) -> dict[str, Any]:
    """One file; raises Missing, also for one of another team."""
    row = await connection.fetchrow(
        "SELECT * FROM aeon.files WHERE id = $1 AND ($2::uuid IS NULL OR team_id = $2)", file_id, team_id
    )
    if row is None:
        raise Missing(f"there is no file {file_id}")
    return dict(row)
