"""Migrations: safe to repeat and to race, refused when they do not fit, and checked against what they should leave."""

from __future__ import annotations

import asyncio
import itertools
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from raw_sql import run_sql

from backstay.composition.connect import open_database
from backstay.errors import SchemaMismatch
from backstay.stores.database.interface import Database
from backstay.stores.database.migrate import drift, migrate, migrations, require_current, script
from backstay.testing import PrivatePostgres

numbers = itertools.count()


@pytest.fixture(params=["sqlite", "postgres"])
async def empty(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    """A database without any table."""
    if request.param == "sqlite":
        database = open_database(f"sqlite:///{tmp_path}/empty.db")
    else:
        server: PrivatePostgres = request.getfixturevalue("postgres_server")
        name = f"empty_{next(numbers)}"
        server.create_database(name)
        database = open_database(server.url(name))
    yield database
    await database.close()


async def applied(database: Database) -> list[int]:
    return [row["number"] for row in await database.lane("test").fetch("schema/applied")]


@contextmanager
def a_second_migration(database: Database, name: str = "colours") -> Iterator[None]:
    """Work as a later release would that has one migration more."""
    dialect = database.dialect
    second = (
        len(dialect.migrations) + 1,
        name,
        dialect.render("CREATE TABLE backstay.colours (name text);"),
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(vars(dialect), "migrations", [*dialect.migrations, second])
        yield


async def test_migrating_makes_every_table(empty: Database) -> None:
    done = await migrate(empty)

    await require_current(empty)
    assert [migration.number for migration in done] == await applied(empty)
    assert done == migrations(empty.dialect)


async def test_migrating_twice_changes_nothing(empty: Database) -> None:
    """ENG-148."""
    await migrate(empty)
    before = await empty.describe()

    assert await migrate(empty) == []
    assert await empty.describe() == before


async def test_four_migrators_at_once_apply_each_migration_once(empty: Database) -> None:
    """ENG-148."""
    with a_second_migration(empty):
        done = await asyncio.gather(*(migrate(empty) for _ in range(4)))

    assert sorted(migration.number for one in done for migration in one) == await applied(empty) == [1, 2, 3]
    [difference] = await drift(empty)
    assert not difference.is_missing
    assert "colours" in difference.line


async def test_tables_that_are_missing_are_named_with_the_remedy(empty: Database) -> None:
    with pytest.raises(SchemaMismatch, match="backstay db migrate"):
        await require_current(empty)
    with pytest.raises(SchemaMismatch, match="backstay db migrate"):
        await empty.lane("test").fetch("jobs/counts", tenant=None, most=9)


async def test_a_migration_altered_after_it_was_applied_is_refused(empty: Database) -> None:
    await migrate(empty)
    await run_sql(empty, "UPDATE backstay.migrations SET checksum = 'other' WHERE number = 1")

    for check in (migrate, require_current):
        with pytest.raises(SchemaMismatch, match="0001 first was altered"):
            await check(empty)


async def test_tables_of_a_newer_release_are_refused(empty: Database) -> None:
    with a_second_migration(empty):
        await migrate(empty)

    for check in (migrate, require_current):
        with pytest.raises(SchemaMismatch, match="0003 colours of a newer release"):
            await check(empty)


async def test_tables_that_a_newer_release_has_only_added_to_are_good_for_this_one(empty: Database) -> None:
    with a_second_migration(empty, "expand_colours"):
        await migrate(empty)

    await require_current(empty)
    assert await migrate(empty) == []


async def test_a_migration_that_is_missing_is_named(empty: Database) -> None:
    await migrate(empty)
    await run_sql(empty, "DELETE FROM backstay.migrations WHERE number = 1")

    with pytest.raises(SchemaMismatch, match="the tables lack 0001 first: run 'backstay db migrate'"):
        await require_current(empty)


async def test_of_several_migrations_only_the_missing_one_is_named_and_applied(empty: Database) -> None:
    await migrate(empty)

    with a_second_migration(empty):
        with pytest.raises(SchemaMismatch, match="the tables lack 0003 colours: run 'backstay db migrate'"):
            await require_current(empty)
        done = await migrate(empty)
        await require_current(empty)

    assert [migration.name for migration in done] == ["colours"]
    assert await applied(empty) == [1, 2, 3]


async def test_the_printed_script_makes_the_same_tables(empty: Database) -> None:
    """Run by hand on an empty database, it leaves nothing for a migration to do."""
    await run_script(empty, script(empty.dialect))

    assert await migrate(empty) == []
    await require_current(empty)
    assert await drift(empty) == []


async def run_script(database: Any, sql: str) -> None:
    if database.dialect.name == "sqlite":
        with sqlite3.connect(database.file.path) as connection:
            connection.executescript(sql)
        connection.close()
        return
    connection = await asyncpg.connect(database.url)
    await connection.execute(sql)
    await connection.close()


async def test_fresh_tables_have_not_drifted(empty: Database) -> None:
    await migrate(empty)

    assert await drift(empty) == []


async def test_a_dropped_index_is_named(empty: Database) -> None:
    await migrate(empty)
    await run_sql(empty, f"DROP INDEX {'backstay.' if empty.dialect.name == 'postgres' else ''}jobs_claim")

    [difference] = await drift(empty)

    assert difference.is_missing
    assert str(difference).startswith("missing: index jobs_claim")


async def test_an_added_column_is_named(empty: Database) -> None:
    await migrate(empty)
    await run_sql(empty, "ALTER TABLE backstay.jobs ADD COLUMN colour text")

    unexpected = [difference for difference in await drift(empty) if not difference.is_missing]

    assert len(unexpected) == 1
    assert "colour" in unexpected[0].line


async def test_a_missing_table_is_named(empty: Database) -> None:
    await migrate(empty)
    await run_sql(empty, "DROP TABLE backstay.pauses")

    missing = await drift(empty)

    assert missing
    assert all(difference.is_missing and "pauses" in difference.line for difference in missing)
