"""The audit trail, once for both databases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import msgspec

from backstay.model.job import JobId
from backstay.model.records import AuditEntry, AuditFilter
from backstay.runtime.source import source_now
from backstay.stores import rows
from backstay.stores.database.interface import Connection, Lane

LAST = 2**62


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One action to be written down."""

    actor: str
    action: str
    tenant: str = ""
    job_id: JobId | None = None
    from_state: str | None = None
    to_state: str | None = None
    reason: str | None = None
    details: dict[str, Any] | None = None


def changed(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """What differs, as `before` and `after` of a line."""
    names = [name for name in sorted({*before, *after}) if before.get(name) != after.get(name)]
    return {
        "before": {name: before.get(name) for name in names},
        "after": {name: after.get(name) for name in names},
    }


async def record(connection: Connection, lines: Sequence[Line]) -> None:
    """Write lines in the transaction of what they describe; if that fails, so does the action."""
    await connection.fetch_each(
        "audit/record",
        [
            {
                "tenant": line.tenant,
                "actor": line.actor,
                "action": line.action,
                "job_id": line.job_id,
                "from_state": line.from_state,
                "to_state": line.to_state,
                "reason": line.reason,
                "source": source_now(),
                "details": None if line.details is None else msgspec.json.encode(line.details).decode(),
            }
            for line in lines
        ],
    )


@dataclass(frozen=True, slots=True)
class AuditStore:
    """Reads the audit trail on one lane."""

    lane: Lane

    async def of_job(self, job_id: JobId) -> list[AuditEntry]:
        return [rows.audit_entry(row) for row in await self.lane.fetch("audit/of_job", id=job_id)]

    async def search(self, filters: AuditFilter, *, before: int | None, limit: int) -> list[AuditEntry]:
        found = await self.lane.fetch(
            "audit/search", **asdict(filters), before=LAST if before is None else before, limit=limit
        )
        return [rows.audit_entry(row) for row in found]
