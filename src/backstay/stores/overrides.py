"""Numbers that operators have changed, once for both databases."""

from __future__ import annotations

from dataclasses import dataclass

from backstay.model.records import Override, OverrideScope
from backstay.stores import audit, rows
from backstay.stores.database.interface import Connection, Lane


@dataclass(frozen=True, slots=True)
class OverrideStore:
    """Keeps overrides on one lane."""

    lane: Lane

    async def set(
        self, scope: OverrideScope, name: str, field: str, *, change: str, actor: str, reason: str
    ) -> None:
        async with self.lane.transaction() as connection:
            before = await _change_of(connection, scope, name, field)
            await connection.fetch(
                "overrides/set", scope=scope, name=name, field=field, change=change, by=actor, reason=reason
            )
            details = {scope: name, "field": field, "before": before, "after": change}
            line = audit.Line(actor=actor, action="override.set", reason=reason, details=details)
            await audit.record(connection, [line])

    async def remove(self, scope: OverrideScope, name: str, field: str, *, actor: str) -> bool:
        async with self.lane.transaction() as connection:
            before = await _change_of(connection, scope, name, field)
            was_set = bool(await connection.fetch("overrides/remove", scope=scope, name=name, field=field))
            if was_set:
                details = {scope: name, "field": field, "before": before, "after": None}
                line = audit.Line(actor=actor, action="override.removed", details=details)
                await audit.record(connection, [line])
            return was_set

    async def all(self) -> list[Override]:
        return [rows.override(row) for row in await self.lane.fetch("overrides/all")]


async def _change_of(connection: Connection, scope: OverrideScope, name: str, field: str) -> str | None:
    """What operators have set before, as it is kept; None where the code's own number counts."""
    wanted = (scope, name, field)
    kept = await connection.fetch("overrides/all")
    return next((row["change"] for row in kept if (row["scope"], row["name"], row["field"]) == wanted), None)
