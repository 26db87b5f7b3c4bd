"""Jobs dispatched through Redis: what it suggests is claimed, what it loses is found, and nothing runs twice."""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import asyncpg
import pytest
from redis.asyncio import Redis
from typer.testing import CliRunner

from backstay import Backstay
from backstay.cli.commands import backstay as command_line
from backstay.dispatch.address import take_prefix
from backstay.dispatch.keys import Keys
from backstay.dispatch.lines import Lines
from backstay.dispatch.link import RedisLink
from backstay.errors import InvalidSettings, StoreUnavailable
from backstay.model.limits.fairness import Fair
from backstay.model.records import Wanted
from backstay.model.states import State
from backstay.model.suggestions import Suggestion
from backstay.runtime.env import SYSTEM
from backstay.testing import PrivateRedis
from backstay.testing.database import EMPTY_TABLES

MANY = 300


@pytest.fixture(scope="module")
def redis_server() -> Iterator[PrivateRedis]:
    with PrivateRedis.start() as server:
        yield server


@pytest.fixture
async def redis(redis_server: PrivateRedis) -> AsyncIterator[Redis]:
    client = Redis.from_url(redis_server.url(), decode_responses=True)
    await client.flushall()
    yield client
    await client.aclose()


@pytest.fixture
def dispatch_url(redis_server: PrivateRedis) -> str:
    return f"{redis_server.url()}?prefix="


class Shop:
    """An application whose jobs say that they ran."""

    def __init__(self, url: str, dispatch: str) -> None:
        settings: dict[str, Any] = {"dispatch": dispatch, "poll_busy": "200ms", "poll_idle": "200ms"}
        self.app, self.ran = Backstay(url, settings=settings), Counter[int]()
        self.app.queue("shared", fair=True, weights={"big": 2})

        @self.app.job(queue="plain", kind="note")
        async def note(number: int) -> None:
            self.ran[number] += 1

        @self.app.job(queue="shared", kind="share")
        async def share(number: int) -> None:
            self.ran[number] += 1

        @self.app.job(queue="plain", kind="other")
        async def other(number: int) -> None:
            self.ran[number] += 1

        self.note, self.share, self.other = note, share, other

    async def until_all_ran(self, number: int) -> None:
        async with asyncio.timeout(60):
            while len(self.ran) < number or await self.unfinished():
                await asyncio.sleep(0.02)

    async def unfinished(self) -> int:
        counted = await self.app.jobs.counts()
        return sum(one.jobs for one in counted if one.state is not State.COMPLETED)


@pytest.fixture
async def shop(emptied_url: str, dispatch_url: str, redis: Redis) -> AsyncIterator[Shop]:
    shop = Shop(emptied_url, dispatch_url)
    await shop.app.migrate()
    connection = await asyncpg.connect(emptied_url)
    await connection.execute(EMPTY_TABLES)
    await connection.close()
    yield shop
    await shop.app.close()


@pytest.fixture
async def lines(redis: Redis, redis_server: PrivateRedis) -> AsyncIterator[Lines]:
    link = RedisLink(redis_server.url(), emit=lambda *_, **__: None, env=SYSTEM)
    yield Lines(link, Keys(""), {"shared": Fair((("big", 2),))})
    await link.close()


def waiting(queue: str = "plain", kind: str = "note", rank: int = 5, tenant: str = "") -> Suggestion:
    return Suggestion(uuid4(), queue, kind, rank, tenant)


def wanted(queue: str = "plain", kind: str = "note", fair: Fair | None = None) -> Wanted:
    second = timedelta(seconds=30)
    return Wanted(queue, kind, lease=second, timeout=second, max_attempts=3, fair=fair)


async def test_the_better_rank_is_suggested_first_and_then_the_older_job(lines: Lines) -> None:
    jobs = [waiting(rank=rank) for rank in (7, 3, 3, 1)]
    await lines.push(jobs)

    taken = await lines.take("w", [wanted()], 10)

    assert taken == [jobs[3].id, jobs[1].id, jobs[2].id, jobs[0].id]


async def test_a_worker_leaves_ids_of_kinds_that_it_does_not_want(lines: Lines) -> None:
    mine, theirs = waiting(), waiting(kind="other")
    await lines.push([theirs, mine])

    assert await lines.take("w", [wanted()], 10) == [mine.id]
    assert await lines.take("v", [wanted(kind="other")], 10) == [theirs.id]


async def test_tenants_take_turns_by_their_weights(lines: Lines) -> None:
    jobs = [waiting("shared", "share", tenant="big") for _ in range(6)]
    jobs += [waiting("shared", "share", tenant="small") for _ in range(3)]
    owner = {job.id: job.tenant for job in jobs}
    await lines.push(jobs)

    pair = wanted("shared", "share", Fair((("big", 2),)))
    taken = [owner[job_id] for _ in range(9) for job_id in await lines.take("w", [pair], 1)]

    assert Counter(taken[:3]) == Counter(taken[3:6]) == Counter(big=2, small=1)
    assert len(taken) == 9


async def test_due_jobs_are_moved_in_passes_by_two_at_once_none_lost_or_doubled(lines: Lines) -> None:
    now = datetime.now(UTC)
    due = [replace(waiting(), due_at=now) for _ in range(250)]
    later = replace(waiting(), due_at=now + timedelta(hours=1))
    await lines.push([*due, later])
    at = int(now.timestamp() * 1000) + 1

    passes = await asyncio.gather(*(lines.move_due(at) for _ in range(4)))

    assert sorted(passes) == [0, 50, 100, 100]
    taken = await lines.take("w", [wanted()], 1000)
    assert Counter(taken) == Counter(job.id for job in due)


async def test_each_job_runs_once_whatever_stands_in_redis(shop: Shop, redis: Redis) -> None:
    """The same id a hundred times, ids that are nobody's, that have ended, that are none, and lists deleted."""
    jobs = [await shop.note.enqueue(number=number) for number in range(MANY)]
    line = "queue:pending:plain:note:5"
    assert await redis.llen(line) == MANY
    await redis.lpush(line, *[str(jobs[0].id)] * 100, *[str(uuid4()) for _ in range(50)], "no id at all")

    async with AsyncExitStack() as stack:
        for _ in range(2):
            await stack.enter_async_context(shop.app.working(concurrency=4))
        await redis.delete(line)
        more = [await shop.note.enqueue(number=number) for number in range(MANY, 2 * MANY)]
        await shop.until_all_ran(2 * MANY)
        await redis.rpush(line, *(str(job.id) for job in (*jobs[:50], *more[:50])))
        await shop.note.enqueue(number=2 * MANY)
        await shop.until_all_ran(2 * MANY + 1)

    assert set(shop.ran.values()) == {1}
    assert len(shop.ran) == 2 * MANY + 1


async def test_an_id_taken_by_a_worker_that_died_is_not_lost(shop: Shop, redis: Redis) -> None:
    await shop.note.enqueue(number=1)
    taken = await redis.rpop("queue:pending:plain:note:5")
    await redis.zadd("worker:dead:active", {taken: 1})

    async with shop.app.working():
        await shop.until_all_ran(1)

    assert taken is not None
    assert shop.ran == {1: 1}


async def test_ids_of_a_paused_queue_stay_in_their_lines_and_in_their_order(shop: Shop, redis: Redis) -> None:
    await shop.app.queues.pause("shared", reason="a test")
    share = shop.share.options
    big = [await share(tenant="big").enqueue(number=number) for number in range(5)]
    small = await share(tenant="small").enqueue(number=9)
    before = await shown(redis)

    async with shop.app.working():
        for number in range(10, 40):
            await shop.note.enqueue(number=number)
        async with asyncio.timeout(60):
            # A worker may have taken them at this moment, and is about to put them back.
            while len(shop.ran) < 30 or in_order(await shown(redis)) != in_order(before):
                await asyncio.sleep(0.02)
        await shop.app.queues.resume("shared")
        await shop.until_all_ran(36)

    assert in_order(before)["queue:pending:shared:share:5:big"] == [str(job.id) for job in big]
    assert in_order(before)["queue:pending:shared:share:5:small"] == [str(small.id)]
    assert set(shop.ran.values()) == {1}


def in_order(lines: dict[str, list[str]]) -> dict[str, list[str]]:
    """The ids of the queue whose tenants take turns as they will be taken, each once, of each of its lines."""
    return {
        name: list(dict.fromkeys(reversed(ids))) for name, ids in lines.items() if ":shared:" in name and ids
    }


async def test_jobs_run_while_redis_is_away_and_it_is_refilled_when_it_is_back(
    shop: Shop, redis: Redis, redis_server: PrivateRedis
) -> None:
    async with shop.app.working():
        await shop.note.enqueue(number=0)
        await shop.until_all_ran(1)
        redis_server.kill()
        for number in range(1, 30):
            await shop.note.enqueue(number=number)
        await shop.until_all_ran(30)
        soon = datetime.now(UTC) + timedelta(hours=1)
        later = await shop.note.options(run_at=soon).enqueue(number=99)
        redis_server.run()

        await redis.connection_pool.disconnect()
        async with asyncio.timeout(60):
            while await redis.zscore("queue:delayed", str(later.id)) is None:
                await asyncio.sleep(0.05)

    assert set(shop.ran.values()) == {1}


async def test_what_redis_has_lost_is_put_back_by_a_rebuild(shop: Shop, redis: Redis) -> None:
    jobs = [await shop.note.enqueue(number=number) for number in range(5)]
    jobs += [await shop.share.options(tenant="big").enqueue(number=9)]
    later = await shop.note.options(delay="1h").enqueue(number=7)
    before = await shown(redis)
    await redis.flushall()

    rebuilt = await shop.app.rebuild_dispatch()

    assert (rebuilt.waiting, rebuilt.later) == (6, 1)
    after = await shown(redis)
    assert after["queue:pending:plain:note:5"] == before["queue:pending:plain:note:5"]
    assert after["queue:pending:shared:share:5:big"] == [str(jobs[-1].id)]
    assert set(after["queue:delayed"]) == {str(later.id)}


async def shown(redis: Redis) -> dict[str, list[str]]:
    """Every line, and the delayed set."""
    keys = [key async for key in redis.scan_iter("queue:pending:*")]
    found = {key: await redis.lrange(key, 0, -1) for key in keys}
    return {**found, "queue:delayed": await redis.zrange("queue:delayed", 0, -1)}


async def test_redis_shows_what_became_of_jobs_and_workers(shop: Shop, redis: Redis) -> None:
    @shop.app.job(queue="plain", kind="fail", max_attempts=1)
    async def fail() -> None:
        raise ValueError("this cannot be")

    old = int((time.time() - 31 * 86_400) * 1000)
    await redis.zadd("metrics:completed", {"long ago": old})
    good, bad = await shop.note.enqueue(number=1), await fail.enqueue()
    async with shop.app.working(worker_id="w") as worker:
        async with asyncio.timeout(60):
            while await redis.zcard("queue:completed") < 1 or await redis.zcard("queue:dlq") < 1:
                await asyncio.sleep(0.02)
        name = worker.id
        assert await redis.zscore("workers:active", name) is not None
        assert 0 < await redis.ttl(f"worker:{name}:heartbeat") <= 3600
        assert (await redis.hgetall(f"worker:{name}:stats"))["type"] == "general"

    assert await redis.zrange("queue:completed", 0, -1) == [str(good.id)]
    assert await redis.zrange("queue:dlq", 0, -1) == [str(bad.id)]
    assert await redis.get(f"job:{good.id}:status") == "completed"
    data = await redis.hgetall(f"job:{bad.id}:data")
    assert json.loads(data["error"])["message"] == "this cannot be"
    assert "args" not in data
    assert 0 < await redis.ttl(f"job:{good.id}:data") <= 7 * 86_400
    assert await redis.zrange("metrics:completed", 0, -1) == [str(good.id)]
    assert 0 < await redis.ttl("metrics:completed") <= 30 * 86_400
    durations = await redis.zrange("metrics:durations", 0, -1)
    assert {member.rpartition(":")[0] for member in durations} == {str(good.id), str(bad.id)}
    assert [key async for key in redis.scan_iter("lock:job:*")] == []
    assert await redis.zcard("queue:active") == 0
    # Who has left in order is not down.
    assert await redis.zscore("workers:active", name) is None
    assert [key async for key in redis.scan_iter(f"worker:{name}:*")] == []


async def test_a_job_that_redis_forgot_stands_in_line_again(shop: Shop, redis: Redis) -> None:
    job = await shop.other.enqueue(number=1)
    await redis.flushall()
    connections = shop.app._here().connections
    assert connections.dispatch is not None

    mended = await connections.dispatch.mend(connections.truth())

    assert mended == 1
    assert await redis.lrange("queue:pending:plain:other:5", 0, -1) == [str(job.id)]


async def test_the_command_makes_the_lists_anew(shop: Shop, dispatch_url: str) -> None:
    await shop.note.enqueue(number=1)

    done = await asyncio.to_thread(
        CliRunner().invoke,
        command_line,
        ["--url", shop.app.url, "--json", "redis", "rebuild"],
        env={"BACKSTAY_DISPATCH": dispatch_url},
    )

    assert done.exit_code == 0, done.output
    told = json.loads(done.output)
    assert (told["waiting"], told["later"]) == (1, 0)


async def test_a_rebuild_without_an_answer_says_so(shop: Shop) -> None:
    app = Backstay(shop.app.url, settings={"dispatch": "redis://127.0.0.1:1/0"})
    with pytest.raises(StoreUnavailable, match="Redis does not answer"):
        await app.rebuild_dispatch()
    await app.close()


async def test_without_a_redis_there_is_nothing_to_rebuild(emptied_url: str) -> None:
    app = Backstay(emptied_url)
    with pytest.raises(InvalidSettings, match="BACKSTAY_DISPATCH"):
        await app.rebuild_dispatch()
    await app.close()


async def test_it_needs_postgresql(dispatch_url: str) -> None:
    app = Backstay("sqlite://:memory:", settings={"dispatch": dispatch_url})
    with pytest.raises(InvalidSettings, match="PostgreSQL"):
        await app.migrate()


def test_another_address_is_refused_by_name() -> None:
    with pytest.raises(InvalidSettings, match=r"dispatch cannot be .*redis://"):
        Backstay("sqlite:///jobs.db", settings={"dispatch": "kafka://host"})


def test_keys_begin_with_the_name_of_the_database_unless_told_otherwise() -> None:
    assert take_prefix("redis://r/0", "backstay:shop:") == ("redis://r/0", "backstay:shop:")
    assert take_prefix("redis://r/0?prefix=", "backstay:shop:") == ("redis://r/0", "")
    assert take_prefix("redis://r/0?prefix=a:&db=1", "x") == ("redis://r/0?db=1", "a:")
