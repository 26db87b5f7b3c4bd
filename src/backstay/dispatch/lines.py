"""The lines of ids that wait, and those that are due later."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

from redis.asyncio import Redis

from backstay.dispatch.keys import JOB_KEPT, LONGEST_LIST, WORKER_KEPT, Keys
from backstay.dispatch.link import RedisLink
from backstay.model.limits.fairness import Fair
from backstay.model.records import Wanted
from backstay.model.suggestions import Snapshot, Suggestion

MOST_IN_ONE_CALL = 500
DUE_IN_ONE_PASS = 100


class Lines:
    """Reads and writes the lines; whatever Redis loses of them is found in PostgreSQL."""

    def __init__(self, link: RedisLink, keys: Keys, fair: Mapping[str, Fair]) -> None:
        self._link, self._keys, self._fair = link, keys, fair

    async def push(self, jobs: Sequence[Suggestion]) -> bool:
        """Put ids into their lines, those that are due later into the delayed set; whether Redis took them."""
        now = [job for job in jobs if job.due_at is None]
        later = [job for job in jobs if job.due_at is not None]

        async def put(client: Redis) -> bool:
            async with client.pipeline(transaction=True) as pipe:
                await self._fill(pipe, now)
                self._delay(pipe, later)
                await pipe.execute()
            return True

        return await self._link.run(put, otherwise=False, may_find_it_back=True)

    async def take(self, worker: str, wanted: Sequence[Wanted], limit: int) -> list[UUID]:
        """Move up to `limit` ids to the worker's own list; none where Redis is away."""
        own = self._keys.worker(worker, "active")
        pairs = [part for pair in wanted for part in (pair.queue, pair.kind, _weights(pair.fair))]

        async def move(_: Redis) -> list[str]:
            found: list[str] = await self._link.script("take")(
                args=[self._keys.prefix, own, int(WORKER_KEPT.total_seconds()), limit, *pairs]
            )
            return found

        return _ids(await self._link.run_quickly(move, otherwise=[]))

    async def put_back(self, jobs: Sequence[Suggestion]) -> None:
        """Put ids that were taken where they were: at the front of their lines, the first one foremost."""
        if jobs:
            words = [part for job in reversed(jobs) for part in self._words(job)]
            await self._link.run(
                lambda _: self._link.script("put_back")(args=[self._keys.prefix, *words]), otherwise=None
            )

    async def move_due(self, now_ms: int, *, most: int = DUE_IN_ONE_PASS) -> int:
        """One pass over what is due; returns how many ids were moved into their lines."""

        async def move(_: Redis) -> int:
            script = self._link.script("move_due", "line")
            return int(await script(args=[self._keys.prefix, LONGEST_LIST, now_ms, most]))

        return await self._link.run(move, otherwise=0)

    async def missing(self, waiting: Sequence[Suggestion]) -> list[Suggestion]:
        """Those that stand in no line, of jobs that wait in PostgreSQL."""
        lines = sorted({self._line(job) for job in waiting})

        async def read(client: Redis) -> list[list[str]]:
            async with client.pipeline(transaction=False) as pipe:
                for line in lines:
                    pipe.lrange(line, 0, -1)
                return await pipe.execute()

        found = await self._link.run(read, otherwise=None)
        if found is None:
            return []
        there = {job_id for line in found for job_id in line}
        return [job for job in waiting if str(job.id) not in there]

    async def refill(self, snapshot: Snapshot) -> None:
        """Make every list anew from what PostgreSQL says; raises what Redis raises."""

        async def replace(client: Redis) -> None:
            patterns = ("queue:pending*", "queue:turns*")
            old = [key for one in patterns async for key in client.scan_iter(f"{self._keys.prefix}{one}")]
            async with client.pipeline(transaction=True) as pipe:
                pipe.delete(*map(self._keys.queue, ("pending", "delayed", "active", "dlq")), *old)
                await self._fill(pipe, snapshot.waiting)
                self._delay(pipe, snapshot.later)
                for name, ids in (("active", snapshot.running), ("dlq", snapshot.dead)):
                    if ids:
                        # The newest comes first; whatever happens from now on is newer.
                        newest_last = {str(job_id): -place for place, job_id in enumerate(ids)}
                        pipe.zadd(self._keys.queue(name), newest_last)
                await pipe.execute()

        await self._link.ask(replace)

    async def _fill(self, pipe: Any, jobs: Sequence[Suggestion]) -> None:
        script = self._link.script("push", "line")
        kept = int(JOB_KEPT.total_seconds())
        for at in range(0, len(jobs), MOST_IN_ONE_CALL):
            named = [part for job in jobs[at : at + MOST_IN_ONE_CALL] for part in self._words(job)]
            await script(args=[self._keys.prefix, LONGEST_LIST, kept, *named], client=pipe)

    def _delay(self, pipe: Any, jobs: Iterable[Suggestion]) -> None:
        for job in jobs:
            assert job.due_at is not None
            data = self._keys.job(job.id, "data")
            pipe.hset(data, mapping=dict(zip(_FIELDS, self._words(job)[1:], strict=True)))
            pipe.expire(data, JOB_KEPT)
            pipe.set(self._keys.job(job.id, "status"), "pending", ex=JOB_KEPT)
            pipe.zadd(self._keys.queue("delayed"), {str(job.id): job.due_at.timestamp() * 1000})

    def _words(self, job: Suggestion) -> list[str]:
        is_fair = "1" if job.queue in self._fair else "0"
        return [str(job.id), job.queue, job.kind, str(job.rank), job.tenant, is_fair]

    def _line(self, job: Suggestion) -> str:
        line = f"{self._keys.queue('pending')}:{job.queue}:{job.kind}:{job.rank}"
        return f"{line}:{job.tenant}" if job.queue in self._fair else line


_FIELDS = ("queue", "kind", "rank", "tenant", "fair")


def _weights(fair: Fair | None) -> str:
    # An empty list of weights must be an object, too: that is what tells a fair queue.
    return "" if fair is None else json.dumps(dict(fair.weights))


def _ids(found: Sequence[str]) -> list[UUID]:
    """The ids among what somebody has pushed, each once."""
    ids: dict[UUID, None] = {}
    for text in found:
        try:
            ids[UUID(text)] = None
        except ValueError:
            continue  # not an id: pushed by another program
    return list(ids)
