"""Causes of death over time, once for both databases."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from backstay.model.failures import CauseCount, CauseHistory
from backstay.stores import audit, rows
from backstay.stores.database.interface import Lane


@dataclass(frozen=True, slots=True)
class FailureStore:
    """Reads causes on one lane, and keeps what people say of them."""

    lane: Lane

    async def causes(
        self, *, since: datetime, kind: str | None, queue: str | None, tenant: str | None, limit: int
    ) -> list[CauseCount]:
        found = await self.lane.fetch(
            "failures/groups", since=since, kind=kind, queue=queue, tenant=tenant, limit=limit
        )
        return [
            CauseCount(
                row["fingerprint"],
                int(row["deaths"]),
                int(row["open_letters"]),
                rows.moment(row["last_died_at"]),
            )
            for row in found
        ]

    async def history(self, fingerprint: str, *, tenant: str | None) -> CauseHistory | None:
        found = await self.lane.fetch("failures/history", fingerprint=fingerprint, tenant=tenant)
        if not found:
            return None
        row = found[0]
        error = rows.document(row["error"]) or {}
        dealt_with = [
            moment
            for moment in (rows.maybe_moment(row["resolved_at"]), rows.maybe_moment(row["closed_at"]))
            if moment is not None
        ]
        return CauseHistory(
            kind=row["kind"],
            job_id=rows.job_id(row["job_id"]),
            error_type=error.get("type") or row["reason"],
            message=error.get("message") or row["reason"],
            first_died_at=rows.moment(row["first_died_at"]),
            dealt_with_at=max(dealt_with, default=None),
            owner=row["owner"],
        )

    async def hours(
        self,
        fingerprints: Sequence[str],
        *,
        since: datetime,
        kind: str | None,
        queue: str | None,
        tenant: str | None,
    ) -> Mapping[str, Mapping[int, int]]:
        found = await self.lane.fetch(
            "failures/hours",
            fingerprints=list(fingerprints),
            since=since,
            kind=kind,
            queue=queue,
            tenant=tenant,
        )
        hours: dict[str, dict[int, int]] = defaultdict(dict)
        for row in found:
            hours[row["fingerprint"]][int(row["hour"])] = int(row["deaths"])
        return hours

    async def note(
        self,
        fingerprint: str,
        *,
        tenant: str,
        owner: str | None,
        closes: bool,
        reason: str | None,
        actor: str,
    ) -> None:
        async with self.lane.transaction() as connection:
            await connection.fetch(
                "failures/note",
                tenant=tenant,
                fingerprint=fingerprint,
                owner=owner,
                closes=closes,
                reason=reason,
                by=actor,
            )
            action = "failure.closed" if closes else "failure.assigned"
            told = {"fingerprint": fingerprint, **({} if owner is None else {"owner": owner})}
            await audit.record(
                connection,
                [audit.Line(tenant=tenant, actor=actor, action=action, reason=reason, details=told)],
            )
