"""What running handlers ask of a store: part of the contract, in a file of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from backstay.model.job import Claim, JobId, NewStep, Progress, Step
from backstay.model.signals import Mail, NewSignal, Sent, Signal


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


class Signals(Protocol):
    """What jobs receive from outside, and how long they wait for it."""

    async def send(self, signal: NewSignal) -> Sent:
        """Keep a signal for a job that has not ended, and let the job go on if it waits for this one.

        Sent again under the same key it changes nothing. Raises JobNotFound and SignalRefused.
        """
        ...

    async def mail(self, job_id: JobId) -> Mail:
        """Everything that the waits of a job's handler are answered from."""
        ...

    async def of_job(self, job_id: JobId) -> list[Signal]:
        """What a job has received, in order."""
        ...

    async def time_out(self, *, limit: int) -> list[str]:
        """Let jobs go on that have waited long enough; returns the queue of each."""
        ...
