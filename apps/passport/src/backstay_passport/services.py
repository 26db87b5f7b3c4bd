"""What handlers, pages and commands work with, put together once."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection

from backstay import Backstay, Handler, JobHandle
from backstay_passport.domain.events import NewEvent
from backstay_passport.profile import MAX_ATTEMPTS, PRIORITIES
from backstay_passport.settings import Settings
from backstay_passport.store import events
from backstay_passport.store.database import Database


@dataclass
class Services:
    """Settings, database and jobs of one application."""

    settings: Settings
    database: Database
    app: Backstay
    kinds: dict[str, Handler[..., Any]] = field(default_factory=dict)

    def enqueue(
        self,
        kind: str,
        tenant_id: str,
        *,
        tx: Connection | None = None,
        key: str | None = None,
        **arguments: Any,
    ) -> JobHandle[Any]:
        """Store a job: in `tx`, in the running job's own transaction if there is one, or at once."""
        options: dict[str, Any] = {
            "tenant": tenant_id,
            "priority": PRIORITIES[kind],
            "max_attempts": MAX_ATTEMPTS,
            "correlation_id": next(iter(arguments.values()), None),
        }
        if tx is not None:
            options["tx"] = tx
        if key is not None:
            options["key"] = key
        options["correlation_id"] = str(options["correlation_id"])
        return self.kinds[kind].options(**options).enqueue_sync(**arguments)

    def tell(self, connection: Connection, tenant_id: str, new: NewEvent, *, in_job: bool = False) -> None:
        """Append an event and store a job for each delivery of it, all in the transaction of the connection."""
        appended = events.append(connection, tenant_id, new)
        for delivery_id in appended.delivery_ids:
            self.enqueue(
                "DELIVER_WEBHOOK",
                tenant_id,
                tx=None if in_job else connection,
                key=f"webhook-{delivery_id}",
                webhook_delivery_id=delivery_id,
            )

    def migrate(self) -> list[str]:
        """Bring the tables of jobs and passports up to this release; returns what was done."""

        async def migrated() -> list[str]:
            try:
                return await self.app.migrate()
            finally:
                await self.app.close()

        return asyncio.run(migrated())

    def close(self) -> None:
        """Close the connections."""
        self.app.close_sync()
        self.database.close()
