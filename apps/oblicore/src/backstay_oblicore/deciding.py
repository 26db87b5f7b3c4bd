"""What people decide about duties: answers to questions, corrections, who does it; dates follow at once."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import date
from typing import Any
from uuid import UUID

from backstay_oblicore.domain.errors import AccessDenied, InvalidRequest
from backstay_oblicore.domain.words import Frequency, Role
from backstay_oblicore.services import Services
from backstay_oblicore.store import audit, people, reviews
from backstay_oblicore.store.database import Connection, acting_as
from backstay_oblicore.store.reviews import Changes

NEEDS_RULE = (Frequency.N_YEARLY, Frequency.HOURS_BASED)


async def answer(
    services: Services,
    item: UUID,
    *,
    user: UUID,
    confirmed: bool,
    reason: str,
    changes: Changes | None = None,
) -> None:
    """Answer a question of the review queue; raise AccessDenied if there is none to answer."""
    changes = changes or Changes()
    _check(changes)
    async with _then_reckoned(services, user) as (connection, places):
        found = await reviews.decide(
            connection, item, confirmed=confirmed, reason=reason, changes=changes, user=user
        )
        if found is None:
            raise AccessDenied("there is no such question, or it has been answered")
        places.append((found["company_id"], found["site_id"]))


async def correct(
    services: Services,
    obligation: UUID,
    changes: Changes,
    *,
    user: UUID,
    assigned_to: UUID | None = None,
    is_applicable: bool = True,
) -> None:
    """Correct an obligation, hand it to somebody, or say that it does not apply."""
    _check(changes)
    async with _then_reckoned(services, user) as (connection, places):
        row = await connection.fetchrow(
            "SELECT company_id, site_id, summary, frequency, assigned_to, status FROM oblicore.obligations"
            " WHERE id = $1 AND deleted_at IS NULL AND oblicore.may_change(company_id, site_id)",
            obligation,
        )
        if row is None:
            raise AccessDenied("there is no such duty, or you may not change it")
        if assigned_to is not None and not await _can_be_assigned(connection, row, assigned_to):
            raise InvalidRequest("a duty goes to somebody who works for the company and may see the site")
        if changes:
            await reviews.change(connection, obligation, changes)
        await connection.execute(_HAND_OVER, obligation, assigned_to, is_applicable)
        await audit.write(
            connection,
            "OBLIGATION_CHANGED",
            entity_type="OBLIGATION",
            entity_id=obligation,
            company=row["company_id"],
            user=user,
            previous={key: row[key] for key in ("summary", "frequency", "assigned_to", "status")},
            new={"changes": str(changes), "assigned_to": assigned_to, "is_applicable": is_applicable},
        )
        places.append((row["company_id"], row["site_id"]))


_HAND_OVER = """
UPDATE oblicore.obligations
SET assigned_to = $2,
    status = CASE
        WHEN NOT $3 THEN 'NOT_APPLICABLE'
        WHEN status = 'NOT_APPLICABLE' THEN 'PENDING'
        ELSE status
    END,
    updated_at = now()
WHERE id = $1
"""


async def assignable(connection: Connection, company: UUID, site: UUID) -> list[tuple[str, str]]:
    """Return whom a duty can be given to, as pairs of id and name."""
    rows = await connection.fetch(
        """
        SELECT DISTINCT person.id, person.full_name
        FROM oblicore.user_roles AS held
        JOIN oblicore.users AS person ON person.id = held.user_id AND person.deleted_at IS NULL
        WHERE held.company_id = $1
          AND (
              held.role IN ('OWNER', 'ADMIN')
              OR held.role = 'STAFF' AND EXISTS (
                  SELECT FROM oblicore.user_site_assignments AS place
                  WHERE place.user_id = held.user_id AND place.site_id = $2
              )
          )
        ORDER BY person.full_name, person.id
        """,
        company,
        site,
    )
    return [(str(row["id"]), row["full_name"]) for row in rows]


async def _can_be_assigned(connection: Connection, row: Any, user: UUID) -> bool:
    roles = await people.roles_of(connection, user, row["company_id"])
    if not roles & {Role.OWNER, Role.ADMIN, Role.STAFF}:
        return False
    return str(user) in {one for one, _ in await assignable(connection, row["company_id"], row["site_id"])}


def _check(changes: Changes) -> None:
    if changes.frequency in NEEDS_RULE:
        raise InvalidRequest(f"{changes.frequency} follows from the words of the clause and cannot be chosen")
    if changes.frequency is Frequency.ONE_TIME and changes.first_due is None:
        raise InvalidRequest("a duty that comes once needs its date")
    if changes.first_due is not None and not date(1990, 1, 1) <= changes.first_due <= date(2100, 1, 1):
        raise InvalidRequest(f"{changes.first_due} is no date of a permit")


@asynccontextmanager
async def _then_reckoned(
    services: Services, user: UUID
) -> AsyncIterator[tuple[Connection, list[tuple[UUID, UUID]]]]:
    """Open a transaction with the user's rights; the sites it names are reckoned anew once it is stored."""
    places: list[tuple[UUID, UUID]] = []
    async with services.database.connection() as connection, connection.transaction():
        async with acting_as(connection, user):
            yield connection, places
        for company, site in places:
            await (
                services.handlers["MONITORING_SCHEDULE"]
                .options(tx=connection, tenant=str(company), unique=f"after a change at {site}")
                .enqueue(company_id=company, site_id=site)
            )
