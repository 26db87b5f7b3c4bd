"""Runs claimed jobs one at a time, with a worker's own parts, on the loop of the test."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from backstay.context import current
from backstay.handlers.registry import Registry
from backstay.handlers.spec import HandlerSpec, RunsIn
from backstay.model.job import Claim, Job, JobId
from backstay.model.outcome import Complete, Outcome, Released
from backstay.model.records import Wanted
from backstay.worker.run.runner import Runner
from backstay.worker.settler import Settler
from backstay.worker.step_writer import StepWriter
from backstay.worker.watchdog import watch_time_limits
from backstay.worker.worker import Worker

if TYPE_CHECKING:
    from backstay.app import Backstay

PAUSE = 0.0002
MOST_AT_ONCE = 1000


@dataclass(frozen=True, slots=True)
class Ran:
    """One attempt: the job as it was stored afterwards, the outcome, and what the handler returned or raised."""

    job: Job
    outcome: Outcome
    result: Any = None
    error: Exception | None = None


class JobRunner:
    """Claims, runs and settles as a worker does, but only when told to, and one job after another."""

    def __init__(self, app: Backstay, worker: Worker) -> None:
        self._plan, self._env, self._jobs = worker._plan, worker._env, app.jobs
        self._stores = app._enqueuer.stores
        self._loop = asyncio.get_running_loop()
        self._errors: dict[JobId, Exception] = {}
        self._ended: dict[JobId, asyncio.Future[Outcome]] = {}
        self._step_writer = StepWriter(emit=worker._emit, env=worker._env)
        self._settler = Settler(
            app._enqueuer.stores.claims,
            self._plan.decider,
            step_writer=self._step_writer,
            wakeups=app._enqueuer.wakeups,
            emit=worker._emit,
            env=worker._env,
            reacting=self._plan.reacting,
        )
        self._runner = Runner(
            _noting(self._plan.registry, self._errors),
            slots=self._plan.concurrency,
            finish=self._finish,
            rules=self._plan.rules,
            services=self._plan.services(self._step_writer, worker._emit, worker._env),
            result_limit=self._plan.result_limit,
            env=worker._env,
        )
        self._runner.use_loop(self._loop)
        stores = app._enqueuer.stores
        self._step_writer.locks.attach(stores.locks)
        self._tasks = [
            asyncio.create_task(self._settler.run()),
            asyncio.create_task(self._step_writer.run(stores.steps, stores.progress, stores.signals)),
            asyncio.create_task(
                watch_time_limits(self._runner, self._finish, emit=worker._emit, env=worker._env)
            ),
        ]

    async def close(self) -> None:
        """Stop what runs beside the handlers."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._runner.close()

    async def claim_next(self, worker_id: str, *, kind: str | None = None) -> Claim | None:
        """Claim the job whose turn it is, of one kind or of any."""
        wanted = [pair for pair in await self._wanted() if kind in (None, pair.kind)]
        return next(
            iter(
                await self._claim(wanted, worker_id, limit=1)
                or await self._claim(wanted, worker_id, suspects=1)
            ),
            None,
        )

    async def claim_this(self, job: Job, worker_id: str) -> Claim | None:
        """Claim one particular job; those of its kind that come before it are claimed with it and given back."""
        wanted = [pair for pair in await self._wanted() if (pair.queue, pair.kind) == (job.queue, job.kind)]
        limits = {"suspects": MOST_AT_ONCE} if job.is_suspect else {"limit": MOST_AT_ONCE}
        claims = {claim.id: claim for claim in await self._claim(wanted, worker_id, **limits)}
        mine = claims.pop(job.id, None)
        for other in claims.values():
            self._settler.offer(other, Released("another job was to be run"))
        await self._written()
        return mine

    async def run(self, claim: Claim) -> Ran:
        """Run a job and store what came of it."""
        outcome = await self.attempt(claim)
        self._settler.offer(claim, outcome)
        await self._written()
        job = await self._jobs.get(claim.id)
        value = None
        if isinstance(outcome, Complete):
            value = self._plan.registry.get(claim.kind).decode_result(outcome.result)
        return Ran(job, outcome, value, self._errors.pop(claim.id, None))

    async def attempt(self, claim: Claim) -> Outcome:
        """Run a job's handler and store nothing."""
        ended: asyncio.Future[Outcome] = self._loop.create_future()
        self._ended[claim.id] = ended
        self._runner.start([claim])
        return await ended

    async def _wanted(self) -> tuple[Wanted, ...]:
        self._plan.use_overrides(await self._stores.overrides.all())
        return self._plan.asks(await self._stores.insights.routes()).wanted

    async def _claim(
        self, wanted: list[Wanted], worker_id: str, *, limit: int = 0, suspects: int = 0
    ) -> list[Claim]:
        return await self._stores.claims.claim(
            wanted, worker=worker_id, claim_id=self._env.new_id(), limit=limit, suspects=suspects
        )

    def _finish(self, claim: Claim, outcome: Outcome) -> None:
        self._loop.call_soon_threadsafe(self._tell, claim.id, outcome)

    def _tell(self, job_id: JobId, outcome: Outcome) -> None:
        ended = self._ended.pop(job_id, None)
        if ended is not None and not ended.done():
            ended.set_result(outcome)

    async def _written(self) -> None:
        while not self._settler.is_idle:
            for task in self._tasks:
                if task.done():
                    task.result()
            await asyncio.sleep(PAUSE)


@asynccontextmanager
async def hands(app: Backstay, worker: Worker) -> AsyncIterator[JobRunner]:
    """Yield a runner that works as a worker does, for as long as the block lasts."""
    opened = JobRunner(app, worker)
    try:
        yield opened
    finally:
        await opened.close()


def _noting(registry: Registry, errors: dict[JobId, Exception]) -> Registry:
    """The same handlers, which also note the exceptions they raise: the database keeps only their text."""
    noting = Registry()
    for spec in registry.handled():
        # An exception object cannot come back from another process, so here every handler runs in this one.
        runs_in: RunsIn = "loop" if spec.is_async else "thread"
        noting.add(replace(spec, function=_noting_function(spec, errors), runs_in=runs_in))
    return noting


def _noting_function(spec: HandlerSpec, errors: dict[JobId, Exception]) -> Callable[..., Any]:
    function = spec.function
    assert function is not None

    def note(error: BaseException) -> None:
        if isinstance(error, Exception):
            errors[current().job_id] = error

    async def on_loop(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        try:
            return await function(*args, **kwargs)
        except BaseException as error:
            note(error)
            raise

    def in_thread(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        try:
            return function(*args, **kwargs)
        except BaseException as error:
            note(error)
            raise

    return on_loop if spec.is_async else in_thread
