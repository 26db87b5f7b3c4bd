"""taskiq: asyncio on Redis streams, acknowledgement after the handler."""

from __future__ import annotations

import os
from typing import Any

from redis.asyncio import Redis
from taskiq import AsyncTaskiqTask
from taskiq_redis import RedisAsyncResultBackend, RedisStreamBroker

from bench.adapter import URL, Meter, become

METER = Meter()
broker = RedisStreamBroker(url=URL or "redis://", consumer_id="0", xread_count=100)
if os.environ.get("BENCH_RESULTS", "1") == "1":
    broker = broker.with_result_backend(RedisAsyncResultBackend(redis_url=URL or "redis://"))


@broker.task(task_name="noop")
async def noop(n: int, sent: int) -> None:
    """What is measured."""
    METER.note(sent)


class Client:
    """`kiq`, as in every tutorial."""

    packages = ("taskiq", "taskiq-redis", "redis", "hiredis", "uvloop")

    async def open(self) -> None:
        self._redis = Redis.from_url(URL)
        await broker.startup()

    async def enqueue(self, n: int, sent: int) -> AsyncTaskiqTask[Any]:
        return await noop.kiq(n, sent)

    async def wait(self, task: AsyncTaskiqTask[Any]) -> None:
        await task.wait_result(check_interval=0.005, timeout=30)

    async def remaining(self) -> int:
        [group] = await self._redis.xinfo_groups("taskiq")
        return group["pending"] + (group["lag"] or 0)

    async def empty(self) -> None:
        await self._redis.flushdb()
        # The group of consumers went, too.
        await broker.startup()


def work(processes: int) -> None:
    """As a user starts it."""
    options = ("--workers", str(processes), "--max-async-tasks", "100", "--max-prefetch", "100")
    become("taskiq", "worker", "bench.peers.taskiq:broker", *options, "--log-level", "ERROR")
