"""SAQ: asyncio on Redis; a job is kept, with its result, for ten minutes."""

from __future__ import annotations

from typing import Any

from saq import Queue
from saq.job import Job

from bench.adapter import URL, Meter, become

METER = Meter()
queue = Queue.from_url(URL or "redis://")


async def noop(context: dict[str, Any], *, n: int, sent: int) -> None:
    """What is measured."""
    METER.note(sent)


settings = {"queue": queue, "functions": [("noop", noop)], "concurrency": 100}


class Client:
    """`enqueue`, as in every tutorial."""

    packages = ("saq", "redis", "hiredis", "uvloop")

    async def open(self) -> None:
        await queue.connect()

    async def enqueue(self, n: int, sent: int) -> Job | None:
        return await queue.enqueue("noop", n=n, sent=sent)

    async def wait(self, job: Job) -> None:
        await job.refresh(until_complete=30)

    async def remaining(self) -> int:
        return await queue.count("incomplete")

    async def empty(self) -> None:
        await queue.redis.flushdb()


def work(processes: int) -> None:
    """As a user starts it."""
    become("saq", "bench.peers.saq.settings", "--quiet")
