"""Asks for a run and waits for its end, with a worker of its own: what the command line does for a person."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from backstay import JobHandle
from backstay.errors import JobDead, JobFailed, ResultTimeout
from backstay_watchpoint.domain.brake import RELEASE_SIGNAL
from backstay_watchpoint.domain.catalogue import TaskSpec
from backstay_watchpoint.jobs import Jobs
from backstay_watchpoint.store import runs
from backstay_watchpoint.store.runs import RunState, Trigger

RESULT_SECONDS = 600
LOOK_SECONDS = 0.5
_LOGGERS = ("backstay", "backstay_watchpoint")


class NotDone(Exception):
    """A run that did not come to its end; the message says why, and what to do."""


async def run_and_wait(
    jobs: Jobs, spec: TaskSpec, at: datetime | None, given: dict[str, Any]
) -> dict[str, Any]:
    """Run a task and return what its history shows; raises NotDone."""
    with _quiet():
        async with jobs.platform.app.working(concurrency=2, queues=["maintenance", "poll"]):
            job = await jobs.enqueue(spec, trigger=Trigger.MANUAL, reference_time=at, **given)
            try:
                return await _result(jobs, job)
            except JobDead as error:
                raise NotDone(str(error.error.get("message") or error)) from error
            except JobFailed as error:
                raise NotDone(str(error)) from error
            except ResultTimeout as error:
                raise NotDone(f"{error}; `history` shows what becomes of it") from error


async def _result(jobs: Jobs, job: JobHandle[dict[str, Any]]) -> dict[str, Any]:
    result = asyncio.create_task(job.result(timeout=RESULT_SECONDS))
    try:
        while not result.done():
            await asyncio.wait([result], timeout=LOOK_SECONDS)
            await _check_brake(jobs, str(job.id))
        return await result
    finally:
        result.cancel()


async def _check_brake(jobs: Jobs, job_id: str) -> None:
    """Raise NotDone if the run waits for a person: whoever asked must not wait in silence."""
    async with jobs.platform.database.reading() as transaction:
        found = await runs.run_of_job(transaction, job_id)
    if found is not None and found["status"] == RunState.BRAKED:
        raise NotDone(
            f"run {found['id']} waits for a person: {found['reason']}. The page /ops/runs/{found['id']} has the "
            f"buttons to release it or not; `backstay signal {job_id} {RELEASE_SIGNAL}` releases it, too"
        )


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep tracebacks out of a person's terminal: the history and the answer say what went wrong."""
    loggers = [logging.getLogger(name) for name in _LOGGERS]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
