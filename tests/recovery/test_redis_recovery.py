"""A copy of Redis that is older than what the database says: it brings nothing back, and a rebuild makes it true."""

from __future__ import annotations

import asyncio
import shutil
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from redis.asyncio import Redis

from backstay import Backstay, State
from backstay.model.events import silent
from backstay.testing import PrivatePostgres, PrivateRedis

PATIENCE = 120
LINE = "queue:pending:default:work:5"
BY_FILE = {
    "snapshot": {"appendonly": "no", "save": "3600 1"},
    "append-only file": {"appendonly": "yes", "appendfsync": "always"},
}


class Shop:
    """Jobs that count how often they ran."""

    def __init__(self, url: str, redis: str) -> None:
        self.app = Backstay(url, emit=silent, settings={"dispatch": f"{redis}?prefix="})
        self.ran = Counter[int]()

        @self.app.job
        async def work(n: int) -> None:
            self.ran[n] += 1

        self.work = work

    async def store(self, first: int, count: int) -> list[str]:
        return [str((await self.work.enqueue(n=n)).id) for n in range(first, first + count)]

    async def run_until(self, jobs: int) -> None:
        """Work until so many jobs have ended."""
        async with self.app.working(), asyncio.timeout(PATIENCE):
            while (
                sum(one.jobs for one in await self.app.jobs.counts() if one.state is State.COMPLETED) < jobs
            ):
                await asyncio.sleep(0.05)


@pytest.fixture(params=BY_FILE)
def settings(request: pytest.FixtureRequest) -> dict[str, str]:
    return BY_FILE[request.param]


@pytest.fixture
async def redis_url(settings: dict[str, str], tmp_path: Path) -> AsyncIterator[tuple[PrivateRedis, Path]]:
    with PrivateRedis.start(settings) as server:
        yield server, tmp_path / "copy"


async def test_a_stale_copy_of_redis_runs_nothing_again_and_a_rebuild_makes_it_true(
    postgres_server: PrivatePostgres, redis_url: tuple[PrivateRedis, Path]
) -> None:
    """ENG-142, ENG-156."""
    server, copy = redis_url
    postgres_server.drop_database("stale")
    postgres_server.create_database("stale")
    shop = Shop(postgres_server.url("stale"), server.url())
    await shop.app.migrate()
    ended = await shop.store(0, 20)
    await back_up(server, copy)
    await shop.run_until(20)
    waiting = await shop.store(20, 10)

    await restore(server, copy)
    async with Redis.from_url(server.url(), decode_responses=True) as redis:
        stale = await redis.lrange(LINE, 0, -1)
        rebuilt = await shop.app.rebuild_dispatch()
        line = await redis.lrange(LINE, 0, -1)
    await shop.run_until(30)
    await shop.app.close()

    assert set(stale) == set(ended)
    assert rebuilt.waiting == 10
    assert line == waiting[::-1]
    assert shop.ran == dict.fromkeys(range(30), 1)


async def back_up(server: PrivateRedis, copy: Path) -> None:
    """Copy what it keeps, as a backup at night would."""
    async with Redis.from_url(server.url()) as redis:
        if (await redis.config_get("appendonly"))["appendonly"] == "no":
            await redis.save()
    shutil.copytree(server.folder, copy)


async def restore(server: PrivateRedis, copy: Path) -> None:
    """Put the copy in the place of what it has now, and start it again."""
    server.kill()
    shutil.rmtree(server.folder)
    shutil.copytree(copy, server.folder)
    server.run()
