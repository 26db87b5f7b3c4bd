"""Every event that the engine tells of: log lines and what `emit` is called with all come from this catalogue."""

from __future__ import annotations

from enum import IntEnum
from typing import Any, Protocol


class Level(IntEnum):
    """How loud an event is, as the standard library counts."""

    DEBUG = 10
    INFO = 20
    WARNING = 30
    ERROR = 40


CATALOGUE: dict[str, tuple[Level, str]] = {
    "worker.starting": (Level.INFO, "A worker is about to connect; the fields say what it is to do."),
    "worker.started": (Level.INFO, "A worker has registered and begins to claim."),
    "worker.draining": (
        Level.INFO,
        "A worker was told to claim no more; it finishes what it has, and stays.",
    ),
    "worker.resumed": (Level.INFO, "A worker that was told to drain claims again."),
    "worker.stopping": (Level.INFO, "A worker claims no more and lets its jobs finish."),
    "worker.outgrown": (
        Level.WARNING,
        "A worker uses more memory than it may, and leaves to be started again.",
    ),
    "worker.stopped": (Level.INFO, "A worker has given everything back and left."),
    "process.started": (Level.INFO, "A supervisor has started a worker process."),
    "process.left": (Level.INFO, "A worker process has ended as it should."),
    "process.replaced": (
        Level.INFO,
        "A worker process has reached a limit; it finishes its jobs and is replaced.",
    ),
    "process.died": (Level.WARNING, "A worker process has ended unasked; its jobs start again at once."),
    "process.stuck": (Level.WARNING, "A worker process has said nothing for a minute and is killed."),
    "process.refused": (Level.ERROR, "A worker process could not be started; it is tried again."),
    "health.failed": (
        Level.ERROR,
        "A supervisor cannot write its health files; it goes on without them, and tries again.",
    ),
    "worker.replaced": (Level.WARNING, "A worker was given up for dead and goes on under a new id."),
    "worker.declared_dead": (Level.WARNING, "A worker was not heard of for long and is given up for dead."),
    "worker.failed": (
        Level.ERROR,
        "A worker has ended by an error of its own; its jobs are left to the others.",
    ),
    "worker.tainted": (Level.WARNING, "A handler ignores that its time is over and keeps its slot."),
    "loop.blocked": (
        Level.WARNING,
        "A handler keeps the event loop to itself; the fields name its job and its line.",
    ),
    "dispatch.away": (
        Level.WARNING,
        "The Redis that suggests jobs does not answer; they are claimed from the database alone.",
    ),
    "dispatch.back": (Level.INFO, "The Redis that suggests jobs answers again."),
    "dispatch.rebuilt": (Level.INFO, "The lists in Redis were made anew from the database."),
    "jobs.claimed": (Level.DEBUG, "A worker has received jobs."),
    "job.measured": (Level.DEBUG, "An attempt in a process of its own has used so much time and memory."),
    "job.progressed": (Level.DEBUG, "A handler has told how far its job has come."),
    "job.error_after_commit": (
        Level.WARNING,
        "A handler raised after the transaction that had completed its job.",
    ),
    "job.started": (Level.INFO, "A handler begins to work on a job."),
    "job.completed": (
        Level.INFO,
        "A job is completed, and that is stored; `took_ms` is how long its handler ran.",
    ),
    "jobs.started": (
        Level.INFO,
        "Besides those named, this many jobs have started in a quarter of a second.",
    ),
    "jobs.completed": (Level.INFO, "Besides those named, this many jobs were completed in that time."),
    "job.settled": (
        Level.INFO,
        "An attempt has ended without completing its job, and its outcome is stored.",
    ),
    "job.misfit": (
        Level.WARNING,
        "A job's arguments do not fit this worker's code; it is held for a worker that they fit.",
    ),
    "job.failed": (Level.WARNING, "An attempt has failed, and the job is tried again."),
    "job.dead": (Level.ERROR, "A job is out of attempts or hopeless; a person must look."),
    "job.rescued": (Level.WARNING, "A job was taken back from a worker that is gone."),
    "job.expired": (Level.INFO, "Jobs were cancelled because nobody started them in time."),
    "job.late": (Level.WARNING, "Jobs were given up because their deadline has passed."),
    "jobs.promoted": (Level.DEBUG, "Scheduled jobs became available."),
    "jobs.released": (Level.DEBUG, "Jobs that waited for a limit can go on."),
    "jobs.archived": (Level.INFO, "Old finished jobs were written to the archive, verified and removed."),
    "jobs.removed": (Level.INFO, "Old finished jobs were removed by retention."),
    "schedule.fired": (Level.DEBUG, "A schedule's time has come, and its jobs are stored."),
    "schedule.missed": (
        Level.WARNING,
        "Fires of a schedule were due while nobody looked, and do not become jobs of their own.",
    ),
    "schedule.failed": (Level.ERROR, "A schedule cannot fire; the error says why, and it is tried again."),
    "schedule.refused": (
        Level.ERROR,
        "A schedule in code cannot be declared; the one that is stored counts.",
    ),
    "schedule.rules_differ": (
        Level.WARNING,
        "A schedule's next fire was computed with another edition of the time zones' rules.",
    ),
    "claim.lost": (Level.WARNING, "A late result was refused, because the job is in other hands."),
    "claim.released": (Level.WARNING, "A claim whose reply was lost was given back."),
    "outcome.refused": (
        Level.ERROR,
        "The database refuses to store what an attempt came to; the job fails, or it is tried again.",
    ),
    "lease.failed": (Level.WARNING, "Leases could not be renewed; the worker claims no more until it can."),
    "lease.uncertain": (
        Level.WARNING,
        "A handler that must not run twice is stopped: its lease was not renewed for too long.",
    ),
    "lease.recovered": (Level.INFO, "Leases can be renewed again."),
    "rescue.postponed": (
        Level.WARNING,
        "Expired leases are left alone for a while: database or clock was away.",
    ),
    "store.failed": (Level.WARNING, "The database could not be used; it is tried again."),
    "duty.failed": (Level.ERROR, "A maintenance duty failed; it is tried again."),
    "hook.failed": (Level.ERROR, "The function that receives events has raised; it has lost that event."),
    "events.dropped": (Level.WARNING, "Log or hook are too slow: this many events were dropped."),
    "part.failed": (
        Level.ERROR,
        "A part of a worker has met an error that it does not know; it is started again, and the jobs go on.",
    ),
    "setting.chosen": (Level.INFO, "Several sources gave a setting; the one named counts."),
    "setting.unknown": (
        Level.WARNING,
        "A variable looks like a setting but is not one; perhaps it is misspelt.",
    ),
    "override.ignored": (
        Level.ERROR,
        "An operator's numbers do not fit those of the code, which count instead.",
    ),
    "leader.elected": (Level.INFO, "This worker does the maintenance now."),
    "leader.lost": (Level.INFO, "Another worker does the maintenance now."),
}


class Emit(Protocol):
    """Tells of an event by its name in the catalogue, with its facts as fields."""

    def __call__(self, event: str, /, **facts: Any) -> None: ...


def silent(event: str, /, **facts: Any) -> None:
    """Tell nobody."""
