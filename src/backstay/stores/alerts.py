"""Alerts, once for both databases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from backstay.model.alerts import Alert, AlertMute, Firing
from backstay.stores import audit, rows
from backstay.stores.database.interface import Lane, Row


@dataclass(frozen=True, slots=True)
class AlertStore:
    """Keeps alerts on one lane."""

    lane: Lane

    async def update(
        self, firings: Sequence[tuple[UUID, Firing]], cleared: Sequence[str]
    ) -> tuple[list[str], list[str]]:
        async with self.lane.transaction() as connection:
            began, ended = [], []
            for alert_id, one in firings:
                fired = await connection.fetch(
                    "alerts/fire",
                    id=alert_id,
                    rule=one.rule,
                    severity=one.severity,
                    message=one.message,
                    action=one.action,
                    value=one.value,
                    threshold=one.threshold,
                )
                began += [one.rule] if fired else []
            for rule in cleared:
                ended += [rule] if await connection.fetch("alerts/clear", rule=rule) else []
            return began, ended

    async def active(self) -> list[Alert]:
        return [_alert(row) for row in await self.lane.fetch("alerts/active")]

    async def newest(self, *, limit: int) -> list[Alert]:
        return [_alert(row) for row in await self.lane.fetch("alerts/newest", limit=limit)]

    async def to_announce(self) -> list[Alert]:
        return [_alert(row) for row in await self.lane.fetch("alerts/to_announce")]

    async def announced(self, alert_id: UUID) -> None:
        await self.lane.fetch("alerts/announced", id=alert_id)

    async def mute(self, rule: str, *, length: timedelta, actor: str, reason: str) -> None:
        async with self.lane.transaction() as connection:
            await connection.fetch("alerts/mute", rule=rule, length=length, by=actor, reason=reason)
            told = {"rule": rule, "seconds": length.total_seconds()}
            line = audit.Line(actor=actor, action="alert.muted", reason=reason, details=told)
            await audit.record(connection, [line])

    async def unmute(self, rule: str, *, actor: str) -> bool:
        async with self.lane.transaction() as connection:
            found = bool(await connection.fetch("alerts/unmute", rule=rule))
            if found:
                line = audit.Line(actor=actor, action="alert.unmuted", details={"rule": rule})
                await audit.record(connection, [line])
            return found

    async def mutes(self) -> list[AlertMute]:
        return [
            AlertMute(
                rule=row["rule"],
                muted_until=rows.moment(row["muted_until"]),
                muted_by=row["muted_by"],
                reason=row["reason"],
            )
            for row in await self.lane.fetch("alerts/mutes")
        ]


def _alert(row: Row) -> Alert:
    return Alert(
        id=UUID(str(row["id"])),
        rule=row["rule"],
        severity=row["severity"],
        message=row["message"],
        action=row["action"],
        value=row["value"],
        threshold=row["threshold"],
        fired_at=rows.moment(row["fired_at"]),
        announced_at=rows.maybe_moment(row["announced_at"]),
        cleared_at=rows.maybe_moment(row["cleared_at"]),
    )
