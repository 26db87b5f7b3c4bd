"""What a worker is made of: what it is to do, its connections, and its duties beside jobs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Protocol

from windlass.classify import Rules
from windlass.env import Env
from windlass.events import Emit
from windlass.job import Claim
from windlass.records import KindRecord, NewWorker, Override, Wanted
from windlass.registry import Registry
from windlass.stores.contract import Claims, Kinds, Locks, Signals, Steps, Telling, Workers
from windlass.wakeups.contract import Wakeups
from windlass.worker.desk import Completions, Services
from windlass.worker.notebook import Notebook
from windlass.worker.processes import ProcessLimits
from windlass.worker.settler import Decide

if TYPE_CHECKING:
    from windlass.worker.worker import Worker

Routes = frozenset[tuple[str, str]]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What a worker is to do, and by which numbers."""

    new_id: Callable[[], str]
    describe: Callable[[str], NewWorker]
    registry: Registry
    kinds: tuple[KindRecord, ...]
    wanted: Callable[[Routes], tuple[Wanted, ...]]
    per_queue: Callable[[], Mapping[str, int]]
    use_overrides: Callable[[Sequence[Override]], None]
    decide: Decide
    rules: Rules
    concurrency: int
    result_limit: int
    renew_every: Callable[[], timedelta]
    poll_busy: timedelta
    poll_idle: timedelta
    shutdown_grace: timedelta
    process_limits: ProcessLimits
    completions: Callable[[], Completions]
    transaction_limit: Callable[[Claim], timedelta]

    def services(self, notebook: Notebook, emit: Emit, env: Env) -> Services:
        """What the contexts of the worker's attempts share."""
        return Services(
            notebook=notebook,
            completions=self.completions,
            transaction_limit=self.transaction_limit,
            result_limit=self.result_limit,
            emit=emit,
            env=env,
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
    close: Callable[[], Awaitable[None]]
