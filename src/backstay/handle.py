"""What enqueueing gives back: a job's id, and ways to ask what became of it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Generic, Protocol, TypeVar

from backstay.model.job import Job, JobId

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


class JobHandle(Generic[R_co]):
    """A job that was enqueued; `is_new` is False where a key led to one that existed already.

    A class by hand, because thousands are made every second and a frozen dataclass takes three times as long to make.
    """

    __slots__ = ("_decode", "_lookup", "id", "is_new", "kind")

    def __init__(
        self, job_id: JobId, kind: str, is_new: bool, decode: Callable[[str | None], R_co], lookup: Lookup
    ) -> None:
        self.id, self.kind, self.is_new, self._decode, self._lookup = job_id, kind, is_new, decode, lookup

    def __eq__(self, other: object) -> bool:
        return isinstance(other, JobHandle) and self.id == other.id

    def __hash__(self) -> int:
        return hash(self.id)

    def __repr__(self) -> str:
        return f"JobHandle(id={self.id}, kind={self.kind!r}, is_new={self.is_new})"

    async def result(self, timeout: timedelta | float | None = None) -> R_co:
        """Wait until the job has ended and return what its handler returned.

        Raises JobDead, JobCancelled, or ResultTimeout after `timeout` (a float is seconds).
        """
        return self._decode(await self._lookup.result_text(self.id, timeout=_to_timedelta(timeout)))

    async def get(self) -> Job:
        """Read the job as it is now; raises JobNotFound once retention has removed it."""
        return await self._lookup.get(self.id)

    async def cancel(self, reason: str = "cancelled by its caller") -> None:
        """Ask the job to stop; one that has not started never will."""
        await self._lookup.cancel(self.id, reason=reason)

    def result_sync(self, timeout: timedelta | float | None = None) -> R_co:
        """Do what `result` does, blocking."""
        return self._decode(self._lookup.result_text_sync(self.id, timeout=_to_timedelta(timeout)))

    def get_sync(self) -> Job:
        """Do what `get` does, blocking."""
        return self._lookup.get_sync(self.id)

    def cancel_sync(self, reason: str = "cancelled by its caller") -> None:
        """Do what `cancel` does, blocking."""
        self._lookup.cancel_sync(self.id, reason=reason)


def _to_timedelta(timeout: timedelta | float | None) -> timedelta | None:
    return timedelta(seconds=timeout) if isinstance(timeout, int | float) else timeout
