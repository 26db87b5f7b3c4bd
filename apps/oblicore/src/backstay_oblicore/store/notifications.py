"""Telling people: rows that are written once, and what becomes of each on its way."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any
from uuid import UUID, uuid4

import asyncpg

from backstay_oblicore.domain.preferences import LOUD, Preferences, from_stored
from backstay_oblicore.domain.words import AlertType, Channel, Priority, Severity
from backstay_oblicore.store.database import Connection, from_json, to_json

REFUSED = (asyncpg.IntegrityConstraintViolationError, asyncpg.DataError, asyncpg.RaiseError)


@dataclass(frozen=True)
class Note:
    """Something to tell one person on one or more channels; each channel becomes a row."""

    user_id: str
    company_id: UUID | None
    alert_type: AlertType
    severity: Severity
    channels: tuple[Channel, ...]
    title: str
    message: str
    entity_type: str | None = None
    entity_id: UUID | None = None
    action_url: str | None = None
    site_id: UUID | None = None
    priority: Priority = Priority.NORMAL
    metadata: dict[str, Any] = field(default_factory=dict)
    dedupe_key: str | None = None


@dataclass(frozen=True)
class Written:
    """A row that was written now, and not before."""

    id: UUID
    channel: Channel
    severity: Severity

    @property
    def leaves_at_once(self) -> bool:
        """Loud mails and every SMS leave by themselves; the rest waits for the day's one mail."""
        return self.channel is Channel.SMS or (self.channel is Channel.EMAIL and self.severity in LOUD)


async def write(connection: Connection, notes: Iterable[Note], *, now: datetime) -> list[Written]:
    """Write notes, each channel that its reader wants once for its dedupe key; return what is new."""
    all_notes = list(notes)
    if not all_notes:
        return []
    choices = await preferences_of(connection, {UUID(note.user_id) for note in all_notes})
    written = []
    for note in all_notes:
        chosen = choices.get(UUID(note.user_id), Preferences())
        for channel in note.channels:
            if not chosen.wants(channel, severity=note.severity, alert_type=note.alert_type):
                continue
            # The id is made here: reading it back would need the right to see other people's notes.
            row = uuid4()
            done = await connection.execute(_INSERT, row, *_values(note, channel), now)
            if done.endswith(" 1"):
                written.append(Written(row, channel, note.severity))
    return written


async def write_each(
    connection: Connection, notes: Sequence[Note], *, now: datetime
) -> tuple[list[Written], list[tuple[Note, str]]]:
    """Write notes within a transaction; one that the table refuses is left out and returned with the reason."""
    try:
        async with connection.transaction():
            return await write(connection, notes, now=now), []
    except REFUSED:
        written: list[Written] = []
        failed: list[tuple[Note, str]] = []
        for note in notes:
            try:
                async with connection.transaction():
                    written += await write(connection, [note], now=now)
            except REFUSED as error:
                failed.append((note, str(error)))
        return written, failed


async def preferences_of(connection: Connection, users: Iterable[UUID]) -> dict[UUID, Preferences]:
    """Return what some people want to be told."""
    rows = await connection.fetch(
        "SELECT id, notification_preferences FROM oblicore.users WHERE id = ANY($1)", list(users)
    )
    return {row["id"]: from_stored(from_json(row["notification_preferences"])) for row in rows}


async def save_preferences(connection: Connection, user: UUID, chosen: Preferences) -> None:
    """Keep what somebody wants to be told."""
    await connection.execute(
        "UPDATE oblicore.users SET notification_preferences = ($2::text)::jsonb WHERE id = $1",
        user,
        to_json(chosen.to_json()),
    )


# Naming the constraint would ask for the right to read the row, which only its reader has.
_INSERT = """
INSERT INTO oblicore.notifications (
    id, user_id, company_id, site_id, alert_type, severity, priority, channel, title, message, entity_type,
    entity_id, action_url, metadata, dedupe_key, status, created_at
)
SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, ($14::text)::jsonb, $15,
       CASE WHEN $8 = 'IN_APP' THEN 'SHOWN' ELSE 'PENDING' END, $16
ON CONFLICT DO NOTHING
"""


def _values(note: Note, channel: Channel) -> Sequence[Any]:
    return (
        UUID(note.user_id),
        note.company_id,
        note.site_id,
        note.alert_type.value,
        note.severity.value,
        note.priority.value,
        channel.value,
        note.title,
        note.message,
        note.entity_type,
        note.entity_id,
        note.action_url,
        to_json(note.metadata),
        note.dedupe_key,
    )


async def sent_keys(connection: Connection, prefix: str, company: UUID) -> set[str]:
    """Return the dedupe keys below a prefix that were told to anybody of a company."""
    rows = await connection.fetch(
        "SELECT DISTINCT dedupe_key FROM oblicore.notifications WHERE company_id = $2 AND starts_with(dedupe_key, $1)",
        prefix,
        company,
    )
    return {row["dedupe_key"] for row in rows}


async def told_about(connection: Connection, entities: Sequence[UUID]) -> dict[UUID, dict[str, set[str]]]:
    """Return, for each of some things, the dedupe keys that each reader was told."""
    rows = await connection.fetch(
        "SELECT entity_id, user_id, array_agg(DISTINCT dedupe_key) AS keys FROM oblicore.notifications"
        " WHERE entity_id = ANY($1) AND dedupe_key IS NOT NULL GROUP BY entity_id, user_id",
        list(entities),
    )
    found: dict[UUID, dict[str, set[str]]] = {}
    for row in rows:
        found.setdefault(row["entity_id"], {})[str(row["user_id"])] = set(row["keys"])
    return found


async def to_deliver(connection: Connection, notification: UUID) -> Any:
    """Return a row that is still to be sent, with its reader's addresses; none if it has left already."""
    return await connection.fetchrow(
        """
        SELECT note.id, note.channel, note.title, note.message, note.action_url, note.severity, note.company_id,
               note.user_id, note.metadata, note.entity_id,
               person.email, person.phone, person.full_name, person.notification_preferences,
               coalesce(company.zone, 'Europe/London') AS zone
        FROM oblicore.notifications AS note
        JOIN oblicore.users AS person ON person.id = note.user_id
        LEFT JOIN oblicore.companies AS company ON company.id = note.company_id
        WHERE note.id = $1 AND note.status = 'PENDING'
        """,
        notification,
    )


async def mark(
    connection: Connection, ids: Sequence[UUID], *, status: str, reply: str, now: datetime
) -> None:
    """Write down what became of rows: sent with the server's reply, or failed with its reason."""
    await connection.execute(
        "UPDATE oblicore.notifications SET status = $2, reply = $3,"
        " sent_at = CASE WHEN $2 = 'SENT' THEN $4::timestamptz END WHERE id = ANY($1)",
        list(ids),
        status,
        reply,
        now,
    )


async def digest_readers(connection: Connection, *, before: datetime) -> list[Any]:
    """Return those who have quiet mail waiting, with the zone of the company that it is about."""
    return await connection.fetch(
        """
        SELECT note.user_id, coalesce(max(company.zone), 'Europe/London') AS zone
        FROM oblicore.notifications AS note
        LEFT JOIN oblicore.companies AS company ON company.id = note.company_id
        WHERE note.channel = 'EMAIL' AND note.status = 'PENDING'
          AND note.severity IN ('INFO', 'WARNING', 'SUCCESS') AND note.created_at <= $1
        GROUP BY note.user_id
        ORDER BY note.user_id
        """,
        before,
    )


async def digest_rows(connection: Connection, user: UUID, *, before: datetime) -> list[Any]:
    """Return the quiet mails that wait for one reader, oldest first."""
    return await connection.fetch(
        """
        SELECT note.id, note.title, note.message, note.severity, note.action_url, note.metadata, note.entity_id,
               person.email, person.full_name
        FROM oblicore.notifications AS note
        JOIN oblicore.users AS person ON person.id = note.user_id
        WHERE note.user_id = $1 AND note.channel = 'EMAIL' AND note.status = 'PENDING'
          AND note.severity IN ('INFO', 'WARNING', 'SUCCESS') AND note.created_at <= $2
        ORDER BY note.created_at, note.id
        """,
        user,
        before,
    )


async def digest_was_sent(connection: Connection, user: UUID, day: date) -> bool:
    """Say whether this reader has had the day's mail."""
    found: bool = await connection.fetchval(
        "SELECT EXISTS (SELECT FROM oblicore.notifications WHERE user_id = $1 AND digest_on = $2)", user, day
    )
    return found
