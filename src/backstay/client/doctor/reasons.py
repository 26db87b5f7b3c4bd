"""Why a job does not run now, in sentences for the person who asks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import assert_never

from backstay.client.doctor.diagnosis import Surroundings, is_living
from backstay.client.doctor.text import counted, listed, retry_command, spoken
from backstay.model.flows import WAITS
from backstay.model.job import Job, JobId
from backstay.model.misfits import ARGUMENTS_DO_NOT_FIT
from backstay.model.pauses import TENANT_PAUSED
from backstay.model.signals import awaited_signal
from backstay.model.states import State

MOST_AHEAD = 1000


@dataclass(frozen=True, kw_only=True)
class Situation:
    """One job and what surrounds it; `ahead` is counted up to MOST_AHEAD, `full` are limits that it shares."""

    job: Job
    around: Surroundings
    ahead: int
    parents: tuple[JobId, ...] = ()
    """The jobs that it waits for."""
    full: tuple[str, ...] = ()

    @property
    def now(self) -> datetime:
        """The time in the database."""
        return self.around.engine.now


def reasons(situation: Situation) -> list[str]:
    """What keeps the job from running, the decisive reason first; where it runs or has ended, what became of it."""
    job = situation.job
    match job.state:
        case State.SCHEDULED:
            return list(_scheduled(situation))
        case State.HELD if (job.reason or "").startswith("limit: "):
            return [
                f"It is held by a limit: {(job.reason or '').removeprefix('limit: ')}. "
                "It goes on by itself when there is room ('backstay limits')."
            ]
        case State.HELD:
            return list(_held(situation))
        case State.AVAILABLE:
            return list(_available(situation))
        case State.RUNNING:
            return list(_running(situation))
        case State.COMPLETED:
            return ["It has completed."]
        case State.DEAD:
            return [
                f"It is dead ({job.reason}) and waits for a decision: "
                f"{retry_command(job.id)}, or resolve or ignore it."
            ]
        case State.RESOLVED:
            return [f"It died and was closed without another run: {job.reason}."]
        case State.CANCELLED:
            return [f"It was cancelled: {job.reason}."]
        case _:
            assert_never(job.state)


def _held(situation: Situation) -> Iterator[str]:
    job, parents = situation.job, situation.parents
    if parents:
        yield f"It waits for {counted(len(parents), 'job')} to end: {listed(parents)}."
        if job.reason != WAITS:
            yield f"It is held: {job.reason}."
        return
    if (name := awaited_signal(job.reason)) is not None:
        yield (
            f"It waits for the signal {name!r} and goes on when that comes ('backstay signal {job.id} {name}'), "
            "or when the time that its handler gave is over."
        )
        return
    if job.reason == TENANT_PAUSED:
        yield f"Its tenant {job.tenant!r} is paused; it goes on after 'backstay resume --tenant {job.tenant}'."
        return
    if job.reason == ARGUMENTS_DO_NOT_FIT:
        told = (job.error or {}).get("message")
        yield (
            "Its arguments do not fit the code of the worker that took it"
            f"{f' ({told})' if told else ''}. It goes on by itself when a worker with other code for "
            f"{job.kind!r} is alive."
        )
        return
    yield f"It is held: {job.reason}. It goes on when it is released ('backstay job release {job.id}')."


def _scheduled(situation: Situation) -> Iterator[str]:
    job = situation.job
    wait = job.run_at - situation.now
    at = f"{job.run_at:%Y-%m-%d %H:%M:%S} UTC"
    if wait.total_seconds() > 0:
        failed = f"Attempt {job.attempt} failed; it runs again" if job.attempt else "It is scheduled to run"
        yield f"{failed} at {at}, in {spoken(wait)}."
        return
    yield f"It was due at {at}, {spoken(wait)} ago, and no worker has made it available yet."
    yield from _obstacles(situation)


def _available(situation: Situation) -> Iterator[str]:
    yield from _obstacles(situation)
    job, around = situation.job, situation.around
    able = around.able(job.queue, job.kind)
    if job.is_suspect:
        yield "Its worker died during an earlier run, so it may only run where no other such job runs."
    for key in situation.full:
        yield f"The limit {key!r} has no room now (see: backstay limits holders {key!r})."
    if situation.ahead:
        number = (
            f"{MOST_AHEAD:,} or more jobs"
            if situation.ahead >= MOST_AHEAD
            else counted(situation.ahead, "job")
        )
        yield f"{number} of the queue {job.queue!r} {'is' if situation.ahead == 1 else 'are'} ahead of it."
    if able and all(worker.running >= worker.concurrency for worker in able):
        slots = sum(worker.concurrency for worker in able)
        yield f"Every worker that could run it is busy: {counted(slots, 'slot')} on {counted(len(able), 'worker')}."
    elif able and not situation.ahead and not situation.full and not around.pause_of(job.queue, job.kind):
        yield "Nothing is in its way: a worker takes it within seconds."


def _obstacles(situation: Situation) -> Iterator[str]:
    """What would keep any job of this queue and kind from running."""
    job, around = situation.job, situation.around
    pause = around.pause_of(job.queue, job.kind)
    if pause is not None:
        what = f"queue {pause.queue!r}" if pause.queue else f"kind {pause.kind!r}"
        since = spoken(situation.now - pause.paused_at)
        yield f"The {what} was paused by {pause.paused_by} {since} ago: {pause.reason}."
    if not around.living:
        yield "No worker is alive: start one with 'backstay worker module:app'."
    elif not any(job.kind in worker.kinds for worker in around.living):
        known = listed({kind for worker in around.living for kind in worker.kinds})
        yield f"No living worker knows the kind {job.kind!r}; they know {known}."
    elif not around.able(job.queue, job.kind):
        yield f"No living worker that knows {job.kind!r} looks into the queue {job.queue!r}."


def _running(situation: Situation) -> Iterator[str]:
    job, now = situation.job, situation.now
    since = f", for {spoken(now - job.started_at)}" if job.started_at else ""
    yield f"It is running on {job.worker}{since}."
    if job.cancel_requested_at is not None:
        yield f"It was asked to stop {spoken(now - job.cancel_requested_at)} ago."
    if job.lease_expires_at is not None and job.lease_expires_at < now:
        yield f"Its lease ran out {spoken(now - job.lease_expires_at)} ago: a living worker will take it back."
    worker = next((worker for worker in situation.around.workers if worker.id == job.worker), None)
    if worker is not None and not is_living(worker):
        # Its row still says so: it was given up here because it is silent.
        told = "gone, as it seems," if worker.state == "alive" else worker.state
        yield f"That worker is {told} and was last heard of {spoken(worker.silent_for)} ago."
