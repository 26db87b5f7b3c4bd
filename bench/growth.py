"""W6: does it stay quick as the tables grow, as processes are added, and with other kinds of jobs?"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import asyncpg

from bench import report, workloads
from bench.session import Session
from bench.workloads import Figures, Scale

COLUMNS = """
SELECT string_agg(quote_ident(column_name), ', ')
FROM information_schema.columns
WHERE table_schema = 'backstay' AND table_name = 'jobs' AND column_name <> 'id' AND is_generated = 'NEVER'
"""
# Ids as the product makes them, in order of time, so that the indexes look as they would.
COPIES = """
INSERT INTO backstay.jobs (id, {columns})
SELECT
    (lpad(to_hex((extract(epoch FROM now()) * 1000)::bigint - 10000000000 + number), 12, '0')
        || '7' || substr(md5(number::text), 1, 3) || '8' || substr(md5(number::text), 4, 15))::uuid,
    {columns}
FROM (SELECT * FROM backstay.jobs WHERE state = '{state}' LIMIT 1) AS template
CROSS JOIN generate_series(1, {rows}) AS number
"""


@dataclass(frozen=True)
class Growth:
    """How much there is besides the jobs that are measured."""

    finished: tuple[int, ...] = (1_000_000, 5_000_000)
    scheduled: int = 1_000_000
    processes: tuple[int, ...] = (1, 2, 4, 8)
    # What an open snapshot has seen go by: so many minutes, at so many jobs a second, done without the waiting.
    snapshot_minutes: float = 10
    snapshot_rate: float = 200


Variant = tuple[str, Callable[[], Figures]]


class GrowthRuns:
    """Databases that were grown once, and the drains that are measured on them in every round."""

    def __init__(
        self, open_session: Callable[[str, str], Session], growth: Growth, scale: Scale, *, jobs: int
    ) -> None:
        self._growth, self._scale, self._jobs = growth, scale, jobs
        self._open = open_session
        self._grown: dict[str, Session] = {}
        self._tables = {f"finished_{rows}": ("completed", rows) for rows in growth.finished}
        self._tables[f"scheduled_{growth.scheduled}"] = ("scheduled", growth.scheduled)

    def prepare(self) -> None:
        """Grow every table before anything is measured, so that the first round is like the others."""
        for name, (state, rows) in self._tables.items():
            session = self._session(name)
            if state == "completed":
                workloads.drain(session, self._scale, processes=1, jobs=100)
            else:
                session.ask("fill", jobs=1, variant="later")
            asyncio.run(_copy(session.url, state, rows))

    def variants(self) -> list[Variant]:
        """Every workload of W6, by its name."""
        grown = [self._on(name) for name in self._tables]
        sizes = [(f"{report.GROWTH}payload of {size} bytes", "loaded", size) for size in (1_000, 50_000)]
        kinds = [
            ("def handlers in threads", "threaded"),
            ("handlers in processes", "processed"),
            ("transactional completion", "transactional"),
            ("one in ten fails", "failing"),
        ]
        return [
            (report.EMPTY, lambda: self._plain(1)),
            *grown,
            (report.SNAPSHOT, self._old_snapshot),
            (report.NO_SNAPSHOT, self._after_the_snapshot),
            *((report.processes(count), self._with(count)) for count in self._growth.processes),
            *((name, self._kind(kind, size=size)) for name, kind, size in sizes),
            *((report.GROWTH + name, self._kind(kind)) for name, kind in kinds),
        ]

    def close(self) -> None:
        """End the adapters."""
        for session in self._grown.values():
            session.close()

    def _session(self, name: str, *, concurrency: str = "") -> Session:
        if name not in self._grown:
            self._grown[name] = self._open(name, concurrency)
        return self._grown[name]

    def _plain(self, processes: int) -> Figures:
        session = self._session("growth_empty")
        session.ask("empty")
        return workloads.drain(session, self._scale, processes=processes, jobs=self._jobs, variant="noop")

    def _with(self, processes: int) -> Callable[[], Figures]:
        return lambda: self._plain(processes)

    def _kind(self, kind: str, *, size: int = 0) -> Callable[[], Figures]:
        def measure() -> Figures:
            # A process for each of a hundred slots would only measure how two cores start processes.
            few = {"name": "growth_few", "concurrency": "4"}
            session = self._session(**few) if kind == "processed" else self._session("growth_empty")
            session.ask("empty")
            # These cost more for each job, and a drain should take about as long as any other.
            jobs = max(200, self._jobs // (10 if size > 10_000 or kind in SLOW else 2))
            return workloads.drain(session, self._scale, processes=1, jobs=jobs, variant=kind, size=size)

        return measure

    def _on(self, name: str) -> Variant:
        def measure() -> Figures:
            session = self._session(name)
            return workloads.drain(session, self._scale, processes=1, jobs=self._jobs, variant="noop")

        what, rows = name.split("_")
        return f"{report.GROWTH}{rows} {what}", measure

    def _old_snapshot(self) -> Figures:
        session = self._session("growth_snapshot")
        session.ask("empty")
        gone_by = int(self._growth.snapshot_minutes * 60 * self._growth.snapshot_rate)
        with _open_snapshot(session.url):
            if gone_by:
                workloads.drain(session, self._scale, processes=1, jobs=gone_by, variant="noop")
            figures = workloads.drain(session, self._scale, processes=1, jobs=self._jobs, variant="noop")
        return {**figures, "jobs_since_the_snapshot": gone_by}

    def _after_the_snapshot(self) -> Figures:
        """The same table, once nobody holds the snapshot and vacuum has been."""
        session = self._session("growth_snapshot")
        return workloads.drain(session, self._scale, processes=1, jobs=self._jobs, variant="noop")


SLOW = ("processed", "transactional")


async def _copy(url: str, state: str, rows: int) -> None:
    connection = await asyncpg.connect(url, timeout=60)
    columns = await connection.fetchval(COLUMNS)
    await connection.execute(COPIES.format(columns=columns, state=state, rows=rows))
    await connection.execute("VACUUM ANALYZE backstay.jobs")
    # What is measured is a table that has grown, not one that is still being written to the disk.
    await connection.execute("CHECKPOINT")
    await connection.close()


@contextmanager
def _open_snapshot(url: str) -> Iterator[None]:
    """A transaction that has looked once and never ends, as a forgotten report or a slow dump has it."""
    loop = asyncio.new_event_loop()
    connection: Any = loop.run_until_complete(asyncpg.connect(url))
    try:
        loop.run_until_complete(connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ"))
        loop.run_until_complete(connection.fetchval("SELECT count(*) FROM pg_class"))
        yield
        loop.run_until_complete(connection.execute("ROLLBACK"))
    finally:
        loop.run_until_complete(connection.close())
        loop.close()
