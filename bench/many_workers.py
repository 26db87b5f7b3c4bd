"""One PostgreSQL and many worker processes, each in a network namespace: how much, and how evenly.

    python -m bench.many_workers --workers 1,4,16,64 --rounds 3

Each number of workers drains the same jobs with claims by SKIP LOCKED alone and with ids that Redis suggests, by turns.
Then tenants of a fair queue, one of whom has most of the jobs, show whether the others had to wait for it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

import asyncpg

from backstay import Backstay
from backstay.testing import PrivatePostgres, PrivateRedis
from bench.many_workers_program import KINDS, PLAIN, SHARE, SHARED, application
from bench.namespaces import NETWORK, SERVER, Namespaces

OUT = Path(__file__).parent / "out" / "many_workers.json"
START_SECONDS = 600
SMALL_TENANTS, SMALL, BIG = 7, 200, 6_000
WAYS = ("skip locked", "redis")
ALIVE = "SELECT count(*) FROM backstay.workers WHERE state = 'alive'"
LEFT = "SELECT EXISTS (SELECT FROM backstay.jobs WHERE queue = $1 AND state <> 'completed')"
BY_WORKER = "SELECT count(*) FROM backstay.jobs WHERE queue = $1 GROUP BY settled_by"
# How many of the big tenant's jobs had ended when the last of a small one did.
BEFORE_THE_SMALL = """
SELECT count(*) FROM backstay.jobs
WHERE queue = $1 AND tenant = 'big' AND finished_at <= (
    SELECT max(finished_at) FROM backstay.jobs WHERE queue = $1 AND tenant <> 'big'
)
"""


@dataclass(frozen=True, kw_only=True)
class Drain:
    """What one number of workers did in one way."""

    workers: int
    way: str
    jobs_per_second: float
    evenness: float
    """Jain's index of jobs by worker: 1 when all did as many, 1/n when one did all."""
    fewest: int
    most: int
    big_before_small: int
    """Jobs of the tenant with 6,000 that ended before the 200 of each of the seven others had; 200 would be ideal."""


@dataclass(frozen=True)
class Ground:
    """The servers, and where workers run."""

    postgres: PrivatePostgres
    redis: PrivateRedis
    namespaces: Namespaces

    def url(self, database: str, host: str) -> str:
        return f"postgresql://postgres@{host}:{self.postgres.port}/{database}"

    def redis_url(self, host: str) -> str:
        return f"redis://:{self.redis.password}@{host}:{self.redis.port}/0"

    @contextmanager
    def workers(self, number: int, database: str, way: str) -> Iterator[None]:
        """So many processes, each in a namespace."""
        environment = {**os.environ, "BENCH_URL": self.url(database, SERVER)}
        if way == "redis":
            environment["BENCH_DISPATCH"] = self.redis_url(SERVER)
        words = [sys.executable, "-m", "bench.many_workers_program"]
        started = [
            subprocess.Popen(self.namespaces.command(at, words), env=environment, stdin=subprocess.PIPE)
            for at in range(number)
        ]
        try:
            yield
        finally:
            # Nothing is left to do, and the database is about to be dropped.
            for process in started:
                process.kill()
            for process in started:
                process.communicate()


@contextmanager
def ground(most: int) -> Iterator[Ground]:
    """PostgreSQL with fsync, Redis without a log, and as many namespaces as there will be workers."""
    with ExitStack() as stack:
        namespaces = stack.enter_context(Namespaces(most))
        settings = {
            "listen_addresses": f"127.0.0.1,{SERVER}",
            "max_connections": str(100 + 14 * most),
            "shared_buffers": "256MB",
        }
        postgres = stack.enter_context(PrivatePostgres.start(settings=settings))
        with (postgres.data / "pg_hba.conf").open("a") as file:
            file.write(f"host all all {NETWORK} trust\n")
        # It reads the addresses that it trusts when it starts.
        postgres.restart()
        redis = stack.enter_context(PrivateRedis.start({"bind": f"127.0.0.1 {SERVER}", "appendonly": "no"}))
        yield Ground(postgres, redis, namespaces)


async def measure(at: Ground, way: str, workers: int, jobs: int, database: str) -> Drain:
    """Store everything while both queues are paused, and let all workers begin together."""
    at.postgres.create_database(database)
    app, handlers = application(
        at.url(database, "127.0.0.1"), at.redis_url("127.0.0.1") if way == "redis" else None
    )
    await app.migrate()
    server = await asyncpg.connect(at.url(database, "127.0.0.1"))
    try:
        await _store(app, handlers, jobs)
        await server.execute("VACUUM ANALYZE")
        with at.workers(workers, database, way):
            await _all_alive(server, workers)
            seconds = await _drained(app, server, PLAIN)
            counts = [row[0] for row in await server.fetch(BY_WORKER, PLAIN)]
            await _drained(app, server, SHARED)
            before = await server.fetchval(BEFORE_THE_SMALL, SHARED)
    finally:
        await server.close()
        await app.close()
        at.postgres.drop_database(database)
    shares = [*counts, *[0] * (workers - len(counts))]
    return Drain(
        workers=workers,
        way=way,
        jobs_per_second=round(sum(counts) / seconds),
        evenness=round(sum(shares) ** 2 / (len(shares) * sum(one * one for one in shares)), 2),
        fewest=min(shares),
        most=max(shares),
        big_before_small=before,
    )


async def _store(app: Backstay, handlers: dict[str, Any], jobs: int) -> None:
    for queue in (PLAIN, SHARED):
        await app.queues.pause(queue, reason="until every worker is there")
    for kind in KINDS:
        await handlers[kind].enqueue_many([{"number": number} for number in range(jobs // len(KINDS))])
    share = handlers[SHARE]
    await share.options(tenant="big").enqueue_many([{"number": number} for number in range(BIG)])
    for tenant in range(SMALL_TENANTS):
        small = share.options(tenant=f"small {tenant}")
        await small.enqueue_many([{"number": number} for number in range(SMALL)])


async def _all_alive(server: asyncpg.Connection, workers: int) -> None:
    give_up = time.monotonic() + START_SECONDS
    while await server.fetchval(ALIVE) < workers:
        if time.monotonic() > give_up:
            raise SystemExit(f"not all of {workers} workers started within {START_SECONDS} s")
        await asyncio.sleep(0.2)
    await asyncio.sleep(2)  # so that none of them is still busy with its start


async def _drained(app: Backstay, server: asyncpg.Connection, queue: str) -> float:
    began = await server.fetchval("SELECT clock_timestamp()")
    await app.queues.resume(queue)
    while await server.fetchval(LEFT, queue):  # noqa: ASYNC110 -- other processes work, and tell us nothing
        await asyncio.sleep(0.1)
    ended = await server.fetchval("SELECT max(finished_at) FROM backstay.jobs WHERE queue = $1", queue)
    return float((ended - began).total_seconds())


def table(drains: Sequence[Drain]) -> str:
    """The medians, as Markdown."""
    lines = [
        "| workers | claims | jobs a second | evenness | fewest – most | big tenant before the small |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for workers, way in sorted({(one.workers, one.way) for one in drains}):
        own = [one for one in drains if (one.workers, one.way) == (workers, way)]
        middle = {
            name: median(getattr(one, name) for one in own)
            for name in ("jobs_per_second", "evenness", "fewest", "most", "big_before_small")
        }
        lines.append(
            f"| {workers} | {way} | {middle['jobs_per_second']:,.0f} | {middle['evenness']:.2f} "
            f"| {middle['fewest']:,.0f} – {middle['most']:,.0f} | {middle['big_before_small']:,.0f} |"
        )
    return "\n".join(lines)


async def run(given: argparse.Namespace) -> list[Drain]:
    """Every number of workers in both ways, round by round."""
    numbers = [int(number) for number in given.workers.split(",")]
    drains: list[Drain] = []
    with ground(max(numbers)) as at:
        for number in range(given.rounds):
            for workers in numbers:
                for way in given.ways if number % 2 else given.ways[::-1]:
                    found = await measure(at, way, workers, given.jobs, f"round_{len(drains)}")
                    drains.append(found)
                    sys.stdout.write(f"{json.dumps(asdict(found))}\n")
                    sys.stdout.flush()
    return drains


def main() -> None:
    """Measure, write the report, print the table."""
    parser = argparse.ArgumentParser(prog="python -m bench.many_workers")
    parser.add_argument("--workers", default="1,4,16,64")
    parser.add_argument("--jobs", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS))
    parser.add_argument("--out", type=Path, default=OUT)
    given = parser.parse_args()
    # Told to stop, it still removes what it has made.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    drains = asyncio.run(run(given))
    report: dict[str, Any] = {
        "machine": {"processors": os.cpu_count(), "python": platform.python_version()},
        "jobs": given.jobs,
        "drains": [asdict(one) for one in drains],
    }
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.write_text(json.dumps(report, indent=1) + "\n")
    sys.stdout.write(table(drains) + "\n")


if __name__ == "__main__":
    main()
