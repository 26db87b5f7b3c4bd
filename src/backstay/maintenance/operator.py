"""Carries operations out, step by step: the person who started one may have left long ago."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

from backstay.errors import BackstayError, StoreError, WrongState
from backstay.model.events import Emit
from backstay.model.job import Job, JobId
from backstay.model.operations import Advance, Mark, TakenOperation, Verb, pause_after, step_of
from backstay.model.states import State
from backstay.runtime.env import Env
from backstay.stores.contract import Stores
from backstay.wakeups.contract import CANCEL, LATER, Wakeups, queue_hint

HOLD = timedelta(seconds=30)
"""So long nobody else takes an operation whose step is under way."""
LONGEST_SLEEP = 1.0
AGAIN_AFTER = 1.0
MOST_PROMOTED = 1000

Deed = Callable[[TakenOperation, Job], Awaitable[None]]


class Operator:
    """Works while there are operations; the leader's, so one at a time."""

    def __init__(self, stores: Stores, wakeups: Wakeups, *, emit: Emit, env: Env) -> None:
        self._stores, self._wakeups, self._emit, self._env = stores, wakeups, emit, env
        self._working: asyncio.Task[None] | None = None
        self._policies: dict[str, Mapping[str, Any]] = {}
        self._deeds: dict[Verb, Deed] = {
            Verb.CANCEL: self._cancel,
            Verb.HOLD: self._hold,
            Verb.RELEASE: self._release,
            Verb.RUN_NOW: self._run_now,
            Verb.RETRY: self._decide_one,
            Verb.RESOLVE: self._decide_one,
        }

    def begin(self) -> None:
        """Work until no operation runs any more."""
        if self._working is None or self._working.done():
            self._working = asyncio.get_running_loop().create_task(self._work())

    def stop(self) -> None:
        """Leave the rest to another leader."""
        if self._working is not None:
            self._working.cancel()
            self._working = None

    async def _work(self) -> None:
        while True:
            try:
                while await self.step():
                    pass
                due = await self._stores.service.operations.next_due()
            except StoreError as error:
                self._emit("store.failed", doing="operations", error=str(error))
                due = timedelta(seconds=AGAIN_AFTER)
            if due is None:
                return
            await self._env.sleep(min(max(due.total_seconds(), 0.01), LONGEST_SLEEP))

    async def step(self) -> bool:
        """Take one step of the operation that is due; False where none is."""
        taken = await self._stores.service.operations.take(hold=HOLD)
        if taken is None:
            return False
        advance = Advance(0, 0, None, taken.mark, is_over=False)
        if taken.operation.stopped_by is None:
            advance = await (self._jobs if taken.target.letters is None else self._letters)(taken)
        pause = pause_after(advance.done, taken.operation.pace)
        await self._stores.service.operations.advance(taken, advance, pause=pause)
        return True

    async def _letters(self, taken: TakenOperation) -> Advance:
        target, size = taken.target, step_of(taken.operation.pace)
        assert target.letters is not None
        assert target.died_until is not None
        found = await self._stores.dead_letters.next_open(
            target.letters, died_until=target.died_until, after=taken.mark.letter, limit=size
        )
        done = await self._decide(taken, [mark.job_id for mark in found]) if found else 0
        skipped = len(found) - done
        problem = "somebody else has decided about it, or its unique key is taken" if skipped else None
        mark = Mark(letter=found[-1]) if found else taken.mark
        return Advance(done, skipped, problem, mark, is_over=len(found) < size)

    async def _decide(self, taken: TakenOperation, ids: Sequence[JobId]) -> int:
        letters, operation = self._stores.dead_letters, taken.operation
        if operation.verb is Verb.RESOLVE:
            return len(
                await letters.resolve_many(
                    ids, actor=operation.started_by, reason=operation.reason, ignored=False
                )
            )
        queues = await letters.retry_many(
            ids, actor=operation.started_by, reason=operation.reason, delay=timedelta(0)
        )
        self._wakeups.send(*(queue_hint(queue) for queue in sorted(set(queues.values()))), LATER)
        return len(queues)

    async def _jobs(self, taken: TakenOperation) -> Advance:
        target, size = taken.target, step_of(taken.operation.pace)
        assert target.jobs is not None
        found = await self._stores.jobs.search(
            target.jobs, before=taken.mark.before, limit=size, match=target.match
        )
        if taken.operation.verb is Verb.CANCEL:
            self._policies = {record.kind: record.policy for record in await self._stores.kinds.all()}
        done, skipped, problem = 0, 0, None
        for job in found:
            try:
                await self._deeds[taken.operation.verb](taken, job)
                done += 1
            except StoreError:
                raise
            except BackstayError as error:
                skipped, problem = skipped + 1, str(error)
        mark = replace(taken.mark, before=found[-1].id) if found else taken.mark
        return Advance(done, skipped, problem, mark, is_over=len(found) < size)

    async def _decide_one(self, taken: TakenOperation, job: Job) -> None:
        if not await self._decide(taken, [job.id]):
            raise WrongState(job.id, asked=taken.operation.verb.value, state=job.state, needs=[State.DEAD])

    async def _cancel(self, taken: TakenOperation, job: Job) -> None:
        of_kind = self._policies.get(job.kind, {})
        running = job.policy.get("cancel_running", of_kind.get("cancel_running", True))
        operation = taken.operation
        await self._stores.jobs.cancel(
            job.id, actor=operation.started_by, reason=operation.reason, running=running
        )
        self._wakeups.send(CANCEL)

    async def _hold(self, taken: TakenOperation, job: Job) -> None:
        operation = taken.operation
        await self._stores.jobs.hold(job.id, reason=operation.reason, actor=operation.started_by)

    async def _release(self, taken: TakenOperation, job: Job) -> None:
        await self._stores.jobs.release(job.id, actor=taken.operation.started_by)
        self._wakeups.send(queue_hint(job.queue), LATER)

    async def _run_now(self, taken: TakenOperation, job: Job) -> None:
        now = (await self._stores.insights.engine()).now
        await self._stores.jobs.reschedule(job.id, run_at=now, actor=taken.operation.started_by)
        queues = await self._stores.upkeep.promote(limit=MOST_PROMOTED)
        self._wakeups.send(*(queue_hint(queue) for queue in sorted(set(queues))), LATER)
