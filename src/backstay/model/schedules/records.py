"""What stores give back about schedules and locks: plain values."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from backstay.model.job import JobId
from backstay.model.schedules.schedule import Trigger


@dataclass(frozen=True, slots=True)
class ScheduleLook:
    """When the next schedule fires, and whether fires wait for earlier ones of theirs."""

    fires_in: timedelta | None = None
    has_queued: bool = False


@dataclass(frozen=True, slots=True)
class Fired:
    """What became of fires: their jobs, the queues of those that may run, and how many were skipped."""

    jobs: tuple[JobId, ...] = ()
    queues: frozenset[str] = frozenset()
    skipped: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryEntry:
    """One fire of a schedule and what came of it.

    `status` is the state of its job, or `skipped`; a job that found its lock taken is skipped as well. `items` is how
    many things it dealt with, as its handler reported.
    """

    schedule: str
    kind: str
    fire_time: datetime
    reference_time: datetime
    trigger: Trigger
    status: str
    reason: str | None
    missed: int
    job_id: JobId | None
    created_by: str
    started_at: datetime | None
    finished_at: datetime | None
    duration_ms: int | None
    attempt: int | None
    worker: str | None
    items: int | None
    error: dict[str, Any] | None
    word: str = ""
    """What the application's profile calls the status."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lock:
    """A lock that somebody holds; `fence` rises with every holder, for resources that can check it."""

    id: str
    tenant: str
    holder: str
    job_id: JobId | None
    fence: int
    locked_at: datetime
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class LockAnswer:
    """A lock as it was found when somebody asked for it, and whether it is theirs now."""

    lock: Lock
    is_ours: bool


def items_of(result: Any, progress: float | None) -> int | None:
    """How many things a run has dealt with.

    It is a result that is a whole number, or the whole number `items` of one that is an object; failing these, how far
    its progress came.
    """
    reported = result.get("items") if isinstance(result, dict) else result
    if isinstance(reported, int) and not isinstance(reported, bool):
        return reported
    return None if progress is None else int(progress)


def skip_reason(result: Any) -> str | None:
    """Why a run that completed did nothing, if it says so."""
    reason = result.get("skipped") if isinstance(result, dict) else None
    return reason if isinstance(reason, str) else None
