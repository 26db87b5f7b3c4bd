"""Storing new jobs, once for both databases."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeVar

from backstay.errors import IdempotencyMismatch, StoreBusy, StoreConflict, StoreError, StoreUnavailable
from backstay.model.job import AlikeJobs, JobId, NewJob, Stored
from backstay.stores import quotas, rows, signals
from backstay.stores.database.interface import Columns, Connection, Lane

T = TypeVar("T")

KEEP_KEYS = timedelta(hours=24)
ONE_STATEMENT = 1000
"""So many jobs are stored by one statement on every database; more may take several."""
_TRIES = 5


@dataclass(frozen=True, slots=True)
class EnqueuingStore:
    """Stores new jobs on one lane."""

    lane: Lane

    async def enqueue(self, jobs: Sequence[NewJob], *, hint: str | None = None) -> None:
        if not jobs:
            return
        if isinstance(jobs, AlikeJobs) or all(job.is_plain for job in jobs):
            try:
                return await self._enqueue_plain(jobs, hint)
            except StoreConflict:
                # An id is there already: an earlier sending arrived, and only its reply was lost.
                pass
        waits = [(job.id, job.wait) for job in jobs if job.wait is not None]
        if not waits and (len(jobs) <= ONE_STATEMENT or not any(job.tenant for job in jobs)):
            stored = await self.lane.fetch_each("jobs/enqueue", [values_of(job) for job in jobs])
            return await quotas.refuse_crowded(self.lane, jobs, stored)
        async with self.lane.transaction() as connection:
            stored = await connection.fetch_each("jobs/enqueue", [values_of(job) for job in jobs])
            await quotas.refuse_crowded(connection, jobs, stored)
            if waits:
                await signals.expect(connection, waits)

    async def _enqueue_plain(self, jobs: Sequence[NewJob], hint: str | None) -> None:
        first = jobs[0]
        if len(jobs) == 1:
            await self._enqueue_one(_plain_values(first), hint)
        elif isinstance(jobs, AlikeJobs):
            own = Columns(id=jobs.ids, args=jobs.args)
            await self.lane.fetch_each("jobs/enqueue_alike", own, **_shared_values(first))
        elif all(_are_alike(job, first) for job in jobs):
            own = Columns(id=[job.id for job in jobs], args=[job.args for job in jobs])
            await self.lane.fetch_each("jobs/enqueue_alike", own, **_shared_values(first))
        else:
            await self.lane.fetch_each("jobs/enqueue_plain", [_plain_values(job) for job in jobs])

    async def _enqueue_one(self, values: dict[str, Any], hint: str | None) -> None:
        if hint is not None:
            try:
                await self.lane.fetch("jobs/enqueue_and_tell", hint=hint, **values)
                return
            except (StoreConflict, StoreBusy, StoreUnavailable):
                raise
            except StoreError:
                # It may be the hint that was refused: its queue is full, or this role may not notify.
                pass
        await self.lane.fetch("jobs/enqueue_one", **values)

    async def enqueue_keyed(self, jobs: Sequence[NewJob]) -> list[Stored]:
        async def store(connection: Connection) -> list[Stored]:
            return [await store_keyed(connection, job) for job in jobs]

        return await in_transaction(self.lane, store)


async def in_transaction(lane: Lane, store: Callable[[Connection], Awaitable[T]]) -> T:
    """Store jobs with keys in a transaction; once more where a key was freed while we looked."""
    for _ in range(_TRIES):
        try:
            async with lane.transaction() as connection:
                return await store(connection)
        except _KeyFreed:
            continue
    raise StoreBusy(f"a key changed hands {_TRIES} times: try again")


def keys_of(job: NewJob) -> tuple[str, str, str]:
    """Sort key for storing jobs with keys, so that two callers lock them in the same order."""
    return job.tenant, job.idempotency_key or "", job.unique_key or ""


class _KeyFreed(Exception):
    """The job that held the key ended while we looked: undo, and try once more."""


async def store_keyed(connection: Connection, job: NewJob) -> Stored:
    """Store a job with a key, or find the one that has it; for `in_transaction`."""
    if job.debounce_key is not None and (put_off := await _put_off(connection, job, job.debounce_key)):
        return put_off
    existing = await _reserve_keys(connection, job)
    if existing is not None:
        return await _found(connection, job, existing)
    inserted = await connection.fetch_each("jobs/enqueue", [values_of(job)])
    if inserted and job.wait is not None:
        await signals.expect(connection, [(job.id, job.wait)])
    if inserted or await connection.fetch_each("jobs/states", [{"job_id": job.id}]):
        return Stored(job.id, is_new=True)
    if job.unique_key is not None:
        holder = await connection.fetch("keys/find_active", tenant=job.tenant, key=job.unique_key)
        if holder:
            return await _found(connection, job, rows.job_id(holder[0]["job_id"]))
    await _refuse_crowded(connection, job)
    raise _KeyFreed


async def _put_off(connection: Connection, job: NewJob, key: str) -> Stored | None:
    """Put off the job that waits under this key, with the arguments of this one; None if this one is to be stored."""
    kept = await connection.fetch("keys/debounce", tenant=job.tenant, key=key, job_id=job.id)
    waiting = rows.job_id(kept[0]["job_id"])
    if waiting == job.id:
        return None
    values = {
        "job_id": waiting,
        "args": job.args,
        "delay": job.delay,
        "longest": job.longest_debounce,
    }
    if await connection.fetch_each("jobs/put_off", [values]):
        return Stored(waiting, is_new=False)
    await connection.fetch("keys/debounce_by", tenant=job.tenant, key=key, job_id=job.id)
    return None


async def _refuse_crowded(connection: Connection, job: NewJob) -> None:
    crowded = await connection.fetch_each("quotas/crowded", quotas.groups([job]))
    if crowded:
        raise quotas.exceeded(crowded)


async def _found(connection: Connection, job: NewJob, existing: JobId) -> Stored:
    if job.idempotency_key is not None and existing != job.id:
        # A unique key led to another job: from now on the idempotency key stands for that one too.
        await connection.fetch(
            "keys/point", tenant=job.tenant, key=job.idempotency_key, job_id=existing, instead_of=job.id
        )
    # Our own id: a first sending stored it and only the reply was lost.
    return Stored(existing, is_new=existing == job.id)


async def _reserve_keys(connection: Connection, job: NewJob) -> JobId | None:
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
    return {"id": job.id, "args": job.args, **_shared_values(job)}


def _are_alike(one: NewJob, other: NewJob) -> bool:
    return (
        one.kind == other.kind
        and one.queue == other.queue
        and one.priority == other.priority
        and one.ageing_step == other.ageing_step
    )


def _shared_values(job: NewJob) -> dict[str, Any]:
    """What plain jobs of one kind have in common."""
    return {
        "kind": job.kind,
        "queue": job.queue,
        "priority": job.priority,
        "turn_offset": (job.priority - 5) * job.ageing_step,
    }


def values_of(job: NewJob) -> dict[str, Any]:
    """A job as the statement that stores it takes it."""
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
        "order_key": job.order_key,
        "profile": job.profile,
        "category": job.category,
    }
