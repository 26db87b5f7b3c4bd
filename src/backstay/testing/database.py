"""Moves an application onto a database of the test's own, for as long as the test lasts."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from backstay.client.declaring import promotion_of
from backstay.composition.connect import Connections, open_connections, open_database
from backstay.errors import InvalidSettings, SchemaMismatch
from backstay.model.policy.told_profile import told
from backstay.runtime.env import SYSTEM
from backstay.settings.settings import hide_password
from backstay.testing.clock import FrozenClock
from backstay.testing.harness import Harness

if TYPE_CHECKING:
    from backstay.app import Backstay

IN_MEMORY = "sqlite://:memory:"
CLOSE_SECONDS = 10

# All at once, so that no order among tables that point at each other has to be kept.
EMPTY_TABLES = """
DO $$
DECLARE
    filled text;
BEGIN
    SELECT string_agg(format('%I.%I', schemaname, tablename), ', ')
    INTO filled
    FROM pg_tables
    WHERE schemaname = 'backstay'
      AND tablename NOT IN (
        'migrations', 'application_migrations', 'facts', 'profiles', 'profile_words', 'profile_kinds', 'lanes',
        'categories'
    );
    EXECUTE 'TRUNCATE ' || filled || ' RESTART IDENTITY CASCADE';
END
$$
"""


@contextmanager
def harness(app: Backstay, url: str = IN_MEMORY, *, clock: FrozenClock | None = None) -> Iterator[Harness]:
    """An application under test on another database; enter it where no event loop runs.

    In memory every test begins with nothing. On PostgreSQL the tables are made if need be, and EMPTIED: this must
    be a database for tests, and the application's own is refused. Time begins now and stands still.
    """
    _refuse_running_loop()
    if url == app.url and url != IN_MEMORY:
        raise InvalidSettings(
            f"{hide_password(url)} is the application's own database, which a test would empty: "
            "give tests a database of their own"
        )
    if url.startswith("postgres"):
        _elsewhere(_prepare_postgres(app, url))
    clock = clock or FrozenClock(datetime.now(UTC))
    moved = app._moved(url, clock=clock, also=lambda connections: _declare(app, connections))
    with _kept_in_memory(url), moved:
        try:
            yield Harness(app, clock)
        finally:
            _close_everywhere(app)


@contextmanager
def _kept_in_memory(url: str) -> Iterator[None]:
    """Keep a database in memory while the block lasts, also where a loop ends or the application is closed.

    A web application under test does both: each request of Starlette's TestClient may have a loop of its own.
    """
    if url != IN_MEMORY:
        yield
        return
    kept = open_database(url)
    try:
        yield
    finally:
        _elsewhere(kept.close())


def _refuse_running_loop() -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise InvalidSettings("harness() must be entered before the event loop runs: do it in a plain fixture")


async def _prepare_postgres(app: Backstay, url: str) -> None:
    connections = open_connections(url, env=SYSTEM, own=app.migrations)
    try:
        await connections.migrate()
        await _declare(app, connections)
        await connections.refresh_own_views()
        # Beside the stores: no application empties tables, so no query of theirs does.
        lane: Any = connections.database.lane("testing")
        async with lane.transaction() as connection:
            await connection.driver.execute(EMPTY_TABLES)
    finally:
        await connections.close()


async def _declare(app: Backstay, connections: Connections) -> None:
    """Tell the profile, and make the columns of promoted fields, without foreign keys where there are no tables."""
    stores = connections.stores("schema")
    profile = told(app.profile, (spec.kind for spec in app._registry))
    if profile is not None:
        await stores.profiles.tell(profile)
    for spec in app._registry:
        if not spec.promoted:
            continue
        promotion = promotion_of(spec, app.profile)
        try:
            await stores.promoted.promote(promotion)
        except SchemaMismatch:
            await stores.promoted.promote(promotion.without_references())


def _elsewhere(work: Coroutine[Any, Any, None]) -> None:
    """Run to the end in another thread: this one may have an event loop of its own, set but not running."""
    with ThreadPoolExecutor(max_workers=1) as thread:
        thread.submit(asyncio.run, work).result()


def _close_everywhere(app: Backstay) -> None:
    """Close what each event loop has open: a database in memory is gone with its last connection."""
    app.close_sync()
    for loop, held in list(app._open.items()):
        if loop.is_closed():
            # The end of a loop closes what was used on it; this was opened, but never used.
            _elsewhere(held.connections.close())
        elif loop.is_running():
            asyncio.run_coroutine_threadsafe(app.close(), loop).result(timeout=CLOSE_SECONDS)
        else:
            loop.run_until_complete(app.close())
