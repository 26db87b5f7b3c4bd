"""One run of a task: its time, its lock, its history, the brake, and the trial that changes nothing."""

from __future__ import annotations

import traceback
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from backstay import Context, Hopeless, JobId, State
from backstay.errors import JobNotFound
from backstay_watchpoint.domain.brake import RELEASE_SIGNAL, reason_to_stop
from backstay_watchpoint.domain.catalogue import (
    BadReferenceTime,
    TaskSpec,
    UnknownTask,
    reference_time,
)
from backstay_watchpoint.domain.periods import lock_id, period_end
from backstay_watchpoint.platform import Platform
from backstay_watchpoint.services.work import Publisher, Work
from backstay_watchpoint.store import runs
from backstay_watchpoint.store.runs import Holder, NewRun, RunState, Trigger
from backstay_watchpoint.tasks import SERVICES, TaskService

SAMPLE = 20
_ENDED = (State.DEAD, State.CANCELLED, State.RESOLVED, State.COMPLETED)


@dataclass(frozen=True, slots=True)
class Asked:
    """A run as it was asked for."""

    task: str
    reference_time: datetime | None = None
    trigger: Trigger = Trigger.SCHEDULED
    force: bool = False
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class Skipped:
    """A run that may not begin, and why."""

    reason: str


class CannotTry(ValueError):
    """A task that acts on others cannot be tried without effect."""


class Multiplexer:
    """Runs tasks by name, each period of each once."""

    def __init__(self, platform: Platform, publisher: Publisher) -> None:
        self._platform, self._publisher = platform, publisher

    async def run(
        self, ctx: Context, asked: Asked, service: Callable[[Work], Awaitable[int]] | None = None
    ) -> dict[str, Any]:
        """Run a task and return what its history shows; `service` replaces the task's own, with other arguments."""
        run = self._new_run(ctx, asked)
        try:
            spec = self._platform.task_named(asked.task)
            now = reference_time(spec, asked.reference_time, run.started_at, force=asked.force)
            task = SERVICES[spec.name]
            if asked.dry_run and task.acts_on_others:
                raise CannotTry(f"{spec.name} acts on other systems and cannot be tried: leave --dry-run out")
        except (UnknownTask, BadReferenceTime, CannotTry) as error:
            async with self._platform.database.transaction() as transaction:
                await runs.record(transaction, run, RunState.FAILED, error=str(error))
            raise Hopeless(str(error)) from error
        run = replace(run, reference_time=now)
        do = service or (lambda work: task.run(self._platform, work))
        if asked.dry_run:
            return await self._try(run, spec, now, do)
        return await self._run_locked(ctx, run, spec, now, task, do)

    def _new_run(self, ctx: Context, asked: Asked) -> NewRun:
        return NewRun(
            task=asked.task,
            job_id=str(ctx.job_id),
            worker_id=ctx.worker_id,
            trigger=asked.trigger,
            reference_time=asked.reference_time,
            started_at=self._platform.clock(),
            is_dry_run=asked.dry_run,
            is_forced=asked.force,
        )

    async def _run_locked(
        self,
        ctx: Context,
        run: NewRun,
        spec: TaskSpec,
        now: datetime,
        task: TaskService,
        do: Callable[[Work], Awaitable[int]],
    ) -> dict[str, Any]:
        if not run.is_forced:
            lock = lock_id(spec.name, now, spec.period)
            run = replace(run, lock_id=lock, period_end=period_end(now, spec.period))
        begun = await self._begin(run)
        if isinstance(begun, Skipped):
            return _told(spec, now) | {"skipped": begun.reason}
        work = Work(self._platform.database, now, self._publisher, run_id=begun)
        try:
            if task.candidates is not None:
                await self._brake(ctx, spec, task, work, begun)
            await do(work)
        except Exception as error:
            await self._end(begun, RunState.FAILED, work, error)
            raise
        items = await self._end(begun, RunState.SUCCESS, work)
        return _told(spec, now) | {"items": items, "run": begun, "warnings": work.warnings}

    async def _begin(self, run: NewRun) -> int | Skipped:
        """Take the lock, and return the run's id; a run that may not begin is written down as skipped."""
        braked = _braked(await self._still_unfinished(run))
        async with self._platform.database.transaction() as transaction:
            begun = braked or await runs.begin(transaction, run)
            if isinstance(begun, Holder):
                word = "was run" if begun.state is RunState.SUCCESS else "is being run"
                begun = Skipped(f"{run.lock_id} {word} by run {begun.run_id}")
            if isinstance(begun, Skipped):
                await runs.record(transaction, run, RunState.SKIPPED, reason=begun.reason)
            return begun

    async def _still_unfinished(self, run: NewRun) -> list[Holder]:
        """Return the task's other runs that go on; those whose jobs have ended without a word are failed.

        A job that crashed for good, ran out of time or was cancelled cannot close its run itself.
        """
        async with self._platform.database.reading() as transaction:
            others = await runs.unfinished(transaction, run.task)
        alive = []
        for other in others:
            if other.job_id == run.job_id:
                continue
            if not await self._has_ended(other.job_id):
                alive.append(other)
                continue
            async with self._platform.database.transaction() as transaction:
                await runs.give_up(transaction, other.run_id, self._platform.clock(), error="its job died")
        return alive

    async def _has_ended(self, job_id: str) -> bool:
        try:
            job = await self._platform.app.jobs.get(JobId(UUID(job_id)))
        except JobNotFound:
            return True
        return job.state in _ENDED

    async def _brake(self, ctx: Context, spec: TaskSpec, task: TaskService, work: Work, run_id: int) -> None:
        """Wait for a person if far more is to go than usual; returns at once after the release.

        The wait ends the run of the handler, which starts from the top when the brake is released.
        """
        assert task.candidates is not None
        found = await task.candidates(work)
        total = sum(one.count for one in found)
        async with self._platform.database.transaction() as transaction:
            earlier = await runs.earlier_candidates(transaction, spec.name)
            reason = reason_to_stop(found, earlier=earlier, rule=self._platform.settings.brake)
            await runs.note_candidates(transaction, run_id, total, brake_reason=reason)
        if reason is not None:
            await ctx.wait_for(RELEASE_SIGNAL)
            async with self._platform.database.transaction() as transaction:
                await runs.release(transaction, run_id)

    async def _try(
        self, run: NewRun, spec: TaskSpec, now: datetime, do: Callable[[Work], Awaitable[int]]
    ) -> dict[str, Any]:
        work = Work(self._platform.database, now, self._publisher, is_dry_run=True)
        async with work.trial():
            await do(work)
        sample = [f"{found.item} {found.item_id}: {found.change}" for found in work.changes[:SAMPLE]]
        report = {
            "would_change": work.items,
            "sample": sample,
            "bytes": work.bytes_freed,
            "warnings": work.warnings,
        }
        async with self._platform.database.transaction() as transaction:
            begun = await runs.begin(transaction, run)
            assert isinstance(begun, int)
            reason = f"dry run: would change {work.items}"
            ended = self._platform.clock()
            await runs.finish(transaction, begun, RunState.SUCCESS, ended, reason=reason, report=report)
        return _told(spec, now) | {"dry_run": True, "run": begun, **report}

    async def _end(self, run_id: int, state: RunState, work: Work, error: Exception | None = None) -> int:
        text = None if error is None else "".join(traceback.format_exception_only(error)).strip()
        report = {"warnings": work.warnings, "bytes_freed": work.bytes_freed}
        async with self._platform.database.transaction() as transaction:
            return await runs.finish(
                transaction, run_id, state, self._platform.clock(), error=text, report=report
            )


def _braked(unfinished: list[Holder]) -> Skipped | None:
    for other in unfinished:
        if other.state is RunState.BRAKED:
            return Skipped(f"run {other.run_id} waits for a person to release the brake")
    return None


def _told(spec: TaskSpec, now: datetime) -> dict[str, Any]:
    return {"task": spec.name, "reference_time": now.isoformat(), "flows": list(spec.flows)}
