"""arq: asyncio on Redis; a job leaves the queue when it is finished."""

from __future__ import annotations

from typing import Any

from arq import create_pool, func, run_worker
from arq.connections import RedisSettings
from arq.jobs import Job

from bench.adapter import URL, Meter

METER = Meter()


async def noop(ctx: dict[str, Any], n: int, sent: int) -> None:
    """What is measured."""
    METER.note(sent)


async def timed(ctx: dict[str, Any], n: int, sent: int) -> int:
    """The same with a result, for those who wait for it."""
    METER.note(sent)
    return n


class WorkerSettings:
    """What `arq` would be given."""

    functions = (func(noop, keep_result=0), func(timed))
    redis_settings = RedisSettings.from_dsn(URL or "redis://")
    max_jobs = 100
    # It takes at most five times `max_jobs` each time it polls: by default 1,000 jobs a second, whatever it could do.
    poll_delay = 0.01


class Client:
    """`enqueue_job`, as in every tutorial."""

    packages = ("arq", "redis", "hiredis", "uvloop")

    async def open(self) -> None:
        self._redis = await create_pool(WorkerSettings.redis_settings)

    async def enqueue(self, n: int, sent: int) -> Job | None:
        return await self._redis.enqueue_job("timed" if sent else "noop", n, sent)

    async def wait(self, job: Job) -> None:
        await job.result(timeout=30, poll_delay=0.005)

    async def remaining(self) -> int:
        return await self._redis.zcard("arq:queue")

    async def empty(self) -> None:
        await self._redis.flushdb()


def work(processes: int) -> None:
    """On uvloop."""
    import uvloop

    uvloop.install()
    run_worker(WorkerSettings)
