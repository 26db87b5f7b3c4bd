"""What running handlers ask of a store: part of the contract, in a file of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from windlass.job import Claim, JobId, NewStep, Progress, Step


class Steps(Protocol):
    """Parts of jobs that are done and must not be repeated."""

    async def save(self, finished: Sequence[tuple[Claim, NewStep]]) -> frozenset[JobId]:
        """Remember finished steps of the claims still held; returns the jobs whose claim is lost.

        Sending the same ones again changes nothing.
        """
        ...

    async def results(self, job_id: JobId) -> dict[str, str | None]:
        """What each finished step of a job came to, as JSON text."""
        ...

    async def of_job(self, job_id: JobId) -> list[Step]:
        """The finished steps of a job, in order."""
        ...


class Telling(Protocol):
    """How far jobs have come."""

    async def write(self, told: Sequence[tuple[Claim, Progress]]) -> None:
        """Keep the newest word of each claim that is still held, one a job; that of any other is dropped."""
        ...
