"""What a test of an application's jobs can do: look at what was enqueued, run it, and let time pass."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, TypeVar, cast

from backstay.client.scheduling import declare
from backstay.errors import BackstayError, JobFailed
from backstay.handler import BoundHandler, Handler
from backstay.handlers.spec import HandlerSpec
from backstay.model.job import Claim, Job, JobId
from backstay.model.outcome import Fail
from backstay.model.records import JobFilter
from backstay.model.states import State
from backstay.model.text.durations import Duration, duration
from backstay.options import NO_OPTIONS, JobOptions
from backstay.testing.clock import FrozenClock
from backstay.testing.maintenance import catch_up
from backstay.testing.matching import Expected, expected, found_after_all, not_found
from backstay.testing.results import Drained
from backstay.testing.runner import JobRunner, Ran, hands
from backstay.worker.worker import Worker

if TYPE_CHECKING:
    from backstay.app import Backstay

P = ParamSpec("P")
R = TypeVar("R")

AnyHandler = Handler[..., Any] | BoundHandler[..., Any]

PAGE = 200
MOST_ATTEMPTS = 1000


class NotRunnable(BackstayError):
    """There is no such job to run now; the message says why."""


class Harness:
    """An application under test: its real stores and a worker's real parts, under a clock that the test moves.

    Nothing runs by itself: `drain` and `run_job` run jobs on the loop of the test, one after another.
    """

    def __init__(self, app: Backstay, clock: FrozenClock) -> None:
        self.app, self.clock = app, clock
        self._worker: Worker | None = None

    @property
    def now(self) -> datetime:
        """The time in the database."""
        return self.clock()

    async def enqueued(self, job: AnyHandler | str, /, **args: Any) -> list[Job]:
        """The jobs of a handler that the test has stored, in order, whatever became of them since.

        With arguments, those whose stored arguments are these, among others perhaps.
        """
        wanted = self._expected(job, args)
        return [found for found in await self._stored(kind=wanted.kind) if not wanted.differences(found)]

    async def assert_enqueued(self, job: AnyHandler | str, /, **args: Any) -> Job:
        """The first job of a handler with these arguments, and with the options of `handler.options(…)`.

        >>> await backstay.assert_enqueued(send_welcome.options(queue="mail", delay="5m"), user_id=7)

        Raises AssertionError that shows what was enqueued instead, nearest first.
        """
        __tracebackhide__ = True
        found = await self.enqueued(job, **args)
        if not found:
            raise AssertionError(not_found(self._expected(job, args), await self._stored()))
        return found[0]

    async def refute_enqueued(self, job: AnyHandler | str, /, **args: Any) -> None:
        """Raise AssertionError if there is such a job."""
        __tracebackhide__ = True
        found = await self.enqueued(job, **args)
        if found:
            raise AssertionError(found_after_all(self._expected(job, args), found))

    async def drain(self, *, with_scheduled: bool = False, most: int = MOST_ATTEMPTS) -> Drained:
        """Run what can run now, also what that enqueues, until nothing is left; returns what came of it.

        What is scheduled for later, such as retries, stays; `with_scheduled` travels to each in turn and runs it.
        Raises NotRunnable after `most` attempts: jobs that bring forth jobs would never end.
        """
        attempts: list[Ran] = []
        worker_id = await self._registered()
        async with hands(self.app, self._own_worker()) as own:
            await catch_up(self.app, self._own_worker())
            while True:
                claim = await own.claim_next(worker_id)
                if claim is not None:
                    self._refuse_more(attempts, most, claim)
                    attempts.append(await own.run(claim))
                elif not await self._has_more(with_scheduled=with_scheduled):
                    return Drained(tuple(attempts))

    async def run_job(
        self, handler: Handler[P, R] | BoundHandler[P, R], /, *args: P.args, **kwargs: P.kwargs
    ) -> R:
        """Enqueue a job, run this one and no other, and return what its handler returns, as read from the store.

        Raises what the handler raised, or JobFailed when it failed without an exception of its own.
        """
        ran = await self.try_job(handler, *args, **kwargs)
        if ran.error is not None:
            raise ran.error
        if isinstance(ran.outcome, Fail):
            raise JobFailed(ran.job.id, f"failed: {ran.outcome.error.type}: {ran.outcome.error.message}")
        return cast(R, ran.result)

    async def try_job(
        self, handler: Handler[P, R] | BoundHandler[P, R], /, *args: P.args, **kwargs: P.kwargs
    ) -> Ran:
        """Do what `run_job` does, but return whatever came of it; nothing is raised for a failure."""
        handle = await handler.enqueue(*args, **kwargs)
        worker_id = await self._registered()
        async with hands(self.app, self._own_worker()) as own:
            return await own.run(await self._claim_this(handle.id, own, worker_id))

    async def travel(self, by: Duration | None = None, *, to: datetime | None = None) -> None:
        """Move the time on, and let happen what became due, but run nothing.

        Scheduled jobs become available, leases run out and their jobs are taken back, jobs expire, deadlines pass.
        """
        if (by is None) is (to is None):
            raise TypeError("travel takes either a length of time or a moment: travel('5m'), travel(to=…)")
        moment = self.now + duration(by, field="by") if to is None else to
        if moment < self.now:
            raise ValueError(f"cannot travel back from {self.now} to {moment}: time in a database only rises")
        self.clock.set(moment)
        await self._registered()
        await catch_up(self.app, self._own_worker())

    async def crash_worker(
        self, handler: AnyHandler | None = None, *, when: Literal["before", "after"] = "before"
    ) -> Job:
        """Let a worker take the next job and die: before the handler begins, or after it has done its work.

        Either way nothing is stored, so the job stays `running` until its lease runs out: travel past it, and the
        job can run again. Returns the job. Raises NotRunnable if no job can be taken.
        """
        doomed = self.app.worker()
        await self._register(doomed)
        async with hands(self.app, doomed) as own:
            kind = None if handler is None else handler.spec.kind
            claim = await own.claim_next(doomed.id, kind=kind)
            if claim is None:
                raise NotRunnable(
                    f"no job{f' of {kind!r}' if kind else ''} can be claimed now: enqueue one first"
                )
            if when == "after":
                await own.attempt(claim)
        return await self.app.jobs.get(claim.id)

    async def _stored(self, kind: str | None = None) -> list[Job]:
        found: list[Job] = []
        before: JobId | None = None
        while page := await self.app._enqueuer.stores.jobs.search(
            JobFilter(kind=kind), before=before, limit=PAGE
        ):
            found += page
            before = page[-1].id
        return found[::-1]

    def _expected(self, job: AnyHandler | str, args: dict[str, Any]) -> Expected:
        spec: HandlerSpec | None
        options: JobOptions
        match job:
            case str():
                spec = self.app._registry.get(job) if job in self.app._registry else None
                kind, options = job if spec is None else spec.kind, NO_OPTIONS
            case BoundHandler():
                spec, kind, options = job.spec, job.spec.kind, job._options
            case _:
                spec, kind, options = job.spec, job.spec.kind, NO_OPTIONS
        return expected(kind, args, spec=spec, options=options, builder=self.app._enqueuer.builder)

    def _own_worker(self) -> Worker:
        if self._worker is None:
            self._worker = self.app.worker()
        return self._worker

    async def _registered(self) -> str:
        states = {record.id: record.state for record in await self.app._enqueuer.stores.workers.all()}
        if states.get(self._own_worker().id) == "alive":
            return self._own_worker().id
        # One that another process has given up for dead, because it tells nothing of itself, cannot come back.
        self._worker = self.app.worker()
        await self._register(self._worker)
        return self._worker.id

    async def _register(self, worker: Worker) -> None:
        await self.app._enqueuer.stores.workers.register(worker._plan.describe(worker.id))
        await self.app._enqueuer.stores.kinds.declare(worker._plan.kinds)
        declared = self.app._code_schedules.all()
        await declare(
            self.app._enqueuer.stores, declared, by="test", emit=worker._emit, new_id=worker._env.new_id
        )

    async def _has_more(self, *, with_scheduled: bool) -> bool:
        due_in = await self.app._enqueuer.stores.upkeep.next_due()
        if due_in is None or (due_in > timedelta(0) and not with_scheduled):
            return False
        await self.travel(max(due_in, timedelta(0)))
        return True

    async def _claim_this(self, job_id: JobId, own: JobRunner, worker_id: str) -> Claim:
        job = await self.app.jobs.get(job_id)
        if job.state is State.SCHEDULED:
            raise NotRunnable(
                f"job {job_id} is due at {job.run_at}, and it is {self.now}: travel there first"
            )
        if job.state is not State.AVAILABLE:
            raise NotRunnable(
                f"job {job_id} cannot run: it is {job.state.value} ({job.reason or 'no reason'})"
            )
        claim = await own.claim_this(job, worker_id)
        if claim is None:
            raise NotRunnable(
                f"job {job_id} cannot be claimed: its queue {job.queue!r} or its kind is paused"
            )
        return claim

    def _refuse_more(self, attempts: Sequence[Ran], most: int, claim: Claim) -> None:
        if len(attempts) >= most:
            raise NotRunnable(
                f"after {most} attempts there are still jobs to run, next {claim.kind!r}: do they enqueue one "
                "another without end? Pass a larger `most` if not"
            )
