"""What is asked of a store about jobs that wait for other jobs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from backstay.model.flows import DependencyRecord, FlowJob, FlowRecord, NewFlow
from backstay.model.job import JobId


class Flows(Protocol):
    """Jobs that wait for other jobs."""

    async def enqueue(self, flow: NewFlow) -> Mapping[JobId, JobId]:
        """Store the jobs and what they wait for, all or nothing; sending the same again changes nothing.

        A job whose key leads to one that is there is not stored: that one takes its place. Returns these by their ids.
        Raises InvalidFlow for a parent that is not there or belongs to another tenant, ClaimLost when the job that
        adds them is not held under its claim any more.
        """
        ...

    async def sweep(self, *, after: JobId | None, limit: int) -> JobId | None:
        """Look at the next parents by id and follow those that have ended; returns where to go on, None at the end."""
        ...

    async def all(self, *, tenant: str | None, before: JobId | None, limit: int) -> list[FlowRecord]:
        """Flows with their progress, newest first."""
        ...

    async def get(self, flow_id: JobId) -> FlowRecord | None:
        """One flow with its progress, or None."""
        ...

    async def jobs(self, flow_id: JobId) -> list[FlowJob]:
        """The jobs of a flow in the order they were added."""
        ...

    async def ties(self, flow_id: JobId) -> list[DependencyRecord]:
        """What the jobs of a flow wait or waited for."""
        ...

    async def of_job(self, job_id: JobId) -> list[DependencyRecord]:
        """What a job waits or waited for, and who waits or waited for it."""
        ...

    async def cancel(self, job_ids: Sequence[JobId], *, actor: str, reason: str) -> list[JobId]:
        """Cancel those that have not started and ask those that run to stop; returns the ones that it reached."""
        ...

    async def run_again(self, root: JobId, copies: Mapping[JobId, JobId], *, actor: str, reason: str) -> None:
        """Store these ended jobs once more as new ones, tied to one another and to other parents as before.

        The first of them, `root`, waits for nobody: it only takes results.
        """
        ...
