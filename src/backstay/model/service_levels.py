"""Six service levels: what was promised, what was measured, and whether it holds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from backstay.model.figures import Figures, FiguresAt
from backstay.model.records import WorkerRecord

SUBMISSION_MS = 100.0
START_MS = 5_000.0
COMPLETION_PERCENT = 95.0
UPTIME_PERCENT = 99.5
DEAD_PERCENT = 1.0
JOBS_A_MINUTE = 100.0


@dataclass(frozen=True, slots=True)
class ServiceLevel:
    """One promise; `measured` is None where nothing was there to measure."""

    name: str
    promise: str
    measured: float | None
    unit: str
    holds: bool | None
    """Whether it holds; None where nothing says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceSituation:
    """What service levels are judged by."""

    submissions_ms: Sequence[float]
    """How long writes of the size of a submission took, measured just now."""
    whole: Figures
    minutes: Sequence[FiguresAt]
    waiting: int
    """How many jobs could run and wait now."""
    workers: Sequence[WorkerRecord]
    since: datetime
    now: datetime


def service_levels(seen: ServiceSituation) -> list[ServiceLevel]:
    """Judge all six."""
    completed, dead = seen.whole.completed, seen.whole.dead
    ended = completed + dead
    return [
        _below("submission_p95", percentile_95(seen.submissions_ms), SUBMISSION_MS, "ms"),
        _below("start_p95", seen.whole.wait_p95_ms, START_MS, "ms"),
        _above("completion", 100 * completed / ended if ended else None, COMPLETION_PERCENT, "%"),
        _above("worker_uptime", uptime_percent(seen.workers, seen.since, seen.now), UPTIME_PERCENT, "%"),
        _below("dead", 100 * dead / ended if ended else None, DEAD_PERCENT, "%"),
        _throughput(seen.minutes, seen.waiting),
    ]


def percentile_95(measured: Sequence[float]) -> float | None:
    """The value that 95 of a hundred do not exceed."""
    if not measured:
        return None
    return sorted(measured)[math.ceil(0.95 * len(measured)) - 1]


def uptime_percent(workers: Sequence[WorkerRecord], since: datetime, now: datetime) -> float | None:
    """The share of their time that workers gave signs of life; one that died counts as away from then till now."""
    lived, away = timedelta(0), timedelta(0)
    for worker in workers:
        begin = max(worker.started_at, since)
        heard = min(max(worker.heartbeat_at, begin), now)
        lived += heard - begin if worker.state != "alive" else now - begin
        if worker.state == "dead":
            away += now - heard
    whole = lived + away
    return 100 * (lived / whole) if whole else None


def _throughput(minutes: Sequence[FiguresAt], waiting: int) -> ServiceLevel:
    most = max((float(one.figures.completed) for one in minutes), default=None)
    level = _above("jobs_a_minute", most, JOBS_A_MINUTE, "jobs")
    if level.holds is False and not waiting:
        # Everything that came was done: fewer jobs than promised is no broken promise.
        return ServiceLevel(level.name, level.promise, level.measured, level.unit, None)
    return level


def _below(name: str, measured: float | None, limit: float, unit: str) -> ServiceLevel:
    holds = None if measured is None else measured < limit
    return ServiceLevel(name, f"below {limit:g} {unit}", measured, unit, holds)


def _above(name: str, measured: float | None, limit: float, unit: str) -> ServiceLevel:
    holds = None if measured is None else measured > limit
    return ServiceLevel(name, f"above {limit:g} {unit}", measured, unit, holds)
