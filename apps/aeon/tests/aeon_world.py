"""Two teams with a person each, for the tests."""

from __future__ import annotations

import io
import zipfile
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from backstay.testing import Harness
from backstay_aeon.actions import imports
from backstay_aeon.services import Services
from backstay_aeon.store.database import Database


@dataclass
class World:
    """Two teams with a person each, and short ways."""

    services: Services
    backstay: Harness
    team: UUID
    user: UUID
    other: UUID

    @property
    def database(self) -> Database:
        return self.services.database

    async def import_file(self, name: str, content: bytes, dataset: str, **options: Any) -> UUID:
        """Begin and run an import."""
        made = await imports.begin(
            self.services, self.team, self.user, name=name, content=content, dataset=dataset, **options
        )
        await imports.start(self.services, self.team, self.user, made)
        await self.backstay.drain()
        return made

    async def records(self, dataset: str) -> dict[str, Any]:
        rows = await self.database.rows(
            "SELECT external_key, data FROM aeon.imported_records WHERE team_id = $1 AND dataset = $2",
            self.team,
            dataset,
        )
        return {row["external_key"]: row["data"] for row in rows}


def bomb() -> bytes:
    """A workbook of a few kilobytes that would unpack to two gigabytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(4):
            with archive.open(f"xl/worksheets/sheet{number}.xml", "w", force_zip64=True) as file:
                for _ in range(500):
                    file.write(bytes(1_000_000))
    return buffer.getvalue()
