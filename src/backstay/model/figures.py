"""Figures over time: how many attempts ended how, and how long they took.

A worker counts its own attempts in memory and adds them up in the database every few seconds, so that a job costs no
statement more. What a worker that is killed had not yet added is missing: figures are statistics, not records.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum


class Ended(StrEnum):
    """How an attempt ended, as far as figures are concerned."""

    COMPLETED = "completed"
    FAILED = "failed"
    CRASHED = "crashed"


class Period(StrEnum):
    """What figures are added up by: minutes are kept for two days, hours for a year."""

    MINUTE = "minute"
    HOUR = "hour"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tallied:
    """Attempts that are alike: of one queue and kind, ended in one way, that took about as long."""

    queue: str
    kind: str
    ended: Ended
    bucket: int
    jobs: int
    run_ms: int


@dataclass(frozen=True, slots=True)
class TalliedAt:
    """Attempts that are alike, and the beginning of the minute or hour in which they ended."""

    at: datetime
    tallied: Tallied


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What happened in one minute or hour, or to one kind: attempts by how they ended, and how long they took.

    Durations are those of completed and failed attempts. The percentiles are estimates from buckets that double in
    size; None where nothing was measured.
    """

    completed: int = 0
    failed: int = 0
    crashed: int = 0
    average_ms: float | None = None
    p50_ms: float | None = None
    p95_ms: float | None = None
    p99_ms: float | None = None

    @property
    def ended(self) -> int:
        """How many attempts ended."""
        return self.completed + self.failed + self.crashed

    @property
    def success_rate(self) -> float | None:
        """The share of attempts that completed their job, from 0 to 1; None if there was none."""
        return self.completed / self.ended if self.ended else None


@dataclass(frozen=True, slots=True)
class FiguresAt:
    """The figures of the minute or hour that begins at `at`."""

    at: datetime
    figures: Figures


@dataclass(frozen=True, slots=True)
class KindFigures:
    """The figures of one kind in one queue."""

    queue: str
    kind: str
    figures: Figures


@dataclass(frozen=True, slots=True)
class Depth:
    """How many jobs of a queue and kind are in one state, counted up to a limit; where it `is_capped` there are more.

    `oldest_for` is how long the first of those that could run has been due.
    """

    state: str
    queue: str
    kind: str
    jobs: int
    oldest_for: timedelta | None = None
    is_capped: bool = False


def bucket_of(milliseconds: int) -> int:
    """Return the bucket of a duration: 0 for none, n for 2^(n-1) ms up to 2^n ms."""
    return milliseconds.bit_length()


def figures_of(tallied: Iterable[Tallied]) -> Figures:
    """Add up attempts."""
    ended: Counter[Ended] = Counter()
    buckets: Counter[int] = Counter()
    run_ms = 0
    for each in tallied:
        ended[each.ended] += each.jobs
        if each.ended is not Ended.CRASHED:
            buckets[each.bucket] += each.jobs
            run_ms += each.run_ms
    measured = buckets.total()
    return Figures(
        completed=ended[Ended.COMPLETED],
        failed=ended[Ended.FAILED],
        crashed=ended[Ended.CRASHED],
        average_ms=run_ms / measured if measured else None,
        p50_ms=percentile(buckets, 0.50),
        p95_ms=percentile(buckets, 0.95),
        p99_ms=percentile(buckets, 0.99),
    )


def percentile(buckets: Mapping[int, int], share: float) -> float | None:
    """Return the duration below which this share of the attempts lie, taking each bucket as evenly filled."""
    total = sum(buckets.values())
    if not total:
        return None
    wanted, before = share * total, 0
    for bucket, jobs in sorted(buckets.items()):
        if before + jobs >= wanted:
            low, high = _bounds(bucket)
            return low + (high - low) * (wanted - before) / jobs
        before += jobs
    return float(_bounds(max(buckets))[1])


def _bounds(bucket: int) -> tuple[int, int]:
    return (0, 0) if bucket == 0 else (1 << (bucket - 1), 1 << bucket)


def by_time(found: Iterable[TalliedAt]) -> list[FiguresAt]:
    """Add up what ended in the same minute or hour, the oldest first."""
    groups: defaultdict[datetime, list[Tallied]] = defaultdict(list)
    for each in found:
        groups[each.at].append(each.tallied)
    return [FiguresAt(at, figures_of(groups[at])) for at in sorted(groups)]


def by_kind(found: Iterable[TalliedAt]) -> list[KindFigures]:
    """Add up what belongs to the same queue and kind, in the order of their names."""
    groups: defaultdict[tuple[str, str], list[Tallied]] = defaultdict(list)
    for each in found:
        groups[each.tallied.queue, each.tallied.kind].append(each.tallied)
    return [KindFigures(queue, kind, figures_of(groups[queue, kind])) for queue, kind in sorted(groups)]
