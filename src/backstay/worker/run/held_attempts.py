"""The attempts that a worker has in hand, by job and claim: who holds a lease, who is late, who may be a danger."""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import timedelta
from typing import Any

from backstay.model.job import Claim, Guard, JobId
from backstay.runtime.env import Env
from backstay.worker.run.local_backend import UNCERTAIN_AFTER
from backstay.worker.run.running import Running


class HeldAttempts:
    """Attempts from their claim to their end. What names a `Running` wants the lock to be held; the rest takes it."""

    def __init__(self, lock: threading.Lock, env: Env) -> None:
        self._lock, self._env = lock, env
        self._by_job: dict[JobId, Running] = {}
        # Runs that have not ended although their job was claimed again meanwhile, by this very worker.
        self._overtaken: set[Running] = set()
        self.tainted = 0
        """How many handlers keep their slot although nobody wants anything of them any more."""

    def put(self, running: Running) -> Running | None:
        """Take an attempt in hand; returns an older one of the same job, which is overtaken by that."""
        older = self._by_job.get(running.claim.id)
        self._by_job[running.claim.id] = running
        return older

    def give_up(self, running: Running) -> None:
        """Want nothing of an attempt any more."""
        running.is_abandoned = True
        if running.leader is None and running.started is not None:
            running.is_tainting = True
            self.tainted += 1

    def keep_overtaken(self, running: Running) -> None:
        """Remember a run that goes on although its job is in hand anew."""
        self._overtaken.add(running)

    def remove(self, running: Running) -> None:
        """An attempt has ended."""
        if self._by_job.get(running.claim.id) is running:
            del self._by_job[running.claim.id]
        else:
            self._overtaken.discard(running)
        self.tainted -= running.is_tainting

    def held(self, guard: Guard) -> Running | None:
        """The attempt under this very claim."""
        running = self._by_job.get(guard[0])
        return running if running is not None and running.claim.epoch == guard[1] else None

    def claims(self) -> list[Claim]:
        """Every claim in hand whose lease must be kept."""
        with self._lock:
            return [
                running.claim
                for running in self._by_job.values()
                if not running.is_abandoned and running.settled is None
            ]

    @property
    def is_busy(self) -> bool:
        """Whether a handler whose end is wanted is in hand, also one whose job is completed already."""
        with self._lock:
            return any(not running.is_abandoned for running in self._by_job.values())

    def claim_of(self, task: asyncio.Task[Any] | None) -> Claim | None:
        """The claim whose handler runs on the loop while this is its current task; None if it is no handler."""
        with self._lock:
            on_loop = [one for one in self._all() if one.started is not None and one.is_on_loop]
        # One that has not waited yet has no task of its own, and nothing else can run before it does.
        first = next((one for one in on_loop if one.task is None), None)
        found = first or next((one for one in on_loop if one.task is task), None)
        return found.claim if found else None

    def note_renewed(self, guards: Iterable[Guard], *, sent: float) -> None:
        """The leases of these claims were renewed by a request sent then."""
        for guard in guards:
            if (running := self.held(guard)) is not None:
                running.renewed = sent

    def has_suspect(self) -> bool:
        """Whether a job that may kill its worker is in hand."""
        with self._lock:
            return any(running.claim.is_suspect for running in self._all())

    def overdue(self, *, grace: timedelta) -> list[Claim]:
        """Claims whose handler has ignored its time limit for longer than `grace`."""
        now = self._env.monotonic()
        with self._lock:
            return [
                running.claim
                for running in self._by_job.values()
                if running.started is not None
                and not running.is_abandoned
                and now - running.started > (running.claim.timeout + grace).total_seconds()
            ]

    def uncertain(self) -> list[Claim]:
        """Claims of exclusive kinds that were not renewed for so long that another worker may soon have the job."""
        now = self._env.monotonic()
        with self._lock:
            return [
                running.claim
                for running in self._by_job.values()
                if running.spec.limits.stops_when_uncertain
                and not running.is_asked_to_stop
                and running.settled is None
                and now - running.renewed > running.claim.lease.total_seconds() * UNCERTAIN_AFTER
            ]

    def by_queue(self) -> Counter[str]:
        """How many claims of each queue are in hand, also of those that only keep their slot."""
        with self._lock:
            return Counter(running.claim.queue for running in self._by_job.values())

    def _all(self) -> Iterator[Running]:
        """Every run in hand, wanted or not."""
        return itertools.chain(self._by_job.values(), self._overtaken)
