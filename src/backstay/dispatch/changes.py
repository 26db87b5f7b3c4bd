"""What can happen to jobs and workers, and what each of it changes in the keys that people look at."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, groupby
from typing import Any
from uuid import UUID

from backstay.dispatch.keys import JOB_KEPT, LOCK_KEPT, LONGEST_LIST, METRICS_KEPT, WORKER_KEPT, Keys
from backstay.model.states import State

LONGEST_RESULT = 4096


@dataclass(frozen=True, slots=True)
class Pipe:
    """Where commands gather; `script` gives a script of ours, which is called as one of them."""

    keys: Keys
    commands: Any
    script: Callable[[str], Any]

    async def call(self, name: str, words: Sequence[object]) -> None:
        """Add a call of a script, which gets the prefix of all keys first."""
        await self.script(name)(args=[self.keys.prefix, *words], client=self.commands)


@dataclass(frozen=True, slots=True)
class Started:
    """A worker has these jobs now."""

    worker: str
    jobs: Sequence[UUID]
    at_ms: int


@dataclass(frozen=True, slots=True)
class PassedOver:
    """A worker took these ids, and the jobs were not for it."""

    worker: str
    jobs: Sequence[UUID]


@dataclass(frozen=True, slots=True)
class Held:
    """These jobs still run: their locks live on."""

    jobs: Sequence[UUID]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """An attempt has ended: its id goes where the job is now."""

    worker: str
    job: UUID
    state: State
    at_ms: int
    took_ms: int | None = None
    result: str | None = None
    error: str | None = None
    due_ms: float | None = None

    def words(self) -> tuple[object, ...]:
        """As the script takes them."""
        told = (self.took_ms, _short(self.result), _short(self.error), self.due_ms)
        return (
            str(self.job),
            self.state.value,
            self._place(),
            self.at_ms,
            *("" if one is None else one for one in told),
        )

    def _place(self) -> str:
        """Where people find it; a job that put itself off has not failed."""
        match self.state:
            case State.COMPLETED:
                return "completed"
            case State.DEAD:
                return "dlq"
            case State.SCHEDULED if self.error is not None:
                return "failed"
            case _:
                return ""


@dataclass(frozen=True, slots=True)
class Progressed:
    """How far a job has come."""

    job: UUID
    percent: float


@dataclass(frozen=True, slots=True)
class Beat:
    """A sign of life of a worker."""

    worker: str
    stats: Mapping[str, object]
    at_ms: int


Change = Started | PassedOver | Held | Ended | Progressed | Beat


async def write(changes: Iterable[Change], pipe: Pipe) -> None:
    """Add the commands that tell of changes, in their order; ends of one worker's jobs go together."""
    for worker, some in groupby(changes, key=_worker_whose_job_ended):
        ended = []
        for change in some:
            if isinstance(change, Ended):
                ended.append(change)
            else:
                await _write_one(change, pipe)
        if worker is not None:
            await _write_ended(worker, ended, pipe)


def _worker_whose_job_ended(change: Change) -> str | None:
    return change.worker if isinstance(change, Ended) else None


async def _write_one(change: Change, pipe: Pipe) -> None:
    keys, commands = pipe.keys, pipe.commands
    match change:
        case Started(worker, jobs, at_ms):
            lives = (JOB_KEPT, LOCK_KEPT, WORKER_KEPT)
            seconds = [int(one.total_seconds()) for one in lives]
            await pipe.call("started", [LONGEST_LIST, at_ms, *seconds, worker, *map(str, jobs)])
        case PassedOver(worker, jobs):
            commands.zrem(keys.worker(worker, "active"), *map(str, jobs))
        case Held(jobs):
            for job_id in jobs:
                commands.expire(keys.lock(job_id), LOCK_KEPT)
        case Progressed(job, percent):
            commands.set(keys.job(job, "progress"), round(percent), ex=JOB_KEPT)
        case Beat():
            _write_beat(change, pipe)


async def _write_ended(worker: str, ended: Sequence[Ended], pipe: Pipe) -> None:
    kept, counted = int(JOB_KEPT.total_seconds()), int(METRICS_KEPT.total_seconds())
    words = chain.from_iterable(one.words() for one in ended)
    await pipe.call("ended", [LONGEST_LIST, kept, counted, worker, *words])


def _write_beat(beat: Beat, pipe: Pipe) -> None:
    keys, commands = pipe.keys, pipe.commands
    stats = keys.worker(beat.worker, "stats")
    commands.zadd(keys.workers, {beat.worker: beat.at_ms})
    commands.zremrangebyscore(keys.workers, "-inf", beat.at_ms - WORKER_KEPT.total_seconds() * 1000)
    commands.set(keys.worker(beat.worker, "heartbeat"), beat.at_ms, ex=WORKER_KEPT)
    commands.hset(stats, mapping={name: str(value) for name, value in beat.stats.items()})
    commands.expire(stats, WORKER_KEPT)


def error_told(error: Any) -> str | None:
    """The class and message of an error, as JSON."""
    if error is None:
        return None
    return json.dumps({"error_class": error.error_class, "message": error.message}, default=str)


def _short(text: str | None) -> str | None:
    return text if text is not None and len(text) <= LONGEST_RESULT else None
