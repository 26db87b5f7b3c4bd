"""What a worker is made of: what it is to do, its connections, and its duties beside jobs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Protocol

from backstay.client.decider import Decider
from backstay.handlers.registry import Registry
from backstay.model.classify import ErrorRules
from backstay.model.events import Emit
from backstay.model.job import Claim
from backstay.model.records import KindRecord, NewWorker, Override
from backstay.runtime.env import Env
from backstay.stores.contract import Claims, Kinds, Locks, Signals, Steps, Telling, Workers
from backstay.wakeups.contract import Wakeups
from backstay.worker.fetch.claim_requests import Asks
from backstay.worker.job_lines import JobLines
from backstay.worker.leaving import Stoppable, stop_when_empty, stop_when_outgrown
from backstay.worker.process.pool import ProcessLimits
from backstay.worker.run.local_backend import Completions, Services
from backstay.worker.settler import Settler
from backstay.worker.step_writer import StepWriter

if TYPE_CHECKING:
    from backstay.worker.fetch.fetcher import Fetcher
    from backstay.worker.run.runner import Runner
    from backstay.worker.worker import Worker

Routes = frozenset[tuple[str, str]]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What a worker is to do, and by which numbers."""

    new_id: Callable[[], str]
    describe: Callable[[str], NewWorker]
    registry: Registry
    kinds: tuple[KindRecord, ...]
    asks: Callable[[Routes], Asks]
    """What to claim, by the numbers of now and the queues that jobs were moved to."""
    use_overrides: Callable[[Sequence[Override]], None]
    decider: Decider
    reacting: frozenset[str]
    """The kinds whose completion has other jobs stored."""
    rules: ErrorRules
    concurrency: int
    result_limit: int
    renew_every: Callable[[], timedelta]
    poll_busy: timedelta
    poll_idle: timedelta
    shutdown_grace: timedelta
    process_limits: ProcessLimits
    completions: Callable[[], Completions]
    home: str
    transaction_limit: Callable[[Claim], timedelta]
    until_empty: bool = False
    """Whether it stops by itself when nothing is left to do."""
    max_memory_mb: int | None = None
    """What it may use before it stops by itself."""

    def leaving(
        self,
        worker: Stoppable,
        claims: Claims,
        runner: Runner,
        settler: Settler,
        fetcher: Fetcher,
        emit: Emit,
        env: Env,
    ) -> dict[str, Callable[[], Awaitable[None]]]:
        """What stops the worker by itself."""
        watching: dict[str, Callable[[], Awaitable[None]]] = {}
        if self.until_empty:
            watching["leaving"] = partial(
                stop_when_empty, worker.stop, claims, runner, settler, fetcher, env=env
            )
        if self.max_memory_mb is not None:
            watching["memory"] = partial(stop_when_outgrown, worker, self.max_memory_mb, emit=emit, env=env)
        return watching

    def services(self, step_writer: StepWriter, emit: Emit, env: Env) -> Services:
        """What the contexts of the worker's attempts share."""
        return Services(
            step_writer=step_writer,
            completions=self.completions,
            transaction_limit=self.transaction_limit,
            decider=self.decider,
            rules=self.rules,
            home=self.home,
            result_limit=self.result_limit,
            emit=emit,
            env=env,
        )

    def settler(
        self,
        claims: Claims,
        step_writer: StepWriter,
        wakeups: Wakeups,
        lines: JobLines,
        *,
        emit: Emit,
        env: Env,
    ) -> Settler:
        """What writes the outcomes of the worker's attempts."""
        return Settler(
            claims,
            self.decider,
            step_writer=step_writer,
            wakeups=wakeups,
            emit=emit,
            env=env,
            lines=lines,
            reacting=self.reacting,
        )


class Duties(Protocol):
    """Maintenance that a worker does beside its jobs."""

    async def run(self) -> None:
        """Do the duties until cancelled."""
        ...

    def on_hint(self, hint: str) -> None:
        """Something has happened that may concern a duty."""
        ...

    async def resign(self) -> None:
        """Let another worker take over."""
        ...


@dataclass(frozen=True, kw_only=True)
class Parts:
    """The worker's own connections, made on the engine's loop."""

    fetching: Claims
    settling: Claims
    beating: Claims
    steps: Steps
    progress: Telling
    signals: Signals
    locks: Locks
    workers: Workers
    kinds: Kinds
    wakeups: Wakeups
    duties: Callable[[Worker], Duties]
    beside: Mapping[str, Callable[[Worker], Awaitable[None]]] = field(default_factory=dict)
    """What else runs beside the jobs, by its name."""
    close: Callable[[], Awaitable[None]]
