"""What the evaluation worker has found: whether a watchpoint has triggered, and the notification of one that has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from backstay_watchpoint.domain.canaries import is_canary
from backstay_watchpoint.services.notifications import notify
from backstay_watchpoint.services.work import Publisher
from backstay_watchpoint.store.database import insert_into
from backstay_watchpoint.store.tables import evaluation_state, watchpoints


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A watchpoint's conditions compared with the newest forecast."""

    watchpoint_id: str
    has_triggered: bool
    payload: Mapping[str, Any]


class NoWatchpoint(LookupError):
    """No active watchpoint has this id."""


async def note_evaluation(
    transaction: AsyncConnection, publisher: Publisher, found: Evaluation, now: datetime
) -> str | None:
    """Store a watchpoint's state; one that triggers now, and did not before, notifies its organisation.

    Returns the delivery's id. Canaries notify nobody: they are compared with what they should do. Raises NoWatchpoint.
    """
    row = (
        await transaction.execute(
            select(watchpoints.c.organization_id, watchpoints.c.metadata, evaluation_state.c.has_triggered)
            .outerjoin(evaluation_state, evaluation_state.c.watchpoint_id == watchpoints.c.id)
            .where(watchpoints.c.id == found.watchpoint_id)
            .where(watchpoints.c.status == "active")
            .with_for_update(of=watchpoints)
        )
    ).one_or_none()
    if row is None:
        raise NoWatchpoint(f"no active watchpoint {found.watchpoint_id!r}")
    state = {"has_triggered": found.has_triggered, "evaluated_at": now}
    await transaction.execute(
        insert_into(transaction, evaluation_state)
        .values(watchpoint_id=found.watchpoint_id, **state)
        .on_conflict_do_update(index_elements=["watchpoint_id"], set_=state)
    )
    if not found.has_triggered or row.has_triggered or is_canary(row.metadata):
        return None
    return await notify(
        transaction,
        publisher,
        row.organization_id,
        found.payload,
        now,
        watchpoint_id=found.watchpoint_id,
    )
