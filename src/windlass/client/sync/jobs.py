"""The blocking twin of the jobs, for code without an event loop.

Written by tools/generate_sync.py from the asynchronous one; do not edit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from windlass.client.jobs import Page
from windlass.client.joining import SyncEnqueuing
from windlass.client.sync.app import App
from windlass.client.sync_loop import SyncLoop
from windlass.handle import JobHandle
from windlass.handler import JobArgs
from windlass.job import Attempt, Job, Step
from windlass.options import NO_OPTIONS, JobOptions
from windlass.records import AuditEntry, JobFilter, QueueCount
from windlass.states import State


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
