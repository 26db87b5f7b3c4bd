"""Who may come in: staff with passwords, programs with keys."""

from datetime import datetime

from backstay.kit import StoredApiKey, hash_password, new_api_key
from backstay_exora.store.connections import Connection, connect


async def add_staff(connection: Connection, practice: str, name: str, password: str, *, role: str) -> None:
    """Store a member of the staff; a known name gets the new password and role."""
    await connection.execute(
        "INSERT INTO exora.staff (practice_id, name, password_hash, role) VALUES ($1, $2, $3, $4)"
        " ON CONFLICT (name) DO UPDATE SET password_hash = EXCLUDED.password_hash, role = EXCLUDED.role",
        practice,
        name,
        hash_password(password),
        role,
    )


async def staff_named(connection: Connection, name: str) -> tuple[str, str, str] | None:
    """Practice, password hash and role; None for an unknown name."""
    row = await connection.fetchrow(
        "SELECT practice_id, password_hash, role FROM exora.staff WHERE name = $1", name
    )
    return (row["practice_id"], row["password_hash"], row["role"]) if row else None


async def add_key(connection: Connection, practice: str, name: str, *, role: str) -> str:
    """Make a key for a program; its text is shown once and not stored."""
    made = new_api_key("exo")
    await connection.execute(
        "INSERT INTO exora.api_keys (prefix, digest, practice_id, name, role) VALUES ($1, $2, $3, $4, $5)",
        made.prefix,
        made.digest,
        practice,
        name,
        role,
    )
    return made.text


class KeyStore:
    """Finds keys for the kit."""

    def __init__(self, database_url: str) -> None:
        self._url = database_url

    async def find_key(self, prefix: str) -> StoredApiKey | None:
        """The key with this prefix."""
        async with connect(self._url) as connection:
            row = await connection.fetchrow(
                "SELECT prefix, digest, practice_id, name, role FROM exora.api_keys WHERE prefix = $1", prefix
            )
        if row is None:
            return None
        return StoredApiKey(row["prefix"], row["digest"], row["name"], (row["role"],), row["practice_id"])

    async def key_used(self, prefix: str, at: datetime) -> None:
        """Note that a key was used."""
        async with connect(self._url) as connection:
            await connection.execute(
                "UPDATE exora.api_keys SET last_used_at = $2 WHERE prefix = $1", prefix, at
            )
