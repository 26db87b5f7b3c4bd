"""Webhooks, once for both databases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

import msgspec

from backstay.model.job import NewJob
from backstay.model.webhooks import Webhook, topics_of
from backstay.stores import audit, rows
from backstay.stores.database.interface import Connection, Lane, Row
from backstay.stores.reactions import store_caused

ALL_TENANTS = "*"
LEFT = timedelta(minutes=10)
"""So long changes are still written for those who listen beside a webhook that is gone."""


@dataclass(frozen=True, slots=True)
class WebhookStore:
    """Keeps webhooks on one lane."""

    lane: Lane

    async def add(
        self,
        webhook_id: UUID,
        *,
        tenant: str,
        name: str,
        url: str,
        events: Sequence[str],
        kinds: Sequence[str] | None,
        form: str,
        secret: str,
        actor: str,
    ) -> None:
        async with self.lane.transaction() as connection:
            await connection.fetch(
                "webhooks/insert",
                id=webhook_id,
                tenant=tenant,
                name=name,
                url=url,
                events=_json(events),
                kinds=None if kinds is None else _json(kinds),
                form=form,
                secret=secret,
                by=actor,
            )
            await _listen(connection)
            await _record(connection, "webhook.created", webhook_id, tenant, actor, name=name)

    async def get(self, webhook_id: UUID) -> tuple[Webhook, tuple[str, ...]] | None:
        found = await self.lane.fetch("webhooks/get", id=webhook_id)
        return (_webhook(found[0]), _secrets(found[0])) if found else None

    async def all(self, *, tenant: str | None, limit: int) -> list[Webhook]:
        return [_webhook(row) for row in await self.lane.fetch("webhooks/all", tenant=tenant, limit=limit)]

    async def deliver(self, deliveries: Sequence[NewJob]) -> None:
        async with self.lane.transaction() as connection:
            await store_caused(connection, deliveries)

    async def note(self, webhook: Webhook, action: str, *, actor: str, message: str) -> None:
        async with self.lane.transaction() as connection:
            await _record(connection, action, webhook.id, webhook.tenant, actor, message=message)

    async def listening(self, tenant: str) -> list[Webhook]:
        return [_webhook(row) for row in await self.lane.fetch("webhooks/listening", tenant=tenant)]

    async def change(
        self,
        webhook: Webhook,
        *,
        name: str | None,
        url: str | None,
        events: Sequence[str] | None,
        is_enabled: bool | None,
        actor: str,
    ) -> None:
        async with self.lane.transaction() as connection:
            await connection.fetch(
                "webhooks/change",
                id=webhook.id,
                name=name,
                url=url,
                events=None if events is None else _json(events),
                is_enabled=is_enabled,
            )
            await _listen(connection)
            changed = {
                "name": name,
                "events": events,
                "is_enabled": is_enabled,
                "has_new_url": url is not None,
            }
            told = {field: value for field, value in changed.items() if value is not None}
            await _record(connection, "webhook.changed", webhook.id, webhook.tenant, actor, **told)

    async def rotate(self, webhook: Webhook, *, secret: str, overlap: timedelta, actor: str) -> None:
        async with self.lane.transaction() as connection:
            await connection.fetch("webhooks/rotate", id=webhook.id, secret=secret, overlap=overlap)
            await _record(connection, "webhook.rotated", webhook.id, webhook.tenant, actor)

    async def remove(self, webhook: Webhook, *, actor: str) -> bool:
        async with self.lane.transaction() as connection:
            removed = bool(await connection.fetch("webhooks/remove", id=webhook.id))
            if removed:
                await _listen(connection)
                await _record(
                    connection, "webhook.removed", webhook.id, webhook.tenant, actor, name=webhook.name
                )
            return removed


async def _listen(connection: Connection) -> None:
    """Have the ends written down that some webhook hears of, and no others."""
    enabled = await connection.fetch("webhooks/enabled")
    topics = topics_of((row["tenant"], rows.document(row["kinds"])) for row in enabled)
    for topic in sorted(topics):
        await connection.fetch("outbox/listen_always", topic=topic)
    # No topic is empty, and without any topic at all there would be no statement.
    await connection.fetch_each(
        "webhooks/rest", [{"topic": topic} for topic in sorted({"", *topics})], length=LEFT
    )


async def _record(
    connection: Connection, action: str, webhook_id: UUID, tenant: str, actor: str, **details: object
) -> None:
    own = "" if tenant == ALL_TENANTS else tenant
    told = {"webhook": str(webhook_id), **details}
    await audit.record(connection, [audit.Line(tenant=own, actor=actor, action=action, details=told)])


def _json(values: Sequence[str]) -> str:
    return msgspec.json.encode(list(values)).decode()


def _secrets(row: Row) -> tuple[str, ...]:
    """The secrets that deliveries are signed with now, the newest first."""
    until = rows.maybe_moment(row["old_secret_until"])
    old_counts = until is not None and until > rows.moment(row["now"])
    return (row["secret"], row["old_secret"]) if old_counts else (row["secret"],)


def _webhook(row: Row) -> Webhook:
    kinds = rows.document(row["kinds"])
    return Webhook(
        id=UUID(str(row["id"])),
        tenant=row["tenant"],
        name=row["name"],
        url=row["url"],
        events=tuple(rows.document(row["events"])),
        kinds=None if kinds is None else tuple(kinds),
        form=row["form"],
        is_enabled=bool(row["is_enabled"]),
        created_at=rows.moment(row["created_at"]),
        created_by=row["created_by"],
        updated_at=rows.moment(row["updated_at"]),
        old_secret_until=rows.maybe_moment(row["old_secret_until"]),
    )
