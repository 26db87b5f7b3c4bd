"""Looks into the Redis through which the engine dispatches jobs: whether it runs, and whether a job stands there."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

import redis.asyncio
from redis.exceptions import RedisError

AWAY = (RedisError, OSError, TimeoutError)


def dispatch_address(url: str) -> str:
    """The address for the engine: the document's keys have no prefix."""
    return f"{url}{'&' if '?' in url else '?'}prefix="


class RedisView:
    """Reads the keys of one installation; without an address there is nothing to see."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._client: Any = None

    @property
    def is_on(self) -> bool:
        """Whether Redis is to be used at all."""
        return bool(self.url)

    async def has(self, job_id: object) -> bool:
        """Whether a job was announced; False as well where Redis is away."""
        client = self._connect()
        if client is None:
            return False
        try:
            return bool(await client.exists(f"job:{job_id}:status"))
        except AWAY:
            return False

    async def which(self, job_ids: Sequence[object]) -> list[object]:
        """Those of these jobs that were announced; none where Redis is away."""
        client = self._connect()
        if client is None or not job_ids:
            return []
        try:
            async with client.pipeline(transaction=False) as pipeline:
                for job_id in job_ids:
                    pipeline.exists(f"job:{job_id}:status")
                found = await pipeline.execute()
        except AWAY:
            return []
        return [job_id for job_id, is_there in zip(job_ids, found, strict=True) if is_there]

    async def version(self) -> str:
        """The version of the server; raises RedisError or OSError."""
        client = self._connect()
        if client is None:
            raise RedisError("Redis is switched off (AEON_REDIS=off)")
        return str((await client.info("server"))["redis_version"])

    async def workers(self) -> int:
        """How many workers give a sign of life through Redis; raises RedisError or OSError."""
        client = self._connect()
        if client is None:
            raise RedisError("Redis is switched off (AEON_REDIS=off)")
        return int(await client.zcard("workers:active"))

    async def close(self) -> None:
        """Close the connections."""
        client, self._client = self._client, None
        if client is not None:
            with contextlib.suppress(*AWAY):
                await client.aclose()

    def _connect(self) -> Any:
        if not self.url:
            return None
        if self._client is None:
            self._client = redis.asyncio.Redis.from_url(
                self.url, socket_timeout=1, socket_connect_timeout=0.5, decode_responses=True
            )
        return self._client
