"""The life of a claim, once for both databases: claim, renew, settle, take over."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar
from uuid import UUID

from backstay.errors import StoreBusy, StoreUnavailable
from backstay.model.job import Claim, JobId
from backstay.model.limits.admission import Claimed
from backstay.model.records import Measured, Renewed, Reported, Seized, Settled, Wanted
from backstay.model.settlement import Settlement
from backstay.stores import rows
from backstay.stores.claims import rows as claim_rows
from backstay.stores.claims import settling
from backstay.stores.claims.fair import Rounds, claim_fair_limited, claim_with_fair
from backstay.stores.claims.limited import claim_limited, permit_rows, take_permits
from backstay.stores.claims.plain import ALWAYS, Asked, claim_plain, claim_suspects
from backstay.stores.database.interface import Connection, Lane, Row, Values
from backstay.stores.job_ended import AfterEnd
from backstay.stores.limits import let_go
from backstay.stores.reactions import react_to

_NO_TIME = timedelta(0)
_FAR_AHEAD = datetime(9000, 1, 1, tzinfo=UTC)


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ClaimStore:
    """Claims jobs and records what became of them on one lane."""

    lane: Lane
    after: AfterEnd
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

    async def has_work(self, wanted: Sequence[Wanted]) -> bool:
        pairs = [{"queue": pair.queue, "kind": pair.kind} for pair in wanted]
        return bool(await self.lane.fetch_each("jobs/has_work", pairs))

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
        self, finished: Sequence[tuple[Claim, str | None]], *, reacts: bool = False, skip_locked: bool = False
    ) -> Settled:
        write = self._complete_each if reacts else self._complete
        settled = await self._write_free(write, finished, skip_locked=skip_locked)
        return await self._let_go(finished, settled)

    async def settle(
        self, settlements: Sequence[tuple[Claim, Settlement]], *, skip_locked: bool = False
    ) -> Settled:
        # Locks are taken in the order of ids, so that two batches cannot block each other forever.
        ordered = sorted(settlements, key=lambda pair: pair[0].id)
        settled = await self._write_free(self._settle, ordered, skip_locked=skip_locked)
        return await self._let_go(ordered, settled)

    async def _let_go(self, pairs: Sequence[tuple[Claim, Any]], settled: Settled) -> Settled:
        """Free what the claims held under limits, after the commit, whichever process made it."""
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
        await self.after.follow([rows.job_id(row["parent"]) for row in found if row["parent"] is not None])
        return Settled(done=frozenset([claim.id for claim in claims]), awaited=frozenset(awaited))

    async def _settle(self, settlements: Sequence[tuple[Claim, Settlement]]) -> Settled:
        async with self.lane.transaction() as connection:
            written = await settling.write(connection, settlements)
        await self.after.follow(written.ended)
        self.after.hint(written.queues)
        return await self._reckon([claim for claim, _ in settlements], written.found)

    async def _complete_each(self, finished: Sequence[tuple[Claim, str | None]]) -> Settled:
        values = [{"job_id": claim.id, "epoch": claim.epoch, "value": result} for claim, result in finished]
        async with self.lane.transaction() as connection:
            found = await connection.fetch_each("jobs/complete_each", values)
            ended = [rows.job_id(row["id"]) for row in found]
            queues = await react_to(connection, ended)
        await self.after.follow(ended)
        self.after.hint(queues)
        return await self._reckon([claim for claim, _ in finished], found)

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
        """Store the processor time and peak memory that were measured for each claim."""
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

    async def reported(self, *, limit: int) -> list[Reported]:
        found = await self.lane.fetch("reports/waiting", limit=limit)
        return [Reported(claim_rows.held_claim(row), rows.document(row["outcome"]) or {}) for row in found]

    async def forget_reports(self) -> None:
        await self.lane.fetch("reports/forget")

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
        # It may have been written before, or by the handler's own transaction: what waits for it goes on here.
        await self.after.follow([rows.job_id(row["id"]) for row in again if row["is_parent"]])
        return Settled(
            done=frozenset(done),
            lost=frozenset(claim.id for claim in missing if claim.id not in done),
            awaited=frozenset(awaited),
        )

    async def _without_locked(self, asked: Sequence[Values]) -> tuple[list[Values], frozenset[JobId]]:
        seen = await self.lane.fetch_each("jobs/lock_status", asked)
        locked = frozenset(rows.job_id(row["id"]) for row in seen if row["is_locked"] and row["is_held"])
        return [values for values in asked if values["job_id"] not in locked], locked


def _guards(claims: Sequence[Claim]) -> list[Values]:
    return [
        {"job_id": claim.id, "epoch": claim.epoch} for claim in sorted(claims, key=lambda claim: claim.id)
    ]


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
