"""Enqueueing inside a transaction that the caller opened, and how blocking calls do it in their own thread."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from backstay.attempt.transaction import is_open_here
from backstay.client.enqueue.inheriting import all_inherited, inherited
from backstay.client.sync_loop import SyncLoop
from backstay.handle import JobHandle
from backstay.handler import JobArgs
from backstay.handlers.spec import HandlerSpec
from backstay.model.flows import NewFlow
from backstay.model.job import JobId, NewJob, Stored
from backstay.options import NO_OPTIONS, JobOptions

if TYPE_CHECKING:
    from backstay.client.enqueue.enqueuer import Enqueuer


class Joiner(Protocol):
    """Stores jobs inside a transaction that the caller opened."""

    @property
    def carries_routes(self) -> bool:
        """Whether routes must be stored in the caller's transaction too."""
        ...

    async def prepare(self) -> None:
        """See that the database is ready, before a transaction is touched."""
        ...

    async def ask(self) -> Any:
        """Learn which database jobs are stored in now."""
        ...

    async def join(
        self,
        transaction: object,
        jobs: Sequence[NewJob],
        *,
        routes: Sequence[tuple[str, str]],
        announce: Callable[[], None],
    ) -> list[Stored]:
        """Store jobs in an open transaction; `announce` is called after its commit, where that can be known."""
        ...

    def join_sync(
        self,
        transaction: object,
        jobs: Sequence[NewJob],
        *,
        routes: Sequence[tuple[str, str]],
        announce: Callable[[], None],
        ask: Callable[[], Any],
    ) -> list[Stored]:
        """Do the same with a blocking driver, in this thread."""
        ...

    async def join_flow(
        self,
        transaction: object,
        flow: NewFlow,
        *,
        routes: Sequence[tuple[str, str]],
        announce: Callable[[], None],
    ) -> Mapping[JobId, JobId]:
        """Store a flow in an open transaction; returns what keys have found in the place of which jobs."""
        ...

    def join_flow_sync(
        self,
        transaction: object,
        flow: NewFlow,
        *,
        routes: Sequence[tuple[str, str]],
        announce: Callable[[], None],
        ask: Callable[[], Any],
    ) -> Mapping[JobId, JobId]:
        """Do the same with a blocking driver, in this thread."""
        ...

    def ambient(self) -> Awaitable[object | None] | None:
        """Look for a transaction that the running coroutine is part of without saying so."""
        ...

    def ambient_sync(self, ask: Callable[[], Any]) -> object | None:
        """Look for one that is open in this thread."""
        ...


@dataclass(frozen=True, slots=True)
class Joinable:
    """Jobs that are ready to be stored in a transaction."""

    jobs: Sequence[NewJob]
    routes: Sequence[tuple[str, str]]
    announce: Callable[[], None]


class App(Protocol):
    """Where the jobs of the running loop are found."""

    @property
    def url(self) -> str: ...

    @property
    def _enqueuer(self) -> Enqueuer: ...


@dataclass(frozen=True, slots=True)
class SyncEnqueuing:
    """Enqueues for callers that block: in their own transaction in their own thread, else on the background loop."""

    app: App
    loop: SyncLoop

    def enqueue(self, spec: HandlerSpec, args_text: str, options: JobOptions) -> JobHandle[Any]:
        """Store one job."""
        options = inherited(options, self.app.url)
        tx = self.transaction(options.tx, "enqueue_sync")
        if tx is None:
            return self.loop.run(
                lambda: self.app._enqueuer.enqueue_alone(spec, args_text, options), name="enqueue_sync"
            )

        async def prepared() -> tuple[Enqueuer, Joinable]:
            enqueuer = self.app._enqueuer
            return enqueuer, await enqueuer.to_join(
                [spec], [enqueuer.builder.build(spec, args_text, options)]
            )

        return self._join(tx, [spec], prepared, "enqueue_sync")[0]

    def enqueue_by_name(
        self, kind: str, args: Mapping[str, Any] | None = None, options: JobOptions = NO_OPTIONS
    ) -> JobHandle[Any]:
        """Store one job by the name of its kind."""
        spec = self.loop.run(lambda: self.app._enqueuer.spec_of(kind), name="sync.jobs.enqueue_by_name")
        return self.enqueue(spec, spec.bind((), dict(args or {})), options)

    def enqueue_many(self, calls: Sequence[JobArgs[Any]], *, tx: object = None) -> list[JobHandle[Any]]:
        """Store many jobs, all or none."""
        calls = all_inherited(calls, self.app.url)
        tx = self.transaction(tx, "sync.jobs.enqueue_many")
        if tx is None:
            return self.loop.run(
                lambda: self.app._enqueuer.enqueue_many_alone(calls), name="sync.jobs.enqueue_many"
            )
        specs = [call.spec for call in calls]

        async def prepared() -> tuple[Enqueuer, Joinable]:
            enqueuer = self.app._enqueuer
            return enqueuer, await enqueuer.to_join(specs, enqueuer.build_all(calls))

        return self._join(tx, specs, prepared, "sync.jobs.enqueue_many")

    def _join(
        self,
        tx: object,
        specs: Sequence[HandlerSpec],
        prepared: Callable[[], Awaitable[tuple[Enqueuer, Joinable]]],
        name: str,
    ) -> list[JobHandle[Any]]:
        enqueuer, ready = self.loop.run(prepared, name=name)
        stored = enqueuer.joiner.join_sync(
            tx,
            ready.jobs,
            routes=ready.routes,
            announce=ready.announce,
            ask=self._asking(enqueuer.joiner, name),
        )
        return [enqueuer.handle(spec, one.id, one.is_new) for spec, one in zip(specs, stored, strict=True)]

    def join_flow(self, tx: object, flow: NewFlow, specs: Sequence[HandlerSpec]) -> Mapping[JobId, JobId]:
        """Store a flow in the transaction of this thread."""
        name = "flow.enqueue_sync"

        async def prepared() -> tuple[Enqueuer, Joinable]:
            enqueuer = self.app._enqueuer
            return enqueuer, await enqueuer.to_join(specs, flow.jobs)

        enqueuer, ready = self.loop.run(prepared, name=name)
        ask = self._asking(enqueuer.joiner, name)
        return enqueuer.joiner.join_flow_sync(tx, flow, routes=ready.routes, announce=ready.announce, ask=ask)

    def transaction(self, tx: object, name: str) -> object | None:
        """The transaction meant: the one given, none if it is False, or else the block that is open here."""
        # Looked for here and not on the background loop: blocks are open in threads.
        if tx is not None or ("django.db" not in sys.modules and not is_open_here()):
            return None if tx is False else tx

        async def prepared() -> Joiner:
            joiner = self.app._enqueuer.joiner
            await joiner.prepare()
            return joiner

        joiner = self.loop.run(prepared, name=name)
        return joiner.ambient_sync(self._asking(joiner, name))

    def _asking(self, joiner: Joiner, name: str) -> Callable[[], Any]:
        return lambda: self.loop.run(joiner.ask, name=name)
