"""The application's own object: it registers handlers, enqueues jobs and makes workers."""

from __future__ import annotations

import asyncio
import os
import weakref
from collections.abc import (
    AsyncGenerator,
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
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, Unpack, overload

from windlass.client.building import Builder
from windlass.client.client import Client, make_client
from windlass.client.dead_letters import DeadLetters
from windlass.client.doctor import Doctor
from windlass.client.jobs import Jobs
from windlass.client.joining import SyncEnqueuing
from windlass.client.lookup import AppLookup
from windlass.client.overrides import Overrides
from windlass.client.promoted import PromotedFields
from windlass.client.queues import Queues
from windlass.client.sync import SyncClient
from windlass.client.sync_loop import SyncLoop
from windlass.client.workers import Workers
from windlass.configuration import read_settings
from windlass.durations import Duration
from windlass.env import SYSTEM, Env
from windlass.events import Emit
from windlass.handle import JobHandle
from windlass.handler import AsyncHandler, C, JobDecorator, P, PlainHandler, R, job_decorator
from windlass.logs import log_event
from windlass.options import JobOptions
from windlass.policy import PolicyChange, PolicyFields
from windlass.profile import DEFAULT, Profile
from windlass.promotion import Promoted
from windlass.registry import DEFAULT_QUEUE, HandlerSpec, Registry, RunsIn, describe
from windlass.settings import hide_password
from windlass.sizes import Size

if TYPE_CHECKING:
    from windlass.connect import Connections
    from windlass.worker.desk import Completions
    from windlass.worker.worker import Worker


@dataclass
class _Open:
    """What one event loop has open."""

    connections: Connections
    client: Client
    ready: asyncio.Task[None] | None = None
    secret: bytes | None = None
    guard: AsyncGenerator[None, None] | None = None


@dataclass(frozen=True, slots=True)
class _Given:
    """What `@app.job(…)` was given."""

    kind: str | None
    queue: str
    policy: PolicyChange | None
    runs_in: RunsIn | None
    aliases: tuple[str, ...]
    promote: Sequence[str | Promoted]


class Windlass:
    """An application's jobs: handlers are registered on it, and everything else is reached through it.

    Without a URL it uses `WINDLASS_URL`, or the file windlass.db in the current directory. Other settings come from
    `settings`, the environment, and windlass.toml or pyproject.toml in the current directory; one that cannot work
    raises InvalidSettings. Making an application connects to nothing: connections are opened when first used, for
    each process and event loop its own.
    """

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
        self._env, self._emit = env, emit
        self._clock: Callable[[], datetime] | None = None
        self._also: Callable[[Connections], Awaitable[None]] | None = None
        self._open: MutableMapping[asyncio.AbstractEventLoop, _Open] = weakref.WeakKeyDictionary()
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
        **policy: Unpack[PolicyFields],
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

        The kind is the function's name unless given. Policy fields (`timeout`, `max_attempts`, `backoff`, …) become
        the kind's own. `aliases` are former names whose jobs it still runs. `promote` names arguments that become
        indexed columns.
        """
        own = PolicyChange(dict(policy)) if policy else None
        given = _Given(kind, queue, own, runs_in, tuple(aliases), promote)
        decorate = job_decorator(lambda handler: self._register(handler, given), self)
        return decorate if function is None else decorate(function)

    def _register(self, function: Callable[..., Any], given: _Given) -> HandlerSpec:
        spec = describe(
            function,
            kind=given.kind,
            queue=given.queue,
            policy=given.policy,
            runs_in=given.runs_in,
            aliases=given.aliases,
            promote=given.promote,
        )
        # Resolved once now, so that numbers that do not fit are refused where they were written.
        self._builder.policy_of(spec, spec.queue)
        return self.registry.add(spec)

    def declare(
        self, kind: str, *, queue: str = DEFAULT_QUEUE, promote: Sequence[str | Promoted] = ()
    ) -> None:
        """Make known a kind that another program handles, so that it can be enqueued here by name."""
        self.registry.declare(kind, queue=queue, promote=promote)

    @property
    def jobs(self) -> Jobs:
        """Enqueue, find, cancel and await jobs."""
        return self._here().client.jobs

    @property
    def dead_letters(self) -> DeadLetters:
        """Look at dead jobs, retry or resolve them."""
        return self._here().client.dead_letters

    @property
    def queues(self) -> Queues:
        """Pause and resume queues and kinds."""
        return self._here().client.queues

    @property
    def workers(self) -> Workers:
        """See which workers live and what they know."""
        return self._here().client.workers

    @property
    def doctor(self) -> Doctor:
        """Find what is wrong, and why a job does not run."""
        return self._here().client.doctor

    @property
    def overrides(self) -> Overrides:
        """Change numbers of queues and kinds while everything runs."""
        return self._here().client.overrides

    @property
    def promoted(self) -> PromotedFields:
        """Make, check and fill the columns of promoted fields."""
        return self._here().client.promoted

    @property
    def connections(self) -> Connections:
        """What the running event loop has open."""
        return self._here().connections

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
        from windlass.connect import open_connections  # only where work begins

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
            connect=lambda: open_connections(self.url, env=self._env, clock=self._clock),
            completions=self.completions,
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
            await _first(asyncio.to_thread(worker.started.wait, 30), task)
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

    async def close(self) -> None:
        """Close what the running event loop has open."""
        if (held := self._open.pop(asyncio.get_running_loop(), None)) is not None:
            await (_close(held) if held.guard is None else held.guard.aclose())

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

    def _here(self) -> _Open:
        if self._pid != os.getpid():
            # What was open before a fork belongs to the parent: it is forgotten, not closed.
            self._open, self._pid = weakref.WeakKeyDictionary(), os.getpid()
        loop = asyncio.get_running_loop()
        if loop not in self._open:
            self._open[loop] = self._make()
        return self._open[loop]

    def completions(self) -> Completions:
        """Make transactions in which handlers complete their jobs; use `ctx.transaction()`."""
        from windlass.connect import open_completions  # only where work begins

        return open_completions(self.url, env=self._env, clock=self._clock, app=self)

    def _make(self) -> _Open:
        from windlass.connect import open_connections

        connections = open_connections(self.url, env=self._env, clock=self._clock)
        held: _Open

        async def ready() -> None:
            if held.ready is None:
                held.ready = asyncio.get_running_loop().create_task(self._prepare(held))
            if not (held.ready.done() and held.ready.exception() is None):
                await asyncio.shield(held.ready)

        async def secret() -> bytes:
            await ready()
            held.secret = held.secret or await connections.secret()
            return held.secret

        client = make_client(
            connections.stores_when(ready, "general", size=self.settings.client_connections),
            connections.stores_when(ready, "enqueue").enqueuing,
            connections.wakeups,
            registry=self.registry,
            builder=self._builder,
            lookup=AppLookup(self, lambda: self._sync_loop),
            joiner=connections.joining(ready),
            secret=secret,
            env=self._env,
        )
        held = _Open(connections, client)
        return held

    async def _prepare(self, held: _Open) -> None:
        try:
            await held.connections.prepare()
            if self._also is not None:
                await self._also(held.connections)
        except BaseException:
            # Tried again by the next call: the database may be there by then.
            held.ready = None
            raise
        held.guard = self._close_with_loop(held)
        await anext(held.guard)

    async def _close_with_loop(self, held: _Open) -> AsyncGenerator[None, None]:
        # An event loop that ends finishes its asynchronous generators: that is how connections end with it.
        try:
            yield
        finally:
            # What is open points back at its loop, so the entry would keep both for ever.
            self._open.pop(asyncio.get_running_loop(), None)
            await _close(held)


async def _close(held: _Open) -> None:
    await held.client.close()
    await held.connections.close()


async def _first(started: Any, task: asyncio.Task[None]) -> None:
    await asyncio.wait([asyncio.ensure_future(started), task], return_when=asyncio.FIRST_COMPLETED)
    if task.done():
        task.result()
