"""What the keys in Redis are called, and how long they live."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

JOB_KEPT = timedelta(days=7)
WORKER_KEPT = timedelta(hours=1)
LOCK_KEPT = timedelta(minutes=5)
METRICS_KEPT = timedelta(days=30)
LONGEST_LIST = 10_000
"""So many ids a line holds at most: a longer one waits in PostgreSQL, and what people look at keeps the newest."""


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys of one installation: all of them begin with `prefix`."""

    prefix: str

    def queue(self, name: str) -> str:
        """`queue:pending`, `queue:active`, `queue:completed`, `queue:failed`, `queue:dlq` or `queue:delayed`.

        Sorted by time, and not lists: an id leaves one in the same time however many others there are.
        """
        return f"{self.prefix}queue:{name}"

    def job(self, job_id: object, part: str) -> str:
        """`job:{id}:data`, `job:{id}:status` or `job:{id}:progress`."""
        return f"{self.prefix}job:{job_id}:{part}"

    def lock(self, job_id: object) -> str:
        """Who works on a job, for people to see: what fences is the lease in PostgreSQL."""
        return f"{self.prefix}lock:job:{job_id}"

    def worker(self, worker: str, part: str) -> str:
        """`worker:{id}:heartbeat`, `worker:{id}:jobs`, `worker:{id}:stats` or `worker:{id}:active`."""
        return f"{self.prefix}worker:{worker}:{part}"

    def metric(self, name: str) -> str:
        """`metrics:completed`, `metrics:failed` or `metrics:durations`."""
        return f"{self.prefix}metrics:{name}"

    @property
    def workers(self) -> str:
        """Workers by the time of their last sign of life."""
        return f"{self.prefix}workers:active"

    def turn(self, duty: str) -> str:
        """Held for a few seconds by the worker that does this for all."""
        return f"{self.prefix}dispatch:{duty}"
