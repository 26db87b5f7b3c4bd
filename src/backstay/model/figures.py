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

from backstay.model.job import Claim


class Measure(StrEnum):
    """What is counted: how attempts ended, how many of them left their job dead, and how long all had waited."""

    COMPLETED = "completed"
    FAILED = "failed"
    CRASHED = "crashed"
    DEAD = "dead"
    WAITED = "waited"


RAN = (Measure.COMPLETED, Measure.FAILED)
"""The ends of attempts whose length is known."""


class Period(StrEnum):
    """What figures are added up by: minutes are kept for two days, hours for a year; they make days and weeks."""

    MINUTE = "minute"
    HOUR = "hour"
    DAY = "day"
    WEEK = "week"

    @property
    def kept(self) -> Period:
        """The period that the database keeps, of which this one is made."""
        return Period.MINUTE if self is Period.MINUTE else Period.HOUR

    def begin(self, at: datetime) -> datetime:
        """The moment when the period that holds this one began, in UTC; weeks begin on Monday."""
        match self:
            case Period.MINUTE:
                return at.replace(second=0, microsecond=0)
            case Period.HOUR:
                return at.replace(minute=0, second=0, microsecond=0)
            case Period.DAY | Period.WEEK:
                days = at.weekday() if self is Period.WEEK else 0
                return at.replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=days)


KEPT = (Period.MINUTE, Period.HOUR)
"""What the database keeps figures by."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tallied:
    """Attempts that are alike: of one queue and kind, measured in one way, that took or had waited about as long."""

    queue: str
    kind: str
    measure: Measure
    bucket: int
    jobs: int
    took_ms: int


@dataclass(frozen=True, slots=True)
class TalliedAt:
    """Attempts that are alike, and the beginning of the minute or hour in which they ended."""

    at: datetime
    tallied: Tallied


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What happened in one period, or to one kind: attempts by how they ended, and how long they took.

    Durations are those of completed and failed attempts; the wait is from when a job was due to when such an attempt
    began. The percentiles are estimates from buckets that double in size; None where nothing was measured.
    """

    completed: int = 0
    failed: int = 0
    crashed: int = 0
    dead: int = 0
    """How many of these attempts left their job dead."""
    average_ms: float | None = None
    p50_ms: float | None = None
    p95_ms: float | None = None
    p99_ms: float | None = None
    wait_average_ms: float | None = None
    wait_p50_ms: float | None = None
    wait_p95_ms: float | None = None
    wait_p99_ms: float | None = None

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
    """The figures of the minute, hour, day or week that begins at `at`."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantDepths:
    """How many jobs of one tenant wait and run, each counted up to a limit; where it `is_capped` there are more."""

    tenant: str
    available: int
    scheduled: int
    held: int
    running: int
    is_capped: bool = False


def counted(measure: Measure, claim: Claim) -> Tallied:
    """One attempt of which only its outcome is known."""
    return Tallied(queue=claim.queue, kind=claim.kind, measure=measure, bucket=0, jobs=1, took_ms=0)


def bucket_of(milliseconds: int) -> int:
    """Return the bucket of a duration: 0 for none, n for 2^(n-1) ms up to 2^n ms."""
    return milliseconds.bit_length()


def figures_of(tallied: Iterable[Tallied]) -> Figures:
    """Add up attempts."""
    jobs: Counter[Measure] = Counter()
    ran, waited = _Lengths(), _Lengths()
    for each in tallied:
        jobs[each.measure] += each.jobs
        if each.measure in RAN:
            ran.add(each)
        elif each.measure is Measure.WAITED:
            waited.add(each)
    return Figures(
        completed=jobs[Measure.COMPLETED],
        failed=jobs[Measure.FAILED],
        crashed=jobs[Measure.CRASHED],
        dead=jobs[Measure.DEAD],
        average_ms=ran.average,
        p50_ms=percentile(ran.buckets, 0.50),
        p95_ms=percentile(ran.buckets, 0.95),
        p99_ms=percentile(ran.buckets, 0.99),
        wait_average_ms=waited.average,
        wait_p50_ms=percentile(waited.buckets, 0.50),
        wait_p95_ms=percentile(waited.buckets, 0.95),
        wait_p99_ms=percentile(waited.buckets, 0.99),
    )


class _Lengths:
    """How long something took, added up."""

    def __init__(self) -> None:
        self.buckets: Counter[int] = Counter()
        self._total_ms = 0

    def add(self, tallied: Tallied) -> None:
        self.buckets[tallied.bucket] += tallied.jobs
        self._total_ms += tallied.took_ms

    @property
    def average(self) -> float | None:
        measured = self.buckets.total()
        return self._total_ms / measured if measured else None


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


def by_time(found: Iterable[TalliedAt], period: Period) -> list[FiguresAt]:
    """Add up what ended in the same minute, hour, day or week, the oldest first."""
    groups: defaultdict[datetime, list[Tallied]] = defaultdict(list)
    for each in found:
        groups[period.begin(each.at)].append(each.tallied)
    return [FiguresAt(at, figures_of(groups[at])) for at in sorted(groups)]


def by_kind(found: Iterable[TalliedAt]) -> list[KindFigures]:
    """Add up what belongs to the same queue and kind, in the order of their names."""
    groups: defaultdict[tuple[str, str], list[Tallied]] = defaultdict(list)
    for each in found:
        groups[each.tallied.queue, each.tallied.kind].append(each.tallied)
    return [KindFigures(queue, kind, figures_of(groups[queue, kind])) for queue, kind in sorted(groups)]
