"""Jobs that a person must look at, once for both databases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from backstay.errors import DeadLetterChanged, JobNotFound, KeyTaken, StoreConflict, WrongState
from backstay.handlers import codec
from backstay.model.job import JobId
from backstay.model.records import DeadLetter, DeadLetterFilter, DeadLetterGroup, DeadLetterHour, LetterMark
from backstay.model.states import State
from backstay.model.text.salted import salted
from backstay.stores import audit, misfits, rows
from backstay.stores.contract.dead_letters import OtherArgs
from backstay.stores.database.interface import Connection, Lane, Row
from backstay.stores.job_ended import AfterEnd
from backstay.stores.jobs import refusal
from backstay.stores.reactions import react

_NO_DELAY = timedelta(0)
_START = LetterMark(datetime(1970, 1, 1, tzinfo=UTC), JobId(UUID(int=0)))


@dataclass(frozen=True, slots=True)
class DeadLetterStore:
    """Lists and closes dead letters on one lane."""

    lane: Lane
    after: AfterEnd

    async def open(
        self,
        *,
        kind: str | None,
        queue: str | None,
        tenant: str | None,
        limit: int,
        fingerprint: str | None = None,
        owner: str | None = None,
    ) -> list[DeadLetter]:
        found = await self.lane.fetch(
            "dead_letters/open",
            kind=kind,
            queue=queue,
            tenant=tenant,
            fingerprint=fingerprint,
            owner=owner,
            limit=limit,
        )
        return [rows.dead_letter(row) for row in found]

    async def groups(
        self, *, kind: str | None, queue: str | None, tenant: str | None, limit: int, most: int
    ) -> list[DeadLetterGroup]:
        found = await self.lane.fetch(
            "dead_letters/groups", kind=kind, queue=queue, tenant=tenant, limit=limit, most=most
        )
        return [rows.letter_group(row) for row in found]

    async def arguments(self, job_id: JobId) -> list[dict[str, Any] | None]:
        found = await self.lane.fetch("dead_letters/arguments", id=job_id)
        return [rows.document(row["args"]) for row in found]

    async def by_hour(self, *, since: datetime, tenant: str | None, limit: int) -> list[DeadLetterHour]:
        found = await self.lane.fetch("dead_letters/by_hour", since=since, tenant=tenant, limit=limit)
        return [rows.letter_hour(row) for row in found]

    async def of_job(self, job_id: JobId) -> list[DeadLetter]:
        return [rows.dead_letter(row) for row in await self.lane.fetch("dead_letters/of_job", id=job_id)]

    async def count(self, filters: DeadLetterFilter, *, died_until: datetime) -> int:
        found = await self.lane.fetch("dead_letters/count", died_until=died_until, **_narrowed(filters))
        return int(found[0]["letters"])

    async def next_open(
        self, filters: DeadLetterFilter, *, died_until: datetime, after: LetterMark | None, limit: int
    ) -> list[LetterMark]:
        mark = after or _START
        found = await self.lane.fetch(
            "dead_letters/next_open",
            died_until=died_until,
            after_died_at=mark.died_at,
            after_job_id=mark.job_id,
            limit=limit,
            **_narrowed(filters),
        )
        return [LetterMark(rows.moment(row["died_at"]), rows.job_id(row["job_id"])) for row in found]

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
        self,
        job_id: JobId,
        *,
        actor: str,
        reason: str,
        delay: timedelta,
        version: int | None = None,
        args: OtherArgs | None = None,
    ) -> str:
        decision = _retry(actor=actor, reason=reason, delay=delay, version=version, args=args)
        try:
            return await self._close(job_id, decision, args=args)
        except StoreConflict as error:
            raise KeyTaken(job_id) from error

    async def retry_as_new(
        self,
        job_id: JobId,
        *,
        new_id: JobId,
        actor: str,
        reason: str,
        delay: timedelta,
        version: int | None = None,
        args: OtherArgs | None = None,
    ) -> str:
        decision = _replace(new_id, actor=actor, reason=reason, version=version)
        copy = {
            "new_id": new_id,
            "delay": delay,
            "no_delay": _NO_DELAY,
            "new_args": _text(args),
            "who": actor,
        }
        try:
            return await self._close(job_id, decision, args=args, copy=copy)
        except StoreConflict as error:
            raise KeyTaken(job_id) from error

    async def resolve(
        self, job_id: JobId, *, actor: str, reason: str, ignored: bool, version: int | None = None
    ) -> None:
        await self._close(job_id, _resolve(actor=actor, reason=reason, ignored=ignored, version=version))

    async def retry_many(
        self, job_ids: Sequence[JobId], *, actor: str, reason: str, delay: timedelta
    ) -> dict[JobId, str]:
        decision = _retry(actor=actor, reason=reason, delay=delay)
        try:
            return await self._close_many(job_ids, decision)
        except StoreConflict:
            # Some unique key is taken: all others come back, each alone.
            queues: dict[JobId, str] = {}
            for job_id in job_ids:
                with suppress(StoreConflict):
                    queues |= await self._close_many([job_id], decision)
            return queues

    async def resolve_many(
        self, job_ids: Sequence[JobId], *, actor: str, reason: str, ignored: bool
    ) -> list[JobId]:
        return list(await self._close_many(job_ids, _resolve(actor=actor, reason=reason, ignored=ignored)))

    async def _close(
        self,
        job_id: JobId,
        decision: _Decision,
        *,
        args: OtherArgs | None = None,
        copy: Mapping[str, object] | None = None,
    ) -> str:
        async with self.lane.transaction() as connection:
            before = await connection.fetch("jobs/get", id=job_id)
            if before and args is not None:
                decision = decision.with_other_args(before[0], args)
            queues, told = await decision.carry_out(connection, [job_id])
            if not queues:
                raise await _refusal(connection, job_id, asked=decision.verb, version=decision.version)
            if copy is not None:
                metadata = {**(rows.document(before[0]["metadata"]) or {}), "retried_from": str(job_id)}
                values = {"job_id": job_id, "new_metadata": codec.encode(metadata, what="metadata"), **copy}
                await connection.fetch_each("dead_letters/clone", [values])
                await connection.fetch("flows/repoint", id=job_id, new_id=copy["new_id"])
                await connection.fetch("flows/take_place", id=job_id, new_id=copy["new_id"])
            elif args is not None:
                # What it did with the old arguments is not what it would do with these.
                for what in ("steps/forget", "signals/forget", "signals/forget_waits"):
                    await connection.fetch(what, id=job_id)
                await misfits.forget(connection, job_id)
        await self.after.follow([job_id])
        self.after.hint(told)
        return queues[job_id]

    async def _close_many(self, job_ids: Sequence[JobId], decision: _Decision) -> dict[JobId, str]:
        async with self.lane.transaction() as connection:
            # In the order of ids, so that two who decide about the same jobs cannot block each other forever.
            queues, told = await decision.carry_out(connection, sorted(job_ids))
        await self.after.follow(queues)
        self.after.hint(told)
        return queues


def _text(args: OtherArgs | None) -> str | None:
    return None if args is None else args.text


def _narrowed(filters: DeadLetterFilter) -> dict[str, str | None]:
    return {
        "kind": filters.kind,
        "queue": filters.queue,
        "tenant": filters.tenant,
        "fingerprint": filters.fingerprint,
    }


def _retry(
    *, actor: str, reason: str, delay: timedelta, version: int | None = None, args: OtherArgs | None = None
) -> _Decision:
    return _Decision(
        verb="retry",
        statement="dead_letters/retry",
        status="retried",
        actor=actor,
        reason=reason,
        to_state=State.SCHEDULED if delay > _NO_DELAY else State.AVAILABLE,
        version=version,
        values={"delay": delay, "no_delay": _NO_DELAY, "new_args": _text(args)},
    )


def _replace(new_id: JobId, *, actor: str, reason: str, version: int | None) -> _Decision:
    return _Decision(
        verb="retry",
        statement="dead_letters/resolve",
        status="retried",
        actor=actor,
        reason=f"{reason}; retried as {new_id}",
        to_state=State.RESOLVED,
        version=version,
        values={"why": f"retried as {new_id}"},
        details={"retried_as": str(new_id)},
    )


def _resolve(*, actor: str, reason: str, ignored: bool, version: int | None = None) -> _Decision:
    return _Decision(
        verb="resolve",
        statement="dead_letters/resolve",
        status="ignored" if ignored else "resolved",
        actor=actor,
        reason=reason,
        to_state=State.RESOLVED,
        version=version,
        values={"why": reason},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Decision:
    """What a person decided about dead jobs; `values` are those of its statement besides the job."""

    verb: str
    statement: str
    status: str
    actor: str
    reason: str
    to_state: State
    version: int | None
    values: Mapping[str, object]
    details: Mapping[str, object] = field(default_factory=dict)

    def with_other_args(self, job: Row, args: OtherArgs) -> _Decision:
        """The same with a note that the arguments changed; never with the arguments themselves."""
        prints = {
            "args_before": salted(args.secret, codec.fingerprint(job["kind"], job["args"], {})),
            "args_after": salted(args.secret, codec.fingerprint(job["kind"], args.text, {})),
        }
        return replace(self, details={**self.details, **prints})

    async def carry_out(
        self, connection: Connection, job_ids: Sequence[JobId]
    ) -> tuple[dict[JobId, str], set[str]]:
        """Close those that are dead, with letter and audit line; returns the queue of each, and those of reactions.

        Raises DeadLetterChanged where a version was given and the letter has another.
        """
        # The job before its letter, always: two who decide at once then wait for one another.
        asked = [{"job_id": job_id, **self.values} for job_id in job_ids]
        found = await connection.fetch_each(self.statement, asked)
        dead = {rows.job_id(row["id"]): row for row in found}
        closed = await connection.fetch_each("dead_letters/close", [self.of(job_id) for job_id in dead])
        if self.version is not None and len(closed) < len(dead):
            raise await _refusal(connection, job_ids[0], asked=self.verb, version=self.version)
        await audit.record(connection, [self.line(job_id, row["tenant"]) for job_id, row in dead.items()])
        # Who died while it waited for parents does not wait for them when it comes back.
        await connection.fetch("flows/void", ids=list(dead))
        # One that is tried again, in its own row or in another, has not come to its end.
        told = await react(connection, found) if self.verb == "resolve" else set()
        return {job_id: row["queue"] for job_id, row in dead.items()}, told

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
            details=dict(self.details) or None,
        )


async def _refusal(
    connection: Connection, job_id: JobId, *, asked: str, version: int | None
) -> DeadLetterChanged | WrongState | JobNotFound:
    """Why a decision found nothing to decide; a caller who named a version learns who was faster."""
    letters = [rows.dead_letter(row) for row in await connection.fetch("dead_letters/of_job", id=job_id)]
    if version is not None and letters and letters[0].version != version:
        newest = letters[0]
        return DeadLetterChanged(job_id, status=newest.status, by=newest.changed_by, at=newest.changed_at)
    return await refusal(connection, job_id, asked=asked, allowed=frozenset({State.DEAD}))
