"""Numbers that operators have changed, once for both databases."""

from __future__ import annotations

from dataclasses import dataclass

from backstay.model.records import Override, OverrideScope
from backstay.stores import audit, rows
from backstay.stores.database.interface import Lane


@dataclass(frozen=True, slots=True)
class OverrideStore:
    """Keeps overrides on one lane."""

    lane: Lane

    async def set(
        self, scope: OverrideScope, name: str, field: str, *, change: str, actor: str, reason: str
    ) -> None:
        async with self.lane.transaction() as connection:
            await connection.fetch(
                "overrides/set", scope=scope, name=name, field=field, change=change, by=actor, reason=reason
            )
            details = {scope: name, "field": field, "change": change}
            line = audit.Line(actor=actor, action="override.set", reason=reason, details=details)
            await audit.record(connection, [line])

    async def remove(self, scope: OverrideScope, name: str, field: str, *, actor: str) -> bool:
        async with self.lane.transaction() as connection:
            was_set = bool(await connection.fetch("overrides/remove", scope=scope, name=name, field=field))
            if was_set:
                line = audit.Line(
                    actor=actor, action="override.removed", details={scope: name, "field": field}
                )
                await audit.record(connection, [line])
            return was_set

    async def all(self) -> list[Override]:
        return [rows.override(row) for row in await self.lane.fetch("overrides/all")]
