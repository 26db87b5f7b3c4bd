"""How many jobs each queue has in each state."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from backstay.kit import path_of
from backstay.kit.hrefs import with_query
from backstay.kit.words import number_text
from backstay.model.figures import Depth
from backstay.model.pauses import Pause
from backstay.model.records import QueueCount, WorkerRecord
from backstay.model.states import State

LIVING_SECONDS = 30
"""A worker that was silent for longer is not counted as living."""

DEPTH_TONES = {"ready": "accent", "running": "info", "scheduled": "warn", "held": "muted", "dead": "bad"}
_WORDS = {
    State.AVAILABLE: "ready",
    State.RUNNING: "running",
    State.SCHEDULED: "scheduled",
    State.HELD: "held",
    State.DEAD: "dead",
}


@dataclass(frozen=True)
class Amount:
    """A number of jobs, written with a plus where it `is_capped`: there are more that were not counted."""

    jobs: int = 0
    is_capped: bool = False

    def __add__(self, other: Amount) -> Amount:
        return Amount(self.jobs + other.jobs, self.is_capped or other.is_capped)

    def __bool__(self) -> bool:
        return self.jobs > 0

    def __str__(self) -> str:
        return number_text(self.jobs) + ("+" if self.is_capped else "")


Amounts = defaultdict[State, Amount]


def _no_jobs() -> Amounts:
    return defaultdict(Amount)


@dataclass
class QueueDepth:
    """One queue: its jobs by state, who works on it, and whether it is paused."""

    queue: str
    states: Amounts = field(default_factory=_no_jobs)
    oldest_ready: datetime | None = None
    workers: int = 0
    pause: Pause | None = None

    @property
    def href(self) -> str:
        return path_of("queues", self.queue)

    @property
    def ready(self) -> Amount:
        return self.states[State.AVAILABLE]

    @property
    def running(self) -> Amount:
        return self.states[State.RUNNING]

    @property
    def scheduled(self) -> Amount:
        return self.states[State.SCHEDULED]

    @property
    def held(self) -> Amount:
        return self.states[State.HELD]

    @property
    def dead(self) -> Amount:
        return self.states[State.DEAD]

    @property
    def is_behind(self) -> bool:
        """True if jobs could run and nobody is there to run them."""
        return bool(self.ready) and self.workers == 0

    def jobs_href(self, state: str) -> str:
        """Return the address of its jobs in one state."""
        return with_query("/jobs", [], queue=self.queue, state=state)


def is_living(worker: WorkerRecord) -> bool:
    """Return True if the worker claims jobs, as far as its last sign of life tells."""
    return worker.state == "alive" and worker.silent_for.total_seconds() <= LIVING_SECONDS


def counts_of(depths: Sequence[Depth], now: datetime) -> list[QueueCount]:
    """Return depths, which tell how long the first job has waited, as counts, which tell since when."""
    return [
        QueueCount(
            queue=depth.queue,
            kind=depth.kind,
            state=State(depth.state),
            jobs=depth.jobs,
            oldest_run_at=None if depth.oldest_for is None else now - depth.oldest_for,
            is_capped=depth.is_capped,
        )
        for depth in depths
    ]


def queue_depths(
    counts: Sequence[QueueCount], workers: Sequence[WorkerRecord] = (), pauses: Sequence[Pause] = ()
) -> list[QueueDepth]:
    """Return every queue that has jobs, a worker or a pause, by name."""
    depths: dict[str, QueueDepth] = {}
    for count in counts:
        depth = depths.setdefault(count.queue, QueueDepth(count.queue))
        depth.states[count.state] += amount_of(count)
        if count.state is State.AVAILABLE and count.oldest_run_at is not None:
            known = depth.oldest_ready
            depth.oldest_ready = count.oldest_run_at if known is None else min(known, count.oldest_run_at)
    for worker in workers:
        for queue in _served(worker, counts) if is_living(worker) else ():
            depths.setdefault(queue, QueueDepth(queue)).workers += 1
    for pause in pauses:
        if pause.queue is not None:
            depths.setdefault(pause.queue, QueueDepth(pause.queue)).pause = pause
    return [depths[name] for name in sorted(depths)]


def _served(worker: WorkerRecord, counts: Sequence[QueueCount]) -> set[str]:
    """Return the queues that a worker looks into: its own, and wherever jobs of its kinds were sent to."""
    return {*worker.queues, *(count.queue for count in counts if count.kind in worker.kinds)}


def amount_of(count: QueueCount) -> Amount:
    """Return how many jobs a count tells of."""
    return Amount(count.jobs, count.is_capped)


def totals(counts: Sequence[QueueCount]) -> Amounts:
    """Return how many jobs are in each state."""
    found = _no_jobs()
    for count in counts:
        found[count.state] += amount_of(count)
    return found


def depth_columns(depths: Sequence[QueueDepth], most: int = 12) -> list[tuple[str, Mapping[str, float]]]:
    """Return the columns of the chart of depths: the queues with most unfinished jobs, by name."""
    deepest = sorted(depths, key=lambda depth: -sum(depth.states[state].jobs for state in _WORDS))[:most]
    shown = [depth for depth in depths if depth in deepest and any(depth.states[state] for state in _WORDS)]
    return [
        (
            depth.queue,
            {word: float(depth.states[state].jobs) for state, word in _WORDS.items() if depth.states[state]},
        )
        for depth in shown
    ]


@dataclass
class KindDepth:
    """One kind within a queue: its jobs by state, and whether it is paused."""

    kind: str
    states: Amounts = field(default_factory=_no_jobs)
    pause: Pause | None = None


def kind_depths(counts: Sequence[QueueCount], pauses: Sequence[Pause]) -> list[KindDepth]:
    """Return the kinds of some counts by name."""
    depths: dict[str, KindDepth] = {}
    for count in counts:
        depths.setdefault(count.kind, KindDepth(count.kind)).states[count.state] += amount_of(count)
    for pause in pauses:
        if pause.kind in depths:
            depths[pause.kind].pause = pause
    return [depths[name] for name in sorted(depths)]
