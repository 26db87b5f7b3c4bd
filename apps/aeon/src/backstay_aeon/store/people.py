"""Teams, people and keys."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from backstay.kit import new_api_key
from backstay_aeon.domain.errors import Missing
from backstay_aeon.store.database import Database


async def add_team(database: Database, name: str) -> UUID:
    """Add a team."""
    found: UUID = await database.value("INSERT INTO public.teams (name) VALUES ($1) RETURNING id", name)
    return found


async def team(database: Database, name: str) -> UUID:
    """The team of this name or id."""
    found: UUID | None = await database.value(
        "SELECT id FROM public.teams WHERE name = $1 OR id::text = $1 ORDER BY created_at LIMIT 1", name
    )
    if found is None:
        raise Missing(f"there is no team {name!r}; add it with: backstay-aeon teams add {name!r}")
    return found


async def add_user(database: Database, team_id: UUID, email: str) -> UUID:
    """Add a person to a team; somebody who is known stays who they are."""
    user_id: UUID = await database.value(
        "INSERT INTO public.users (email) VALUES ($1) ON CONFLICT (email) DO UPDATE SET email = excluded.email"
        " RETURNING id",
        email,
    )
    await database.execute(
        "INSERT INTO public.team_members (team_id, user_id) VALUES ($1, $2) ON CONFLICT DO NOTHING",
        team_id,
        user_id,
    )
    return user_id


async def add_key(
    database: Database, team_id: UUID, user_id: UUID | None, name: str, role: str = "member"
) -> str:
    """Make a key; its text is known only now."""
    key = new_api_key("aeon")
    await database.execute(
        "INSERT INTO aeon.service_keys (prefix, digest, name, role, team_id, user_id)"
        " VALUES ($1, $2, $3, $4, $5, $6)",
        key.prefix,
        key.digest,
        name,
        role,
        team_id,
        user_id,
    )
    return key.text


async def keys(database: Database, team_id: UUID) -> list[dict[str, Any]]:
    """The keys of a team, the newest first."""
    return await database.rows(
        "SELECT prefix, name, role, created_at, revoked_at FROM aeon.service_keys WHERE team_id = $1"
        " ORDER BY created_at DESC",
        team_id,
    )


async def revoke_key(database: Database, prefix: str) -> None:
    """Let a key open nothing any more; raises Missing for one that is not there."""
    done = await database.execute(
        "UPDATE aeon.service_keys SET revoked_at = coalesce(revoked_at, clock_timestamp()) WHERE prefix = $1",
        prefix,
    )
    if done == "UPDATE 0":
        raise Missing(f"there is no key {prefix!r}; see: backstay-aeon keys list")


async def set_login(database: Database, user_id: UUID, password_hash: str, role: str) -> None:
    """Let a person in by a password; a new one takes the place of the old."""
    await database.execute(
        "INSERT INTO aeon.logins (user_id, password_hash, role) VALUES ($1, $2, $3)"
        " ON CONFLICT (user_id) DO UPDATE SET password_hash = excluded.password_hash, role = excluded.role",
        user_id,
        password_hash,
        role,
    )
