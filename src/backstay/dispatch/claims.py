"""Claims with Redis asked first which jobs may be claimed; PostgreSQL decides, and is asked directly now and then."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from uuid import UUID

from backstay.dispatch.changes import error_told
from backstay.dispatch.contract import Named
from backstay.dispatch.lines import Lines
from backstay.dispatch.mirror import Mirror
from backstay.dispatch.passed_on import PassedOnClaims
from backstay.model.job import Claim
from backstay.model.limits.admission import Claimed
from backstay.model.records import Renewed, Settled, Wanted
from backstay.model.settlement import Settlement
from backstay.model.states import State
from backstay.runtime.env import Env
from backstay.stores.contract import Claims

DIRECT_EVERY = 10
"""One claim in this many asks PostgreSQL without ids, so that what Redis has lost is soon found."""

ASKED_AGAIN_AFTER = 1.0
"""A pause that has ended is noticed so soon at the latest where its jobs are suggested; PostgreSQL is asked before."""


class NotAsked:
    """Pairs that are paused: their ids stay in Redis, where they would be taken out in vain."""

    def __init__(self, env: Env) -> None:
        self._env = env
        self._until: dict[tuple[str, str], float] = {}

    def put_off(self, pairs: Iterable[tuple[str, str]]) -> None:
        """Leave these pairs alone for a moment."""
        self._until.update(dict.fromkeys(pairs, self._env.monotonic() + ASKED_AGAIN_AFTER))

    def without(self, wanted: Sequence[Wanted]) -> Sequence[Wanted]:
        """Those that may be asked for now."""
        if not self._until:
            return wanted
        now = self._env.monotonic()
        self._until = {pair: until for pair, until in self._until.items() if until > now}
        return [pair for pair in wanted if (pair.queue, pair.kind) not in self._until]


class DispatchedClaims(PassedOnClaims):
    """A claim asks Redis for ids and PostgreSQL for these jobs; whatever Redis does, PostgreSQL fences.

    After a claim that Redis could not fill, the next goes to PostgreSQL directly, as does every tenth: an id that was
    lost waits for one poll at most.
    """

    def __init__(self, claims: Claims, named: Named, lines: Lines, mirror: Mirror, env: Env) -> None:
        super().__init__(claims)
        self._named, self._lines, self._mirror = named, lines, mirror
        self._not_asked = NotAsked(env)
        self._number = 0
        self._is_owed = False

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
        """Claim what Redis suggests, or what PostgreSQL has."""
        self._number += 1
        if limit > 0 and not self._is_owed and self._number % DIRECT_EVERY:
            claims = await self._claim_suggested(wanted, worker=worker, claim_id=claim_id, limit=limit)
            self._is_owed = len(claims) < limit
            if claims:
                return self._note(worker, claims)
        self._is_owed = False
        claims = await self._claims.claim(
            wanted, worker=worker, claim_id=claim_id, limit=limit, suspects=suspects, since=since
        )
        return self._note(worker, claims)

    async def _claim_suggested(
        self, wanted: Sequence[Wanted], *, worker: str, claim_id: UUID, limit: int
    ) -> list[Claim]:
        ids = await self._lines.take(worker, self._not_asked.without(wanted), limit)
        if not ids:
            return []
        claims = await self._named.claim(wanted, ids, worker=worker, claim_id=claim_id)
        got = {claim.id for claim in claims}
        missed = [job_id for job_id in ids if job_id not in got]
        if missed:
            await self._pass_over(worker, missed)
        return claims

    async def _pass_over(self, worker: str, ids: Sequence[UUID]) -> None:
        """Forget ids whose jobs were not to be had, but for those that only wait for a pause to end."""
        paused = await self._named.paused(ids)
        await self._lines.put_back(paused)
        self._not_asked.put_off({(job.queue, job.kind) for job in paused})
        self._mirror.passed_over(worker, ids)

    def _note(self, worker: str, claims: list[Claim]) -> list[Claim]:
        self._mirror.started(worker, claims)
        return claims

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
        """Jobs under limits are admitted by PostgreSQL alone."""
        claimed = await self._claims.claim_limited(
            limited,
            plain,
            worker=worker,
            claim_id=claim_id,
            limit=limit,
            limited_limit=limited_limit,
            suspects=suspects,
        )
        self._note(worker, list(claimed.claims))
        return claimed

    async def renew(self, claims: Sequence[Claim]) -> Renewed:
        """Extend the leases still held, and the locks that people see."""
        renewed = await self._claims.renew(claims)
        self._mirror.held(claim for claim in claims if claim.id in renewed.held)
        return renewed

    async def complete(
        self, finished: Sequence[tuple[Claim, str | None]], *, reacts: bool = False, skip_locked: bool = False
    ) -> Settled:
        """Record success, and tell of it."""
        settled = await self._claims.complete(finished, reacts=reacts, skip_locked=skip_locked)
        for claim, result in finished:
            if claim.id in settled.done:
                self._mirror.ended(claim, State.COMPLETED, result=result)
        self._mirror.forget(settled.lost)
        return settled

    async def settle(
        self, settlements: Sequence[tuple[Claim, Settlement]], *, skip_locked: bool = False
    ) -> Settled:
        """Record any other outcome, and tell of it."""
        settled = await self._claims.settle(settlements, skip_locked=skip_locked)
        for claim, settlement in settlements:
            if claim.id in settled.done:
                error = error_told(settlement.error)
                self._mirror.ended(claim, settlement.state, error=error, run_in=settlement.run_in)
        self._mirror.forget(settled.lost)
        return settled
