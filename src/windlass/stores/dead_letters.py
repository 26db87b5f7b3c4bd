"""Jobs that a person must look at, once for both databases."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from windlass.errors import KeyTaken, StoreConflict
from windlass.job import JobId
from windlass.records import DeadLetter
from windlass.states import State, sources_of
from windlass.stores import audit, rows
from windlass.stores.database import Lane
from windlass.stores.jobs import refusal

_NO_DELAY = timedelta(0)


@dataclass(frozen=True, slots=True)
class DeadLetterStore:
    """Lists and closes dead letters on one lane."""

    lane: Lane

    async def open(
        self, *, kind: str | None, queue: str | None, tenant: str | None, limit: int
    ) -> list[DeadLetter]:
        found = await self.lane.fetch("dead_letters/open", kind=kind, queue=queue, tenant=tenant, limit=limit)
        return [rows.dead_letter(row) for row in found]

    async def of_job(self, job_id: JobId) -> list[DeadLetter]:
        return [rows.dead_letter(row) for row in await self.lane.fetch("dead_letters/of_job", id=job_id)]

    async def retry(self, job_id: JobId, *, actor: str, reason: str, delay: timedelta) -> str:
        values = {"job_id": job_id, "delay": delay, "no_delay": _NO_DELAY}
        to_state = State.SCHEDULED if delay > _NO_DELAY else State.AVAILABLE
        try:
            return await self._close(
                "retry", values, status="retried", actor=actor, reason=reason, to_state=to_state
            )
        except StoreConflict as error:
            raise KeyTaken(job_id) from error

    async def resolve(self, job_id: JobId, *, actor: str, reason: str, ignored: bool) -> None:
        values = {"job_id": job_id, "why": reason}
        status = "ignored" if ignored else "resolved"
        await self._close(
            "resolve", values, status=status, actor=actor, reason=reason, to_state=State.RESOLVED
        )

    async def _close(
        self, verb: str, values: dict[str, object], *, status: str, actor: str, reason: str, to_state: State
    ) -> str:
        job_id = JobId(rows.job_id(values["job_id"]))
        async with self.lane.transaction() as connection:
            found = await connection.fetch_each(f"dead_letters/{verb}", [values])
            if not found:
                raise await refusal(connection, job_id, asked=verb, allowed=sources_of(verb))
            letter = {"letter_job_id": job_id, "next_status": status, "who": actor, "why": reason}
            await connection.fetch_each("dead_letters/close", [letter])
            line = audit.Line(
                tenant=found[0]["tenant"],
                actor=actor,
                action=f"job.{verb}",
                job_id=job_id,
                from_state=State.DEAD.value,
                to_state=to_state.value,
                reason=reason,
            )
            await audit.record(connection, [line])
            return str(found[0]["queue"])
