"""The blocking twin of the flows, for code without an event loop.

Written by tools/generate_sync.py from the asynchronous one; do not edit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from backstay.client.flow_building import FlowHandle
from backstay.client.sync.app import App
from backstay.client.sync_loop import SyncLoop
from backstay.model.flows import DependencyRecord, FlowJob, FlowRecord
from backstay.model.job import JobId


class SyncFlows:
    """The flows of one application, by blocking calls."""

    def __init__(self, app: App, loop: SyncLoop) -> None:
        self._app, self._loop = app, loop

    def all(
        self, *, tenant: str | None = None, before: UUID | str | None = None, limit: int = 50
    ) -> list[FlowRecord]:
        """Flows with their progress, newest first; `before` is the last id of the page before."""
        return self._loop.run(
            lambda: self._app.flows.all(tenant=tenant, before=before, limit=limit), name="sync.flows.all"
        )

    def get(self, flow_id: UUID | str) -> FlowRecord:
        """One flow and how many of its jobs are in which state; raises FlowNotFound."""
        return self._loop.run(lambda: self._app.flows.get(flow_id), name="sync.flows.get")

    def members(self, flow_id: UUID | str) -> list[FlowJob]:
        """The jobs of a flow in the order they were added."""
        return self._loop.run(lambda: self._app.flows.members(flow_id), name="sync.flows.members")

    def dependencies(self, flow_id: UUID | str) -> list[DependencyRecord]:
        """What the jobs of a flow wait or waited for."""
        return self._loop.run(lambda: self._app.flows.dependencies(flow_id), name="sync.flows.dependencies")

    def of_job(self, job_id: UUID | str) -> list[DependencyRecord]:
        """What one job waits or waited for, and which jobs wait or waited for it."""
        return self._loop.run(lambda: self._app.flows.of_job(job_id), name="sync.flows.of_job")

    def start(self, name: str, jobs: Sequence[Mapping[str, Any]], *, tenant: str = "") -> FlowHandle:
        """Store a flow that is described by plain values, as a file or another program has it.

        Each job has a `name`, a `kind`, `args`, and `after`, the names of jobs it waits for or objects with `job`,
        `wait_for`, `on_failure`, `place` and `when`. The order does not matter: a circle is refused by its names.
        """
        return self._loop.run(
            lambda: self._app.flows.start(name, jobs, tenant=tenant), name="sync.flows.start"
        )

    def cancel(self, flow_id: UUID | str, *, by: str, reason: str) -> int:
        """Cancel every job of a flow that has not started and ask those that run to stop; returns how many.

        The flow's callback is left alone: it runs when the others have ended.
        """
        return self._loop.run(
            lambda: self._app.flows.cancel(flow_id, by=by, reason=reason), name="sync.flows.cancel"
        )

    def retry_from(self, job_id: UUID | str, *, by: str, reason: str) -> list[JobId]:
        """Run a job and everything that depends on it again; returns the ids of the jobs that will run.

        A dead job is retried itself, and what waits for it goes on afterwards. Jobs that have ended otherwise are
        stored anew, tied to one another as before, and take results from parents that are not run again. Raises
        WrongState while one of them has not ended.
        """
        return self._loop.run(
            lambda: self._app.flows.retry_from(job_id, by=by, reason=reason), name="sync.flows.retry_from"
        )
