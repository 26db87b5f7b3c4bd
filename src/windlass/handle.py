"""What enqueueing gives back: a job's id, and ways to ask what became of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Generic, Protocol, TypeVar

from windlass.job import Job, JobId

R_co = TypeVar("R_co", covariant=True)


class Lookup(Protocol):
    """Where a handle asks about its job."""

    async def result_text(self, job_id: JobId, *, timeout: timedelta | None) -> str | None:
        """Wait for the job's end and return its result's JSON text."""
        ...

    async def get(self, job_id: JobId) -> Job:
        """Read the job as it is now."""
        ...

    async def cancel(self, job_id: JobId, *, reason: str) -> None:
        """Ask the job to stop."""
        ...

    def result_text_sync(self, job_id: JobId, *, timeout: timedelta | None) -> str | None:
        """Wait for the job's end, blocking."""
        ...

    def get_sync(self, job_id: JobId) -> Job:
        """Read the job as it is now, blocking."""
        ...

    def cancel_sync(self, job_id: JobId, *, reason: str) -> None:
        """Ask the job to stop, blocking."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class JobHandle(Generic[R_co]):
    """A job that was enqueued; `is_new` is False where a key led to one that existed already."""

    id: JobId
    kind: str
    is_new: bool = True
    decode: Callable[[str | None], R_co] = field(repr=False, compare=False)
    lookup: Lookup = field(repr=False, compare=False)

    async def result(self, timeout: timedelta | float | None = None) -> R_co:
        """Wait until the job has ended and return what its handler returned.

        Raises JobDead, JobCancelled, or ResultTimeout after `timeout` (a float is seconds).
        """
        return self.decode(await self.lookup.result_text(self.id, timeout=_to_timedelta(timeout)))

    async def get(self) -> Job:
        """Read the job as it is now; raises JobNotFound once retention has removed it."""
        return await self.lookup.get(self.id)

    async def cancel(self, reason: str = "cancelled by its caller") -> None:
        """Ask the job to stop; one that has not started never will."""
        await self.lookup.cancel(self.id, reason=reason)

    def result_sync(self, timeout: timedelta | float | None = None) -> R_co:
        """Do what `result` does, blocking."""
        return self.decode(self.lookup.result_text_sync(self.id, timeout=_to_timedelta(timeout)))

    def get_sync(self) -> Job:
        """Do what `get` does, blocking."""
        return self.lookup.get_sync(self.id)

    def cancel_sync(self, reason: str = "cancelled by its caller") -> None:
        """Do what `cancel` does, blocking."""
        self.lookup.cancel_sync(self.id, reason=reason)


def _to_timedelta(timeout: timedelta | float | None) -> timedelta | None:
    return timedelta(seconds=timeout) if isinstance(timeout, int | float) else timeout
