"""Tells Redis what became of jobs and workers: for people and dashboards to look at, in the background."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from uuid import UUID

from redis.asyncio import Redis

from backstay.dispatch.changes import Beat, Change, Ended, Held, PassedOver, Pipe, Progressed, Started, write
from backstay.dispatch.keys import Keys
from backstay.dispatch.link import RedisLink
from backstay.model.job import Claim
from backstay.model.states import State
from backstay.runtime.env import Env

WRITE_EVERY = 0.02
MOST_WRITTEN_AT_ONCE = 500
MOST_UNWRITTEN = 10_000
"""While Redis is slow, at most this many changes wait; older ones are dropped, and mended by a rebuild."""


class Mirror:
    """Gathers changes and writes them together; losing all of them costs nothing but the view."""

    def __init__(self, link: RedisLink, keys: Keys, env: Env) -> None:
        self._link, self._keys, self._env = link, keys, env
        self._changes: deque[Change] = deque(maxlen=MOST_UNWRITTEN)
        self._task: asyncio.Task[None] | None = None
        self._began: dict[UUID, float] = {}

    def started(self, worker: str, claims: Iterable[Claim]) -> None:
        """A worker has these jobs now."""
        ids = [claim.id for claim in claims]
        self._began.update(dict.fromkeys(ids, self._env.monotonic()))
        if ids:
            self._note(Started(worker, ids, self._now_ms()))

    def passed_over(self, worker: str, ids: Sequence[UUID]) -> None:
        """A worker took these ids, and did not get the jobs."""
        if ids:
            self._note(PassedOver(worker, ids))

    def held(self, claims: Iterable[Claim]) -> None:
        """These jobs still run."""
        self._note(Held([claim.id for claim in claims]))

    def ended(
        self,
        claim: Claim,
        state: State,
        *,
        result: str | None = None,
        error: str | None = None,
        run_in: timedelta | None = None,
    ) -> None:
        """An attempt has ended, and the job with it or not."""
        began, now = self._began.pop(claim.id, None), self._now_ms()
        later = run_in if state is State.SCHEDULED else None
        self._note(
            Ended(
                job=claim.id,
                worker=claim.worker,
                state=state,
                at_ms=now,
                took_ms=None if began is None else round((self._env.monotonic() - began) * 1000),
                result=result,
                error=error,
                due_ms=now + later.total_seconds() * 1000 if later else None,
            )
        )

    def forget(self, ids: Iterable[UUID]) -> None:
        """These jobs are others' now."""
        for job_id in ids:
            self._began.pop(job_id, None)

    def progressed(self, job_id: UUID, percent: float) -> None:
        """How far a job has come."""
        self._note(Progressed(job_id, percent))

    def beat(self, worker: str, stats: Mapping[str, object]) -> None:
        """A sign of life of a worker."""
        self._note(Beat(worker, stats, self._now_ms()))

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
            count = min(len(self._changes), MOST_WRITTEN_AT_ONCE)
            await self._write([self._changes.popleft() for _ in range(count)])

    async def close(self) -> None:
        """Write what is under way, but not for long."""
        if self._task is not None and not self._task.done():
            with suppress(TimeoutError):
                await asyncio.wait_for(self._task, timeout=1)

    def _note(self, change: Change) -> None:
        self._changes.append(change)
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._write_until_done())

    async def _write_until_done(self) -> None:
        while self._changes:
            await self.flush()
            await self._env.sleep(WRITE_EVERY)
            if self._link.is_away:
                # What happens while Redis is away comes back by the rebuild.
                self._changes.clear()

    async def _write(self, changes: list[Change]) -> None:
        async def put(client: Redis) -> None:
            async with client.pipeline(transaction=True) as commands:
                await write(changes, Pipe(self._keys, commands, self._link.script))
                await commands.execute()

        await self._link.run(put, otherwise=None)

    def _now_ms(self) -> int:
        return int(self._env.wall().timestamp() * 1000)
