"""The blocking twin of the jobs, for code without an event loop.

Written by tools/generate_sync.py from the asynchronous one; do not edit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from backstay.client.enqueue.caller_transaction import SyncEnqueuing
from backstay.client.sync.app import App
from backstay.client.sync_loop import SyncLoop
from backstay.handle import JobHandle
from backstay.handler import JobArgs
from backstay.model.job import Attempt, Job, JobId, Step
from backstay.model.records import AuditEntry, Erased, JobFilter, Page, QueueCount
from backstay.model.states import State
from backstay.model.text.durations import Duration
from backstay.options import NO_OPTIONS, JobOptions


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

    def search(
        self,
        filters: JobFilter | None = None,
        *,
        cursor: str | None = None,
        limit: int = 50,
        timeout: Duration = "5s",
    ) -> Page:
        """A page of jobs, newest first; raises InvalidPolicy for a state that the profile has no word for.

        SearchTooLong where the page is not found in time, as it may be among millions where hardly any fits.
        """
        return self._loop.run(
            lambda: self._app.jobs.search(filters, cursor=cursor, limit=limit, timeout=timeout),
            name="sync.jobs.search",
        )

    def counts(self, *, tenant: str | None = None) -> list[QueueCount]:
        """How many jobs there are of each queue, kind and state, of one tenant or of all.

        Each state is counted up to 10,000, and what has ended among the newest 10,000 jobs; beyond that `is_capped`
        tells that there are more.
        """
        return self._loop.run(lambda: self._app.jobs.counts(tenant=tenant), name="sync.jobs.counts")

    def erase(self, filters: JobFilter, *, by: str, reason: str) -> Erased:
        """Remove all jobs that fit for good, with all that belongs to them: steps, signals, dead letters, keys.

        The filter needs a tenant or promoted fields. What waits is cancelled first, what runs is asked to stop and
        stays: call again until `running` and `awaited` are 0. The audit trail keeps who did it, why, how many, and
        hashes of the values asked for.
        """
        return self._loop.run(
            lambda: self._app.jobs.erase(filters, by=by, reason=reason), name="sync.jobs.erase"
        )

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

    def run_now(self, job_id: UUID | str, *, by: str = "client") -> None:
        """Let a job that is scheduled for later, or waits for another attempt, run as soon as a worker is free."""
        self._loop.run(lambda: self._app.jobs.run_now(job_id, by=by), name="sync.jobs.run_now")

    def set_priority(
        self, job_id: UUID | str, priority: int | str, *, reason: str | None = None, by: str = "client"
    ) -> None:
        """Give a waiting job another priority, as if it had been stored with it: what it waited still counts."""
        self._loop.run(
            lambda: self._app.jobs.set_priority(job_id, priority, reason=reason, by=by),
            name="sync.jobs.set_priority",
        )

    def clone(
        self,
        job_id: UUID | str,
        *,
        args: Mapping[str, Any] | None = None,
        delay: Duration | None = None,
        reason: str | None = None,
        by: str = "client",
    ) -> JobId:
        """Store a new job like this one, whatever has become of it; returns the id of the new job.

        It has the same arguments, or the `args` given, and the same queue, priority, tenant, tags and policy. Keys,
        deadline and parent stay with the first, which the new job's metadata names as `cloned_from`.
        """
        return self._loop.run(
            lambda: self._app.jobs.clone(job_id, args=args, delay=delay, reason=reason, by=by),
            name="sync.jobs.clone",
        )

    def hold(self, job_id: UUID | str, *, reason: str, by: str = "client") -> None:
        """Put a waiting job aside until it is released."""
        self._loop.run(lambda: self._app.jobs.hold(job_id, reason=reason, by=by), name="sync.jobs.hold")

    def release(self, job_id: UUID | str, *, by: str = "client") -> None:
        """Let a held job go on."""
        self._loop.run(lambda: self._app.jobs.release(job_id, by=by), name="sync.jobs.release")

    def result(self, job_id: UUID | str, *, timeout: timedelta | float | None = None) -> Any:
        """Wait for a job's end and return its result, typed if its kind is registered here."""
        return self._loop.run(lambda: self._app.jobs.result(job_id, timeout=timeout), name="sync.jobs.result")
