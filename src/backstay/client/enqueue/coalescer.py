"""Gathers single enqueues that happen at the same time into one statement."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import cast

from backstay.errors import OutcomeUnknown, QuotaExceeded, StoreBusy, StoreError, StoreUnavailable
from backstay.model.job import NewJob

MOST_JOBS = 500
MOST_BYTES = 1 << 20
MANY = 32
"""So many that wait are sent although others are still under way; twice as many are sent in two halves."""
MOST_SENDERS = 2

Store = Callable[[Sequence[NewJob], str | None], Awaitable[None]]


@dataclass(slots=True)
class _Waiting:
    job: NewJob
    stored: asyncio.Future[None]


class Coalescer:
    """Sends at once when nothing is under way; what arrives meanwhile goes together next.

    The first caller sends its own job at once. Batches are sent by tasks of our own: a caller that is cancelled
    takes its job back if it was not sent yet, and no other. Many callers fall into two groups, so that the database
    stores the jobs of one group while those of the other are made.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._waiting: deque[_Waiting] = deque()
        self._first: NewJob | None = None
        self._senders: set[asyncio.Task[None]] = set()
        self._over: asyncio.Event | None = None

    @property
    def is_free(self) -> bool:
        """Whether nothing is under way, so that the next job is sent at once and alone."""
        return self._first is None and not self._senders

    async def enqueue(self, job: NewJob, hint: str | None = None) -> None:
        """Store one job; returns when it is committed. Only while it `is_free`, a hint goes out with the commit.

        Cancelled after sending, the job may exist: OutcomeUnknown carries its id as the cause of the cancellation.
        """
        if self.is_free:
            return await self._send_first(job, hint)
        waiting = _Waiting(job, asyncio.get_running_loop().create_future())
        self._waiting.append(waiting)
        if len(self._waiting) == MANY:
            self._start_sender()
        try:
            await waiting.stored
        except asyncio.CancelledError as cancelled:
            if waiting in self._waiting:
                self._waiting.remove(waiting)
                raise
            raise cancelled from OutcomeUnknown("enqueue", [job.id])

    async def close(self) -> None:
        """Wait until everything handed in is stored."""
        while self._first is not None:
            self._over = self._over or asyncio.Event()
            await self._over.wait()
        while self._senders:
            await asyncio.wait(self._senders)

    async def _send_first(self, job: NewJob, hint: str | None) -> None:
        """Without a task and a future, which take longer than the rest of what is done here for one job."""
        self._first = job
        try:
            await self._store([job], hint)
        except asyncio.CancelledError as cancelled:
            raise cancelled from OutcomeUnknown("enqueue", [job.id])
        finally:
            self._first = None
            if self._waiting:
                self._start_sender()
            if self._over is not None:
                self._over.set()
                self._over = None

    def _start_sender(self) -> None:
        if len(self._senders) < MOST_SENDERS:
            self._senders.add(asyncio.get_running_loop().create_task(self._send()))

    async def _send(self) -> None:
        try:
            while self._waiting:
                batch = self._next_batch()
                try:
                    await self._send_batch(batch)
                except Exception as error:
                    # Whatever it is, it is theirs: they would wait forever for a sender that is gone.
                    for waiting in batch:
                        if not waiting.stored.done():
                            waiting.stored.set_exception(error)
        finally:
            # Not when the task is over, which is later: who comes in between would count on it.
            self._senders.discard(cast("asyncio.Task[None]", asyncio.current_task()))

    def _next_batch(self) -> list[_Waiting]:
        batch: list[_Waiting] = []
        size, number = 0, len(self._waiting)
        most = MOST_JOBS if number < 2 * MANY else min(MOST_JOBS, (number + 1) // 2)
        while self._waiting and len(batch) < most and size < MOST_BYTES:
            waiting = self._waiting.popleft()
            size += len(waiting.job.args)
            batch.append(waiting)
        return batch

    async def _send_batch(self, batch: list[_Waiting]) -> None:
        try:
            await self._store([waiting.job for waiting in batch], None)
        except (StoreUnavailable, StoreBusy, OutcomeUnknown) as error:
            _fail(batch, error)
        except QuotaExceeded as error:
            # Others do not wait while the jobs of the crowded tenant are tried one by one.
            others = [waiting for waiting in batch if waiting.job.tenant != error.tenant]
            if others:
                await self._send_batch(others)
            crowded = [waiting for waiting in batch if waiting.job.tenant == error.tenant]
            if len(batch) == 1:
                return _fail(crowded, error)
            for waiting in crowded:
                await self._send_batch([waiting])
        except StoreError as error:
            if len(batch) == 1:
                _fail(batch, error)
                return
            # One bad row spoils the statement for all: one by one, only its own caller hears of it.
            for waiting in batch:
                await self._send_batch([waiting])
        else:
            for waiting in batch:
                if not waiting.stored.done():
                    waiting.stored.set_result(None)


def _fail(batch: list[_Waiting], error: StoreError | OutcomeUnknown | QuotaExceeded) -> None:
    for waiting in batch:
        if not waiting.stored.done():
            # A caller that must look its job up needs that id, not those of the whole batch.
            mine = (
                OutcomeUnknown(error.what, [waiting.job.id], because=error.because)
                if isinstance(error, OutcomeUnknown)
                else error
            )
            mine.__cause__ = error.__cause__
            waiting.stored.set_exception(mine)
