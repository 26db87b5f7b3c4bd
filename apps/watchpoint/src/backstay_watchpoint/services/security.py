"""Security events: somebody was not let in."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from uuid import uuid4

from sqlalchemy import insert

from backstay_watchpoint.store.database import Database
from backstay_watchpoint.store.tables import security_events


class SecurityEvent(StrEnum):
    """What was tried in vain."""

    UNKNOWN_KEY = "unknown_key"
    WRONG_TOKEN = "wrong_token"  # noqa: S105 - a name, not a secret
    WRONG_CALLBACK = "wrong_callback"
    LOGIN_FAILED = "login_failed"


async def note_attempt(database: Database, event: SecurityEvent, now: datetime) -> None:
    """Write down an attempt, in a transaction of its own: that of the refused request is rolled back."""
    async with database.transaction() as transaction:
        values = {"id": str(uuid4()), "event_type": event, "attempted_at": now}
        await transaction.execute(insert(security_events).values(values))
