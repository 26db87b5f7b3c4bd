"""Routes of duties, and of what their readers are told."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from fastapi import APIRouter

from backstay.kit import not_found
from backstay_oblicore.domain.preferences import Preferences
from backstay_oblicore.services import Services
from backstay_oblicore.store import notifications, obligations
from backstay_oblicore.web import queries
from backstay_oblicore.web.access import user_of
from backstay_oblicore.web.api_bodies import PreferencesBody, told_in_http


def duty_routes(api: APIRouter, services: Services, reader: Any, writer: Any) -> None:
    """The register, one duty, a duty that is done."""
    database = services.database

    @api.get("/obligations")
    async def listed(
        actor: reader, status: str | None = None, site_id: UUID | None = None
    ) -> list[dict[str, Any]]:
        async with database.as_user(user_of(actor)) as connection:
            return await queries.register(connection, status=status, site=site_id)

    @api.get("/obligations/{obligation_id}")
    async def one(actor: reader, obligation_id: UUID) -> dict[str, Any]:
        async with database.as_user(user_of(actor)) as connection:
            found = await queries.obligation(connection, obligation_id)
        if found is None:
            raise not_found()
        return found

    @api.post("/obligations/{obligation_id}/complete")
    async def complete(actor: writer, obligation_id: UUID) -> dict[str, Any]:
        today = datetime.now(UTC).date()
        async with database.as_user(user_of(actor)) as connection:
            if not await obligations.complete(connection, obligation_id, on=today, user=user_of(actor)):
                raise not_found()
        return {"completed_on": today.isoformat()}


def reader_routes(api: APIRouter, services: Services, reader: Any) -> None:
    """What somebody was told, and wants to be told."""
    database = services.database

    @api.get("/notifications")
    async def inbox(actor: reader) -> list[dict[str, Any]]:
        async with database.as_user(user_of(actor)) as connection:
            return await queries.inbox(connection, user_of(actor))

    @api.get("/preferences")
    async def preferences(actor: reader) -> dict[str, Any]:
        user = user_of(actor)
        async with database.as_user(user) as connection:
            chosen = (await notifications.preferences_of(connection, [user])).get(user)
        if chosen is None:
            raise not_found()
        return chosen.to_json()

    @api.put("/preferences")
    async def choose(actor: reader, body: PreferencesBody) -> dict[str, Any]:
        async with told_in_http():
            chosen = Preferences(frozenset(body.muted), body.text_messages, body.quiet_from, body.quiet_until)
        async with database.as_user(user_of(actor)) as connection:
            await notifications.save_preferences(connection, user_of(actor), chosen)
        return chosen.to_json()
