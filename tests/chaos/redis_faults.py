"""What happens to a Redis that suggests jobs and carries hints: each fault lands only where it was in use."""

from __future__ import annotations

import asyncio
import random
from uuid import uuid4

from redis.asyncio import Redis
from redis.exceptions import RedisError

from chaos.faults import LONGEST_WAIT, Harm, Shown
from chaos.field import Field, Post, comes_true

ENDED = "SELECT id FROM backstay.jobs WHERE state = 'completed' LIMIT 20"
PATIENCE = 10.0


async def redis_killed(field: Field, post: Post, chance: random.Random) -> Shown:
    """It is killed, and another takes its place, with its data or without any."""
    moved = await _moved(field)
    assert field.redis is not None
    keeps_data = chance.random() < 0.5
    await asyncio.to_thread(field.redis.kill)
    if not keeps_data:
        for kept in [path for path in field.redis.folder.rglob("*") if path.is_file()]:
            kept.unlink()
    await asyncio.sleep(chance.uniform(0.2, 2.0))
    await asyncio.to_thread(field.redis.run)
    return {"landed": moved > 0, "moved": moved, "kept its data": keeps_data}


async def redis_frozen(field: Field, post: Post, chance: random.Random) -> Shown:
    """It answers nobody for a while, and then goes on with what was sent to it meanwhile."""
    moved = await _moved(field)
    assert field.redis is not None
    field.redis.freeze()
    try:
        await asyncio.sleep(chance.uniform(0.5, 4.0))
    finally:
        field.redis.thaw()
    return {"landed": moved > 0, "moved": moved}


async def redis_flushed(field: Field, post: Post, chance: random.Random) -> Shown:
    """Somebody deletes every key."""
    moved = await _moved(field)
    async with _client(field) as redis:
        await redis.flushall()
    return {"landed": moved > 0, "moved": moved}


async def redis_littered(field: Field, post: Post, chance: random.Random) -> Shown:
    """Every line gets ids again that stand there, ids that are nobody's, and words that are none."""
    moved = await _moved(field)
    others = [str(uuid4()) for _ in range(20)]
    ended = await field.value(f"SELECT array_agg(id::text) FROM ({ENDED}) AS found") or []
    async with _client(field) as redis:
        lines = [key async for key in redis.scan_iter("*queue:pending:*", _type="list")]
        for line in lines:
            there = await redis.lrange(line, 0, -1)
            await redis.rpush(line, *others, *ended, *there, "no id at all")
    return {"landed": moved > 0, "moved": moved, "lines": len(lines)}


OF_REDIS: dict[str, tuple[Harm, int]] = {
    "redis_killed": (redis_killed, 6),
    "redis_frozen": (redis_frozen, 6),
    "redis_flushed": (redis_flushed, 6),
    "redis_littered": (redis_littered, 6),
}


def _client(field: Field) -> Redis:
    assert field.redis is not None
    url = field.redis.url()
    return Redis.from_url(
        url, decode_responses=True, socket_timeout=PATIENCE, socket_connect_timeout=PATIENCE
    )


async def _moved(field: Field) -> int:
    """How many ids may have come through it since it was started: some were put in, and asked for; waits for some."""
    count = 0

    async def is_used() -> bool:
        nonlocal count
        try:
            async with _client(field) as redis:
                told = await redis.info("commandstats")
        except (RedisError, OSError):
            return False
        count = min(int(told.get(f"cmdstat_{command}", {}).get("calls", 0)) for command in ("lpush", "rpop"))
        return count > 0

    await comes_true(is_used, within=LONGEST_WAIT)
    return count
