"""Who is calling: programs by their key, people by their password."""

from __future__ import annotations

from datetime import datetime

from backstay.kit import Actor, Passwords, Roles, StoredApiKey
from backstay_aeon.services import Services

ROLES = Roles(
    {"member": ["jobs.read", "jobs.write"], "operator": ["jobs.*", "operate"], "viewer": ["jobs.read"]}
)
_passwords = Passwords()


class KeyStore:
    """Keys by their prefix; the name of the caller is the id of the person behind the key."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def find_key(self, prefix: str) -> StoredApiKey | None:
        """The key with this prefix."""
        row = await self._services.database.row("SELECT * FROM aeon.service_keys WHERE prefix = $1", prefix)
        if row is None:
            return None
        return StoredApiKey(
            row["prefix"],
            row["digest"],
            str(row["user_id"] or row["name"]),
            (row["role"],),
            str(row["team_id"]),
            revoked_at=row["revoked_at"],
        )

    async def key_used(self, prefix: str, at: datetime) -> None:
        """Nothing is kept about single uses."""


async def authenticate(services: Services, roles: Roles, name: str, password: str) -> Actor | None:
    """Recognise somebody by e-mail address and password."""
    row = await services.database.row(
        "SELECT u.id, l.password_hash, l.role, m.team_id FROM public.users u JOIN aeon.logins l ON l.user_id = u.id"
        " JOIN public.team_members m ON m.user_id = u.id WHERE u.email = $1 LIMIT 1",
        name,
    )
    if not await _passwords.match(password, None if row is None else row["password_hash"]) or row is None:
        return None
    return roles.actor(name, [row["role"]], tenant=str(row["team_id"]), actor_id=str(row["id"]))
