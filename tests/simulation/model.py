"""The life of jobs in plain Python: what the database must say after every step of the state machine."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from uuid import UUID

HOUR = timedelta(hours=1)
KEY_LIFE = timedelta(hours=24)
MAX_ATTEMPTS, MAX_CRASHES = 4, 3
LEASE, TIMEOUT = timedelta(seconds=60), timedelta(seconds=300)

WAITING = ("scheduled", "held", "available")
ACTIVE = (*WAITING, "running")


class Refused(Exception):
    """The model says that this is not allowed; the text names the error that the library must raise."""


SUSPECT_AFTER = 2


@dataclass
class ModelJob:
    """One job, as far as its life goes."""

    id: UUID
    kind: str
    state: str
    run_at: datetime
    offset: timedelta
    reason: str | None = None
    attempt: int = 0
    run: int = 0
    crashes: int = 0
    crashes_in_row: int = 0
    is_suspect: bool = False
    epoch: int = 0
    settled_epoch: int | None = None
    told: set[int] = field(default_factory=set)
    max_attempts: int | None = None
    unique_key: str | None = None
    expires_at: datetime | None = None
    deadline: datetime | None = None
    lease_until: datetime | None = None
    started_at: datetime | None = None
    worker: str = ""
    is_rescuers: bool = False
    cancel_reason: str | None = None
    finished_at: datetime | None = None
    open_letters: int = 0

    @property
    def place(self) -> tuple[datetime, UUID]:
        """Where it stands in the line."""
        return self.run_at + self.offset, self.id

    @property
    def budget(self) -> int:
        return max(self.max_attempts or MAX_ATTEMPTS, self.attempt)

    def end(self, state: str, reason: str | None, now: datetime) -> None:
        self.state, self.reason, self.finished_at = state, reason, now
        self.open_letters += state == "dead"

    def leave(self) -> None:
        """Give up the claim, whoever held it."""
        self.settled_epoch = self.epoch
        self.told.add(self.epoch)
        self.epoch += 1
        self.lease_until, self.is_rescuers = None, False


@dataclass
class Key:
    """What an idempotency key stands for."""

    fingerprint: str
    job: UUID
    expires_at: datetime


@dataclass
class Model:
    """All jobs, keys, pauses and workers."""

    jobs: dict[UUID, ModelJob] = field(default_factory=dict)
    keys: dict[str, Key] = field(default_factory=dict)
    paused: set[str] = field(default_factory=set)
    alive: set[str] = field(default_factory=set)

    def enqueue(
        self, job: ModelJob, now: datetime, *, key: str | None = None, fingerprint: str = ""
    ) -> tuple[UUID, bool]:
        """Store a job, or find the one that its keys stand for; the second value says whether it is new."""
        if key is not None:
            held = self.keys.get(key)
            if held is not None and not (held.expires_at < now and not self._is_active(held.job)):
                if held.fingerprint != fingerprint:
                    raise Refused("IdempotencyMismatch")
                return held.job, False
            self.keys[key] = Key(fingerprint, job.id, now + KEY_LIFE)
        if job.unique_key is not None:
            for other in self.jobs.values():
                if other.unique_key == job.unique_key and other.state in ACTIVE:
                    if key is not None:
                        self.keys[key] = replace(self.keys[key], job=other.id)
                    return other.id, False
        self.jobs[job.id] = job
        return job.id, True

    def claim(self, kind: str, worker: str, now: datetime, *, limit: int, suspects: int) -> list[UUID]:
        """Who is next: the best that are above suspicion, and so many suspects."""
        if worker not in self.alive or self.paused & {"default", kind}:
            return []
        line = sorted(self._in("available", kind), key=lambda job: job.place)
        taken = [job for job in line if not job.is_suspect][:limit]
        taken += [job for job in line if job.is_suspect][:suspects]
        for job in taken:
            job.state, job.reason, job.worker = "running", None, worker
            job.attempt, job.run, job.epoch = job.attempt + 1, job.run + 1, job.epoch + 1
            job.started_at, job.lease_until = now, now + LEASE
        return [job.id for job in sorted(taken, key=lambda job: job.place)]

    def holds(self, job_id: UUID, epoch: int) -> bool:
        """Whether a claim is still good."""
        job = self.jobs.get(job_id)
        return job is not None and job.epoch == epoch

    def has_told(self, job_id: UUID, epoch: int) -> bool:
        """Whether an outcome of the job came from this claim."""
        job = self.jobs.get(job_id)
        return job is not None and epoch in job.told

    def settle(self, job_id: UUID, outcome: str, now: datetime) -> None:
        """Record what the attempt came to, for a claim that holds."""
        job = self.jobs[job_id]
        was_suspect, last = job.is_suspect, job.attempt >= job.budget
        job.leave()
        job.is_suspect = was_suspect and outcome == "release"
        if outcome not in ("release", "snooze", "crash"):
            job.crashes_in_row = 0
        match outcome:
            case "complete":
                return job.end("completed", job.reason, now)
            case "stop":
                return job.end("cancelled", "stopped", now)
            case "hopeless":
                return job.end("dead", "hopeless", now)
            case "fail":
                if last:
                    return job.end("dead", "exhausted", now)
                self._again(job, now, backoff(job.attempt))
            case "snooze":
                self._again(job, now, timedelta(seconds=30))
                job.attempt -= 1
            case "release":
                job.state, job.reason = "available", None
                job.attempt -= 1
            case "crash":
                self._crash(job, now, was_suspect=was_suspect, last=last)
        if job.state in WAITING and job.cancel_reason is not None:
            job.end("cancelled", job.cancel_reason, now)

    def _crash(self, job: ModelJob, now: datetime, *, was_suspect: bool, last: bool) -> None:
        job.crashes_in_row += 1
        job.is_suspect = was_suspect or job.crashes_in_row >= SUSPECT_AFTER
        if not was_suspect:
            job.state, job.reason = "available", None
            job.attempt -= last or job.is_suspect
            return
        job.crashes += 1
        if job.crashes >= MAX_CRASHES:
            job.end("dead", "crash loop", now)
        elif last:
            job.end("dead", "exhausted", now)
        else:
            self._again(job, now, backoff(job.attempt))

    def _again(self, job: ModelJob, now: datetime, after: timedelta) -> None:
        job.state, job.reason, job.run_at = "scheduled", None, now + after

    def renew(self, job_id: UUID, now: datetime) -> None:
        self.jobs[job_id].lease_until = now + LEASE

    def seize(self, now: datetime, *, hold_for: timedelta, overrun: timedelta) -> list[UUID]:
        """Take over what ran out, overran or missed its deadline."""
        taken = []
        for job in self.jobs.values():
            if job.state != "running":
                continue
            assert job.lease_until is not None
            assert job.started_at is not None
            late = job.started_at + TIMEOUT + overrun < now or (
                job.deadline is not None and job.deadline + overrun < now
            )
            if job.lease_until < now or (late and not job.is_rescuers):
                job.epoch, job.lease_until, job.is_rescuers = job.epoch + 2, now + hold_for, True
                taken.append(job.id)
        return taken

    def promote(self, now: datetime, limit: int) -> None:
        due = [job for job in self.jobs.values() if job.state == "scheduled" and job.run_at <= now]
        for job in sorted(due, key=lambda job: (job.run_at, job.id))[:limit]:
            job.state = "available"

    def expire(self, now: datetime) -> None:
        for job in self._waiting():
            if job.expires_at is not None and job.expires_at <= now and job.run == 0:
                job.end("cancelled", "expired", now)

    def miss_deadlines(self, now: datetime) -> None:
        for job in self._waiting():
            if job.deadline is not None and job.deadline <= now:
                job.settled_epoch = job.epoch
                job.end("dead", "deadline", now)

    def cancel(self, job_id: UUID, reason: str, now: datetime) -> str:
        job = self.jobs[job_id]
        if job.state == "running":
            job.cancel_reason = job.cancel_reason or reason
            return "running"
        self._needs(job, *WAITING)
        job.cancel_reason = job.cancel_reason or reason
        job.end("cancelled", reason, now)
        return "cancelled"

    def hold(self, job_id: UUID, reason: str) -> None:
        job = self.jobs[job_id]
        self._needs(job, "scheduled", "available")
        job.state, job.reason = "held", reason

    def release(self, job_id: UUID, now: datetime) -> None:
        job = self.jobs[job_id]
        self._needs(job, "held")
        job.state, job.reason = ("available" if job.run_at <= now else "scheduled"), None

    def reschedule(self, job_id: UUID, run_at: datetime) -> None:
        job = self.jobs[job_id]
        self._needs(job, "scheduled", "available")
        job.state, job.run_at = "scheduled", run_at

    def retry(self, job_id: UUID, delay: timedelta, now: datetime) -> None:
        job = self.jobs[job_id]
        self._needs(job, "dead")
        others = (other for other in self.jobs.values() if other is not job and other.state in ACTIVE)
        if job.unique_key is not None and any(other.unique_key == job.unique_key for other in others):
            raise Refused("KeyTaken")
        job.state, job.reason, job.finished_at = ("scheduled" if delay else "available"), None, None
        job.attempt = job.crashes = job.crashes_in_row = job.open_letters = 0
        job.is_suspect, job.cancel_reason, job.run_at = False, None, now + delay
        if job.deadline is not None and job.deadline <= now:
            job.deadline = None

    def resolve(self, job_id: UUID, reason: str) -> None:
        job = self.jobs[job_id]
        self._needs(job, "dead")
        job.state, job.reason, job.open_letters = "resolved", reason, 0

    def delete_finished(self, state: str, before: datetime) -> None:
        """Forget what ended long ago; dead jobs stay until a person has decided."""
        self.jobs = {
            job_id: job
            for job_id, job in self.jobs.items()
            if not (job.state == state and state != "dead" and job.finished_at and job.finished_at < before)
        }

    def forget_keys(self, now: datetime) -> None:
        self.keys = {
            name: key
            for name, key in self.keys.items()
            if not (key.expires_at < now and not self._is_active(key.job))
        }

    def _is_active(self, job_id: UUID) -> bool:
        return job_id in self.jobs and self.jobs[job_id].state in ACTIVE

    def _in(self, state: str, kind: str) -> Iterable[ModelJob]:
        return (job for job in self.jobs.values() if job.state == state and job.kind == kind)

    def _waiting(self) -> Iterable[ModelJob]:
        return [job for job in self.jobs.values() if job.state in WAITING]

    def _needs(self, job: ModelJob, *states: str) -> None:
        if job.state not in states:
            raise Refused("WrongState")


def backoff(attempt: int) -> timedelta:
    """How long to wait after this attempt: 2, 4, 8 … seconds."""
    return timedelta(seconds=2.0**attempt)
