"""Looking at jobs and acting on waiting ones, once for both databases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from backstay.errors import JobNotFound, WrongState
from backstay.model.job import Attempt, Job, JobId, NewJob
from backstay.model.records import Ending, JobFilter, QueueCount
from backstay.model.state_match import StateMatch
from backstay.model.states import WAITING, State, sources_of
from backstay.stores import audit, quotas, rows
from backstay.stores.database.interface import Connection, Lane, Row
from backstay.stores.enqueuing import values_of
from backstay.stores.job_ended import AfterEnd
from backstay.stores.job_filters import search_values
from backstay.stores.reactions import react

MOST_COUNTED = 10_000


@dataclass(frozen=True, slots=True)
class JobStore:
    """Reads jobs and changes waiting ones on one lane."""

    lane: Lane
    after: AfterEnd

    async def get(self, job_id: JobId) -> Job | None:
        found = await self.lane.fetch("jobs/get", id=job_id)
        return rows.job(found[0]) if found else None

    async def search(
        self, filters: JobFilter, *, before: JobId | None, limit: int, match: StateMatch | None = None
    ) -> list[Job]:
        values = search_values(filters, match)
        query = "jobs/search_oldest" if filters.order == "oldest" else "jobs/search"
        found = await self.lane.fetch(query, before=before, limit=limit, **values)
        return [rows.job(row) for row in found]

    async def counts(self, *, tenant: str | None = None, most: int = MOST_COUNTED) -> list[QueueCount]:
        found = await self.lane.fetch("jobs/counts", tenant=tenant, most=most)
        return [rows.queue_count(row) for row in found]

    async def attempts(self, job_id: JobId) -> list[Attempt]:
        return [rows.attempt(row) for row in await self.lane.fetch("attempts/of_job", id=job_id)]

    async def runs(self, job_id: JobId) -> list[Attempt]:
        return [rows.attempt(row) for row in await self.lane.fetch("attempts/all_of_job", id=job_id)]

    async def ending(self, job_id: JobId) -> Ending | None:
        found = await self.lane.fetch("jobs/ending", id=job_id)
        return rows.ending(found[0]) if found else None

    async def note_waiter(self, job_id: JobId) -> str | None:
        found = await self.lane.fetch("jobs/await", id=job_id)
        return found[0]["queue"] if found else None

    async def cancel(self, job_id: JobId, *, actor: str, reason: str, running: bool) -> State:
        state, queues = await self._cancel(job_id, actor=actor, reason=reason, running=running)
        if state is State.CANCELLED:
            await self.after.follow_waiting([job_id])
            self.after.hint(queues)
        return state

    async def _cancel(
        self, job_id: JobId, *, actor: str, reason: str, running: bool
    ) -> tuple[State, set[str]]:
        async with self.lane.transaction() as connection:
            was, _ = await _before(connection, job_id)
            for verb, state in (("cancel", State.CANCELLED), ("request_cancel", State.RUNNING)):
                if state is State.RUNNING and not running:
                    continue
                found = await connection.fetch_each(f"jobs/{verb}", [{"job_id": job_id, "why": reason}])
                if found:
                    line = _line(found[0], was, state, actor=actor, action=f"job.{verb}", reason=reason)
                    await audit.record(connection, [line])
                    return state, await react(connection, found) if state is State.CANCELLED else set()
            allowed = WAITING | {State.RUNNING} if running else WAITING
            raise await refusal(connection, job_id, asked="cancel", allowed=allowed)

    async def reschedule(self, job_id: JobId, *, run_at: datetime, actor: str) -> None:
        values = {"job_id": job_id, "next_run_at": run_at}
        async with self.lane.transaction() as connection:
            was, before = await _before(connection, job_id)
            found = await connection.fetch_each("jobs/reschedule", [values])
            if not found or before is None:
                raise await refusal(connection, job_id, asked="reschedule", allowed=sources_of("reschedule"))
            line = _line(found[0], was, State.SCHEDULED, actor=actor, action="job.reschedule", reason=None)
            times = {"before": rows.moment(before["run_at"]).isoformat(), "after": run_at.isoformat()}
            await audit.record(connection, [replace(line, details=times)])

    async def hold(self, job_id: JobId, *, reason: str, actor: str) -> None:
        values = {"job_id": job_id, "why": reason}
        await self._act("hold", values, actor=actor, to_state=State.HELD, reason=reason)

    async def release(self, job_id: JobId, *, actor: str) -> None:
        async with self.lane.transaction() as connection:
            await _act(connection, "release", {"job_id": job_id}, actor=actor, to_state=None)
            # It does not wait for parents any more, if it did, and nobody may see it run as if it still did.
            await connection.fetch("flows/void", ids=[job_id])

    async def change_priority(
        self, job_id: JobId, *, priority: int, ageing_step: timedelta, actor: str, reason: str | None
    ) -> str:
        values = {
            "job_id": job_id,
            "next_priority": priority,
            "turn_offset": (priority - 5) * ageing_step,
        }
        async with self.lane.transaction() as connection:
            was, before = await _before(connection, job_id)
            found = await connection.fetch_each("jobs/change_priority", [values])
            if not found or before is None:
                raise await refusal(connection, job_id, asked="change the priority of", allowed=WAITING)
            line = audit.Line(
                tenant=found[0]["tenant"],
                actor=actor,
                action="job.change_priority",
                job_id=job_id,
                from_state=was,
                to_state=found[0]["state"],
                reason=reason,
                details={"before": before["priority"], "after": priority},
            )
            await audit.record(connection, [line])
            queue: str = found[0]["queue"]
            return queue

    async def clone(self, job_id: JobId, new: NewJob, *, actor: str, reason: str | None) -> None:
        async with self.lane.transaction() as connection:
            was, before = await _before(connection, job_id)
            if before is None:
                raise JobNotFound(job_id)
            stored = await connection.fetch_each("jobs/enqueue", [values_of(new)])
            if not stored:
                # There from an earlier sending whose reply was lost, or refused.
                return await quotas.refuse_crowded(connection, [new], stored)
            line = audit.Line(
                tenant=before["tenant"],
                actor=actor,
                action="job.clone",
                job_id=job_id,
                from_state=was,
                to_state=was,
                reason=reason,
                details={"cloned_as": str(new.id)},
            )
            await audit.record(connection, [line])

    async def _act(
        self,
        verb: str,
        values: dict[str, Any],
        *,
        actor: str,
        to_state: State | None,
        reason: str | None = None,
    ) -> None:
        async with self.lane.transaction() as connection:
            await _act(connection, verb, values, actor=actor, to_state=to_state, reason=reason)


async def _act(
    connection: Connection,
    verb: str,
    values: dict[str, Any],
    *,
    actor: str,
    to_state: State | None,
    reason: str | None = None,
) -> None:
    was, _ = await _before(connection, values["job_id"])
    found = await connection.fetch_each(f"jobs/{verb}", [values])
    if not found:
        raise await refusal(connection, values["job_id"], asked=verb, allowed=sources_of(verb))
    becomes = to_state or State(found[0]["state"])
    line = _line(found[0], was, becomes, actor=actor, action=f"job.{verb}", reason=reason)
    await audit.record(connection, [line])


async def refusal(
    connection: Connection, job_id: JobId, *, asked: str, allowed: frozenset[State]
) -> WrongState | JobNotFound:
    """Why an action found no job to act on."""
    found: Sequence[Row] = await connection.fetch_each("jobs/states", [{"job_id": job_id}])
    if not found:
        return JobNotFound(job_id)
    return WrongState(job_id, asked=asked, state=found[0]["state"], needs=allowed)


async def _before(connection: Connection, job_id: JobId) -> tuple[str | None, Row | None]:
    """Lock a job until the transaction ends and return its state; None if there is no such job."""
    found = await connection.fetch("jobs/lock_held", ids=[job_id])
    return (found[0]["state"], found[0]) if found else (None, None)


def _line(
    row: Row, was: str | None, becomes: State, *, actor: str, action: str, reason: str | None
) -> audit.Line:
    return audit.Line(
        tenant=row["tenant"],
        actor=actor,
        action=action,
        job_id=rows.job_id(row["id"]),
        from_state=was,
        to_state=becomes.value,
        reason=reason,
    )
