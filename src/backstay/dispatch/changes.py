"""What can happen to jobs and workers, and what each of it changes in the keys that people look at."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol
from uuid import UUID

from backstay.dispatch.keys import JOB_KEPT, LOCK_KEPT, LONGEST_LIST, METRICS_KEPT, WORKER_KEPT, Keys
from backstay.model.states import State

LONGEST_RESULT = 4096


class Change(Protocol):
    """Something that has happened."""

    def write(self, pipe: Any, keys: Keys) -> None:
        """Add the commands that tell of it to a pipeline."""
        ...


@dataclass(frozen=True, slots=True)
class Started:
    """A worker has these jobs now; ids that it took and did not get leave its list."""

    worker: str
    jobs: Sequence[UUID]
    at_ms: int
    passed_over: Sequence[UUID] = ()

    def write(self, pipe: Any, keys: Keys) -> None:
        own = keys.worker(self.worker, "active")
        for job_id in (*self.passed_over, *self.jobs):
            pipe.lrem(own, 0, str(job_id))
        if not self.jobs:
            return
        ids = list(map(str, self.jobs))
        for name in ("pending", "failed", "dlq"):
            pipe.zrem(keys.queue(name), *ids)
        _show(pipe, keys.queue("active"), ids, self.at_ms)
        for text in ids:
            pipe.set(keys.job(text, "status"), State.RUNNING.value, ex=JOB_KEPT)
            pipe.set(keys.lock(text), self.worker, nx=True, ex=LOCK_KEPT)
        pipe.lpush(own, *ids)
        pipe.sadd(keys.worker(self.worker, "jobs"), *ids)
        for part in ("active", "jobs"):
            pipe.expire(keys.worker(self.worker, part), WORKER_KEPT)


@dataclass(frozen=True, slots=True)
class Held:
    """These jobs still run: their locks live on."""

    jobs: Sequence[UUID]

    def write(self, pipe: Any, keys: Keys) -> None:
        for job_id in self.jobs:
            pipe.expire(keys.lock(job_id), LOCK_KEPT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """An attempt has ended: its id goes where the job is now."""

    job: UUID
    worker: str
    state: State
    at_ms: int
    took_ms: int | None = None
    result: str | None = None
    error: str | None = None
    due_ms: float | None = None

    def write(self, pipe: Any, keys: Keys) -> None:
        text = str(self.job)
        pipe.zrem(keys.queue("active"), text)
        pipe.lrem(keys.worker(self.worker, "active"), 0, text)
        pipe.srem(keys.worker(self.worker, "jobs"), text)
        pipe.delete(keys.lock(text))
        pipe.set(keys.job(text, "status"), self.state.value, ex=JOB_KEPT)
        self._write_data(pipe, keys.job(text, "data"))
        if place := self._place():
            _show(pipe, keys.queue(place), [text], self.at_ms)
            name = "completed" if self.state is State.COMPLETED else "failed"
            _count(pipe, keys.metric(name), text, self.at_ms)
        if self.took_ms is not None:
            _count(pipe, keys.metric("durations"), f"{text}:{self.took_ms}", self.at_ms)
        if self.due_ms is not None:
            pipe.zadd(keys.queue("delayed"), {text: self.due_ms})

    def _write_data(self, pipe: Any, key: str) -> None:
        told = {"result": self.result, "error": self.error}
        short = {name: text for name, text in told.items() if text and len(text) <= LONGEST_RESULT}
        if short:
            pipe.hset(key, mapping=short)
            pipe.expire(key, JOB_KEPT)

    def _place(self) -> str | None:
        """Where people find it; a job that put itself off has not failed."""
        match self.state:
            case State.COMPLETED:
                return "completed"
            case State.DEAD:
                return "dlq"
            case State.SCHEDULED if self.error is not None:
                return "failed"
            case _:
                return None


@dataclass(frozen=True, slots=True)
class Progressed:
    """How far a job has come."""

    job: UUID
    percent: float

    def write(self, pipe: Any, keys: Keys) -> None:
        pipe.set(keys.job(self.job, "progress"), round(self.percent), ex=JOB_KEPT)


@dataclass(frozen=True, slots=True)
class Beat:
    """A sign of life of a worker."""

    worker: str
    stats: Mapping[str, object]
    at_ms: int

    def write(self, pipe: Any, keys: Keys) -> None:
        stats = keys.worker(self.worker, "stats")
        pipe.zadd(keys.workers, {self.worker: self.at_ms})
        pipe.zremrangebyscore(keys.workers, "-inf", self.at_ms - WORKER_KEPT.total_seconds() * 1000)
        pipe.set(keys.worker(self.worker, "heartbeat"), self.at_ms, ex=WORKER_KEPT)
        pipe.hset(stats, mapping={name: str(value) for name, value in self.stats.items()})
        pipe.expire(stats, WORKER_KEPT)


def error_told(error: Any) -> str | None:
    """The class and message of an error, as JSON."""
    if error is None:
        return None
    return json.dumps({"error_class": error.error_class, "message": error.message}, default=str)


def _show(pipe: Any, place: str, ids: Sequence[str], at_ms: int) -> None:
    """Put ids where people look, and keep the newest."""
    pipe.zadd(place, dict.fromkeys(ids, at_ms))
    pipe.zremrangebyrank(place, 0, -LONGEST_LIST - 1)


def _count(pipe: Any, key: str, member: str, at_ms: int) -> None:
    pipe.zadd(key, {member: at_ms})
    pipe.zremrangebyscore(key, "-inf", at_ms - METRICS_KEPT.total_seconds() * 1000)
    pipe.expire(key, METRICS_KEPT)
