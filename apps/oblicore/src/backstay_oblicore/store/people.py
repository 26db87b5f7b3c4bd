"""Companies, sites, users and their roles."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from backstay_oblicore.domain.recipients import Person
from backstay_oblicore.domain.words import Role
from backstay_oblicore.store import audit
from backstay_oblicore.store.database import Connection


@dataclass(frozen=True)
class Company:
    """A company and the zone that its days are counted in."""

    id: UUID
    name: str
    zone: str

    def today(self, now: datetime) -> date:
        """The day at this company."""
        return now.astimezone(ZoneInfo(self.zone)).date()


async def companies(connection: Connection, only: UUID | None = None) -> list[Company]:
    """Return the companies that are not deleted, or the one asked for."""
    rows = await connection.fetch(
        "SELECT id, name, zone FROM oblicore.companies"
        " WHERE deleted_at IS NULL AND ($1::uuid IS NULL OR id = $1) ORDER BY id",
        only,
    )
    return [Company(row["id"], row["name"], row["zone"]) for row in rows]


async def people_of(connection: Connection, company: UUID) -> list[Person]:
    """Return everybody with a role in the company, with the sites that they look after there."""
    rows = await connection.fetch(
        """
        SELECT held.user_id, held.role, assigned.site_id
        FROM oblicore.user_roles AS held
        JOIN oblicore.users AS person ON person.id = held.user_id AND person.deleted_at IS NULL
        LEFT JOIN (
            oblicore.user_site_assignments AS assigned
            JOIN oblicore.sites AS site ON site.id = assigned.site_id
        ) ON assigned.user_id = held.user_id AND site.company_id = held.company_id
        WHERE held.company_id = $1
        """,
        company,
    )
    roles: dict[str, set[Role]] = defaultdict(set)
    sites: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        roles[str(row["user_id"])].add(Role(row["role"]))
        if row["site_id"]:
            sites[str(row["user_id"])].add(str(row["site_id"]))
    return [Person(user, frozenset(held), frozenset(sites[user])) for user, held in sorted(roles.items())]


async def roles_of(connection: Connection, user: UUID, company: UUID) -> frozenset[Role]:
    """Return the roles that somebody holds in a company."""
    rows = await connection.fetch(
        "SELECT role FROM oblicore.user_roles WHERE user_id = $1 AND company_id = $2", user, company
    )
    return frozenset(Role(row["role"]) for row in rows)


async def platform_admins(connection: Connection) -> list[str]:
    """Return those who look after the whole installation."""
    rows = await connection.fetch(
        "SELECT id FROM oblicore.users WHERE is_platform_admin AND deleted_at IS NULL ORDER BY id"
    )
    return [str(row["id"]) for row in rows]


async def user_by_email(connection: Connection, email: str) -> Any:
    """Return somebody's row by e-mail address, in any case."""
    return await connection.fetchrow(
        "SELECT id, email, full_name, password_hash, is_platform_admin FROM oblicore.users"
        " WHERE lower(email) = lower($1) AND deleted_at IS NULL",
        email,
    )


async def add_company(connection: Connection, name: str, *, zone: str = "Europe/London") -> UUID:
    """Add a company."""
    ZoneInfo(zone)
    found: UUID = await connection.fetchval(
        "INSERT INTO oblicore.companies (name, zone) VALUES ($1, $2) RETURNING id", name, zone
    )
    return found


async def add_site(
    connection: Connection,
    company: UUID,
    name: str,
    *,
    regulator: str = "EA",
    working_days_only: bool = False,
) -> UUID:
    """Add a site to a company."""
    found: UUID = await connection.fetchval(
        "INSERT INTO oblicore.sites (company_id, name, regulator, adjust_for_business_days)"
        " VALUES ($1, $2, $3, $4) RETURNING id",
        company,
        name,
        regulator,
        working_days_only,
    )
    return found


async def change_site(
    connection: Connection, site: UUID, *, regulator: str, working_days_only: bool, user: UUID
) -> None:
    """Change how the dates of a site are reckoned; open deadlines that fall elsewhere now are written anew."""
    row = await connection.fetchrow(
        "UPDATE oblicore.sites AS now SET regulator = $2, adjust_for_business_days = $3"
        " FROM oblicore.sites AS before WHERE now.id = $1 AND before.id = now.id"
        " RETURNING now.company_id, before.regulator, before.adjust_for_business_days",
        site,
        regulator,
        working_days_only,
    )
    await connection.execute(
        "DELETE FROM oblicore.deadlines WHERE site_id = $1 AND status IN ('PENDING', 'DUE_SOON')", site
    )
    await audit.write(
        connection,
        "SITE_CHANGED",
        entity_type="SITE",
        entity_id=site,
        company=row["company_id"],
        user=user,
        previous={"regulator": row["regulator"], "working_days_only": row["adjust_for_business_days"]},
        new={"regulator": regulator, "working_days_only": working_days_only},
    )


async def add_user(
    connection: Connection,
    email: str,
    full_name: str,
    *,
    phone: str | None = None,
    password_hash: str | None = None,
    is_platform_admin: bool = False,
) -> UUID:
    """Add somebody."""
    found: UUID = await connection.fetchval(
        "INSERT INTO oblicore.users (email, full_name, phone, password_hash, is_platform_admin)"
        " VALUES ($1, $2, $3, $4, $5) RETURNING id",
        email,
        full_name,
        phone,
        password_hash,
        is_platform_admin,
    )
    return found


async def set_platform_admin(connection: Connection, user: UUID, *, is_admin: bool = True) -> None:
    """Let somebody look after the whole installation, or no longer."""
    await connection.execute("UPDATE oblicore.users SET is_platform_admin = $2 WHERE id = $1", user, is_admin)


async def grant(
    connection: Connection, user: UUID, company: UUID, role: str, *, sites: tuple[UUID, ...] = ()
) -> None:
    """Give somebody a role in a company, and sites to look after."""
    await connection.execute(
        "INSERT INTO oblicore.user_roles (user_id, company_id, role) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
        user,
        company,
        role,
    )
    for site in sites:
        await connection.execute(
            "INSERT INTO oblicore.user_site_assignments (user_id, site_id) VALUES ($1, $2) ON CONFLICT DO NOTHING",
            user,
            site,
        )
    if role == Role.CONSULTANT:
        await connection.execute(
            "INSERT INTO oblicore.consultant_client_assignments (consultant_id, client_company_id) VALUES ($1, $2)"
            " ON CONFLICT DO NOTHING",
            user,
            company,
        )
