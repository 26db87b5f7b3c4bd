"""Pausing and resuming queues, kinds and tenants, once for both databases."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from backstay.model.pauses import Pause
from backstay.stores import audit, rows
from backstay.stores.database.interface import Lane

BATCH = 1000


@dataclass(frozen=True, slots=True)
class QueueStore:
    """Pauses and resumes on one lane."""

    lane: Lane

    async def depth(self, queue: str, most: int) -> int:
        return int((await self.lane.fetch("queues/depth", queue=queue, most=most))[0]["jobs"])

    async def pause(
        self,
        *,
        queue: str | None = None,
        kind: str | None = None,
        tenant: str | None = None,
        actor: str,
        reason: str,
        until: datetime | None = None,
        length: timedelta | None = None,
    ) -> None:
        given = {"by": actor, "reason": reason, "until": until, "length": length}
        async with self.lane.transaction() as connection:
            if tenant:
                await connection.fetch("tenants/pause", tenant=tenant, **given)
            else:
                await connection.fetch("queues/pause", queue=queue or "", kind=kind or "", **given)
            line = _line("paused", queue, kind, tenant, actor=actor, reason=reason)
            await audit.record(connection, [line])
        if tenant:
            await self._hold(tenant)

    async def resume(
        self, *, queue: str | None = None, kind: str | None = None, tenant: str | None = None, actor: str
    ) -> bool:
        async with self.lane.transaction() as connection:
            if tenant:
                ended = await connection.fetch("tenants/resume", tenant=tenant)
            else:
                ended = await connection.fetch("queues/resume", queue=queue or "", kind=kind or "")
            if ended:
                line = _line("resumed", queue, kind, tenant, actor=actor, reason=None)
                await audit.record(connection, [line])
        if ended and tenant:
            await self._let_go(tenant)
        return bool(ended)

    async def pauses(self) -> list[Pause]:
        return [rows.pause(row) for row in await self.lane.fetch("queues/pauses")]

    async def tend(self) -> list[str]:
        async with self.lane.transaction() as connection:
            ended = await connection.fetch("queues/end_pauses")
            lines = [
                _line(
                    "resumed",
                    row["queue"] or None,
                    row["kind"] or None,
                    None,
                    actor="maintenance",
                    reason="its time",
                )
                for row in ended
            ]
            await audit.record(connection, lines)
        freed = [row["queue"] for row in ended]
        for row in await self.lane.fetch("tenants/paused"):
            if row["is_over"]:
                freed += await self._let_go(row["tenant"])
            else:
                await self._hold(row["tenant"])
        return freed

    async def _hold(self, tenant: str) -> None:
        while len(await self.lane.fetch("tenants/hold", tenant=tenant, limit=BATCH)) == BATCH:
            pass

    async def _let_go(self, tenant: str) -> list[str]:
        """Let everything go on that the pause has held, and forget it last, so that another can finish this."""
        queues: list[str] = []
        while found := await self.lane.fetch("tenants/release", tenant=tenant, limit=BATCH):
            queues += [row["queue"] for row in found]
        await self.lane.fetch("tenants/forget", tenant=tenant)
        return queues


def _line(
    done: str, queue: str | None, kind: str | None, tenant: str | None, *, actor: str, reason: str | None
) -> audit.Line:
    what = "tenant" if tenant else "queue" if queue else "kind"
    return audit.Line(
        tenant=tenant or "",
        actor=actor,
        action=f"{what}.{done}",
        reason=reason,
        details={what: tenant or queue or kind},
    )
