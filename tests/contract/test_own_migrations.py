"""An application's own migrations: applied once, in order, on both databases, and refused when they do not fit."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from raw_sql import run_sql

from backstay import Backstay, Migrations, PromotedField, References
from backstay.errors import InvalidSettings, MigrationFailed, SchemaMismatch
from backstay.testing import PrivatePostgres

numbers = itertools.count()


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/own.db"
    server: PrivatePostgres = request.getfixturevalue("postgres_server")
    name = f"own_{next(numbers)}"
    server.create_database(name)
    return server.url(name)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "migrations"
    made.mkdir()
    (made / "0001_orders.sql").write_text("CREATE TABLE orders (id integer PRIMARY KEY, units integer);")
    return made


@pytest.fixture
async def app(url: str, folder: Path) -> AsyncIterator[Backstay]:
    application = Backstay(url, migrations=Migrations("shop", folder))
    yield application
    await application.close()


async def test_one_call_makes_the_tables_of_the_engine_and_those_of_the_application(app: Backstay) -> None:
    done = await app.migrate()

    assert done == ["0001 first", "0002 service", "0001 orders of shop"]
    assert await run_sql(app._connections.database, "SELECT units FROM orders") == []
    assert await app.jobs.counts() == []


async def test_migrating_stores_the_schedules_of_the_code_before_any_worker_has_started(
    app: Backstay,
) -> None:
    @app.schedule("0 3 * * *", name="nightly")
    @app.job(kind="tidy")
    async def tidy() -> None: ...

    await app.migrate()
    await app.migrate()

    assert [one.name for one in await app.schedules.all()] == ["nightly"]


async def test_migrating_again_applies_only_what_is_new(app: Backstay, folder: Path) -> None:
    await app.migrate()
    (folder / "0002_colours.sql").write_text("ALTER TABLE orders ADD COLUMN colour text;")

    assert await app.migrate() == ["0002 colours of shop"]
    assert await app.migrate() == []
    assert await run_sql(app._connections.database, "SELECT colour FROM orders") == []


async def test_four_migrators_at_once_apply_each_migration_once(app: Backstay, folder: Path) -> None:
    (folder / "0002_first_order.sql").write_text(
        "INSERT INTO orders VALUES (1, 7); INSERT INTO orders VALUES (2, 8);"
    )

    done = await asyncio.gather(*(app.migrate() for _ in range(4)))

    assert sorted(name for one in done for name in one) == [
        "0001 first",
        "0001 orders of shop",
        "0002 first_order of shop",
        "0002 service",
    ]
    found = await run_sql(app._connections.database, "SELECT units FROM orders ORDER BY id")
    assert [row["units"] for row in found] == [7, 8]


async def test_a_file_of_one_database_is_applied_to_that_one_alone(app: Backstay, folder: Path) -> None:
    for database, text in {"postgresql": "jsonb", "sqlite": "text"}.items():
        (folder / database).mkdir()
        (folder / database / "0002_notes.sql").write_text(f"CREATE TABLE notes (body {text});")

    assert "0002 notes of shop" in await app.migrate()
    assert await run_sql(app._connections.database, "SELECT body FROM notes") == []


async def test_a_migration_that_fails_names_itself_and_leaves_nothing_behind(
    app: Backstay, folder: Path
) -> None:
    await app.migrate()
    (folder / "0002_wrong.sql").write_text("CREATE TABLE half (id integer);\nINSERT INTO nowhere VALUES (1);")

    with pytest.raises(
        MigrationFailed, match=r"0002 wrong of shop failed, and nothing of it was kept: .*nowhere"
    ):
        await app.migrate()

    (folder / "0002_wrong.sql").write_text("CREATE TABLE half (id integer);")
    assert await app.migrate() == ["0002 wrong of shop"]


async def test_a_migration_that_was_altered_is_refused(app: Backstay, folder: Path) -> None:
    await app.migrate()
    (folder / "0001_orders.sql").write_text("CREATE TABLE orders (id integer PRIMARY KEY, units bigint);")

    with pytest.raises(SchemaMismatch, match="0001 orders of shop was altered after it was applied"):
        await app.migrate()


async def test_tables_of_a_newer_release_of_the_application_are_refused(app: Backstay, folder: Path) -> None:
    (folder / "0002_colours.sql").write_text("ALTER TABLE orders ADD COLUMN colour text;")
    await app.migrate()
    (folder / "0002_colours.sql").unlink()

    with pytest.raises(SchemaMismatch, match=r"0002 colours, which is not in .*: upgrade shop here"):
        await app.migrate()


async def test_views_come_after_promoted_fields_and_again_when_they_change(
    app: Backstay, folder: Path, url: str
) -> None:
    prefix = "backstay_" if url.startswith("sqlite") else "backstay."

    @app.job(promote=[PromotedField("order_id", references=References("orders.id"))])
    async def ship(order_id: int) -> None: ...

    view = "DROP VIEW IF EXISTS shipping; CREATE VIEW shipping AS SELECT order_id FROM {}promoted{};"
    (folder / "views.sql").write_text(view.format(prefix, ""))
    first = await app.migrate()
    (folder / "views.sql").write_text(view.format(prefix, " WHERE order_id > 1"))
    second = await app.migrate()

    assert first[-1] == "views of shop"
    assert second == ["views of shop"]
    assert await app.migrate() == []
    assert await run_sql(app._connections.database, "SELECT order_id FROM shipping") == []


async def test_views_are_made_again_after_a_migration_below_them(app: Backstay, folder: Path) -> None:
    (folder / "views.sql").write_text("CREATE VIEW units AS SELECT units FROM orders;")
    await app.migrate()
    (folder / "0002_wider.sql").write_text("DROP VIEW units; ALTER TABLE orders ADD COLUMN colour text;")

    assert await app.migrate() == ["0002 wider of shop", "views of shop"]
    assert await run_sql(app._connections.database, "SELECT units FROM units") == []


async def test_a_file_is_migrated_when_first_used_and_a_server_must_be_already(
    app: Backstay, url: str
) -> None:
    if url.startswith("sqlite"):
        await app.jobs.counts()
        assert await run_sql(app._connections.database, "SELECT units FROM orders") == []
        return
    await app._connections.database.bootstrap()
    bare = Backstay(url)
    await bare.migrate()
    await bare.close()

    with pytest.raises(SchemaMismatch, match=r"lack 0001 orders of shop: run .*app\.migrate\(\)"):
        await app.jobs.counts()


async def test_two_applications_in_one_database_have_numbers_of_their_own(
    app: Backstay, url: str, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "0001_stock.sql").write_text("CREATE TABLE stock (id integer);")
    await app.migrate()

    second = Backstay(url, migrations=Migrations("store_room", other))

    assert await second.migrate() == ["0001 stock of store_room"]
    await second.close()


async def test_the_script_holds_everything_in_order(app: Backstay, folder: Path, url: str) -> None:
    (folder / "views.sql").write_text("CREATE VIEW units AS SELECT units FROM orders;")

    text = app._connections.script()

    assert text.index("CREATE TABLE orders") < text.index("CREATE VIEW units")
    assert text.index("0001 first") < text.index("0001 orders of shop")


@pytest.mark.parametrize("name", ["0002-colours.sql", "colours.sql", "0000_zero.sql", "2_colours.sql"])
def test_a_file_with_another_name_is_refused(folder: Path, name: str) -> None:
    (folder / name).write_text("SELECT 1;")

    with pytest.raises(InvalidSettings, match=r"a migration is called 0001_what_it_does[.]sql"):
        Migrations("shop", folder).numbered("sqlite")


def test_two_files_with_one_number_are_refused(folder: Path) -> None:
    (folder / "sqlite").mkdir()
    (folder / "sqlite" / "0001_other.sql").write_text("SELECT 1;")

    assert [file.name for file in Migrations("shop", folder).numbered("postgresql")] == ["orders"]
    with pytest.raises(
        InvalidSettings, match="two migrations with the number 0001 for sqlite: orders and other"
    ):
        Migrations("shop", folder).numbered("sqlite")


def test_a_folder_for_an_unknown_database_or_none_at_all_is_refused(folder: Path) -> None:
    (folder / "postgres").mkdir()

    with pytest.raises(InvalidSettings, match="is for no database: call it postgresql or sqlite"):
        Migrations("shop", folder).numbered("sqlite")
    with pytest.raises(InvalidSettings, match="is no folder"):
        Migrations("shop", folder / "nowhere")
    with pytest.raises(InvalidSettings, match="use lower-case letters"):
        Migrations("Shop!", folder)
