"""Moves an application onto a database of the test's own, for as long as the test lasts."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from windlass.client.declaring import promotion_of
from windlass.connect import Connections, open_connections
from windlass.env import SYSTEM
from windlass.errors import InvalidSettings, SchemaMismatch
from windlass.settings import hide_password
from windlass.testing.clock import FrozenClock
from windlass.testing.harness import Harness

if TYPE_CHECKING:
    from windlass.app import Windlass

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
    WHERE schemaname = 'windlass'
      AND tablename NOT IN ('migrations', 'facts');
    EXECUTE 'TRUNCATE ' || filled || ' RESTART IDENTITY CASCADE';
END
$$
"""


@contextmanager
def harness(app: Windlass, url: str = IN_MEMORY, *, clock: FrozenClock | None = None) -> Iterator[Harness]:
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
        _elsewhere(_prepare_postgres(url))
    clock = clock or FrozenClock(datetime.now(UTC))
    with app.moved(url, clock=clock, also=lambda connections: _promote(app, connections)):
        try:
            yield Harness(app, clock)
        finally:
            _close_everywhere(app)


def _refuse_running_loop() -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise InvalidSettings("harness() must be entered before the event loop runs: do it in a plain fixture")


async def _prepare_postgres(url: str) -> None:
    connections = open_connections(url, env=SYSTEM)
    try:
        await connections.migrate()
        # Beside the stores: no application empties tables, so no query of theirs does.
        lane: Any = connections.database.lane("testing")
        async with lane.transaction() as connection:
            await connection.driver.execute(EMPTY_TABLES)
    finally:
        await connections.close()


async def _promote(app: Windlass, connections: Connections) -> None:
    """Make the columns of promoted fields, without foreign keys where a test has not made the tables."""
    stores = connections.stores("schema")
    for spec in app.registry:
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


def _close_everywhere(app: Windlass) -> None:
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
