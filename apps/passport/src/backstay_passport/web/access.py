"""Who may do what: people with passwords, programs with keys."""

from __future__ import annotations

import asyncio
from datetime import datetime

from backstay.kit import Actor, Passwords, Roles
from backstay.kit import StoredApiKey as StoredKey
from backstay_passport.services import Services
from backstay_passport.store import access

RIGHTS = {
    "viewer": ["passports.read"],
    "maker": ["passports.read", "passports.write"],
    "admin": ["*"],
}
roles = Roles(RIGHTS)


class KeyStore:
    """Keys of programs, by their prefix."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def find_key(self, prefix: str) -> StoredKey | None:
        """Return the key with this prefix."""
        return await asyncio.to_thread(self._find, prefix)

    async def key_used(self, prefix: str, at: datetime) -> None:
        """Nothing is kept about single uses."""

    def _find(self, prefix: str) -> StoredKey | None:
        with self._services.database.read() as connection:
            row = access.api_key(connection, prefix)
        if row is None:
            return None
        return StoredKey(row["prefix"], row["digest"], row["name"], (row["role"],), row["tenant_id"])


class People:
    """Somebody who logs in."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._passwords = Passwords()

    async def authenticate(self, name: str, password: str) -> Actor | None:
        """Return who this is, if the password is right."""
        row = await asyncio.to_thread(self._find, name)
        if not await self._passwords.match(password, None if row is None else row[0]) or row is None:
            return None
        return roles.actor(name, [row[1]], tenant=row[2])

    def _find(self, name: str) -> tuple[str, str, str] | None:
        with self._services.database.read() as connection:
            row = access.user(connection, name)
        return None if row is None else (row["password_hash"], row["role"], row["tenant_id"])
