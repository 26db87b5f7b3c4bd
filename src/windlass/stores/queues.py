"""Pausing and resuming queues and kinds, once for both databases."""

from __future__ import annotations

from dataclasses import dataclass

from windlass.records import Pause
from windlass.stores import audit, rows
from windlass.stores.database import Lane


@dataclass(frozen=True, slots=True)
class QueueStore:
    """Pauses and resumes on one lane."""

    lane: Lane

    async def pause(self, *, queue: str | None, kind: str | None, actor: str, reason: str) -> None:
        async with self.lane.transaction() as connection:
            await connection.fetch(
                "queues/pause", queue=queue or "", kind=kind or "", by=actor, reason=reason
            )
            await audit.record(connection, [_line("paused", queue, kind, actor=actor, reason=reason)])

    async def resume(self, *, queue: str | None, kind: str | None, actor: str) -> bool:
        async with self.lane.transaction() as connection:
            was_paused = bool(await connection.fetch("queues/resume", queue=queue or "", kind=kind or ""))
            if was_paused:
                await audit.record(connection, [_line("resumed", queue, kind, actor=actor, reason=None)])
            return was_paused

    async def pauses(self) -> list[Pause]:
        return [rows.pause(row) for row in await self.lane.fetch("queues/pauses")]


def _line(done: str, queue: str | None, kind: str | None, *, actor: str, reason: str | None) -> audit.Line:
    what = "queue" if queue else "kind"
    return audit.Line(actor=actor, action=f"{what}.{done}", reason=reason, details={what: queue or kind})
