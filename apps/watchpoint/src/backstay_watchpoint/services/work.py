"""One run of a service: its time, its transactions, what it changed, and whether it only tries."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Protocol

from sqlalchemy import func, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from backstay_watchpoint.store.database import Database, insert_into
from backstay_watchpoint.store.tables import run_changes, task_runs

log = logging.getLogger(__name__)

LISTED_CHANGES = 1000


class QueueName(StrEnum):
    """The queues between the platform's parts."""

    NOTIFICATIONS = "notification-queue"
    EVAL_STANDARD = "eval-standard"


@dataclass(frozen=True, slots=True)
class OutgoingMessage:
    """A message that is sent if and only if the transaction commits that it is part of."""

    queue: QueueName
    body: Mapping[str, Any]
    dedupe_id: str


class Publisher(Protocol):
    """Sends messages after the commit of the caller's transaction."""

    async def publish(self, transaction: AsyncConnection, messages: Sequence[OutgoingMessage]) -> None:
        """Make the messages part of the transaction."""

    async def check_canaries(self, transaction: AsyncConnection, batch: str, now: datetime) -> None:
        """Have the canaries checked once the verification results of a batch have arrived."""

    async def collect_results(self, transaction: AsyncConnection, batch: str, now: datetime) -> None:
        """Have the calibration results of a batch waited for."""


@dataclass(frozen=True, slots=True)
class Change:
    """One thing that a run has changed, or in a dry run would have."""

    item: str
    item_id: str
    change: str
    detail: Mapping[str, Any] = field(default_factory=dict)


class Work:
    """A run of a service. In a dry run everything happens inside one transaction that is rolled back at the end."""

    def __init__(
        self,
        database: Database,
        now: datetime,
        publisher: Publisher,
        *,
        run_id: int | None = None,
        is_dry_run: bool = False,
    ) -> None:
        self.database, self.now, self.publisher = database, now, publisher
        self.run_id, self.is_dry_run = run_id, is_dry_run
        self.items = 0
        self.changes: list[Change] = []
        self.warnings: list[str] = []
        self.bytes_freed = 0
        self._outer: AsyncConnection | None = None
        self._pending: list[Change] = []

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[AsyncConnection]:
        """Open one unit of the run: committed with the list of what it changed, or not at all."""
        self._pending = []
        if self._outer is not None:
            async with self._outer.begin_nested():
                yield self._outer
        else:
            async with self.database.transaction() as connection:
                yield connection
                await self._store_changes(connection)
        self.items += len(self._pending)
        self.changes += self._pending[: max(0, LISTED_CHANGES - len(self.changes))]
        self._pending = []

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[AsyncConnection]:
        """Open a transaction that only reads; in a trial it sees what the trial has changed."""
        if self._outer is not None:
            yield self._outer
        else:
            async with self.database.reading() as connection:
                yield connection

    @asynccontextmanager
    async def trial(self) -> AsyncIterator[None]:
        """Run the block as a dry run: the same statements, rolled back."""
        assert self.is_dry_run
        async with self.database.engine.connect() as connection:
            transaction = await connection.begin()
            self._outer = connection
            try:
                yield
            finally:
                self._outer = None
                await transaction.rollback()

    def changed(self, item: str, item_id: str, change: str, **detail: Any) -> None:
        """Note what the open transaction changes."""
        self._pending.append(Change(item, item_id, change, detail))

    def changed_all(self, item: str, ids: Iterable[str], change: str) -> None:
        """Note one change of many things."""
        self._pending += [Change(item, item_id, change) for item_id in ids]

    async def changed_before(self, item: str) -> int:
        """Count what the run has changed of one sort already: after a crash the same run goes on."""
        if self.run_id is None:
            return 0
        listed = (run_changes.c.run_id == self.run_id) & (run_changes.c.item == item)
        async with self.reading() as transaction:
            found = await transaction.scalar(select(func.count()).select_from(run_changes).where(listed))
        return found or 0

    def warn(self, message: str, **values: Any) -> None:
        """Note what went wrong without stopping the run; it is logged and kept with the run."""
        log.warning(message, extra=values)
        told = ", ".join(f"{name} {value}" for name, value in values.items())
        self.warnings.append(f"{message} ({told})" if told else message)

    async def publish(self, transaction: AsyncConnection, messages: Sequence[OutgoingMessage]) -> None:
        """Send messages if the open transaction commits."""
        if messages:
            await self.publisher.publish(transaction, messages)

    async def _store_changes(self, connection: AsyncConnection) -> None:
        if self.run_id is None or not self._pending:
            return
        rows = [
            {
                "run_id": self.run_id,
                "item": found.item,
                "item_id": found.item_id,
                "change": found.change,
                "detail": dict(found.detail),
            }
            for found in self._pending[: max(0, LISTED_CHANGES - len(self.changes))]
        ]
        if rows:
            await connection.execute(insert_into(connection, run_changes).on_conflict_do_nothing(), rows)
        await connection.execute(
            update(task_runs)
            .where(task_runs.c.id == self.run_id)
            .values(items=task_runs.c["items"] + len(self._pending))
        )
