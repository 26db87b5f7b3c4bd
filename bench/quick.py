"""Enqueue and drain rates of Windlass and of the bare SQL loop, in rounds on the same database, with their ratios."""

from __future__ import annotations

import asyncio
import logging
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import uvloop
from rich.console import Console
from rich.table import Table

from bench import bare
from bench.drainer import application
from windlass import Windlass
from windlass.connect import open_database
from windlass.stores import migrate
from windlass.testing.postgres_server import PrivatePostgres

ROUNDS = 3
DRAIN = 40_000
BULK = 20_000
SINGLE = 1_000
CALLERS = 100
BATCHES = (100, 500, 1000)


async def main() -> None:
    """Measure and print."""
    logging.getLogger("windlass").setLevel(logging.ERROR)
    with PrivatePostgres.start() as server, tempfile.TemporaryDirectory() as folder:
        server.create_database("bench")
        url = server.url("bench")
        database = open_database(url)
        await migrate.migrate(database)
        await database.close()
        rates: dict[str, list[float]] = {}
        for number in range(ROUNDS):
            for name, measure in _measures(url, Path(folder) / f"{number}.db"):
                rates.setdefault(name, []).append(await measure())
    _print({name: statistics.median(values) for name, values in rates.items()}, rates)


def _measures(url: str, file: Path) -> list[tuple[str, Callable[[], Awaitable[float]]]]:
    async def bare_bulk() -> float:
        await bare.prepare(url)
        return BULK / await bare.enqueue_many(url, BULK)

    async def bare_drain() -> float:
        best = 0.0
        for batch in BATCHES:
            await bare.prepare(url)
            await bare.enqueue_many(url, DRAIN)
            done, taken = await bare.drain(url, batch=batch)
            best = max(best, done / taken)
        return best

    async def bare_single() -> float:
        await bare.prepare(url)
        return SINGLE / await bare.enqueue_one(url, SINGLE)

    async def bare_sqlite() -> float:
        return DRAIN / bare.drain_sqlite(file.with_suffix(".bare.db"), DRAIN, batch=500)

    return [
        ("postgres enqueue one, bare", bare_single),
        ("postgres enqueue one", lambda: _enqueue_one(url)),
        ("postgres enqueue one, 100 callers", lambda: _enqueue_together(url)),
        ("postgres enqueue many, bare", bare_bulk),
        ("postgres enqueue many", lambda: _enqueue_many(url)),
        ("postgres drain, bare", bare_drain),
        ("postgres drain", lambda: _drain(url)),
        ("sqlite drain, bare", bare_sqlite),
        ("sqlite drain", lambda: _drain(f"sqlite:///{file}")),
    ]


async def _enqueue_one(url: str) -> float:
    app, noop = application(url)
    await noop.enqueue(0)
    started = time.perf_counter()
    for number in range(SINGLE):
        await noop.enqueue(number)
    taken = time.perf_counter() - started
    await _empty(app)
    return SINGLE / taken


async def _enqueue_together(url: str) -> float:
    app, noop = application(url)

    async def caller() -> None:
        for number in range(SINGLE // 10):
            await noop.enqueue(number)

    await noop.enqueue(0)
    started = time.perf_counter()
    await asyncio.gather(*(caller() for _ in range(CALLERS)))
    taken = time.perf_counter() - started
    await _empty(app)
    return CALLERS * (SINGLE // 10) / taken


async def _enqueue_many(url: str) -> float:
    app, noop = application(url)
    await noop.enqueue(0)
    started = time.perf_counter()
    for first in range(0, BULK, 1000):
        await app.jobs.enqueue_many([noop.args(number) for number in range(first, first + 1000)])
    taken = time.perf_counter() - started
    await _empty(app)
    return BULK / taken


async def _drain(url: str) -> float:
    app, noop = application(url)
    for first in range(0, DRAIN, 1000):
        await app.jobs.enqueue_many([noop.args(number) for number in range(first, first + 1000)])
    draining = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bench.drainer", url, str(DRAIN), stdout=asyncio.subprocess.PIPE
    )
    told, _ = await draining.communicate()
    await _empty(app)
    return float(told)


async def _empty(app: Windlass) -> None:
    if app.url.startswith("postgresql"):
        connection = await bare.connect(app.url)
        await connection.execute("TRUNCATE windlass.jobs CASCADE")
        await connection.close()
    await app.close()


def _print(medians: dict[str, float], rates: dict[str, list[float]]) -> None:
    table = Table("what", "jobs/s", "lowest – highest", "ratio to bare")
    for name, median in medians.items():
        low, high = min(rates[name]), max(rates[name])
        reference = medians.get(f"{name}, bare")
        ratio = "" if reference is None else f"{median / reference:.2f}"
        table.add_row(name, f"{median:,.0f}", f"{low:,.0f} – {high:,.0f}", ratio)
    Console().print(table)


if __name__ == "__main__":
    # The loop that `windlass worker` runs handlers on.
    uvloop.run(main())
