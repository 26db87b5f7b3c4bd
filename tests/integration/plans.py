"""How a hot statement is explained: as the product runs it, and under every belief that a planner may hold.

Its own SQL, the settings of the connection it runs on, values of the real types; with a plan made for the values and
with a generic one, which a long-lived connection keeps.
"""

from __future__ import annotations

import itertools
import json
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import asyncpg
import pytest

from backstay import Backstay
from backstay.composition.connect import open_database
from backstay.stores.database.postgres import Driver, Postgres
from backstay.testing import PrivatePostgres

BATCH = 100
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
PLACE = "the place of a row"
MODES = ("force_generic_plan", "force_custom_plan")

# A row for each kind or worker, or for what an operator has written: to read them all is what is wanted.
SMALL = {
    "kinds",
    "leaders",
    "listeners",
    "overrides",
    "pauses",
    "quotas",
    "reports",
    "routes",
    "tenant_pauses",
    "webhooks",
    "workers",
}

# What the planner believes, without another fill. An ANALYZE of empty tables leaves no statistics and zero rows.
FORGET = """
DELETE FROM pg_statistic
WHERE starelid IN (SELECT oid FROM pg_class WHERE relnamespace = 'backstay'::regnamespace)
"""
BELIEVE = "UPDATE pg_class SET relpages = 0, reltuples = {rows} WHERE relnamespace = 'backstay'::regnamespace"
MANY_A_PAGE = "UPDATE pg_class SET reltuples = 100 * reltuples WHERE oid = 'backstay.jobs'::regclass"
STATISTICS = {
    "fresh": ["ANALYZE"],
    "stale": [FORGET, BELIEVE.format(rows=0)],
    "never": [FORGET, BELIEVE.format(rows=-1)],
    # Of a few rows, as where there are very many: what is rare, like a job that waits, is not among them.
    "sparse": ["SET default_statistics_target = 1", "ANALYZE"],
    # A hundred times as many jobs. What is believed to take long is compiled first, which does take long.
    "huge": ["ANALYZE", MANY_A_PAGE],
    # Taken while everything was over: no job is believed to wait or to run, no dependency or fire to be open.
    "misleading": [],
}

Hot = dict[str, tuple[set[str], int]]
"""The indexes by which each statement must come in, and how many rows it may look at."""

READ = """
SELECT relname, seq_scan, COALESCE(idx_tup_fetch, 0) AS fetched
FROM pg_stat_xact_user_tables
WHERE schemaname = 'backstay'
"""


def cases(hot: Hot, *, tables: str = "tables") -> pytest.MarkDecorator:
    """Run a test for every statement, with all that the planner may believe and both ways to plan."""
    every = list(itertools.product(STATISTICS, MODES, hot))
    return pytest.mark.parametrize(
        (tables, "plan_cache_mode", "name"),
        every,
        ids=["-".join(case) for case in every],
        indirect=[tables, "plan_cache_mode"],
    )


def alike(**given: Any) -> dict[str, list[Any]]:
    """A batch of values that are all the same."""
    return {name: [value] * BATCH for name, value in given.items()}


class Plan:
    """An explained statement, in the words of the assertions."""

    def __init__(
        self, explained: dict[str, Any], scans: Counter[str], fetched: Counter[str], *, what: str
    ) -> None:
        self.what = what
        self.nodes = list(_walk(explained["Plan"]))
        self.is_compiled = "JIT" in explained
        """Whether it was translated for the machine first, which takes longer than any of these may."""
        self.sequential = {table for table in scans if table not in SMALL}
        """The tables that were read from end to end, also by triggers and functions."""
        self.fetched = {table: rows for table, rows in fetched.items() if table not in SMALL}
        """How many rows of each table were fetched by an index, also by triggers and functions."""

    @property
    def indexes(self) -> set[str]:
        """The ways to rows: by an index, or by the place of one that is locked."""
        places = {PLACE for node in self.nodes if node["Node Type"] == "Tid Scan"}
        return {node["Index Name"] for node in self.nodes if "Index Name" in node} | places

    @property
    def visits(self) -> list[tuple[str, str, int]]:
        """Table, index and how many rows were looked at, filtered ones included, for each scan."""
        found = ((_table_of(node), node.get("Index Name", ""), _rows_of(node)) for node in self.nodes)
        return [(table, index, rows) for table, index, rows in found if rows and table not in SMALL]

    @property
    def visited(self) -> int:
        """How many rows were looked at in all."""
        return sum(rows for _, _, rows in self.visits)

    @property
    def is_generic(self) -> bool:
        """Whether it was made for any values: it names them by their numbers."""
        return "$1" in json.dumps(self.nodes)

    def pages_by(self, index: str) -> int:
        """How many pages were read to come in by an index, those of the table included."""
        found = [node for node in self.nodes if node.get("Index Name") == index]
        return sum(node["Shared Hit Blocks"] + node["Shared Read Blocks"] for node in found)

    def assert_bounded(self, indexes: set[str], most: int) -> None:
        """Fail unless it came in by these indexes, looked at no more rows than that, and began at once."""
        assert self.sequential == set(), (self.what, self.sequential)
        assert indexes <= self.indexes, self.what
        assert self.visited <= most, (self.what, self.visits)
        # Keys and triggers look up a few rows more for each of a batch.
        assert sum(self.fetched.values()) <= most + 3 * BATCH, (self.what, self.fetched)
        assert not self.is_compiled, self.what


def _walk(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for child in node.get("Plans", []):
        yield from _walk(child)


def _table_of(node: dict[str, Any]) -> str:
    table: str = node.get("Relation Name", "")
    return table


def _rows_of(node: dict[str, Any]) -> int:
    # The rows of a bitmap are counted where they are fetched, those of a change where they are found.
    if not _table_of(node) or "Scan" not in node["Node Type"]:
        return 0
    removed = node.get("Rows Removed by Filter", 0) + node.get("Rows Removed by Index Recheck", 0)
    return round((node["Actual Rows"] + removed) * node["Actual Loops"])


class Tables:
    """A database filled for plans, and a connection as the product opens it."""

    def __init__(self, database: Postgres, driver: Driver) -> None:
        self.database, self.driver = database, driver

    async def explain(
        self, name: str, values: dict[str, Any], *, plan_cache_mode: str, after: Sequence[str] = ()
    ) -> Plan:
        """The plan of a statement and what it really visited, after some changes; all is undone afterwards."""
        # EXPLAIN of a statement with values plans for these values; only one that was prepared has a generic plan.
        async with self.undone():
            for change in after:
                await self.driver.execute(change)
            await self.driver.execute(f"SET LOCAL plan_cache_mode = {plan_cache_mode}")
            call = await self._prepared(name, values)
            scans, fetched = await self._read()
            explained = await self.driver.fetchval(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) EXECUTE {call}")
            more_scans, more_fetched = await self._read()
            await self.driver.execute("DEALLOCATE hot")
        what = f"{name} in {self.database.url} with {plan_cache_mode}"
        return Plan(json.loads(explained)[0], more_scans - scans, more_fetched - fetched, what=what)

    @asynccontextmanager
    async def undone(self) -> AsyncIterator[None]:
        transaction = self.driver.transaction()
        await transaction.start()
        try:
            yield
        finally:
            await transaction.rollback()

    async def ids(self, state: str, count: int = BATCH, *, where: str = "TRUE") -> list[uuid.UUID]:
        """Some jobs in a state."""
        found = await self.driver.fetch(
            f"SELECT id FROM backstay.jobs WHERE state = '{state}' AND {where} LIMIT {count}"
        )
        assert len(found) == count
        return [row["id"] for row in found]

    async def claims(self) -> dict[str, Any]:
        """A batch of jobs that run, under their epochs."""
        return {"job_id": await self.ids("running"), "epoch": [1] * BATCH}

    async def _prepared(self, name: str, values: dict[str, Any]) -> str:
        statement = self.database.dialect.statement(name)
        parameters = (await self.driver.prepare(statement.sql)).get_parameters()
        types = [_type(parameter) for parameter in parameters]
        declared = f"({', '.join(types)})" if types else ""
        await self.driver.execute(f"PREPARE hot{declared} AS {statement.sql}")
        literals = await self._literals([values[value] for value in statement.values], types)
        return f"hot({', '.join(literals)})" if literals else "hot"

    async def _literals(self, values: Sequence[Any], types: Sequence[str]) -> list[str]:
        if not types:
            return []
        quoted = [f"quote_nullable((${n}::{kind})::text)" for n, kind in enumerate(types, 1)]
        texts = await self.driver.fetchrow(f"SELECT {', '.join(quoted)}", *values)
        assert texts is not None
        return [f"{text}::{kind}" for text, kind in zip(texts, types, strict=True)]

    async def _read(self) -> tuple[Counter[str], Counter[str]]:
        """How often each table was read from end to end in this transaction, and rows fetched by an index."""
        rows = await self.driver.fetch(READ)
        return (
            Counter({row["relname"]: row["seq_scan"] for row in rows}),
            Counter({row["relname"]: row["fetched"] for row in rows}),
        )


def _type(parameter: asyncpg.types.Type) -> str:
    if parameter.kind != "array":
        return parameter.name
    return parameter.name.removeprefix("_").removesuffix("[]") + "[]"


@asynccontextmanager
async def opened(server: PrivatePostgres, name: str, *, query: str = "") -> AsyncIterator[Tables]:
    """The database, on a connection as the engine opens it."""
    database = open_database(server.url(name) + query)
    assert isinstance(database, Postgres)
    driver = await database.connect()
    try:
        yield Tables(database, driver)
    finally:
        await driver.close()
        await database.close()


@asynccontextmanager
async def opened_for_handlers(server: PrivatePostgres, name: str) -> AsyncIterator[Tables]:
    """The database, on a connection as handlers have it: with the server's ordinary settings."""
    app = Backstay(server.url(name))
    database = app._connections.database
    assert isinstance(database, Postgres)
    pool = await app._connections.handler_pool()
    try:
        async with pool.acquire() as driver:
            yield Tables(database, driver)
    finally:
        await app.close()
