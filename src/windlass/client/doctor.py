"""The doctor: finds what is wrong with jobs and workers, and says why one job does not run."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from windlass.client.arguments import job_id as to_id
from windlass.client.diagnosis import Facts, Finding, Surroundings, diagnose, schema_drift
from windlass.client.reasons import MOST_AHEAD, Situation, reasons
from windlass.errors import JobNotFound, SchemaMismatch
from windlass.states import State
from windlass.stores.contract import Stores

TWO_SWEEPS = timedelta(seconds=10)
NEWEST = 100_000
MOST_WORKERS = 1000


@dataclass(frozen=True)
class Doctor:
    """Looks at one application's jobs and workers, from one event loop; changes nothing."""

    stores: Stores

    async def check(self) -> list[Finding]:
        """Everything worth knowing, the worst first; empty when there is nothing to report."""
        drift = schema_drift(await self.stores.insights.drift())
        try:
            return [*drift, *diagnose(await self._facts())]
        except SchemaMismatch:
            if not drift:
                raise
            # Without its tables nothing else can be looked at, and the drift says which are missing.
            return drift

    async def why(self, job_id: UUID | str) -> list[str]:
        """Why the job does not run now, in sentences, the decisive one first; raises JobNotFound."""
        job = await self.stores.jobs.get(to_id(job_id))
        if job is None:
            raise JobNotFound(job_id)
        ahead = 0
        if job.state is State.AVAILABLE:
            ahead = await self.stores.insights.ahead(job.id, limit=MOST_AHEAD)
        return reasons(Situation(job=job, around=await self._surroundings(), ahead=ahead))

    async def _surroundings(self) -> Surroundings:
        return Surroundings(
            workers=await self.stores.workers.all(limit=MOST_WORKERS),
            pauses=await self.stores.queues.pauses(),
            routes=await self.stores.insights.routes(),
            engine=await self.stores.insights.engine(),
        )

    async def _facts(self) -> Facts:
        insights = self.stores.insights
        return Facts(
            around=await self._surroundings(),
            waiting=await insights.waiting(),
            kinds=await self.stores.kinds.all(),
            stuck=await insights.stuck(grace=TWO_SWEEPS),
            broken=await insights.broken(newest=NEWEST),
            dead_letters=await insights.open_dead_letters(),
        )
