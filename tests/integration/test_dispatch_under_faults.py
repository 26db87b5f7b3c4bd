"""A Redis that carries hints and suggests jobs fails in every way while jobs run: each runs once, and it is used again.

Polling is so seldom here that only hints, and lists that are read, bring jobs to a worker.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from datetime import timedelta
from typing import Any
from uuid import uuid4

import asyncpg
import pytest
from redis.asyncio import Redis

from backstay import Backstay
from backstay.dispatch.keys import Keys
from backstay.dispatch.lines import Lines
from backstay.dispatch.link import RedisLink
from backstay.dispatch.suggester import Suggester
from backstay.model.records import Wanted
from backstay.model.suggestions import Suggestion
from backstay.runtime.env import SYSTEM
from backstay.testing import PrivateRedis
from backstay.testing.database import EMPTY_TABLES

PATIENCE = 100
LINE = "queue:pending:plain:note:5"


@pytest.fixture
def redis_server() -> Iterator[PrivateRedis]:
    with PrivateRedis.start() as server:
        yield server


class Load:
    """Jobs that are stored all the time, and what ran."""

    def __init__(self, url: str, redis: str) -> None:
        settings: dict[str, Any] = {"dispatch": f"{redis}?prefix=", "wakeups": redis}
        self.app = Backstay(url, settings={**settings, "poll_busy": "1h", "poll_idle": "1h"})
        self.stored, self.ran = 0, Counter[int]()
        self._is_over = False

        @self.app.job(queue="plain", kind="note")
        async def note(number: int) -> None:
            self.ran[number] += 1

        self.note = note

    async def store(self) -> None:
        """Store ten jobs, again and again, until `stop`."""
        while not self._is_over:
            numbers = range(self.stored, self.stored + 10)
            self.stored += 10
            await asyncio.gather(*(self.note.enqueue(number=number) for number in numbers))
            await asyncio.sleep(0.01)  # the pace of the load

    def stop(self) -> None:
        self._is_over = True

    async def until(self, holds: Callable[[], bool | Awaitable[bool]]) -> None:
        async with asyncio.timeout(PATIENCE):
            while True:
                found = holds()
                if found if isinstance(found, bool) else await found:
                    return
                await asyncio.sleep(0.02)

    async def until_more_stored(self, jobs: int = 150) -> None:
        goal = self.stored + jobs
        await self.until(lambda: self.stored >= goal)

    async def until_more_ran(self, jobs: int = 150) -> None:
        goal = len(self.ran) + jobs
        await self.until(lambda: len(self.ran) >= goal)


@pytest.fixture
async def load(emptied_url: str, redis_server: PrivateRedis) -> AsyncIterator[Load]:
    load = Load(emptied_url, redis_server.url())
    await load.app.migrate()
    connection = await asyncpg.connect(emptied_url)
    await connection.execute(EMPTY_TABLES)
    await connection.close()
    yield load
    await load.app.close()


async def kill(server: PrivateRedis, load: Load) -> None:
    server.kill()
    await load.until_more_stored()
    server.run()


async def restart(server: PrivateRedis, load: Load) -> None:
    server.stop()
    await load.until_more_stored()
    server.run()


async def lose_everything(server: PrivateRedis, load: Load) -> None:
    server.kill()
    for kept in server.folder.rglob("*.*"):
        if kept.is_file():
            kept.unlink()
    await load.until_more_stored()
    server.run()


async def freeze(server: PrivateRedis, load: Load) -> None:
    server.freeze()
    await load.until_more_stored()
    server.thaw()


async def flush(server: PrivateRedis, load: Load) -> None:
    client = Redis.from_url(server.url())
    for _ in range(5):
        await client.flushall()
        await load.until_more_stored(30)
    await client.aclose()


@pytest.mark.parametrize("fault", [kill, restart, lose_everything, freeze, flush])
async def test_under_load_each_job_runs_once_and_hints_are_used_again(
    load: Load, redis_server: PrivateRedis, fault: Callable[[PrivateRedis, Load], Awaitable[None]]
) -> None:
    async with AsyncExitStack() as stack:
        for _ in range(2):
            await stack.enter_async_context(load.app.working(concurrency=8))
        storing = asyncio.create_task(load.store())
        await load.until_more_ran()
        await fault(redis_server, load)
        await load.until_more_ran()
        load.stop()
        await storing
        await load.until(lambda: len(load.ran) == load.stored)
        await until_lists_are_read(load, redis_server)

    assert set(load.ran.values()) == {1}


async def until_lists_are_read(load: Load, server: PrivateRedis) -> None:
    """Nothing but a worker that asks Redis empties a line."""
    client = Redis.from_url(server.url())

    async def is_emptied() -> bool:
        await load.note.enqueue(number=load.stored)
        load.stored += 1
        await load.until(lambda: len(load.ran) == load.stored)
        return bool(await client.llen(LINE) == 0 and await client.zcard("queue:completed") > 0)

    await load.until(is_emptied)
    await client.aclose()


async def test_whoever_stores_a_job_does_not_wait_for_a_redis_that_hangs(redis_server: PrivateRedis) -> None:
    told: list[str] = []
    link = RedisLink(redis_server.url(), emit=lambda name, **_: told.append(name), env=SYSTEM)
    lines = Lines(link, Keys(""), {})
    suggester = Suggester(lines)
    first, lost, last = (Suggestion(uuid4(), "plain", "note", 5) for _ in range(3))
    await suggester.suggest([first])

    redis_server.freeze()
    await suggester.suggest([lost])
    told_before_it_gave_up = list(told)
    await suggester.close()
    while told != ["dispatch.away"]:
        await suggester.suggest([lost])
    asked_while_away = await lines.take("w", [wanted()], 5)
    redis_server.thaw()
    async with asyncio.timeout(PATIENCE):
        while "dispatch.back" not in told:
            await suggester.suggest([last])
            await asyncio.sleep(0.02)

    assert told_before_it_gave_up == []
    assert asked_while_away == []
    assert {first.id, last.id} <= set(await lines.take("w", [wanted()], 100))
    await link.close()


def wanted() -> Wanted:
    second = timedelta(seconds=30)
    return Wanted("plain", "note", lease=second, timeout=second, max_attempts=3)
