"""Brings the tables up to this release, and tells whether they have drifted from it."""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from backstay.errors import SchemaMismatch
from backstay.settings.migrations import MigrationFile, Migrations
from backstay.stores.database.interface import Database, Migration
from backstay.stores.database.queries import SQL, Dialect

EXPANDS = "expand_"
"""How the name of a migration begins that only adds what the release before it can leave alone."""


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


async def migrate_own(database: Database, own: Migrations) -> list[Migration]:
    """Apply what is missing of an application's own migrations; returns those applied now."""
    await database.bootstrap()
    known = own_migrations(database.dialect, own)
    await _refuse_foreign(database, own, known)
    return [migration for migration in known if await database.apply(migration)]


async def migrate_views(database: Database, own: Migrations) -> list[Migration]:
    """Make an application's views again if they, or the tables under them, have changed."""
    views = _views(database.dialect, own)
    return [views] if views is not None and await database.apply(views) else []


def own_migrations(dialect: Dialect, own: Migrations) -> list[Migration]:
    """An application's numbered migrations for this database, in order."""
    return [_own(own, file) for file in own.numbered(_database_of(dialect))]


def own_script(dialect: Dialect, own: Migrations) -> tuple[str, str]:
    """An application's own migrations as SQL, and its views, which come after the promoted fields."""
    views = _views(dialect, own)
    tables = "".join(_own_part(dialect, migration) for migration in own_migrations(dialect, own))
    return tables, "" if views is None else _own_part(dialect, views)


def _own_part(dialect: Dialect, migration: Migration) -> str:
    noted = (
        f"INSERT INTO {dialect.tables}application_migrations (application, number, name, checksum, applied_at) VALUES "
        f"('{migration.application}', {migration.number}, '{migration.name}', '{migration.checksum}', "
        f"{dialect.wall_clock});"
    )
    return f"\n-- {migration}\n{migration.sql.rstrip()}\n{noted}\n"


def _views(dialect: Dialect, own: Migrations) -> Migration | None:
    views = own.views(_database_of(dialect))
    if views is None:
        return None
    # Made again after every change of the tables: it may have dropped them.
    below = "".join(migration.checksum for migration in own_migrations(dialect, own))
    return _own(own, views, below)


def _own(own: Migrations, file: MigrationFile, below: str = "") -> Migration:
    checksum = hashlib.sha256((file.sql + below).encode()).hexdigest()
    return Migration(file.number, file.name, file.sql, checksum, own.name)


def _database_of(dialect: Dialect) -> str:
    return "sqlite" if dialect.name == "sqlite" else "postgresql"


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
    """Raise SchemaMismatch unless the tables are those of this release, or of a newer one that only added to them."""
    known = migrations(database.dialect)
    applied = await _refuse_strangers(database, known)
    missing = [str(migration) for migration in known if migration.number not in applied]
    if missing:
        raise SchemaMismatch(f"the tables lack {', '.join(missing)}: run 'backstay db migrate'")


async def require_own(database: Database, own: Migrations) -> None:
    """Raise SchemaMismatch unless every migration of the application was applied as it stands."""
    known = own_migrations(database.dialect, own)
    views = _views(database.dialect, own)
    applied = await _refuse_foreign(database, own, known)
    missing = [str(migration) for migration in known if migration.number not in applied]
    if views is not None and applied.get(0) != views.checksum:
        missing.append(str(views))
    if missing:
        raise SchemaMismatch(
            f"the tables lack {', '.join(missing)}: run 'backstay db migrate --app module:app', or app.migrate()"
        )


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
        if migration is None and row["name"].startswith(EXPANDS):
            continue
        if migration is None:
            raise SchemaMismatch(
                f"the tables have migration {row['number']:04} {row['name']} of a newer release: upgrade Backstay here"
            )
        if migration.checksum != row["checksum"]:
            raise SchemaMismatch(
                f"migration {migration.number:04} {migration.name} was altered after it was applied"
            )
    return {row["number"] for row in applied}


async def _refuse_foreign(database: Database, own: Migrations, known: Sequence[Migration]) -> dict[int, str]:
    ours = {migration.number: migration for migration in known}
    applied = await database.lane("schema").fetch("schema/applied_own", application=own.name)
    for row in applied:
        migration = ours.get(row["number"])
        if migration is None and row["number"]:
            raise SchemaMismatch(
                f"the tables of {own.name} have the migration {row['number']:04} {row['name']}, which is not in "
                f"{own.folder}: upgrade {own.name} here"
            )
        if migration is not None and migration.checksum != row["checksum"]:
            raise SchemaMismatch(
                f"migration {migration} was altered after it was applied: write another one instead"
            )
    return {row["number"]: row["checksum"] for row in applied}
