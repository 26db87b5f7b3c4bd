"""Why a job waits, in one sentence for the team that sent it: what decides, and nothing about how to run workers."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, kw_only=True)
class Waiting:
    """One job that has not ended, and what surrounds it."""

    state: str
    job_type: str
    reason: str = ""
    attempt: int = 0
    run_at: datetime | None = None
    worker: str = ""
    is_worker_gone: bool = False
    paused_because: str | None = None
    """Why operators have paused its queue or its type; None where neither is."""
    parents: int = 0
    workers: int = 0
    """The living workers that take such jobs."""
    free_slots: int = 0
    own_ahead: int = 0


def why(job: Waiting) -> str:
    """The one thing that decides."""
    if job.state == "dead":
        return "It has failed for good: somebody of your team decides whether it runs again or is closed."
    if job.state == "running" and job.is_worker_gone:
        return f"Its worker {job.worker} is gone; another one takes it over within a minute."
    if job.state == "running":
        return f"It is running on {job.worker}."
    if job.state == "scheduled":
        return _scheduled(job)
    if job.state == "held":
        return _held(job)
    if job.paused_because is not None:
        return f"The operators have paused {job.job_type}: {job.paused_because}"
    if not job.workers:
        return f"No worker that takes {job.job_type} is alive now; it starts when one is there."
    if job.own_ahead:
        told = "One of your own jobs is" if job.own_ahead == 1 else f"{job.own_ahead} of your own jobs are"
        return f"{told} ahead; other teams take turns with you and do not delay it further."
    if not job.free_slots:
        return "It is the next of your team; every worker that takes such jobs is busy."
    return "Nothing is in its way: it starts within seconds."


def _scheduled(job: Waiting) -> str:
    at = f"{job.run_at:%Y-%m-%d %H:%M:%S} UTC" if job.run_at else "a later time"
    if job.attempt:
        return f"Attempt {job.attempt} failed; the next one starts at {at}."
    return f"It is to start at {at}."


def _held(job: Waiting) -> str:
    if job.parents:
        others = "one other job" if job.parents == 1 else f"{job.parents} other jobs"
        return f"It waits for {others} to end."
    if job.reason == "paused":
        return "It is paused; it goes on when somebody of your team resumes it."
    if job.reason == "tenant paused":
        return "The operators have paused all jobs of your team."
    return f"It is held: {job.reason}."
