"""Waiting for jobs to end, by hints and by looking again at growing intervals."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import timedelta

from backstay.errors import JobCancelled, JobDead, JobNotFound, ResultTimeout
from backstay.model.job import JobId
from backstay.model.records import Ending
from backstay.model.states import FINISHED, State
from backstay.runtime.env import Env
from backstay.stores.contract import Jobs
from backstay.wakeups.contract import ANYTHING, Wakeups, done_hint, queue_hint

FIRST_PAUSE = 0.001
FIRST_PAUSE_IF_NOTED = 0.05
LAST_PAUSE = 1.0
LET_BE = 0.1
"""For so long a job that can be claimed is left alone: to note a waiter locks its row, and a claim passes it over."""


class Waiter:
    """Wakes those who wait for jobs; listens only while somebody does."""

    def __init__(self, jobs: Jobs, wakeups: Wakeups, env: Env) -> None:
        self._jobs, self._wakeups, self._env = jobs, wakeups, env
        self._wake_events: dict[str, set[asyncio.Event]] = {}
        self._listener: asyncio.Task[None] | None = None

    async def result_text(self, job_id: JobId, *, timeout: timedelta | None) -> str | None:
        """The JSON text of the job's result; raises JobDead, JobCancelled, JobNotFound or ResultTimeout."""
        hint, wake_event = done_hint(job_id), asyncio.Event()
        self._wake_events.setdefault(hint, set()).add(wake_event)
        self._start_listening()
        try:
            return await self._look_until_done(job_id, wake_event, timeout)
        finally:
            self._wake_events[hint].discard(wake_event)
            if not self._wake_events[hint]:
                del self._wake_events[hint]

    async def close(self) -> None:
        """Stop listening."""
        if self._listener is not None:
            self._listener.cancel()
            with suppress(asyncio.CancelledError):
                await self._listener
            self._listener = None

    async def _look_until_done(
        self, job_id: JobId, wake_event: asyncio.Event, timeout: timedelta | None
    ) -> str | None:
        started, pause, is_noted = self._env.monotonic(), FIRST_PAUSE, False
        while True:
            wake_event.clear()
            ending = await self._jobs.ending(job_id)
            if ending is None:
                raise JobNotFound(job_id)
            if ending.state in FINISHED:
                return _result(job_id, ending)
            waited = self._env.monotonic() - started
            if not is_noted and (ending.state is not State.AVAILABLE or waited > LET_BE):
                pause, is_noted = FIRST_PAUSE_IF_NOTED, True
                await self._note(job_id)
                continue
            left = None if timeout is None else timeout.total_seconds() - waited
            if left is not None and left <= 0:
                told = await self._last_error(job_id)
                raise ResultTimeout(
                    job_id, waited=timeout or timedelta(0), state=ending.state, last_error=told
                )
            with suppress(TimeoutError):
                await asyncio.wait_for(wake_event.wait(), timeout=pause if left is None else min(pause, left))
            pause = min(pause * 1.5, LAST_PAUSE)

    async def _last_error(self, job_id: JobId) -> str:
        """How its last attempt failed, and when it is tried again; empty if none has failed."""
        job = await self._jobs.get(job_id)
        if job is None or job.error is None:
            return ""
        error = f"{job.error.get('type', 'an error')}: {job.error.get('message', '')}"
        again = f", next try at {job.run_at:%H:%M:%S} UTC" if job.state is State.SCHEDULED else ""
        return f"attempt {job.attempt} failed: {error}{again}"

    async def _note(self, job_id: JobId) -> None:
        queue = await self._jobs.note_waiter(job_id)
        if queue is not None:
            # The note locked the row for a moment, and a worker that came just then has not seen the job.
            self._wakeups.send(queue_hint(queue))

    def _start_listening(self) -> None:
        if self._listener is None or self._listener.done():
            self._listener = asyncio.get_running_loop().create_task(self._wakeups.listen(self._on_hint))

    def _on_hint(self, hint: str) -> None:
        rung = self._wake_events.values() if hint == ANYTHING else [self._wake_events.get(hint, set())]
        for bells in rung:
            for wake_event in bells:
                wake_event.set()


def _result(job_id: JobId, ending: Ending) -> str | None:
    match ending.state:
        case State.COMPLETED:
            return ending.result
        case State.CANCELLED:
            raise JobCancelled(job_id, ending.reason)
        case _:
            raise JobDead(job_id, ending.error)
