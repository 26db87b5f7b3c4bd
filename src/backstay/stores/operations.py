"""Operations, once for both databases."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import msgspec

from backstay.model.job import JobId
from backstay.model.operations import (
    Advance,
    Mark,
    Operation,
    OperationStatus,
    TakenOperation,
    Target,
    Verb,
)
from backstay.model.records import DeadLetterFilter, JobFilter, LetterMark
from backstay.model.rights import EVERYTHING
from backstay.model.state_match import StateMatch
from backstay.stores import audit, rows
from backstay.stores.database.interface import Connection, Lane, Row


@dataclass(frozen=True, slots=True)
class OperationStore:
    """Keeps operations on one lane."""

    lane: Lane

    async def start(
        self,
        operation_id: UUID,
        *,
        tenant: str,
        name: str,
        verb: Verb,
        target: Target,
        reason: str,
        pace: float,
        total: int | None,
        actor: str,
    ) -> None:
        async with self.lane.transaction() as connection:
            await connection.fetch(
                "operations/insert",
                id=operation_id,
                tenant=tenant,
                name=name,
                verb=verb.value,
                target=_written(target),
                reason=reason,
                pace=pace,
                total=total,
                by=actor,
            )
            told = {"verb": verb.value, "name": name, "filters": _shown(target), "total": total}
            await _record(connection, "operation.started", operation_id, tenant, actor, reason, told)

    async def get(self, operation_id: UUID) -> Operation | None:
        found = await self.lane.fetch("operations/get", id=operation_id)
        return _operation(found[0]) if found else None

    async def all(self, *, tenant: str | None, limit: int) -> list[Operation]:
        found = await self.lane.fetch("operations/all", tenant=tenant, limit=limit)
        return [_operation(row) for row in found]

    async def stop(self, operation_id: UUID, *, actor: str) -> bool:
        async with self.lane.transaction() as connection:
            found = await connection.fetch("operations/stop", id=operation_id, by=actor)
            for row in found:
                told = {"name": row["name"]}
                await _record(connection, "operation.stopped", operation_id, row["tenant"], actor, None, told)
            return bool(found)

    async def take(self, *, hold: timedelta) -> TakenOperation | None:
        async with self.lane.transaction() as connection:
            due = await connection.fetch("operations/due")
            if not due:
                return None
            row = (await connection.fetch("operations/take", id=due[0]["id"], hold=hold))[0]
        mark = rows.document(row["mark"])
        target = _target(rows.document(row["target"]))
        return TakenOperation(_operation(row), target, _mark(mark), row["fence"])

    async def advance(self, taken: TakenOperation, step: Advance, *, pause: timedelta) -> bool:
        async with self.lane.transaction() as connection:
            found = await connection.fetch(
                "operations/advance",
                id=taken.operation.id,
                fence=taken.fence,
                done=step.done,
                skipped=step.skipped,
                problem=step.problem,
                mark=_written(step.mark),
                pause=pause,
                is_over=step.is_over,
            )
            for row in found:
                if row["status"] != OperationStatus.RUNNING:
                    told = {"status": row["status"], "done": row["done"], "skipped": row["skipped"]}
                    actor = taken.operation.started_by
                    await _record(
                        connection, "operation.ended", taken.operation.id, row["tenant"], actor, None, told
                    )
            return bool(found)

    async def next_due(self) -> timedelta | None:
        row = (await self.lane.fetch("operations/next_due"))[0]
        next_at = rows.maybe_moment(row["next_at"])
        return None if next_at is None else max(next_at - rows.moment(row["now"]), timedelta(0))

    async def forget(self, *, keep: timedelta) -> None:
        await self.lane.fetch("operations/forget", keep=keep)


async def _record(
    connection: Connection,
    action: str,
    operation_id: UUID,
    tenant: str,
    actor: str,
    reason: str | None,
    told: Mapping[str, Any],
) -> None:
    own = "" if tenant == EVERYTHING else tenant
    details = {"operation": str(operation_id), **told}
    await audit.record(
        connection, [audit.Line(tenant=own, actor=actor, action=action, reason=reason, details=details)]
    )


def _written(value: Target | Mark) -> str:
    return msgspec.json.encode(value).decode()


def _target(raw: Mapping[str, Any]) -> Target:
    given = dict(raw["jobs"] or {})
    # Which states are meant is in the match.
    plain = {name: value for name, value in given.items() if name not in ("state", "promoted")}
    return Target(
        letters=None if raw["letters"] is None else msgspec.convert(raw["letters"], DeadLetterFilter),
        died_until=None if raw["died_until"] is None else msgspec.convert(raw["died_until"], datetime),
        jobs=None if raw["jobs"] is None else _job_filter(plain),
        match=None if raw["match"] is None else msgspec.convert(raw["match"], StateMatch),
    )


def _job_filter(plain: dict[str, Any]) -> JobFilter:
    for name, kind in (("parent_id", UUID), ("created_from", datetime), ("created_to", datetime)):
        if plain.get(name) is not None:
            plain[name] = msgspec.convert(plain[name], kind)
    return JobFilter(**plain)


def _mark(raw: Mapping[str, Any] | None) -> Mark:
    if raw is None:
        return Mark()
    letter, before = raw["letter"], raw["before"]
    return Mark(
        letter=None
        if letter is None
        else LetterMark(msgspec.convert(letter["died_at"], datetime), JobId(UUID(letter["job_id"]))),
        before=None if before is None else JobId(UUID(before)),
    )


def _shown(target: Target) -> dict[str, Any]:
    """What a target lets through, for people."""
    told: dict[str, Any] = msgspec.to_builtins(target.letters or target.jobs)
    if target.match is not None:
        told["states"] = [*target.match.reasons, *target.match.retrying, *target.match.states]
    return {name: value for name, value in told.items() if value is not None}


def _operation(row: Row) -> Operation:
    return Operation(
        id=UUID(str(row["id"])),
        tenant=row["tenant"],
        name=row["name"],
        verb=Verb(row["verb"]),
        filters=_shown(_target(rows.document(row["target"]))),
        reason=row["reason"],
        pace=row["pace"],
        status=OperationStatus(row["status"]),
        total=row["total"],
        done=row["done"],
        skipped=row["skipped"],
        problem=row["problem"],
        started_at=rows.moment(row["started_at"]),
        started_by=row["started_by"],
        stopped_by=row["stopped_by"],
        ended_at=rows.maybe_moment(row["ended_at"]),
    )
