"""The chain of the audit trail, once for both databases."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from backstay.model.audit_chain import ChainHead, ChainLink
from backstay.model.records import AuditEntry
from backstay.stores import rows
from backstay.stores.database.interface import Lane, Row

WINDOW = 10_000
"""So many of the newest lines are looked through for those that became visible late."""


@dataclass(frozen=True, slots=True)
class AuditChainStore:
    """Keeps chains on one lane."""

    lane: Lane

    async def extend(
        self,
        link: Callable[[Sequence[ChainHead], Sequence[AuditEntry]], list[dict[str, object]]],
        *,
        limit: int,
    ) -> int:
        async with self.lane.transaction() as connection:
            found = await connection.fetch("audit_chain/unchained", window=WINDOW, limit=limit)
            if not found:
                return 0
            heads = [_head(row) for row in await connection.fetch("audit_chain/heads")]
            added = link(heads, [rows.audit_entry(row) for row in found])
            await connection.fetch_each("audit_chain/append", added)
            return len(added)

    async def heads(self) -> list[ChainHead]:
        return [_head(row) for row in await self.lane.fetch("audit_chain/heads")]

    async def links(self, tenant: str, *, after: int, limit: int) -> list[ChainLink]:
        found = await self.lane.fetch("audit_chain/links", tenant=tenant, after=after, limit=limit)
        return [
            ChainLink(
                sequence=row["sequence"],
                audit_id=row["audit_id"],
                previous_hash=row["previous_hash"],
                hash=row["hash"],
                line=None if row["id"] is None else rows.audit_entry(row),
            )
            for row in found
        ]

    async def unchained(self) -> int:
        return int((await self.lane.fetch("audit_chain/count_unchained"))[0]["lines"])


def _head(row: Row) -> ChainHead:
    return ChainHead(row["tenant"], row["sequence"], row["hash"])
