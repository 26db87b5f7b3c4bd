"""Requests that carry a key of their sender: sent again, they get the answer of the first one and do nothing.

Key, answer and effect are one transaction, so that no crash leaves the one without the others.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import delete, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from backstay_watchpoint.store.database import insert_into
from backstay_watchpoint.store.tables import idempotency_keys

KEPT_FOR = timedelta(hours=24)


class KeyReused(ValueError):
    """A key that was sent before with another request."""


async def earlier_answer(
    transaction: AsyncConnection, organization_id: str, key: str, request: Mapping[str, Any], now: datetime
) -> dict[str, Any] | None:
    """Take a key for a request, or return the answer that the key's first request got; raises KeyReused.

    Of two that come at once, the second waits for the transaction of the first.
    """
    own = _is_key(organization_id, key)
    await transaction.execute(delete(idempotency_keys).where(own).where(idempotency_keys.c.expires_at < now))
    digest = hashlib.sha256(json.dumps(request, sort_keys=True, default=str).encode()).hexdigest()
    values = {"organization_id": organization_id, "key": key, "expires_at": now + KEPT_FOR}
    taken = await transaction.scalar(
        insert_into(transaction, idempotency_keys)
        .values(**values, response={"request": digest})
        .on_conflict_do_nothing()
        .returning(idempotency_keys.c.key)
    )
    if taken is not None:
        return None
    stored = await transaction.scalar(select(idempotency_keys.c.response).where(own))
    if stored is None or stored["request"] != digest:
        raise KeyReused(f"the key {key!r} was sent with another request before: take a new one")
    answer: dict[str, Any] = stored["answer"]
    return answer


async def keep_answer(
    transaction: AsyncConnection, organization_id: str, key: str, answer: Mapping[str, Any]
) -> None:
    """Keep the answer of the request that has taken a key, in the same transaction."""
    own = _is_key(organization_id, key)
    stored: dict[str, Any] = await transaction.scalar(select(idempotency_keys.c.response).where(own)) or {}
    await transaction.execute(
        update(idempotency_keys).where(own).values(response={**stored, "answer": dict(answer)})
    )


def _is_key(organization_id: str, key: str) -> Any:
    return (idempotency_keys.c.organization_id == organization_id) & (idempotency_keys.c.key == key)
