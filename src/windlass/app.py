"""The application's own object: it registers handlers, enqueues jobs and makes workers."""

from __future__ import annotations

import asyncio
import os
import weakref
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Coroutine,
    Iterator,
    Mapping,
    MutableMapping,
    Sequence,
)
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, Unpack, overload
from uuid import UUID

from windlass import codec
from windlass.client.building import Builder
from windlass.client.code_schedules import CodeSchedules, H
from windlass.client.dead_letters import DeadLetters
from windlass.client.doctor import Doctor
from windlass.client.flow_building import Flow
from windlass.client.flows import Flows, make_flow
from windlass.client.jobs import Jobs
from windlass.client.joining import SyncEnqueuing
from windlass.client.limits import Limits
from windlass.client.locks import Locks
from windlass.client.lookup import AppLookup
from windlass.client.overrides import Overrides
from windlass.client.promoted import PromotedFields
from windlass.client.queues import Queues
from windlass.client.quotas import Quotas
from windlass.client.schedules import Schedules
from windlass.client.scheduling import Timing
from windlass.client.signals import Signals
from windlass.client.sync import SyncClient
from windlass.client.sync_loop import SyncLoop
from windlass.client.workers import Workers
from windlass.configuration import read_settings
from windlass.context import Context
from windlass.declaration import Declaration, KindFields
from windlass.durations import Duration
from windlass.env import SYSTEM, Env
from windlass.events import Emit
from windlass.handle import JobHandle
from windlass.handler import (
    AsyncHandler,
    BatchDecorator,
    C,
    JobDecorator,
    P,
    PlainHandler,
    R,
    batch_decorator,
    job_decorator,
)
from windlass.limits import Limit, Rate, queue_limits
from windlass.logs import log_event
from windlass.opening import Also, Noun, Open, Opening, leave_to_parent, started_or_ended
from windlass.options import JobOptions
from windlass.profile import DEFAULT, Profile
from windlass.promotion import Promoted
from windlass.registry import DEFAULT_QUEUE, HandlerSpec, Registry, RunsIn
from windlass.settings import hide_password
from windlass.sizes import Size

if TYPE_CHECKING:
    from windlass.connect import Connections
    from windlass.worker.desk import Completions
    from windlass.worker.worker import Worker


class Windlass:
    """An application's jobs: handlers are registered on it, and everything else is reached through it.

    Without a URL it uses `WINDLASS_URL`, or the file windlass.db in the current directory. Other settings come from
    `settings`, the environment, and windlass.toml or pyproject.toml in the current directory; one that cannot work
    raises InvalidSettings. Making an application connects to nothing: connections are opened when first used, for
    each process and event loop its own.
    """

    jobs = Noun[Jobs]()
    """Enqueue, find, cancel and await jobs."""
    dead_letters = Noun[DeadLetters]()
    """Look at dead jobs, retry or resolve them."""
    queues = Noun[Queues]()
    """Pause and resume queues and kinds."""
    workers = Noun[Workers]()
    """See which workers live and what they know."""
    doctor = Noun[Doctor]()
    """Find what is wrong, and why a job does not run."""
    overrides = Noun[Overrides]()
    """Change numbers of queues and kinds while everything runs."""
    limits = Noun[Limits]()
    """See and change how many jobs run at the same time and start in a while."""
    promoted = Noun[PromotedFields]()
    """Make, check and fill the columns of promoted fields."""
    flows = Noun[Flows]()
    """See how far flows are, cancel the rest of one, run a part again."""
    signals = Noun[Signals]()
    """Send jobs what they wait for, and see what they have received."""
    schedules = Noun[Schedules]()
    """Create, change, pause and run schedules, and see what became of their fires."""
    locks = Noun[Locks]()
    """Take, release and look at locks."""
    quotas = Noun[Quotas]()
    """Say how many jobs of a tenant may wait."""

    def __init__(
        self,
        url: str | None = None,
        *,
        profile: Profile = DEFAULT,
        settings: Mapping[str, object] | None = None,
        env: Env = SYSTEM,
        emit: Emit = log_event,
    ) -> None:
        code = {**(settings or {}), **({"url": url} if url else {})}
        self.settings = read_settings(code, os.environ, Path.cwd())
        self.url = self.settings.url
        self.registry = Registry()
        self.profile = profile
        self._builder = Builder(profile, env, self.settings.policy)
        self._env, self._emit, self.code_schedules = env, emit, CodeSchedules(self._builder, env)
        self._clock: Callable[[], datetime] | None = None
        self._also: Also | None = None
        self._open: MutableMapping[asyncio.AbstractEventLoop, Open] = weakref.WeakKeyDictionary()
        self._pid = os.getpid()
        self._sync_loop = SyncLoop(self.close)
        self.sync = SyncClient(self, self._sync_loop)

    # A coroutine is also a result, so these overlap; the first that fits is meant.
    @overload
    def job(  # type: ignore[overload-overlap]  # see above
        self, function: Callable[Concatenate[C, P], Coroutine[Any, Any, R]], /
    ) -> AsyncHandler[P, R]: ...

    @overload
    def job(  # type: ignore[overload-overlap]  # see above
        self, function: Callable[P, Coroutine[Any, Any, R]], /
    ) -> AsyncHandler[P, R]: ...

    @overload
    def job(self, function: Callable[Concatenate[C, P], R], /) -> PlainHandler[P, R]: ...

    @overload
    def job(self, function: Callable[P, R], /) -> PlainHandler[P, R]: ...

    @overload
    def job(
        self,
        *,
        kind: str | None = None,
        queue: str = DEFAULT_QUEUE,
        runs_in: RunsIn | None = None,
        aliases: Sequence[str] = (),
        promote: Sequence[str | Promoted] = (),
        **policy: Unpack[KindFields],
    ) -> JobDecorator: ...

    def job(  # type: ignore[misc]  # the keywords of the last overload are checked there
        self,
        function: Callable[..., Any] | None = None,
        /,
        *,
        kind: str | None = None,
        queue: str = DEFAULT_QUEUE,
        runs_in: RunsIn | None = None,
        aliases: Sequence[str] = (),
        promote: Sequence[str | Promoted] = (),
        **policy: Any,
    ) -> Any:
        """Register a function as the handler of a kind.

        The kind is the function's name unless given. Policy fields (`timeout`, `max_attempts`, `backoff`, …) and
        limits (`limit`, `rate`, `ordered_by`, …) become the kind's own. `aliases` are former names whose jobs it
        still runs. `promote` names arguments that become indexed columns.
        """
        given = Declaration(kind, queue, runs_in, tuple(aliases), promote, policy)
        decorate = job_decorator(lambda function: self._register(given.describe(function)), self)
        return decorate if function is None else decorate(function)

    def batch_job(
        self,
        *,
        size: int,
        wait: Duration = 0,
        kind: str | None = None,
        queue: str = DEFAULT_QUEUE,
        aliases: Sequence[str] = (),
        **policy: Unpack[KindFields],
    ) -> BatchDecorator:
        """Register a function that handles up to `size` jobs at once; the first waits so long for the others."""
        given = Declaration(kind, queue, None, tuple(aliases), (), policy, batch=(size, wait))
        return batch_decorator(lambda function: self._register(given.describe(function)), self)

    def _register(self, spec: HandlerSpec) -> HandlerSpec:
        # Resolved once now, so that numbers that do not fit are refused where they were written.
        self._builder.policy_of(spec, spec.queue)
        return self.registry.add(spec)

    def queue(
        self,
        name: str,
        *,
        limit: int | None = None,
        rate: str | Rate | None = None,
        per_worker: int | None = None,
        fair: bool = False,
        weights: Mapping[str, int] | None = None,
    ) -> None:
        """Limit a queue: how many of its jobs run at the same time, in all and on one worker, and start in a while.

        In a `fair` queue tenants take turns, however many jobs each has waiting; one of weight 3 has three jobs in
        each turn, others one.
        """
        limits = queue_limits(name, limit=limit, rate=rate, per_worker=per_worker)
        self.registry.queues[codec.check_name("queue", name)] = limits
        self.registry.share_fairly(name, weights, fair=fair)

    def ceiling(self, limit: int) -> None:
        """Limit how many jobs of this application run at the same time, everywhere and of all kinds."""
        self.registry.ceiling = Limit(limit).most

    def schedule(
        self, cron: str | None = None, /, *, name: str | None = None, **asked: Unpack[Timing]
    ) -> Callable[[H], H]:
        """Let a handler's jobs be made at certain times: put `@app.schedule("0 3 * * *")` above `@app.job`."""
        return self.code_schedules.decorator(name, cron, asked)

    def declare(
        self,
        kind: str,
        *,
        queue: str = DEFAULT_QUEUE,
        promote: Sequence[str | Promoted] = (),
        ordered_by: str | None = None,
    ) -> None:
        """Make known a kind that another program handles, so that it can be enqueued here by name."""
        self.registry.declare(kind, queue=queue, promote=promote, ordered_by=ordered_by)

    def flow(self, name: str = "", *, tenant: str = "", within: Context | None = None) -> Flow:
        """An empty flow, to add jobs to and then enqueue; `within` adds them to the flow of the job that runs."""
        return make_flow(self, self._builder, self._sync_loop, name, tenant=tenant, within=within)

    @property
    def connections(self) -> Connections:
        """What the running event loop has open."""
        return self.here().connections

    def worker(
        self,
        *,
        queues: Sequence[str] | None = None,
        kinds: Sequence[str] | None = None,
        concurrency: int | None = None,
        worker_id: str | None = None,
        worker_type: str = "general",
        shutdown_grace: Duration | None = None,
        process_max_jobs: int | None = None,
        process_max_memory: Size | None = None,
        poll_busy: Duration | None = None,
        poll_idle: Duration | None = None,
    ) -> Worker:
        """A worker for this application's handlers; `await worker.run()` on the loop they are to run on."""
        from windlass.assembly import WorkerOptions, length, make_worker, process_limits

        self.settings.tell(self._emit)
        options = WorkerOptions(
            queues=self.settings.queues if queues is None else tuple(queues),
            kinds=self.settings.kinds if kinds is None else tuple(kinds),
            concurrency=concurrency,
            id_template=worker_id or self.settings.worker_id,
            worker_type=worker_type,
            process_limits=process_limits(process_max_jobs, process_max_memory),
            shutdown_grace=length("shutdown_grace", shutdown_grace),
            poll_busy=length("poll_busy", poll_busy),
            poll_idle=length("poll_idle", poll_idle),
        )
        return make_worker(
            options,
            registry=self.registry,
            builder=self._builder,
            settings=self.settings,
            connect=self._connect,
            completions=self.completions,
            schedules=self.code_schedules.all,
            emit=self._emit,
            env=self._env,
        )

    @asynccontextmanager
    async def working(self, **options: Any) -> AsyncIterator[Worker]:
        """Work inside an application that has its own event loop: jobs run on it while the block lasts.

        >>> async with app.working(concurrency=20): await serve()
        """
        worker = self.worker(**options)
        task = asyncio.create_task(worker.run())
        try:
            await started_or_ended(asyncio.to_thread(worker.started.wait, 30), task)
            yield worker
        finally:
            worker.stop()
            await task

    @contextmanager
    def moved(
        self, url: str, *, clock: Callable[[], datetime], also: Callable[[Connections], Awaitable[None]]
    ) -> Iterator[None]:
        """Use another database, by a clock of the caller's, while the block lasts; made for `windlass.testing`.

        What is open stays open for afterwards; what the block opens is the caller's to close. `also` is done with
        the tables before anything else.
        """
        kept = vars(self).copy()
        self._also = also
        self.url, self._clock, self._env = url, clock, replace(self._env, wall=clock)
        self._builder = Builder(self.profile, self._env, self.settings.policy)
        # Not weak: the caller must find everything to close, also where a loop has ended meanwhile.
        self._open, self._sync_loop = {}, SyncLoop(self.close)
        self.sync = SyncClient(self, self._sync_loop)
        try:
            yield
        finally:
            vars(self).update(kept)

    async def signal(
        self,
        job: JobHandle[Any] | UUID | str,
        name: str,
        payload: Any = None,
        *,
        key: str | None = None,
        by: str = "client",
    ) -> bool:
        """Send a job what its handler waits for; the same as `signals.send`."""
        return await self.signals.send(job, name, payload, key=key, by=by)

    async def close(self) -> None:
        """Close what the running event loop has open."""
        if (held := self._open.pop(asyncio.get_running_loop(), None)) is not None:
            await held.close()

    def close_sync(self) -> None:
        """Close what blocking calls have opened; a program that does not is closed at its exit."""
        self._sync_loop.close()

    async def enqueue(self, spec: HandlerSpec, args_text: str, options: JobOptions) -> JobHandle[Any]:
        """Store a job for a handler; use the handler's own `enqueue`."""
        return await self.jobs.enqueue(spec, args_text, options)

    def enqueue_sync(self, spec: HandlerSpec, args_text: str, options: JobOptions) -> JobHandle[Any]:
        """Store a job for a handler, blocking; use the handler's own `enqueue_sync`."""
        return SyncEnqueuing(self, self._sync_loop).enqueue(spec, args_text, options)

    def __repr__(self) -> str:
        return f"<Windlass {hide_password(self.url)}, {len(self.registry)} kinds>"

    def here(self) -> Open:
        """What the running event loop has open."""
        if self._pid != os.getpid():
            leave_to_parent(self._open)
            self._open, self._pid = weakref.WeakKeyDictionary(), os.getpid()
        loop = asyncio.get_running_loop()
        if (held := self._open.get(loop)) is None:
            held = self._open[loop] = self._make()
        return held

    def completions(self) -> Completions:
        """Make transactions in which handlers complete their jobs; use `ctx.transaction()`."""
        from windlass.connect import open_completions  # only where work begins

        return open_completions(self.url, env=self._env, clock=self._clock, app=self)

    def _connect(self) -> Connections:
        from windlass.connect import open_connections  # only where work begins

        return open_connections(self.url, env=self._env, clock=self._clock)

    def _make(self) -> Open:
        loop = asyncio.get_running_loop()
        opening = Opening(
            registry=self.registry,
            builder=self._builder,
            lookup=AppLookup(self, lambda: self._sync_loop),
            size=self.settings.client_connections,
            env=self._env,
            also=self._also,
            forget=lambda: self._open.pop(loop, None),
        )
        return opening.open(self._connect())
