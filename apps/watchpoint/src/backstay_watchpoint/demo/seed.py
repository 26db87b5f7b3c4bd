"""A platform to look at: organisations in many zones, their watchpoints, and what has happened to them."""

from __future__ import annotations

import hashlib
from datetime import datetime, timedelta
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from sqlalchemy import insert, select

from backstay_watchpoint.domain.digests import next_digest
from backstay_watchpoint.domain.forecasts import tile_of
from backstay_watchpoint.store.database import Database
from backstay_watchpoint.store.tables import (
    api_keys,
    audit_logs,
    evaluation_state,
    idempotency_keys,
    invites,
    notification_deliveries,
    notifications,
    organizations,
    rate_limits,
    security_events,
    watchpoints,
)

ZONES = (
    "Europe/Berlin",
    "Europe/London",
    "America/New_York",
    "America/Los_Angeles",
    "America/Sao_Paulo",
    "Asia/Kolkata",
    "Asia/Tokyo",
    "Asia/Kathmandu",
    "Australia/Sydney",
    "Australia/Lord_Howe",
    "Africa/Nairobi",
    "Pacific/Kiritimati",
)
TIMES = ("07:00", "08:30", "06:15", "18:00", "mon 09:00")
SOURCES = ("web", "api")
PLACES = ((52.5, 13.4), (40.7, -74.0), (35.7, 139.7), (-33.9, 151.2), (19.1, 72.9))
INVITES, KEYS, EVENTS, NOTIFICATIONS, AUDIT = 30, 40, 50, 12, 25
"""How much of each the clean-ups find."""
_SPACE = uuid5(NAMESPACE_URL, "watchpoint-demo")


def name_of(kind: str, number: int) -> str:
    """Return an id that is the same in every run."""
    return f"{kind}-{uuid5(_SPACE, f'{kind}{number}')}"


def key_of(number: int, source: str) -> str:
    """Return an organisation's API key for one of its programs."""
    return f"demo-key-{number}-{source}"


async def has_tenants(database: Database) -> bool:
    """Tell whether there is any organisation."""
    async with database.reading() as transaction:
        return await transaction.scalar(select(organizations.c.id).limit(1)) is not None


async def seed_tenants(database: Database, day: datetime, *, number: int, each: int = 10) -> dict[str, int]:
    """Store organisations as they are at the first moment of a day, each with watchpoints and two keys."""
    rows = [_organization(index, day) for index in range(number)]
    points = [_watchpoint(owner, index, day, each) for owner in range(number) for index in range(each)]
    async with database.transaction() as transaction:
        await transaction.execute(insert(organizations), rows)
        await transaction.execute(insert(watchpoints), points)
        keys = [
            {
                "key_hash": hashlib.sha256(key_of(owner, source).encode()).hexdigest(),
                "organization_id": name_of("org", owner),
                "source": source,
                "created_at": day,
            }
            for owner in range(number)
            for source in SOURCES
        ]
        await transaction.execute(insert(api_keys), keys)
    return {"organizations": len(rows), "watchpoints": len(points), "keys": len(keys)}


def _organization(number: int, day: datetime) -> dict[str, Any]:
    preferences = {"timezone": ZONES[number % len(ZONES)], "digest": {"schedule": TIMES[number % len(TIMES)]}}
    return {
        "id": name_of("org", number),
        "name": f"Organisation {number:03d}",
        "email": f"org{number:03d}@example.org",
        "plan": "pro",
        "notification_preferences": preferences,
        "next_digest_at": next_digest(preferences, day - timedelta(seconds=1)).at,
        "stripe_customer_id": f"cus_seeded_{number:03d}",
        "last_billing_sync_at": day,
        "created_at": day - timedelta(days=200),
    }


def _watchpoint(number: int, index: int, day: datetime, each: int) -> dict[str, Any]:
    latitude, longitude = PLACES[(number + index) % len(PLACES)]
    has_event = index == 0
    return {
        "id": name_of("wp", number * each + index),
        "organization_id": name_of("org", number),
        "name": f"Site {number:03d}-{index}",
        "latitude": latitude,
        "longitude": longitude,
        "tile_id": tile_of(latitude, longitude),
        "conditions": {"variable": "precipitation_probability", "above": 0.7},
        "metadata": {},
        "time_window_start": day - timedelta(days=1) if has_event else None,
        "time_window_end": day + timedelta(minutes=7 * number % 1300) if has_event else None,
        "created_at": day - timedelta(days=100 - index),
    }


async def seed_counters(database: Database, number: int, period_end: datetime) -> int:
    """Store what each organisation's two programs have called in the day that ended; returns the sum of calls."""
    rows = [
        {
            "organization_id": name_of("org", owner),
            "source": source,
            "api_calls_count": 3 + (owner * 7 + position * 5) % 90,
            "watchpoints_count": owner % 4,
            "period_start": period_end - timedelta(days=1),
            "period_end": period_end,
        }
        for owner in range(number)
        for position, source in enumerate(SOURCES)
    ]
    async with database.transaction() as transaction:
        await transaction.execute(insert(rate_limits), rows)
    return sum(int(str(row["api_calls_count"])) for row in rows)


async def seed_deferred(database: Database, number: int, day: datetime, *, deliveries: int) -> None:
    """Store notifications that wait for the end of quiet hours, all due in the course of the day."""
    told = [
        {
            "id": name_of("note", index),
            "organization_id": name_of("org", index % number),
            "watchpoint_id": None,
            "payload": {"subject": f"Rain expected ({index})", "text": "More than 70 % within the hour."},
            "created_at": day - timedelta(hours=3),
        }
        for index in range(deliveries)
    ]
    waiting = [
        {
            "id": name_of("delivery", index),
            "notification_id": name_of("note", index),
            "status": "deferred",
            "next_retry_at": day + timedelta(minutes=(index * 11) % 1400),
            "created_at": day - timedelta(hours=3),
        }
        for index in range(deliveries)
    ]
    async with database.transaction() as transaction:
        await transaction.execute(insert(notifications), told)
        await transaction.execute(insert(notification_deliveries), waiting)


async def seed_canaries(database: Database, day: datetime) -> None:
    """Store three canaries, one of which has triggered though it should not have."""
    async with database.transaction() as transaction:
        for number, (expected, has_triggered) in enumerate(((True, True), (False, False), (False, True))):
            row = _watchpoint(0, 1, day, 10) | {
                "id": name_of("canary", number),
                "name": f"Canary {number + 1}",
                "metadata": {"system_role": "canary", "canary_expect_trigger": expected},
            }
            await transaction.execute(insert(watchpoints).values(row))
            await transaction.execute(
                insert(evaluation_state).values(
                    watchpoint_id=row["id"], has_triggered=has_triggered, evaluated_at=day
                )
            )


async def seed_deleted(database: Database, now: datetime, *, number: int) -> None:
    """Store organisations that were deleted just long enough ago to go now, and not a day earlier."""
    rows = [
        _organization(10_000 + index, now)
        | {
            "next_digest_at": None,
            "deleted_at": now - timedelta(days=30, minutes=1 + index % 50),
            "stripe_customer_id": None,
        }
        for index in range(number)
    ]
    async with database.transaction() as transaction:
        await transaction.execute(insert(organizations), rows)


async def seed_old(database: Database, day: datetime) -> None:
    """Store what the day's clean-ups must find: expired, or kept long enough."""
    owner = name_of("org", 0)
    told = {"organization_id": owner, "payload": {"subject": "Hail"}, "created_at": day - timedelta(days=366)}
    record: dict[str, Any] = {
        "organization_id": owner,
        "actor": "web",
        "action": "watchpoint.created",
        "details": {},
    }
    record = {**record, "created_at": day - timedelta(days=800)}
    expired, tried = {"expires_at": day - timedelta(hours=1)}, {"attempted_at": day - timedelta(days=8)}
    rows: tuple[tuple[Any, int, dict[str, Any]], ...] = (
        (invites, INVITES, {"organization_id": owner, "email": "new@example.org", **expired}),
        (security_events, EVENTS, {"event_type": "login_failed", **tried}),
        (notifications, NOTIFICATIONS, told),
        (audit_logs, AUDIT, record),
    )
    async with database.transaction() as transaction:
        for table, number, values in rows:
            made = [{"id": name_of(f"old-{table.name}", index), **values} for index in range(number)]
            await transaction.execute(insert(table), made)
        keys = [{"organization_id": owner, "key": f"key-{index}", **expired} for index in range(KEYS)]
        await transaction.execute(insert(idempotency_keys), keys)
