"""The blocking twin of the client, for code without an event loop.

Written by tools/generate_sync.py from the asynchronous one; do not edit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Protocol
from uuid import UUID

from windlass.client.dead_letters import DeadLetters
from windlass.client.doctor import Doctor
from windlass.client.findings import Finding
from windlass.client.jobs import Jobs, Page
from windlass.client.joining import SyncEnqueuing
from windlass.client.overrides import Overrides
from windlass.client.queues import Queues
from windlass.client.sync_loop import SyncLoop
from windlass.client.workers import Workers
from windlass.handle import JobHandle
from windlass.handler import JobArgs
from windlass.job import Attempt, Job, JobId, Step
from windlass.options import NO_OPTIONS, JobOptions
from windlass.records import (
    AuditEntry,
    DeadLetter,
    Decided,
    JobFilter,
    KindRecord,
    LetterFilter,
    LetterGroup,
    Override,
    Pause,
    QueueCount,
    WorkerRecord,
)
from windlass.states import State


class App(Protocol):
    """Where the asynchronous nouns of the running loop are found."""

    @property
    def jobs(self) -> Jobs: ...

    @property
    def dead_letters(self) -> DeadLetters: ...

    @property
    def queues(self) -> Queues: ...

    @property
    def workers(self) -> Workers: ...

    @property
    def doctor(self) -> Doctor: ...

    @property
    def overrides(self) -> Overrides: ...


class SyncJobs:
    """The jobs of one application, by blocking calls."""

    def __init__(self, app: App, loop: SyncLoop) -> None:
        self._app, self._loop = app, loop

    def enqueue_by_name(
        self, kind: str, args: Mapping[str, Any] | None = None, options: JobOptions = NO_OPTIONS
    ) -> JobHandle[Any]:
        """Store one job by the name of its kind, which may live in another program."""
        return SyncEnqueuing(self._app, self._loop).enqueue_by_name(kind, args, options)

    def enqueue_many(self, calls: Sequence[JobArgs[Any]], *, tx: object = None) -> list[JobHandle[Any]]:
        """Store many jobs in one statement, all or none; the handles come in the order given.

        Raises InvalidBatch that names every bad job (the first hundred), and then nothing was stored.
        """
        return SyncEnqueuing(self._app, self._loop).enqueue_many(calls, tx=tx)

    def get(self, job_id: UUID | str) -> Job:
        """The job as it is now; raises JobNotFound."""
        return self._loop.run(lambda: self._app.jobs.get(job_id), name="sync.jobs.get")

    def search(self, filters: JobFilter | None = None, *, cursor: str | None = None, limit: int = 50) -> Page:
        """A page of jobs, newest first."""
        return self._loop.run(
            lambda: self._app.jobs.search(filters, cursor=cursor, limit=limit), name="sync.jobs.search"
        )

    def counts(self) -> list[QueueCount]:
        """How many jobs there are of each queue, kind and state."""
        return self._loop.run(lambda: self._app.jobs.counts(), name="sync.jobs.counts")

    def attempts(self, job_id: UUID | str) -> list[Attempt]:
        """The finished attempts that did not complete the job, in order."""
        return self._loop.run(lambda: self._app.jobs.attempts(job_id), name="sync.jobs.attempts")

    def runs(self, job_id: UUID | str) -> list[Attempt]:
        """Every run of the job in order, the one that completed it and the one under way included."""
        return self._loop.run(lambda: self._app.jobs.runs(job_id), name="sync.jobs.runs")

    def steps(self, job_id: UUID | str) -> list[Step]:
        """The steps of the job that are done and will not be repeated, in order."""
        return self._loop.run(lambda: self._app.jobs.steps(job_id), name="sync.jobs.steps")

    def history(self, job_id: UUID | str) -> list[AuditEntry]:
        """What was done to the job and by whom, in order."""
        return self._loop.run(lambda: self._app.jobs.history(job_id), name="sync.jobs.history")

    def cancel(self, job_id: UUID | str, *, reason: str = "cancelled", by: str = "client") -> State:
        """Cancel a waiting job, or ask for a running one to stop; returns `cancelled` or `running`.

        Raises WrongState when the job has ended, or when it runs and its policy refuses to stop running jobs.
        """
        return self._loop.run(
            lambda: self._app.jobs.cancel(job_id, reason=reason, by=by), name="sync.jobs.cancel"
        )

    def reschedule(self, job_id: UUID | str, run_at: datetime, *, by: str = "client") -> None:
        """Move a waiting job to another time."""
        self._loop.run(lambda: self._app.jobs.reschedule(job_id, run_at, by=by), name="sync.jobs.reschedule")

    def hold(self, job_id: UUID | str, *, reason: str, by: str = "client") -> None:
        """Put a waiting job aside until it is released."""
        self._loop.run(lambda: self._app.jobs.hold(job_id, reason=reason, by=by), name="sync.jobs.hold")

    def release(self, job_id: UUID | str, *, by: str = "client") -> None:
        """Let a held job go on."""
        self._loop.run(lambda: self._app.jobs.release(job_id, by=by), name="sync.jobs.release")

    def retry(
        self,
        job_id: UUID | str,
        *,
        reason: str,
        by: str = "client",
        delay: timedelta | float | str = 0,
        version: int | None = None,
    ) -> None:
        """Give a dead job a fresh budget of attempts; raises WrongState unless it is dead.

        With the `version` of a dead letter, raises LetterChanged when somebody has changed it since.
        """
        self._loop.run(
            lambda: self._app.jobs.retry(job_id, reason=reason, by=by, delay=delay, version=version),
            name="sync.jobs.retry",
        )

    def result(self, job_id: UUID | str, *, timeout: timedelta | float | None = None) -> Any:
        """Wait for a job's end and return its result, typed if its kind is registered here."""
        return self._loop.run(lambda: self._app.jobs.result(job_id, timeout=timeout), name="sync.jobs.result")


class SyncDeadLetters:
    """The dead letters of one application, by blocking calls."""

    def __init__(self, app: App, loop: SyncLoop) -> None:
        self._app, self._loop = app, loop

    def open(
        self,
        *,
        kind: str | None = None,
        queue: str | None = None,
        tenant: str | None = None,
        fingerprint: str | None = None,
        limit: int = 100,
    ) -> list[DeadLetter]:
        """Dead letters nobody has closed, newest first."""
        return self._loop.run(
            lambda: self._app.dead_letters.open(
                kind=kind, queue=queue, tenant=tenant, fingerprint=fingerprint, limit=limit
            ),
            name="sync.dead_letters.open",
        )

    def groups(
        self,
        *,
        kind: str | None = None,
        queue: str | None = None,
        tenant: str | None = None,
        limit: int = 100,
    ) -> list[LetterGroup]:
        """Dead letters nobody has closed, by their cause, the most frequent first.

        Two deaths have the same cause when kind, class and type of the error, the place in your code and the
        message agree; numbers, ids, quoted texts and paths in the message do not count.
        """
        return self._loop.run(
            lambda: self._app.dead_letters.groups(kind=kind, queue=queue, tenant=tenant, limit=limit),
            name="sync.dead_letters.groups",
        )

    def of_job(self, job_id: UUID | str) -> list[DeadLetter]:
        """Every death of one job, newest first."""
        return self._loop.run(lambda: self._app.dead_letters.of_job(job_id), name="sync.dead_letters.of_job")

    def investigate(
        self, job_id: UUID | str, *, by: str, note: str | None = None, version: int | None = None
    ) -> int:
        """Say that somebody looks into a dead job; returns the version of its letter.

        The letter stays open, with an owner and a note, and whoever says so next takes it over.
        """
        return self._loop.run(
            lambda: self._app.dead_letters.investigate(job_id, by=by, note=note, version=version),
            name="sync.dead_letters.investigate",
        )

    def retry(
        self,
        job_id: UUID | str,
        *,
        by: str,
        reason: str,
        delay: timedelta | float | str = 0,
        version: int | None = None,
        args: Mapping[str, Any] | None = None,
        as_new: bool = False,
    ) -> JobId:
        """Run a dead job again with a fresh budget of attempts; returns the id of the job that will run.

        It is the same job, whose history and fence go on, or with `as_new` a new one in its place, whose metadata
        has `retried_from`. Other `args` replace all arguments and are checked as for an enqueue. With the `version`
        of the letter that was read, raises LetterChanged when somebody has changed it since.
        """
        return self._loop.run(
            lambda: self._app.dead_letters.retry(
                job_id, by=by, reason=reason, delay=delay, version=version, args=args, as_new=as_new
            ),
            name="sync.dead_letters.retry",
        )

    def resolve(self, job_id: UUID | str, *, by: str, reason: str, version: int | None = None) -> None:
        """Close a dead job without running it, because the matter is settled; `version` as for `retry`."""
        self._loop.run(
            lambda: self._app.dead_letters.resolve(job_id, by=by, reason=reason, version=version),
            name="sync.dead_letters.resolve",
        )

    def ignore(self, job_id: UUID | str, *, by: str, reason: str, version: int | None = None) -> None:
        """Close a dead job without running it, because it does not matter; `version` as for `retry`."""
        self._loop.run(
            lambda: self._app.dead_letters.ignore(job_id, by=by, reason=reason, version=version),
            name="sync.dead_letters.ignore",
        )

    def count(self, filters: LetterFilter) -> int:
        """How many open letters `retry_all` or `resolve_all` would be about."""
        return self._loop.run(lambda: self._app.dead_letters.count(filters), name="sync.dead_letters.count")

    def retry_all(
        self,
        filters: LetterFilter,
        *,
        by: str,
        reason: str,
        delay: timedelta | float | str = 0,
        limit: int | None = None,
        pace: float | None = None,
    ) -> Decided:
        """Retry every dead job the filter lets through, oldest first, at most `pace` a second.

        It works in chunks, each a transaction of its own: stopped in the middle, it goes on when called again.
        Jobs that somebody else decides meanwhile, or whose unique key is taken, are skipped.
        """
        return self._loop.run(
            lambda: self._app.dead_letters.retry_all(
                filters, by=by, reason=reason, delay=delay, limit=limit, pace=pace
            ),
            name="sync.dead_letters.retry_all",
        )

    def resolve_all(
        self,
        filters: LetterFilter,
        *,
        by: str,
        reason: str,
        limit: int | None = None,
        pace: float | None = None,
    ) -> Decided:
        """Close every dead job the filter lets through without running it, in the way of `retry_all`."""
        return self._loop.run(
            lambda: self._app.dead_letters.resolve_all(filters, by=by, reason=reason, limit=limit, pace=pace),
            name="sync.dead_letters.resolve_all",
        )


class SyncQueues:
    """The queues of one application, by blocking calls."""

    def __init__(self, app: App, loop: SyncLoop) -> None:
        self._app, self._loop = app, loop

    def pause(
        self, queue: str | None = None, *, kind: str | None = None, reason: str, by: str = "client"
    ) -> None:
        """Stop claims of a queue, or of a kind; what runs finishes, and nothing waiting is lost."""
        self._loop.run(
            lambda: self._app.queues.pause(queue, kind=kind, reason=reason, by=by), name="sync.queues.pause"
        )

    def resume(self, queue: str | None = None, *, kind: str | None = None, by: str = "client") -> bool:
        """Let a queue or a kind be claimed again; False when it was not paused."""
        return self._loop.run(
            lambda: self._app.queues.resume(queue, kind=kind, by=by), name="sync.queues.resume"
        )

    def pauses(self) -> list[Pause]:
        """What is paused, by whom and why."""
        return self._loop.run(lambda: self._app.queues.pauses(), name="sync.queues.pauses")


class SyncWorkers:
    """The workers of one application, by blocking calls."""

    def __init__(self, app: App, loop: SyncLoop) -> None:
        self._app, self._loop = app, loop

    def all(self, *, limit: int = 200) -> list[WorkerRecord]:
        """Workers, the living first."""
        return self._loop.run(lambda: self._app.workers.all(limit=limit), name="sync.workers.all")

    def kinds(self) -> list[KindRecord]:
        """Every kind that any worker has declared."""
        return self._loop.run(lambda: self._app.workers.kinds(), name="sync.workers.kinds")


class SyncDoctor:
    """Looks at one application's jobs and workers, by blocking calls; changes nothing."""

    def __init__(self, app: App, loop: SyncLoop) -> None:
        self._app, self._loop = app, loop

    def check(self) -> list[Finding]:
        """Everything worth knowing, the worst first; empty when there is nothing to report."""
        return self._loop.run(lambda: self._app.doctor.check(), name="sync.doctor.check")

    def why(self, job_id: UUID | str) -> list[str]:
        """Why the job does not run now, in sentences, the decisive one first; raises JobNotFound."""
        return self._loop.run(lambda: self._app.doctor.why(job_id), name="sync.doctor.why")


class SyncOverrides:
    """What operators have changed, by blocking calls."""

    def __init__(self, app: App, loop: SyncLoop) -> None:
        self._app, self._loop = app, loop

    def set(
        self,
        field: str,
        value: Any,
        *,
        kind: str | None = None,
        queue: str | None = None,
        reason: str,
        by: str = "client",
    ) -> None:
        """Change a number of a kind or a queue, for every worker, from their next claim on; a deploy keeps it.

        Raises InvalidPolicy for a field or value that cannot be, UnknownKind for a kind no worker has declared; then
        nothing is stored.
        """
        self._loop.run(
            lambda: self._app.overrides.set(field, value, kind=kind, queue=queue, reason=reason, by=by),
            name="sync.overrides.set",
        )

    def remove(
        self, field: str, *, kind: str | None = None, queue: str | None = None, by: str = "client"
    ) -> bool:
        """Let the code's own number count again; False when it was not overridden."""
        return self._loop.run(
            lambda: self._app.overrides.remove(field, kind=kind, queue=queue, by=by),
            name="sync.overrides.remove",
        )

    def all(self) -> list[Override]:
        """What is overridden, by whom and why."""
        return self._loop.run(lambda: self._app.overrides.all(), name="sync.overrides.all")


class SyncClient:
    """Every noun, by blocking calls; raises SyncOnLoop where an event loop runs."""

    def __init__(self, app: App, loop: SyncLoop) -> None:
        self.jobs = SyncJobs(app, loop)
        self.dead_letters = SyncDeadLetters(app, loop)
        self.queues = SyncQueues(app, loop)
        self.workers = SyncWorkers(app, loop)
        self.doctor = SyncDoctor(app, loop)
        self.overrides = SyncOverrides(app, loop)
