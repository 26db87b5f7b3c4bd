"""Jobs that a person must look at, once for both databases."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta

from windlass.errors import JobNotFound, KeyTaken, LetterChanged, StoreConflict, WrongState
from windlass.job import JobId
from windlass.records import DeadLetter, LetterGroup
from windlass.states import State
from windlass.stores import audit, rows
from windlass.stores.database import Connection, Lane
from windlass.stores.jobs import refusal

_NO_DELAY = timedelta(0)


@dataclass(frozen=True, slots=True)
class DeadLetterStore:
    """Lists and closes dead letters on one lane."""

    lane: Lane

    async def open(
        self,
        *,
        kind: str | None,
        queue: str | None,
        tenant: str | None,
        limit: int,
        fingerprint: str | None = None,
    ) -> list[DeadLetter]:
        found = await self.lane.fetch(
            "dead_letters/open", kind=kind, queue=queue, tenant=tenant, fingerprint=fingerprint, limit=limit
        )
        return [rows.dead_letter(row) for row in found]

    async def groups(
        self, *, kind: str | None, queue: str | None, tenant: str | None, limit: int
    ) -> list[LetterGroup]:
        found = await self.lane.fetch(
            "dead_letters/groups", kind=kind, queue=queue, tenant=tenant, limit=limit
        )
        return [rows.letter_group(row) for row in found]

    async def of_job(self, job_id: JobId) -> list[DeadLetter]:
        return [rows.dead_letter(row) for row in await self.lane.fetch("dead_letters/of_job", id=job_id)]

    async def investigate(
        self, job_id: JobId, *, actor: str, note: str | None, version: int | None = None
    ) -> int:
        values = {"letter_job_id": job_id, "who": actor, "remark": note, "expected": version}
        async with self.lane.transaction() as connection:
            found = await connection.fetch_each("dead_letters/investigate", [values])
            if not found:
                raise await _refusal(connection, job_id, asked="investigate", version=version)
            line = audit.Line(
                tenant=found[0]["tenant"],
                actor=actor,
                action="job.investigate",
                job_id=job_id,
                from_state=State.DEAD.value,
                to_state=State.DEAD.value,
                reason=note,
            )
            await audit.record(connection, [line])
            return int(found[0]["version"])

    async def retry(
        self, job_id: JobId, *, actor: str, reason: str, delay: timedelta, version: int | None = None
    ) -> str:
        values = {"job_id": job_id, "delay": delay, "no_delay": _NO_DELAY}
        to_state = State.SCHEDULED if delay > _NO_DELAY else State.AVAILABLE
        decision = _Decision(
            "retry", "retried", actor=actor, reason=reason, to_state=to_state, version=version
        )
        try:
            return await self._close(job_id, values, decision)
        except StoreConflict as error:
            raise KeyTaken(job_id) from error

    async def resolve(
        self, job_id: JobId, *, actor: str, reason: str, ignored: bool, version: int | None = None
    ) -> None:
        values = {"job_id": job_id, "why": reason}
        status = "ignored" if ignored else "resolved"
        decision = _Decision(
            "resolve", status, actor=actor, reason=reason, to_state=State.RESOLVED, version=version
        )
        await self._close(job_id, values, decision)

    async def _close(self, job_id: JobId, values: dict[str, object], decision: _Decision) -> str:
        async with self.lane.transaction() as connection:
            # The job before its letter, always: two who decide at once then wait for one another.
            found = await connection.fetch_each(f"dead_letters/{decision.verb}", [values])
            if not found:
                raise await _refusal(connection, job_id, asked=decision.verb, version=decision.version)
            closed = await connection.fetch_each("dead_letters/close", [decision.of(job_id)])
            if not closed and decision.version is not None:
                raise await _refusal(connection, job_id, asked=decision.verb, version=decision.version)
            await audit.record(connection, [decision.line(job_id, found[0]["tenant"])])
            return str(found[0]["queue"])


@dataclass(frozen=True, slots=True, kw_only=True)
class _Decision:
    """What a person decided about dead jobs."""

    verb: str = field(kw_only=False)
    status: str = field(kw_only=False)
    actor: str
    reason: str
    to_state: State
    version: int | None = None

    def of(self, job_id: JobId) -> dict[str, object]:
        return {
            "letter_job_id": job_id,
            "next_status": self.status,
            "who": self.actor,
            "why": self.reason,
            "expected": self.version,
        }

    def line(self, job_id: JobId, tenant: str) -> audit.Line:
        return audit.Line(
            tenant=tenant,
            actor=self.actor,
            action=f"job.{self.verb}",
            job_id=job_id,
            from_state=State.DEAD.value,
            to_state=self.to_state.value,
            reason=self.reason,
        )


async def _refusal(
    connection: Connection, job_id: JobId, *, asked: str, version: int | None
) -> LetterChanged | WrongState | JobNotFound:
    """Why a decision found nothing to decide; whoever named a version learns who was faster."""
    letters = [rows.dead_letter(row) for row in await connection.fetch("dead_letters/of_job", id=job_id)]
    if version is not None and letters and letters[0].version != version:
        newest = letters[0]
        return LetterChanged(job_id, status=newest.status, by=newest.changed_by, at=newest.changed_at)
    return await refusal(connection, job_id, asked=asked, allowed=frozenset({State.DEAD}))
