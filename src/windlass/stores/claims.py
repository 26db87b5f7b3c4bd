"""The life of a claim, once for both databases: claim, renew, settle, take over."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar
from uuid import UUID

import msgspec

from windlass.allowance import Claimed
from windlass.errors import StoreBusy, StoreUnavailable
from windlass.fingerprints import fingerprint
from windlass.job import Claim, JobId
from windlass.outcome import ErrorInfo
from windlass.records import Measured, Renewed, Seized, Settled, Wanted
from windlass.settlement import Settlement
from windlass.signals import Wait
from windlass.states import FINISHED, State
from windlass.stores import audit, claim_rows, rows, signals
from windlass.stores.aftermath import Aftermath
from windlass.stores.database import Connection, Lane, Row, Values
from windlass.stores.fair_claims import Rounds, claim_fair_limited, claim_with_fair
from windlass.stores.limiting import (
    ALWAYS,
    Asked,
    claim_limited,
    claim_plain,
    claim_suspects,
    permit_rows,
    take_permits,
)
from windlass.stores.limits import let_go

_FAILURES = frozenset({"failed", "timeout", "crashed"})
_TOLD = tuple(of.name for of in fields(ErrorInfo))
_NO_TIME = timedelta(0)
_FAR_AHEAD = datetime(9000, 1, 1, tzinfo=UTC)


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ClaimStore:
    """Claims jobs and records what became of them on one lane."""

    lane: Lane
    after: Aftermath
    rounds: Rounds = field(default_factory=Rounds)

    async def claim(
        self,
        wanted: Sequence[Wanted],
        *,
        worker: str,
        claim_id: UUID,
        limit: int,
        suspects: int,
        since: datetime | None = None,
    ) -> list[Claim]:
        asked = Asked(worker, claim_id, suspects, since or ALWAYS)
        if limit <= 0:
            return await claim_suspects(self.lane, wanted, asked)
        if all(pair.fair is None for pair in wanted):
            return await claim_plain(self.lane, wanted, asked, limit=limit)
        return await claim_with_fair(self.lane, wanted, asked, self.rounds, limit=limit)

    async def claim_limited(
        self,
        limited: Sequence[Wanted],
        plain: Sequence[Wanted],
        *,
        worker: str,
        claim_id: UUID,
        limit: int,
        limited_limit: int,
        suspects: int,
    ) -> Claimed:
        asked = Asked(worker, claim_id, suspects)
        try:
            return await self._claim_limited(limited, plain, asked, limit=limit, limited_limit=limited_limit)
        except StoreUnavailable as error:
            # That the last transaction was not sent says nothing of those before it, which may have claimed something.
            error.was_sent = True
            raise

    async def _claim_limited(
        self,
        limited: Sequence[Wanted],
        plain: Sequence[Wanted],
        asked: Asked,
        *,
        limit: int,
        limited_limit: int,
    ) -> Claimed:
        if all(pair.fair is None for pair in (*limited, *plain)):
            return await claim_limited(
                self.lane, limited, plain, asked, limit=limit, limited_limit=limited_limit
            )
        in_turns = [pair for pair in limited if not pair.limits.kind.templates]
        keyed = [pair for pair in limited if pair.limits.kind.templates]
        claimed = await claim_fair_limited(self.lane, in_turns, asked, self.rounds, limit=limited_limit)
        room = limited_limit - len(claimed.claims)
        more = await claim_limited(self.lane, keyed, [], asked, limit=room, limited_limit=room)
        claims = [*claimed.claims, *more.claims]
        if len(claims) < limit and plain:
            claims += await claim_with_fair(self.lane, plain, asked, self.rounds, limit=limit - len(claims))
        return replace(more, claims=claims, waits={**claimed.waits, **more.waits})

    async def renew(self, claims: Sequence[Claim]) -> Renewed:
        asked = _guards(claims)
        try:
            found, locked = await self.lane.fetch_each("jobs/renew", asked), frozenset[JobId]()
        except StoreBusy:
            asked, locked = await self._without_locked(asked)
            found = await self.lane.fetch_each("jobs/renew", asked)
        held = frozenset(rows.job_id(row["id"]) for row in found)
        return Renewed(
            held=held,
            lost=frozenset(claim.id for claim in claims) - held - locked,
            locked=locked,
            cancel={
                rows.job_id(row["id"]): row["cancel_reason"] or "cancel requested"
                for row in found
                if row["cancel_requested_at"] is not None
            },
        )

    async def complete(
        self, finished: Sequence[tuple[Claim, str | None]], *, skip_locked: bool = False
    ) -> Settled:
        settled = await self._write_free(self._complete, finished, skip_locked=skip_locked)
        return await self._let_go(finished, settled)

    async def settle(
        self, settlements: Sequence[tuple[Claim, Settlement]], *, skip_locked: bool = False
    ) -> Settled:
        # Locks are taken in the order of ids, so that two batches cannot block each other for ever.
        ordered = sorted(settlements, key=lambda pair: pair[0].id)
        settled = await self._write_free(self._settle, ordered, skip_locked=skip_locked)
        return await self._let_go(ordered, settled)

    async def _let_go(self, pairs: Sequence[tuple[Claim, Any]], settled: Settled) -> Settled:
        """Free what the claims held under limits, after the commit, whoever made it."""
        limited = [claim for claim, _ in pairs if claim.limits and claim.id not in settled.locked]
        return replace(settled, freed=await let_go(self.lane, limited)) if limited else settled

    async def _complete(self, finished: Sequence[tuple[Claim, str | None]]) -> Settled:
        claims = [claim for claim, _ in finished]
        epochs = {claim.epoch for claim in claims}
        if len(epochs) == 1 and all(result is None for _, result in finished):
            found = await self.lane.fetch(
                "jobs/complete_alike", ids=[claim.id for claim in claims], epoch=epochs.pop()
            )
        else:
            values = [
                {"job_id": claim.id, "epoch": claim.epoch, "value": result} for claim, result in finished
            ]
            found = await self.lane.fetch_each("jobs/complete", values)
        if sum(row["number"] for row in found) < len(claims):
            return await self._reckon(claims, [])
        awaited = [rows.job_id(row["awaited"]) for row in found if row["awaited"] is not None]
        await self.after.of([rows.job_id(row["parent"]) for row in found if row["parent"] is not None])
        return Settled(done=frozenset([claim.id for claim in claims]), awaited=frozenset(awaited))

    async def _settle(self, settlements: Sequence[tuple[Claim, Settlement]]) -> Settled:
        async with self.lane.transaction() as connection:
            found = await connection.fetch_each("jobs/settle", [_settlement(*pair) for pair in settlements])
            done = {rows.job_id(row["id"]) for row in found}
            written = [pair for pair in settlements if pair[0].id in done]
            stopped = await _record(connection, written)
        ended = {claim.id for claim, settlement in written if settlement.state in FINISHED}
        await self.after.of(sorted(ended | stopped))
        return await self._reckon([claim for claim, _ in settlements], found)

    async def _write_free(
        self,
        write: Callable[[Sequence[tuple[Claim, T]]], Awaitable[Settled]],
        pairs: Sequence[tuple[Claim, T]],
        *,
        skip_locked: bool,
    ) -> Settled:
        """Write all at once; where one row is locked for long, only that one has to wait."""
        if not skip_locked:
            try:
                return await write(pairs)
            except StoreBusy:
                pass
        _, locked = await self._without_locked(_guards([claim for claim, _ in pairs]))
        free = [pair for pair in pairs if pair[0].id not in locked]
        return replace(await write(free), locked=locked) if free else Settled(locked=locked)

    async def measure(self, measured: Sequence[tuple[Claim, Measured]]) -> None:
        values = [
            {"job_id": claim.id, "epoch": claim.epoch, "cpu_used": used.cpu_ms, "peak": used.peak_rss_mb}
            for claim, used in measured
        ]
        await self.lane.fetch_each("attempts/measure", values)

    async def cancel_requests(self, worker: str) -> dict[JobId, tuple[int, str]]:
        found = await self.lane.fetch("jobs/cancel_requests", worker=worker)
        return {
            rows.job_id(row["id"]): (row["lease_epoch"], row["cancel_reason"] or "cancel requested")
            for row in found
        }

    async def strays(self, worker: str, *, unanswered: Sequence[UUID]) -> list[Claim]:
        found = await self.lane.fetch("jobs/strays", worker=worker, unanswered=list(unanswered))
        return await _with_limits(self.lane, [claim_rows.held_claim(row) for row in found])

    async def seize(
        self, *, limit: int, hold_for: timedelta, overrun: timedelta, as_of: datetime | None = None
    ) -> list[Seized]:
        async with self.lane.transaction() as connection:
            expired = await connection.fetch(
                "jobs/expired", overrun=overrun, limit=limit, as_of=as_of or _FAR_AHEAD
            )
            return await _take_over(connection, expired, hold_for)

    async def seize_worker(self, worker: str, *, limit: int, hold_for: timedelta) -> list[Seized]:
        async with self.lane.transaction() as connection:
            left = await connection.fetch("jobs/of_worker", worker=worker, limit=limit)
            return await _take_over(connection, left, hold_for)

    async def _reckon(self, claims: Sequence[Claim], found: Sequence[Row]) -> Settled:
        awaited = [rows.job_id(row["id"]) for row in found if row["is_awaited"]]
        if len(found) == len(claims):
            return Settled(done=frozenset(claim.id for claim in claims), awaited=frozenset(awaited))
        done = {rows.job_id(row["id"]) for row in found}
        missing = [claim for claim in claims if claim.id not in done]
        # Settled under this very epoch means by us, in a sending whose reply was lost.
        again = await self.lane.fetch_each("jobs/settled", _guards(missing))
        done |= {rows.job_id(row["id"]) for row in again}
        awaited += [rows.job_id(row["id"]) for row in again if row["is_awaited"]]
        # Perhaps that was all that came to pass; and so a handler's own transaction is followed.
        await self.after.of([rows.job_id(row["id"]) for row in again if row["is_parent"]])
        return Settled(
            done=frozenset(done),
            lost=frozenset(claim.id for claim in missing if claim.id not in done),
            awaited=frozenset(awaited),
        )

    async def _without_locked(self, asked: Sequence[Values]) -> tuple[list[Values], frozenset[JobId]]:
        seen = await self.lane.fetch_each("jobs/look_again", asked)
        locked = frozenset(rows.job_id(row["id"]) for row in seen if row["is_locked"] and row["is_held"])
        return [values for values in asked if values["job_id"] not in locked], locked


def _guards(claims: Sequence[Claim]) -> list[Values]:
    return [
        {"job_id": claim.id, "epoch": claim.epoch} for claim in sorted(claims, key=lambda claim: claim.id)
    ]


def _settlement(claim: Claim, settlement: Settlement) -> dict[str, Any]:
    return {
        "job_id": claim.id,
        "epoch": claim.epoch,
        "next_state": settlement.state.value,
        "next_reason": settlement.reason,
        "failure": _error_text(settlement.error),
        "refund": settlement.refund,
        "more_crashes": settlement.crashes,
        "suspected": settlement.is_suspect,
        # Straight back to the front: a time in the past keeps the turn it had.
        "run_in": settlement.run_in,
        "attempts_allowed": settlement.max_attempts,
        "next_timeout": settlement.timeout,
        "is_end": settlement.state in FINISHED,
    }


def _error_text(error: ErrorInfo | None) -> str | None:
    if error is None:
        return None
    return msgspec.json.encode(_told(error)).decode()


def _told(error: ErrorInfo) -> dict[str, Any]:
    # Not by `asdict`, which copies what it finds and takes ten times as long.
    told = ((name, getattr(error, name)) for name in _TOLD)
    return {name: value for name, value in told if value not in (None, "", {})}


async def _record(connection: Connection, settled: Sequence[tuple[Claim, Settlement]]) -> set[JobId]:
    """Write what belongs to a settlement, in its transaction; returns the jobs that were stopped on request."""
    await connection.fetch_each(
        "attempts/record",
        [
            {
                "job_id": claim.id,
                "epoch": claim.epoch,
                "refund": settlement.refund,
                "status": settlement.attempt_status,
                "failure": _error_text(settlement.error),
            }
            for claim, settlement in settled
        ],
    )
    await _await_signals(connection, [(claim.id, settlement.wait) for claim, settlement in settled])
    going_on = [{"job_id": claim.id} for claim, settlement in settled if settlement.state not in FINISHED]
    stopped = {rows.job_id(row["id"]) for row in await connection.fetch_each("jobs/honour_cancel", going_on)}
    dead = [_letter(claim, settlement) for claim, settlement in settled if settlement.state is State.DEAD]
    await connection.fetch_each("dead_letters/record", dead)
    failures = [pair for pair in settled if pair[1].attempt_status in _FAILURES]
    await audit.record(
        connection, [_failure_line(*pair, is_stopped=pair[0].id in stopped) for pair in failures]
    )
    return stopped


async def _await_signals(connection: Connection, waits: Sequence[tuple[JobId, Wait | None]]) -> None:
    """Note what jobs are held for, and let those go on at once whose signal came while they ran."""
    expected = [(job_id, wait) for job_id, wait in waits if wait is not None]
    if expected:
        await signals.expect(connection, expected)


def _letter(claim: Claim, settlement: Settlement) -> dict[str, Any]:
    error = None if settlement.error is None else _told(settlement.error)
    cause = fingerprint(claim.kind, settlement.reason or "", error)
    return {"job_id": claim.id, "epoch": claim.epoch, "cause": cause}


def _failure_line(claim: Claim, settlement: Settlement, *, is_stopped: bool) -> audit.Line:
    error = settlement.error
    return audit.Line(
        tenant=claim.tenant,
        actor=claim.worker,
        action=f"job.{settlement.attempt_status}",
        job_id=claim.id,
        from_state=State.RUNNING.value,
        to_state=State.CANCELLED.value if is_stopped else settlement.state.value,
        reason=settlement.reason,
        details={"attempt": claim.attempt, "error_class": error.error_class if error else None},
    )


async def _take_over(connection: Connection, expired: Sequence[Row], hold_for: timedelta) -> list[Seized]:
    why = {rows.job_id(row["id"]): (bool(row["ran_out"]), bool(row["missed_deadline"])) for row in expired}
    found = await connection.fetch_each(
        "jobs/seize",
        [{"job_id": row["id"], "epoch": row["lease_epoch"], "hold_for": hold_for} for row in expired],
    )
    claims = await _keep_permits(connection, [claim_rows.held_claim(row) for row in found])
    return [Seized(claim, ran_out=why[claim.id][0], missed_deadline=why[claim.id][1]) for claim in claims]


async def _keep_permits(connection: Connection, claims: Sequence[Claim]) -> list[Claim]:
    """Take permits over with the claims: nobody else may start before these are settled."""
    before = await _with_limits(connection, [claim._replace(epoch=claim.epoch - 2) for claim in claims])
    taken = [claim._replace(epoch=claim.epoch + 2) for claim in before]
    await take_permits(connection, taken)
    await connection.fetch_each("permits/drop", permit_rows(before))
    return taken


async def _with_limits(connection: Connection, claims: Sequence[Claim]) -> list[Claim]:
    found = await connection.fetch_each("permits/of_jobs", _guards(claims))
    held: dict[JobId, list[str]] = {}
    for row in found:
        held.setdefault(rows.job_id(row["job_id"]), []).append(row["limit_key"])
    return [claim._replace(limits=tuple(held.get(claim.id, ()))) for claim in claims]
