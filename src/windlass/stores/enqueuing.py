"""Storing new jobs, once for both databases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from windlass.errors import IdempotencyMismatch, StoreBusy, StoreConflict
from windlass.job import JobId, NewJob, Stored
from windlass.stores import rows
from windlass.stores.database import Connection, Lane

KEEP_KEYS = timedelta(hours=24)
_TRIES = 5


@dataclass(frozen=True, slots=True)
class EnqueuingStore:
    """Stores new jobs on one lane."""

    lane: Lane

    async def enqueue(self, jobs: Sequence[NewJob]) -> None:
        if all(job.is_plain for job in jobs):
            try:
                await self.lane.fetch_each("jobs/enqueue_plain", [_plain_values(job) for job in jobs])
                return
            except StoreConflict:
                # An id is there already: an earlier sending arrived, and only its reply was lost.
                pass
        await self.lane.fetch_each("jobs/enqueue", [_values(job) for job in jobs])

    async def enqueue_keyed(self, jobs: Sequence[NewJob]) -> list[Stored]:
        for _ in range(_TRIES):
            try:
                async with self.lane.transaction() as connection:
                    return [await _store_keyed(connection, job) for job in jobs]
            except _KeyFreed:
                continue
        raise StoreBusy(f"the key of job {jobs[0].id} changed hands {_TRIES} times: try again")


class _KeyFreed(Exception):
    """The job that held the key ended while we looked: undo, and try once more."""


async def _store_keyed(connection: Connection, job: NewJob) -> Stored:
    existing = await _existing(connection, job)
    if existing is not None:
        return await _found(connection, job, existing)
    inserted = await connection.fetch_each("jobs/enqueue", [_values(job)])
    if inserted or await connection.fetch_each("jobs/states", [{"job_id": job.id}]):
        return Stored(job.id, is_new=True)
    if job.unique_key is not None:
        holder = await connection.fetch("keys/find_active", tenant=job.tenant, key=job.unique_key)
        if holder:
            return await _found(connection, job, rows.job_id(holder[0]["job_id"]))
        raise _KeyFreed
    return Stored(job.id, is_new=True)


async def _found(connection: Connection, job: NewJob, existing: JobId) -> Stored:
    if job.idempotency_key is not None and existing != job.id:
        # A unique key led to another job: from now on the idempotency key stands for that one too.
        await connection.fetch(
            "keys/point", tenant=job.tenant, key=job.idempotency_key, job_id=existing, instead_of=job.id
        )
    # Our own id: a first sending stored it and only the reply was lost.
    return Stored(existing, is_new=existing == job.id)


async def _existing(connection: Connection, job: NewJob) -> JobId | None:
    """Take the job's keys, or find the job that has them."""
    if job.idempotency_key is not None:
        found = await _reserve(connection, job, job.idempotency_key)
        if found is not None:
            return found
    if job.unique_key is not None and job.unique_for is not None:
        return await _reserve_window(connection, job, job.unique_key, job.unique_for)
    return None


async def _reserve(connection: Connection, job: NewJob, key: str) -> JobId | None:
    taken = await connection.fetch(
        "keys/reserve", tenant=job.tenant, key=key, fingerprint=job.fingerprint, job_id=job.id, keep=KEEP_KEYS
    )
    if taken:
        return None
    holder = await connection.fetch("keys/find", tenant=job.tenant, key=key)
    if not holder:
        raise _KeyFreed
    if holder[0]["fingerprint"] != job.fingerprint:
        raise IdempotencyMismatch(key)
    return rows.job_id(holder[0]["job_id"])


async def _reserve_window(connection: Connection, job: NewJob, key: str, length: timedelta) -> JobId | None:
    taken = await connection.fetch(
        "keys/reserve_window", tenant=job.tenant, key=key, length=length, job_id=job.id
    )
    if taken:
        return None
    holder = await connection.fetch("keys/find_window", tenant=job.tenant, key=key)
    if not holder:
        raise _KeyFreed
    return rows.job_id(holder[0]["job_id"])


def _plain_values(job: NewJob) -> dict[str, Any]:
    return {
        "id": job.id,
        "kind": job.kind,
        "queue": job.queue,
        "args": job.args,
        "priority": job.priority,
        "turn_offset": (job.priority - 5) * job.ageing_step,
    }


def _values(job: NewJob) -> dict[str, Any]:
    return {
        **_plain_values(job),
        "delay": job.delay,
        "run_at": job.run_at,
        "held_for": job.held_for,
        "tenant": job.tenant,
        "own_max_attempts": job.max_attempts,
        "own_timeout": job.timeout,
        "own_lease": job.lease,
        "policy": job.policy,
        "tags": job.tags,
        "metadata": job.metadata,
        "name": job.name,
        "description": job.description,
        "parent_id": job.parent_id,
        "correlation_id": job.correlation_id,
        "created_by": job.created_by,
        "idempotency_key": job.idempotency_key,
        # A key with a window of its own lives in the table of windows; only the others must be free of active jobs.
        "unique_key": None if job.unique_for is not None else job.unique_key,
        "expires_at": job.expires_at,
        "expires_in": job.expires_in,
        "deadline": job.deadline,
        "deadline_in": job.deadline_in,
    }
