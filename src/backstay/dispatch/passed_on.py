"""Claims that are passed on unchanged, for whoever adds something to a few of these methods."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from backstay.model.job import Claim, JobId
from backstay.model.records import Measured, Reported, Seized, Wanted
from backstay.stores.contract import Claims


class PassedOnClaims:
    """Does what the claims behind it do."""

    def __init__(self, claims: Claims) -> None:
        self._claims = claims

    async def measure(self, measured: Sequence[tuple[Claim, Measured]]) -> None:
        """Keep what attempts have used."""
        await self._claims.measure(measured)

    async def cancel_requests(self, worker: str) -> dict[JobId, tuple[int, str]]:
        """The jobs of this worker that somebody wants stopped."""
        return await self._claims.cancel_requests(worker)

    async def has_work(self, wanted: Sequence[Wanted]) -> bool:
        """Tell whether there is anything to do: PostgreSQL knows."""
        return await self._claims.has_work(wanted)

    async def strays(self, worker: str, *, unanswered: Sequence[UUID]) -> list[Claim]:
        """Claims stored for this worker in requests whose reply never came."""
        return await self._claims.strays(worker, unanswered=unanswered)

    async def seize(
        self, *, limit: int, hold_for: timedelta, overrun: timedelta, as_of: datetime | None = None
    ) -> list[Seized]:
        """Take over claims whose leases have run out."""
        return await self._claims.seize(limit=limit, hold_for=hold_for, overrun=overrun, as_of=as_of)

    async def seize_worker(self, worker: str, *, limit: int, hold_for: timedelta) -> list[Seized]:
        """Take over the claims of a worker that is gone."""
        return await self._claims.seize_worker(worker, limit=limit, hold_for=hold_for)

    async def reported(self, *, limit: int) -> list[Reported]:
        """Outcomes that programs working from SQL have reported."""
        return await self._claims.reported(limit=limit)

    async def forget_reports(self) -> None:
        """Forget reports of claims that are no longer held."""
        await self._claims.forget_reports()
