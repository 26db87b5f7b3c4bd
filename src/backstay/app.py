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
    Iterable,
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

from backstay.client.acting.acting import Acting
from backstay.client.arguments import job_id as to_id
from backstay.client.audit import Audit
from backstay.client.code_schedules import CodeSchedules, H
from backstay.client.dead_letters import DeadLetters
from backstay.client.doctor.doctor import Doctor
from backstay.client.enqueue.building import Builder
from backstay.client.enqueue.caller_transaction import SyncEnqueuing
from backstay.client.enqueue.enqueuer import Enqueuer
from backstay.client.flow_building import Flow
from backstay.client.flows import Flows, make_flow
from backstay.client.jobs import Jobs
from backstay.client.limits import Limits
from backstay.client.locks import Locks
from backstay.client.lookup import AppLookup
from backstay.client.overrides import Overrides
from backstay.client.promoted import PromotedFields
from backstay.client.queues import Queues
from backstay.client.quotas import Quotas
from backstay.client.schedules import Schedules
from backstay.client.scheduling import Timing
from backstay.client.signals import Signals
from backstay.client.sync import SyncClient
from backstay.client.sync_loop import SyncLoop
from backstay.client.waiting import Waiter
from backstay.client.workers import Workers
from backstay.composition.loop_resources import Opening, PerLoop, Resources, leave_to_parent, started_or_ended
from backstay.composition.service_nouns import ServiceNouns
from backstay.context import Context
from backstay.handle import JobHandle
from backstay.handler import (
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
from backstay.handlers import codec
from backstay.handlers.declaration import Declaration, KindFields
from backstay.handlers.registry import Registry
from backstay.handlers.spec import DEFAULT_QUEUE, HandlerSpec, RunsIn
from backstay.model.events import Emit
from backstay.model.limits.declared import Limit, Rate, queue_limits
from backstay.model.policy.profile import DEFAULT, Profile
from backstay.model.promoted_fields import PromotedField
from backstay.model.text.durations import Duration
from backstay.runtime.env import SYSTEM, Env
from backstay.settings.logs import log_event
from backstay.settings.migrations import Migrations
from backstay.settings.settings import hide_password
from backstay.settings.sources import read_settings

if TYPE_CHECKING:
    from backstay.composition.connect import Connections
    from backstay.composition.loop_resources import Also
    from backstay.composition.worker_options import WorkerFields
    from backstay.worker.run.local_backend import Completions
    from backstay.worker.worker import Worker


class Backstay(ServiceNouns):
    """An application's jobs: handlers are registered on it, and everything else is reached through it.

    Without a URL it uses `BACKSTAY_URL`, or the file backstay.db in the current directory. Other settings come from
    `settings`, the environment, and backstay.toml or pyproject.toml in the current directory; one that cannot work
    raises InvalidSettings. Making an application connects to nothing: connections are opened when first used, for
    each process and event loop its own.
    """

    _enqueuer = PerLoop[Enqueuer]()
    _waiter = PerLoop[Waiter]()
    jobs = PerLoop[Jobs]()
    """Enqueue, find, cancel and await jobs."""
    dead_letters = PerLoop[DeadLetters]()
    """Look at dead jobs, retry or resolve them."""
    queues = PerLoop[Queues]()
    """Pause and resume queues and kinds."""
    workers = PerLoop[Workers]()
    """See which workers live and what they know."""
    doctor = PerLoop[Doctor]()
    """Find what is wrong, and why a job does not run."""
    overrides = PerLoop[Overrides]()
    """Change numbers of queues and kinds while everything runs."""
    limits = PerLoop[Limits]()
    """See and change how many jobs run at the same time and start per period."""
    promoted = PerLoop[PromotedFields]()
    """Make, check and fill the columns of promoted fields."""
    flows = PerLoop[Flows]()
    """See how far flows are, cancel the rest of one, run a part again."""
    signals = PerLoop[Signals]()
    """Send jobs what they wait for, and see what they have received."""
    schedules = PerLoop[Schedules]()
    """Create, change, pause and run schedules, and see what became of their fires."""
    locks = PerLoop[Locks]()
    """Take, release and look at locks."""
    quotas = PerLoop[Quotas]()
    """Say how many jobs of a tenant may wait."""
    audit = PerLoop[Audit]()
    """See who did what, when and why."""

    def __init__(
        self,
        url: str | None = None,
        *,
        profile: Profile = DEFAULT,
        settings: Mapping[str, object] | None = None,
        migrations: Migrations | None = None,
        env: Env = SYSTEM,
        emit: Emit = log_event,
    ) -> None:
        code = {**(settings or {}), **({"url": url} if url else {})}
        self.settings = read_settings(code, os.environ, Path.cwd())
        self.url = self.settings.url
        self._registry = Registry()
        self.profile, self.migrations = profile, migrations
        self._builder = Builder(profile, env, self.settings.policy)
        self._env, self._emit, self._code_schedules = env, emit, CodeSchedules(self._builder, env)
        self._clock: Callable[[], datetime] | None = None
        self._also: Also | None = None
        self._open: MutableMapping[asyncio.AbstractEventLoop, Resources] = weakref.WeakKeyDictionary()
        self._pid = os.getpid()
        self._sync_loop = SyncLoop(self.close)
        self.sync = SyncClient(self, self._sync_loop)
        self._sync_enqueuer = SyncEnqueuing(self, self._sync_loop)

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
        promote: Sequence[str | PromotedField] = (),
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
        promote: Sequence[str | PromotedField] = (),
        **policy: Any,
    ) -> Any:
        """Register a function as the handler of a kind.

        The kind is the function's name unless given. Policy fields (`timeout`, `max_attempts`, `backoff`, …) and
        limits (`limit`, `rate`, `ordered_by`, …) become the kind's own. `aliases` are former names whose jobs it
        still runs. `promote` names arguments that become indexed columns. With `extra="ignore"` a job that was stored
        with arguments which the function does not take runs without them; otherwise it is held for code that it fits.
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
        return self._registry.add(spec)

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
        """Limit a queue: how many of its jobs run at the same time, in all and on one worker, and start per period.

        In a `fair` queue tenants take turns, however many jobs each has waiting; one of weight 3 has three jobs in
        each turn, others one.
        """
        limits = queue_limits(name, limit=limit, rate=rate, per_worker=per_worker)
        self._registry.queues[codec.check_name("queue", name)] = limits
        self._registry.share_fairly(name, weights, fair=fair)

    def ceiling(self, limit: int) -> None:
        """Limit how many jobs of this application run at the same time, everywhere and of all kinds."""
        self._registry.ceiling = Limit(limit).most

    def schedule(
        self, cron: str | None = None, /, *, name: str | None = None, **asked: Unpack[Timing]
    ) -> Callable[[H], H]:
        """Let a handler's jobs be made at certain times: put `@app.schedule("0 3 * * *")` above `@app.job`."""
        return self._code_schedules.decorator(name, cron, asked)

    def declare(
        self,
        kind: str,
        *,
        queue: str = DEFAULT_QUEUE,
        promote: Sequence[str | PromotedField] = (),
        ordered_by: str | None = None,
    ) -> None:
        """Make known a kind that another program handles, so that it can be enqueued here by name."""
        self._registry.declare(kind, queue=queue, promote=promote, ordered_by=ordered_by)

    def flow(self, name: str = "", *, tenant: str | None = None, within: Context | None = None) -> Flow:
        """An empty flow, of the tenant of the job that runs unless one is given; `within` adds to that job's flow."""
        return make_flow(self, self._builder, self._sync_loop, name, tenant=tenant, within=within)

    @property
    def _connections(self) -> Connections:
        """What the running event loop has open."""
        return self._here().connections

    def worker(self, **asked: Unpack[WorkerFields]) -> Worker:
        """A worker for this application's handlers; `await worker.run()` on the loop they are to run on."""
        from backstay.composition.make_worker import make_worker
        from backstay.composition.worker_options import worker_options

        self.settings.tell(self._emit)
        return make_worker(
            worker_options(asked, self.settings),
            registry=self._registry,
            builder=self._builder,
            settings=self.settings,
            connect=self._connect,
            completions=self._completions,
            home=self.url,
            schedules=self._code_schedules.all,
            emit=self._emit,
            env=self._env,
        )

    @asynccontextmanager
    async def working(self, **asked: Unpack[WorkerFields]) -> AsyncIterator[Worker]:
        """Work inside an application that has its own event loop: jobs run on it while the block lasts.

        >>> async with app.working(concurrency=20): await serve()
        """
        worker = self.worker(**asked)
        task = asyncio.create_task(worker.run())
        try:
            await started_or_ended(asyncio.to_thread(worker.started.wait, 30), task)
            yield worker
        finally:
            worker.stop()
            await task

    @contextmanager
    def _moved(
        self, url: str, *, clock: Callable[[], datetime], also: Callable[[Connections], Awaitable[None]]
    ) -> Iterator[None]:
        """Use another database, by a clock of the caller's, while the block lasts; made for `backstay.testing`.

        What is open stays open for afterwards; what the block opens is the caller's to close. `also` is done with
        the tables before anything else.
        """
        kept = vars(self).copy()
        self._also = also
        self.url, self._clock, self._env = url, clock, replace(self._env, wall=clock)
        self._builder = Builder(self.profile, self._env, self.settings.policy, carry=self._builder.carry)
        # Not weak: the caller must find everything to close, also where a loop has ended meanwhile.
        self._open, self._sync_loop = {}, SyncLoop(self.close)
        self.sync = SyncClient(self, self._sync_loop)
        self._sync_enqueuer = SyncEnqueuing(self, self._sync_loop)
        try:
            yield
        finally:
            vars(self).update(kept)

    async def migrate(self) -> list[str]:
        """Bring the database up to date: our tables, your own, promoted fields, views and the schedules of your code.

        Returns what was done. Safe to run twice, by several processes at once and while workers run.
        """
        from backstay.composition.up_to_date import bring_up_to_date

        parts = (self._registry, self._builder, self._code_schedules)
        return await bring_up_to_date(self._connections, *parts, emit=self._emit)

    def acting_as(self, actor: str, *, tenant: str, rights: Iterable[str]) -> Acting:
        """Every noun for somebody: only what belongs to the tenant, only what the rights allow, signed by the actor.

        Tenant `"*"` stands for all tenants, as for those who operate the whole. Rights are `jobs.read`,
        `dead_letters.retry`, …; `jobs.*` covers all of a noun and `*` everything. What is not allowed raises Forbidden.
        """
        return Acting(self, actor, tenant=tenant, rights=rights)

    async def close(self) -> None:
        """Close what the running event loop has open."""
        if (held := self._open.pop(asyncio.get_running_loop(), None)) is not None:
            await held.close()

    def close_sync(self) -> None:
        """Close what blocking calls have opened; a program that does not is closed at its exit."""
        self._sync_loop.close()

    def __repr__(self) -> str:
        return f"<Backstay {hide_password(self.url)}, {len(self._registry)} kinds>"

    def _here(self) -> Resources:
        """What the running event loop has open."""
        if self._pid != os.getpid():
            leave_to_parent(self._open)
            self._open, self._pid = weakref.WeakKeyDictionary(), os.getpid()
        loop = asyncio.get_running_loop()
        if (held := self._open.get(loop)) is None:
            held = self._open[loop] = self._make()
        return held

    def _completions(self) -> Completions:
        """Make transactions in which handlers complete their jobs; use `ctx.transaction()`."""
        from backstay.composition.connect import open_completions  # only where work begins

        return open_completions(self.url, self._here, env=self._env, clock=self._clock)

    def _handle(self, spec: HandlerSpec, job_id: object) -> JobHandle[Any]:
        """A handle for a job that is stored already; use the handler's own `handle`."""
        lookup = AppLookup(self, lambda: self._sync_loop)
        return JobHandle(to_id(job_id), spec.kind, False, spec.result_reader, lookup)

    def _connect(self) -> Connections:
        from backstay.composition.connect import OtherServers, open_connections  # only where work begins

        beside = OtherServers.of(self.settings, self._registry)
        return open_connections(
            self.url, env=self._env, clock=self._clock, own=self.migrations, beside=beside
        )

    def _make(self) -> Resources:
        loop = asyncio.get_running_loop()
        opening = Opening(
            registry=self._registry,
            builder=self._builder,
            lookup=AppLookup(self, lambda: self._sync_loop),
            settings=self.settings,
            env=self._env,
            also=self._also,
            forget=lambda: self._open.pop(loop, None),
        )
        return opening.open(self._connect())
