"""Row security, which keeps tenants apart inside PostgreSQL."""

from __future__ import annotations

from dataclasses import dataclass

from backstay.stores.database.interface import Lane


@dataclass(frozen=True, slots=True)
class TenantStore:
    """Sets row security up on one lane, whose role must own the tables."""

    lane: Lane

    async def enforce(self, *, engine: str, application: str) -> None:
        async with self.lane.transaction() as connection:
            await connection.fetch("tenants/enforce", engine=engine, application=application)

    async def relax(self) -> None:
        async with self.lane.transaction() as connection:
            await connection.fetch("tenants/relax")
