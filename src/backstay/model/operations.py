"""Operations: one action on many jobs, stored, so that it goes on when the person who started it has left."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any
from uuid import UUID

from backstay.errors import InvalidSettings
from backstay.model.job import JobId
from backstay.model.records import DeadLetterFilter, JobFilter, LetterMark
from backstay.model.state_match import StateMatch

SLOWEST, FASTEST = 0.01, 10_000.0
STEPS_A_SECOND = 4
LARGEST_STEP = 100


class Verb(StrEnum):
    """What is done to each job; it is also the right that is needed."""

    RETRY = "dead_letters.retry"
    RESOLVE = "dead_letters.resolve"
    CANCEL = "jobs.cancel"
    HOLD = "jobs.hold"
    RELEASE = "jobs.release"
    RUN_NOW = "jobs.run_now"

    @property
    def is_about_letters(self) -> bool:
        """True if it is about open dead letters, False if about jobs."""
        return self in (Verb.RETRY, Verb.RESOLVE)


class OperationStatus(StrEnum):
    """How far an operation is."""

    RUNNING = "running"
    COMPLETED = "completed"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One action on many jobs, and how far it is."""

    id: UUID
    tenant: str
    name: str
    verb: Verb
    filters: Mapping[str, Any]
    reason: str
    pace: float
    status: OperationStatus
    total: int | None
    done: int
    skipped: int
    problem: str | None
    """Why a job was skipped, of the last one that was."""
    started_at: datetime
    started_by: str
    stopped_by: str | None = None
    ended_at: datetime | None = None

    @property
    def is_running(self) -> bool:
        return self.status is OperationStatus.RUNNING

    @property
    def share(self) -> float | None:
        """The part that is done, 0 to 1; None where the whole is not known."""
        if self.total is None:
            return None
        return 1.0 if not self.total else min(1.0, (self.done + self.skipped) / self.total)


@dataclass(frozen=True, slots=True)
class Target:
    """Which jobs an operation is about, fixed when it was started: what fits only later is left alone."""

    letters: DeadLetterFilter | None = None
    died_until: datetime | None = None
    jobs: JobFilter | None = None
    match: StateMatch | None = None


@dataclass(frozen=True, slots=True)
class Mark:
    """Where the walk has come to."""

    letter: LetterMark | None = None
    before: JobId | None = None


@dataclass(frozen=True, slots=True)
class TakenOperation:
    """An operation that somebody works on; `fence` rises with every time it is taken."""

    operation: Operation
    target: Target
    mark: Mark
    fence: int


@dataclass(frozen=True, slots=True)
class Advance:
    """What one step came to."""

    done: int
    skipped: int
    problem: str | None
    mark: Mark
    is_over: bool


def step_of(pace: float) -> int:
    """How many jobs one step is about."""
    return max(1, min(LARGEST_STEP, int(pace / STEPS_A_SECOND)))


def pause_after(jobs: int, pace: float) -> timedelta:
    """How long to wait after a step of this many jobs."""
    return timedelta(seconds=jobs / pace)


def letter_target(filters: DeadLetterFilter, now: datetime) -> Target:
    """The dead letters that are open now; those who die later are left alone."""
    older = filters.older_than or timedelta(0)
    return Target(letters=replace(filters, older_than=None), died_until=now - older)


def job_target(filters: JobFilter, match: StateMatch | None, now: datetime) -> Target:
    """The jobs that were stored until now; raises InvalidSettings for what cannot be kept."""
    if filters.promoted:
        raise InvalidSettings("an operation cannot go by promoted fields: give a kind, a queue or a tag")
    # Before a moment, and what was stored at this one counts.
    soon = now + timedelta(microseconds=1)
    until = soon if filters.created_to is None else min(filters.created_to, soon)
    return Target(jobs=replace(filters, state=None, created_to=until), match=match)


def checked_pace(pace: float) -> float:
    """A number of jobs a second; raises InvalidSettings."""
    if not SLOWEST <= pace <= FASTEST:
        raise InvalidSettings(f"the pace cannot be {pace}: give {SLOWEST:g} to {FASTEST:g} jobs a second")
    return float(pace)
