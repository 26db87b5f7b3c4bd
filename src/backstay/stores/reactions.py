"""Stores the jobs that ends of other jobs bring about, in the transaction that ends them, once for both databases."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from backstay.model.job import JobId, NewJob
from backstay.model.reactions import JobEnded, is_reaction, job_for
from backstay.model.states import State
from backstay.stores import rows
from backstay.stores.database.interface import Connection, Row
from backstay.stores.enqueuing import KEEP_KEYS


async def react(connection: Connection, ended: Iterable[Row]) -> set[str]:
    """Store what follows from these ends, rows that say of each job whether it `reacts`; returns the queues to tell."""
    return await react_to(connection, [rows.job_id(row["id"]) for row in ended if row["reacts"]])


async def react_to(connection: Connection, job_ids: Sequence[JobId]) -> set[str]:
    """Do the same for jobs whose kind is known to react."""
    if not job_ids:
        return set()
    found = await connection.fetch_each("reactions/ended", [{"job_id": job_id} for job_id in sorted(job_ids)])
    caused = [job_for(rows.document(row["reactions"]), _ended(row)) for row in found if not _is_own(row)]
    jobs = [job for job in caused if job is not None]
    return await store_caused(connection, jobs)


async def store_caused(connection: Connection, jobs: Sequence[NewJob]) -> set[str]:
    """Store jobs with keys once each, whatever quotas say; returns the queues to tell."""
    reserved = await connection.fetch_each("reactions/reserve", [_key(job) for job in jobs])
    free = {rows.job_id(row["job_id"]) for row in reserved}
    new = [job for job in jobs if job.id in free]
    await connection.fetch_each("reactions/store", [_values(job) for job in new])
    return {job.queue for job in new}


def _is_own(row: Row) -> bool:
    return is_reaction(row["idempotency_key"])


def _ended(row: Row) -> JobEnded:
    parent = row["parent_id"]
    return JobEnded(
        job_id=rows.job_id(row["id"]),
        kind=row["kind"],
        queue=row["queue"],
        tenant=row["tenant"],
        state=State(row["state"]),
        reason=row["reason"],
        error=rows.document(row["error"]),
        attempt=row["attempt"],
        run=row["run"],
        epoch=row["lease_epoch"],
        ended_at=rows.moment(row["ended_at"]),
        created_by=row["created_by"],
        correlation_id=row["correlation_id"],
        parent_id=None if parent is None else rows.job_id(parent),
    )


def _key(job: NewJob) -> dict[str, Any]:
    return {"tenant": job.tenant, "key": job.idempotency_key, "job_id": job.id, "keep": KEEP_KEYS}


def _values(job: NewJob) -> dict[str, Any]:
    return {
        "id": job.id,
        "kind": job.kind,
        "queue": job.queue,
        "priority": job.priority,
        "turn_offset": (job.priority - 5) * job.ageing_step,
        "tenant": job.tenant,
        "args": job.args,
        "parent_id": job.parent_id,
        "correlation_id": job.correlation_id,
        "created_by": job.created_by,
        "idempotency_key": job.idempotency_key,
        "order_key": job.order_key,
        "tags": job.tags,
    }
