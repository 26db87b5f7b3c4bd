"""Lets a handle ask about its job from whichever event loop it is awaited on, or from none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Protocol

from backstay.client.jobs import Jobs
from backstay.client.sync_loop import SyncLoop
from backstay.client.waiting import Waiter
from backstay.model.job import Job, JobId


class App(Protocol):
    """Where the jobs of the running loop are found."""

    @property
    def jobs(self) -> Jobs: ...

    @property
    def _waiter(self) -> Waiter: ...


@dataclass(frozen=True)
class AppLookup:
    """Looks jobs up through an application; blocking calls go to its loop of the moment."""

    app: App = field(repr=False)
    sync_loop: Callable[[], SyncLoop] = field(repr=False)

    async def result_text(self, job_id: JobId, *, timeout: timedelta | None) -> str | None:
        return await self.app._waiter.result_text(job_id, timeout=timeout)

    async def get(self, job_id: JobId) -> Job:
        return await self.app.jobs.get(job_id)

    async def cancel(self, job_id: JobId, *, reason: str) -> None:
        await self.app.jobs.cancel(job_id, reason=reason)

    def result_text_sync(self, job_id: JobId, *, timeout: timedelta | None) -> str | None:
        run = self.sync_loop().run
        return run(lambda: self.result_text(job_id, timeout=timeout), name="result_sync")

    def get_sync(self, job_id: JobId) -> Job:
        return self.sync_loop().run(lambda: self.get(job_id), name="get_sync")

    def cancel_sync(self, job_id: JobId, *, reason: str) -> None:
        self.sync_loop().run(lambda: self.cancel(job_id, reason=reason), name="cancel_sync")
