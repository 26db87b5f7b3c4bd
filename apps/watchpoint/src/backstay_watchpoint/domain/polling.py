"""What one look at the upstream buckets should start."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from backstay_watchpoint.domain.forecasts import Model, RunStatus

FIRST_LOOK = timedelta(hours=24)
LONGEST_LOOK_HOURS = 90 * 24
"""Forecasts are kept no longer."""


@dataclass(frozen=True, slots=True)
class PollInput:
    """How one poll was asked for: for disaster recovery and forced retries; 0 means none."""

    force_retry: bool = False
    backfill_hours: int = 0
    limit: int = 0

    def __post_init__(self) -> None:
        for name in ("backfill_hours", "limit"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} must be 0 or more, not {getattr(self, name)}")
        if self.backfill_hours > LONGEST_LOOK_HOURS:
            raise ValueError(
                f"backfill_hours must be {LONGEST_LOOK_HOURS} at most, not {self.backfill_hours}"
            )


@dataclass(frozen=True, slots=True)
class Available:
    """A run whose input data is complete upstream, and where that data is."""

    model: Model
    run_timestamp: datetime
    source_paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Start:
    """A run to start; `is_retry` if its row is there and failed."""

    model: Model
    run_timestamp: datetime
    source_paths: tuple[str, ...]
    is_retry: bool = False


@dataclass(frozen=True, slots=True)
class KnownRun:
    """A run that has a row already."""

    model: Model
    run_timestamp: datetime
    status: RunStatus
    source_paths: tuple[str, ...] = ()


def look_since(asked: PollInput, latest: datetime | None, now: datetime) -> datetime:
    """Return the moment after which runs count as new."""
    if asked.backfill_hours:
        return now - timedelta(hours=asked.backfill_hours)
    return latest or now - FIRST_LOOK


def choose(asked: PollInput, available: Iterable[Available], known: Sequence[KnownRun]) -> list[Start]:
    """Return what to start, oldest first over all models, at most `limit`.

    Oldest first matters: the next poll looks only after the latest run that was started.
    """
    rows: Mapping[tuple[Model, datetime], KnownRun] = {(run.model, run.run_timestamp): run for run in known}
    starts = {
        (run.model, run.run_timestamp): Start(run.model, run.run_timestamp, run.source_paths)
        for run in available
        if (run.model, run.run_timestamp) not in rows
    }
    if asked.force_retry:
        for key, row in rows.items():
            if row.status is RunStatus.FAILED:
                starts[key] = Start(row.model, row.run_timestamp, row.source_paths, is_retry=True)
    ordered = sorted(starts.values(), key=lambda start: (start.run_timestamp, start.model))
    return ordered[: asked.limit] if asked.limit else ordered
