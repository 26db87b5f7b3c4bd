"""Storing jobs that wait for other jobs, and looking at them, once for both databases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import msgspec

from backstay.errors import ClaimLost, InvalidFlow
from backstay.model import flows
from backstay.model.flows import (
    Dependency,
    DependencyRecord,
    DependencyType,
    FlowJob,
    FlowRecord,
    NewFlow,
    with_found,
)
from backstay.model.job import JobId
from backstay.model.states import State
from backstay.stores import audit, flow_rows, rows, signals
from backstay.stores.database.interface import Connection, Lane, Row
from backstay.stores.enqueuing import in_transaction, keys_of, store_keyed, values_of
from backstay.stores.job_ended import AfterEnd
from backstay.stores.reactions import react

_START = JobId(UUID(int=0))


@dataclass(frozen=True, slots=True)
class FlowStore:
    """Stores flows on one lane."""

    lane: Lane
    after: AfterEnd

    async def enqueue(self, flow: NewFlow) -> Mapping[JobId, JobId]:
        stored, found = await in_transaction(self.lane, lambda connection: _store(connection, flow))
        # A parent may have ended before the ties to it could be seen.
        await self.after.follow(stored.outside)
        return found

    async def sweep(self, *, after: JobId | None, limit: int) -> JobId | None:
        found = await self.lane.fetch("flows/missed", after=after or _START, limit=limit)
        await self.after.follow_or_raise([rows.job_id(row["id"]) for row in found if row["is_missed"]])
        return rows.job_id(found[-1]["id"]) if len(found) >= limit else None

    async def all(self, *, tenant: str | None, before: JobId | None, limit: int) -> list[FlowRecord]:
        found = await self.lane.fetch("flows/all", tenant=tenant, before=before, limit=limit)
        return await self._with_progress(found)

    async def get(self, flow_id: JobId) -> FlowRecord | None:
        found = await self._with_progress(await self.lane.fetch("flows/get", id=flow_id))
        return found[0] if found else None

    async def jobs(self, flow_id: JobId) -> list[FlowJob]:
        return [flow_rows.flow_job(row) for row in await self.lane.fetch("flows/members", id=flow_id)]

    async def ties(self, flow_id: JobId) -> list[DependencyRecord]:
        return [flow_rows.dependency_record(row) for row in await self.lane.fetch("flows/tied", id=flow_id)]

    async def of_job(self, job_id: JobId) -> list[DependencyRecord]:
        return [flow_rows.dependency_record(row) for row in await self.lane.fetch("flows/of_job", id=job_id)]

    async def cancel(self, job_ids: Sequence[JobId], *, actor: str, reason: str) -> list[JobId]:
        given = [{"job_id": job_id, "why": reason} for job_id in sorted(job_ids)]
        async with self.lane.transaction() as connection:
            waiting = await connection.fetch_each("jobs/cancel", given)
            running = await connection.fetch_each("jobs/request_cancel", given)
            lines = [_line(row, actor, reason, State.CANCELLED) for row in waiting]
            await audit.record(
                connection, lines + [_line(row, actor, reason, State.RUNNING) for row in running]
            )
            queues = await react(connection, waiting)
        cancelled = [rows.job_id(row["id"]) for row in waiting]
        await self.after.follow(cancelled)
        self.after.hint(queues)
        return cancelled + [rows.job_id(row["id"]) for row in running]

    async def run_again(self, root: JobId, copies: Mapping[JobId, JobId], *, actor: str, reason: str) -> None:
        given = [
            {"job_id": old, "new_id": new, "why": flows.WAITS, "who": actor} for old, new in copies.items()
        ]
        async with self.lane.transaction() as connection:
            ties = [
                flow_rows.dependency_record(row)
                for old in copies
                for row in await connection.fetch("flows/of_job", id=old)
                if rows.job_id(row["job_id"]) == old
            ]
            stored = await connection.fetch_each("flows/copy", given)
            for old, new in copies.items():
                await connection.fetch("flows/take_place", id=old, new_id=new)
            again = [_moved(one.dependency, copies) for one in ties if _is_kept(one.dependency, root)]
            await connection.fetch_each("flows/tie", [_tie_values(one) for one in again])
            await audit.record(
                connection,
                [_again(old, new, actor, reason, stored[0]["tenant"]) for old, new in copies.items()],
            )
            free = sorted(set(copies.values()) - {one.job_id for one in again})
            released = await connection.fetch_each("jobs/release", [{"job_id": new} for new in free])
        self.after.hint(row["queue"] for row in released)
        await self.after.follow(sorted({one.parent_id for one in again} - set(copies.values())))

    async def _with_progress(self, found: Sequence[Row]) -> list[FlowRecord]:
        ids = [rows.job_id(row["id"]) for row in found]
        counted: dict[JobId, dict[State, int]] = {flow_id: {} for flow_id in ids}
        for row in await self.lane.fetch("flows/progress", ids=ids) if ids else ():
            counted[rows.job_id(row["flow_id"])][State(row["state"])] = row["jobs"]
        return [flow_rows.flow(row, counted[rows.job_id(row["id"])]) for row in found]


async def _store(connection: Connection, flow: NewFlow) -> tuple[NewFlow, dict[JobId, JobId]]:
    """Store a flow; returns what of it was stored, and the jobs that keys have found instead of others."""
    whose = await check(connection, flow)
    # In the order of their keys: two flows that share some then wait for one another instead of deadlocking.
    keyed = sorted((job for job in flow.jobs if job.is_keyed), key=keys_of)
    stored = {job.id: (await store_keyed(connection, job)).id for job in keyed}
    found = {job_id: other for job_id, other in stored.items() if other != job_id}
    rest = with_found(flow, found)
    plain = [job for job in rest.jobs if not job.is_keyed]
    await connection.fetch_each("jobs/enqueue", [values_of(job) for job in plain])
    waits = [(job.id, job.wait) for job in plain if job.wait is not None]
    if waits:
        await signals.note(connection, waits)
    if rest.jobs:
        await tie(connection, rest, *whose)
    return rest, found


async def check(connection: Connection, flow: NewFlow) -> tuple[JobId | None, JobId | None]:
    """Refuse what cannot be stored, before anything is; returns the flow and the callback that the jobs belong to."""
    flows.check_sizes(len(flow.jobs), flow.dependencies)
    flow_id: JobId | None = flow.id if flow.name is not None else None
    callback_id = flow.callback_id
    if flow.within is not None:
        job_id, epoch = flow.within
        found = await connection.fetch("flows/of_running", id=job_id)
        if not found or found[0]["lease_epoch"] != epoch:
            raise ClaimLost([job_id])
        if flow_id is None:
            flow_id, callback_id = (
                flow_rows.maybe_job_id(found[0][name]) for name in ("flow_id", "callback_id")
            )
    outside = flow.outside
    known = await connection.fetch("flows/known", ids=outside, tenant=flow.tenant) if outside else ()
    missing = sorted(set(outside) - {rows.job_id(row["id"]) for row in known})
    if missing:
        whose = f"of tenant {flow.tenant!r}" if flow.tenant else "without a tenant"
        raise InvalidFlow(
            f"there is no job {missing[0]} {whose} to wait for: the id is wrong, the job belongs to another "
            "tenant, or retention has removed it; nothing was stored"
        )
    return flow_id, callback_id


async def tie(
    connection: Connection, flow: NewFlow, flow_id: JobId | None, callback_id: JobId | None
) -> None:
    """Store what belongs to a flow besides its jobs."""
    if flow.name is not None:
        entry = {"id": flow.id, "tenant": flow.tenant, "name": flow.name, "created_by": flow.created_by}
        await connection.fetch_each("flows/add", [{**entry, "callback_id": flow.callback_id}])
    if flow_id is not None:
        parts = [
            {"job_id": job.id, "flow_id": flow_id, "label": flow.labels.get(job.id)} for job in flow.jobs
        ]
        await connection.fetch_each("flows/join", parts)
    ties = list(flow.dependencies)
    if callback_id is not None and flow.callback_id is None:
        # Jobs that are added later count for the callback, too: it cannot have started, for it waits for who adds.
        end = DependencyType.COMPLETION
        ties += [Dependency(job_id=callback_id, parent_id=job.id, type=end) for job in flow.jobs]
    await connection.fetch_each("flows/tie", [_tie_values(one) for one in ties])


def _tie_values(dependency: Dependency) -> dict[str, Any]:
    return {
        "job_id": dependency.job_id,
        "parent_id": dependency.parent_id,
        "place": dependency.place,
        "type": dependency.type.value,
        "condition": None
        if dependency.condition is None
        else msgspec.json.encode(dependency.condition).decode(),
        "on_failure": dependency.on_failure.value,
    }


def _is_kept(dependency: Dependency, root: JobId) -> bool:
    return dependency.job_id != root or dependency.type is DependencyType.DATA


def _moved(dependency: Dependency, copies: Mapping[JobId, JobId]) -> Dependency:
    return Dependency(
        job_id=copies[dependency.job_id],
        parent_id=copies.get(dependency.parent_id, dependency.parent_id),
        type=dependency.type,
        on_failure=dependency.on_failure,
        place=dependency.place,
        condition=dependency.condition,
    )


def _line(row: Row, actor: str, reason: str, state: State) -> audit.Line:
    action = "job.cancel" if state is State.CANCELLED else "job.request_cancel"
    return audit.Line(
        tenant=row["tenant"],
        actor=actor,
        action=action,
        job_id=rows.job_id(row["id"]),
        to_state=state.value,
        reason=reason,
    )


def _again(old: JobId, new: JobId, actor: str, reason: str, tenant: str) -> audit.Line:
    return audit.Line(
        tenant=tenant,
        actor=actor,
        action="job.run_again",
        job_id=old,
        reason=reason,
        details={"new_id": str(new)},
    )
