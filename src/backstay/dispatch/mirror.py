"""Tells Redis what became of jobs and workers: for people and dashboards to look at, in the background."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any
from uuid import UUID

from redis.asyncio import Redis

from backstay.dispatch.keys import JOB_KEPT, LOCK_KEPT, LONGEST_LIST, METRICS_KEPT, WORKER_KEPT, Keys
from backstay.dispatch.link import RedisLink
from backstay.model.job import Claim
from backstay.model.states import State
from backstay.runtime.env import Env

WRITE_EVERY = 0.02
MOST_UNWRITTEN = 10_000
"""While Redis is slow, at most this many changes wait; older ones are dropped, and mended by a rebuild."""
LONGEST_RESULT = 4096

Change = Callable[[Any], object]
_LIST_OF = {State.COMPLETED: "completed", State.SCHEDULED: "failed", State.DEAD: "dlq"}


class Mirror:
    """Gathers changes and writes them together; losing all of them costs nothing but the view."""

    def __init__(self, link: RedisLink, keys: Keys, env: Env) -> None:
        self._link, self._keys, self._env = link, keys, env
        self._changes: deque[Change] = deque(maxlen=MOST_UNWRITTEN)
        self._task: asyncio.Task[None] | None = None
        self._began: dict[UUID, float] = {}

    def started(self, worker: str, claims: Iterable[Claim], *, passed_over: Iterable[UUID] = ()) -> None:
        """A worker has these jobs now; ids that it took and did not get leave its list."""
        claims, passed_over = list(claims), list(passed_over)
        own, jobs = self._keys.worker(worker, "active"), self._keys.worker(worker, "jobs")
        now = self._env.monotonic()
        self._began.update((claim.id, now) for claim in claims)

        def change(pipe: Any) -> None:
            for job_id in passed_over:
                pipe.lrem(own, 0, str(job_id))
            for claim in claims:
                text = str(claim.id)
                pipe.lrem(self._keys.queue("pending"), 0, text)
                for active in (self._keys.queue("active"), own):
                    pipe.lrem(active, 0, text)
                    pipe.lpush(active, text)
                pipe.set(self._keys.job(text, "status"), "running", ex=JOB_KEPT)
                pipe.set(self._keys.lock(text), worker, nx=True, ex=LOCK_KEPT)
                pipe.sadd(jobs, text)
            pipe.ltrim(self._keys.queue("active"), 0, LONGEST_LIST - 1)
            pipe.expire(own, WORKER_KEPT)
            pipe.expire(jobs, WORKER_KEPT)

        if claims or passed_over:
            self._note(change)

    def held(self, claims: Iterable[Claim]) -> None:
        """These jobs still run: their locks live on."""
        ids = [claim.id for claim in claims]
        self._note(lambda pipe: [pipe.expire(self._keys.lock(job_id), LOCK_KEPT) for job_id in ids])

    def ended(
        self,
        claim: Claim,
        state: State,
        *,
        told: Mapping[str, str | None],
        due_ms: float | None = None,
    ) -> None:
        """An attempt has ended: its id goes where the job is now."""
        text, at = str(claim.id), int(self._env.wall().timestamp() * 1000)
        began = self._began.pop(claim.id, None)
        took_ms = None if began is None else round((self._env.monotonic() - began) * 1000)

        def change(pipe: Any) -> None:
            for key in ("active", "failed"):
                pipe.lrem(self._keys.queue(key), 0, text)
            pipe.lrem(self._keys.worker(claim.worker, "active"), 0, text)
            pipe.srem(self._keys.worker(claim.worker, "jobs"), text)
            pipe.delete(self._keys.lock(text))
            pipe.set(self._keys.job(text, "status"), state.value, ex=JOB_KEPT)
            self._tell(pipe, text, told)
            self._list(pipe, text, state, at, took_ms)
            if due_ms is not None:
                pipe.zadd(self._keys.queue("delayed"), {text: due_ms})

        self._note(change)

    def forget(self, ids: Iterable[UUID]) -> None:
        """These jobs are others' now."""
        for job_id in ids:
            self._began.pop(job_id, None)

    def progressed(self, job_id: UUID, percent: float) -> None:
        """How far a job has come."""
        self._note(lambda pipe: pipe.set(self._keys.job(job_id, "progress"), round(percent), ex=JOB_KEPT))

    def beat(self, worker: str, stats: Mapping[str, object]) -> None:
        """A sign of life of a worker."""
        at = int(self._env.wall().timestamp() * 1000)
        stats_key = self._keys.worker(worker, "stats")

        def change(pipe: Any) -> None:
            pipe.zadd(self._keys.workers, {worker: at})
            pipe.zremrangebyscore(self._keys.workers, "-inf", at - WORKER_KEPT.total_seconds() * 1000)
            pipe.set(self._keys.worker(worker, "heartbeat"), at, ex=WORKER_KEPT)
            pipe.hset(stats_key, mapping={name: str(value) for name, value in stats.items()})
            pipe.expire(stats_key, WORKER_KEPT)

        self._note(change)

    async def leave(self, worker: str) -> None:
        """A worker that leaves is not down: it is taken off the list."""
        parts = [self._keys.worker(worker, part) for part in ("heartbeat", "jobs", "stats", "active")]

        async def forget(client: Redis) -> None:
            async with client.pipeline(transaction=True) as pipe:
                pipe.zrem(self._keys.workers, worker)
                pipe.delete(*parts)
                await pipe.execute()

        await self.flush()
        await self._link.run(forget, otherwise=None)

    async def flush(self) -> None:
        """Write what waits to be told."""
        while self._changes and not self._link.is_away:
            changes = [self._changes.popleft() for _ in range(min(len(self._changes), 500))]

            async def write(client: Redis, changes: list[Change] = changes) -> None:
                async with client.pipeline(transaction=True) as pipe:
                    for change in changes:
                        change(pipe)
                    await pipe.execute()

            await self._link.run(write, otherwise=None)

    async def close(self) -> None:
        """Write what is under way, but not for long."""
        if self._task is not None and not self._task.done():
            with suppress(TimeoutError):
                await asyncio.wait_for(self._task, timeout=1)

    def _note(self, change: Change) -> None:
        self._changes.append(change)
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._write())

    async def _write(self) -> None:
        while self._changes:
            await self.flush()
            await self._env.sleep(WRITE_EVERY)
            if self._link.is_away:
                # What happens while Redis is away comes back by the rebuild.
                self._changes.clear()

    def _tell(self, pipe: Any, text: str, told: Mapping[str, str | None]) -> None:
        given = {name: value for name, value in told.items() if value and len(value) <= LONGEST_RESULT}
        if given:
            pipe.hset(self._keys.job(text, "data"), mapping=given)
            pipe.expire(self._keys.job(text, "data"), JOB_KEPT)

    def _list(self, pipe: Any, text: str, state: State, at: int, took_ms: int | None) -> None:
        if state in _LIST_OF:
            place = self._keys.queue(_LIST_OF[state])
            pipe.lpush(place, text)
            pipe.ltrim(place, 0, LONGEST_LIST - 1)
            name = "completed" if state is State.COMPLETED else "failed"
            self._count(pipe, name, text, at)
        if took_ms is not None:
            self._count(pipe, "durations", f"{text}:{took_ms}", at)

    def _count(self, pipe: Any, name: str, member: str, at: int) -> None:
        key, kept_ms = self._keys.metric(name), METRICS_KEPT.total_seconds() * 1000
        pipe.zadd(key, {member: at})
        pipe.zremrangebyscore(key, "-inf", at - kept_ms)
        pipe.expire(key, METRICS_KEPT)


def error_told(error: Any) -> str | None:
    """The class and message of an error, as JSON."""
    if error is None:
        return None
    return json.dumps({"error_class": error.error_class, "message": error.message}, default=str)
