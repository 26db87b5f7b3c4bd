"""Brings the tables up to this release, and tells whether they have drifted from it."""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from windlass.errors import SchemaMismatch
from windlass.stores.database import Database, Migration
from windlass.stores.queries import SQL, Dialect


@dataclass(frozen=True, slots=True)
class Drift:
    """A line of the schema that is there but should not be, or the other way round."""

    line: str
    is_missing: bool

    def __str__(self) -> str:
        return f"{'missing' if self.is_missing else 'unexpected'}: {self.line}"


def migrations(dialect: Dialect) -> list[Migration]:
    """Every migration of this release, in order."""
    return [
        Migration(number, name, sql, hashlib.sha256(sql.encode()).hexdigest())
        for number, name, sql in dialect.migrations
    ]


async def migrate(database: Database) -> list[Migration]:
    """Apply what is missing, each migration in a transaction of its own; returns those applied now.

    Safe to run twice, and by several processes at once. Raises SchemaMismatch when an applied migration was altered
    or the tables belong to a newer release.
    """
    await database.bootstrap()
    known = migrations(database.dialect)
    await _refuse_strangers(database, known)
    return [migration for migration in known if await database.apply(migration)]


def script(dialect: Dialect) -> str:
    """All migrations as SQL to read or to run by hand."""
    parts = [dialect.statement("schema/bootstrap").sql]
    for migration in migrations(dialect):
        noted = (
            f"INSERT INTO {dialect.tables}migrations (number, name, checksum, applied_at) VALUES "
            f"({migration.number}, '{migration.name}', '{migration.checksum}', {dialect.wall_clock});"
        )
        parts.append(f"-- {migration.number:04} {migration.name}\n{migration.sql}\n{noted}")
    return "\n\n".join(parts) + "\n"


async def require_current(database: Database) -> None:
    """Raise SchemaMismatch unless the tables are exactly those of this release."""
    known = migrations(database.dialect)
    applied = await _refuse_strangers(database, known)
    missing = [migration for migration in known if migration.number not in applied]
    if missing:
        names = ", ".join(f"{migration.number:04} {migration.name}" for migration in missing)
        raise SchemaMismatch(f"the tables lack {names}: run 'windlass db migrate'")


async def drift(database: Database) -> list[Drift]:
    """How the tables differ from those of this release; empty when they do not."""
    expected = (SQL / database.dialect.name / "schema.txt").read_text("utf-8").splitlines()
    return compare(expected, await database.describe())


def compare(expected: Sequence[str], found: Sequence[str]) -> list[Drift]:
    """The lines that only one side has."""
    lines = difflib.ndiff(sorted(expected), sorted(found))
    return [Drift(line[2:], is_missing=line[0] == "-") for line in lines if line[0] in "-+"]


async def _refuse_strangers(database: Database, known: Sequence[Migration]) -> set[int]:
    ours = {migration.number: migration for migration in known}
    applied = await database.lane("schema").fetch("schema/applied")
    for row in applied:
        migration = ours.get(row["number"])
        if migration is None:
            raise SchemaMismatch(
                f"the tables have migration {row['number']:04} {row['name']} of a newer release: upgrade Windlass here"
            )
        if migration.checksum != row["checksum"]:
            raise SchemaMismatch(
                f"migration {migration.number:04} {migration.name} was altered after it was applied"
            )
    return {row["number"] for row in applied}
